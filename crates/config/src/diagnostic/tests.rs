use std::sync::Arc;

use insta::assert_snapshot;

use super::*;

fn at(file: &Arc<SourceFile>, needle: &str) -> Location {
    let start = file.text().find(needle).unwrap();
    let span = Some(Span::new(start, start + needle.len()));
    Location { file: Arc::clone(file), span, path: DocumentPath::root().key("movements").index(2).key("next") }
}

fn piece(text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile::new(Area::Piece, ".takt/pieces/default.yaml", text))
}

fn human(diagnostic: Diagnostic) -> String {
    to_human(&Diagnostics::from_iter([diagnostic]), Colour::Never)
}

#[test]
fn a_diagnostic_shows_code_place_line_label_and_help() {
    // P-53
    let file = piece(&format!("{}        next: implment\n", "# plan\n".repeat(30)));
    let diagnostic = at(&file, "implment")
        .error("unknown-movement", "movement `implment` does not exist")
        .label("no movement has this name")
        .hint("did you mean `implement`?");
    assert_snapshot!(human(diagnostic), @r"
    error[piece/unknown-movement]: movement `implment` does not exist
     --> .takt/pieces/default.yaml:31:15
       |
    31 |         next: implment
       |               ^^^^^^^^ no movement has this name
       = help: did you mean `implement`?
    ");
}

use insta::assert_snapshot;

use super::*;
use crate::diagnostic::{Colour, to_human};

fn read(text: &str, format: Format) -> (Option<Document>, String) {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(text.as_bytes(), format, "a", Area::Piece, &mut diagnostics);
    (document, to_human(&diagnostics, Colour::Never))
}

/// The tree as JSON, or what is wrong.
fn show(text: &str, format: Format) -> String {
    let (document, diagnostics) = read(text, format);
    let tree = document.map_or(String::new(), |document| document.root.to_json().to_string());
    format!("{tree}\n{diagnostics}")
}

#[test]
fn plain_scalars_follow_the_core_schema() {
    assert_snapshot!(show("[yes, on, 0777, 0o17, 0xff, 1e3, .5, '1', \"true\", True, ~, null, 1.2.3, +4, -5]", Format::Yaml), @r#"["yes","on",777,15,255,1000.0,0.5,"1","true",true,null,null,"1.2.3",4,-5]"#);
}

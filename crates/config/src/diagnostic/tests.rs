use std::sync::Arc;

use insta::assert_snapshot;

use super::*;

fn at(file: &Arc<SourceFile>, needle: &str) -> Location {
    let start = file.text().find(needle).unwrap();
    let span = Some(Span::new(start, start + needle.len()));
    Location {
        file: Arc::clone(file),
        span,
        path: DocumentPath::root().key("movements").index(2).key("next"),
    }
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

#[test]
fn further_places_follow_with_their_own_label() {
    let file = piece("edit: true\npermission_mode: readonly\n");
    let diagnostic = at(&file, "readonly")
        .error("permission-conflict", "`edit: true` and `permission_mode: readonly` contradict each other")
        .label("forbids changes")
        .also(&at(&file, "true"), "allows changes");
    assert_snapshot!(human(diagnostic), @"
    error[piece/permission-conflict]: `edit: true` and `permission_mode: readonly` contradict each other
    --> .takt/pieces/default.yaml:2:18
      |
    2 | permission_mode: readonly
      |                  ^^^^^^^^ forbids changes
    ::: .takt/pieces/default.yaml:1:7
      |
    1 | edit: true
      |       ---- allows changes
    ");
}

#[test]
fn wide_characters_and_tabs_keep_the_marks_below_their_text() {
    let file = piece("\t条件: 実装完了 # 注\n");
    assert_snapshot!(human(at(&file, "実装完了").warning("no-effect", "x").label("y")), @"
    warning[piece/no-effect]: x
    --> .takt/pieces/default.yaml:1:6
      |
    1 |  条件: 実装完了 # 注
      |        ^^^^^^^^ y
    ");
}

#[test]
fn a_long_line_is_shown_around_the_place() {
    let file = piece(&format!("[{}wrong{}]", "a, ".repeat(400), ", b".repeat(400)));
    assert_snapshot!(human(at(&file, "wrong").error("x", "m").label("here")), @"
    error[piece/x]: m
    --> .takt/pieces/default.yaml:1:1202
      |
    1 | …a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, wrong, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b, b,…
      |                                                              ^^^^^ here
    ");
}

#[test]
fn what_spans_lines_is_marked_on_its_first() {
    let file = piece("a:\n  - x\n  - y\nb: 1\n");
    assert_snapshot!(human(at(&file, "- x\n  - y").error("bad-type", "m").label("a list")), @"
    error[piece/bad-type]: m
    --> .takt/pieces/default.yaml:2:3
      |
    2 |   - x
      |   ^^^ a list
    ");
}

#[test]
fn a_file_or_nothing_at_all_can_be_the_place() {
    let whole = Location::whole(&piece("")).error("missing-file", "cannot read it");
    assert_snapshot!(human(whole), @"
    error[piece/missing-file]: cannot read it
    --> .takt/pieces/default.yaml
    ");
    let nowhere =
        Diagnostic::warning(Area::Settings.code("unknown-key"), "unknown variable").hint("spell it right");
    assert_snapshot!(human(nowhere), @"
    warning[settings/unknown-key]: unknown variable
      = help: spell it right
    ");
}

#[test]
fn what_steers_a_terminal_never_reaches_it() {
    let file = piece("a: \u{1b}[2J\u{202e}x\n");
    let shown = human(at(&file, "x").error("x", format!("{} is odd", quoted("\u{1b}[2J\u{2066}\n"))));
    assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{2066}']), "{shown:?}");
}

#[test]
fn colours_change_nothing_but_colours() {
    let file = piece("a: b\n");
    let diagnostics = Diagnostics::from_iter([at(&file, "b")
        .error("x", "m")
        .label("l")
        .hint("h")
        .also(&at(&file, "a"), "k")]);
    let coloured = to_human(&diagnostics, Colour::Always);
    let stripped = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(&coloured, "").into_owned();
    assert_ne!(coloured, stripped);
    assert_eq!(stripped, to_human(&diagnostics, Colour::Never));
}

#[test]
fn json_has_lines_and_columns_from_one_in_characters() {
    // K-43
    let file = piece("条件: 実装\n");
    let diagnostics = Diagnostics::from_iter([
        at(&file, "実装").error("unknown-movement", "m").label("l").hint("h"),
        Diagnostic::note(Area::Workflow.code("unmonitored-cycle"), "n"),
    ]);
    let lines: String = diagnostics.iter().map(|one| serde_json::to_string(one).unwrap() + "\n").collect();
    assert_snapshot!(lines, @r#"
    {"v":1,"type":"diagnostic","code":"piece/unknown-movement","severity":"error","file":".takt/pieces/default.yaml","line":1,"column":5,"end_line":1,"end_column":7,"path":"movements[2].next","message":"m","label":"l","hint":"h"}
    {"v":1,"type":"diagnostic","code":"workflow/unmonitored-cycle","severity":"note","message":"n"}
    "#);
}

#[test]
fn github_annotations_escape_what_would_end_them() {
    let file = Arc::new(SourceFile::new(Area::Hats, "a,b:c%.yml", "x: y\nz"));
    let diagnostics = Diagnostics::from_iter([
        at(&file, "y").error("bad-value", "100% wrong:\r\nreally, yes").hint("no"),
        at(&file, "y\nz").warning("no-effect", "over two lines"),
        Diagnostic::note(Area::Settings.code("no-effect"), "n"),
    ]);
    assert_snapshot!(to_github(&diagnostics), @"
    ::error file=a%2Cb%3Ac%25.yml,line=1,endLine=1,col=4,endColumn=5,title=hats/bad-value::100%25 wrong:%0D%0Areally, yes%0Ahelp: no
    ::warning file=a%2Cb%3Ac%25.yml,line=1,endLine=2,title=hats/no-effect::over two lines
    ::notice title=settings/no-effect::n
    ");
}

#[test]
fn errors_and_with_strict_also_warnings_forbid_a_run_and_notes_never_do() {
    // K-41
    let file = piece("a");
    let found = |list: Vec<Diagnostic>| Diagnostics::from_iter(list);
    let note = at(&file, "a").note("x", "m");
    let warning = at(&file, "a").warning("x", "m");
    let error = at(&file, "a").error("x", "m");
    assert!(!found(vec![note.clone()]).forbids(true));
    assert!(!found(vec![note.clone(), warning.clone()]).forbids(false));
    assert!(found(vec![note, warning]).forbids(true));
    assert!(found(vec![error]).forbids(false));
}

#[test]
fn diagnostics_are_sorted_by_file_and_place() {
    let (one, two) = (piece("a b c"), Arc::new(SourceFile::new(Area::Piece, "z.yaml", "d")));
    let list = [at(&two, "d"), at(&one, "c"), at(&one, "a")].map(|place| place.error("x", place.name()));
    let mut diagnostics = Diagnostics::from_iter(list);
    diagnostics.push(Diagnostic::error(Area::Settings.code("x"), "flag"));
    let order: Vec<String> = diagnostics.sorted().into_iter().map(|one| one.message).collect();
    let expected = ["flag", ".takt/pieces/default.yaml:1:1", ".takt/pieces/default.yaml:1:5", "z.yaml:1:1"];
    assert_eq!(order, expected);
}

#[test]
fn what_nobody_reads_is_only_counted() {
    let mut diagnostics = Diagnostics::new();
    for _ in 0..Diagnostics::MOST + 5 {
        diagnostics.push(Diagnostic::note(Area::Script.code("x"), "m"));
    }
    diagnostics.push(Diagnostic::error(Area::Script.code("x"), "m"));
    assert_eq!((diagnostics.len(), diagnostics.left_off()), (Diagnostics::MOST, 6));
    assert!(diagnostics.has_errors());
    assert!(to_human(&diagnostics, Colour::Never).ends_with("6 more are not shown\n"));
}

#[test]
fn the_nearest_word_is_suggested_only_if_it_is_near() {
    let check = |word: &str, expected: Option<&str>| {
        let known = ["claude", "codex", "edit", "max_iterations", "COMPLETE", "rules"];
        assert_eq!(nearest(word, known), expected, "{word}");
    };
    check("cluade", Some("claude"));
    check("edti", Some("edit"));
    check("max-iterations", Some("max_iterations"));
    check("complete", Some("COMPLETE"));
    check("ruels", Some("rules"));
    check("xy", None);
    check("something else", None);
    check(&"e".repeat(100_000), None);
}

#[test]
fn a_path_names_keys_and_items() {
    let path = DocumentPath::root().key("movements").index(2).key("a b").key("c.d").index(0);
    assert_eq!(path.to_string(), "movements[2][\"a b\"][\"c.d\"][0]");
    assert_eq!(DocumentPath::root().key("a").key("b").index(1).tail(), "b[1]");
    assert_eq!(DocumentPath::root().index(1).tail(), "[1]");
}

#[test]
fn a_sarif_log_names_rules_levels_and_places() {
    // K-43: the same code as everywhere
    let file = Arc::new(SourceFile::new(Area::Piece, "計画 a.yaml", "x: 😀y\nz: 1\n"));
    let diagnostics = Diagnostics::from_iter([
        at(&file, "y")
            .error("bad-value", "wrong")
            .label("here")
            .hint("right")
            .also(&at(&file, "z"), "and here"),
        Location::whole(&file).warning("no-effect", "all of it"),
        Diagnostic::note(Area::Settings.code("no-effect"), "nowhere"),
        at(&file, "1").error("bad-value", "wrong too"),
    ]);
    let log: serde_json::Value = serde_json::from_str(&to_sarif(&diagnostics)).unwrap();
    let run = &log["runs"][0];
    assert_eq!((&log["version"], &run["columnKind"]), (&"2.1.0".into(), &"unicodeCodePoints".into()));
    assert_eq!(run["tool"]["driver"]["name"], "saihai");
    let results = run["results"].as_array().unwrap();
    let lines: Vec<String> =
        [&run["tool"]["driver"]["rules"]].into_iter().chain(results).map(|one| one.to_string()).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    [{"id":"piece/bad-value","shortDescription":{"text":"piece: bad value"}},{"id":"piece/no-effect","shortDescription":{"text":"piece: no effect"}},{"id":"settings/no-effect","shortDescription":{"text":"settings: no effect"}}]
    {"level":"error","locations":[{"logicalLocations":[{"fullyQualifiedName":"movements[2].next"}],"message":{"text":"here"},"physicalLocation":{"artifactLocation":{"uri":"%E8%A8%88%E7%94%BB%20a.yaml","uriBaseId":"%SRCROOT%"},"region":{"endColumn":6,"endLine":1,"startColumn":5,"startLine":1}}}],"message":{"text":"wrong\nhelp: right"},"relatedLocations":[{"logicalLocations":[{"fullyQualifiedName":"movements[2].next"}],"message":{"text":"and here"},"physicalLocation":{"artifactLocation":{"uri":"%E8%A8%88%E7%94%BB%20a.yaml","uriBaseId":"%SRCROOT%"},"region":{"endColumn":2,"endLine":2,"startColumn":1,"startLine":2}}}],"ruleId":"piece/bad-value","ruleIndex":0}
    {"level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"%E8%A8%88%E7%94%BB%20a.yaml","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"all of it"},"ruleId":"piece/no-effect","ruleIndex":1}
    {"level":"note","locations":[],"message":{"text":"nowhere"},"ruleId":"settings/no-effect","ruleIndex":2}
    {"level":"error","locations":[{"logicalLocations":[{"fullyQualifiedName":"movements[2].next"}],"physicalLocation":{"artifactLocation":{"uri":"%E8%A8%88%E7%94%BB%20a.yaml","uriBaseId":"%SRCROOT%"},"region":{"endColumn":5,"endLine":2,"startColumn":4,"startLine":2}}}],"message":{"text":"wrong too"},"ruleId":"piece/bad-value","ruleIndex":0}
    "#);
}

#[test]
fn a_clean_check_is_a_sarif_log_without_results() {
    let log: serde_json::Value = serde_json::from_str(&to_sarif(&Diagnostics::new())).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"], serde_json::json!([]));
}

#[test]
fn a_sarif_place_is_a_uri() {
    let uri = |name: &str| {
        let file = Arc::new(SourceFile::new(Area::Piece, name, "a"));
        let log = to_sarif(&Diagnostics::from_iter([Location::whole(&file).error("x", "m")]));
        let log: serde_json::Value = serde_json::from_str(&log).unwrap();
        let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert!(place["region"].is_null());
        let text = |key: &str| place["artifactLocation"][key].as_str().unwrap_or("-").to_owned();
        format!("{} {}", text("uriBaseId"), text("uri"))
    };
    assert_eq!(uri(".takt/pieces/a-b_c~.yaml"), "%SRCROOT% .takt/pieces/a-b_c~.yaml");
    assert_eq!(uri("a b%:c.yaml"), "%SRCROOT% a%20b%25%3Ac.yaml");
    assert_eq!(uri("/home/me/計.yaml"), "- file:///home/me/%E8%A8%88.yaml");
    assert_eq!(uri("~/.takt/pieces/a.yaml"), "HOME .takt/pieces/a.yaml");
}

// A file name says what a path is; a part of it says nothing.
#[test]
fn a_long_path_loses_directories_and_never_a_part_of_a_name() {
    let deep = "packages/frontend/source/components/authentication/LoginForm.tsx";
    assert_eq!(quoted(deep), "`…/frontend/source/components/authentication/LoginForm.tsx`");
    let long_name = format!("a/{}.md", "n".repeat(70));
    assert_eq!(quoted(&long_name), format!("`…/{}.md`", "n".repeat(70)));
    assert_eq!(quoted("src/lib.rs"), "`src/lib.rs`");
    assert_eq!(quoted_path("My Files/a b.md"), "`My Files/a b.md`");
    let prose = "read a/b and then write down what you think about the whole of it";
    assert_eq!(quoted(prose), format!("`{}…`", &prose[..60]));
}

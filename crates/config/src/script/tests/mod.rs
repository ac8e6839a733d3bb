mod answers;
mod laws;
mod own;
mod takt;

use insta::assert_snapshot;
use saihai_model::{FailureClass, Millis, Moment, ScriptFailure, Times, Usd, Visits, Wants, testing};
use serde_json::json;

use super::*;
use crate::diagnostic::{Colour, to_human};
use crate::document::Format;
use crate::source::MemorySource;

/// Returns `plan`, `implement`, `reviewers` with the turns `security` and `style`, and two gates.
fn workflow() -> Workflow {
    let stages =
        [("plan", &["plan"][..]), ("implement", &["implement"]), ("reviewers", &["security", "style"])];
    let turns = |turns: &[&str]| turns.iter().map(|id| testing::turn(id, Vec::new())).collect();
    let stages = stages.into_iter().map(|(name, ids)| (name, testing::stage(turns(ids), &[])));
    let gates = [("approve", Wants::YesNo), ("plan/input[1]", Wants::Text { max_chars: 20 })];
    let gates = gates.into_iter().map(|(name, wants)| (name, testing::gate(wants, "COMPLETE")));
    testing::workflow(stages.chain(gates).collect())
}

fn read(text: &str, format: Format) -> (Option<Script>, String) {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(text.as_bytes(), format, "s", Area::Script, &mut diagnostics);
    let script = document.and_then(|document| {
        let (script, more) = read_script(&document, Some(&workflow()));
        diagnostics.append(more);
        script
    });
    (script, to_human(&diagnostics.sorted(), Colour::Never))
}

fn script(text: &str) -> Script {
    let (script, wrong) = read(text, Format::Yaml);
    assert_eq!(wrong, "");
    script.unwrap()
}

/// Formats the replies, one per line, without absent fields.
fn replies(script: &Script) -> String {
    let lines = script.replies.iter().map(|reply| {
        let mut json = serde_json::to_value(reply).unwrap();
        let empty = [json!(null), json!([]), json!({}), json!(false), json!({"exactly": 1})];
        json.as_object_mut().unwrap().retain(|_, value| !empty.contains(value));
        format!("{json}\n")
    });
    lines.collect()
}

fn wrong(text: &str) -> String {
    let (script, wrong) = read(text, Format::Yaml);
    assert!(script.is_none(), "nothing is wrong");
    wrong
}

#[test]
fn files_are_read_by_their_ending() {
    let source = MemorySource::new([
        ("/s.yaml", "script: 1\nreplies: [{text: x,}]\n"),
        ("/s.json", "{\"script\": 1, \"replies\": [{\"text\": \"x\",}]}"),
    ]);
    let load = |path: &str| {
        let mut diagnostics = Diagnostics::new();
        let script = load_script(&source, Path::new(path), path, None, &mut diagnostics);
        (script.is_some(), to_human(&diagnostics, Colour::Never))
    };
    assert_eq!(load("/s.yaml"), (true, String::new()));
    assert_snapshot!(load("/s.json").1, @r#"
    error[script/syntax]: this is not valid JSON: a comma after the last item
    --> /s.json:1:39
      |
    1 | {"script": 1, "replies": [{"text": "x",}]}
      |                                       ^
      = help: remove the comma
    "#);
    assert_snapshot!(load("/none.yaml").1, @"
    error[script/missing-file]: cannot read `/none.yaml`: it does not exist
    --> /none.yaml
    ");
}

#[test]
fn an_empty_file_and_one_of_another_kind_are_told() {
    assert_snapshot!(wrong(""), @"
    error[script/bad-type]: the document must be a mapping, but nothing is given
    --> s:1:1
      |
    1 |
      | ^ no value
    ");
    assert_snapshot!(wrong("name: a piece\nmovements: []\n"), @"
    error[script/unknown-key]: unknown key `name`
    --> s:1:1
      |
    1 | name: a piece
      | ^^^^ not a key of a script
      = help: a script has the keys `script`, `strict`, `replies`, `task`, `expect`, `answers`, `interactive` and `recorded`

    error[script/missing-key]: a script needs `script`
    --> s:1:1
      |
    1 | name: a piece
      | ^^^^^^^^^^^^^ `script` is missing here

    error[script/missing-key]: a script needs `replies`
    --> s:1:1
      |
    1 | name: a piece
      | ^^^^^^^^^^^^^ `replies` is missing here

    error[script/unknown-key]: unknown key `movements`
    --> s:2:1
      |
    2 | movements: []
      | ^^^^^^^^^ not a key of a script
      = help: a script has the keys `script`, `strict`, `replies`, `task`, `expect`, `answers`, `interactive` and `recorded`
    ");
}

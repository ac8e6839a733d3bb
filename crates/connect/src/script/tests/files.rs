//! Writes and edits of a scripted reply.

use std::fs;

use insta::assert_snapshot;
use saihai_model::{Permission, ScriptReply};

use super::say::reply;
use super::stage::{EDIT, Stage, edits, failure, runs, writes};

// C-75: `writes` and `edits` happen inside the working directory.
#[tokio::test]
async fn files_are_written_and_edited_in_order() {
    let said = ScriptReply {
        writes: vec![writes("src/deep/a.txt", "one two\n"), writes("b.txt", "b")],
        edits: vec![edits("src/deep/a.txt", "two", "2"), edits("./old.txt", "x", "y")],
        ..reply("-> ok")
    };
    let mut stage = Stage::new(vec![said], |_| {});
    fs::write(stage.path().join("old.txt"), "x").unwrap();
    fs::write(stage.path().join("b.txt"), "longer than before").unwrap();
    stage.answer(stage.ask(Permission::Edit { commands: false })).await.unwrap();
    assert_snapshot!(stage.files(), @r#"
    b.txt: "b"
    old.txt: "y"
    src/deep/a.txt: "one 2\n"
    "#);
    assert_snapshot!(stage.seen(), @"
    started write src/deep/a.txt
    started write b.txt
    started edit src/deep/a.txt
    started edit ./old.txt
    finished write src/deep/a.txt
    finished write b.txt
    finished edit src/deep/a.txt
    finished edit ./old.txt
    ");
}

// C-42 and Connections case 38: actions above the level are rejected before any action.
#[tokio::test]
async fn a_reply_never_does_more_than_its_turn_may() {
    let write = ScriptReply { writes: vec![writes("a", "a")], ..reply("-> ok") };
    let edit = ScriptReply { edits: vec![edits("a", "a", "b")], ..reply("-> ok") };
    let run = ScriptReply { runs: vec![runs(&["touch", "a"], 0)], ..reply("-> ok") };
    let both = ScriptReply { writes: vec![writes("a", "a")], ..run.clone() };
    let cases = [
        (Permission::ReadOnly, write),
        (Permission::ReadOnly, edit),
        (Permission::ReadOnly, run.clone()),
        (Permission::Edit { commands: false }, run),
        (Permission::Edit { commands: false }, both),
    ];
    let mut said = Vec::new();
    for (permission, reply) in cases {
        let mut stage = Stage::new(vec![reply], |_| {});
        said.push(failure(&stage.answer(stage.ask(permission)).await));
        assert_eq!(stage.files(), "");
    }
    assert_snapshot!(said.join("\n"), @"
    bad_request: script:ok: a turn with permission `readonly` cannot write, edit or run anything
    bad_request: script:ok: a turn with permission `readonly` cannot write, edit or run anything
    bad_request: script:ok: a turn with permission `readonly` cannot write, edit or run anything
    bad_request: script:ok: a turn with permission `edit-only` cannot run programs
    bad_request: script:ok: a turn with permission `edit-only` cannot run programs
    ");
}

// Connections case 38: a path that leads outside is an error. Nothing is written, not even the valid paths.
#[tokio::test]
async fn a_path_that_leads_outside_stops_the_whole_reply() {
    let said = ScriptReply { writes: vec![writes("good", "g"), writes("../x", "x")], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(Permission::Full)).await;
    assert_snapshot!(failure(&answer), @"bad_request: script:ok: `../x` is not a relative path that stays inside the working directory");
    assert_eq!(stage.files(), "");
}

// C-75: `find` must occur once.
#[tokio::test]
async fn an_edit_whose_text_is_not_there_once_fails() {
    for (content, times) in [("b", 0), ("aa", 2)] {
        let said = ScriptReply { edits: vec![edits("f", "a", "c")], ..reply("-> ok") };
        let mut stage = Stage::new(vec![said], |_| {});
        fs::write(stage.path().join("f"), content).unwrap();
        let expected = format!("bad_request: script:ok: \"a\" occurs {times} times in `f` instead of once");
        assert_eq!(failure(&stage.answer(stage.ask(EDIT)).await), expected);
    }
}

// A crash between the edit and the recorded reply must not fail the repeated call.
#[tokio::test]
async fn a_repeated_call_accepts_an_edit_it_has_already_made() {
    let said = ScriptReply { edits: vec![edits("f", "old", "new")], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said.clone()], |_| {});
    fs::write(stage.path().join("f"), "old").unwrap();
    stage.answer(stage.ask(EDIT)).await.unwrap();
    stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_eq!(stage.files(), "f: \"new\"");

    // Control: without the crash it is an error.
    let mut fresh = Stage::new(vec![said], |_| {});
    fs::write(fresh.path().join("f"), "new").unwrap();
    assert!(fresh.answer(fresh.ask(EDIT)).await.is_err());
}

// K-20: a rehearsal checks and displays writes, edits and runs without executing them.
#[tokio::test]
async fn a_rehearsal_checks_and_shows_but_does_nothing() {
    let said = ScriptReply {
        writes: vec![writes("new.txt", "n")],
        edits: vec![edits("new.txt", "n", "m"), edits("old.txt", "x", "y")],
        runs: vec![runs(&["touch", "made.txt"], 0)],
        ..reply("-> ok")
    };
    let mut stage = Stage::new(vec![said], |with| with.dry = true);
    fs::write(stage.path().join("old.txt"), "x").unwrap();
    let answer = stage.answer(stage.ask(EDIT)).await.unwrap();
    assert_eq!(stage.files(), "old.txt: \"x\"");
    let kept: Vec<_> = answer.tools_used.iter().map(|tool| format!("{tool:?}")).collect();
    assert_snapshot!(kept.join("\n"), @r#"
    ToolUse { name: "write", input: Some(Object {"path": String("new.txt")}), output: Some(String("rehearsed, not done")), duration_ms: 0 }
    ToolUse { name: "edit", input: Some(Object {"path": String("new.txt")}), output: Some(String("rehearsed, not done")), duration_ms: 0 }
    ToolUse { name: "edit", input: Some(Object {"path": String("old.txt")}), output: Some(String("rehearsed, not done")), duration_ms: 0 }
    ToolUse { name: "run", input: Some(Object {"argv": Array [String("touch"), String("made.txt")]}), output: Some(String("rehearsed, not done")), duration_ms: 0 }
    "#);
    assert_snapshot!(stage.seen(), @"
    started would write new.txt
    started would edit new.txt
    started would edit old.txt
    finished would write new.txt
    finished would edit new.txt
    finished would edit old.txt
    started would run touch made.txt
    finished would run touch made.txt
    ");
}

#[tokio::test]
async fn a_rehearsal_finds_what_would_go_wrong() {
    let escape = ScriptReply { writes: vec![writes("/etc/x", "")], ..reply("-> ok") };
    let stale = ScriptReply { edits: vec![edits("f", "x", "y")], ..reply("-> ok") };
    let mut said = Vec::new();
    for reply in [escape, stale] {
        let mut stage = Stage::new(vec![reply], |with| with.dry = true);
        fs::write(stage.path().join("f"), "z").unwrap();
        said.push(failure(&stage.answer(stage.ask(EDIT)).await));
    }
    assert_snapshot!(said.join("\n"), @r#"
    bad_request: script:ok: `/etc/x` is not a relative path that stays inside the working directory
    bad_request: script:ok: "x" occurs 0 times in `f` instead of once
    "#);
}

//! Actions of a run itself: files, programs and their results.

use std::os::unix::fs::PermissionsExt as _;

use indexmap::IndexMap;
use saihai_connect::Connections;
use saihai_model::{
    Action, ActionSpec, BlockUse, Blocks, CommandVerdict, Completion, Ending, Fact, FailureReason, Json,
    Millis, Once, Outcome, Record, RecordEntry, Workflow,
};
use serde_json::json;

use crate::testing::{BEGINNING, Project, drive, fixed, go_on, script, stage, turn, workflow};
use crate::{Clock, DriveOptions, Driver, RunSpec};

fn spec(does: Action, once: Once) -> ActionSpec {
    ActionSpec { does, inputs: Vec::new(), once, poll: None }
}

/// Builds a workflow of one turn that writes blocks of type `note` into a file.
fn noting(append: bool) -> Workflow {
    let mut work = turn("work", vec![fixed("Work.")]);
    let file = Action::WriteFile { path: "output.md".to_owned(), append };
    let uses = [
        ("note".to_owned(), BlockUse::Do(spec(file, Once::LookUpFirst))),
        ("issue".to_owned(), BlockUse::Do(spec(Action::OpenIssue, Once::LookUpFirst))),
        ("log".to_owned(), BlockUse::Do(spec(Action::Log, Once::ReadOnly))),
    ];
    work.reads.blocks = Some(Blocks { fence: "action".to_owned(), uses: IndexMap::from(uses) });
    workflow(vec![("work", stage(vec![work], &[("", "COMPLETE")]))])
}

fn block(value: &Json) -> String {
    format!("```action\n{value}\n```\n")
}

fn started(project: &Project, workflow: Workflow, texts: &[&str], connections: Connections) -> Driver {
    let spec = RunSpec { rehearsal: false, ..project.spec(workflow, script(texts)) };
    Driver::start(&project.runs(), spec, connections, Clock::starting_at(BEGINNING)).unwrap()
}

async fn played(project: &Project, workflow: Workflow, blocks: &[Json]) -> Vec<Json> {
    let text = blocks.iter().map(block).collect::<String>();
    let driver = started(project, workflow, &[&text], Connections::default());
    let finish = drive(driver, DriveOptions::default()).await.0.unwrap();
    assert_eq!(finish.exit_code(), 0, "a failed action stops nothing (S-65)");
    let run = crate::LoadedRun::read(&project.last()).unwrap();
    run.iterations().unwrap()[0].action_results.iter().map(|result| json!(result)).collect()
}

fn content(project: &Project, file: &str) -> String {
    std::fs::read_to_string(project.path(file)).unwrap()
}

// S-65
#[tokio::test(start_paused = true)]
async fn blocks_write_files_below_the_working_directory_in_order() {
    let project = Project::new();
    std::fs::write(project.path("output.md"), "old ").unwrap();
    let results = played(
        &project,
        noting(true),
        &[
            json!({"type": "note", "content": "one "}),
            json!({"type": "note", "content": "two"}),
            json!({"type": "note", "content": "new", "filename": "a/b.txt", "mode": "write"}),
            json!({"type": "log", "content": "only recorded"}),
        ],
    )
    .await;
    assert_eq!(content(&project, "output.md"), "old one two");
    assert_eq!(content(&project, "a/b.txt"), "new");
    assert_eq!(
        results,
        [
            json!({"success": true, "result": {"path": "output.md", "bytes": 8}}),
            json!({"success": true, "result": {"path": "output.md", "bytes": 11}}),
            json!({"success": true, "result": {"path": "a/b.txt", "bytes": 3}}),
            json!({"success": true, "result": {"content": "only recorded"}}),
        ]
    );
}

// S-65, P8, case 37
#[tokio::test(start_paused = true)]
async fn nothing_is_written_outside_the_working_directory() {
    let project = Project::new();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path("link")).unwrap();
    std::fs::write(outside.path().join("kept"), "kept").unwrap();
    std::os::unix::fs::symlink(outside.path().join("kept"), project.path("file-link")).unwrap();
    let absolute = outside.path().join("x").display().to_string();
    let names = [
        "../x",
        &absolute,
        "link/x",
        "a/../../x",
        "",
        "a\\b",
        ".git/hooks/pre-commit",
        ".Saihai/config.toml",
    ];
    let blocks: Vec<Json> = names
        .iter()
        .map(|name| json!({"type": "note", "content": "x", "filename": name, "mode": "write"}))
        .collect();
    let results = played(&project, noting(false), &blocks).await;
    let errors: Vec<String> =
        results.iter().map(|result| result["error"].as_str().unwrap_or("done").to_owned()).collect();
    for (name, error) in names.iter().zip(&errors) {
        assert!(error.starts_with(&format!("cannot write `{name}`: ")), "{name}: {error}");
    }
    assert!(errors[0].ends_with("its path is not valid"), "{}", errors[0]);
    assert!(errors[2].contains("a link"), "{}", errors[2]);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    let project = Project::new();
    std::os::unix::fs::symlink(outside.path().join("kept"), project.path("file-link")).unwrap();
    let linked = json!({"type": "note", "content": "x", "filename": "file-link", "mode": "append"});
    let results = played(&project, noting(false), &[linked]).await;
    assert_eq!(results[0]["success"], json!(false));
    assert_eq!(std::fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
}

// S-65
#[tokio::test(start_paused = true)]
async fn an_action_that_cannot_be_done_says_why() {
    let project = Project::new();
    std::fs::create_dir(project.path("folder")).unwrap();
    let results = played(
        &project,
        noting(false),
        &[
            json!({"type": "note", "content": "x", "mode": "delete"}),
            json!({"type": "note", "content": "x", "filename": "folder"}),
            json!({"type": "issue", "title": "x"}),
        ],
    )
    .await;
    assert_eq!(
        results[0],
        json!({"success": false, "error": "cannot write `output.md`: unknown mode `delete`: use `append` or `write`"})
    );
    assert_eq!(results[1]["success"], json!(false));
    assert_eq!(
        results[2],
        json!({"success": false, "error": "this version of Saihai cannot do `open_issue` here"})
    );
}

/// Cuts the journal after the last record that `keep` accepts, as a dying process would.
fn cut_behind(project: &Project, keep: impl Fn(&Record) -> bool) {
    let last = project.records().iter().rposition(keep).unwrap();
    let journal = String::from_utf8(project.journal()).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    let batch = |line: &str| serde_json::from_str::<Json>(line).unwrap()["batch"].as_u64();
    let kept = lines.iter().filter(|line| batch(line) <= batch(lines[last]));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    std::fs::write(project.last().journal(), kept).unwrap();
}

// S-65, P4
#[tokio::test(start_paused = true)]
async fn after_a_crash_what_may_have_been_appended_is_reported_and_not_repeated() {
    let project = Project::new();
    played(&project, noting(true), &[json!({"type": "note", "content": "once"})]).await;
    cut_behind(&project, |record| matches!(record.entry, RecordEntry::Fact(Fact::Replied(_))));
    drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(content(&project, "output.md"), "once");
    let run = crate::LoadedRun::read(&project.last()).unwrap();
    assert_eq!(
        json!(run.iterations().unwrap()[0].action_results),
        json!([{
            "success": false,
            "error": "cannot write `output.md`: it is unknown if this was done before the interruption; Saihai does not repeat it",
        }])
    );
    assert_eq!(run.state.name(), "completed", "and the run goes on");
}

// S-65, P4: writing the same whole file twice equals writing it once.
#[tokio::test(start_paused = true)]
async fn after_a_crash_a_whole_file_is_written_again() {
    let project = Project::new();
    played(&project, noting(false), &[json!({"type": "note", "content": "whole"})]).await;
    cut_behind(&project, |record| matches!(record.entry, RecordEntry::Fact(Fact::Replied(_))));
    std::fs::remove_file(project.path("output.md")).unwrap();
    drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(content(&project, "output.md"), "whole");
}

// S-65: a rehearsal only records actions.
#[tokio::test(start_paused = true)]
async fn in_a_rehearsal_nothing_is_written_and_no_program_is_run() {
    let project = Project::new();
    let mut flow = noting(false);
    let touch = vec!["/bin/sh".to_owned(), "-c".to_owned(), "touch ran".to_owned()];
    flow.completion = Completion::Outside(spec(
        Action::Command {
            argv: touch,
            timeout: Millis::seconds(60),
            input: Json::Null,
            told: CommandVerdict::ByAnswer,
            written: None,
        },
        Once::ReadOnly,
    ));
    let text = block(&json!({"type": "note", "content": "x"}));
    let dry = Connections { dry: true, ..Connections::default() };
    let driver = started(&project, flow, &[&text], dry);
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    assert!(!project.path("output.md").exists() && !project.path("ran").exists());
    let run = crate::LoadedRun::read(&project.last()).unwrap();
    assert_eq!(
        json!(run.iterations().unwrap()[0].action_results[0].result),
        json!({"path": "output.md", "rehearsed": true})
    );
}

fn handler(project: &Project, body: &str) -> Workflow {
    let path = project.path("handler.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut flow = workflow(vec![("work", stage(vec![turn("work", vec![fixed("Work.")])], &[("", "work")]))]);
    let input = json!({"agent": "tailor", "parameters": {"customer": "Sato"}});
    let command = Action::Command {
        argv: vec![path.display().to_string()],
        timeout: Millis::seconds(60),
        input,
        told: CommandVerdict::ByAnswer,
        written: None,
    };
    flow.completion = Completion::Outside(spec(command, Once::ReadOnly));
    flow
}

async fn handled(project: &Project, body: &str, texts: &[&str]) -> Option<Ending> {
    let driver = started(project, handler(project, body), texts, Connections::default());
    drive(driver, DriveOptions::default()).await.0.unwrap().ending
}

// S-62
#[tokio::test]
async fn a_handler_is_told_how_the_run_stands_and_its_answer_is_a_fact() {
    let project = Project::new();
    let body = "cat > seen.$(ls seen.* 2>/dev/null | wc -l)\n\
                if [ -e seen.1 ]; then echo '{\"complete\": true, \"reason\": \"it fits\"}'\n\
                else echo '{\"complete\": false}'; fi";
    let ending = handled(&project, body, &["first try", "second try"]).await;
    assert_eq!(ending, Some(Ending::Completed("it fits".into())));
    let seen: Json = serde_json::from_str(&content(&project, "seen.1")).unwrap();
    assert_eq!(seen["agent"], "tailor");
    assert_eq!(seen["parameters"], json!({"customer": "Sato"}));
    assert_eq!((&seen["iteration"], &seen["stepId"]), (&json!(2), &json!("work")));
    assert_eq!(seen["carry"]["previousResponse"], "second try", "the iteration that has just ended");
    assert_eq!(seen["carry"]["accumulatedContext"], json!({"lastToolsUsed": [], "lastActions": []}));
    assert_eq!(seen["summary"]["assistantResponses"], json!(["second try"]));
    let answers = project.records().into_iter().filter_map(|record| match record.entry {
        RecordEntry::Fact(Fact::Performed { outcome: Outcome::Done { label, .. }, .. }) => {
            label.map(|label| label.to_string())
        }
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), ["open", "reached"]);
}

// S-62, case 35
#[tokio::test]
async fn a_handler_that_fails_or_says_nothing_of_use_fails_the_run_by_its_name() {
    for (body, why) in [("echo no >&2; exit 1", "exited with 1: no"), ("echo yes", "printed no JSON object")]
    {
        let project = Project::new();
        let ending = handled(&project, body, &["x"]).await;
        assert_eq!(ending.as_ref().map(Ending::reason), Some("step_failed"));
        let Some(Ending::Failed(FailureReason::CompletionFailed { message })) = ending else {
            panic!("{ending:?}");
        };
        assert!(message.contains("handler.sh` ") && message.contains(why), "{message}");
    }
}

// S-34, S-60, case 33
#[tokio::test(start_paused = true)]
async fn a_file_that_is_there_already_completes_the_run_without_a_turn() {
    let project = Project::new();
    let look = |path: &str, absent| spec(Action::FileState { path: path.to_owned(), absent }, Once::ReadOnly);
    let flow = |action: ActionSpec| {
        let mut flow = noting(false);
        flow.completion = Completion::Outside(action);
        flow
    };
    std::fs::write(project.path("done.txt"), "").unwrap();
    for action in [look("done.txt", false), look("busy.txt", true)] {
        let driver = started(&project, flow(action), &[], Connections::default());
        assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
        let run = crate::LoadedRun::read(&project.last()).unwrap();
        assert_eq!((run.state.name(), run.view.iterations), ("completed", 0));
    }
    let text = block(&json!({"type": "note", "content": "x", "filename": "late.txt"}));
    let driver = started(&project, flow(look("late.txt", false)), &[&text], Connections::default());
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    assert_eq!(
        crate::LoadedRun::read(&project.last()).unwrap().view.iterations,
        1,
        "written by a block, seen at the end"
    );
    let driver = started(&project, flow(look("never.txt", false)), &["x"], Connections::default());
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 1);
    let reason = crate::run_state(&project.last()).unwrap();
    assert_eq!(reason.reason(), Some("flow_ended"));
}

// S-54, case 31: if all messages are carried on, a round of work without a message does not fail.
#[tokio::test(start_paused = true)]
async fn a_reply_of_tools_alone_is_a_round_without_words() {
    let project = Project::new();
    let mut work = turn("work", vec![fixed("Work.")]);
    work.reads.carry = saihai_model::CarriedWords::AllMessages;
    let flow = workflow(vec![("work", stage(vec![work], &[("", "COMPLETE")]))]);
    let tool = saihai_model::ToolUse {
        name: "Read".to_owned(),
        output: Some(json!("words")),
        ..saihai_model::ToolUse::default()
    };
    let mut played = script(&[""]);
    played.replies[0].tools_used = vec![tool];
    let driver = project.start(flow, played).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    let run = crate::LoadedRun::read(&project.last()).unwrap();
    assert_eq!(run.iterations().unwrap()[0].assistant_responses, [""; 0]);
    assert_eq!(run.iterations().unwrap()[0].tools_used[0].name, "Read");
}

// K-22, S-62: an interrupt ends a slow action, and a resume repeats it.
#[tokio::test]
async fn a_handler_under_way_is_ended_with_the_run_and_asked_again() {
    let project = Project::new();
    let body = "if [ -e second ]; then echo '{\"complete\": true}'; else touch second; sleep 600; fi";
    let driver = started(&project, handler(&project, body), &["x"], Connections::default());
    let control = driver.control();
    let second = project.path("second");
    let waiting = tokio::spawn(async move {
        while !second.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        control.interrupt("ctrl-c");
    });
    let finish = drive(driver, DriveOptions::default()).await.0.unwrap();
    waiting.await.unwrap();
    assert_eq!(finish.exit_code(), 3);
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(finish.ending, Some(Ending::Completed("reached".into())));
}

//! Processes that die at every disk operation, and the resumed runs.

use std::collections::BTreeMap;

use saihai_model::{
    AnswerForm, Fact, Join, Method, Permission, Prompt, Question, QuestionSession, Record, RecordEntry,
    Script, ScriptReply, ScriptTarget, ScriptWrite, Variable, Wants, Workflow,
};

use crate::disk::{Deadly, Death, FaultPlan};
use crate::testing::{
    Project, choosing, fixed, gate, go_on, reporting, script, shown, stage, turn, value, watch, workflow,
};
use crate::{Disk, DriveOptions, DriveOutcome, DriverError, DriverEvent};

/// A loop of two rounds with two reports, a parallel stage with a judge, a gate and a long reply.
pub(super) fn workload() -> Workflow {
    let plan = reporting(turn("plan", vec![fixed("Plan."), value(Variable::Task)]), &["plan.md"]);
    let mut build = reporting(turn("build", vec![fixed("Build."), value(Variable::Previous)]), &["log.md"]);
    build.permission = Permission::Edit { commands: false };
    let reviews = ["a", "b", "c"].map(|id| {
        let mut turn = choosing(turn(id, vec![fixed(id), value(Variable::Previous)]), &["ok", "fix"]);
        let ask = Question {
            prompt: Prompt {
                sections: vec![fixed("Which?"), value(Variable::Combined)],
                join: Join::Paragraphs,
            },
            provider: None,
            model: None,
            session: QuestionSession::Fresh,
            answer: AnswerForm::Tag,
            correction: Prompt::default(),
            corrections: 0,
            unreadable: None,
        };
        turn.reads.choice.as_mut().unwrap().found_by.push(Method::Ask(Box::new(ask)));
        turn
    });
    workflow(vec![
        ("plan", stage(vec![plan], &[("", "build")])),
        ("build", stage(vec![build], &[("", "review")])),
        ("review", stage(reviews.to_vec(), &[("ok", "ask"), ("fix", "plan")])),
        ("ask", gate(Wants::YesNo, "COMPLETE")),
    ])
}

pub(super) fn replies() -> Script {
    let reply = |stage: &str, turn: Option<&str>, judge: bool, text: &str| ScriptReply {
        target: Some(ScriptTarget { stage: stage.into(), turn: turn.map(Into::into), judge }),
        text: Some(text.to_owned()),
        ..ScriptReply::default()
    };
    let long = format!("{}\n```markdown\n# Log\n```\n", "word ".repeat(5_000));
    let build = |text: &str, file: &str| {
        let writes = vec![ScriptWrite { path: format!("calls/{file}"), content: String::new() }];
        ScriptReply { writes, ..reply("build", None, false, text) }
    };
    let mut script = script(&[]);
    script.replies = vec![
        reply("plan", None, false, "```markdown\n# Plan one\n```"),
        build("built, no block", "1"),
        reply("review", Some("a"), false, "[STEP:1]"),
        reply("review", Some("b"), false, "hm"),
        reply("review", Some("b"), true, "[STEP:1]"),
        reply("review", Some("c"), false, "[STEP:1]"),
        reply("plan", None, false, "```markdown\n# Plan two\n```"),
        build(&long, "2"),
        reply("review", Some("a"), false, "[STEP:0]"),
        reply("review", Some("b"), false, "[STEP:0]"),
        reply("review", Some("c"), false, "[STEP:0]"),
    ];
    script
}

pub(super) const GOING: DriveOptions = DriveOptions { stay_at_gates: false, auto: true, when_told: false };

/// Builds a disk that skips syncing.
pub(super) fn quick(plan: FaultPlan) -> Disk {
    Disk::failing(FaultPlan { no_sync: true, ..plan })
}

/// Runs one process: it starts the run, or resumes an existing one. Also returns the acknowledged records.
pub(super) async fn live(project: &Project) -> (Result<DriveOutcome, DriverError>, Vec<Record>) {
    let none = project.runs().find("last").is_err();
    let driver = if none { project.start(workload(), replies()) } else { project.resume(go_on()) };
    let mut acknowledged = Vec::new();
    let mut see = |observed: &DriverEvent<'_>| {
        if let DriverEvent::Recorded(record) = observed {
            acknowledged.push((*record).clone());
        }
    };
    let finish = match driver {
        Ok(driver) => watch(driver, GOING, &mut see).await.0,
        Err(error) => Err(error),
    };
    (finish, acknowledged)
}

/// The state that must not depend on the number of interruptions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    exit: u8,
    exits: Vec<String>,
    reports: BTreeMap<String, String>,
    replies: BTreeMap<String, usize>,
}

pub(super) fn end(project: &Project, finish: &DriveOutcome) -> End {
    let records = project.records();
    let mut replies = BTreeMap::new();
    for record in &records {
        if let RecordEntry::Fact(Fact::Replied(reply)) = &record.entry {
            *replies.entry(reply.call.to_string()).or_insert(0) += 1;
        }
    }
    let exits =
        records.iter().map(shown).filter(|line| line.contains(" exited ") || line.contains(" finished "));
    let exits = exits.map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    let directory = project.path(".takt/reports").join(project.last().id());
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let reports = files.filter(|file| !file.file_name().to_str().unwrap().starts_with('.')).map(|file| {
        let text = std::fs::read_to_string(file.path()).unwrap();
        (file.file_name().into_string().unwrap(), text)
    });
    End { exit: finish.exit_code(), exits, reports: reports.collect(), replies }
}

/// Returns the end of an undisturbed workload, and the kind of each disk operation.
pub(super) async fn undisturbed() -> (End, Vec<String>) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let project =
        Project::on(quick(FaultPlan { log: Some(log.path().to_path_buf()), ..FaultPlan::default() }));
    let finish = live(&project).await.0.unwrap();
    let noted = std::fs::read_to_string(log.path()).unwrap();
    let kinds = noted.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned());
    (end(&project, &finish), kinds.collect())
}

fn asked(records: &[Record]) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for record in records {
        if let RecordEntry::Fact(Fact::Asked { call, .. }) = &record.entry {
            *asked.entry(call.to_string()).or_insert(0) += 1;
        }
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn the_workload_does_what_it_is_meant_to() {
    let (end, operations) = undisturbed().await;
    assert!(operations.len() > 60, "{operations:?}");
    insta::assert_snapshot!(format!("{end:#?}"), @r##"
    End {
        exit: 0,
        exits: [
            "exited \"plan\" {\"stage\":\"build\"}",
            "exited \"build\" {\"stage\":\"review\"}",
            "exited \"review\" {\"stage\":\"plan\"}",
            "exited \"plan\" {\"stage\":\"build\"}",
            "exited \"build\" {\"stage\":\"review\"}",
            "exited \"review\" {\"stage\":\"ask\"}",
            "exited \"ask\" \"complete\"",
            "finished {\"completed\":\"complete\"}",
        ],
        reports: {
            "log.md": "# Log\n",
            "plan.md": "# Plan two\n",
        },
        replies: {
            "build.1.1.1": 1,
            "build.2.1.1": 1,
            "plan.1.1.1": 1,
            "plan.2.1.1": 1,
            "review.1.1.1": 1,
            "review.1.1.2": 1,
            "review.1.1.3": 1,
            "review.1.1.4": 1,
            "review.2.1.1": 1,
            "review.2.1.2": 1,
            "review.2.1.3": 1,
        },
    }
    "##);
}

// T-10, T-20
#[tokio::test(start_paused = true)]
async fn t10_dying_at_any_operation_and_resuming_ends_as_if_nothing_had_happened() {
    let (expected, operations) = undisturbed().await;
    for (operation, kind) in (1..).zip(operations) {
        // Only a write can be half done.
        let halves = if kind == "Write" { &[Death::Half][..] } else { &[] };
        for moment in [Death::Before, Death::After].iter().chain(halves).copied() {
            let case = format!("dead {moment:?} operation {operation}");
            let mut project = Project::on(quick(FaultPlan {
                die: Some((Deadly::Number(operation), moment)),
                ..FaultPlan::default()
            }));
            let (_, acknowledged) = live(&project).await;
            project.disk = quick(FaultPlan::default());
            let (finish, _) = live(&project).await;
            let finish = finish.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(end(&project, &finish), expected, "{case}");
            // Acknowledged records are unchanged, and replies among them are not asked again.
            let records = project.records();
            assert_eq!(records[..acknowledged.len()], acknowledged, "{case}");
            let replied = acknowledged.iter().filter_map(|record| match &record.entry {
                RecordEntry::Fact(Fact::Replied(reply)) => Some(reply.call.to_string()),
                RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
            });
            let (before, all) = (asked(&acknowledged), asked(&records));
            for call in replied {
                assert_eq!(all[&call], before[&call], "{case}: {call}");
            }
            assert!(all.values().all(|times| *times <= 2), "{case}: {all:?}");
        }
    }
}

// T-21
#[tokio::test(start_paused = true)]
async fn t21_of_eight_parallel_turns_only_those_without_a_reply_are_asked_again() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let turns = names.map(|id| choosing(turn(id, vec![fixed(id)]), &["ok"]));
    let workflow = workflow(vec![("all", stage(turns.to_vec(), &[("ok", "COMPLETE")]))]);
    let mut script = script(&["[STEP:0]"; 8]);
    for (reply, name) in script.replies.iter_mut().zip(names) {
        reply.target = Some(ScriptTarget { stage: "all".into(), turn: Some(name.into()), judge: false });
        let slow = ["b", "d", "h"].contains(&name);
        reply.delay = slow.then_some(saihai_model::Millis::seconds(100));
    }
    let project = Project::new();
    let driver = project.start(workflow, script).unwrap();
    let mut see = |_: &DriverEvent<'_>| {};
    let life = watch(driver, DriveOptions::default(), &mut see);
    tokio::time::timeout(std::time::Duration::from_secs(10), life).await.map(drop).unwrap_err();
    let before = project.records().len();
    let (finish, log) =
        watch(project.resume(go_on()).unwrap(), DriveOptions::default(), &mut |_: &DriverEvent<'_>| {}).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    let again: Vec<_> = log.0.iter().filter(|line| line.contains(" asked ")).cloned().collect();
    assert_eq!(again.len(), 3);
    let repeated: Vec<_> = project.records()[before..].iter().map(shown).take(8).collect();
    insta::assert_snapshot!(repeated.join("\n"), @r"
    25 reopened
    26 repeated all.1.1.2
    27 repeated all.1.1.4
    28 repeated all.1.1.8
    29 resumed
    30 asked all.1.1.2
    31 asked all.1.1.4
    32 asked all.1.1.8
    ");
}

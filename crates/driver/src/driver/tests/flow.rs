//! Runs without interruptions.

use saihai_model::{
    Ending, Fact, PromptPart, PromptSection, RecordEntry, ScriptFailure, ScriptReply, SectionCondition, Text,
    ValueForm, Variable, Workflow,
};

use crate::testing::{
    BEGINNING, Project, choosing, drive, fixed, go_on, plan_and_review, reporting, script, shown, stage,
    turn, value, workflow,
};
use crate::{Clock, DriveOptions, Driver, DriverError};

// DESIGN 3
#[tokio::test(start_paused = true)]
async fn a_run_goes_from_its_entry_to_completion() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    let (finish, log) = drive(driver, DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    insta::assert_snapshot!(log.0.join("\n"), @r#"
    1 started
    2 entered "plan"
    3 round
    4 called plan.1.1.1
    5 asked plan.1.1.1
    6 replied plan.1.1.1
    7 exited "plan" {"stage":"review"}
    8 entered "review"
    9 round
    10 called review.1.1.1
    11 asked review.1.1.1
    12 replied review.1.1.1
    13 exited "review" "complete"
    14 finished {"completed":"complete"}
    "#);
}

// DESIGN 3.1: one append holds the reply to a turn and the request for the next.
#[tokio::test(start_paused = true)]
async fn a_reply_its_decisions_and_the_next_request_are_one_batch() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let journal = String::from_utf8(project.journal()).unwrap();
    let batches = journal.lines().map(|line| {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        json["batch"].as_u64().unwrap()
    });
    assert_eq!(batches.collect::<Vec<_>>(), [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3]);
}

// T-101: the number of writes and syncs per turn is fixed.
#[tokio::test(start_paused = true)]
async fn a_turn_is_one_write_and_one_sync() {
    let count = async |rounds: usize| {
        let project = Project::new();
        let mut texts = ["a plan", "again [STEP:1]"].repeat(rounds);
        texts.extend(["a plan", "fine [STEP:0]"]);
        let mut workflow = plan_and_review();
        workflow.limits.rounds = Some(1_000);
        let driver = project.start(workflow, script(&texts)).unwrap();
        assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
        project.disk.operations()
    };
    let (few, many) = (count(1).await, count(21).await);
    assert_eq!((many.writes - few.writes, many.syncs - few.syncs, many.all - few.all), (40, 40, 80));
}

// P-36, P-39, DESIGN 9 P8
#[tokio::test(start_paused = true)]
async fn reports_are_saved_before_the_stage_is_left_and_shown_to_the_next() {
    let project = Project::new();
    let show = PromptSection {
        body: vec![
            PromptPart::Value(Variable::ReportFile("plan.md".to_owned()), ValueForm::Plain),
            PromptPart::Value(Variable::ReportFile("other.md".to_owned()), ValueForm::Plain),
        ],
        when: SectionCondition::Always,
    };
    let workflow = workflow(vec![
        ("plan", stage(vec![reporting(turn("plan", vec![fixed("Plan.")]), &["plan.md"])], &[("", "do")])),
        ("do", stage(vec![turn("do", vec![show])], &[("", "COMPLETE")])),
    ]);
    let reply = "Here:\n```markdown\n# The plan\n```\n";
    let driver = project.start(workflow, script(&[reply, "done"])).unwrap();
    let (finish, log) = drive(driver, DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert_eq!(
        log.0[4..10],
        [
            "5 asked plan.1.1.1",
            "6 replied plan.1.1.1",
            "7 reports plan.1.1.2",
            "8 called plan.1.1.2",
            "9 performed plan.1.1.2",
            "10 exited \"plan\" {\"stage\":\"do\"}",
        ]
    );
    assert_eq!(prompts(&project)[1], "# The plan\n(none yet)\n");
    let saved = project.path(".takt/reports/20260206-085600-make-it-so/plan.md");
    assert_eq!(std::fs::read_to_string(saved).unwrap(), "# The plan\n");
}

/// Returns all sent prompts, read from blobs where needed.
fn prompts(project: &Project) -> Vec<String> {
    let directory = project.last();
    let asked = project.records().into_iter().filter_map(|record| match record.entry {
        RecordEntry::Fact(Fact::Asked { prompt, .. }) => prompt,
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    asked.map(|prompt| directory.text(&prompt).unwrap()).collect()
}

// DESIGN 3.5
#[tokio::test(start_paused = true)]
async fn large_texts_become_blobs_and_are_spliced_into_later_prompts() {
    let project = Project::new();
    let long = format!("{}\nEND", "long ".repeat(10_000));
    let driver = project.start(plan_and_review(), script(&[&long, "fine [STEP:0]"])).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    assert_eq!(prompts(&project)[1], format!("Review.\n\n{long}\n"));
    assert_eq!(std::fs::read_dir(project.last().path().join("blobs")).unwrap().count(), 2);
    assert!(project.journal().len() < 10_000);
}

// P-35
#[tokio::test(start_paused = true)]
async fn a_reply_without_text_is_a_crashed_attempt() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&[" \n", "a plan", "fine [STEP:0]"])).unwrap();
    let (finish, log) = drive(driver, DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert_eq!(log.0[5], "6 failed plan.1.1.1 \"crashed\"");
}

// P-18, T-61: the error comes before the run is created.
#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_be_asked_is_refused_before_anything_is_made() {
    let project = Project::new();
    let mut missing = turn("plan", vec![fixed("Plan.")]);
    missing.provider = "claud".into();
    let workflow = workflow(vec![("plan", stage(vec![missing], &[("", "COMPLETE")]))]);
    let refused = project.start(workflow, script(&[])).map(drop).unwrap_err();
    assert_eq!(refused.to_string(), "there is no provider `claud`; did you mean `claude`?");
    assert_eq!(refused.exit_code(), 2);
    assert_eq!(std::fs::read_dir(project.root.path()).unwrap().count(), 0);
}

// C-33: class, message and time of a failure are preserved.
#[tokio::test(start_paused = true)]
async fn a_failure_says_when_asking_again_makes_sense() {
    let project = Project::new();
    let fail = ScriptFailure {
        class: saihai_model::FailureClass::RateLimited,
        message: "slow down".to_owned(),
        retry_after: Some(saihai_model::Millis::seconds(30)),
        until: None,
    };
    let mut script = script(&["a plan", "fine [STEP:0]"]);
    script.replies.insert(0, ScriptReply { fail: Some(fail), ..ScriptReply::default() });
    let driver = project.start(plan_and_review(), script).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    let failed = project.records().into_iter().find_map(|record| match record.entry {
        RecordEntry::Fact(Fact::Failed(failed)) => Some((record.at, failed.failure)),
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    let (at, failure) = failed.unwrap();
    assert_eq!(
        (failure.until, failure.message),
        (Some(at.plus(saihai_model::Millis::seconds(30))), "slow down".to_owned())
    );
}

// P-33, P-42, invariant 7: the order of finishing does not change the result.
#[tokio::test(start_paused = true)]
async fn parallel_turns_are_asked_at_once_and_their_order_of_finishing_does_not_matter() {
    let parallel = || {
        let turns = ["a", "b", "c"].map(|id| choosing(turn(id, vec![fixed(id)]), &["ok", "fix"]));
        let next = turn("next", vec![value(Variable::Previous)]);
        workflow(vec![
            ("all", stage(turns.to_vec(), &[("ok", "next")])),
            ("next", stage(vec![next], &[("", "COMPLETE")])),
        ])
    };
    let run = async |delays: [u64; 3]| {
        let project = Project::new();
        let mut script = script(&["A [STEP:0]", "B [STEP:0]", "C [STEP:0]", "done"]);
        for (reply, delay) in script.replies.iter_mut().zip(delays) {
            reply.delay = Some(saihai_model::Millis(delay));
        }
        let driver = project.start(parallel(), script).unwrap();
        let (finish, log) = drive(driver, DriveOptions::default()).await;
        assert_eq!(finish.unwrap().exit_code(), 0);
        (prompts(&project), log.0)
    };
    let (prompts, log) = run([30, 20, 10]).await;
    assert_eq!(prompts, run([10, 20, 30]).await.0);
    let order: Vec<_> = log.iter().filter(|line| line.contains(" replied all")).cloned().collect();
    assert_eq!(order, ["10 replied all.1.1.3", "11 replied all.1.1.2", "12 replied all.1.1.1"]);
}

// T-24, K-22
#[tokio::test(start_paused = true)]
async fn resuming_a_run_that_is_over_does_nothing_and_says_the_same() {
    for (texts, code) in [(&["a plan", "fine [STEP:0]"][..], 0), (&["a plan", "what?"], 1)] {
        let project = Project::new();
        let driver = project.start(plan_and_review(), script(texts)).unwrap();
        let first = drive(driver, DriveOptions::default()).await.0.unwrap();
        assert_eq!(first.exit_code(), code);
        let before = project.journal();
        for _ in 0..10 {
            let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
            assert_eq!(finish.unwrap(), first);
            assert_eq!(log.0, Vec::<String>::new());
        }
        assert_eq!(project.journal(), before);
    }
}

// P-50, K-22
#[tokio::test(start_paused = true)]
async fn a_limit_parks_the_run_and_only_a_raised_one_lets_it_go_on() {
    let project = Project::new();
    let mut workflow = plan_and_review();
    workflow.limits.rounds = Some(1);
    let driver = project.start(workflow, script(&["a plan", "fine [STEP:0]"])).unwrap();
    let finish = drive(driver, DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), finish.hold.as_ref().unwrap().reason()), (5, "max_iterations"));
    let before = project.journal();
    let again = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!((again.hold, project.journal()), (finish.hold, before));
    let raise = saihai_model::Raise { rounds: Some(2), ..go_on() };
    let (finish, log) = drive(project.resume(raise).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().ending, Some(Ending::Completed("complete".into())));
    assert_eq!(log.0[0], "10 resumed");
}

// T-17: an engine that decides differently stops and names the event.
#[tokio::test(start_paused = true)]
async fn a_journal_whose_decisions_this_engine_would_not_take_is_refused() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let journal = project.last().journal();
    let text = String::from_utf8(project.journal()).unwrap();
    let forged = text.lines().map(|line| {
        let (body, _) = line.split_once(",\"sum\"").unwrap();
        let body = body.replace("\"to\":{\"stage\":\"review\"}", "\"to\":{\"stage\":\"elsewhere\"}");
        format!("{body},\"sum\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()))
    });
    std::fs::write(&journal, forged.collect::<String>()).unwrap();
    let before = project.journal();
    let error = project.resume(go_on()).map(drop).unwrap_err();
    assert!(matches!(&error, DriverError::Diverged { seq: 7, .. }), "{error}");
    assert_eq!((error.exit_code(), project.journal()), (2, before));
}

// T-23: a run in flight ignores changes of the definition, and its own copy cannot be edited.
#[tokio::test(start_paused = true)]
async fn an_edited_frozen_workflow_is_refused() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let path = project.last().path().join("workflow.json");
    let mut frozen: Workflow = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(frozen, plan_and_review());
    frozen.limits.rounds = Some(99);
    std::fs::write(&path, serde_json::to_vec(&frozen).unwrap()).unwrap();
    let error = project.resume(go_on()).map(drop).unwrap_err().to_string();
    assert!(
        error.ends_with("workflow.json`:1: it differs from the workflow at the start of the run"),
        "{error}"
    );
}

// T-18
#[tokio::test(start_paused = true)]
async fn the_time_of_a_journal_never_goes_back_whatever_the_clock_does() {
    let project = Project::new();
    let mut workflow = plan_and_review();
    workflow.limits.rounds = Some(1);
    let driver = project.start(workflow, script(&["a plan", "fine [STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let raise = saihai_model::Raise { rounds: Some(2), ..go_on() };
    let an_hour_ago = Clock::starting_at(saihai_model::Moment(BEGINNING.0 - 3_600_000));
    let connections = saihai_connect::Connections::default();
    let driver = Driver::resume(project.last(), raise, connections, an_hour_ago).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    let records = project.records();
    assert!(records.is_sorted_by_key(|record| (record.at, record.seq)));
    assert_eq!(shown(records.last().unwrap()), "16 finished {\"completed\":\"complete\"}");
}

// Invariant 6 of the architecture, for the driver.
#[tokio::test(start_paused = true)]
async fn the_state_of_a_long_run_is_not_larger_than_that_of_a_short_one() {
    let size = async |rounds: usize| {
        let project = Project::new();
        let texts = ["a plan", "again [STEP:1]"].repeat(rounds);
        let mut workflow = plan_and_review();
        workflow.limits.rounds = Some(u32::try_from(rounds * 2).unwrap());
        let driver = project.start(workflow, script(&texts)).unwrap();
        assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 5);
        serde_json::to_vec(crate::ReplayedRun::read(&project.last()).unwrap().run()).unwrap().len()
    };
    let (short, long) = (size(5).await, size(50).await);
    assert!(long <= short + 20, "{short} and {long} bytes");
}

#[test]
fn a_text_is_given_back_as_it_was_kept() {
    let project = Project::new();
    let (directory, _) = project.runs().create("x", BEGINNING, &project.path("r")).unwrap();
    assert_eq!(directory.text(&Text::from("short")).unwrap(), "short");
    let missing = Text::Blob { hash: "0".repeat(64), bytes: 3 };
    assert!(directory.text(&missing).unwrap_err().to_string().ends_with("its blob is missing"));
}

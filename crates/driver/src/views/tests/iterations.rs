//! Iterations folded from hand-written records.

use saihai_model::{
    CallFailed, CallId, Decision, Fact, Failure, FailureClass, Json, Moment, Outcome, Purpose, Reading,
    Record, RecordEntry, Replied, RoundPosition, ToolUsed, Usage,
};
use saihai_view::{ActionResult, RunView};
use serde_json::json;

use crate::testing::{Project, drive, fixed, script, stage, turn, workflow};
use crate::views::IterationSummary;
use crate::views::iterations::summarize;
use crate::{DriveOptions, LoadedRun};

fn call(n: u32) -> CallId {
    CallId { stage: "work".into(), visit: 1, round: 1, n }
}

fn reply(n: u32, text: &str) -> Replied {
    Replied {
        call: call(n),
        provider: None,
        text: text.into(),
        spoken: None,
        messages: Vec::new(),
        session: Some(format!("s{n}")),
        usage: Usage::default(),
        cost: None,
        tools_used: Vec::new(),
        metered: None,
        denied: 0,
        duration: saihai_model::Millis(5),
        revision: None,
        so_far: None,
        cached: false,
        tree: None,
        reading: Reading::default(),
    }
}

/// Folds entries that are one second apart. The first starts iteration 1.
fn summary(entries: Vec<RecordEntry>) -> IterationSummary {
    let start = saihai_model::testing::start();
    let first = Record { seq: 1, at: Moment(0), entry: RecordEntry::Fact(Fact::Started(start)) };
    let mut view = RunView::begin(&first).unwrap();
    let entered = RecordEntry::Decision(Decision::Entered { stage: "work".into(), visit: 1, consecutive: 1 });
    view.apply(Record { seq: 2, at: Moment(0), entry: entered });
    let round = RecordEntry::Decision(Decision::Round { round: 1, iteration: 1 });
    for (seq, entry) in std::iter::once(round).chain(entries).enumerate() {
        let seq = seq as u64;
        view.apply(Record { seq: seq + 3, at: Moment(1_770_368_160_000 + seq * 1_000), entry });
    }
    let project = Project::new();
    let (directory, _) = project.runs().create("x", Moment(0), &project.path("reports")).unwrap();
    summarize(view.iteration_views().last().unwrap(), &directory).unwrap()
}

fn called(n: u32, place: RoundPosition, purpose: Option<Purpose>) -> RecordEntry {
    RecordEntry::Decision(Decision::Called { call: call(n), place, purpose })
}

fn work(n: u32) -> RecordEntry {
    called(n, RoundPosition::Main(0), Some(Purpose::Work))
}

fn said(reply: Replied) -> RecordEntry {
    RecordEntry::Fact(Fact::Replied(Box::new(reply)))
}

// S-53
#[test]
fn several_messages_stay_a_list_in_order_and_a_check_is_no_part_of_it() {
    let spoken = Replied {
        spoken: Some("one\ntwo\nthree \u{9053}".into()),
        messages: vec![7, 9],
        ..reply(1, "three \u{9053}")
    };
    let told = summary(vec![
        work(1),
        said(spoken),
        called(2, RoundPosition::Main(0), Some(Purpose::Correction)),
        said(reply(2, "corrected")),
        called(3, RoundPosition::Check(0), Some(Purpose::Question)),
        said(reply(3, "{\"result\":\"ok\"}")),
    ]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&told).unwrap(), @r#"
    {
      "iteration": 1,
      "sessionId": "s2",
      "assistantResponses": [
        "one\ntwo",
        "three 道",
        "corrected"
      ],
      "toolsUsed": [],
      "detectedActions": [],
      "errors": [],
      "timestamp": "2026-02-06T08:56:00.000Z",
      "durationMs": 4000
    }
    "#);
}

// S-53, case 31
#[test]
fn a_tool_without_a_result_is_an_error_and_blank_texts_are_left_out() {
    let tool = |name: &str, output: Option<Json>| ToolUsed {
        name: name.to_owned(),
        input: Some(json!({"path": "x"})),
        output,
        duration_ms: 3,
        ..ToolUsed::default()
    };
    let tools_used = vec![tool("Read", Some(json!("words"))), tool("Bash", None)];
    let told = summary(vec![work(1), said(Replied { tools_used, ..reply(1, " \n") })]);
    assert_eq!(told.assistant_responses, [""; 0]);
    assert_eq!(told.errors, ["tool `Bash` gave no result"]);
    insta::assert_snapshot!(serde_json::to_string(&told.tools_used).unwrap(), @r#"[{"name":"Read","input":{"path":"x"},"output":"words","durationMs":3},{"name":"Bash","input":{"path":"x"},"output":null,"durationMs":3}]"#);
}

// S-53, S-65, case 37
#[test]
fn blocks_their_results_and_their_errors_are_told() {
    let reading = Reading {
        blocks: vec![saihai_model::ReplyBlock {
            kind: "note".to_owned(),
            value: json!({"type": "note", "who": "me"}),
        }],
        warnings: vec!["the `action` block on line 2 is not valid JSON".to_owned()],
        ..Reading::default()
    };
    let failure = Failure::new(FailureClass::Refused, "cannot write `../x`: its path is not valid");
    let told = summary(vec![
        work(1),
        said(Replied { reading, ..reply(1, "done") }),
        called(2, RoundPosition::Block(0), None),
        RecordEntry::Fact(Fact::Performed { call: call(2), outcome: Outcome::Failed(failure) }),
        called(3, RoundPosition::Report(0), None),
        RecordEntry::Fact(Fact::Performed { call: call(3), outcome: Outcome::NotYet }),
    ]);
    assert_eq!(
        json!(told.detected_actions),
        json!([{"type": "note", "content": "", "metadata": {"who": "me"}}])
    );
    assert_eq!(told.errors, ["the `action` block on line 2 is not valid JSON"]);
    let error = Some("cannot write `../x`: its path is not valid".to_owned());
    assert_eq!(told.action_results, [ActionResult { success: false, result: None, error }]);
}

// S-26: an iteration with a failed turn counts.
#[test]
fn an_iteration_that_failed_has_a_summary_with_its_errors() {
    let failed = CallFailed::new(call(1), Failure::new(FailureClass::Transient, "timed out"));
    let told = summary(vec![work(1), RecordEntry::Fact(Fact::Failed(Box::new(failed)))]);
    assert_eq!(told.errors, ["transient: timed out"]);
}

// S-26: one summary per iteration, in every state of the run.
#[tokio::test(start_paused = true)]
async fn a_result_has_as_many_summaries_as_iterations() {
    let mut flow = workflow(vec![("work", stage(vec![turn("work", vec![fixed("Work.")])], &[("", "work")]))]);
    flow.limits.rounds = Some(3);
    let project = Project::new();
    let driver = project.start(flow, script(&["one", "two", "three"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let run = LoadedRun::read(&project.last()).unwrap();
    let summaries = run.iterations().unwrap();
    assert_eq!((run.view.iterations, summaries.len()), (3, 3));
    let said: Vec<_> = summaries.iter().flat_map(|told| &told.assistant_responses).collect();
    assert_eq!(said, ["one", "two", "three"]);
    assert_eq!(run.state.reason(), Some("max_iterations"));
}

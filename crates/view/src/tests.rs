//! Tests of the fold on short journals.

use saihai_model::{
    CallId, Decision, FORKED, Fact, FileChangeCounts, Hold, Millis, Moment, PersonNote, Purpose, Record,
    RecordEntry, Replied, RoundPosition, Start, Usd,
};
use serde_json::json;

use crate::{RunState, RunView};

fn start(forked_from: Option<&str>) -> Box<Start> {
    let start = json!({
        "definition": "small", "dialect": "piece", "task": {"inline": "x"}, "seed": 7, "interactive": false,
        "rehearsal": false, "patience": 0, "directory": "/", "report_directory": "/", "workflow": "", "version": "",
        "forked_from": forked_from,
    });
    serde_json::from_value(start).expect("a start")
}

fn call(stage: &str) -> CallId {
    CallId { stage: stage.into(), visit: 1, round: 1, n: 1 }
}

fn replied(stage: &str) -> RecordEntry {
    let reply: Replied = serde_json::from_value(json!({
        "call": call(stage), "text": {"inline": "done"}, "cost": 1_000_000, "duration": 5,
        "usage": {"input": 10, "output": 5}, "reading": {"digest": ""},
    }))
    .expect("a reply");
    RecordEntry::Fact(Fact::Replied(Box::new(reply)))
}

/// Folds a start and these entries, one second each.
fn view(start: Box<Start>, entries: Vec<RecordEntry>) -> RunView {
    let all = std::iter::once(RecordEntry::Fact(Fact::Started(start))).chain(entries);
    let mut records = (1..).zip(all).map(|(seq, entry)| Record { seq, at: Moment(seq * 1000), entry });
    let mut view = RunView::begin(&records.next().expect("a start")).expect("a start");
    records.for_each(|record| view.apply(record));
    view
}

fn one_turn() -> Vec<RecordEntry> {
    let decisions = [
        Decision::Entered { stage: "plan".into(), visit: 1, consecutive: 1 },
        Decision::Round { round: 1, iteration: 1 },
        Decision::Called { call: call("plan"), place: RoundPosition::Main(0), purpose: Some(Purpose::Work) },
    ];
    let mut entries: Vec<RecordEntry> = decisions.map(RecordEntry::Decision).into();
    entries.push(RecordEntry::Fact(Fact::Asked { call: call("plan"), attempt: 1, prompt: None }));
    entries.push(replied("plan"));
    entries
}

// U-4: a process that waits for an answer does not run
#[test]
fn a_live_run_at_a_gate_waits_for_a_person() {
    let mut entries = one_turn();
    let working = view(start(None), entries.clone());
    assert_eq!(working.state(Some(Some(7))), RunState::Running { owner: Some(7), gate: None });
    entries.push(RecordEntry::Decision(Decision::Parked { hold: Hold::Person(call("ask")) }));
    let waiting = view(start(None), entries);
    let state = waiting.state(Some(Some(7)));
    assert_eq!(state, RunState::Running { owner: Some(7), gate: Some(call("ask")) });
    assert_eq!((state.name(), state.reason(), state.exit_code()), ("parked", Some("person"), 6));
    assert_eq!(waiting.state(None).name(), "parked");
}

// U-5: the time in a stage is the active time, and the time of its pauses apart
#[test]
fn the_time_at_a_gate_is_waiting_time_of_its_visit() {
    let mut entries = one_turn();
    let verdict = json!({"to": "complete", "by": "only"});
    entries.extend([
        RecordEntry::Decision(Decision::Parked { hold: Hold::Person(call("plan")) }),
        RecordEntry::Fact(Fact::Told(PersonNote {
            heading: String::new(),
            text: "soon".to_owned(),
            to: None,
            now: false,
        })),
        RecordEntry::Fact(Fact::Reopened),
        RecordEntry::Decision(Decision::Exited {
            stage: "plan".into(),
            verdict: serde_json::from_value(verdict).expect("a verdict"),
        }),
    ]);
    let view = view(start(None), entries);
    let visit = &view.visits[0];
    assert_eq!((visit.entered, visit.left), (Moment(2000), Some(Moment(10_000))));
    assert_eq!((visit.active_time(), visit.waited), (Some(Millis(5_000)), Millis(3_000)));
}

#[test]
fn a_fork_starts_at_its_own_time_and_does_not_pay_for_the_original() {
    let mut entries = one_turn();
    entries.push(RecordEntry::Fact(Fact::Interrupted { by: FORKED.to_owned() }));
    let fork = view(start(Some("original")), entries.clone());
    assert_eq!((fork.started, fork.turns, fork.cost, fork.usage.tokens()), (Moment(7000), 0, None, 0));
    assert_eq!((fork.iterations, fork.inherited_visits), (1, 1));
    entries.push(replied("plan"));
    let continued = view(start(Some("original")), entries);
    assert_eq!((continued.turns, continued.cost), (1, Some(Usd(1_000_000))));
    // A run that is not a fork was only interrupted.
    let mut entries = one_turn();
    entries.push(RecordEntry::Fact(Fact::Interrupted { by: "ctrl-c".to_owned() }));
    let other = view(start(None), entries);
    assert_eq!((other.started, other.turns), (Moment(1000), 1));
}

// V-3: the figure is the last one, costs no time, and leaves the run as it was
#[test]
fn counted_files_change_only_their_figure() {
    let counted = |files| {
        RecordEntry::Fact(Fact::FilesCounted(FileChangeCounts { files, added: 2 * files, removed: 0 }))
    };
    let mut entries = one_turn();
    entries.push(RecordEntry::Decision(Decision::Parked { hold: Hold::Person(call("ask")) }));
    let before = view(start(None), entries.clone());
    assert_eq!(before.file_changes, None);
    entries.extend([counted(1), counted(2)]);
    let after = view(start(None), entries);
    assert_eq!(after.file_changes, Some(FileChangeCounts { files: 2, added: 4, removed: 0 }));
    assert_eq!((after.state(None), after.driven), (before.state(None), before.driven));
    assert_eq!(after.driven_until(Moment(60_000)), before.driven, "it stays parked");
    assert_eq!((after.turns, after.cost), (before.turns, before.cost));
}

// N-3: only the last verdict of a review counts, and only if its agent had the tool.
#[test]
fn a_review_is_unverified_if_its_last_verdict_did_not_come_through_the_tool_it_had() {
    use saihai_model::testing::{choosing, stage, turn, workflow};
    use saihai_model::{By, Destination, Method, Permission, Verdict, VerdictChannel};

    let turns = vec![choosing(turn("plan", Vec::new()), &["done", "stuck"])];
    let mut workflow = workflow(vec![("plan", stage(turns, &[("done", "COMPLETE"), ("stuck", "ABORT")]))]);
    let with = |workflow: &mut saihai_model::Workflow, methods: Vec<Method>, permission| {
        let stage = workflow.stages.get_mut("plan").expect("a stage");
        let saihai_model::Activity::Turns { turns, .. } = &mut stage.does else { panic!("it asks agents") };
        turns[0].permission = permission;
        turns[0].reads.choice.as_mut().expect("a choice").found_by = methods;
    };
    let round = |channel: Option<VerdictChannel>| {
        let mut entries = one_turn();
        if let Some(RecordEntry::Fact(Fact::Replied(reply))) = entries.last_mut() {
            reply.reading.channel = channel;
        }
        let verdict = Verdict {
            by: By::Tag,
            labels: Vec::new(),
            rule: Some(0),
            topic: None,
            to: Destination::Complete,
        };
        entries.push(RecordEntry::Decision(Decision::Exited { stage: "plan".into(), verdict }));
        view(start(None), entries)
    };
    let both = || vec![Method::Tool, Method::Tag];
    let (tool, text) = (round(Some(VerdictChannel::Tool)), round(None));
    with(&mut workflow, both(), Permission::ReadOnly);
    assert_eq!(tool.unverified_reviews(&workflow), []);
    assert_eq!(text.unverified_reviews(&workflow), ["plan".into()]);
    with(&mut workflow, vec![Method::Tag], Permission::ReadOnly);
    assert_eq!(text.unverified_reviews(&workflow), []);
    with(&mut workflow, both(), Permission::Edit { commands: true });
    assert_eq!(text.unverified_reviews(&workflow), []);
}

use std::sync::mpsc::{Receiver, channel};

use saihai_model::{Moment, Route, Topics};
use serde_json::{Value as Json, json};

use super::*;
use crate::project::{Fate, Source};
use crate::{Going, Observed, testing};

fn workflow() -> Workflow {
    let mut workflow = testing::plan_and_review();
    let route =
        |pattern: &str, to: &str| Route { pattern: pattern.to_owned(), to: to.into(), orphans: false };
    let routes = vec![route("task.start", "tester"), route("tests.failing", "coder")];
    workflow.topics =
        Some(Topics { start: "task.start".into(), routes, otherwise: "(base)".into(), expected: false });
    workflow
}

fn record(seq: u64, entry: Json) -> Record {
    Record { seq, at: Moment(seq), entry: serde_json::from_value(entry).unwrap() }
}

fn entered(seq: u64, stage: &str) -> Record {
    record(seq, json!({"decision": {"entered": {"stage": stage, "visit": 1, "consecutive": 1}}}))
}

fn replied(seq: u64, events: &Json) -> Record {
    let call = json!({"stage": "tester", "visit": 1, "round": 1, "n": 1});
    let reply = json!({"call": call, "text": {"inline": ""}, "duration": 0, "reading": {"events": events}});
    record(seq, json!({"fact": {"replied": reply}}))
}

fn left(seq: u64, topic: &str, to: &str) -> Record {
    let verdict = json!({"by": "directive", "topic": topic, "to": {"stage": to}});
    record(seq, json!({"decision": {"exited": {"stage": "tester", "verdict": verdict}}}))
}

/// A run that begins, and whose first hat publishes two events; the last one leads on.
fn records() -> Vec<Record> {
    let events = json!([{"topic": "tests.passing"}, {"topic": "tests.failing", "message": "two red"}]);
    vec![entered(1, "tester"), replied(2, &events), left(3, "tests.failing", "coder")]
}

/// The next so many topics an observer was told.
fn next(heard: &Receiver<String>, count: usize) -> Vec<String> {
    (0..count).map(|_| heard.recv().expect("an event")).collect()
}

#[test]
fn every_event_has_its_source_and_what_came_of_it() {
    let workflow = workflow();
    let mut events = BusEvents::new(&workflow);
    let seen: Vec<BusEvent> = records().iter().flat_map(|record| events.see(record)).collect();
    let told =
        |event: &BusEvent| (event.seq, event.topic.to_string(), event.source.clone(), event.fate.clone());
    let tester = || Source::Stage("tester".into());
    let expected = [
        (1, "task.start".to_owned(), Source::Start, Fate::Taken("tester".into())),
        (3, "tests.passing".to_owned(), tester(), Fate::NotRouted),
        (3, "tests.failing".to_owned(), tester(), Fate::Taken("coder".into())),
    ];
    assert_eq!(seen.iter().map(told).collect::<Vec<_>>(), expected);
    assert_eq!(seen[2].message.as_deref(), Some("two red"));
    let astray = json!({"decision": {"remarked": {"topic": "x", "remark": "orphaned"}}});
    let more = [replied(4, &json!([{"topic": "x"}])), record(5, astray), left(6, "x", "(base)")];
    let seen: Vec<BusEvent> = more.iter().flat_map(|record| events.see(record)).collect();
    assert_eq!(seen[0].fate, Fate::Orphaned("(base)".into()));
    let published = events.see(&left(7, "a.done", "coder"));
    assert_eq!((&published[0].source, published.len()), (&Source::Engine, 1));
}

#[test]
fn observers_are_told_what_they_subscribed_to_in_order() {
    let workflow = workflow();
    let mut bus = Bus::new(&workflow);
    let (tell_all, all) = channel();
    let (tell_some, some) = channel();
    let _all = bus.subscribe("*", move |event| tell_all.send(event.topic.to_string()).unwrap());
    let _some = bus.subscribe("tests.*", move |event| tell_some.send(event.topic.to_string()).unwrap());
    records().iter().for_each(|record| bus.see(record));
    assert_eq!(next(&all, 3), ["task.start", "tests.passing", "tests.failing"]);
    assert_eq!(next(&some, 2), ["tests.passing", "tests.failing"]);
}

#[test]
fn an_observer_that_panics_never_returns_or_is_dropped_disturbs_nobody() {
    let workflow = workflow();
    let mut bus = Bus::new(&workflow);
    let (tell, heard) = channel();
    let (never, waits) = channel::<()>();
    let _panics = bus.subscribe("*", |_| std::panic::resume_unwind(Box::new("an observer's own trouble")));
    let _stuck = bus.subscribe("*", move |_| assert!(waits.recv().is_err(), "nothing is ever sent"));
    let (tell_dropped, dropped) = channel::<String>();
    drop(bus.subscribe("*", move |event| tell_dropped.send(event.topic.to_string()).unwrap()));
    let _well = bus.subscribe("*", move |event| tell.send(event.topic.to_string()).unwrap());
    records().iter().for_each(|record| bus.see(record));
    assert_eq!(next(&heard, 3).len(), 3);
    assert!(dropped.recv().is_err(), "whoever was dropped is told nothing");
    drop(never);
}

// H-61
#[tokio::test(start_paused = true)]
async fn observers_of_a_run_hear_its_events_in_order_and_neither_stop_nor_delay_nor_change_it() {
    let texts =
        ["EVENT: tests.failing two red", "EVENT: code.written", "EVENT: tests.failing", "LOOP_COMPLETE"];
    let project = testing::Project::new();
    let driver = project.start(testing::hats(testing::PAIR), testing::script(&texts)).unwrap();
    let workflow = testing::hats(testing::PAIR);
    let mut bus = Bus::new(&workflow);
    let (tell, heard) = channel();
    let (tell_one, one) = channel();
    let (tell_dropped, dropped) = channel::<String>();
    let (never, waits) = channel::<()>();
    let _panics = bus.subscribe("*", |_| std::panic::resume_unwind(Box::new("an observer's own trouble")));
    let _stuck = bus.subscribe("*", move |_| assert!(waits.recv().is_err(), "nothing is ever sent"));
    let _all = bus.subscribe("*", move |event| tell.send(event.topic.to_string()).unwrap());
    let _one = bus.subscribe("tests.failing", move |event| tell_one.send(event.message.clone()).unwrap());
    drop(bus.subscribe("tests.*", move |event| tell_dropped.send(event.topic.to_string()).unwrap()));
    let mut see = |observed: &Observed<'_>| {
        if let Observed::Recorded(record) = observed {
            bus.see(record);
        }
    };
    let (finish, _) = testing::watch(driver, Going::default(), &mut see).await;
    // The one that is stuck is still stuck.
    assert!(matches!(finish.unwrap().ending, Some(saihai_model::Ending::Completed(_))));
    assert_eq!(next(&heard, 4), ["task.start", "tests.failing", "code.written", "tests.failing"]);
    assert_eq!((one.recv().unwrap(), one.recv().unwrap()), (Some("two red".to_owned()), None));
    assert!(dropped.recv().is_err(), "whoever was dropped is told nothing");
    drop(never);
    let undisturbed = testing::Project::new();
    let driver = undisturbed.start(testing::hats(testing::PAIR), testing::script(&texts)).unwrap();
    testing::drive(driver, Going::default()).await.0.unwrap();
    let decided = |project: &testing::Project| {
        let mut decided = Vec::new();
        let see = &mut |record: Record| {
            if let saihai_model::Entry::Decision(decision) = record.entry {
                decided.push(decision);
            }
        };
        project.last().read(see).unwrap();
        decided
    };
    assert_eq!(decided(&project), decided(&undisturbed));
}

// H-61: dropping the handle ends it, also for events that wait to be told.
#[tokio::test(start_paused = true)]
async fn whoever_unsubscribes_hears_nothing_more_not_even_what_is_on_its_way() {
    let project = testing::Project::new();
    let texts = ["EVENT: tests.failing", "EVENT: code.written", "LOOP_COMPLETE"];
    let driver = project.start(testing::hats(testing::PAIR), testing::script(&texts)).unwrap();
    testing::drive(driver, Going::default()).await.0.unwrap();
    let workflow = testing::hats(testing::PAIR);
    let mut bus = Bus::new(&workflow);
    let (tell, heard) = channel();
    let (go_on, waits) = channel::<()>();
    let subscription = bus.subscribe("*", move |event| {
        tell.send(event.topic.to_string()).unwrap();
        waits.recv().unwrap();
    });
    project.last().read(&mut |record| bus.see(&record)).unwrap();
    assert_eq!(next(&heard, 1), ["task.start"]);
    drop(subscription);
    go_on.send(()).unwrap();
    assert!(heard.recv().is_err(), "two more were published");
}

// A gate neither publishes nor takes: it is told who is behind it, and where a person is asked first.
#[tokio::test(start_paused = true)]
async fn an_event_at_a_gate_leads_to_the_hat_behind_it() {
    let gated = || testing::hats(&format!("gates: [pre-loop, tests.failing]\n{}", testing::PAIR));
    let project = testing::Project::new();
    let driver = project.start(gated(), testing::script(&["EVENT: tests.failing", "LOOP_COMPLETE"])).unwrap();
    testing::drive(driver, Going { auto: true, ..Going::default() }).await.0.unwrap();
    let workflow = gated();
    let mut events = BusEvents::new(&workflow);
    let mut seen = Vec::new();
    project.last().read(&mut |record| seen.extend(events.see(&record))).unwrap();
    let told = |event: &BusEvent| format!("{} {:?} {:?}", event.topic, event.fate, event.gate);
    assert_eq!(
        seen.iter().map(told).collect::<Vec<_>>(),
        [
            r#"task.start Taken(StageId("tester")) Some(StageId("gate/pre-loop"))"#,
            r#"tests.failing Taken(StageId("coder")) Some(StageId("gate/tests.failing"))"#,
        ]
    );
}

//! Limits of a run of hats.

use super::failures::{ask, calls, with_agent};
use super::{RING, check, project, prompts, published, run};

/// A hat that activates itself.
const OWN: &str =
    "hats:\n  tester: {name: T, triggers: [task.start, again], publishes: [again], instructions: x}\n";

fn stops(hats: &str, replies: &[&str], limit: &str, turns: usize) {
    let project = project(hats, replies);
    let outcome = run(&project).exits(5);
    assert!(outcome.stdout.contains(&format!("limit `{limit}` reached")), "{outcome}");
    assert_eq!(prompts(&project).len(), turns, "{outcome}");
}

// H-51, HC-36
#[test]
fn only_the_same_topic_message_and_text_three_times_in_a_row_is_stale() {
    stops(OWN, &["EVENT: again now"; 4], "stale", 3);
    let messages = ["EVENT: again 1", "EVENT: again 2", "EVENT: again 3", "LOOP_COMPLETE"];
    check(OWN, &messages, "tester tester tester tester; finished: completed complete; 0");
    let texts = ["One.\nEVENT: again", "Two.\nEVENT: again", "Three.\nEVENT: again", "LOOP_COMPLETE"];
    check(OWN, &texts, "tester tester tester tester; finished: completed complete; 0");
    let interrupted =
        ["EVENT: again", "EVENT: again", "EVENT: again 2", "EVENT: again", "EVENT: again", "LOOP_COMPLETE"];
    check(OWN, &interrupted, "tester tester tester tester tester tester; finished: completed complete; 0");
    // Two hats that alternate with equal replies are not one stale hat.
    let two = "hats:\n  a: {name: A, triggers: [task.start, again], publishes: [on], instructions: x}\n  b: {name: B, triggers: [on], publishes: [again], instructions: x}\n";
    let replies = [
        "EVENT: on",
        "EVENT: again",
        "EVENT: on",
        "EVENT: again",
        "EVENT: on",
        "EVENT: again",
        "LOOP_COMPLETE",
    ];
    check(two, &replies, "a b a b a b a; finished: completed complete; 0");
}

// H-28, H-52, HC-8
#[test]
fn an_exhausted_hat_is_replaced_once_by_the_hat_that_asks_for_it() {
    let bounded = format!("max_activations: 2\n{OWN}");
    let three = ["EVENT: again 1", "EVENT: again 2", "LOOP_COMPLETE"];
    let alone = project(&bounded, &three);
    let outcome = run(&alone).exits(5);
    assert!(outcome.stdout.contains("limit `exhausted` reached"), "{outcome}");
    assert_eq!(prompts(&alone).len(), 2);
    let events = published(&alone);
    assert_eq!(events.last().expect("an event"), "engine tester.exhausted again untaken - -");
    let with = |trigger: &str, publishes: &str| {
        format!(
            "{bounded}  rescue: {{name: R, triggers: [\"{trigger}\"], publishes: [{publishes}], instructions: x}}\n"
        )
    };
    for trigger in ["tester.exhausted", "*.exhausted"] {
        let rescued = project(&with(trigger, "LOOP_COMPLETE"), &three);
        run(&rescued).exits(0);
        assert_eq!(rescued.journal().path_taken(), ["tester", "tester", "rescue"]);
        let event = format!("engine tester.exhausted again taken rescue {trigger}");
        assert_eq!(published(&rescued).last(), Some(&event));
        let told = rescued.journal().prompt("rescue");
        assert!(told.contains("# Event\ntester.exhausted\n") && told.contains("\n> again\n"), "{told}");
    }
    stops(&with("*", "LOOP_COMPLETE"), &three, "exhausted", 2);
    // The second time, no hat takes the exhausted hat's place.
    let again =
        project(&with("tester.exhausted", "again"), &["EVENT: again 1", "EVENT: again 2", "EVENT: again 3"]);
    run(&again).exits(5);
    let engine = published(&again).into_iter().filter(|event| event.starts_with("engine"));
    assert_eq!((engine.count(), prompts(&again).len()), (1, 3));
    // A repeated turn after an empty report does not count as an activation.
    let reminded = ["ok", "EVENT: again 1", "ok", "LOOP_COMPLETE"];
    check(&bounded, &reminded, "tester tester; finished: completed complete; 0");
}

// HC-9
#[test]
fn two_hats_that_play_ping_pong_stop_when_each_has_had_its_activations() {
    let hats = "max_activations: 3\nhats:\n  a: {name: A, triggers: [task.start, pong], publishes: [ping], instructions: x}\n  b: {name: B, triggers: [ping], publishes: [pong], instructions: x}\n";
    let replies: Vec<String> =
        (0..9).map(|n| format!("EVENT: {} {n}", if n % 2 == 0 { "ping" } else { "pong" })).collect();
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    let project = project(hats, &replies);
    let outcome = run(&project).exits(5);
    assert!(outcome.stdout.contains("limit `exhausted` reached"), "{outcome}");
    let asked: Vec<String> = project.journal().prompts().into_iter().map(|(call, _)| call).collect();
    let of = |hat: &str| asked.iter().filter(|call| call.starts_with(hat)).count();
    assert_eq!((of("a."), of("b.")), (3, 3));
}

// H-53
#[test]
fn an_iteration_is_a_turn_and_its_retries_are_attempts_within_it() {
    let fails_once = "[ $n = 0 ] && exit 1\n";
    let project = with_agent("", &format!("{fails_once}echo LOOP_COMPLETE\n"));
    project.write(
        "orch.yml",
        format!("backend: mine\n{}", RING.replace("max_iterations: 30", "max_iterations: 1")),
    );
    let outcome = project.saihai(["run", "orch", "T", "--json"]).env("PATH", "/usr/bin:/bin").run().exits(0);
    assert_eq!((&outcome.result()["iterations"], calls(&project)), (&1.into(), 2), "{outcome}");
    let project = with_agent("", &format!("{fails_once}echo \"EVENT: code.written $n\"\n"));
    project.write(
        "orch.yml",
        format!("backend: mine\n{}", RING.replace("max_iterations: 30", "max_iterations: 3")),
    );
    let outcome = ask(&project).run().exits(5);
    assert!(outcome.stdout.contains("limit `max_iterations` reached"), "{outcome}");
    assert_eq!((prompts(&project).len(), calls(&project)), (3, 4), "{outcome}");
}

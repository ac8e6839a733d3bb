//! Replies without a report.

use super::{RING, check, project, prompts, run};

fn reminder(prompt: &str) -> String {
    let section = prompt.split("# Reminder\n").nth(1).unwrap_or_default();
    section.split("\n\n# How to end").next().unwrap_or_default().to_owned()
}

// H-48
#[test]
fn a_turn_that_reports_nothing_is_made_again_with_its_event_and_a_reminder() {
    let long = format!("{}the end あ", "x".repeat(3_000));
    let replies = ["EVENT: tests.failing two red", &long, "EVENT: code.written", "LOOP_COMPLETE"];
    let project = project(RING, &replies);
    run(&project).exits(0);
    let told = prompts(&project);
    let event = "# Event\ntests.failing\nFrom: tester\n\n> two red\n";
    assert!(told[1].contains(event) && told[2].contains(event), "{}", told[2]);
    let tail: String = long.chars().skip(long.chars().count() - 2_000).collect();
    let expected = format!(
        "The previous turn of this role reported no result. The topics of this role are: code.written. Check what is already done, finish the rest, then report. It ended with:\n\n> {tail}"
    );
    assert_eq!(reminder(&told[2]), expected);
    assert_eq!((reminder(&told[1]), reminder(&told[3])), (String::new(), String::new()), "once only");
    // There is no wait and no poll: one turn follows the other.
    assert_eq!(project.journal().facts("woke").count(), 0);
}

// H-48: the reminder names every near miss with its reason.
#[test]
fn the_reminder_says_why_what_looked_like_a_report_did_not_count() {
    let reasons = |hats: &str, reply: &str| {
        let project = project(hats, &[reply, "LOOP_COMPLETE"]);
        run(&project).exits(0);
        let told = reminder(&prompts(&project)[1]);
        let told = told.strip_prefix("The previous turn of this role reported no result.").expect("S0");
        told.split(" The topics of this role").next().expect("its topics").trim().to_owned()
    };
    for (reply, why) in [
        ("```\nEVENT: tests.failing\n```\nok", "What it reported stood in a code block and does not count."),
        ("> EVENT: tests.failing\nok", "What it reported stood in a quotation and does not count."),
        ("EVENT: <topic>", "What followed EVENT was no topic."),
        ("LOOP_COMPLETE is near", "The word LOOP_COMPLETE stood inside a sentence and does not count."),
        ("loop_complete", "EVENT and LOOP_COMPLETE must be written in exactly these letters."),
        ("see event: tests.failing", "EVENT and LOOP_COMPLETE must be written in exactly these letters."),
        (
            "> EVENT: tests.failing\nEVENT: a|b",
            "What it reported stood in a quotation and does not count. What followed EVENT was no topic.",
        ),
        ("ok", ""),
    ] {
        assert_eq!(reasons(RING, reply), why, "{reply}");
    }
    let strict = format!("enforce_hat_scope: true\n{RING}");
    assert_eq!(
        reasons(&strict, "EVENT: code.written"),
        "The topic code.written does not belong to this role."
    );
}

// HC-21
#[test]
fn three_silent_replies_are_three_turns_two_reminders_and_a_stall() {
    let project = project(RING, &["ok", "ok", "ok", "LOOP_COMPLETE"]);
    let outcome = run(&project).exits(5);
    assert!(outcome.stdout.contains("limit `stalled` reached"), "{outcome}");
    let told = prompts(&project);
    assert_eq!((told.len(), project.journal().path_taken()), (3, vec!["tester"]));
    assert_eq!(reminder(&told[0]), "");
    for prompt in &told[1..] {
        assert!(reminder(prompt).contains("are: tests.failing, tests.passing."), "{prompt}");
    }
}

// HC-22
#[test]
fn an_event_sets_the_count_of_silence_to_zero() {
    let replies = [
        "ok",
        "EVENT: tests.failing",
        "ok",
        "ok",
        "EVENT: code.written",
        "EVENT: tests.passing",
        "LOOP_COMPLETE",
    ];
    let project = project(RING, &replies);
    run(&project).exits(0);
    let told = prompts(&project);
    assert_eq!(reminder(&told[2]), "", "the coder's first turn");
    assert!(reminder(&told[3]).contains("are: code.written."), "its first reminder: {}", told[3]);
}

// H-49
#[test]
fn a_stalled_run_goes_on_when_a_person_says_so_with_its_counts_at_zero() {
    let hats = format!("stall_after: 2\n{RING}");
    let silent = project(&hats, &["ok", "ok", "ok", "ok", "LOOP_COMPLETE"]);
    run(&silent).exits(5);
    assert_eq!(prompts(&silent).len(), 2);
    let again = silent.saihai(["resume", "last"]).run().exits(5);
    assert!(again.stdout.contains("limit `stalled` reached"), "{again}");
    assert_eq!(prompts(&silent).len(), 4, "two more, not one");
    silent.saihai(["resume", "last"]).run().exits(0);
    // The same applies to stale and exhausted runs.
    let own =
        "hats:\n  tester: {name: T, triggers: [task.start, again], publishes: [again], instructions: x}\n";
    let stale = project(own, &["EVENT: again"; 7]);
    for turns in [3, 6] {
        let command = if turns == 3 { run(&stale) } else { stale.saihai(["resume", "last"]).run() };
        let outcome = command.exits(5);
        assert!(outcome.stdout.contains("limit `stale` reached"), "{outcome}");
        assert_eq!(prompts(&stale).len(), turns);
    }
    let bounded = format!("max_activations: 1\n{RING}");
    let tired = project(
        &bounded,
        &["EVENT: tests.failing", "EVENT: code.written", "EVENT: tests.failing", "EVENT: code.written"],
    );
    let outcome = run(&tired).exits(5);
    assert!(outcome.stdout.contains("limit `exhausted` reached"), "{outcome}");
    tired.saihai(["resume", "last"]).run().exits(5);
    assert_eq!(
        tired.journal().path_taken(),
        ["tester", "coder", "tester", "coder", "tester"],
        "the coder too"
    );
    // Only an agent's directive resets the count; an event of the engine does not.
    let defaults = "event_loop: {}\nhats:\n  a: {name: A, triggers: [task.start, b.done], publishes: [a.done], default_publishes: a.done}\n  b: {name: B, triggers: [a.done], publishes: [b.done, LOOP_COMPLETE], default_publishes: b.done}\n";
    check(defaults, &["hm"; 5], "a b; parked: limit stalled; 5");
}

// HC-23; without hats there is no stall rule
#[test]
fn a_loop_without_hats_goes_on_until_its_limit_and_is_reminded_of_near_misses_only() {
    let working = project("preset: simple\nmax_iterations: 5\n", &["working"; 6]);
    let outcome = run(&working).exits(5);
    assert!(outcome.stdout.contains("limit `max_iterations` reached"), "{outcome}");
    assert_eq!(prompts(&working).len(), 5);
    assert!(prompts(&working).iter().all(|prompt| !prompt.contains("# Reminder")));
    let near = project("preset: simple\n", &["```\nLOOP_COMPLETE\n```\nok", "LOOP_COMPLETE"]);
    run(&near).exits(0);
    let told = "The previous turn of this role reported no result. What it reported stood in a code block and does not count. Check what";
    assert!(prompts(&near)[1].contains(told), "{}", prompts(&near)[1]);
}

// H-67
#[test]
fn a_default_topic_is_published_by_the_engine_after_a_reminder_and_proves_nothing() {
    let hats = "event_loop: {}\nhats:\n  a: {name: A, triggers: [task.start], publishes: [a.done], default_publishes: a.done}\n  b: {name: B, triggers: [a.done], publishes: [LOOP_COMPLETE]}\n";
    let project = project(hats, &["hm", "hm", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    let told = prompts(&project);
    assert_eq!((told.len(), project.journal().path_taken()), (3, vec!["a", "b"]));
    assert!(told[1].contains("# Reminder\n"), "{}", told[1]);
    assert_eq!(super::published(&project)[1], "engine a.done - taken b a.done");
    assert!(!told[2].contains("\n> "), "no message: {}", told[2]);
    let keyword = self::project(
        &hats.replace("default_publishes: a.done", "default_publishes: LOOP_COMPLETE"),
        &["hm", "hm"],
    );
    run(&keyword).exits(0);
    assert_eq!(keyword.journal().path_taken(), ["a"]);
    // An event of the engine does not reset the count of silence: three replies without a report stall the run.
    let stalled = self::project(hats, &["hm", "hm", "hm"]);
    run(&stalled).exits(5);
    assert_eq!(stalled.journal().path_taken(), ["a", "b"]);
}

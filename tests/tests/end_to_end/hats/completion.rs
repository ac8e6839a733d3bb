//! Completion of a run of hats.

use super::{RING, check, log, project, prompts, published, run};

const DONE: &str = "tester; finished: completed complete; 0";

// H-43, HC-24, HC-26
#[test]
fn the_closing_word_completes_whatever_hat_is_active() {
    for reply in [
        "LOOP_COMPLETE",
        "**LOOP_COMPLETE**",
        "✅ LOOP_COMPLETE!",
        "- EVENT: LOOP_COMPLETE all done",
        "実装しました。LOOP_COMPLETE",
        "Everything is done LOOP_COMPLETE\n> as you asked",
    ] {
        // The tester does not list this word.
        check(RING, &[reply], DONE);
    }
    let replies = ["EVENT: deploy.now", "LOOP_COMPLETE"];
    check(RING, &replies, "tester (base); finished: completed complete; 0");
    check("preset: simple\n", &["LOOP_COMPLETE"], "(base); finished: completed complete; 0");
}

// H-45, HC-27
#[test]
fn completion_wins_over_an_event_wherever_each_stands() {
    for reply in ["LOOP_COMPLETE\nEVENT: tests.failing red", "EVENT: tests.failing red\nLOOP_COMPLETE"] {
        let project = project(RING, &[reply]);
        run(&project).exits(0);
        assert_eq!(project.journal().path_taken(), ["tester"]);
        assert_eq!(published(&project)[1], "tester tests.failing red not_routed - -");
        let explained = project.saihai(["explain", "last"]).run().exits(0).stdout;
        assert!(explained.contains("of the reply (not routed): red"), "{explained}");
    }
}

// H-19, HC-28
#[test]
fn another_closing_word_makes_the_usual_one_ordinary_text() {
    let other = format!("completion_keyword: DONE\n{}", RING.replace("LOOP_COMPLETE", "DONE"));
    check(&other, &["LOOP_COMPLETE", "DONE"], DONE);
    for word in ["", " ", "ALL DONE"] {
        let project = project(&format!("completion_keyword: {word:?}\n{RING}"), &[]);
        run(&project).exits(2);
    }
    let twice =
        |promise: &str| format!("completion_keyword: DONE\nloop: {{completion_promise: {promise}}}\n{RING}");
    assert!(run(&project(&twice("OVER"), &[])).exits(2).stderr.contains("error[hats/alias-conflict]"));
    check(&twice("DONE"), &["DONE"], DONE);
}

// H-46, HC-30
#[test]
fn the_last_iteration_may_complete() {
    let one = RING.replace("max_iterations: 30", "max_iterations: 1");
    check(&one, &["LOOP_COMPLETE"], DONE);
    let project = project(&one, &["EVENT: tests.failing", "LOOP_COMPLETE"]);
    let outcome = run(&project).exits(5);
    assert!(outcome.stdout.contains("limit `max_iterations` reached"), "{outcome}");
    assert_eq!(prompts(&project).len(), 1, "one call");
}

// H-47, HC-29
#[test]
fn completion_waits_for_the_required_events() {
    let hats = format!("required_events: [tests.passing]\n{RING}");
    let told = "The task cannot be finished before tests.passing was published.";
    // Alone, the word is refused, and the same hat runs again.
    let alone = project(&hats, &["LOOP_COMPLETE", "EVENT: tests.passing", "LOOP_COMPLETE"]);
    run(&alone).exits(0);
    assert_eq!(alone.journal().path_taken(), ["tester", "closer"]);
    assert!(prompts(&alone)[1].contains(told), "{}", prompts(&alone)[1]);
    assert_eq!(alone.journal().decisions("refused").count(), 1);
    assert!(log(&alone).contains("not done yet: `tests.passing` not published"), "{}", log(&alone));
    // With an event in the same reply, the run follows the event. Its receiver learns the missing events.
    let beside =
        project(&hats, &["LOOP_COMPLETE\nEVENT: tests.failing", "EVENT: tests.passing\nLOOP_COMPLETE"]);
    run(&beside).exits(0);
    assert_eq!(beside.journal().path_taken(), ["tester", "coder"], "events of the same reply count");
    assert!(prompts(&beside)[1].contains(told), "{}", prompts(&beside)[1]);
    let explained = beside.saihai(["explain", "last", "-v"]).run().exits(0).stdout;
    let lines: Vec<&str> = explained.lines().map(str::trim).take(4).collect();
    assert_eq!(
        lines[1..],
        [
            "published `tests.failing` on line 2 of the reply",
            "closing word `LOOP_COMPLETE` in the reply",
            "not done yet: `tests.passing` not published"
        ],
        "{explained}"
    );
    // A refused word without an event counts as a reply without a result.
    check(&hats, &["LOOP_COMPLETE"; 3], "tester; parked: limit stalled; 5");
    let both = [
        "LOOP_COMPLETE",
        "LOOP_COMPLETE\nEVENT: tests.failing",
        "LOOP_COMPLETE",
        "LOOP_COMPLETE",
        "EVENT: tests.passing\nLOOP_COMPLETE",
    ];
    check(&hats, &both, "tester coder; finished: completed complete; 0");
}

// A custom word that cancels the work, from a file of ralph.
#[test]
fn a_word_can_cancel_the_run() {
    let hats = "event_loop: {cancellation_promise: GIVE_UP}\nhats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n";
    let project = project(hats, &["I would GIVE_UP here, but", "GIVE_UP"]);
    let outcome = run(&project).exits(3);
    assert!(outcome.stdout.starts_with("cancelled"), "{outcome}");
    let told = prompts(&project);
    assert_eq!(told.len(), 2, "inside a sentence it is text");
    assert!(told[1].contains("The word LOOP_COMPLETE or GIVE_UP stood inside a sentence"), "{}", told[1]);
}

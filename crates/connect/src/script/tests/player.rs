use std::collections::BTreeSet;

use insta::assert_snapshot;
use proptest::prelude::*;
use saihai_model::{
    Ask, Failure, FailureClass, ProgramExit, Script, ScriptFailure, ScriptReply, ScriptWrite, Times,
};

use super::say::{ask, reply, script};
use crate::script::{ScriptAsk, ScriptChoice, ScriptPlayer, UnscriptedProgram};

fn asked(ask: &Ask) -> ScriptAsk<'_> {
    ScriptAsk {
        call: &ask.call,
        turn: ask.turn.as_ref(),
        place: ask.place,
        role: ask.role.as_deref(),
        prompt: &ask.prompt,
        program: ask.program.as_ref().map(|_| UnscriptedProgram::Runs),
    }
}

/// Summarizes the reply for an ask.
fn take(player: &mut ScriptPlayer, ask: &Ask) -> String {
    match player.take(&asked(ask)) {
        ScriptChoice::Reply { reply, again: false, .. } => reply.text.clone().unwrap_or_default(),
        ScriptChoice::Reply { reply, again: true, .. } => {
            format!("{} again", reply.text.clone().unwrap_or_default())
        }
        ScriptChoice::Generic { .. } => "generic".into(),
        ScriptChoice::Missing(missing) => missing.to_string(),
        ScriptChoice::RunProgram => "runs".into(),
    }
}

/// Plays a script against asks, one per line, and returns each reply and the unused ones.
fn play(script: Script, asks: &str) -> String {
    let mut player = ScriptPlayer::new(script).unwrap();
    let mut said = Vec::new();
    for (n, line) in (1..).zip(asks.lines().map(str::trim).filter(|line| !line.is_empty())) {
        let ask = ask(line, n);
        said.push(format!("{line}: {}", take(&mut player, &ask)));
        player.ended(&ask.call, None);
    }
    let accounts = player.accounts();
    said.extend(accounts.left.iter().map(ToString::to_string));
    said.push(format!("strict: {}, missing: {}", accounts.strict, accounts.missing.len()));
    said.join("\n")
}

// C-75: `replies[]` are tried in file order; the first match wins.
#[test]
fn the_first_reply_whose_conditions_all_hold_is_taken() {
    let lines = "
        review visit:2     -> second
        review prompt:^fix -> fixes
        review             -> any
                           -> unkeyed";
    assert_snapshot!(play(script(lines), "
        review 1 look
        plan 1
        review 2
        review 1 fix it"), @"
    review 1 look: any
    plan 1: unkeyed
    review 2: second
    review 1 fix it: fixes
    strict: true, missing: 0
    ");
}

// U-9
#[test]
fn a_program_takes_only_replies_for_itself_and_runs_without_one() {
    let mut script = script("tests -> failed\nlook -> agents\nlook/lint -> linted\n -> any");
    script.replies[0].exit = Some(ProgramExit::Code(1));
    script.replies[2].exit = Some(ProgramExit::Code(0));
    let mut player = ScriptPlayer::new(script).unwrap();
    let mut n = 0;
    let mut next = |line: &str, program: Option<UnscriptedProgram>| {
        n += 1;
        let ask = ask(line, n);
        let asked = ScriptAsk { program, ..asked(&ask) };
        match player.take(&asked) {
            ScriptChoice::Reply { reply, .. } => reply.text.clone().unwrap_or_default(),
            ScriptChoice::Generic { .. } => "generic".to_owned(),
            ScriptChoice::Missing(missing) => missing.to_string(),
            ScriptChoice::RunProgram => "runs".to_owned(),
        }
    };
    let runs = Some(UnscriptedProgram::Runs);
    assert_eq!(next("look/lint", runs), "linted", "the reply for all turns of `look` is the agents'");
    assert_eq!(next("look/review", None), "agents");
    assert_eq!(next("tests", runs), "failed");
    assert_eq!(next("tests", runs), "runs");
    assert_eq!(
        next("tests", Some(UnscriptedProgram::LacksReply)),
        "the script has no reply for `tests` at visit 1"
    );
    assert_eq!(next("tests", None), "any", "an agent takes no reply with an exit code");
    assert_eq!(player.accounts().left.len(), 0);
}

// C-75: `for` is a stage, a turn of it, or the questions about it.
#[test]
fn a_reply_for_a_stage_is_not_for_questions_about_it() {
    let lines = "
        reviewers times:*        -> work
        reviewers/security#judge -> about security
        reviewers#judge times:*  -> about any";
    assert_snapshot!(play(script(lines), "
        reviewers/security 1
        reviewers#judge 1
        reviewers/security#judge 1
        reviewers/security#judge 1
        reviewers/style 1"), @"
    reviewers/security 1: work
    reviewers#judge 1: about any
    reviewers/security#judge 1: about security
    reviewers/security#judge 1: about any
    reviewers/style 1: work
    strict: true, missing: 0
    ");
}

// C-75: `visit` is a number, a list, or an open range.
#[test]
fn visits_are_single_listed_or_open_ended() {
    let lines = "
        a visit:1,3 times:* -> odd
        a visit:4.. times:* -> late
        a times:*           -> else";
    assert_snapshot!(play(script(lines), "
        a 1
        a 2
        a 3
        a 4
        a 5"), @"
    a 1: odd
    a 2: else
    a 3: odd
    a 4: late
    a 5: late
    strict: true, missing: 0
    ");
}

// C-75: `times` limits the uses of a reply; `*` is never left over.
#[test]
fn a_reply_is_used_as_often_as_it_says() {
    let lines = "
        times:2 -> twice
        b times:3 -> thrice
        c times:* -> never
        -> last";
    assert_snapshot!(play(script(lines), "
        a 1
        b 1
        b 1
        a 2"), @"
    a 1: twice
    b 1: twice
    b 1: thrice
    a 2: last
    script:thrice: this reply was used 1 of 3 times
    strict: true, missing: 0
    ");
}

// C-75, Connections case 36: a missing reply names stage, turn and visit; an unused one its position.
#[test]
fn a_strict_script_fails_what_it_has_no_reply_for() {
    assert_snapshot!(play(script("plan -> planned\nimplement -> done"), "
        plan 1
        reviewers/security 2
        plan 2
        plan#judge 2"), @"
    plan 1: planned
    reviewers/security 2: the script has no reply for `reviewers/security` at visit 2
    plan 2: the script has no reply for `plan` at visit 2
    plan#judge 2: the script has no reply for `plan#judge` at visit 2
    script:done: this reply was not used
    strict: true, missing: 3
    ");
}

// Connections case 36: with `strict: false` both are only reported.
#[test]
fn a_script_that_is_not_strict_answers_something() {
    let lenient = Script { strict: false, ..script("plan -> planned\nimplement -> done") };
    assert_snapshot!(play(lenient, "
        plan 1
        review 1"), @"
    plan 1: planned
    review 1: generic
    script:done: this reply was not used
    strict: false, missing: 1
    ");
}

// C-76, Connections case 39: replies with a role have priority over those without, each used once.
#[test]
fn a_scenario_prefers_the_entries_of_the_role() {
    let lines = "
        -> b
        role:coder -> a
        role:planner -> p
        -> c";
    let scenario = Script { strict: false, lenient_roles: true, ..script(lines) };
    assert_snapshot!(play(scenario, "
        plan 1 @coder
        plan 2 @reviewer
        plan 3 @coder
        plan 4 @coder"), @"
    plan 1 @coder: a
    plan 2 @reviewer: b
    plan 3 @coder: c
    plan 4 @coder: generic
    script:p: this reply was not used
    strict: false, missing: 1
    ");
}

// In a script of our own, the same entries are tried in file order.
#[test]
fn a_role_is_an_ordinary_condition_in_a_script() {
    assert_snapshot!(play(script("-> b\nrole:coder -> a"), "
        plan 1 @coder
        plan 2 @reviewer
        plan 3 @coder"), @"
    plan 1 @coder: b
    plan 2 @reviewer: the script has no reply for `plan` at visit 2
    plan 3 @coder: a
    strict: true, missing: 1
    ");
}

#[test]
fn a_prompt_that_is_no_regular_expression_is_refused_with_its_place() {
    let bad = ScriptPlayer::new(script("prompt:( -> text")).unwrap_err();
    assert_eq!(bad.origin, "script:text");
    assert!(bad.to_string().starts_with("script:text: `prompt` is not a regular expression: "), "{bad}");
}

#[test]
fn prompts_are_needed_only_where_a_condition_reads_them() {
    assert!(!ScriptPlayer::new(script("a -> x")).unwrap().reads_prompts());
    assert!(ScriptPlayer::new(script("a -> x\nprompt:y -> z")).unwrap().reads_prompts());
}

enum Step<'a> {
    Asked(&'a str),
    Replied(&'a str),
    Failed(&'a str, FailureClass),
}

fn live(script: Script, steps: &[Step<'_>]) -> String {
    let mut player = ScriptPlayer::new(script).unwrap();
    let mut said = Vec::new();
    for step in steps {
        match step {
            Step::Asked(line) => said.push(take(&mut player, &ask(line, 1))),
            Step::Replied(line) => player.ended(&ask(line, 1).call, None),
            Step::Failed(line, class) => {
                player.ended(&ask(line, 1).call, Some(&Failure::new(*class, "")));
            }
        }
    }
    said.join(", ")
}

fn failing(class: FailureClass, line: &str) -> ScriptReply {
    let fail = ScriptFailure { class, message: String::new(), retry_after: None, until: None };
    ScriptReply { fail: Some(fail), ..reply(line) }
}

#[test]
fn a_call_repeated_after_a_crash_gets_the_same_reply() {
    let steps = [Step::Asked("a"), Step::Asked("a"), Step::Replied("a"), Step::Asked("b")];
    assert_eq!(live(script("-> one\n-> two"), &steps), "one, one again, two");
}

#[test]
fn a_call_retried_after_its_scripted_failure_gets_the_next_reply() {
    let mut script = script("-> two");
    script.replies.insert(0, failing(FailureClass::RateLimited, "-> one"));
    let steps = [Step::Asked("a"), Step::Failed("a", FailureClass::RateLimited), Step::Asked("a")];
    assert_eq!(live(script, &steps), "one, two");
}

#[test]
fn a_call_that_was_stopped_gets_the_same_reply_when_it_is_made_again() {
    let steps = [Step::Asked("a"), Step::Failed("a", FailureClass::Cancelled), Step::Asked("a")];
    assert_eq!(live(script("-> one\n-> two"), &steps), "one, one again");
}

// C-75
#[test]
fn a_call_whose_reply_could_not_do_what_it_was_to_do_gets_the_same_reply_again() {
    use FailureClass::{BadRequest, Crashed, Transient};
    let writing = || ScriptReply {
        writes: vec![ScriptWrite { path: "a".into(), content: "a".into() }],
        ..reply("-> first")
    };
    let after = |first: ScriptReply, class| {
        let mut script = script("-> second");
        script.replies.insert(0, first);
        live(script, &[Step::Asked("a"), Step::Failed("a", class), Step::Asked("a")])
    };
    for class in [Crashed, BadRequest] {
        assert_eq!(after(writing(), class), "first, first again", "{class:?}");
    }
    // Without actions, after a delay or after its scripted failure, the reply counts as used.
    assert_eq!(after(reply("-> first"), Crashed), "first, second");
    assert_eq!(after(writing(), Transient), "first, second");
    let failing = ScriptReply { writes: writing().writes, ..failing(Crashed, "-> first") };
    assert_eq!(after(failing, Crashed), "first, second");
}

#[test]
fn a_scripted_cancellation_is_used_up_like_any_failure() {
    let mut script = script("-> two");
    script.replies.insert(0, failing(FailureClass::Cancelled, "-> one"));
    let steps = [Step::Asked("a"), Step::Failed("a", FailureClass::Cancelled), Step::Asked("a")];
    assert_eq!(live(script, &steps), "one, two");
}

#[test]
fn a_hang_is_used_up_by_whatever_ends_it() {
    let hang = || ScriptReply { hang: true, ..reply("-> hang") };
    let mut script = script("-> two");
    script.replies.insert(0, hang());
    // Stopped and repeated.
    let stopped = [Step::Asked("a"), Step::Failed("a", FailureClass::Cancelled), Step::Asked("a")];
    assert_eq!(live(script.clone(), &stopped), "hang, two");
    // The process died, and the call is repeated.
    assert_eq!(live(script, &[Step::Asked("a"), Step::Asked("a")]), "hang, two");
}

#[test]
fn the_number_of_an_ask_survives_its_repetition() {
    let numbers = |strict| {
        let mut player = ScriptPlayer::new(Script { strict, ..script("a -> one") }).unwrap();
        let mut number = |line| match player.take(&asked(&ask(line, 1))) {
            ScriptChoice::Reply { number, .. } | ScriptChoice::Generic { number } => number,
            ScriptChoice::Missing(_) | ScriptChoice::RunProgram => 0,
        };
        [number("b"), number("b"), number("a"), number("a")]
    };
    assert_eq!(numbers(false), [1, 1, 2, 2]);
    assert_eq!(numbers(true), [0, 0, 2, 2]);
}

const STAGES: [&str; 4] = ["a", "b", "a#judge", "b/x"];

prop_compose! {
    fn any_reply()(target in 0..6_usize, visit in 0..4_u32, times in 0..4_u32, shape in 0..6_u8, text in 0..1000_u32)
        -> ScriptReply
    {
        let name = STAGES.get(target).copied().unwrap_or("");
        let mut reply = match visit {
            0 => reply(&format!("{name} -> {text}")),
            visit => reply(&format!("{name} visit:{visit} -> {text}")),
        };
        reply.times = if times == 0 { Times::Always } else { Times::Exactly(times) };
        reply.hang = shape == 1;
        if shape == 0 {
            reply.fail = Some(ScriptFailure { class: FailureClass::Crashed, message: String::new(), retry_after: None, until: None });
        }
        reply
    }
}

prop_compose! {
    fn any_script()(replies in prop::collection::vec(any_reply(), 0..12), strict: bool) -> Script {
        Script { strict, replies, ..Script::default() }
    }
}

/// Generates rounds of parallel asks: each round is a list of stages and the order in which its calls end.
fn any_rounds() -> impl Strategy<Value = Vec<Vec<(usize, u32)>>> {
    prop::collection::vec(prop::collection::vec((0..4_usize, 1..4_u32), 1..5), 1..6)
}

fn asks_of(rounds: &[Vec<(usize, u32)>]) -> Vec<Vec<Ask>> {
    let mut n = 0;
    let mut number = |(stage, visit): &(usize, u32)| {
        n += 1;
        ask(&format!("{} {visit}", STAGES[*stage]), n)
    };
    rounds.iter().map(|round| round.iter().map(&mut number).collect()).collect()
}

fn outcome(taken: &ScriptChoice) -> Option<Failure> {
    let fail = match taken {
        ScriptChoice::Reply { reply, .. } => reply.fail.as_ref(),
        ScriptChoice::Generic { .. } | ScriptChoice::Missing(_) | ScriptChoice::RunProgram => None,
    };
    fail.map(|fail| Failure::new(fail.class, ""))
}

/// Plays all rounds. The calls of a round end in the order of `shuffle`.
fn play_rounds(script: &Script, rounds: &[Vec<Ask>], shuffle: u64) -> (Vec<ScriptChoice>, ScriptPlayer) {
    let mut player = ScriptPlayer::new(script.clone()).unwrap();
    let mut all = Vec::new();
    for round in rounds {
        let mut taken: Vec<_> = round.iter().map(|ask| (&ask.call, player.take(&asked(ask)))).collect();
        all.extend(taken.iter().map(|(_, taken)| taken.clone()));
        taken.rotate_left(usize::try_from(shuffle).unwrap_or(0) % round.len());
        if shuffle.is_multiple_of(2) {
            taken.reverse();
        }
        for (call, taken) in taken {
            player.ended(call, outcome(&taken).as_ref());
        }
    }
    (all, player)
}

proptest! {
    // Connections case 40: the order of the asks decides, not the order of completion.
    #[test]
    fn which_reply_an_ask_gets_does_not_depend_on_what_ends_first(
        script in any_script(), rounds in any_rounds(), shuffle in 0..64_u64,
    ) {
        let rounds = asks_of(&rounds);
        let (straight, first) = play_rounds(&script, &rounds, 0);
        let (shuffled, second) = play_rounds(&script, &rounds, shuffle);
        prop_assert_eq!(straight, shuffled);
        prop_assert_eq!(first.accounts(), second.accounts());
    }

    // A new process that replays the asks continues like the old one.
    #[test]
    fn a_player_told_of_the_past_goes_on_as_if_it_had_been_there(
        mut script in any_script(), rounds in any_rounds(), cut in 0..24_usize,
    ) {
        // A crash uses up a hang; see above.
        script.replies.iter_mut().for_each(|reply| reply.hang = false);
        let rounds = asks_of(&rounds);
        let (expected, uninterrupted) = play_rounds(&script, &rounds, 1);
        let mut old = ScriptPlayer::new(script.clone()).unwrap();
        let mut new = ScriptPlayer::new(script).unwrap();
        let mut index = 0;
        for round in &rounds {
            // The crash comes during the calls of one round: each is repeated, in reverse order.
            let crashes = (index..index + round.len()).contains(&cut);
            for ask in round {
                let was = old.take(&asked(ask));
                new.already_asked(&asked(ask));
                prop_assert_eq!(&was, &expected[index]);
                index += 1;
            }
            if crashes {
                for ask in round.iter().rev() {
                    prop_assert_eq!(same(&new.take(&asked(ask))), same(&old.take(&asked(ask))));
                }
            }
            for (ask, taken) in round.iter().zip(&expected[index - round.len()..index]) {
                old.ended(&ask.call, outcome(taken).as_ref());
                new.ended(&ask.call, outcome(taken).as_ref());
            }
        }
        prop_assert_eq!(new.accounts(), uninterrupted.accounts());
    }

    // No reply exceeds its number of uses, and the unused rest adds up.
    #[test]
    fn every_use_of_a_reply_is_accounted_for(script in any_script(), rounds in any_rounds()) {
        let rounds = asks_of(&rounds);
        let (taken, player) = play_rounds(&script, &rounds, 1);
        let used = taken.iter().filter(|taken| matches!(taken, ScriptChoice::Reply { .. })).count();
        let bounded = script.replies.iter().all(|reply| reply.times != Times::Always);
        let total: u32 = script.replies.iter().map(|reply| match reply.times {
            Times::Exactly(times) => times,
            Times::Always => 0,
        }).sum();
        let left: u32 = player.accounts().left.iter().map(|left| left.times - left.used).sum();
        if bounded {
            prop_assert_eq!(u32::try_from(used).unwrap() + left, total);
        } else {
            prop_assert!(left <= total);
        }
        let numbers: BTreeSet<_> = taken.iter().filter_map(|taken| match taken {
            ScriptChoice::Reply { number, .. } | ScriptChoice::Generic { number } => Some(*number),
            ScriptChoice::Missing(_) | ScriptChoice::RunProgram => None,
        }).collect();
        let answered = taken.iter().filter(|taken| !matches!(taken, ScriptChoice::Missing(_))).count();
        prop_assert_eq!(numbers.len(), answered);
    }
}

fn same(taken: &ScriptChoice) -> String {
    match taken {
        ScriptChoice::Reply { reply, number, .. } => format!("{number} {reply:?}"),
        ScriptChoice::Generic { number } => format!("{number} generic"),
        ScriptChoice::Missing(missing) => missing.to_string(),
        ScriptChoice::RunProgram => "runs".into(),
    }
}

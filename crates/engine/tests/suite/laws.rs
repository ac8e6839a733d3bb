//! Laws for every workflow and every sequence of facts.

use proptest::collection::vec;
use proptest::prelude::*;
use saihai_engine::Run;
use saihai_model::*;

use crate::support::build::{action, gate};
use crate::support::{Sim, flow};

/// A possible event of a run. The numbers choose among the open calls; facts that fit nothing are included on purpose.
#[derive(Debug, Clone)]
enum Move {
    Reply {
        which: usize,
        tag: Option<usize>,
        report: bool,
    },
    Fail {
        which: usize,
        class: usize,
        until: Option<u64>,
    },
    /// A reply to a call that is no longer open.
    Late {
        which: usize,
    },
    Perform {
        which: usize,
        outcome: u8,
    },
    Answer {
        label: u8,
    },
    Pass {
        ms: u64,
    },
    Crash,
    Interrupt,
    Resume {
        rounds: Option<u32>,
        now: bool,
    },
    Storage,
    Count,
    Cancel,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let tag = prop_oneof![4 => (0..3_usize).prop_map(Some), 1 => Just(None)];
    let one = prop_oneof![
        12 => (0..4_usize, tag, any::<bool>()).prop_map(|(which, tag, report)| Move::Reply { which, tag, report }),
        3 => (0..4_usize, 0..10_usize, prop::option::of(0..100_000_u64))
            .prop_map(|(which, class, until)| Move::Fail { which, class, until }),
        1 => (0..9_usize).prop_map(|which| Move::Late { which }),
        3 => (0..3_usize, 0..4_u8).prop_map(|(which, outcome)| Move::Perform { which, outcome }),
        2 => (0..4_u8).prop_map(|label| Move::Answer { label }),
        2 => (0..200_000_u64).prop_map(|ms| Move::Pass { ms }),
        1 => Just(Move::Crash),
        1 => Just(Move::Interrupt),
        2 => (prop::option::of(1..30_u32), any::<bool>()).prop_map(|(rounds, now)| Move::Resume { rounds, now }),
        1 => Just(Move::Storage),
        1 => Just(Move::Count),
        1 => prop_oneof![9 => Just(Move::Pass { ms: 1 }), 1 => Just(Move::Cancel)],
    ];
    vec(one, 1..60)
}

/// Random workflows with parallel stages, loops, a monitor, gates and actions.
fn workflows() -> impl Strategy<Value = Workflow> {
    let stage = (1..4_usize, vec(0..7_usize, 1..4), any::<bool>());
    (vec(stage, 1..5), 1..12_u32, any::<bool>(), prop::option::of(1..8_u64)).prop_map(
        |(stages, max, watch, turns)| {
            let names = ["a", "b", "c", "d"];
            let to = |number: usize, count: usize| match number {
                0 => "COMPLETE".to_owned(),
                1 => "ABORT".to_owned(),
                2 => "gate".to_owned(),
                3 => "act".to_owned(),
                other => names[(other - 4) % count].to_owned(),
            };
            let count = stages.len();
            let mut text = format!("max {max};");
            for (index, (turns, targets, ask)) in stages.iter().enumerate() {
                let name = names[index];
                let ids: Vec<String> = (0..*turns).map(|turn| format!("{name}{turn}")).collect();
                text += &format!("{name}[{}]:", ids.join(" "));
                for (rule, target) in targets.iter().enumerate() {
                    let when = match (turns, rule) {
                        (1, _) => format!("l{rule}"),
                        (_, 0) => "all(l0)".to_owned(),
                        (_, _) => format!("any(l{rule})"),
                    };
                    text += &format!(" {when} -> {},", to(*target, count));
                }
                if *ask && *turns > 1 {
                    text += &format!(" ?other -> {},", to(targets[0], count));
                }
                text += ";";
            }
            let mut workflow = flow(&text);
            workflow.stages.insert("gate".into(), gate("a", Wants::YesNo));
            workflow
                .stages
                .insert("act".into(), action(Action::Push, Once::LookUpFirst, &[("ok", "a"), ("x", "gate")]));
            workflow.limits.budget.turns = turns.map(|turns| turns + 4);
            if watch {
                workflow.monitors = vec![Monitor {
                    watches: Watch::Cycle {
                        stages: vec!["a".into()],
                        times: 2,
                        returning: false,
                        passed: PassedStages::default(),
                    },
                    then: Alarm::Go(Target::Stage("gate".into())),
                }];
            }
            workflow
        },
    )
}

fn play(sim: &mut Sim, one: &Move) {
    match one {
        Move::Reply { which, tag, report } if !sim.asks.is_empty() => {
            let request = sim.asks.remove(which % sim.asks.len());
            let found = ReportLocation {
                file: "r.md".to_owned(),
                how: ReportClue::Only,
                start: 0,
                end: 1,
                unclosed: false,
            };
            let reading = Reading {
                digest: format!("{which}"),
                tag: tag.map(|number| Tag { number: Some(number), line: 1 }),
                reports: if *report { vec![found] } else { Vec::new() },
                ..Reading::default()
            };
            sim.reply_to(&request, reading);
        }
        Move::Fail { which, class, until } if !sim.asks.is_empty() => {
            let request = sim.asks.remove(which % sim.asks.len());
            let mut failure = Failure::new(FailureClass::ALL[*class], "x");
            failure.until = until.map(|until| Moment(sim.at + until));
            sim.fail_to(&request, failure);
        }
        Move::Late { which } => late(sim, *which),
        Move::Perform { which, outcome } if !sim.performs.is_empty() => {
            let performance = sim.performs.remove(which % sim.performs.len());
            let done = |label: &str| Outcome::Done { label: Some(label.into()), output: Default::default() };
            let outcome = match outcome {
                0 => done("ok"),
                1 => done("x"),
                2 => Outcome::Waiting { reason: "forge".into() },
                _ => Outcome::Failed(Failure::new(FailureClass::Transient, "x")),
            };
            sim.fact(Fact::Performed { call: performance.call, outcome });
        }
        Move::Answer { label } if !sim.gates.is_empty() => {
            sim.answer(["yes", "no", "answered", ""][*label as usize], Some("text"));
        }
        Move::Pass { ms } => {
            sim.at += ms;
            sim.fact(Fact::Woke);
        }
        Move::Crash => sim.crash_and_resume(),
        Move::Interrupt => sim.fact(Fact::Interrupted { by: "test".to_owned() }),
        Move::Resume { rounds, now } => {
            let rounds = rounds.map(|rounds| rounds.max(sim.run.iteration()));
            let patience = Millis::seconds(60);
            sim.fact(Fact::Resumed(Raise {
                rounds,
                budget: Budget::default(),
                runtime: None,
                patience,
                now: *now,
            }));
        }
        Move::Storage => {
            let call = sim.performs.pop().map(|performance| performance.call);
            sim.fact(Fact::StorageFailed { call, path: "/x".to_owned(), message: "full".to_owned() });
        }
        Move::Count => {
            let before = sim.run.clone();
            sim.fact(Fact::FilesCounted(FileChangeCounts::default()));
            assert_eq!(sim.run, before, "counted files change nothing");
        }
        Move::Cancel => sim.fact(Fact::Cancelled { by: "test".to_owned() }),
        Move::Reply { .. } | Move::Fail { .. } | Move::Perform { .. } | Move::Answer { .. } => {}
    }
}

/// Sends a fact about some earlier call. It changes nothing unless that call is running.
fn late(sim: &mut Sim, which: usize) {
    let calls = sim.records.iter().filter_map(|record| match &record.entry {
        RecordEntry::Fact(Fact::Asked { call, .. }) => Some(call.clone()),
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    let calls: Vec<CallId> = calls.collect();
    let Some(call) = calls.get(which % calls.len().max(1)).cloned() else { return };
    if sim.run.busy().any(|busy| *busy == call) {
        return;
    }
    let before = sim.run.clone();
    let failure = Failure::new(FailureClass::Crashed, "late");
    sim.fact(Fact::Failed(Box::new(CallFailed::new(call, failure))));
    let mut after = sim.run.clone();
    // Only the clock may have moved: a late fact still triggers changes by time alone.
    if after.now() == before.now() {
        after = before.clone();
    }
    assert_eq!(after.spent(), before.spent());
    assert_eq!(after.iteration(), before.iteration());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Invariants 1 to 5, 8 and 9: no sequence of facts panics or breaks a law. Every prefix replays to its live state.
    #[test]
    fn no_sequence_of_facts_breaks_the_run(workflow in workflows(), moves in moves()) {
        let mut sim = Sim::started(workflow);
        for one in &moves {
            play(&mut sim, one);
        }
        sim.prove_replay();
        let replied = |record: &Record| matches!(record.entry, RecordEntry::Fact(Fact::Replied(_)));
        if matches!(sim.run.ending(), Some(Ending::Completed(_))) {
            // S-26: these flows wait for nothing outside, so a success needs at least one reply.
            prop_assert!(sim.records.iter().any(replied), "{}", sim.outcome());
        }
        let text = serde_json::to_string(&sim.run).expect("a run can be written");
        let back: Run = serde_json::from_str(&text).expect("and read back");
        prop_assert_eq!(back, sim.run);
    }

    /// A snapshot continues exactly like the live state.
    #[test]
    fn a_snapshot_goes_on_like_the_live_run(workflow in workflows(), moves in moves(), at in 0..60_usize) {
        let mut sim = Sim::started(workflow);
        let mut twin = None;
        for (index, one) in moves.iter().enumerate() {
            if index == at {
                let text = serde_json::to_string(&sim.run).expect("a run can be written");
                let run: Run = serde_json::from_str(&text).expect("and read back");
                twin = Some((run, sim.records.len()));
            }
            play(&mut sim, one);
        }
        if let Some((mut run, from)) = twin {
            for record in &sim.records[from..] {
                if let RecordEntry::Fact(fact) = &record.entry {
                    let _ = run.apply(&sim.workflow, &Event { at: record.at, fact: fact.clone() });
                }
            }
            prop_assert_eq!(run, sim.run);
        }
    }

    /// Invariant 7: the order in which parallel turns finish decides nothing.
    #[test]
    fn any_interleaving_of_parallel_replies_gives_the_same_result(
        tags in vec(prop::option::of(0..2_usize), 4),
        order in Just(vec![0_usize, 1, 2, 3]).prop_shuffle(),
        answers in vec(0..2_usize, 4),
    ) {
        let names = ["a", "b", "c", "d"];
        let run = |order: &[usize]| {
            let mut sim = Sim::started(flow(
                "r[a b c d]: all(ok) -> COMPLETE, any(ng) -> next; next: ok -> COMPLETE",
            ));
            for index in order {
                sim.tag(names[*index], tags[*index]);
            }
            // Each question is about one turn and has its own answer, in any order.
            let mut questions: Vec<Request> = sim.asks.iter().filter(|ask| ask.purpose == Purpose::Question).cloned().collect();
            sim.asks.retain(|ask| ask.purpose != Purpose::Question);
            if order[0] > 1 {
                questions.reverse();
            }
            for question in questions {
                let turn = question.turn.as_ref().map_or("", |turn| turn.as_str()).to_owned();
                let number = answers[names.iter().position(|name| *name == turn).expect("one of them")];
                let tag = Some(Tag { number: Some(number), line: 1 });
                sim.reply_to(&question, Reading { tag, ..Reading::default() });
            }
            sim.prove_replay();
            (sim.path(), sim.run.carry().clone(), sim.run.counts().clone(), sim.outcome())
        };
        prop_assert_eq!(run(&order), run(&[0, 1, 2, 3]));
    }

    /// Every run of a flow with a limit ends, or is parked, within its limit.
    #[test]
    fn every_run_ends_within_its_limit(workflow in workflows(), tags in vec(0..3_usize, 400)) {
        let max = workflow.limits.rounds.expect("these flows have one");
        let mut sim = Sim::started(workflow);
        for tag in tags {
            if sim.run.ending().is_some() || sim.run.is_parked() && sim.gates.is_empty() {
                break;
            }
            if !sim.asks.is_empty() {
                play(&mut sim, &Move::Reply { which: tag, tag: Some(tag), report: false });
            } else if !sim.performs.is_empty() {
                play(&mut sim, &Move::Perform { which: 0, outcome: u8::try_from(tag % 2).expect("small") });
            } else if !sim.gates.is_empty() {
                sim.answer("yes", None);
            }
        }
        prop_assert!(sim.run.ending().is_some() || sim.run.is_parked(), "{}", sim.outcome());
        prop_assert!(sim.run.iteration() <= max);
    }
}

#[test]
fn the_size_of_a_run_does_not_depend_on_its_length() {
    // Invariant 6
    let mut workflow = flow("a: ok -> b; b: ok -> a; max 100000");
    workflow.monitors = vec![Monitor {
        watches: Watch::Cycle {
            stages: vec!["a".into(), "b".into()],
            times: 40,
            returning: false,
            passed: PassedStages::default(),
        },
        then: Alarm::Hold("cycle".into()),
    }];
    workflow.monitors[0].watches = Watch::Cycle {
        stages: vec!["b".into(), "b".into()],
        times: 3,
        returning: false,
        passed: PassedStages::default(),
    };
    let mut sim = Sim::started(workflow);
    let mut sizes = Vec::new();
    for round in 0..1_000_usize {
        let name = if round % 2 == 0 { "a" } else { "b" };
        sim.tag(name, Some(0));
        if round == 99 || round == 999 {
            sizes.push(serde_json::to_string(&sim.run).expect("a run can be written").len());
        }
        sim.records.retain(|record| matches!(record.entry, RecordEntry::Decision(Decision::Round { .. })));
    }
    assert!(sizes[1] < sizes[0] + 100, "{sizes:?}");
}

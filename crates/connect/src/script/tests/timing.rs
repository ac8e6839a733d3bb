//! Timing of scripted replies.

use std::sync::{Arc, Mutex};

use saihai_model::{Ask, FailureClass, Millis, ScriptReply};
use tokio_util::sync::CancellationToken;

use super::say::{ask, reply};
use super::stage::{EDIT, Stage, failure, writes};
use crate::clock::{Clock, RealTime, Sleep};

/// A clock without time: a wait yields to other tasks a number of times instead.
struct Yielding;

impl Clock for Yielding {
    fn sleep(&self, length: Millis) -> Sleep<'_> {
        Box::pin(async move {
            for _ in 0..length.0 {
                tokio::task::yield_now().await;
            }
        })
    }
}

// Connections case 40: two parallel turns take replies without keys in ask order in 100 of 100 runs, with any
// delays.
#[tokio::test]
async fn parallel_turns_get_their_replies_in_the_order_of_the_asks() {
    let mut finished_first = [0, 0];
    for run in 0..100 {
        let delays = [run * 7 % 11, run * 5 % 13];
        let replies = ["-> first", "-> second"].map(reply);
        let replies = replies.into_iter().zip(delays);
        let replies = replies.map(|(reply, delay)| ScriptReply { delay: Some(Millis(delay)), ..reply });
        let mut stage = Stage::new(replies.collect(), |with| with.clock = Arc::new(Yielding));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut turns = Vec::new();
        for (n, turn) in ["reviewers/a", "reviewers/b"].into_iter().enumerate() {
            let asking = stage.scripted.ask(ask(turn, u32::try_from(n).unwrap() + 1)).ok().unwrap();
            let order = Arc::clone(&order);
            turns.push(tokio::spawn(async move {
                let answer = asking.answer(&|_| {}, CancellationToken::new()).await;
                order.lock().unwrap().push(n);
                answer.unwrap().text
            }));
        }
        let mut said = Vec::new();
        for turn in turns {
            said.push(turn.await.unwrap());
        }
        assert_eq!(said, ["first", "second"], "run {run}");
        finished_first[order.lock().unwrap()[0]] += 1;
    }
    // Control: the delays did change the order of completion.
    assert!(finished_first.iter().all(|count| *count > 10), "{finished_first:?}");
}

// C-75: only a stop or the deadline ends a `hang`.
#[tokio::test]
async fn a_hang_ends_when_it_is_stopped() {
    let said = ScriptReply { hang: true, ..ScriptReply::default() };
    let mut stage = Stage::new(vec![said], |with| with.clock = Arc::new(RealTime));
    let stop = CancellationToken::new();
    let asking = stage.scripted.ask(stage.ask(EDIT)).ok().unwrap();
    let token = stop.clone();
    let turn = tokio::spawn(async move { asking.answer(&|_| {}, token).await });
    tokio::task::yield_now().await;
    assert!(!turn.is_finished());
    stop.cancel();
    assert_eq!(failure(&turn.await.unwrap()), "cancelled: stopped");
}

// C-36: the ask's deadline uses the run's clock.
#[tokio::test]
async fn a_hang_and_a_long_delay_end_at_the_deadline() {
    let hang = ScriptReply { hang: true, ..ScriptReply::default() };
    let late = ScriptReply { delay: Some(Millis(60_000)), ..reply("-> late") };
    for said in [hang, late] {
        let mut stage = Stage::new(vec![said], |_| {});
        let ask = Ask { timeout: Some(Millis(60_000)), ..stage.ask(EDIT) };
        let refusal = stage.answer(ask).await.unwrap_err();
        assert_eq!(refusal.failure.class, FailureClass::Transient);
        assert!(refusal.failure.by_deadline);
        assert_eq!(refusal.failure.message, "timed out after 60000 ms");
    }
    // Control: a delay below the deadline is only a delay.
    let soon = ScriptReply { delay: Some(Millis(59_999)), ..reply("-> soon") };
    let mut stage = Stage::new(vec![soon], |_| {});
    let ask = Ask { timeout: Some(Millis(60_000)), ..stage.ask(EDIT) };
    assert_eq!(stage.answer(ask).await.unwrap().text, "soon");
}

#[tokio::test]
async fn a_stopped_delay_is_cancelled_and_nothing_is_written() {
    let said = ScriptReply { delay: Some(Millis(1)), writes: vec![writes("a", "a")], ..reply("-> late") };
    let mut stage = Stage::new(vec![said], |_| {});
    let stop = CancellationToken::new();
    stop.cancel();
    let answer = stage.answer_or_stop(stage.ask(EDIT), stop).await;
    assert_eq!(failure(&answer), "cancelled: stopped");
    assert_eq!(stage.files(), "");
}

//! Ends of an attempt: by itself, by a deadline, by a stop.

use insta::assert_snapshot;
use saihai_model::Millis;

use crate::attempt::output::LIMIT;
use crate::clock::GracePeriod;
use crate::process::launcher;

use super::stage::{HandClock, Stage, told};

const MINUTE: u64 = 60;

fn by_hand() -> (Stage, std::sync::Arc<HandClock>) {
    let clock = HandClock::new();
    (Stage { clock: clock.clone(), ..Stage::new() }, clock)
}

// C-36: the deadline counts from the start, regardless of output.
#[tokio::test]
async fn an_attempt_is_ended_at_its_deadline() {
    let (stage, clock) = by_hand();
    let answer = stage
        .answer_while("echo session s1; echo text begun; exec sleep 1000", 1, async || {
            clock.advance(Millis::seconds(60 * MINUTE));
        })
        .await;
    assert_snapshot!(told(&answer), @"transient by deadline: timed out after 60m (spent 1)");
    assert_eq!(answer.unwrap_err().session.as_deref(), Some("s1"), "C-26");
}

// C-36: a reply that arrives at the deadline is read before the attempt is judged.
#[tokio::test]
async fn output_that_is_in_the_pipe_at_the_deadline_is_read() {
    let (stage, clock) = by_hand();
    let (go, said) = (stage.path().join("go"), stage.path().join("said"));
    let script = "echo text begun; while ! test -e go; do sleep 0.01; done; echo text all; echo done; touch said; exec sleep 1000";
    let answer = stage
        .answer_while(script, 1, async || {
            std::fs::write(&go, "").unwrap();
            // This blocks the thread, so that nothing reads the pipe before the deadline.
            while !said.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            clock.advance(Millis::seconds(60 * MINUTE));
            while stage.seen.borrow().len() < 3 {
                tokio::task::yield_now().await;
            }
            clock.advance(Millis::seconds(10));
        })
        .await;
    assert_snapshot!(told(&answer), @"replied: begun | all (session none)");
}

// C-36: the deadline also ends an agent whose pipe is never empty.
#[tokio::test]
async fn an_agent_that_prints_without_pause_is_ended_at_its_deadline() {
    let stage = Stage { deadline: Some(Millis(100)), ..Stage::new() };
    let answer = stage.answer("exec yes noise").await;
    assert_snapshot!(told(&answer), @"transient by deadline: timed out after 100ms (spent 0)");
}

// C-36, C-52: the limit also applies while the process is being ended.
#[tokio::test]
async fn an_agent_that_passes_the_output_limit_while_it_is_ended_is_reported_with_the_limit() {
    let (mut stage, clock) = by_hand();
    stage.grace = GracePeriod::new(Millis::seconds(10));
    let script =
        "trap 'exec head -c 300000000 /dev/zero' TERM; echo text begun; while :; do sleep 0.01; done";
    let late = async || clock.advance(Millis::seconds(60 * MINUTE));
    let answer = stage.answer_while(script, 1, late).await;
    assert_snapshot!(told(&answer), @"crashed: output limit: it printed more than 256 MiB (spent 1)");
    assert!(stage.transcript_length() <= LIMIT);
}

// C-36, Connections case 25: the agent may be silent for long only while an announced tool runs.
#[tokio::test]
async fn silence_is_suspended_while_a_tool_is_at_work() {
    let (stage, clock) = by_hand();
    let go = stage.path().join("go");
    let script = "echo tool build; while ! test -e go; do sleep 0.01; done; echo tool-end; echo text built; exec sleep 1000";
    let mut seen = stage.seen.subscribe();
    let act = async {
        seen.wait_for(|seen| seen.len() == 1).await.unwrap();
        clock.advance(Millis::seconds(30 * MINUTE));
        std::fs::write(go, "").unwrap();
        seen.wait_for(|seen| seen.len() == 2).await.unwrap();
        clock.advance(Millis::seconds(15 * MINUTE - 1));
        // The minute is not over, so nothing ends yet.
        tokio::task::yield_now().await;
        assert_eq!(stage.seen.borrow().len(), 2);
        clock.advance(Millis::seconds(1));
    };
    let (answer, ()) = tokio::join!(stage.answer(script), act);
    assert_snapshot!(told(&answer), @"transient by deadline: timed out after 15m without output (spent 1)");
}

// C-36: a program that prints whole messages only is alive while it receives one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_silent_agent_that_is_sent_data_is_not_ended() {
    use std::io::Write as _;

    let mut stage = Stage::new();
    stage.silence = Some(Millis::seconds(2));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let sender = std::thread::spawn(move || {
        let (mut agent, _) = server.accept().unwrap();
        for _ in 0..10 {
            agent.write_all(b"piece ").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        agent.write_all(b"end\n").unwrap();
        // From here on the server hangs until the agent is gone.
        let _ = std::io::Read::read(&mut agent, &mut [0]);
    });
    let listen = format!(
        "exec bash -c 'exec 3<>/dev/tcp/{}/{}; read -r line <&3; echo \"text $line\"; read -r line <&3'",
        address.ip(),
        address.port()
    );
    let answer = stage.answer(&listen).await;
    assert_snapshot!(told(&answer), @"transient by deadline: timed out after 2s without output (spent 1)");
    let said = "piece ".repeat(10) + "end";
    assert_eq!(answer.unwrap_err().said, Some(said), "it was silent for five seconds before");
    sender.join().unwrap();
}

// C-32: the agent reports its wait, and its listener interprets it.
#[tokio::test]
async fn an_agent_that_waits_too_long_is_ended() {
    let (stage, clock) = by_hand();
    let script = "echo text begun; echo pause >&2; exec sleep 1000";
    let mut seen = stage.seen.subscribe();
    let act = async {
        seen.wait_for(|seen| seen.len() == 2).await.unwrap();
        clock.advance(Millis::seconds(7));
    };
    let (answer, ()) = tokio::join!(stage.answer(script), act);
    assert_snapshot!(told(&answer), @"rate_limited: it waits (spent 1)");
}

// Text before the end is not lost.
#[tokio::test]
async fn an_attempt_that_is_ended_hands_on_what_it_was_saying() {
    let (stage, clock) = by_hand();
    let script = "echo text first; echo tool x; echo tool-back x; echo text last; exec sleep 1000";
    let late = async || clock.advance(Millis::seconds(60 * MINUTE));
    let refusal = stage.answer_while(script, 4, late).await.unwrap_err();
    assert_eq!(refusal.said.as_deref(), Some("last"));
    assert_eq!((refusal.failure.exit_code, refusal.failure.stderr), (None, None));
}

#[tokio::test]
async fn a_program_that_fails_is_told_with_its_exit_code_and_the_end_of_its_complaints() {
    let script = "i=0; while [ $i -lt 600 ]; do echo \"line $i of many\" >&2; i=$((i+1)); done; exit 7";
    let failure = Stage::new().answer(script).await.unwrap_err().failure;
    let stderr = failure.stderr.unwrap();
    assert_eq!(failure.exit_code, Some(7));
    assert!(stderr.len() <= 4_096 && stderr.len() > 4_000, "{}", stderr.len());
    assert!(stderr.ends_with("line 599 of many\n"), "{stderr}");
}

// Calls of a provider without a limit are counted.
#[tokio::test]
async fn a_model_that_is_called_too_often_is_ended() {
    let script = "echo text one; echo tool x; echo tool-back x; echo text two; echo tool y; echo tool-back y; echo text three; ";
    let over = format!("{script}exec sleep 1000");
    let stage = Stage { max_calls: Some(2), ..Stage::new() };
    let answer = stage.answer(&over).await;
    assert_snapshot!(told(&answer), @"bad_request: the model was called more than 2 times (spent 3)");
    let refusal = answer.unwrap_err();
    assert_eq!(refusal.failure.limit, Some(saihai_model::TurnLimit::Calls));
    assert_eq!(refusal.said.as_deref(), Some("three"));
    let enough = Stage { max_calls: Some(3), ..Stage::new() };
    let answer = enough.answer(&format!("{script}echo done")).await;
    assert_snapshot!(told(&answer), @"replied: one | two | three (session none)");
}

// H-55: a definition may set the maximum silence of its agent.
#[tokio::test]
async fn an_ask_may_say_how_long_silence_lasts() {
    let (mut stage, clock) = by_hand();
    stage.silence = Some(Millis::seconds(5));
    let script = "echo text begun; exec sleep 1000";
    let answer = stage.answer_while(script, 1, async || clock.advance(Millis::seconds(5))).await;
    assert_snapshot!(told(&answer), @"transient by deadline: timed out after 5s without output (spent 1)");
}

// C-36: zero in the settings means no limit, and an agent that need not print anything has none.
#[tokio::test]
async fn without_limits_time_ends_nothing() {
    let (mut stage, clock) = by_hand();
    stage.settings.turn_timeout = None;
    stage.settings.idle_timeout = None;
    let go = stage.path().join("go");
    let script = "echo text begun; while ! test -e go; do sleep 0.01; done; echo text on; echo done";
    let answer = stage
        .answer_while(script, 1, async || {
            clock.advance(Millis::seconds(1_000_000 * MINUTE));
            std::fs::write(go, "").unwrap();
        })
        .await;
    assert_snapshot!(told(&answer), @"replied: begun | on (session none)");
}

// C-56, C-26
#[tokio::test]
async fn a_stopped_attempt_is_cancelled_whatever_it_says_then() {
    let (stage, _clock) = by_hand();
    let script = "trap 'echo text late; echo done; exit 0' TERM; echo session s1; echo text begun; while :; do sleep 0.01; done";
    let answer = stage.answer_while(script, 1, async || stage.stop.cancel()).await;
    assert_snapshot!(told(&answer), @"cancelled: stopped (spent 1)");
    assert_eq!(answer.unwrap_err().session.as_deref(), Some("s1"));
}

// Connections case 12: a complete reply counts.
#[tokio::test]
async fn a_reply_that_was_read_before_the_stop_stands() {
    let (stage, _clock) = by_hand();
    let script = "trap 'exit 0' TERM; echo text all; echo done; while :; do sleep 0.01; done";
    let answer = stage.answer_while(script, 2, async || stage.stop.cancel()).await;
    assert_snapshot!(told(&answer), @"replied: all (session none)");
}

// Connections case 12: the end of a failed turn is not a success.
#[tokio::test]
async fn a_failure_that_was_read_before_the_stop_does_not_stand() {
    let (stage, _clock) = by_hand();
    let script = "echo text part; echo fail slow down; echo done; exec sleep 1000";
    let answer = stage.answer_while(script, 2, async || stage.stop.cancel()).await;
    assert_snapshot!(told(&answer), @"cancelled: stopped (spent 1)");
}

#[tokio::test]
async fn what_was_stopped_before_it_began_is_not_started() {
    let stage = Stage::new();
    stage.stop.cancel();
    assert_snapshot!(told(&stage.answer("touch x").await), @"cancelled: stopped");
    assert!(!stage.path().join("x").exists());
}

// C-59
#[tokio::test]
async fn an_agent_that_stays_after_its_turn_is_ended_and_its_reply_stands() {
    let (stage, clock) = by_hand();
    let script = "echo text all; echo done; while :; do echo noise; sleep 0.01; done";
    let answer = stage.answer_while(script, 2, async || clock.advance(Millis::seconds(10))).await;
    assert_snapshot!(told(&answer), @"replied: all (session none)");
}

// C-59
#[tokio::test]
async fn a_second_end_is_ignored_with_a_warning() {
    let stage = Stage::new();
    let answer = stage.answer("echo text one; echo done; echo text two; echo done; echo fail late").await;
    assert_snapshot!(told(&answer), @"
    replied: one (session none)
    warning: it ended its turn twice; the second end was ignored
    ");
}

// C-59: the code still counts if the agent exits by itself. Connections case 30.
#[tokio::test]
async fn the_exit_speaks_against_a_reply() {
    let stage = Stage::new();
    assert_snapshot!(told(&stage.answer("echo text all; echo done; echo oops >&2; exit 1").await), @"crashed: Code(1) oops (spent 1)");
    assert_snapshot!(told(&stage.answer("echo text all; echo done; kill -9 $$").await), @"crashed: Signal(9)  (spent 1)");
    assert_snapshot!(told(&stage.answer("echo text all").await), @"crashed: Code(0)  (spent 1)");
}

#[tokio::test]
async fn an_agent_can_be_ended_at_once_by_what_it_says() {
    let stage = Stage::new();
    let answer = stage.answer("echo text part; echo abort wrong mode; echo done; exec sleep 1000").await;
    assert_snapshot!(told(&answer), @"bad_request: wrong mode (spent 1)");
    let answer = stage.answer("echo abort falling back >&2; exec sleep 1000").await;
    assert_snapshot!(told(&answer), @"refused: falling back (spent 0)");
}

// C-32: a file that is not a program.
#[tokio::test]
async fn what_cannot_be_started_is_missing() {
    let mut stage = Stage::new();
    stage.program = stage.path().join("gone");
    let told = told(&stage.answer("").await).replace(&stage.path().display().to_string(), "");
    assert_snapshot!(told, @"missing: `/gone` could not be started: No such file or directory (os error 2)");
}

// C-32, C-86: an old program rejects new arguments with an unhelpful message.
#[tokio::test]
async fn a_program_that_is_too_old_is_named_with_its_version() {
    let mut stage = Stage::new();
    let directory = stage.path().to_owned();
    let put = |version: &str| {
        let (text, program) = (directory.join("text"), directory.join("agent"));
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo {version} && exit\necho 'unknown option' >&2\nexit 2\n"
        );
        std::fs::write(&text, script).unwrap();
        // Another process writes it, so that no process has it open for writing at the start.
        let made = std::process::Command::new("install").args(["-m", "755"]).arg(text).arg(&program).status();
        assert!(made.unwrap().success());
        program
    };
    stage.program = put("2.9.11");
    assert_snapshot!(told(&stage.answer("").await), @r"
    crashed: sh 2.9.11 is too old: the oldest version known to work is 2.10.0; get it with `apt install dash`
    Code(2) unknown option (spent 0)
    ");
    stage.program = put("2.10.0");
    assert_snapshot!(told(&stage.answer("").await), @"crashed: Code(2) unknown option (spent 0)");
}

// C-32: the cause is the machine, not the program.
#[tokio::test]
async fn a_program_that_the_machine_has_no_room_for_is_tried_again() {
    let mut stage = Stage::new();
    // A shell takes the launcher's first argument for the name of a script.
    stage.launcher = Some("/bin/sh".into());
    let script = stage.path().join(launcher::ARGUMENT);
    let fails = |code: u8| {
        let words = "saihai launcher: `agent` could not be started";
        std::fs::write(&script, format!("echo '{words}' >&2; exit {code}")).unwrap();
    };
    fails(launcher::EXHAUSTED);
    assert_snapshot!(told(&stage.answer("").await), @"transient: `agent` could not be started (spent 0)");
    fails(launcher::FAILED);
    assert_snapshot!(told(&stage.answer("").await), @"missing: `agent` could not be started (spent 0)");
}

// C-56, Connections case 31: KILL comes after the grace time, not before.
#[tokio::test]
async fn an_agent_that_ignores_being_asked_has_its_grace() {
    let (mut stage, clock) = by_hand();
    stage.grace = GracePeriod::new(Millis::seconds(10));
    let script = "trap 'echo asked >> asked' TERM; echo text begun; while :; do sleep 0.01; done";
    let asked = stage.path().join("asked");
    let mut seen = stage.seen.subscribe();
    let act = async {
        seen.wait_for(|seen| !seen.is_empty()).await.unwrap();
        stage.stop.cancel();
        clock.advance(Millis(0));
        while !asked.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        clock.advance(Millis::seconds(10));
    };
    let (answer, ()) = tokio::join!(stage.answer(script), act);
    assert_snapshot!(told(&answer), @"cancelled: stopped (spent 1)");
    assert_eq!(std::fs::read_to_string(&asked).unwrap(), "asked\n", "asked once");
}

//! Input, output and transcripts.

use std::fs;

use insta::assert_snapshot;
use saihai_model::{Millis, Progress};

use super::stage::{HandClock, Stage, told};

#[tokio::test]
async fn the_prompt_goes_in_and_the_reply_comes_out() {
    let stage = Stage::new();
    let answer = stage.answer("read line; echo session s1; echo text you said: $line; echo done").await;
    assert_snapshot!(told(&answer), @"replied: you said: the prompt (session s1)");
    assert_eq!(fs::read_to_string(stage.path().join("run/scratch/told.txt")).unwrap(), "told");
    assert_snapshot!(String::from_utf8(stage.transcript()).unwrap(), @"
    session s1
    text you said: the prompt
    done
    ");
    assert_eq!(
        *stage.seen.borrow(),
        [Progress::Text("you said: the prompt".into()), Progress::Text("done".into())]
    );
}

// Connections case 33, C-50: we use no shell, so the bytes arrive unchanged.
#[tokio::test]
async fn nothing_in_a_prompt_or_a_model_is_ever_executed() {
    let mut stage = Stage::new();
    stage.prompt = "$(touch x); `touch x`\n\"'\\".into();
    stage.settings.model = Some("; touch x".into());
    let answer = stage.answer("cat > input; printf %s \"$1\" > model; echo text ok; echo done").await;
    assert_snapshot!(told(&answer), @"replied: ok (session none)");
    assert!(!stage.path().join("x").exists());
    assert_eq!(fs::read_to_string(stage.path().join("input")).unwrap(), stage.prompt);
    assert_eq!(fs::read_to_string(stage.path().join("model")).unwrap(), "; touch x");
}

// C-43: OpenCode reads `-m --auto` as two arguments, and the second one allows everything.
#[tokio::test]
async fn a_model_that_looks_like_an_argument_is_refused_before_anything_is_started() {
    let mut stage = Stage::new();
    stage.settings.model = Some("--auto".into());
    assert_snapshot!(told(&stage.answer("touch x").await), @"bad_request: the model `--auto` starts with `-` and could be read as an argument");
    assert!(!stage.path().join("x").exists());
}

// C-24
#[tokio::test]
async fn a_prompt_that_is_too_long_is_refused_before_anything_is_started() {
    let mut stage = Stage::new();
    stage.settings.max_prompt = Some(9);
    assert_snapshot!(told(&stage.answer("touch x").await), @"bad_request: prompt is 10 bytes, script takes 9");
    assert!(!stage.path().join("x").exists() && !stage.path().join("run").exists());
    stage.settings.max_prompt = Some(10);
    assert_snapshot!(told(&stage.answer("echo text; echo done").await), @"replied:  (session none)");
}

// C-51, Connections case 27
#[tokio::test]
async fn an_agent_that_closes_its_input_at_once_can_still_reply() {
    let mut stage = Stage::new();
    stage.prompt = "x".repeat(10_000_000);
    assert_snapshot!(told(&stage.answer("exec 0<&-; echo text ok; echo done").await), @"replied: ok (session none)");
}

// C-51, Connections case 26
#[tokio::test]
async fn an_agent_that_never_reads_its_input_is_ended_by_its_silence() {
    let clock = HandClock::new();
    let mut stage = Stage::new();
    stage.clock = clock.clone();
    stage.prompt = "x".repeat(10_000_000);
    stage.settings.turn_timeout = None;
    let answer = stage
        .answer_while("echo text begun; exec sleep 1000", 1, async || {
            clock.advance(Millis::seconds(15 * 60));
        })
        .await;
    assert_snapshot!(told(&answer), @"transient by deadline: timed out after 15m without output (spent 1)");
}

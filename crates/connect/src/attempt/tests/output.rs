//! Output that is too much, too long, or not text.

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use saihai_model::ProviderAnswer;

use super::stage::{Stage, told};
use crate::attempt::output::LIMIT;

// C-53, Connections case 29
#[tokio::test]
async fn what_is_no_text_is_replaced_in_the_reply_and_kept_in_the_transcript() {
    let stage = Stage::new();
    let answer = stage.answer("printf 'text a\\377b\\r\\nnoise\\ndone'").await;
    assert_snapshot!(told(&answer), @"replied: a�b (session none)");
    assert_eq!(stage.transcript(), b"text a\xffb\r\nnoise\ndone");
}

// C-53
#[tokio::test]
async fn a_byte_order_mark_before_the_first_line_does_no_harm() {
    let stage = Stage::new();
    assert_snapshot!(told(&stage.answer("printf '\\357\\273\\277text a\\n\\033[1mtext b\\ndone\\n'").await), @"replied: a (session none)");
}

// C-55, Connections case 34
#[tokio::test]
async fn a_secret_that_comes_in_two_pieces_is_taken_out_everywhere() {
    let mut stage = Stage::new();
    stage.environment.push(("SHELL_KEY".into(), "open-sesame-42".into()));
    let script = "printf 'text key=open-ses'; sleep 0.05; echo ame-42.; echo \"text $SHELL_KEY\"; \
                  echo \"it is $SHELL_KEY\" >&2; exit 1";
    assert_snapshot!(told(&stage.answer(script).await), @"crashed: Code(1) it is [redacted:SHELL_KEY] (spent 2)");
    assert_snapshot!(String::from_utf8(stage.transcript()).unwrap(), @"
    text key=[redacted:SHELL_KEY].
    text [redacted:SHELL_KEY]
    ");
    let seen = format!("{:?}", stage.seen.borrow());
    assert!(!seen.contains("sesame"), "{seen}");
}

// C-52, Connections case 28: a line too long for memory is read back from the transcript.
#[tokio::test]
async fn a_line_of_fifty_megabytes_is_parsed_without_being_held() {
    let stage = Stage::new();
    let script = "printf '{\"tool\":\"'; head -c 50000000 /dev/zero | tr '\\0' x; \
                  printf '\",\"text\":\"the words\"}\\n'; echo done";
    let answer = stage.answer(script).await;
    let said = told(&answer).replace(&stage.path().display().to_string(), "");
    assert_snapshot!(said, @"
    replied: the words (session none)
    warning: a line of 50000031 bytes was cut where a text in it was too long; all of it is in /run/scratch/work.1.1.1-1.out
    ");
    assert_eq!(stage.transcript_length(), 50_000_031 + 5);
}

// C-52, Connections case 28
#[tokio::test]
async fn an_agent_that_never_stops_printing_is_ended_at_the_limit() {
    let stage = Stage::new();
    let answer = stage.answer("head -c 1000000000 /dev/zero").await;
    assert_snapshot!(told(&answer), @"crashed: output limit: it printed more than 256 MiB (spent 0)");
    assert!(stage.transcript_length() <= LIMIT);
}

// C-52
#[tokio::test]
async fn complaints_are_kept_from_both_ends() {
    let stage = Stage::new();
    let script =
        "echo first >&2; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last >&2; exit 3";
    let said = told(&stage.answer(script).await);
    assert!(
        said.starts_with("crashed: Code(3) first\nxxx") && said.ends_with("xxx\nlast (spent 0)"),
        "{said:.60}"
    );
    assert!(said.contains(" bytes left out …]") && said.len() < 140_000);
}

/// Returns the file below the stage that could not be written, and the reason.
fn unwritten(stage: &Stage, answer: ProviderAnswer) -> String {
    let file = answer.unwrap_err().failure.unwritten.expect("the disk is why");
    format!("{}: {}", file.path, file.cause).replace(&stage.path().display().to_string(), "")
}

// C-53
#[tokio::test]
async fn a_disk_that_is_full_while_a_program_prints_is_not_the_programs_fault() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path().join("run/scratch")).unwrap();
    symlink("/dev/full", stage.path().join("run/scratch/work.1.1.1-1.out")).unwrap();
    let answer = stage.answer("echo text a; echo done; sleep 100").await;
    assert_snapshot!(unwritten(&stage, answer), @"/run/scratch/work.1.1.1-1.out: No space left on device (os error 28)");
}

// C-53
#[tokio::test]
async fn files_of_the_run_that_cannot_be_made_are_not_the_programs_fault() {
    let stage = Stage::new();
    fs::create_dir_all(stage.path().join("run")).unwrap();
    fs::write(stage.path().join("run/scratch"), "").unwrap();
    assert_snapshot!(unwritten(&stage, stage.answer("echo done").await), @"/run/scratch: File exists (os error 17)");
    let stage = Stage::new();
    fs::create_dir_all(stage.path().join("run/scratch/told.txt")).unwrap();
    assert_snapshot!(unwritten(&stage, stage.answer("echo done").await), @"/run/scratch/told.txt: Is a directory (os error 21)");
}

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use saihai_model::{Ask, Millis};
use tokio_util::sync::CancellationToken;

use super::{ProcessMark, ProgramEnd, ProgramRun, allowed_variables, run};
use crate::clock::GracePeriod;

use crate::script::tests::say::ask;

fn program(directory: &Path, script: &str) -> ProgramRun {
    let ours: Vec<_> = std::env::vars_os().collect();
    ProgramRun {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        directory: directory.to_owned(),
        environment: allowed_variables(&ours, &[]),
        mark: ProcessMark::of(&Ask { scratch: format!("{}/scratch", directory.display()), ..ask("work", 1) }),
        launcher: None,
        sandbox: None,
        timeout: None,
        grace: GracePeriod::new(Millis(20)),
    }
}

/// Creates a pipe that shows if a process still holds its other end.
fn pipe(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("alive");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    path
}

/// Starts a program that opens the pipe, stops it after that, and waits until no process holds the pipe.
async fn stopped(script: &str, stop_it: impl FnOnce(CancellationToken)) -> ProgramEnd {
    let directory = tempfile::tempdir().unwrap();
    let pipe = pipe(directory.path());
    let stop = CancellationToken::new();
    let token = stop.clone();
    let program = program(directory.path(), script);
    let running = tokio::spawn(async move { run(program, &token).await });
    // Opening returns when the program has opened its end, reading when the last holder is gone.
    let mut alive = tokio::task::spawn_blocking(move || File::open(pipe).unwrap()).await.unwrap();
    stop_it(stop);
    let ended = running.await.unwrap().unwrap();
    let read = tokio::task::spawn_blocking(move || alive.read_to_end(&mut Vec::new()));
    read.await.unwrap().unwrap();
    ended
}

// C-50, P7: a stop ends the whole process group.
#[tokio::test]
async fn stopping_ends_the_program_and_its_children() {
    let ended = stopped("sleep 1000 > alive & wait", |stop| stop.cancel()).await;
    assert_eq!(ended, ProgramEnd::Stopped);
}

// C-56: TERM, grace, KILL.
#[tokio::test]
async fn a_program_that_ignores_being_asked_is_killed_after_the_grace() {
    let ended = stopped("trap '' TERM; sleep 1000 > alive; sleep 1000", |stop| stop.cancel()).await;
    assert_eq!(ended, ProgramEnd::Stopped);
}

// P7: remaining processes of the group end with the program. The shell opens the pipe itself, so it is open
// in time.
#[tokio::test]
async fn children_left_behind_end_with_their_program() {
    let ended = stopped("exec 9> alive; sleep 1000 & exit 3", |_| {}).await;
    assert_eq!(ended, ProgramEnd::Code(3));
}

#[tokio::test]
async fn a_program_ended_by_a_signal_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(program(directory.path(), "kill -9 $$"), &CancellationToken::new()).await;
    assert_eq!(ended.unwrap(), ProgramEnd::Signal(9));
}

// C-36: a deadline ends the program like a stop.
#[tokio::test]
async fn a_program_is_ended_at_its_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let program = ProgramRun { timeout: Some(Millis(30)), ..program(directory.path(), "sleep 1000") };
    let ended = run(program, &CancellationToken::new()).await;
    assert_eq!(ended.unwrap(), ProgramEnd::TimedOut(Millis(30)));
}

// P7: also without a waiting caller.
#[tokio::test]
async fn dropping_the_wait_ends_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = pipe(directory.path());
    let program = program(directory.path(), "sleep 1000 > alive & wait");
    let running = tokio::spawn(async move { run(program, &CancellationToken::new()).await });
    let mut alive = tokio::task::spawn_blocking(move || File::open(pipe).unwrap()).await.unwrap();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let read = tokio::task::spawn_blocking(move || alive.read_to_end(&mut Vec::new()));
    read.await.unwrap().unwrap();
}

//! Tests with small shell programs.

use std::sync::atomic::{AtomicU32, Ordering};

use saihai_model::{CallId, FailureClass};

use super::*;

/// Processes are found by their call when they are ended, so every program here has its own call.
static CALLS: AtomicU32 = AtomicU32::new(0);

fn line(script: &str, input: &str, timeout: Millis) -> CommandLine {
    let n = CALLS.fetch_add(1, Ordering::Relaxed);
    CommandLine {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).into(),
        directory: std::env::temp_dir(),
        input: input.to_owned(),
        timeout,
        run: "r".to_owned(),
        run_directory: std::env::temp_dir().join("no-such-run"),
        call: CallId { stage: "work".into(), visit: 1, round: 1, n },
    }
}

fn around() -> CommandSurroundings {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("SECRET_KEY".into(), "x".into())];
    CommandSurroundings::of(&Connections { environment, grace: Millis(200), ..Connections::default() })
}

async fn run(script: &str, input: &str) -> CommandOutput {
    line(script, input, Millis::seconds(60)).run(around(), CancellationToken::new()).await.unwrap()
}

// S-62
#[tokio::test]
async fn a_program_is_given_its_input_and_heard_to_its_end() {
    let came = run("cat; echo oops >&2; exit 3", "words").await;
    assert_eq!(
        came,
        CommandOutput {
            end: CommandEnd::Code(3),
            output: "words".to_owned(),
            complaints: "oops\n".to_owned()
        }
    );
}

// S-62: a program that reads nothing, reads too little or prints too much does not block the run.
#[tokio::test]
async fn an_input_nobody_reads_and_an_output_without_end_hold_nothing_up() {
    let words = "x".repeat(4 << 20);
    assert_eq!(run("exit 0", &words).await.end, CommandEnd::Code(0));
    let came = run("head -c 3000000 /dev/zero | tr '\\0' y", "").await;
    assert_eq!((came.end, came.output.len()), (CommandEnd::Code(0), 1 << 20));
}

// P7: its remaining processes are ended with it.
#[tokio::test]
async fn a_descendant_that_keeps_the_pipe_open_is_ended() {
    let came = run("sleep 600 & echo done", "").await;
    assert_eq!(came.output, "done\n");
}

// S-62, case 35
#[tokio::test]
async fn a_program_whose_time_is_over_is_ended() {
    let sleeping = line("sleep 600", "", Millis(50));
    let came = sleeping.run(around(), CancellationToken::new()).await.unwrap();
    assert_eq!(came.end, CommandEnd::TimedOut(Millis(50)));
}

#[tokio::test]
async fn a_program_that_is_stopped_or_not_there_has_failed() {
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = line("sleep 600", "", Millis::seconds(60)).run(around(), stop).await.unwrap_err();
    assert_eq!(stopped.class, FailureClass::Cancelled);
    let argv = vec!["/no/such/program".to_owned()];
    let missing = CommandLine { argv, ..line("", "", Millis::seconds(60)) };
    let missing = missing.run(around(), CancellationToken::new()).await.unwrap_err();
    assert_eq!(missing.class, FailureClass::Missing);
    assert!(missing.message.starts_with("`/no/such/program` could not be started"), "{}", missing.message);
}

// C-54: a program gets the same part of our environment as an agent.
#[tokio::test]
async fn a_program_is_given_only_what_is_allowed_and_its_mark() {
    let came = run("env | cut -d= -f1 | sort", "").await;
    let names: Vec<&str> =
        came.output.lines().filter(|name| !matches!(*name, "PWD" | "_" | "SHLVL" | "OLDPWD")).collect();
    assert_eq!(names, ["NO_COLOR", "PATH", "SAIHAI_RUN", "SAIHAI_RUN_DIRECTORY", "SAIHAI_TURN", "TERM"]);
}

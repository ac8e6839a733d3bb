//! Runs a program and interprets its exit.

use saihai_connect::{CommandEnd, CommandLine, CommandOutput, CommandSurroundings};
use saihai_model::{CommandVerdict, Json, Outcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::actions::done;

/// A program and the interpretation of its exit.
#[derive(Debug)]
pub(super) struct CommandAction {
    line: CommandLine,
    told: CommandVerdict,
}

/// Maximum number of characters of a program's output that is passed on.
const SAID: usize = 10_000;

impl CommandAction {
    pub(super) fn new(line: CommandLine, told: CommandVerdict) -> Self {
        Self { line, told }
    }

    /// Runs the program. For a completion handler, useless output is the result and not a failure to retry,
    /// because the definition names the wrong program.
    pub(super) async fn run(self, around: CommandSurroundings, stop: CancellationToken) -> Outcome {
        let Self { line, told } = self;
        let name = line.argv.first().cloned().unwrap_or_default();
        let was_stopped = stop.clone();
        match line.run(around, stop).await {
            Ok(came) => match told {
                CommandVerdict::ByExitCode | CommandVerdict::BySilence | CommandVerdict::ByOutput => {
                    validated(&came, told)
                }
                CommandVerdict::ByAnswer => answered(&came).unwrap_or_else(|why| broken(&name, &why)),
            },
            Err(failure) if told == CommandVerdict::ByAnswer && !was_stopped.is_cancelled() => {
                broken(&name, &failure.message)
            }
            Err(failure) => Outcome::Failed(failure),
        }
    }
}

fn broken(name: &str, why: &str) -> Outcome {
    done(Some("broken"), [("error".to_owned(), json!(format!("`{name}` {why}")))].into())
}

/// Returns the verdict of a validator and its output (S-16).
fn validated(came: &CommandOutput, told: CommandVerdict) -> Outcome {
    let is_fine = match (told, came.end) {
        (CommandVerdict::BySilence, CommandEnd::Code(_)) => came.output.trim().is_empty(),
        (CommandVerdict::ByOutput, CommandEnd::Code(_)) => !came.output.trim().is_empty(),
        (CommandVerdict::ByExitCode | CommandVerdict::ByAnswer, CommandEnd::Code(code)) => code == 0,
        (_, CommandEnd::Signal(_) | CommandEnd::TimedOut(_)) => false,
    };
    let output = [
        ("end", json!(end(came.end))),
        ("stdout", json!(cut(&came.output))),
        ("stderr", json!(cut(&came.complaints))),
        ("output", json!(cut(&both(came)))),
    ];
    let output = output.map(|(key, value): (&str, Json)| (key.to_owned(), value));
    done(Some(if is_fine { "ok" } else { "failed" }), output.into())
}

/// Returns stdout followed by stderr.
fn both(came: &CommandOutput) -> String {
    let printed = [came.output.trim_end(), came.complaints.trim_end()];
    let printed: Vec<&str> = printed.into_iter().filter(|text| !text.is_empty()).collect();
    printed.join("\n")
}

/// Returns a handler's verdict on the completion, or the error in its answer (S-62).
fn answered(came: &CommandOutput) -> Result<Outcome, String> {
    if came.end != CommandEnd::Code(0) {
        let complaint = came.complaints.trim();
        let complaint = if complaint.is_empty() { String::new() } else { format!(": {}", cut(complaint)) };
        return Err(format!("{}{complaint}", end(came.end)));
    }
    let said = cut(came.output.trim());
    let wrong = |what: &str| format!("printed {what}: {said}");
    let answer: Json =
        serde_json::from_str(&came.output).map_err(|_| wrong("no JSON object `{\"complete\": …}`"))?;
    let complete = answer.get("complete").and_then(Json::as_bool);
    let complete = complete.ok_or_else(|| wrong("an object in which `complete` is not true or false"))?;
    let reason = match answer.get("reason") {
        None | Some(Json::Null) => "",
        Some(reason) => reason.as_str().ok_or_else(|| wrong("a `reason` that is not a text"))?,
    };
    let label = if complete { "reached" } else { "open" };
    Ok(done(Some(label), [("reason".to_owned(), json!(cut(reason)))].into()))
}

fn end(end: CommandEnd) -> String {
    match end {
        CommandEnd::Code(code) => format!("exited with {code}"),
        CommandEnd::Signal(signal) => format!("was ended by signal {signal}"),
        CommandEnd::TimedOut(timeout) => format!("took longer than {} s", timeout.0.div_ceil(1000)),
    }
}

/// Keeps the end of a text, because a program's conclusion comes last.
fn cut(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(SAID);
    text.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use saihai_model::Millis;

    use super::*;

    fn came(code: i32, output: &str) -> CommandOutput {
        let end = CommandEnd::Code(code);
        CommandOutput { end, output: output.to_owned(), complaints: "oh no\n".to_owned() }
    }

    #[track_caller]
    fn check_answer(came: &CommandOutput, expected: &str) {
        let said = match answered(came) {
            Ok(Outcome::Done { label: Some(label), output }) => format!("{label} {}", json!(output)),
            Ok(other) => format!("{other:?}"),
            Err(why) => why,
        };
        assert_eq!(said, expected);
    }

    // S-62, case 35
    #[test]
    fn a_handler_says_whether_the_work_is_done_and_why_in_one_object() {
        check_answer(
            &came(0, "{\"complete\": true, \"reason\": \"it fits\"}\n"),
            r#"reached {"reason":"it fits"}"#,
        );
        check_answer(&came(0, "{\"complete\": false}"), r#"open {"reason":""}"#);
        check_answer(&came(1, "{\"complete\": true}"), "exited with 1: oh no");
        check_answer(&came(0, "done"), "printed no JSON object `{\"complete\": …}`: done");
        check_answer(&came(0, ""), "printed no JSON object `{\"complete\": …}`: ");
        check_answer(
            &came(0, "{\"complete\": \"yes\"}"),
            "printed an object in which `complete` is not true or false: {\"complete\": \"yes\"}",
        );
        check_answer(
            &came(0, "{\"complete\": true, \"reason\": 1}"),
            "printed a `reason` that is not a text: {\"complete\": true, \"reason\": 1}",
        );
        let late = CommandOutput { end: CommandEnd::TimedOut(Millis::seconds(60)), ..came(0, "") };
        check_answer(&late, "took longer than 60 s: oh no");
    }

    // S-16
    #[test]
    fn a_validator_succeeds_by_its_exit_code_or_by_its_silence() {
        let check = |told, came: CommandOutput, expected: &str| {
            let Outcome::Done { label: Some(label), output } = validated(&came, told) else {
                panic!("it ended")
            };
            assert_eq!(label.as_str(), expected, "{came:?}");
            assert_eq!(output["stdout"], json!(came.output));
        };
        check(CommandVerdict::ByExitCode, came(0, "words"), "ok");
        check(CommandVerdict::ByExitCode, came(2, ""), "failed");
        check(CommandVerdict::BySilence, came(0, "M file\n"), "failed");
        check(CommandVerdict::ByOutput, came(1, "M file\n"), "ok");
        check(CommandVerdict::ByOutput, came(0, " \n"), "failed");
        check(CommandVerdict::BySilence, came(1, " \n"), "ok");
        let killed = CommandOutput { end: CommandEnd::Signal(9), ..came(0, "") };
        check(CommandVerdict::BySilence, killed, "failed");
    }
}

//! Runs the program of a turn (U-9): no prompt, no session, no cost. Its exit code is its result, also if it failed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use saihai_model::{
    Ask, Failure, FailureClass, ProgramCommand, ProgramExit, Progress, ProviderAnswer, Reply,
};
use tokio_util::sync::CancellationToken;

use crate::attempt::with_refused_hosts;
use crate::process::{CommandSurroundings, ProcessMark, ProgramEnd, ProgramRun, follow, launcher, not_run};
use crate::providers::gone;

/// Maximum length of the kept output in bytes. The end is kept, because a program's conclusion comes last.
const LONGEST: usize = 1 << 20;

pub(crate) struct ProgramTurn {
    ask: Ask,
    command: ProgramCommand,
    around: CommandSurroundings,
    /// True if its stage requires a sandbox.
    sandbox_required: bool,
}

impl ProgramTurn {
    pub(crate) fn new(
        ask: Ask,
        command: ProgramCommand,
        around: CommandSurroundings,
        sandbox_required: bool,
    ) -> Self {
        Self { ask, command, around, sandbox_required }
    }

    pub(crate) async fn answer(
        self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let program = self.program()?;
        let mut output = OutputEnd::default();
        let mut hear = |line: &str| {
            progress(Progress::Text(line.to_owned()));
            output.push(line);
        };
        let ended = follow(program, &stop, &mut hear).await;
        let (ended, refused) = ended.map_err(|error| not_run(&error))?;
        let exit = match ended {
            ProgramEnd::Code(code) => ProgramExit::Code(code),
            ProgramEnd::Signal(signal) => ProgramExit::Signal(signal),
            ProgramEnd::TimedOut(_) => ProgramExit::Timeout,
            ProgramEnd::Stopped => return Err(Failure::new(FailureClass::Cancelled, "stopped").into()),
        };
        if let Some(failure) = launcher::refusal(exit.code(), &output.text) {
            return Err(failure.into());
        }
        let warnings = output.warning();
        let text = output.finish();
        let reply = Reply {
            responses: vec![text.clone()],
            text,
            exit: Some(exit),
            warnings: warnings.into_iter().collect(),
            ..Reply::default()
        };
        with_refused_hosts(Ok(reply), &refused)
    }

    fn program(&self) -> Result<ProgramRun, Failure> {
        if !Path::new(&self.ask.directory).is_dir() {
            return Err(gone(&self.ask.directory));
        }
        let directory = match &self.command.directory {
            Some(below) => Path::new(&self.ask.directory).join(below),
            None => PathBuf::from(&self.ask.directory),
        };
        if !directory.is_dir() {
            let words = format!("the directory `{}` does not exist", directory.display());
            return Err(Failure::new(FailureClass::Missing, words));
        }
        let mut environment = self.around.environment().to_vec();
        for (name, value) in &self.command.env {
            environment.retain(|(existing, _)| existing != name.as_str());
            environment.push((OsString::from(name), OsString::from(value)));
        }
        Ok(ProgramRun {
            argv: self.command.argv.clone(),
            directory,
            environment,
            mark: ProcessMark::of(&self.ask),
            launcher: self.around.launcher(),
            sandbox: self.around.sandbox_of(&self.ask, self.sandbox_required)?,
            timeout: self.ask.timeout,
            grace: self.around.grace(),
        })
    }
}

/// The end of a program's output.
#[derive(Debug, Default)]
struct OutputEnd {
    text: String,
    left_off: usize,
}

impl OutputEnd {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        // The text may grow to twice the limit, so that not every line moves all of it.
        if self.text.len() > 2 * LONGEST {
            self.leave_off();
        }
    }

    /// Drops the oldest lines.
    fn leave_off(&mut self) {
        let surplus = self.text.len().saturating_sub(LONGEST);
        let from = (surplus..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or_default();
        let next = self.text[from..].find('\n').map(|at| from + at + 1);
        let from = next.filter(|next| *next < self.text.len()).unwrap_or(from);
        self.left_off += from;
        self.text.drain(..from);
    }

    fn warning(&mut self) -> Option<String> {
        if self.text.len() > LONGEST {
            self.leave_off();
        }
        (self.left_off > 0).then(|| {
            let length = self.left_off + self.text.len();
            format!("the program printed {length} bytes; Saihai kept the last {}", self.text.len())
        })
    }

    fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use saihai_model::{Millis, ProviderRefusal};

    use super::*;
    use crate::Connections;
    use crate::testing::ask;

    static CALLS: AtomicU32 = AtomicU32::new(500);

    fn command(argv: &[&str]) -> ProgramCommand {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        ProgramCommand { argv, ..ProgramCommand::default() }
    }

    async fn run(
        directory: &Path,
        command: ProgramCommand,
        timeout: Millis,
    ) -> (Result<Reply, ProviderRefusal>, Vec<String>) {
        let environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("SECRET_KEY".into(), "x".into())];
        let around = CommandSurroundings::of(&Connections {
            environment,
            grace: Millis(200),
            ..Connections::default()
        });
        let mut ask = Ask { directory: directory.display().to_string(), timeout: Some(timeout), ..ask() };
        // Processes are found by their call when they are ended, so every program here has its own call.
        ask.call.n = CALLS.fetch_add(1, Ordering::Relaxed);
        let shown = Mutex::new(Vec::new());
        let progress = |progress| {
            if let Progress::Text(text) = progress {
                shown.lock().unwrap().push(text);
            }
        };
        let answer =
            ProgramTurn::new(ask, command, around, false).answer(&progress, CancellationToken::new()).await;
        (answer, shown.into_inner().unwrap())
    }

    // U-9
    #[tokio::test]
    async fn a_failing_program_is_a_reply_with_both_outputs_and_its_exit_code() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("core")).unwrap();
        let line = "echo \"$LEVEL in $(basename $PWD)\"; sleep 0.1; printf 'oops' >&2; exit 3";
        let command = ProgramCommand {
            env: [("LEVEL".to_owned(), "all".to_owned())].into(),
            directory: Some("core".to_owned()),
            ..command(&["sh", "-c", line])
        };
        let (reply, shown) = run(place.path(), command, Millis::seconds(60)).await;
        let reply = reply.unwrap();
        assert_eq!((reply.text.as_str(), reply.exit), ("all in core\noops", Some(ProgramExit::Code(3))));
        assert_eq!((reply.cost, reply.session, reply.warnings), (None, None, Vec::new()));
        assert_eq!(shown, ["all in core\n", "oops"]);
    }

    // U-9
    #[tokio::test]
    async fn a_timeout_and_a_signal_are_results_and_a_missing_program_is_a_failure() {
        let place = tempfile::tempdir().unwrap();
        let of = |argv: &[&str], timeout| run(place.path(), command(argv), timeout);
        let (late, _) = of(&["sh", "-c", "echo begun; sleep 600"], Millis(300)).await;
        let late = late.unwrap();
        assert_eq!((late.text.as_str(), late.exit), ("begun\n", Some(ProgramExit::Timeout)));
        let (killed, _) = of(&["sh", "-c", "kill -9 $$"], Millis::seconds(60)).await;
        assert_eq!(killed.unwrap().exit, Some(ProgramExit::Signal(9)));
        let (missing, _) = of(&["no-such-program"], Millis::seconds(60)).await;
        assert_eq!(missing.unwrap_err().failure.class, FailureClass::Missing);
        let elsewhere = ProgramCommand { directory: Some("no".to_owned()), ..command(&["true"]) };
        let (nowhere, _) = run(place.path(), elsewhere, Millis::seconds(60)).await;
        let nowhere = nowhere.unwrap_err().failure;
        assert_eq!(nowhere.class, FailureClass::Missing);
        assert!(nowhere.message.ends_with("/no` does not exist"), "{}", nowhere.message);
    }

    // U-9
    #[tokio::test]
    async fn the_end_of_a_long_output_is_kept_and_the_rest_is_counted() {
        let place = tempfile::tempdir().unwrap();
        let long = ["sh", "-c", "yes 0123456789 | head -n 300000; echo 2 of 14 failed"];
        let (reply, _) = run(place.path(), command(&long), Millis::seconds(60)).await;
        let reply = reply.unwrap();
        assert!(reply.text.len() <= LONGEST && reply.text.len() > LONGEST - 100, "{}", reply.text.len());
        assert!(reply.text.starts_with("0123456789\n") && reply.text.ends_with("\n2 of 14 failed\n"));
        let all = 300_000 * 11 + "2 of 14 failed\n".len();
        let kept = reply.text.len();
        assert_eq!(reply.warnings, [format!("the program printed {all} bytes; Saihai kept the last {kept}")]);
    }
}

//! `saihai record`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use saihai::project::Recording;
use saihai::{LoadedRun, RunDirectory, State};
use saihai_config::LARGEST_FILE;
use saihai_config::review::Plan;
use saihai_config::{script_file, script_yaml};

use crate::error::{Error, exit};
use crate::project::Project;
use crate::report::count;
use crate::terminal::{Streams, visible_line};

/// Turn a run into a script that plays it again, as a test
#[derive(Debug, Args)]
#[command(
    after_help = "The script holds every reply and failure as it was, the answers at gates, the task, and what is expected: \
                  the outcome, the stages entered, and a digest of each prompt. Playing it needs no model: \
                  `saihai rehearse DEFINITION --script FILE` exits with 1 and says so where the outcome, the path or a \
                  prompt differs. What agents wrote and edited is recorded too; what they changed by commands is not \
                  known, and the script says of which turns."
)]
pub(crate) struct Record {
    /// The run: its id, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    run: String,

    /// Write the script to a file: YAML, or JSON if its name ends in .json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Record {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let directory = Project::find()?.runs().find(&self.run)?;
        let run = LoadedRun::read(&directory)?;
        require_end(&run)?;
        let recording = run.recording()?;
        if recording.cancelled {
            let message =
                format!("run `{}` was cancelled from outside, which no script can play", directory.id());
            return Err(Error::usage(message));
        }
        let text = self.text(&directory, &recording);
        if text.len() as u64 > LARGEST_FILE {
            let message =
                format!("the script would be of {} bytes; at most {LARGEST_FILE} can be read", text.len());
            return Err(Error::usage(message).hint("record a shorter run"));
        }
        match &self.out {
            None => streams.out.raw(text.as_bytes())?,
            Some(path) => {
                std::fs::write(path, text)
                    .map_err(|error| Error::usage(format!("cannot write `{}`: {error}", path.display())))?;
                let play = match Plan::of(&run.workflow) {
                    // A definition may have the same name as a review agent.
                    Some(_) => format!("saihai review --script {}", path.display()),
                    None => {
                        format!("saihai rehearse {} --script {}", run.view.start.definition, path.display())
                    }
                };
                streams.note(&format!("play it with `{play}`"));
            }
        }
        if !recording.unknown.is_empty() {
            let turns = count(recording.unknown.len() as u64, "turn");
            streams.warning(&format!("what {turns} changed in files is not known, or not all of it"));
        }
        Ok(exit::DONE)
    }

    fn text(&self, directory: &RunDirectory, recording: &Recording) -> String {
        let is_json = |path: &PathBuf| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        if self.out.as_ref().is_some_and(is_json) {
            return script_file(&recording.script);
        }
        let mut head = format!("# Recorded from run {}.\n", visible_line(directory.id()));
        for turn in &recording.unknown {
            let turn = visible_line(turn);
            let _ = writeln!(head, "# What {turn} changed in files is not known, or not all of it.");
        }
        format!("{head}{}", script_yaml(&recording.script))
    }
}

/// Rejects an unfinished run: it has no outcome that a script could expect.
fn require_end(run: &LoadedRun) -> Result<(), Error> {
    let id = run.directory.id();
    let refused = Error::usage(format!("run `{id}` is not over: it is {}", run.state.name()));
    match run.state {
        State::Ended { .. } => Ok(()),
        State::Running { .. } => Err(refused.hint("record it when it has ended")),
        State::Interrupted | State::Ready | State::Parked { .. } => {
            Err(refused.hint(format!("continue with `saihai resume {id}`")))
        }
    }
}

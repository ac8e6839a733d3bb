use std::ffi::OsString;

use clap::Args;
use saihai::LoadedRun;
use saihai_model::ExitStatus;

use crate::driving::{Conclusion, show_result};
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::Streams;
use crate::top::{ScreenRun, show};

/// Watch all runs of this project on one screen, and answer them
#[derive(Debug, Args)]
#[command(after_help = "\
Shows the runs of all processes: those that wait for you first, then running ones, then the rest.
Enter opens a run with its turns, prompts, replies, reports and reasons. `?` lists the keys.
Leaving the screen stops no run. `saihai runs` and `saihai log -f` print lines instead.

Examples:
  saihai top
  saihai -C ../other-project top")]
pub(crate) struct TopCommand {}

impl TopCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        project.insist_on_person("`saihai top` is for a person")?;
        if !can_draw(streams) {
            let error = CommandError::usage("`saihai top` needs a terminal that it can draw on");
            return Err(error.hint("`saihai runs` prints the list, `saihai log -f` follows one run"));
        }
        show(&project, streams.out.is_styled(), None)
    }
}

fn can_draw(streams: &Streams) -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    streams.stdin_is_terminal && streams.out.is_terminal() && !is_dumb
}

/// Runs this command again without `--tui` in a process of its own, and shows its run on the screen.
pub(crate) fn run_on_screen(project: &Project, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
    project.insist_on_person("`--tui` is for a person")?;
    if !can_draw(streams) {
        return Err(CommandError::usage("`--tui` needs a terminal that it can draw on"));
    }
    let arguments: Vec<OsString> =
        std::env::args_os().skip(1).filter(|argument| argument != "--tui").collect();
    let mut driven = match ScreenRun::start(&arguments)? {
        Ok(driven) => driven,
        Err((status, said)) => {
            streams.err.raw(said.as_bytes())?;
            let codes = [ExitStatus::Done, ExitStatus::Failed, ExitStatus::Usage, ExitStatus::Unavailable];
            let code = codes.into_iter().find(|code| Some(i32::from(code.code())) == status.code());
            return Ok(code.unwrap_or(ExitStatus::Failed));
        }
    };
    show(project, streams.out.is_styled(), Some(&mut driven))?;
    let directory = project.runs().find(&driven.run)?;
    if driven.is_running() {
        streams.note(&format!("run `{}` continues; `saihai top` shows it", driven.run));
        return Ok(ExitStatus::Done);
    }
    let run = LoadedRun::read(&directory)?;
    show_result(&Conclusion::of_run(&run)?, false, streams)?;
    Ok(run.state.exit_status())
}

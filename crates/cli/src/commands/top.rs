use std::ffi::OsString;

use clap::Args;
use saihai::LoadedRun;
use saihai_model::ExitStatus;

use crate::driving::{Conclusion, show_result};
use crate::error::CommandError;
use crate::known_projects::KnownProjects;
use crate::project::{Project, insist_on_person_anywhere};
use crate::terminal::Streams;
use crate::top::{ScreenRun, TopScope, show};

/// Watch all runs on one screen, and answer them
#[derive(Debug, Args)]
#[command(after_help = "\
Shows the runs of all processes: those that wait for you first, then running ones, then the rest.
Enter opens a run with its turns, prompts, replies, reports and reasons. `?` lists the keys.
Leaving the screen stops no run. `saihai runs` and `saihai log -f` print lines instead.

Examples:
  saihai top
  saihai top --all
  saihai -C ../other-project top")]
pub(crate) struct TopCommand {
    /// Show the runs of all projects on this machine
    #[arg(long)]
    all: bool,
}

impl TopCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let rule = "`saihai top` is for a person";
        let scope = if self.all {
            insist_on_person_anywhere(rule)?;
            TopScope::Machine(KnownProjects::of_user_or_error()?)
        } else {
            let project = Project::find()?;
            project.insist_on_person(rule)?;
            TopScope::Project(project)
        };
        if !can_draw(streams) {
            let error = CommandError::usage("`saihai top` needs a terminal that it can draw on");
            return Err(error.hint("`saihai runs` prints the list, `saihai log -f` follows one run"));
        }
        show(scope, streams.out.is_styled(), None)
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
    let mut driven = match ScreenRun::start(project, &arguments)? {
        Ok(driven) => driven,
        Err((status, said)) => {
            streams.err.raw(said.as_bytes())?;
            let codes = [ExitStatus::Done, ExitStatus::Failed, ExitStatus::Usage, ExitStatus::Unavailable];
            let code = codes.into_iter().find(|code| Some(i32::from(code.code())) == status.code());
            return Ok(code.unwrap_or(ExitStatus::Failed));
        }
    };
    let run = driven.run.clone();
    show(TopScope::Project(Project::find_at(&run.root)?), streams.out.is_styled(), Some(&mut driven))?;
    let (_, directory) = run.find()?;
    if driven.is_running() {
        streams.note(&format!("run `{}` continues; `saihai top` shows it", run.id));
        return Ok(ExitStatus::Done);
    }
    let run = LoadedRun::read(&directory)?;
    show_result(&Conclusion::of_run(&run)?, false, streams)?;
    Ok(run.state.exit_status())
}

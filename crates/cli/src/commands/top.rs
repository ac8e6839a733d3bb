use clap::Args;
use saihai_model::ExitStatus;

use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::Streams;

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
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !streams.stdin_is_terminal || !streams.out.is_terminal() || is_dumb {
            let error = CommandError::usage("`saihai top` needs a terminal that it can draw on");
            return Err(error.hint("`saihai runs` prints the list, `saihai log -f` follows one run"));
        }
        crate::top::show(&project, streams.out.is_styled())
    }
}

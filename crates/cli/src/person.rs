//! What only a person may say (I-43): a yes, what is trusted, what goes on and what is given up.

use saihai::agent_of;
use saihai_connect::{Turn, turns_above};

use crate::error::Error;
use crate::project::Project;

/// Refuses an agent of a run of this project, in whichever worktree it is. `rule` says what a person does.
pub(crate) fn insist(project: &Project, rule: &str) -> Result<(), Error> {
    let agent = agent_of(project.runs().directory(), &project.places.root, std::process::id());
    refuse(agent, rule)
}

/// Refuses every agent: what is said counts for all projects.
pub(crate) fn insist_anywhere(rule: &str) -> Result<(), Error> {
    refuse(turns_above(std::process::id()).into_iter().next(), rule)
}

fn refuse(turn: Option<Turn>, rule: &str) -> Result<(), Error> {
    match turn {
        None => Ok(()),
        Some(turn) => Err(Error::usage(format!("{rule}, and this is the agent of `{}`", turn.call))
            .hint("do it in a terminal of your own")),
    }
}

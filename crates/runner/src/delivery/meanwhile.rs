//! What changed in a repository while a run worked in a worktree of it (I-38).

use std::collections::BTreeMap;

use saihai_config::delivery::stage;
use saihai_model::{Entry, Fact, Outcome};

use super::addresses::Moved;
use crate::repository::{self, Change, Repository, Shared};
use crate::{Error, RunDirectory};

/// What changed meanwhile, of what all worktrees share.
#[derive(Debug)]
pub(super) struct Meanwhile {
    changes: Vec<Change>,
    /// The base that is merged into, where others than we have put commits there: an agent, or a person, and nobody can tell which.
    base: Option<String>,
    /// Where remotes were when the call began.
    pub(super) own: BTreeMap<String, String>,
    /// Which of them are elsewhere.
    pub(super) moved: Moved,
}

impl Meanwhile {
    pub(super) fn new(
        changes: Vec<Change>,
        base: Option<String>,
        own: BTreeMap<String, String>,
        moved: Moved,
    ) -> Self {
        let starts = changes.iter().any(|change| change.executes);
        // What was new before this run began is another run's, or the person's.
        let moved = if starts { moved } else { moved.known_to(&own) };
        Self { changes, base, own, moved }
    }

    /// Whether a person decides before anything goes on.
    pub(super) fn starts(&self) -> bool {
        self.changes.iter().any(|change| change.executes)
    }

    /// As a person is told of it; nothing where nothing changed.
    pub(super) fn words(&self) -> String {
        let names = self.changes.iter().map(|change| &change.name).chain(&self.base);
        let mut lines: Vec<String> = names.map(|name| format!("- `{name}`")).collect();
        lines.extend(self.moved.words(&self.own).iter().map(|words| format!("- {words}")));
        if lines.is_empty() {
            return String::new();
        }
        let what = "Changed during the run, in what all worktrees of the repository share:";
        format!("{what}\n{}", lines.join("\n"))
    }
}

/// What changed since a run began in its worktree, where nobody was told: it came to no commit, or delivers nothing.
///
/// # Errors
/// The run cannot be read.
pub fn untold(
    directory: &RunDirectory,
    repository: &Repository,
) -> Result<Result<Vec<Change>, repository::Error>, Error> {
    let mut before: Option<Shared> = None;
    directory.read(&mut |record| {
        let Entry::Fact(Fact::Performed { call, outcome: Outcome::Done { output, .. } }) = &record.entry
        else {
            return;
        };
        match call.stage.as_str() {
            stage::WORKTREE => {
                before = output.get("shared").and_then(|shared| serde_json::from_value(shared.clone()).ok());
            }
            stage::FINALIZE => before = None,
            _ => {}
        }
    })?;
    Ok(match before {
        Some(before) => repository.shared().map(|now| before.changes(&now)),
        None => Ok(Vec::new()),
    })
}

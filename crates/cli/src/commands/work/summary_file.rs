//! `.saihai/batches/<id>/`: what came of an invocation, kept for people (I-8, I-61, I-75).

use std::io::{self, Write as _};
use std::path::PathBuf;

use saihai::delivery::{Past, Summary};
use saihai::replace_below;
use saihai_config::issues::{inert, inert_excerpt};

use super::result::{self, ItemResult};
use crate::project::Project;
use crate::report::count;
use crate::time;

/// The directory of an invocation. Nothing depends on it.
pub(super) struct Batches {
    pub(super) id: String,
    /// `.saihai` as it was before the first agent, wherever the person keeps it; below it no link is followed.
    home: PathBuf,
}

impl Batches {
    /// A new one, made when something is written.
    pub(super) fn new(project: &Project) -> Self {
        let stamp: String =
            time::rfc3339(time::now()).chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, clock) = stamp.split_at(8);
        let id = format!("{day}-{clock}-{}", std::process::id());
        let root = &project.places.root;
        let home = root.join(".saihai").canonicalize();
        // Where there is none yet, it is made in the project itself.
        let made = || root.canonicalize().unwrap_or_else(|_| root.clone()).join(".saihai");
        Self { home: home.unwrap_or_else(|_| made()), id }
    }

    /// Writes what came of everything so far, and what one issue's run says of itself.
    pub(super) fn write(&self, results: &[ItemResult], past: Option<&Past>) -> io::Result<()> {
        self.conclude(results, result::exit_code(results))?;
        if let Some(past) = past {
            let own = results.iter().filter(|result| result.issue == past.assignment.issue);
            for result in own {
                self.replace(&format!("{}.md", result.issue.slug()), &page(past, result))?;
            }
        }
        Ok(())
    }

    /// Writes what came of everything, and the exit code it comes to.
    pub(super) fn conclude(&self, results: &[ItemResult], exit: u8) -> io::Result<()> {
        self.replace("result.json", &result::document(&self.id, results, exit))?;
        self.replace("result.md", &result::markdown(results))
    }

    /// A file is whole or not there: whoever looks meanwhile sees the one before.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        std::fs::create_dir_all(&self.home)?;
        replace_below(&self.home, &format!("batches/{}/{name}", self.id), text.as_bytes())
    }
}

/// What the run of an issue says of itself.
fn page(past: &Past, result: &ItemResult) -> String {
    let summary = Summary::of(&past.directory).ok();
    let said = summary.as_ref().map(|summary| inert_excerpt(&summary.text, 4_000)).unwrap_or_default();
    let assignment = &past.assignment;
    let reason = result.reason.as_deref().map(|reason| format!(" ({})", inert(reason))).unwrap_or_default();
    let mut text = format!(
        "# {} {}\n\n{}{reason}: branch `{}` from `{}` at {}, run `{}`, {}, {}\n",
        result.issue,
        inert(&assignment.title),
        result.outcome,
        assignment.branch,
        assignment.base.branch,
        assignment.base.commit,
        past.directory.id(),
        count(result.turns, "turn"),
        result.cost.usd,
    );
    if !said.is_empty() {
        text.push_str(&format!("\n{said}\n"));
    }
    text
}

/// Shows the results where GitHub Actions shows them (I-77).
pub(super) fn show_in_actions(project: &Project, results: &[ItemResult]) -> io::Result<()> {
    let Some(path) = project.variables.get("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    // A table ends at an empty line; a second call in the same step has one of its own.
    file.write_all(format!("{}\n", result::markdown(results)).as_bytes())
}

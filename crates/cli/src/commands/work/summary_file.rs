//! `.saihai/batches/<id>/`: the results of an invocation, stored for people (I-8, I-61, I-75).

use std::io::{self, Write as _};
use std::path::PathBuf;

use saihai::delivery::{Past, Summary};
use saihai::replace_below;
use saihai_config::issues::{inert, inert_excerpt};

use super::result::{self, ItemResult};
use crate::project::Project;
use crate::report::count;
use crate::time;

/// The results directory of an invocation. No other data depends on it.
pub(super) struct Batches {
    pub(super) id: String,
    /// `.saihai` as it was before the first agent, possibly a link target. Links below it are not followed.
    home: PathBuf,
}

impl Batches {
    /// Chooses a new directory, which the first write creates.
    pub(super) fn new(project: &Project) -> Self {
        let stamp: String =
            time::rfc3339(time::now()).chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, clock) = stamp.split_at(8);
        let id = format!("{day}-{clock}-{}", std::process::id());
        let root = &project.places.root;
        let home = root.join(".saihai").canonicalize();
        // A missing `.saihai` is created in the project.
        let made = || root.canonicalize().unwrap_or_else(|_| root.clone()).join(".saihai");
        Self { home: home.unwrap_or_else(|_| made()), id }
    }

    /// Writes the results so far, and the page of one issue's run.
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

    /// Writes all results and the exit code.
    pub(super) fn conclude(&self, results: &[ItemResult], exit: u8) -> io::Result<()> {
        self.replace("result.json", &result::document(&self.id, results, exit))?;
        self.replace("result.md", &result::markdown(results))
    }

    /// Replaces a file atomically, so that a reader never sees a partial file.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        std::fs::create_dir_all(&self.home)?;
        replace_below(&self.home, &format!("batches/{}/{name}", self.id), text.as_bytes())
    }
}

/// Formats the page of an issue's run.
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

/// Appends the results to the job summary of GitHub Actions (I-77).
pub(super) fn show_in_actions(project: &Project, results: &[ItemResult]) -> io::Result<()> {
    let Some(path) = project.variables.get("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    // A Markdown table ends at an empty line, so a second call in the same step starts its own table.
    file.write_all(format!("{}\n", result::markdown(results)).as_bytes())
}

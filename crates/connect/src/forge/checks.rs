//! What checks say of a commit.

use serde::Deserialize;

use super::error::ForgeError;
use super::github::Github;

/// What checks and statuses say of a commit, each by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checks {
    /// They are content, or have nothing to say.
    pub green: Vec<String>,
    /// They are still at it.
    pub pending: Vec<String>,
    /// They are not content, or did not come to an end.
    pub red: Vec<String>,
}

/// What all of them together say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksVerdict {
    /// There are none.
    None,
    /// One is red, whatever the others will say.
    Red,
    /// None is red, and one is still at it.
    Pending,
    /// All are green.
    Green,
}

impl Checks {
    /// What all of them together say.
    pub fn verdict(&self) -> ChecksVerdict {
        if !self.red.is_empty() {
            ChecksVerdict::Red
        } else if !self.pending.is_empty() {
            ChecksVerdict::Pending
        } else if self.green.is_empty() {
            ChecksVerdict::None
        } else {
            ChecksVerdict::Green
        }
    }
}

#[derive(Deserialize)]
struct Runs {
    check_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    status: String,
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct Statuses {
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    state: String,
}

impl Github {
    /// What every check and every status says of a commit.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn checks(&self, commit: &str) -> Result<Checks, ForgeError> {
        let what = format!("the checks of `{commit}`");
        let runs = self.path(&format!("/commits/{commit}/check-runs?per_page=100"));
        let runs = self.all_of(&runs, &what, |page: Runs| page.check_runs).await?;
        let statuses = self.path(&format!("/commits/{commit}/status?per_page=100"));
        let statuses = self.all_of(&statuses, &what, |page: Statuses| page.statuses).await?;
        let mut checks = Checks::default();
        for run in runs {
            let word =
                if run.status == "completed" { run.conclusion.as_deref().unwrap_or("") } else { "pending" };
            checks.hear(run.name, word);
        }
        for status in statuses {
            checks.hear(status.context, &status.state);
        }
        Ok(checks)
    }
}

impl Checks {
    /// A word that is not known is not content: nothing is merged on a guess.
    fn hear(&mut self, name: String, word: &str) {
        match word {
            "success" | "neutral" | "skipped" => self.green.push(name),
            "pending" => self.pending.push(name),
            _ => self.red.push(name),
        }
    }
}

//! Published texts about the work on an issue: pull request bodies and comments, and the summary they show.

use std::path::Path;

use saihai::{DriverError, LoadedRun};
use saihai_config::Language;
use saihai_config::issues::{inert, inert_excerpt};
use saihai_model::{Cost, IssueSource, Millis, Usd};
use saihai_store::disk::{Beneath, FileContent};

use crate::IssueAssignment;

/// Maximum number of characters quoted from an agent.
const MOST: usize = 4_000;

/// Headings and phrases in one language.
struct PublishedWords {
    summary: &'static str,
    changes: &'static str,
    issue: &'static str,
    head: &'static str,
    all: &'static str,
    merged: &'static str,
    opened: &'static str,
    pushed: &'static str,
    untold: &'static str,
}

fn words(language: Language) -> PublishedWords {
    match language {
        Language::English => PublishedWords {
            summary: "Summary",
            changes: "Changes",
            issue: "Issue",
            head: "| stage | visits | turns | cost | time |\n|---|---|---|---|---|",
            all: "all",
            merged: "Merged:",
            opened: "Pull request:",
            pushed: "Pushed:",
            untold: "The agent's reply stays on the machine of the run; the commits are complete.",
        },
        Language::Japanese => PublishedWords {
            summary: "概要",
            changes: "変更内容",
            issue: "関連Issue",
            head: "| 段階 | 回数 | ターン | 費用 | 時間 |\n|---|---|---|---|---|",
            all: "合計",
            merged: "マージ済み:",
            opened: "プルリクエスト:",
            pushed: "プッシュ済み:",
            untold: "エージェントの報告は作業した環境にのみ残っています。コミットはすべて含まれています。",
        },
    }
}

/// Builds our part of a pull request body (I-52).
pub(crate) fn request_body(assignment: &IssueAssignment, summary: &RunSummary) -> String {
    let words = words(assignment.language());
    let issue = match assignment.source {
        IssueSource::Github => format!("Closes {}", assignment.issue),
        IssueSource::Folder => format!("{}: {}", assignment.issue.slug(), inert(&assignment.title)),
    };
    let is_elsewhere = assignment.delivered.as_ref().is_some_and(|delivered| delivered.only_pushed);
    let said = if is_elsewhere { words.untold.to_owned() } else { inert_excerpt(&summary.text, MOST) };
    let table = table(summary, &words);
    let PublishedWords { summary, changes, issue: heading, .. } = words;
    format!("## {summary}\n\n{said}\n\n## {changes}\n\n{table}\n\n## {heading}\n\n{issue}")
}

/// Builds the comment for the issue.
pub(crate) fn issue_comment(
    assignment: &IssueAssignment,
    summary: &RunSummary,
    url: Option<&str>,
    is_merged: bool,
) -> String {
    let words = words(assignment.language());
    let branch = format!("`{}`", assignment.branch);
    let what = match url {
        Some(url) => format!("{} {url}", if is_merged { words.merged } else { words.opened }),
        None => format!("{} {branch}", words.pushed),
    };
    format!("{what}\n\n{}", table(summary, &words))
}

fn table(summary: &RunSummary, words: &PublishedWords) -> String {
    let mut lines = vec![words.head.to_owned()];
    for (name, sum) in &summary.stages {
        let name = name.replace('|', "\\|");
        lines.push(format!(
            "| `{name}` | {} | {} | {} | {} |",
            sum.visits,
            sum.cost.turns,
            sum.cost.usd,
            length(sum.time)
        ));
    }
    let cost = summary.cost.map(|cost| cost.to_string()).unwrap_or_default();
    lines.push(format!("| {} | | {} | {cost} | {} |", words.all, summary.turns, length(summary.time)));
    lines.join("\n")
}

fn length(time: Millis) -> String {
    let seconds = time.0 / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The work of a run, for people who did not watch it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run: String,
    /// The last report, else the last reply.
    pub text: String,
    /// The stages of the definition, each with its visits, turns, cost and time.
    pub stages: Vec<(String, StageTotals)>,
    /// The number of answered prompts.
    pub turns: u64,
    /// The total cost, if known.
    pub cost: Option<Usd>,
    pub time: Millis,
}

/// The totals over all visits of a stage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StageTotals {
    pub visits: u32,
    pub cost: Cost,
    pub time: Millis,
}

impl RunSummary {
    /// Summarizes the run so far.
    pub fn of(loaded: &LoadedRun) -> Result<Self, DriverError> {
        let outcome = loaded.outcome()?;
        let mut sums: Vec<(String, StageTotals)> = Vec::new();
        let mut time = Millis(0);
        // Delivery stages are not part of the definition and do not interest the reader.
        let visits = loaded.view.visits.iter().filter(|visit| !visit.stage.as_str().starts_with("deliver/"));
        for visit in visits {
            let name = visit.stage.to_string();
            let length = visit.left.unwrap_or(loaded.view.last_at).since(visit.entered);
            time = Millis(time.0.saturating_add(length.0));
            let index = sums.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                sums.push((name, StageTotals::default()));
                sums.len() - 1
            });
            let sum = &mut sums[index].1;
            sum.visits += 1;
            sum.cost = sum.cost.plus(visit.cost);
            sum.time = Millis(sum.time.0.saturating_add(length.0));
        }
        let report = outcome.reports.last().and_then(|file| read(Path::new(&outcome.report_directory), file));
        let text = report.or(outcome.output).unwrap_or_default();
        Ok(Self { run: outcome.run, text, stages: sums, turns: outcome.turns, cost: outcome.cost, time })
    }
}

/// Reads a report. An agent can write to the same directory, so this follows no link.
fn read(directory: &Path, file: &str) -> Option<String> {
    match Beneath::open(directory).and_then(|directory| directory.read(file)) {
        Ok(FileContent::File(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(FileContent::Absent | FileContent::Unsafe(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I-52: publish the content of the file, never the target of a link.
    #[test]
    fn a_report_that_an_agent_made_a_link_is_not_published() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("key"), "secret").unwrap();
        let reports = root.join("reports");
        std::fs::create_dir(&reports).unwrap();
        std::fs::write(reports.join("a.md"), "done").unwrap();
        std::os::unix::fs::symlink(root.join("key"), reports.join("b.md")).unwrap();
        assert_eq!(read(&reports, "a.md").as_deref(), Some("done"));
        assert_eq!(read(&reports, "b.md"), None);
        assert_eq!(read(&reports, "../key"), None);
    }
}

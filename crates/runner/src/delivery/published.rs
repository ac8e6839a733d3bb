//! Published texts about the work on an issue: pull request bodies and comments.

use saihai_config::Language;
use saihai_config::issues::{inert, inert_excerpt};
use saihai_model::{IssueSource, Millis};

use super::{Assignment, Summary};

/// Maximum number of characters quoted from an agent.
const MOST: usize = 4_000;

/// Headings and phrases in one language.
struct Words {
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

fn words(language: Language) -> Words {
    match language {
        Language::English => Words {
            summary: "Summary",
            changes: "Changes",
            issue: "Issue",
            head: "| stage | visits | turns | cost | time |\n|---|---|---|---|---|",
            all: "all",
            merged: "Merged:",
            opened: "Pull request:",
            pushed: "Pushed:",
            untold: "What the agent said is kept where the work was done; the commits are whole.",
        },
        Language::Japanese => Words {
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
pub(super) fn request_body(assignment: &Assignment, summary: &Summary) -> String {
    let words = words(assignment.language());
    let issue = match assignment.source {
        IssueSource::Github => format!("Closes {}", assignment.issue),
        IssueSource::Folder => format!("{}: {}", assignment.issue.slug(), inert(&assignment.title)),
    };
    let is_elsewhere = assignment.delivered.as_ref().is_some_and(|delivered| delivered.only_pushed);
    let said = if is_elsewhere { words.untold.to_owned() } else { inert_excerpt(&summary.text, MOST) };
    let table = table(summary, &words);
    let Words { summary, changes, issue: heading, .. } = words;
    format!("## {summary}\n\n{said}\n\n## {changes}\n\n{table}\n\n## {heading}\n\n{issue}")
}

/// Builds the comment for the issue.
pub(super) fn comment(
    assignment: &Assignment,
    summary: &Summary,
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

fn table(summary: &Summary, words: &Words) -> String {
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

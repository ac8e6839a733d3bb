//! Reviews from agent files to rendered reports.

mod agents;
mod baseline;
mod cases;
mod corpora;
mod folding;
mod laws;
mod lowering;
mod rendering;
mod selecting;
mod small;
mod suppressing;

use jiff::civil::Date;
use saihai_config::review::{FailOn, FailScope, FindingIgnore};
use saihai_judge::{Finding, FindingKind};
use saihai_model::{Millis, Severity};

use crate::assemble::*;
use crate::baseline::*;
use crate::code::*;
use crate::plan::*;
use crate::report::*;

/// A plan with the usual thresholds.
fn plan() -> ReviewPlan {
    ReviewPlan { fail_on: FailOn::Important, fail_scope: FailScope::File, ..ReviewPlan::default() }
}

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

const LEAK: &str = "The handle is never closed when reading fails.";
const LEAK_TOO: &str = "When reading fails the handle is never closed, so it leaks.";

/// Creates a finding of an agent at `FILE:LINE`, `FILE:FIRST-LAST` or no place.
pub(super) fn finding(agent: &str, severity: &str, place: &str, message: &str) -> Finding {
    let (file, lines) = match place.rsplit_once(':') {
        Some((file, lines)) => (file, Some(lines.split_once('-').unwrap_or((lines, lines)))),
        None => (place, None),
    };
    Finding {
        file: Some(file.to_owned()).filter(|file| !file.is_empty()),
        start_line: lines.map(|(start, _)| start.parse().unwrap()),
        end_line: lines.map(|(_, end)| end.parse().unwrap()),
        agent: agent.to_owned(),
        severity: Severity::named(severity).unwrap(),
        kind: FindingKind::Issue,
        message: message.to_owned(),
        suggestion: None,
        category: None,
        confidence: None,
        claimed: None,
    }
}

/// Creates a review in which every agent with a finding delivered its result.
pub(super) fn review(findings: Vec<Finding>) -> ReportInputs {
    let mut results: Vec<AgentResult> = Vec::new();
    for finding in findings {
        let at = results.iter().position(|result| result.agent == finding.agent).unwrap_or_else(|| {
            results.push(AgentResult::new(&finding.agent, AgentStatus::Success, Millis(10)));
            results.len() - 1
        });
        results[at].findings.push(finding);
    }
    ReportInputs {
        run: "r".to_owned(),
        mode: ReviewMode::Diff,
        base: Some("main".to_owned()),
        head: None,
        plan: plan(),
        results,
        code: code(),
        baseline: None,
        today: date("2026-02-06"),
        wall: Millis(1_000),
        stopped: None,
    }
}

/// `src/a.rs` has twenty lines, of which the change shows 4 to 11 and adds 7 and 8; `src/b.rs` was not reviewed.
pub(super) fn code() -> ReviewedCode {
    let section = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -4,7 +4,8 @@ fn f\n 4\n 5\n 6\n-old\n+7\n+8\n 9\n 10\n 11\n";
    ReviewedCode::new("/home/me/project")
        .with("src/a.rs", CodeFile::changed(Some(numbered("a", 20)), section))
        .with("src/b.rs", CodeFile::other(numbered("b", 5)))
}

pub(super) fn numbered(name: &str, lines: u32) -> String {
    (1..=lines).map(|line| format!("    {name}({line});\n")).collect()
}

/// Formats one finding per line, for people.
pub(super) fn told(findings: &[ReportedFinding]) -> String {
    let lines = findings.iter().map(|one| {
        let place = one.finding.place().unwrap_or_else(|| "-".to_owned());
        let state = one.state.map(|state| format!(" {state:?}").to_lowercase()).unwrap_or_default();
        let counts = if one.counts { "" } else { " (does not count)" };
        format!(
            "{} {place} {} by {}: {}{state}{counts}\n",
            one.finding.severity.name(),
            one.anchor.name(),
            one.agents().join("+"),
            one.finding.message,
        )
    });
    lines.collect()
}

//! A report as annotations of a GitHub workflow.

use saihai_config::Language;
use saihai_judge::review::{Finding, NoticeLevel, Report, Severity, Status};

use super::words::{Words, assessment};
use crate::visible::visible_text;

/// GitHub shows no more than so many of each kind.
const MOST: usize = 10;

/// What GitHub knows, worst first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
    Notice,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Notice];

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }

    fn of(severity: Severity) -> Self {
        match severity {
            Severity::Critical => Self::Error,
            Severity::Important => Self::Warning,
            Severity::Suggestion | Severity::Nitpick => Self::Notice,
        }
    }
}

/// One workflow command a line, worst first, at most ten of a kind; then how many more there are, and the outcome.
pub fn to_github(report: &Report) -> String {
    // Whatever is cut off behind them, the assessments are said once.
    let mut all: Vec<(Kind, String)> = assessments(report).into_iter().collect();
    all.extend(findings(report));
    all.extend(problems(report));
    let mut lines = Vec::new();
    let mut rest = Vec::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&String> =
            all.iter().filter(|(one, _)| *one == kind).map(|(_, line)| line).collect();
        lines.extend(of_kind.iter().take(MOST).map(|line| (*line).clone()));
        if of_kind.len() > MOST {
            rest.push(format!("{} × {}", of_kind.len() - MOST, kind.name()));
        }
    }
    if !rest.is_empty() {
        lines.push(format!("not shown above: {}", rest.join(", ")));
    }
    lines.push(Words::of(Language::English).outcome(report));
    lines.join("\n") + "\n"
}

fn findings(report: &Report) -> Vec<(Kind, String)> {
    let shown = report.findings.iter().map(|one| {
        let finding = &one.finding;
        let what = Words::of(Language::English).kind(finding.kind).map(|kind| format!(" {kind}"));
        let (severity, agents) = (finding.severity.name(), one.agents().join(", "));
        let title = format!("{severity}{}: {agents}", what.unwrap_or_default());
        let mut text = finding.message.clone();
        if let Some(category) = &finding.category {
            text = format!("[{category}] {text}");
        }
        if let Some(suggestion) = &finding.suggestion {
            text.push_str("\nSuggestion: ");
            text.push_str(suggestion);
        }
        for said in Words::of(Language::English).others(one) {
            text.push('\n');
            text.push_str(&said);
        }
        if let Some(claimed) = &finding.claimed {
            text.push_str(&format!("\nThe place that was named could not be found: {claimed}"));
        }
        let kind = Kind::of(finding.severity);
        (kind, command(kind, &place(finding), &title, &text))
    });
    shown.collect()
}

fn place(finding: &Finding) -> Vec<String> {
    let file = finding.file.iter().map(|file| format!("file={}", property(file)));
    let lines = finding.lines().map(|(start, end)| format!("line={start},endLine={end}"));
    file.chain(lines).collect()
}

/// Agents that failed, definitions that were refused, suppressions that do nothing.
fn problems(report: &Report) -> Vec<(Kind, String)> {
    let mut all = Vec::new();
    for result in report.results.iter().filter(|result| result.status != Status::Success) {
        let title = format!("{}: {}", result.agent, result.status.name());
        let words = Words::of(Language::English);
        let refused = result.refused.iter().map(|text| words.refused(text));
        let text: Vec<String> = std::iter::once(words.status(result)).chain(refused).collect();
        all.push((Kind::Warning, command(Kind::Warning, &[], &title, &text.join("\n"))));
    }
    for error in &report.load_errors {
        let file = format!("file={}", property(&error.file));
        all.push((Kind::Warning, command(Kind::Warning, &[file], "definition refused", &error.message)));
    }
    for warning in &report.warnings {
        all.push((Kind::Warning, command(Kind::Warning, &[], "about the review", warning)));
    }
    for notice in &report.notices {
        let kind = match notice.level {
            NoticeLevel::Error | NoticeLevel::Warning => Kind::Warning,
            NoticeLevel::Note => Kind::Notice,
        };
        let place = [format!("file={}", property(&notice.file)), format!("line={}", notice.line)];
        all.push((kind, command(kind, &place, "suppression", &notice.message)));
    }
    all
}

/// All of them in one annotation: they have no place, and there are only ten.
fn assessments(report: &Report) -> Option<(Kind, String)> {
    let lines: Vec<String> = report.assessments.iter().map(assessment).collect();
    (!lines.is_empty()).then(|| (Kind::Notice, command(Kind::Notice, &[], "assessments", &lines.join("\n"))))
}

fn command(kind: Kind, place: &[String], title: &str, text: &str) -> String {
    let mut properties = place.to_vec();
    properties.push(format!("title={}", property(title)));
    format!("::{} {}::{}", kind.name(), properties.join(","), data(text))
}

fn data(text: &str) -> String {
    let text = visible_text(text).replace("##[", "#\\#[");
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

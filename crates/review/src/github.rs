//! Renders a report as annotations of a GitHub workflow.

use saihai_config::Language;
use saihai_judge::Finding;
use saihai_model::Severity;
use saihai_view::visible_text;

use crate::plan::ReviewGap;
use crate::report::{AgentStatus, ReviewReport, SuppressedFinding};
use crate::suppression::NoticeLevel;
use crate::words::{ReportWords, assessment};

/// GitHub's limit for annotations of each kind.
const MOST: usize = 10;

/// The annotation kinds of GitHub, worst first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnnotationLevel {
    Error,
    Warning,
    Notice,
}

impl AnnotationLevel {
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

/// Renders one workflow command per line, worst first, at most ten of a kind, then totals and outcome.
pub fn to_github(report: &ReviewReport) -> String {
    // Problems of the review itself and overall assessments come first, so that the limit cuts only findings.
    let mut all: Vec<(AnnotationLevel, String)> = problems(report);
    all.extend(assessments(report));
    all.extend(findings(report));
    all.extend(notices(report));
    let mut lines = Vec::new();
    let mut rest = Vec::new();
    for kind in AnnotationLevel::ALL {
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
    lines.push(ReportWords::of(Language::English).outcome(report));
    lines.join("\n") + "\n"
}

fn findings(report: &ReviewReport) -> Vec<(AnnotationLevel, String)> {
    let shown = report.findings.iter().map(|one| {
        let finding = &one.finding;
        let what = ReportWords::of(Language::English).kind(finding.kind).map(|kind| format!(" {kind}"));
        let (severity, agents) = (finding.severity.name(), one.agents().join(", "));
        let title = format!("{severity}{}: {agents}", what.unwrap_or_default());
        let mut text = finding.message.clone();
        if let Some(category) = &finding.category {
            text = format!("[{category}] {text}");
        }
        ReportWords::of(Language::English).push_remarks(&mut text, one);
        if let Some(claimed) = &finding.claimed {
            text.push_str(&format!("\nThe named place was not found: {claimed}"));
        }
        let kind = AnnotationLevel::of(finding.severity);
        (kind, command(kind, &place(finding), &title, &text))
    });
    shown.collect()
}

fn place(finding: &Finding) -> Vec<String> {
    let file = finding.file.iter().map(|file| format!("file={}", property(file)));
    let lines = finding.lines().map(|(start, end)| format!("line={start},endLine={end}"));
    file.chain(lines).collect()
}

/// Returns annotations for problems of the review itself, one per kind: important notes, failed agents,
/// refused definitions, suppressions by the change itself, and files that no agent saw.
fn problems(report: &ReviewReport) -> Vec<(AnnotationLevel, String)> {
    let words = ReportWords::of(Language::English);
    let failed = report.results.iter().filter(|result| result.status != AgentStatus::Success);
    let failed = failed.map(|one| {
        let status = format!("{}: {}: {}", one.agent, one.status.name(), words.status(one));
        let refused = one.refused.iter().map(|text| words.refused(text));
        std::iter::once(status).chain(refused).collect::<Vec<_>>().join("\n")
    });
    let refused = report.load_errors.iter().map(|error| format!("{}: {}", error.file, error.message));
    let (by_change, others): (Vec<_>, Vec<_>) = report.suppressed.iter().partition(|one| one.added_by_change);
    let left_out = |is_gap: bool| {
        let all = report.not_reviewed.iter().filter(move |one| one.reason.is_a_gap() == is_gap);
        all.map(left_out).collect::<Vec<_>>()
    };
    let all = [
        (AnnotationLevel::Warning, "about the review", report.warnings.clone()),
        (AnnotationLevel::Warning, "agents that failed", failed.collect()),
        (AnnotationLevel::Warning, "definitions refused", refused.collect()),
        (
            AnnotationLevel::Warning,
            "suppressed by this change",
            by_change.into_iter().map(suppressed).collect(),
        ),
        (AnnotationLevel::Warning, "not reviewed", left_out(true)),
        (AnnotationLevel::Notice, "suppressed", others.into_iter().map(suppressed).collect()),
        (AnnotationLevel::Notice, "not reviewed", left_out(false)),
    ];
    let told = all.into_iter().filter(|(_, _, lines)| !lines.is_empty());
    told.map(|(kind, title, lines)| (kind, command(kind, &[], &counted(title, lines.len()), &listed(&lines))))
        .collect()
}

fn counted(title: &str, count: usize) -> String {
    format!("{title} ({count})")
}

/// Joins the first lines and adds the number of the others.
fn listed(lines: &[String]) -> String {
    let mut text = lines[..lines.len().min(MOST)].join("\n");
    if lines.len() > MOST {
        text.push_str(&format!("\nand {} more", lines.len() - MOST));
    }
    text
}

fn suppressed(one: &SuppressedFinding) -> String {
    let finding = &one.reported.finding;
    let place = finding.place().map(|place| format!(" {place}")).unwrap_or_default();
    let agents = one.reported.agents().join(", ");
    let (severity, message) = (finding.severity.name(), &finding.message);
    format!("{severity}{place} {agents}: {message} (suppressed at {}: {})", one.by, one.reason)
}

fn left_out(one: &ReviewGap) -> String {
    let agent = one.agent.as_deref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    format!("{}{agent}: {}", one.file, one.reason.name())
}

/// Returns unused suppressions, each with its location.
fn notices(report: &ReviewReport) -> Vec<(AnnotationLevel, String)> {
    let told = report.notices.iter().map(|notice| {
        let kind = match notice.level {
            NoticeLevel::Error | NoticeLevel::Warning => AnnotationLevel::Warning,
            NoticeLevel::Note => AnnotationLevel::Notice,
        };
        let place = [format!("file={}", property(&notice.file)), format!("line={}", notice.line)];
        (kind, command(kind, &place, "suppression", &notice.message))
    });
    told.collect()
}

/// Joins all assessments in one annotation. They have no location, and GitHub shows only ten annotations.
fn assessments(report: &ReviewReport) -> Option<(AnnotationLevel, String)> {
    let lines: Vec<String> = report.assessments.iter().map(assessment).collect();
    (!lines.is_empty()).then(|| {
        (AnnotationLevel::Notice, command(AnnotationLevel::Notice, &[], "assessments", &lines.join("\n")))
    })
}

fn command(kind: AnnotationLevel, place: &[String], title: &str, text: &str) -> String {
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

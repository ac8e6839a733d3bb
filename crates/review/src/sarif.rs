//! Renders a report as a SARIF 2.1.0 log, for code scanning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use saihai_config::Language;
use saihai_config::review::IGNORE_FILE;
use saihai_judge::Finding;
use saihai_model::{Json, Severity};
use saihai_view::is_hidden;
use serde::Serialize;
use serde_json::json;

use crate::report::{
    AgentStatus, BaselineState, FindingMember, ReportedFinding, ReviewReport, SuppressedFinding,
};
use crate::suppression::NoticeLevel;
use crate::words::ReportWords;

/// The base of relative paths. Code scanning knows this name.
const ROOT: &str = "%SRCROOT%";

/// Renders one log with one run, ended by a line break. A clean review has no results, which tells a scanner
/// that earlier findings are fixed.
pub fn to_sarif(report: &ReviewReport) -> String {
    let rules = SarifRules::of(report);
    let run = json!({
        "tool": {"driver": {
            "name": "saihai",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules.described(report),
        }},
        "originalUriBaseIds": {ROOT: {"description": {"text": "the root of the project"}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation(report)],
        "results": results(report, &rules),
        "properties": {
            "run": report.run,
            "mode": report.mode,
            "base": report.base,
            "head": report.head,
            "outcome": report.outcome,
            "assessments": report.assessments,
            "filtered": report.filtered,
            "fixed": report.fixed,
            "selection": report.selection,
            "summary": report.summary,
        },
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    written(&log)
}

/// The rules, one per agent.
struct SarifRules(Vec<String>);

impl SarifRules {
    fn of(report: &ReviewReport) -> Self {
        let mut names: Vec<String> = Vec::new();
        for result in &report.results {
            if !names.contains(&result.agent) {
                names.push(result.agent.clone());
            }
        }
        Self(names)
    }

    fn described(&self, report: &ReviewReport) -> Vec<Json> {
        let rules = self.0.iter().map(|name| {
            let known = report.selection.iter().find(|one| one.agent == *name);
            let about = known.map_or(name, |one| &one.description);
            json!({"id": name, "shortDescription": {"text": about}})
        });
        rules.collect()
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|one| one == name)
    }
}

/// Returns findings and suppressed findings. Uncertain and fixed findings go into the properties of the run,
/// because a scanner would show them as open.
fn results(report: &ReviewReport, rules: &SarifRules) -> Vec<Json> {
    let found = report.findings.iter().map(|one| (one, None));
    let suppressed = report.suppressed.iter().map(|one| (&one.reported, Some(suppression(one))));
    let (mut places, mut counts) = (BTreeSet::new(), BTreeMap::<&str, u32>::new());
    let results = found.chain(suppressed).map(|(one, suppression)| {
        let mut result = result(one, rules, suppression);
        let finding = &one.finding;
        let count = counts.entry(&one.fingerprint).or_default();
        *count += 1;
        let place = finding.lines().map(|(start, _)| (&finding.agent, &finding.file, start));
        // Without this, GitHub identifies results of one rule by their first line only.
        if place.is_none_or(|place| !places.insert(place)) {
            let name = format!("{}:{count}", one.fingerprint);
            result["partialFingerprints"]["primaryLocationLineHash"] = name.into();
        }
        result
    });
    results.collect()
}

fn result(one: &ReportedFinding, rules: &SarifRules, suppression: Option<Json>) -> Json {
    let finding = &one.finding;
    let mut result = json!({
        "ruleId": finding.agent,
        "level": level(finding.severity),
        "message": {"text": text(one)},
        "locations": locations(finding, one),
        "partialFingerprints": {"saihaiFinding/v1": one.fingerprint},
        "properties": {
            "severity": finding.severity,
            "kind": finding.kind,
            "category": finding.category,
            "anchor": one.anchor,
            "votes": one.votes,
            "counts": one.counts,
            "placeIsKnown": finding.file.is_some(),
            "message": finding.message,
            "suggestion": finding.suggestion,
            "claimed": finding.claimed,
            "members": one.members.iter().map(member).collect::<Vec<Json>>(),
        },
    });
    put(&mut result, "ruleIndex", rules.index(&finding.agent).map(Json::from));
    put(&mut result, "rank", finding.confidence.map(|percent| Json::from(f64::from(percent))));
    put(&mut result, "baselineState", one.state.map(|state| Json::from(baseline_state(state))));
    put(&mut result, "suppressions", suppression.map(|why| json!([why])));
    result
}

fn member(member: &FindingMember) -> Json {
    let finding = &member.finding;
    json!({
        "agent": finding.agent,
        "fingerprint": member.fingerprint,
        "severity": finding.severity,
        "message": finding.message,
        "suggestion": finding.suggestion,
        "category": finding.category,
        "confidence": finding.confidence,
        "place": finding.place(),
    })
}

/// Adds a known value. The format has no `null`.
fn put(object: &mut Json, name: &str, value: Option<Json>) {
    if let Some(value) = value {
        object[name] = value;
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Important => "warning",
        Severity::Suggestion | Severity::Nitpick => "note",
    }
}

fn baseline_state(state: BaselineState) -> &'static str {
    match state {
        BaselineState::New => "new",
        BaselineState::Persisting => "unchanged",
    }
}

/// Returns the message. A scanner shows nothing else, so it contains everything a person needs.
fn text(one: &ReportedFinding) -> String {
    let finding = &one.finding;
    let mut text = finding.message.clone();
    ReportWords::of(Language::English).push_remarks(&mut text, one);
    if one.votes > 1 {
        text.push_str("\nFound by: ");
        text.push_str(&one.agents().join(", "));
    }
    if let Some(claimed) = &finding.claimed {
        text.push_str("\nThe named place was not found: ");
        text.push_str(claimed);
    }
    if finding.file.is_none() {
        text.push('\n');
        text.push_str(NO_PLACE);
    }
    text
}

/// The message for a finding without a known location.
const NO_PLACE: &str = "The place is unknown: this is one of the reviewed files.";

fn locations(finding: &Finding, one: &ReportedFinding) -> Vec<Json> {
    let Some(file) = finding.file.as_deref() else {
        // Code scanning refuses a whole log if one result has no location.
        let place = physical(one.perhaps.as_deref().unwrap_or("."), None);
        return vec![json!({"physicalLocation": place, "message": {"text": NO_PLACE}})];
    };
    let mut place = physical(file, finding.lines());
    if let (Some(excerpt), true) = (&one.excerpt, place.get("region").is_some()) {
        place["region"]["snippet"] = json!({"text": excerpt.lines.join("\n")});
    }
    vec![json!({"physicalLocation": place})]
}

fn physical(file: &str, lines: Option<(u32, u32)>) -> Json {
    let mut place = json!({"artifactLocation": {"uri": uri(file), "uriBaseId": ROOT}});
    put(&mut place, "region", lines.map(|(start, end)| json!({"startLine": start, "endLine": end})));
    place
}

fn suppression(one: &SuppressedFinding) -> Json {
    let is_listed = one.by.rsplit_once(':').is_some_and(|(file, _)| file == IGNORE_FILE);
    json!({
        "kind": if is_listed { "external" } else { "inSource" },
        "justification": one.reason,
        "properties": {"by": one.by, "addedByChange": one.added_by_change},
    })
}

/// Describes the review: failed agents, refused definitions and gaps.
fn invocation(report: &ReviewReport) -> Json {
    let is_whole =
        report.load_errors.is_empty() && report.results.iter().all(|one| one.status.has_delivered());
    let refused = report.load_errors.iter().map(|error| {
        json!({
            "level": "error",
            "message": {"text": error.message},
            "locations": [{"physicalLocation": physical(&error.file, None)}],
        })
    });
    json!({
        "executionSuccessful": is_whole,
        "exitCode": report.outcome.exit_code(),
        "toolConfigurationNotifications": refused.collect::<Vec<Json>>(),
        "toolExecutionNotifications": notifications(report),
    })
}

fn notifications(report: &ReviewReport) -> Vec<Json> {
    let note = |level: &str, text: String| json!({"level": level, "message": {"text": text}});
    let warnings = report.warnings.iter().map(|text| note("warning", text.clone()));
    let failed = report.results.iter().filter_map(|result| {
        let name = &result.agent;
        let refused = result.refused.iter().map(|text| ReportWords::of(Language::English).refused(text));
        let refused: String = refused.map(|text| format!("\n{text}")).collect();
        Some(match &result.status {
            AgentStatus::Success => return None,
            AgentStatus::Truncated { reason } => {
                let text = format!("{name}: only a part of an answer ({}){refused}", reason.name());
                note("warning", text)
            }
            AgentStatus::Timeout { timeout_seconds } => {
                note("error", format!("{name}: no answer within {timeout_seconds} s"))
            }
            AgentStatus::Error { class, message, .. } => {
                note("error", format!("{name}: {class}: {message}{refused}"))
            }
        })
    });
    let left = report.not_reviewed.iter().map(|one| {
        let agent = one.agent.as_deref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let mut left = note("warning", format!("not reviewed{agent}: {}", one.reason.name()));
        left["locations"] = json!([{"physicalLocation": physical(&one.file, None)}]);
        left
    });
    let notices = report.notices.iter().map(|one| {
        let level = match one.level {
            NoticeLevel::Error => "error",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Note => "note",
        };
        let mut notice = note(level, one.message.clone());
        notice["locations"] = json!([{"physicalLocation": physical(&one.file, Some((one.line, one.line)))}]);
        notice
    });
    warnings.chain(failed).chain(left).chain(notices).collect()
}

fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => write!(uri, "%{byte:02X}").expect("a String takes every write"),
        }
    }
    uri
}

pub const REPORT_SCHEMA: &str = include_str!("report.schema.json");

/// Renders one object, ended by a line break.
pub fn to_json(report: &ReviewReport) -> String {
    written(&VersionedReport { v: 1, r#type: "review-report", report })
}

/// An object with version and type, as in all our output (K-3).
#[derive(Serialize)]
struct VersionedReport<'a> {
    v: u8,
    r#type: &'static str,
    #[serde(flatten)]
    report: &'a ReviewReport,
}

/// Serializes a value without sequences that a terminal or a CI service obeys. They occur only inside
/// strings, where JSON allows another spelling.
pub(super) fn written(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("texts and numbers only");
    let mut safe = String::with_capacity(text.len() + 1);
    for letter in text.replace("##[", "#\\u0023[").chars() {
        match letter {
            '\n' => safe.push('\n'),
            hidden if is_hidden(hidden) => {
                write!(safe, "\\u{:04x}", u32::from(hidden)).expect("a String takes every write");
            }
            plain => safe.push(plain),
        }
    }
    safe.push('\n');
    safe
}

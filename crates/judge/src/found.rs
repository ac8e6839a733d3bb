//! Labels from findings (P-61).

use saihai_model::{Json, Label, Reading, Severity, Threshold};

use crate::review::Payload;

/// Returns the first label whose threshold holds. A partly invalid reply may hide findings. Its readable part can prove
/// that something was found, never that nothing was.
pub(crate) fn label(thresholds: &[Threshold], reading: &Reading) -> Option<Label> {
    let worst = worst(reading.output.as_ref()?);
    let whole = reading.violations.is_empty();
    let holds = |one: &&Threshold| {
        // Worse severities sort first.
        let reached = worst.is_some_and(|worst| worst <= one.severity);
        if one.reached { reached } else { whole && !reached }
    };
    thresholds.iter().find(holds).map(|one| one.label.clone())
}

fn worst(output: &Json) -> Option<Severity> {
    let payload = Payload::read("", &Json::Null, output);
    payload.findings.iter().map(|finding| finding.severity).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(severities: &[&str], violations: &[&str], expected: Option<&str>) {
        let issues = severities.iter().map(|severity| json!({ "severity": severity, "description": "d" }));
        let reading = Reading {
            output: Some(json!({ "issues": issues.collect::<Vec<_>>() })),
            violations: violations.iter().map(|one| (*one).to_owned()).collect(),
            ..Reading::default()
        };
        let threshold = |label: &str, severity, reached| Threshold { label: label.into(), severity, reached };
        let thresholds = [
            threshold("stop", Severity::Critical, true),
            threshold("fix", Severity::Important, true),
            threshold("done", Severity::Important, false),
        ];
        let found = label(&thresholds, &reading);
        assert_eq!(found.as_ref().map(Label::as_str), expected, "{severities:?} {violations:?}");
    }

    #[test]
    fn the_first_threshold_that_holds_of_the_worst_finding_says_the_label() {
        check(&[], &[], Some("done"));
        check(&["nitpick", "suggestion"], &[], Some("done"));
        check(&["suggestion", "Important"], &[], Some("fix"));
        check(&["important", "critical", "nitpick"], &[], Some("stop"));
    }

    #[test]
    fn what_could_not_be_read_is_never_taken_for_nothing_found() {
        check(&[], &["`overall_score` is missing"], None);
        check(&["suggestion"], &["issues/1: is no object"], None);
        check(&["important"], &["issues/1: is no object"], Some("fix"));
        assert_eq!(label(&[], &Reading::default()), None);
    }
}

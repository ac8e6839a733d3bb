//! Words for a cycle without progress, and for files that cannot be compared.

use saihai_model::{FindingMark, StageId, StallConsequence, StallEvidence, StallSignal, TreeGap};

use crate::quantities::count;
use crate::terminal::visible_line;

/// Length of a shown hash of files.
const SHOWN: usize = 4;

/// Describes why a cycle makes no progress, on one line.
pub(crate) fn stall_words(evidence: &StallEvidence) -> String {
    let signals: Vec<String> = evidence.signals.iter().map(signal_words).collect();
    let spent = match evidence.spent.0 {
        0 => String::new(),
        _ => format!("; {} since iteration {}", evidence.spent, evidence.since),
    };
    format!("no progress in {}: {}{spent}", cycle(&evidence.stages), signals.join("; "))
}

/// Describes the evidence and its consequence, with the findings that stay open.
pub(crate) fn stall_lines(evidence: &StallEvidence, then: StallConsequence) -> Vec<String> {
    let what = match then {
        StallConsequence::Nudged => "the next editing prompt says so",
        StallConsequence::Held => "the run is parked",
        StallConsequence::Routed => "a rule takes over",
    };
    let mut lines = vec![format!("{} ({what})", stall_words(evidence))];
    for signal in &evidence.signals {
        if let StallSignal::Same { findings, .. } = signal {
            lines.extend(findings.iter().map(|finding| format!("  {}", finding_words(finding))));
        }
    }
    lines
}

/// Describes a finding: `src/a.rs: The error is lost.`
fn finding_words(finding: &FindingMark) -> String {
    let file = finding.file.as_ref().map(|file| format!("{}: ", visible_line(file))).unwrap_or_default();
    format!("{file}{}", visible_line(&finding.text))
}

fn signal_words(signal: &StallSignal) -> String {
    match signal {
        StallSignal::Still { stage, tree, rounds } => format!(
            "`{}` left the files unchanged in iterations {} (tree {})",
            visible_line(stage.as_str()),
            list(rounds),
            short(tree)
        ),
        StallSignal::Back { stage, tree, rounds } => format!(
            "the files after `{}` are the same in iterations {} (tree {})",
            visible_line(stage.as_str()),
            list(rounds),
            short(tree)
        ),
        StallSignal::Same { stage, findings, rounds } => {
            let what = match findings.len() {
                0 => "the failure".to_owned(),
                number => count(number as u64, "finding"),
            };
            format!("{what} of `{}` unchanged in iterations {}", visible_line(stage.as_str()), list(rounds))
        }
        StallSignal::Grow { stage, open, rounds } => format!(
            "new findings of `{}` replace the fixed ones in iterations {} ({} open)",
            visible_line(stage.as_str()),
            list(rounds),
            list(open)
        ),
        StallSignal::Spend { percent } => format!("{percent}% of the budget without progress"),
    }
}

/// Says why the detectors that compare files are silent.
pub(crate) fn tree_gap_words(gap: TreeGap) -> &'static str {
    match gap {
        TreeGap::NoRepository => "files not compared: there is no git repository",
        TreeGap::TooManyFiles => "files not compared: too many or too large files changed",
        TreeGap::TooSlow => "files not compared: git took too long",
        TreeGap::EmbeddedRepository => {
            "files not compared: there is a submodule or another repository inside"
        }
        TreeGap::Git => "files not compared: git failed",
    }
}

fn cycle(stages: &[StageId]) -> String {
    let names: Vec<_> = stages.iter().map(|stage| visible_line(stage.as_str())).collect();
    names.join(" ⇄ ")
}

fn list(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match numbers.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => numbers.concat(),
    }
}

fn short(tree: &str) -> &str {
    tree.get(..SHOWN).unwrap_or(tree)
}

#[cfg(test)]
mod tests {
    use saihai_model::Usd;

    use super::*;

    // N-12
    #[test]
    fn evidence_is_one_line_and_its_findings() {
        let finding = FindingMark {
            fingerprint: "f3".to_owned(),
            severity: None,
            file: Some("src/a.rs".to_owned()),
            text: "the error is lost".to_owned(),
            waived: false,
        };
        let evidence = StallEvidence {
            stages: vec!["fix".into(), "review".into()],
            signals: vec![
                StallSignal::Back { stage: "fix".into(), tree: "3f2a99".to_owned(), rounds: vec![4, 6] },
                StallSignal::Same { stage: "review".into(), findings: vec![finding], rounds: vec![3, 5, 7] },
            ],
            since: 3,
            spent: Usd(1_900_000),
        };
        assert_eq!(
            stall_lines(&evidence, StallConsequence::Held),
            [
                "no progress in fix ⇄ review: the files after `fix` are the same in iterations 4 and 6 (tree 3f2a); \
                 1 finding of `review` unchanged in iterations 3, 5 and 7; $1.9000 since iteration 3 (the run is parked)",
                "  src/a.rs: the error is lost",
            ]
        );
    }
}

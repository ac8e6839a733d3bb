//! Fingerprints of findings, for the ledger of a run and the detectors of a cycle.

use saihai_model::{FindingMark, OutputCheck, Reading, Severity, Turn};

use super::ReviewReply;
use crate::digest::sha256;

/// Length of a fingerprint, in hexadecimal digits.
const PRINT: usize = 16;

/// Returns the findings of a turn's reply. `None` if the reply does not list findings at all, which says nothing about
/// how many there are.
pub fn finding_marks(turn: &Turn, reading: &Reading) -> Option<Vec<FindingMark>> {
    let output = turn.reads.output.as_ref().filter(|output| output.checked == OutputCheck::ByItem);
    let Some(output) = output else { return reading.listed_findings.clone() };
    let agent = turn.role.as_deref().unwrap_or(turn.id.as_str());
    let reply = ReviewReply::read(agent, &output.schema.schema, reading.output.as_ref()?);
    let marks = reply.findings.iter().map(|finding| {
        let category = finding.category.as_deref().unwrap_or(finding.kind.name());
        mark(category, finding.file.as_deref(), &finding.message, Some(finding.severity))
    });
    Some(marks.collect())
}

/// Builds a mark. The fingerprint ignores line numbers, letter case, spacing and punctuation.
pub(crate) fn mark(
    category: &str,
    file: Option<&str>,
    text: &str,
    severity: Option<Severity>,
) -> FindingMark {
    let file = file.map(path).filter(|file| !file.is_empty());
    let identity = format!("{}\n{}\n{}", words(category), file.as_deref().unwrap_or_default(), words(text));
    FindingMark {
        fingerprint: sha256(&identity).chars().take(PRINT).collect(),
        severity,
        file,
        waived: false,
        text: crate::read::excerpt_head(
            &text.split_whitespace().collect::<Vec<_>>().join(" "),
            FindingMark::TEXT,
        ),
    }
}

/// Returns a path without its line numbers: `./src/a.rs:12-14` is `src/a.rs`.
fn path(place: &str) -> String {
    let place = place.trim().trim_matches('`').trim_start_matches("./");
    let is_line =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || "-,L".contains(c));
    let mut file = place;
    while let Some((before, _)) = file.rsplit_once([':', '#']).filter(|(_, end)| is_line(end)) {
        file = before;
    }
    file.to_owned()
}

/// Returns the words of a text in lower case, without numbers and punctuation.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_word = |word: &&str| !word.is_empty() && !word.chars().all(|c| c.is_ascii_digit());
    words.filter(is_word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-13
    #[test]
    fn a_fingerprint_ignores_lines_case_and_punctuation() {
        let one =
            mark("Security", Some("./src/a.rs:12"), "`parse` panics on line 12.", Some(Severity::Critical));
        let moved = mark("security", Some("src/a.rs:340-341"), "`parse` panics  on line 340", None);
        assert_eq!(one.fingerprint, moved.fingerprint);
        assert_eq!(
            (one.file.as_deref(), one.text.as_str()),
            (Some("src/a.rs"), "`parse` panics on line 12.")
        );
        let others = [
            mark("style", Some("src/a.rs"), "`parse` panics on line 12.", None),
            mark("security", Some("src/b.rs"), "`parse` panics on line 12.", None),
            mark("security", Some("src/a.rs"), "`parse` leaks on line 12.", None),
        ];
        assert!(others.iter().all(|other| other.fingerprint != one.fingerprint));
    }
}

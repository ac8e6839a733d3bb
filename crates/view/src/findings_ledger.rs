//! The findings of a run over its rounds: who named each one, and what became of it.

use std::path::Path;

use saihai_model::{FindingMark, RoundPosition, Severity, TreeFact, Workflow};
use serde::Serialize;

use crate::RunView;

/// The findings that the reviewers of a run named, in the order of their first naming.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FindingsLedger {
    pub findings: Vec<LedgerFinding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerFinding {
    pub fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub text: String,
    /// Reviewers that named it: a stage, or `stage/turn`.
    pub by: Vec<String>,
    /// Reviewers that named it before and no longer do, while others still do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_by: Vec<String>,
    /// First and last iteration in which a review named it.
    pub first: u32,
    pub last: u32,
    pub state: FindingState,
    /// Absent if the review before it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<FindingOrigin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// The last review named it for the first time.
    New,
    Persists,
    /// No review names it any more, and its file has changed since.
    Resolved,
    /// No review names it any more, but its file is not known to have changed.
    Unconfirmed,
    /// It was resolved, and a review names it again.
    Reopened,
    /// One reviewer names it, and another one that did so before no longer does, although its file did not change.
    Disputed,
    /// The reviewer accepts it.
    Waived,
}

impl FindingState {
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Persists => "persists",
            Self::Resolved => "resolved",
            Self::Unconfirmed => "unconfirmed",
            Self::Reopened => "reopened",
            Self::Disputed => "disputed",
            Self::Waived => "waived",
        }
    }

    pub fn is_open(self) -> bool {
        matches!(self, Self::New | Self::Persists | Self::Reopened | Self::Disputed)
    }
}

/// The point at which a finding arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingOrigin {
    /// Its file has changed since the reviewer's last review.
    Introduced,
    /// Its file is as it was in the reviewer's last review.
    Latent,
}

impl FindingOrigin {
    pub fn name(self) -> &'static str {
        match self {
            Self::Introduced => "introduced",
            Self::Latent => "latent",
        }
    }
}

/// The fold, with what it needs until the last review.
#[derive(Default)]
struct LedgerFold {
    ledger: FindingsLedger,
    /// Last review of each reviewer: its iteration and the fingerprints that it named.
    reviews: Vec<(String, u32, Vec<String>)>,
    changes: Vec<FileChanges>,
}

/// Paths that changed in an iteration; `None` if unknown.
struct FileChanges {
    iteration: u32,
    paths: Option<Vec<String>>,
}

impl RunView {
    /// Folds the findings of all reviews.
    pub fn findings_ledger(&self, workflow: &Workflow) -> FindingsLedger {
        let mut fold = LedgerFold::default();
        for (visit, round) in self.rounds() {
            let Some(stage) = workflow.stage(&visit.stage) else { continue };
            for call in self.calls_of(round) {
                let (RoundPosition::Main(index), Some(reply)) = (call.place, call.reply()) else { continue };
                if let Some(TreeFact::Seen(state)) = &reply.tree {
                    let paths = state.changed.clone();
                    fold.changes.push(FileChanges { iteration: round.iteration, paths });
                }
                let Some(turn) = stage.turns().get(index) else { continue };
                let Some(marks) = saihai_judge::finding_marks(turn, &reply.reading) else { continue };
                let by = match stage.turns().len() {
                    1 => visit.stage.to_string(),
                    _ => format!("{}/{}", visit.stage, turn.id),
                };
                fold.review(&by, round.iteration, &marks);
            }
        }
        fold.ledger
    }
}

impl LedgerFold {
    fn review(&mut self, by: &str, iteration: u32, marks: &[FindingMark]) {
        let before = self.reviews.iter().position(|(name, ..)| name == by);
        let before = before.map(|index| self.reviews.remove(index));
        let named = marks.iter().filter(|mark| !mark.waived).map(|mark| mark.fingerprint.clone()).collect();
        for mark in marks {
            self.name(by, iteration, mark, before.as_ref().map(|(_, at, _)| *at));
        }
        self.reviews.push((by.to_owned(), iteration, named));
        for fingerprint in before.into_iter().flat_map(|(_, _, names)| names) {
            if !marks.iter().any(|mark| mark.fingerprint == fingerprint) {
                self.drop(by, &fingerprint);
            }
        }
    }

    /// Adds that a reviewer names a finding.
    fn name(&mut self, by: &str, iteration: u32, mark: &FindingMark, reviewed: Option<u32>) {
        let changed = reviewed.and_then(|since| self.has_changed(mark.file.as_deref(), since));
        let found = self.ledger.findings.iter_mut().find(|known| known.fingerprint == mark.fingerprint);
        let Some(known) = found else {
            let state = if mark.waived { FindingState::Waived } else { FindingState::New };
            let origin = changed.map(|changed| match changed {
                true => FindingOrigin::Introduced,
                false => FindingOrigin::Latent,
            });
            self.ledger.findings.push(LedgerFinding {
                fingerprint: mark.fingerprint.clone(),
                severity: mark.severity,
                file: mark.file.clone(),
                text: mark.text.clone(),
                by: vec![by.to_owned()],
                denied_by: Vec::new(),
                first: iteration,
                last: iteration,
                state,
                origin,
            });
            return;
        };
        let is_same_round = known.last == iteration;
        known.state = match known.state {
            _ if mark.waived => FindingState::Waived,
            FindingState::New if is_same_round => FindingState::New,
            FindingState::Resolved => FindingState::Reopened,
            FindingState::Reopened if is_same_round => FindingState::Reopened,
            FindingState::Disputed if known.denied_by.iter().any(|one| one != by) => FindingState::Disputed,
            FindingState::New
            | FindingState::Persists
            | FindingState::Unconfirmed
            | FindingState::Reopened
            | FindingState::Disputed
            | FindingState::Waived => FindingState::Persists,
        };
        known.denied_by.retain(|one| one != by);
        known.last = iteration;
        known.severity = mark.severity.or(known.severity);
        if !known.by.iter().any(|one| one == by) {
            known.by.push(by.to_owned());
        }
    }

    /// Adds that a reviewer no longer names a finding.
    fn drop(&mut self, by: &str, fingerprint: &str) {
        let is_named = self.reviews.iter().any(|(_, _, named)| named.iter().any(|one| one == fingerprint));
        let known = self.ledger.findings.iter().find(|known| known.fingerprint == fingerprint);
        let changed = known.and_then(|known| self.has_changed(known.file.as_deref(), known.last));
        let Some(known) = self.ledger.findings.iter_mut().find(|known| known.fingerprint == fingerprint)
        else {
            return;
        };
        match (is_named, changed) {
            (true, Some(false)) => {
                known.state = FindingState::Disputed;
                known.denied_by.push(by.to_owned());
            }
            // The other reviewer has not seen the change yet.
            (true, Some(true) | None) => {}
            (false, Some(true)) => known.state = FindingState::Resolved,
            (false, Some(false) | None) => known.state = FindingState::Unconfirmed,
        }
    }

    /// Returns true if a file has changed after an iteration, as far as the journal knows.
    fn has_changed(&self, file: Option<&str>, since: u32) -> Option<bool> {
        let later = self.changes.iter().filter(|changes| changes.iteration > since);
        later.map(|changes| is_among(file, changes.paths.as_deref())).reduce(|one, other| {
            match (one, other) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                (None, _) | (_, None) => None,
            }
        })?
    }
}

/// Returns true if a file is among changed paths. Any change counts for a finding without a file.
fn is_among(file: Option<&str>, paths: Option<&[String]>) -> Option<bool> {
    let paths = paths?;
    let Some(file) = file.map(Path::new) else { return Some(!paths.is_empty()) };
    // A reviewer may name a longer or a shorter path.
    Some(paths.iter().map(Path::new).any(|path| path.ends_with(file) || file.ends_with(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(name: &str, file: &str) -> FindingMark {
        FindingMark {
            fingerprint: name.to_owned(),
            severity: None,
            file: Some(file.to_owned()),
            text: name.to_owned(),
            waived: false,
        }
    }

    fn change(fold: &mut LedgerFold, iteration: u32, paths: &[&str]) {
        let paths = Some(paths.iter().map(|path| (*path).to_owned()).collect());
        fold.changes.push(FileChanges { iteration, paths });
    }

    /// Returns state, origin and iterations of each finding.
    fn states(fold: &LedgerFold) -> Vec<String> {
        let shown = |one: &LedgerFinding| {
            let origin = one.origin.map(|origin| format!(" {}", origin.name())).unwrap_or_default();
            format!("{} {}{origin} {}-{}", one.text, one.state.name(), one.first, one.last)
        };
        fold.ledger.findings.iter().map(shown).collect()
    }

    // N-13
    #[test]
    fn a_finding_is_resolved_only_if_its_file_has_changed() {
        let mut fold = LedgerFold::default();
        fold.review(
            "review",
            1,
            &[mark("one", "src/a.rs"), mark("two", "src/b.rs"), mark("three", "./c.rs")],
        );
        assert_eq!(states(&fold), ["one new 1-1", "two new 1-1", "three new 1-1"]);
        change(&mut fold, 2, &["src/a.rs"]);
        let new = [mark("three", "./c.rs"), mark("four", "/work/src/a.rs"), mark("five", "src/b.rs")];
        fold.review("review", 3, &new);
        assert_eq!(
            states(&fold),
            [
                "one resolved 1-1",
                "two unconfirmed 1-1",
                "three persists 1-3",
                "four new introduced 3-3",
                "five new latent 3-3",
            ]
        );
        change(&mut fold, 4, &[]);
        fold.review("review", 5, &[mark("one", "src/a.rs"), mark("two", "src/b.rs")]);
        assert_eq!(states(&fold)[..3], ["one reopened 1-5", "two persists 1-5", "three unconfirmed 1-3"]);
    }

    // N-13
    #[test]
    fn reviewers_who_contradict_each_other_are_named() {
        let mut fold = LedgerFold::default();
        let one = || mark("one", "src/a.rs");
        fold.review("review/style", 1, &[one()]);
        fold.review("review/safety", 1, &[one()]);
        change(&mut fold, 2, &["src/other.rs"]);
        fold.review("review/style", 3, &[]);
        fold.review("review/safety", 3, &[one()]);
        let found = &fold.ledger.findings[0];
        assert_eq!(
            (found.state, &found.by[..], &found.denied_by[..]),
            (
                FindingState::Disputed,
                &["review/style".to_owned(), "review/safety".to_owned()][..],
                &["review/style".to_owned()][..],
            )
        );
        change(&mut fold, 4, &["src/a.rs"]);
        fold.review("review/safety", 5, &[FindingMark { waived: true, ..one() }]);
        assert_eq!(states(&fold), ["one waived 1-5"]);
    }

    // N-13
    #[test]
    fn without_known_changes_nothing_is_believed_to_be_resolved() {
        let mut fold = LedgerFold::default();
        fold.review("review", 1, &[mark("one", "src/a.rs")]);
        fold.review("review", 3, &[]);
        assert_eq!(states(&fold), ["one unconfirmed 1-1"]);
    }
}

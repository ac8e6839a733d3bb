//! Matches findings with those of an earlier report.

use std::collections::{BTreeMap, BTreeSet};

use super::similar::Gist;
use super::{Code, Member, Reported, Severity, fingerprint};

#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) fingerprint: String,
    pub(super) severity: Option<Severity>,
    pub(super) message: String,
    pub(super) gist: Gist,
}

/// A member of a current finding: index of the finding, index of the member.
type Now = (usize, usize);
/// A member of an earlier entry.
type Then = (usize, usize);

/// Current members that existed before. One current finding uses an earlier member, for every member of its own that
/// fits: they describe the same problem.
#[derive(Debug, Default)]
pub(super) struct Matching {
    known: BTreeSet<Now>,
    /// Current finding that uses each earlier member.
    used: BTreeMap<Then, usize>,
}

/// Certainty of a match, highest first. A fingerprint covers code and no words, so two findings on one line share it.
/// Then the words tell them apart.
#[derive(Debug, Clone, Copy)]
enum Sureness {
    /// The same name, words and severity.
    Same,
    /// The same name and similar words. An agent may rate the same problem in the same code worse today.
    LikeWords,
    /// The same name, and not worse than before.
    Name,
    /// Similar words about nearly the same lines, and not worse: from another agent, or the code has changed.
    LikePlace,
}

impl Matching {
    /// Matches findings with earlier entries, each with its members. The first `heard` findings take precedence. Within
    /// both parts, certain matches come first, then the worst findings. A renamed file is the same file.
    pub(super) fn of(entries: &[&[Known]], findings: &[&mut Reported], heard: usize, code: &Code) -> Self {
        let mut all = Self::default();
        let today: Vec<(Now, Today<'_>)> = findings
            .iter()
            .enumerate()
            .flat_map(|(index, reported)| {
                let members = reported.members.iter().enumerate();
                members.map(move |(member, one)| ((index, member), Today::new(one, code)))
            })
            .collect();
        let first_aside = today.partition_point(|((index, _), _)| *index < heard);
        let (heard_of, aside) = today.split_at(first_aside);
        for part in [heard_of, aside] {
            for sureness in [Sureness::Same, Sureness::LikeWords, Sureness::Name, Sureness::LikePlace] {
                for (now, member) in part {
                    if !all.known.contains(now) {
                        all.take(*now, entries, |known| member.is(known, sureness));
                    }
                }
            }
        }
        all
    }

    /// Returns true if this member existed before.
    pub(super) fn knows(&self, now: Now) -> bool {
        self.known.contains(&now)
    }

    /// Returns true if part of this entry still exists.
    pub(super) fn has_used(&self, entry: usize) -> bool {
        self.used.keys().any(|(used, _)| *used == entry)
    }

    fn take(&mut self, now: Now, entries: &[&[Known]], fits: impl Fn(&Known) -> bool) {
        for (entry, members) in entries.iter().enumerate() {
            for (member, known) in members.iter().enumerate() {
                let is_free = self.used.get(&(entry, member)).is_none_or(|user| *user == now.0);
                if is_free && fits(known) {
                    self.used.insert((entry, member), now.0);
                    self.known.insert(now);
                    return;
                }
            }
        }
    }
}

/// A current member with its comparison keys.
struct Today<'a> {
    member: &'a Member,
    /// Fingerprint before the change renamed its file.
    previously: Option<String>,
    gists: Vec<Gist>,
}

impl<'a> Today<'a> {
    fn new(member: &'a Member, code: &Code) -> Self {
        let finding = &member.finding;
        let gist = |file| Gist::new(file, finding.lines(), &finding.message);
        let previous = code.previous(finding).map(|file| gist(Some(file)));
        Self {
            member,
            previously: fingerprint::before(code, finding),
            gists: std::iter::once(gist(finding.file.as_deref())).chain(previous).collect(),
        }
    }

    fn is(&self, known: &Known, sureness: Sureness) -> bool {
        let finding = &self.member.finding;
        let is_named = known.fingerprint == self.member.fingerprint
            || self.previously.as_ref().is_some_and(|name| *name == known.fingerprint);
        let is_no_worse = known.severity.is_none_or(|severity| finding.severity >= severity);
        match sureness {
            Sureness::Same => {
                is_named && known.message == finding.message && known.severity == Some(finding.severity)
            }
            Sureness::LikeWords => is_named && self.gists.iter().any(|gist| gist.says_like(&known.gist)),
            Sureness::Name => is_named && is_no_worse,
            Sureness::LikePlace => is_no_worse && self.gists.iter().any(|gist| known.gist.is_like(gist)),
        }
    }
}

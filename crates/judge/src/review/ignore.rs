//! Entries of the project's ignore list.

use super::{Day, Member, PathPattern};

/// An entry of the project's ignore list.
#[derive(Debug, Clone)]
pub struct Ignore {
    /// Fingerprint of the ignored finding.
    pub fingerprint: Option<String>,
    pub agent: Option<String>,
    /// Pattern of the files whose findings are ignored.
    pub path: Option<PathPattern>,
    pub reason: String,
    /// Last day on which it applies.
    pub expires: Option<Day>,
    pub file: String,
    /// First and last line of the entry.
    pub lines: (u32, u32),
}

impl Ignore {
    /// Returns true if it applies to this finding: it has at least one criterion, and all match.
    pub(super) fn takes(&self, member: &Member) -> bool {
        let fingerprint = self.fingerprint.as_ref().map(|wanted| *wanted == member.fingerprint);
        let agent = self.agent.as_ref().map(|wanted| *wanted == member.finding.agent);
        let file = member.finding.file.as_deref();
        let path = self.path.as_ref().map(|pattern| file.is_some_and(|file| pattern.takes(file)));
        let mut named = [fingerprint, agent, path].into_iter().flatten().peekable();
        named.peek().is_some() && named.all(|fits| fits)
    }

    /// Returns true if a review of these files could have used it.
    pub(super) fn concerns<'a>(&self, mut reviewed: impl Iterator<Item = &'a str>) -> bool {
        match &self.path {
            Some(pattern) => reviewed.any(|file| pattern.takes(file)),
            None => true,
        }
    }
}

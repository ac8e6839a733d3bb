//! What somebody decided not to hear of.

use super::{Day, Member, PathPattern};

/// One decision not to hear of something, from the project's list of them.
#[derive(Debug, Clone)]
pub struct Ignore {
    /// The finding of this name.
    pub fingerprint: Option<String>,
    pub agent: Option<String>,
    /// What is found in files this pattern takes.
    pub path: Option<PathPattern>,
    pub reason: String,
    /// The last day on which it holds.
    pub expires: Option<Day>,
    /// The file in which it is written.
    pub file: String,
    /// The lines on which it is written, first and last.
    pub lines: (u32, u32),
}

impl Ignore {
    /// Whether it is about this finding: everything it names must fit, and it must name something.
    pub(super) fn takes(&self, member: &Member) -> bool {
        let fingerprint = self.fingerprint.as_ref().map(|wanted| *wanted == member.fingerprint);
        let agent = self.agent.as_ref().map(|wanted| *wanted == member.finding.agent);
        let file = member.finding.file.as_deref();
        let path = self.path.as_ref().map(|pattern| file.is_some_and(|file| pattern.takes(file)));
        let mut named = [fingerprint, agent, path].into_iter().flatten().peekable();
        named.peek().is_some() && named.all(|fits| fits)
    }

    /// Whether it can have been used in a review of files like these.
    pub(super) fn concerns<'a>(&self, mut reviewed: impl Iterator<Item = &'a str>) -> bool {
        match &self.path {
            Some(pattern) => reviewed.any(|file| pattern.takes(file)),
            None => true,
        }
    }
}

//! Suppressions of findings, and their problems.

mod comment;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::comment::Comment;
use super::{Anchor, Code, Day, Ignore, Member, Reported, Severity, Suppressed, fingerprint};

/// A message for a person about a suppression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub level: NoticeLevel,
    pub file: String,
    pub line: u32,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// It is invalid and has no effect.
    Error,
    /// It no longer has an effect.
    Warning,
    /// It had no effect this time.
    Note,
}

/// Suppression comments that apply. Entries of the project's list always apply, with one exception: fingerprints of
/// findings on lines that an untrusted change adds. A review that does not trust a change does not read the list from
/// it either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heeded {
    All,
    /// Comments that the change did not add, about lines that it did not add either.
    Unchanged,
    /// None, because whole files do not show which comments are new.
    None,
}

/// All suppressions that apply today.
#[derive(Debug)]
pub(super) struct Suppressions<'a> {
    rules: Vec<Rule<'a>>,
    notices: Vec<Notice>,
    heeded: Heeded,
    /// Number of findings shown because their suppression does not apply.
    unheeded: usize,
}

#[derive(Debug)]
struct Rule<'a> {
    what: What<'a>,
    added_by_change: bool,
    /// True for a comment if the change removed the lines below it.
    is_moved: bool,
    used: bool,
    /// The one finding that it names, if it names code.
    assigned: Option<usize>,
    /// Number of other findings of that name, which stay visible.
    others: usize,
}

#[derive(Debug)]
enum What<'a> {
    Comment(Comment<'a>),
    Entry(&'a Ignore),
}

impl<'a> Suppressions<'a> {
    /// Collects the comments of all files and the entries of the project's list.
    pub(super) fn new(code: &'a Code, entries: &'a [Ignore], today: Day, heeded: Heeded) -> Self {
        let mut all = Self { rules: Vec::new(), notices: Vec::new(), heeded, unheeded: 0 };
        for (file, source) in code.files() {
            for found in comment::all(file, source.text.as_deref().unwrap_or_default()) {
                match found {
                    Ok(comment) => all.take(What::Comment(comment), code, today),
                    Err(notice) => all.notices.push(notice),
                }
            }
        }
        for entry in entries {
            all.take(What::Entry(entry), code, today);
        }
        all
    }

    fn take(&mut self, what: What<'a>, code: &Code, today: Day) {
        let (file, lines) = what.written();
        if let Some(until) = what.until().filter(|until| *until < today) {
            let message = format!("the suppression ended on {until} and is not applied any more");
            self.notices.push(Notice::new(NoticeLevel::Warning, file, lines.0, message));
            return;
        }
        // A list read from elsewhere is not part of the change.
        let is_of_change = self.heeded == Heeded::All || matches!(what, What::Comment(_));
        let change = code.get(file).and_then(|source| source.change.as_ref());
        let added_by_change = is_of_change && change.is_some_and(|change| change.adds(lines));
        let below = lines.1.saturating_add(1);
        let is_moved =
            matches!(what, What::Comment(_)) && change.is_some_and(|change| change.takes_before(below));
        self.rules.push(Rule { what, added_by_change, is_moved, used: false, assigned: None, others: 0 });
    }

    /// Assigns every fingerprint to one finding that has it. A fingerprint covers code and no words, so several
    /// findings may share it: a copy of the code, or another problem on the same line. Then it means the one from
    /// before the change, and the mildest. A known finding thus hides no new one, and a minor one hides no worse one.
    pub(super) fn assign(&mut self, found: &[Reported], code: &Code) {
        let mut given = BTreeSet::new();
        for rule in &mut self.rules {
            let Some(name) = rule.what.name().map(str::to_owned) else { continue };
            let free = found.iter().enumerate().filter(|(index, _)| !given.contains(&(name.clone(), *index)));
            let bearers = free.filter_map(|(index, reported)| {
                let member = reported.members.iter().find(|member| rule.what.takes(member))?;
                let is_new = member.anchor == Anchor::Added;
                // If the code of a list entry also occurs unchanged elsewhere, the entry means that one.
                let is_listed = matches!(rule.what, What::Entry(_));
                let is_another = is_listed && is_new && fingerprint::stands_elsewhere(code, &member.finding);
                let severity: Severity = member.finding.severity;
                (!is_another).then_some((is_new, Reverse(severity), index))
            });
            rule.assigned = bearers.min().map(|(_, _, index)| index);
            given.extend(rule.assigned.map(|index| (name, index)));
        }
    }

    /// Returns the finding as suppressed, if a rule names one of its worst members or rules cover all members. Ignoring
    /// one agent does not silence others that found the same. Nor does a known minor finding silence a similar worse
    /// one.
    ///
    /// `place` is the index of the finding among all assigned ones.
    pub(super) fn apply(&mut self, place: usize, reported: &Reported) -> Option<Suppressed> {
        let mut taken = vec![false; reported.members.len()];
        let mut named = None;
        let mut first = None;
        let mut is_unheeded = false;
        for (index, rule) in self.rules.iter_mut().enumerate() {
            for (member, taken) in reported.members.iter().zip(&mut taken) {
                if !rule.what.takes(member) || !rule.means(place, member) {
                    continue;
                }
                rule.used = true;
                if !rule.is_heeded(member, self.heeded) {
                    is_unheeded = true;
                    continue;
                }
                *taken = true;
                let by = (index, rule.is_by_change(member));
                first = first.or(Some(by));
                let is_named = rule.what.name().is_some() && reported.is_worst(member);
                named = named.or(is_named.then_some(by));
            }
        }
        let all = first.filter(|_| taken.iter().all(|taken| *taken));
        let Some((index, added_by_change)) = named.or(all) else {
            self.unheeded += usize::from(is_unheeded);
            let takes = |rule: &Rule<'_>| reported.members.iter().any(|member| rule.what.takes(member));
            let others = self.rules.iter_mut().filter(|rule| rule.what.name().is_some() && takes(rule));
            others.filter(|rule| rule.assigned != Some(place)).for_each(|rule| rule.others += 1);
            return None;
        };
        let rule = &self.rules[index];
        let (file, (line, _)) = rule.what.written();
        Some(Suppressed {
            reported: reported.clone(),
            reason: rule.what.reason().to_owned(),
            by: format!("{file}:{line}"),
            added_by_change,
        })
    }

    /// Returns a warning if some comments do not apply.
    pub(super) fn warning(&self) -> Option<String> {
        let what = match self.unheeded {
            0 => return None,
            1 => "1 finding counts although it is suppressed".to_owned(),
            several => format!("{several} findings count although they are suppressed"),
        };
        let why = match self.heeded {
            Heeded::All | Heeded::Unchanged => {
                "comments that the change brings or moves do not count, nor do comments and fingerprints about lines it brings"
            }
            Heeded::None => "comments in whole files do not count, since nothing tells which are new",
        };
        Some(format!("{what}: with `--definitions-from`, {why}"))
    }

    /// Returns the problems of suppressions by file and line. Reports an unused one only if it could have been used.
    /// Its file must be reviewed, and its agent must have answered or not exist.
    pub(super) fn notices(self, code: &Code, agents: &Agents<'_>) -> Vec<Notice> {
        let mut notices = self.notices;
        for rule in self.rules.iter().filter(|rule| rule.others > 0) {
            let (file, (line, _)) = rule.what.written();
            let message = format!(
                "the suppression is of one finding, and {} more of the same fingerprint count: each needs one of its own",
                rule.others
            );
            notices.push(Notice::new(NoticeLevel::Note, file, line, message));
        }
        for rule in self.rules.iter().filter(|rule| !rule.used && rule.others == 0) {
            let reviewed = || code.files().filter(|(_, source)| source.is_reviewed).map(|(file, _)| file);
            let (file, (line, _)) = rule.what.written();
            let is_near = match &rule.what {
                What::Comment(_) => reviewed().any(|one| one == file),
                What::Entry(entry) => entry.concerns(reviewed()),
            };
            if let Some(message) = agents.unneeded(rule.what.agent()).filter(|_| is_near) {
                notices.push(Notice::new(NoticeLevel::Note, file, line, message));
            }
        }
        notices.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        notices
    }
}

/// Agents of a review, as needed for suppressions.
#[derive(Debug)]
pub(super) struct Agents<'a> {
    pub(super) known: Vec<&'a str>,
    pub(super) delivered: Vec<&'a str>,
}

impl Agents<'_> {
    /// Returns the reason why an unused suppression is not needed. `None` if it may be needed but its agent did not
    /// answer.
    fn unneeded(&self, agent: Option<&str>) -> Option<String> {
        let why = match agent {
            Some(agent) if !self.known.contains(&agent) => {
                format!("no agent of this review is named `{agent}`")
            }
            Some(agent) if !self.delivered.contains(&agent) => return None,
            Some(_) | None => "nothing it is about was found".to_owned(),
        };
        Some(format!("the suppression is not needed: {why}"))
    }
}

impl Rule<'_> {
    /// Returns true if a matching finding is the intended one. A finding without code is named by its words alone, so
    /// the same words mean the same finding.
    fn means(&self, place: usize, member: &Member) -> bool {
        self.what.name().is_none() || member.finding.lines().is_none() || self.assigned == Some(place)
    }

    /// Returns true if the suppression applies to this finding.
    fn is_heeded(&self, member: &Member, heeded: Heeded) -> bool {
        let is_new = member.anchor == Anchor::Added;
        match (&self.what, heeded) {
            (_, Heeded::All) | (What::Entry(_), Heeded::None) => true,
            (What::Entry(entry), Heeded::Unchanged) => entry.fingerprint.is_none() || !is_new,
            (What::Comment(_), Heeded::Unchanged) => !self.is_by_change(member) && !is_new,
            (What::Comment(_), Heeded::None) => false,
        }
    }

    /// Returns true if the change causes the suppression: it adds the comment, or removes the lines between the two.
    fn is_by_change(&self, member: &Member) -> bool {
        let (_, (line, _)) = self.what.written();
        let is_below = member.finding.start_line.is_some_and(|start| start > line);
        self.added_by_change || (self.is_moved && is_below)
    }
}

impl Notice {
    fn new(level: NoticeLevel, file: &str, line: u32, message: String) -> Self {
        Self { level, file: file.to_owned(), line, message }
    }
}

impl NoticeLevel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl What<'_> {
    fn takes(&self, member: &Member) -> bool {
        match self {
            Self::Comment(comment) => comment.takes(member),
            Self::Entry(entry) => entry.takes(member),
        }
    }

    /// Returns the fingerprint, if it names one.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Comment(comment) => Some(comment.name).filter(|_| comment.is_fingerprint()),
            Self::Entry(entry) => entry.fingerprint.as_deref(),
        }
    }

    /// Returns the agent, if it names one.
    fn agent(&self) -> Option<&str> {
        match self {
            Self::Comment(comment) => Some(comment.name).filter(|_| !comment.is_fingerprint()),
            Self::Entry(entry) => entry.agent.as_deref(),
        }
    }

    fn written(&self) -> (&str, (u32, u32)) {
        match self {
            Self::Comment(comment) => (comment.file, (comment.line, comment.line)),
            Self::Entry(entry) => (&entry.file, entry.lines),
        }
    }

    fn until(&self) -> Option<Day> {
        match self {
            Self::Comment(comment) => comment.until,
            Self::Entry(entry) => entry.expires,
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Comment(comment) => comment.reason,
            Self::Entry(entry) => &entry.reason,
        }
    }
}

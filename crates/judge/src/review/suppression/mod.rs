//! Which findings somebody decided not to hear of, and what is wrong with such decisions.

mod comment;

use serde::{Deserialize, Serialize};

use self::comment::Comment;
use super::{Anchor, Code, Day, Ignore, Member, Reported, Suppressed};

/// Something a person should know about a suppression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// The file it is written in.
    pub file: String,
    /// The line.
    pub line: u32,
    /// What it is.
    pub message: String,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// It cannot be understood, and does nothing.
    Error,
    /// It does nothing any more.
    Warning,
    /// It did nothing this time.
    Note,
}

/// Which comments in the code are gone by. The entries of the project's list always are: who does not trust a change does
/// not read them from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heeded {
    /// All of them.
    All,
    /// Those that the change did not bring, about lines that it did not bring either.
    Unchanged,
    /// None: whole files do not tell what is new.
    None,
}

/// All decisions not to hear of something that apply today.
#[derive(Debug)]
pub(super) struct Suppressions<'a> {
    rules: Vec<Rule<'a>>,
    notices: Vec<Notice>,
    heeded: Heeded,
    /// How many findings are heard of because comments about them are not gone by.
    unheeded: usize,
}

#[derive(Debug)]
struct Rule<'a> {
    what: What<'a>,
    added_by_change: bool,
    used: bool,
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
        // A list that was read from elsewhere is none of the change.
        let is_of_change = self.heeded == Heeded::All || matches!(what, What::Comment(_));
        let change = code.get(file).and_then(|source| source.change.as_ref());
        let added_by_change = is_of_change && change.is_some_and(|change| change.adds(lines));
        self.rules.push(Rule { what, added_by_change, used: false });
    }

    /// The finding as a suppressed one, if it is one: a member of it is named than which none is worse, or each of them is
    /// taken by some rule. An agent that is not heard of does not silence the others that found the same, nor does a known
    /// trifle silence something worse that is like it.
    pub(super) fn apply(&mut self, reported: &Reported) -> Option<Suppressed> {
        let mut taken = vec![false; reported.members.len()];
        let mut named = None;
        let mut first = None;
        let mut is_unheeded = false;
        for (index, rule) in self.rules.iter_mut().enumerate() {
            for (member, taken) in reported.members.iter().zip(&mut taken) {
                if !rule.what.takes(member) {
                    continue;
                }
                rule.used = true;
                if !rule.is_heeded(member, self.heeded) {
                    is_unheeded = true;
                    continue;
                }
                *taken = true;
                first = first.or(Some(index));
                let is_named = rule.what.is_by_name() && reported.is_worst(member);
                named = named.or(is_named.then_some(index));
            }
        }
        let all = first.filter(|_| taken.iter().all(|taken| *taken));
        let Some(index) = named.or(all) else {
            self.unheeded += usize::from(is_unheeded);
            return None;
        };
        let rule = &self.rules[index];
        let (file, (line, _)) = rule.what.written();
        Some(Suppressed {
            reported: reported.clone(),
            reason: rule.what.reason().to_owned(),
            by: format!("{file}:{line}"),
            added_by_change: rule.added_by_change,
        })
    }

    /// What to tell first, where comments are not gone by.
    pub(super) fn warning(&self) -> Option<String> {
        let what = match self.unheeded {
            0 => return None,
            1 => "1 finding counts although a comment suppresses it".to_owned(),
            several => format!("{several} findings count although comments suppress them"),
        };
        let why = match self.heeded {
            Heeded::All | Heeded::Unchanged => {
                "comments that the change brings do not count, nor those about lines it brings"
            }
            Heeded::None => "comments in whole files do not count, since nothing tells which are new",
        };
        Some(format!("{what}: with `--definitions-from`, {why}"))
    }

    /// What is wrong with them, by file and line. That one was not needed is said where it could have been: in a file
    /// that was reviewed, for an agent that gave an answer or does not even exist.
    pub(super) fn notices(self, code: &Code, agents: &Agents<'_>) -> Vec<Notice> {
        let mut notices = self.notices;
        for rule in self.rules.iter().filter(|rule| !rule.used) {
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

/// The agents of a review, as far as suppressions speak of them.
#[derive(Debug)]
pub(super) struct Agents<'a> {
    /// All that were considered.
    pub(super) known: Vec<&'a str>,
    /// Those that gave an answer.
    pub(super) delivered: Vec<&'a str>,
}

impl Agents<'_> {
    /// Why a suppression that was not used is not needed; nothing where it might be, had its agent answered.
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
    /// Whether it is gone by where this was found.
    fn is_heeded(&self, member: &Member, heeded: Heeded) -> bool {
        match (&self.what, heeded) {
            (What::Entry(_), _) | (What::Comment(_), Heeded::All) => true,
            (What::Comment(_), Heeded::Unchanged) => !self.added_by_change && member.anchor != Anchor::Added,
            (What::Comment(_), Heeded::None) => false,
        }
    }
}

impl Notice {
    fn new(level: NoticeLevel, file: &str, line: u32, message: String) -> Self {
        Self { level, file: file.to_owned(), line, message }
    }
}

impl NoticeLevel {
    /// The word that is written.
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

    /// Whether it names the finding itself.
    fn is_by_name(&self) -> bool {
        match self {
            Self::Comment(comment) => comment.is_fingerprint(),
            Self::Entry(entry) => entry.fingerprint.is_some(),
        }
    }

    /// The agent it is about, where it names one.
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

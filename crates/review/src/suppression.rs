//! Suppressions of findings, and their problems.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::civil::Date;
use saihai_config::review::{FindingIgnore, PathPattern};
use saihai_model::Severity;
use serde::{Deserialize, Serialize};

use crate::assemble::stands_elsewhere;
use crate::code::ReviewedCode;
use crate::report::{FindingAnchor, FindingMember, ReportedFinding, SuppressedFinding};

/// A message for a person about a suppression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressionNotice {
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
pub(super) enum HeededComments {
    All,
    /// Comments that the change did not add, about lines that it did not add either.
    Unchanged,
    /// None, because whole files do not show which comments are new.
    None,
}

/// All suppressions that apply today.
#[derive(Debug)]
pub(super) struct Suppressions<'a> {
    rules: Vec<SuppressionRule<'a>>,
    notices: Vec<SuppressionNotice>,
    heeded: HeededComments,
    /// Number of findings shown because their suppression does not apply.
    unheeded: usize,
}

#[derive(Debug)]
struct SuppressionRule<'a> {
    what: SuppressionSource<'a>,
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
enum SuppressionSource<'a> {
    Comment(SuppressionComment<'a>),
    /// An entry of the project's list, with its compiled path pattern.
    Entry(&'a FindingIgnore, Option<PathPattern>),
}

impl<'a> Suppressions<'a> {
    /// Collects the comments of all files and the entries of the project's list.
    pub(super) fn new(
        code: &'a ReviewedCode,
        entries: &'a [FindingIgnore],
        today: Date,
        heeded: HeededComments,
    ) -> Self {
        let mut all = Self { rules: Vec::new(), notices: Vec::new(), heeded, unheeded: 0 };
        for (file, source) in code.files() {
            for found in comments_of(file, source.text.as_deref().unwrap_or_default()) {
                match found {
                    Ok(comment) => all.take(SuppressionSource::Comment(comment), code, today),
                    Err(notice) => all.notices.push(notice),
                }
            }
        }
        for entry in entries {
            let pattern = entry.path.as_deref().map(PathPattern::new).transpose();
            // An entry with an invalid pattern hides nothing.
            if let Ok(pattern) = pattern {
                all.take(SuppressionSource::Entry(entry, pattern), code, today);
            }
        }
        all
    }

    fn take(&mut self, what: SuppressionSource<'a>, code: &ReviewedCode, today: Date) {
        let (file, lines) = what.written();
        if let Some(until) = what.until().filter(|until| *until < today) {
            let message = format!("the suppression expired on {until}");
            self.notices.push(SuppressionNotice::new(NoticeLevel::Warning, file, lines.0, message));
            return;
        }
        // A list read from elsewhere is not part of the change.
        let is_of_change =
            self.heeded == HeededComments::All || matches!(what, SuppressionSource::Comment(_));
        let change = code.get(file).and_then(|source| source.change.as_ref());
        let added_by_change = is_of_change && change.is_some_and(|change| change.adds(lines));
        let below = lines.1.saturating_add(1);
        let is_moved = matches!(what, SuppressionSource::Comment(_))
            && change.is_some_and(|change| change.takes_before(below));
        self.rules.push(SuppressionRule {
            what,
            added_by_change,
            is_moved,
            used: false,
            assigned: None,
            others: 0,
        });
    }

    /// Assigns every fingerprint to one finding that has it. A fingerprint covers code and no words, so several
    /// findings may share it: a copy of the code, or another problem on the same line. Then it means the one from
    /// before the change, and the mildest. A known finding thus hides no new one, and a minor one hides no worse one.
    pub(super) fn assign(&mut self, found: &[ReportedFinding], code: &ReviewedCode) {
        let mut given = BTreeSet::new();
        for rule in &mut self.rules {
            let Some(name) = rule.what.name().map(str::to_owned) else { continue };
            let free = found.iter().enumerate().filter(|(index, _)| !given.contains(&(name.clone(), *index)));
            let bearers = free.filter_map(|(index, reported)| {
                let member = reported.members.iter().find(|member| rule.what.takes(member))?;
                let is_new = member.anchor == FindingAnchor::Added;
                // If the code of a list entry also occurs unchanged elsewhere, the entry means that one.
                let is_listed = matches!(rule.what, SuppressionSource::Entry(..));
                let is_another = is_listed && is_new && stands_elsewhere(code, &member.finding);
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
    pub(super) fn apply(&mut self, place: usize, reported: &ReportedFinding) -> Option<SuppressedFinding> {
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
            let takes =
                |rule: &SuppressionRule<'_>| reported.members.iter().any(|member| rule.what.takes(member));
            let others = self.rules.iter_mut().filter(|rule| rule.what.name().is_some() && takes(rule));
            others.filter(|rule| rule.assigned != Some(place)).for_each(|rule| rule.others += 1);
            return None;
        };
        let rule = &self.rules[index];
        let (file, (line, _)) = rule.what.written();
        Some(SuppressedFinding {
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
            HeededComments::All | HeededComments::Unchanged => {
                "comments that the change adds or moves do not count, nor do comments and fingerprints for lines it \
                 adds"
            }
            HeededComments::None => {
                "comments in whole files do not count, because Saihai cannot tell which are new"
            }
        };
        Some(format!("{what}: with `--definitions-from`, {why}"))
    }

    /// Returns the problems of suppressions by file and line. Reports an unused one only if it could have been used.
    /// Its file must be reviewed, and its agent must have answered or not exist.
    pub(super) fn notices(self, code: &ReviewedCode, agents: &ReviewingAgents<'_>) -> Vec<SuppressionNotice> {
        let mut notices = self.notices;
        for rule in self.rules.iter().filter(|rule| rule.others > 0) {
            let (file, (line, _)) = rule.what.written();
            let message = format!(
                "the suppression covers one finding, but {} more have the same fingerprint: each needs its own",
                rule.others
            );
            notices.push(SuppressionNotice::new(NoticeLevel::Note, file, line, message));
        }
        for rule in self.rules.iter().filter(|rule| !rule.used && rule.others == 0) {
            let reviewed = || code.files().filter(|(_, source)| source.is_reviewed).map(|(file, _)| file);
            let (file, (line, _)) = rule.what.written();
            let is_near = match &rule.what {
                SuppressionSource::Comment(_) => reviewed().any(|one| one == file),
                SuppressionSource::Entry(_, Some(pattern)) => reviewed().any(|file| pattern.takes(file)),
                SuppressionSource::Entry(_, None) => true,
            };
            if let Some(message) = agents.unneeded(rule.what.agent()).filter(|_| is_near) {
                notices.push(SuppressionNotice::new(NoticeLevel::Note, file, line, message));
            }
        }
        notices.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        notices
    }
}

/// Agents of a review, as needed for suppressions.
#[derive(Debug)]
pub(super) struct ReviewingAgents<'a> {
    pub(super) known: Vec<&'a str>,
    pub(super) delivered: Vec<&'a str>,
}

impl ReviewingAgents<'_> {
    /// Returns why an unused suppression is not needed, or `None` if its agent did not answer.
    fn unneeded(&self, agent: Option<&str>) -> Option<String> {
        let why = match agent {
            Some(agent) if !self.known.contains(&agent) => {
                format!("no agent of this review is named `{agent}`")
            }
            Some(agent) if !self.delivered.contains(&agent) => return None,
            Some(_) | None => "it matches no finding".to_owned(),
        };
        Some(format!("the suppression is not needed: {why}"))
    }
}

impl SuppressionRule<'_> {
    /// Returns true if a matching finding is the intended one. A finding without code is named by its words alone, so
    /// the same words mean the same finding.
    fn means(&self, place: usize, member: &FindingMember) -> bool {
        self.what.name().is_none() || member.finding.lines().is_none() || self.assigned == Some(place)
    }

    /// Returns true if the suppression applies to this finding.
    fn is_heeded(&self, member: &FindingMember, heeded: HeededComments) -> bool {
        let is_new = member.anchor == FindingAnchor::Added;
        match (&self.what, heeded) {
            (_, HeededComments::All) | (SuppressionSource::Entry(..), HeededComments::None) => true,
            (SuppressionSource::Entry(entry, _), HeededComments::Unchanged) => {
                entry.fingerprint.is_none() || !is_new
            }
            (SuppressionSource::Comment(_), HeededComments::Unchanged) => {
                !self.is_by_change(member) && !is_new
            }
            (SuppressionSource::Comment(_), HeededComments::None) => false,
        }
    }

    /// Returns true if the change causes the suppression: it adds the comment, or removes the lines between the two.
    fn is_by_change(&self, member: &FindingMember) -> bool {
        let (_, (line, _)) = self.what.written();
        let is_below = member.finding.start_line.is_some_and(|start| start > line);
        self.added_by_change || (self.is_moved && is_below)
    }
}

impl SuppressionNotice {
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

impl SuppressionSource<'_> {
    fn takes(&self, member: &FindingMember) -> bool {
        match self {
            Self::Comment(comment) => comment.takes(member),
            Self::Entry(entry, pattern) => matches_entry(entry, pattern.as_ref(), member),
        }
    }

    /// Returns the fingerprint, if it names one.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Comment(comment) => Some(comment.name).filter(|_| comment.is_fingerprint()),
            Self::Entry(entry, _) => entry.fingerprint.as_deref(),
        }
    }

    /// Returns the agent, if it names one.
    fn agent(&self) -> Option<&str> {
        match self {
            Self::Comment(comment) => Some(comment.name).filter(|_| !comment.is_fingerprint()),
            Self::Entry(entry, _) => entry.agent.as_deref(),
        }
    }

    fn written(&self) -> (&str, (u32, u32)) {
        match self {
            Self::Comment(comment) => (comment.file, (comment.line, comment.line)),
            Self::Entry(entry, _) => (&entry.file, entry.lines),
        }
    }

    fn until(&self) -> Option<Date> {
        match self {
            Self::Comment(comment) => comment.until,
            Self::Entry(entry, _) => entry.expires.as_deref().and_then(parse_day),
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Comment(comment) => comment.reason,
            Self::Entry(entry, _) => &entry.reason,
        }
    }
}

/// `saihai-ignore[NAME] until=DAY: REASON`, in a comment of any language.
#[derive(Debug)]
pub(super) struct SuppressionComment<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
    /// An agent or a fingerprint.
    pub(super) name: &'a str,
    pub(super) until: Option<Date>,
    pub(super) reason: &'a str,
}

const MARK: &str = "saihai-ignore[";

/// Finds all such comments in a file, and the problems of malformed ones.
fn comments_of<'a>(file: &'a str, text: &'a str) -> Vec<Result<SuppressionComment<'a>, SuppressionNotice>> {
    if !text.contains(MARK) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(index, line)| on_line(file, u32::try_from(index + 1).unwrap_or(u32::MAX), line))
        .collect()
}

fn on_line<'a>(
    file: &'a str,
    number: u32,
    line: &'a str,
) -> impl Iterator<Item = Result<SuppressionComment<'a>, SuppressionNotice>> {
    let mut behind = line.split(MARK).skip(1).peekable();
    std::iter::from_fn(move || {
        let inside = behind.next()?;
        // The start of the next comment is not part of this one.
        let inside = if behind.peek().is_some() { inside.trim_end_matches(OPENING) } else { inside };
        let comment = parse(inside).map(|(name, until, reason)| SuppressionComment {
            file,
            line: number,
            name,
            until,
            reason,
        });
        Some(comment.map_err(|message| SuppressionNotice::new(NoticeLevel::Error, file, number, message)))
    })
}

/// Characters that start a comment in some language.
const OPENING: [char; 12] = ['#', '/', '*', '-', ';', '<', '!', '%', '{', '(', ' ', '\t'];

/// Parses the text after the opening bracket.
fn parse(inside: &str) -> Result<(&str, Option<Date>, &str), String> {
    const USAGE: &str = "write `saihai-ignore[AGENT]: REASON` or `saihai-ignore[FINGERPRINT]: REASON`";
    let (name, rest) =
        inside.split_once(']').ok_or_else(|| format!("the suppression names nothing; {USAGE}"))?;
    let name = name.trim();
    if name.is_empty() {
        return Err(format!("the suppression names nothing; {USAGE}"));
    }
    let (options, reason) = rest.split_once(':').unwrap_or((rest, ""));
    let reason = without_end(reason);
    if reason.is_empty() {
        return Err(format!("the suppression of `{name}` has no reason and is not applied; {USAGE}"));
    }
    let until = match options.trim() {
        "" => None,
        option => Some(option.strip_prefix("until=").and_then(parse_day).ok_or_else(|| {
            format!(
                "the suppression of `{name}` is not applied: `{option}` is not of the form `until=YYYY-MM-DD`"
            )
        })?),
    };
    Ok((name, until, reason))
}

/// Parses `YYYY-MM-DD`. Other spellings of dates are refused.
pub(super) fn parse_day(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| text.len() == "2026-02-06".len())
}

/// Removes the end of a comment from a reason.
fn without_end(reason: &str) -> &str {
    let reason = reason.trim_end();
    let ended = ["*/", "-->", "--}}", "%>", "#}"].into_iter().find_map(|end| reason.strip_suffix(end));
    ended.unwrap_or(reason).trim()
}

impl SuppressionComment<'_> {
    /// Returns true if it is on the finding's line or the one above.
    pub(super) fn takes(&self, member: &FindingMember) -> bool {
        let is_named = self.name == member.finding.agent || self.name == member.fingerprint;
        let is_here = member.finding.file.as_deref() == Some(self.file)
            && member
                .finding
                .lines()
                .is_some_and(|(start, _)| start == self.line || start == self.line.saturating_add(1));
        is_named && is_here
    }

    /// Returns true if it names a finding, not an agent.
    pub(super) fn is_fingerprint(&self) -> bool {
        self.name.len() == 16 && self.name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

/// Returns true if an entry applies to this finding: it has at least one criterion, and all match.
fn matches_entry(entry: &FindingIgnore, pattern: Option<&PathPattern>, member: &FindingMember) -> bool {
    let fingerprint = entry.fingerprint.as_ref().map(|wanted| *wanted == member.fingerprint);
    let agent = entry.agent.as_ref().map(|wanted| *wanted == member.finding.agent);
    let file = member.finding.file.as_deref();
    let path = pattern.map(|pattern| file.is_some_and(|file| pattern.takes(file)));
    let mut named = [fingerprint, agent, path].into_iter().flatten().peekable();
    named.peek().is_some() && named.all(|fits| fits)
}

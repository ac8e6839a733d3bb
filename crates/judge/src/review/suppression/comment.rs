//! A comment that suppresses findings on its line and the next one.

use super::super::{Day, Member};
use super::{Notice, NoticeLevel};

/// `saihai-ignore[NAME] until=DAY: REASON`, in a comment of any language.
#[derive(Debug)]
pub(super) struct Comment<'a> {
    pub(super) file: &'a str,
    pub(super) line: u32,
    /// An agent or a fingerprint.
    pub(super) name: &'a str,
    pub(super) until: Option<Day>,
    pub(super) reason: &'a str,
}

const MARK: &str = "saihai-ignore[";

/// Finds all such comments in a file, and the problems of malformed ones.
pub(super) fn all<'a>(file: &'a str, text: &'a str) -> Vec<Result<Comment<'a>, Notice>> {
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
) -> impl Iterator<Item = Result<Comment<'a>, Notice>> {
    let mut behind = line.split(MARK).skip(1).peekable();
    std::iter::from_fn(move || {
        let inside = behind.next()?;
        // The start of the next comment is not part of this one.
        let inside = if behind.peek().is_some() { inside.trim_end_matches(OPENING) } else { inside };
        let comment =
            parse(inside).map(|(name, until, reason)| Comment { file, line: number, name, until, reason });
        Some(comment.map_err(|message| Notice::new(NoticeLevel::Error, file, number, message)))
    })
}

/// Characters that start a comment in some language.
const OPENING: [char; 12] = ['#', '/', '*', '-', ';', '<', '!', '%', '{', '(', ' ', '\t'];

/// Parses the text after the opening bracket.
fn parse(inside: &str) -> Result<(&str, Option<Day>, &str), String> {
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
        option => Some(day(option).ok_or_else(|| {
            format!(
                "the suppression of `{name}` is not applied: `{option}` is not of the form `until=YYYY-MM-DD`"
            )
        })?),
    };
    Ok((name, until, reason))
}

fn day(option: &str) -> Option<Day> {
    option.strip_prefix("until=").and_then(Day::parse)
}

/// Removes the end of a comment from a reason.
fn without_end(reason: &str) -> &str {
    let reason = reason.trim_end();
    let ended = ["*/", "-->", "--}}", "%>", "#}"].into_iter().find_map(|end| reason.strip_suffix(end));
    ended.unwrap_or(reason).trim()
}

impl Comment<'_> {
    /// Returns true if it is on the finding's line or the one above.
    pub(super) fn takes(&self, member: &Member) -> bool {
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

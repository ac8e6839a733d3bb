//! A name for a finding that stays while the code around it moves.

use super::{Code, Finding};
use crate::digest::sha256;

/// How many of the lines it is about are looked at.
const LINES: u32 = 5;
/// How many digits a fingerprint has.
const DIGITS: usize = 16;

/// 16 hexadecimal digits of who found it, in which file, on what code. Neither line numbers nor words of the agent
/// count where there is code to go by, so that it survives insertions above, re-indenting, and being told anew.
pub(super) fn fingerprint(code: &Code, finding: &Finding) -> String {
    named(code, finding, finding.file.as_deref().unwrap_or_default())
}

/// The name it had before the change gave its file another one.
pub(super) fn before(code: &Code, finding: &Finding) -> Option<String> {
    code.previous(finding).map(|previous| named(code, finding, previous))
}

/// Whether the code of a finding also stands elsewhere in its file, where the change adds nothing: what had this name
/// before the change may be that one.
pub(super) fn stands_elsewhere(code: &Code, finding: &Finding) -> bool {
    let (Some(file), Some((start, end))) = (finding.file.as_deref(), located(finding)) else { return false };
    let Some(change) = code.get(file).and_then(|source| source.change.as_ref()) else { return false };
    let own = squeezed(&code.lines(file, (start, end)));
    let all = code.lines(file, (1, u32::MAX));
    let size = (end - start) as usize + 1;
    all.windows(size).zip(1..).any(|(lines, first)| {
        first != start && !change.adds((first, first.saturating_add(end - start))) && squeezed(lines) == own
    })
}

/// The lines that name a finding.
fn located(finding: &Finding) -> Option<(u32, u32)> {
    finding.lines().map(|(start, end)| (start, end.min(start.saturating_add(LINES - 1))))
}

/// Lines without their white space.
fn squeezed(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| line.chars()).filter(|letter| !letter.is_whitespace()).collect()
}

fn named(code: &Code, finding: &Finding, called: &str) -> String {
    let file = finding.file.as_deref().unwrap_or_default();
    let lines = located(finding).map(|lines| squeezed(&code.lines(file, lines))).unwrap_or_default();
    // Empty lines are alike everywhere: the words say more.
    let what = if lines.is_empty() { words(&finding.message) } else { lines };
    let mut name = sha256(&["saihai/v1", &finding.agent, called, &what].join("\n"));
    name.truncate(DIGITS);
    name
}

/// A message in lower case, with every number the same.
fn words(message: &str) -> String {
    let mut words = String::with_capacity(message.len());
    for letter in message.to_lowercase().chars() {
        match letter.is_numeric() {
            true if words.ends_with('#') => {}
            true => words.push('#'),
            false => words.push(letter),
        }
    }
    words
}

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

fn named(code: &Code, finding: &Finding, called: &str) -> String {
    let file = finding.file.as_deref().unwrap_or_default();
    let located = finding.lines().map(|(start, end)| (start, end.min(start.saturating_add(LINES - 1))));
    let lines: String = located.map(|lines| code.lines(file, lines).concat()).unwrap_or_default();
    let lines: String = lines.chars().filter(|letter| !letter.is_whitespace()).collect();
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

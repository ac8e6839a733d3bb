//! Fingerprints: names of findings that stay the same while the surrounding code moves.

use super::{Code, Finding};
use crate::digest::sha256;

/// Maximum number of code lines in a fingerprint.
const LINES: u32 = 5;
const DIGITS: usize = 16;

/// Returns 16 hexadecimal digits of the agent, the file and the code. If there is code, neither line numbers nor the
/// agent's words count. The name thus survives insertions above, new indentation and new wording.
pub(super) fn fingerprint(code: &Code, finding: &Finding) -> String {
    named(code, finding, finding.file.as_deref().unwrap_or_default())
}

/// Returns the fingerprint under the file's name before a rename.
pub(super) fn before(code: &Code, finding: &Finding) -> Option<String> {
    code.previous(finding).map(|previous| named(code, finding, previous))
}

/// Returns true if the same code also occurs elsewhere in its file, outside added lines. The earlier finding of this
/// name may then be that one.
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

/// Returns the lines that go into the fingerprint.
fn located(finding: &Finding) -> Option<(u32, u32)> {
    finding.lines().map(|(start, end)| (start, end.min(start.saturating_add(LINES - 1))))
}

/// Removes white space from lines.
fn squeezed(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| line.chars()).filter(|letter| !letter.is_whitespace()).collect()
}

fn named(code: &Code, finding: &Finding, called: &str) -> String {
    let file = finding.file.as_deref().unwrap_or_default();
    let lines = located(finding).map(|lines| squeezed(&code.lines(file, lines))).unwrap_or_default();
    // Empty lines are the same everywhere, so the message identifies more.
    let what = if lines.is_empty() { words(&finding.message) } else { lines };
    let mut name = sha256(&["saihai/v1", &finding.agent, called, &what].join("\n"));
    name.truncate(DIGITS);
    name
}

/// Returns a message in lower case, with all numbers made equal.
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

//! Whether two findings speak of the same thing.

use std::collections::BTreeSet;

/// Lines this far apart are still the same place.
const NEAR: u32 = 2;

/// What is compared: where a finding is, and the groups of three characters of what it says.
#[derive(Debug, Clone)]
pub(super) struct Gist {
    file: Option<String>,
    lines: Option<(u32, u32)>,
    trigrams: BTreeSet<[char; 3]>,
}

impl Gist {
    pub(super) fn new(file: Option<&str>, lines: Option<(u32, u32)>, message: &str) -> Self {
        Self { file: file.map(str::to_owned), lines, trigrams: trigrams(message) }
    }

    /// Same file, lines that overlap or nearly do, and at least a quarter of all groups of characters in common.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.lines, other.lines) else { return false };
        let is_near = one.0 <= two.1.saturating_add(NEAR)
            && two.0 <= one.1.saturating_add(NEAR)
            && self.file == other.file;
        is_near && self.says_like(other)
    }

    /// At least a quarter of all groups of characters in common, wherever the two are.
    pub(super) fn says_like(&self, other: &Self) -> bool {
        let common = self.trigrams.intersection(&other.trigrams).count();
        let all = self.trigrams.len() + other.trigrams.len() - common;
        common * 4 >= all
    }
}

/// The groups of three characters of a text, in lower case and with single blanks.
fn trigrams(text: &str) -> BTreeSet<[char; 3]> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut letters: Vec<char> = words.join(" ").chars().collect();
    // A text of one or two characters is a group by itself.
    while letters.len() < 3 {
        letters.push(' ');
    }
    letters.windows(3).map(|three| [three[0], three[1], three[2]]).collect()
}

//! Similarity of two findings.

use std::cmp::Ordering;

/// Maximum distance between lines of the same place.
const NEAR: u32 = 2;

/// Comparison keys of a finding: its place, and the trigrams of its message.
#[derive(Debug, Clone)]
pub(super) struct Gist {
    file: Option<String>,
    lines: Option<(u32, u32)>,
    /// Sorted and without duplicates, for speed: hundreds of findings on one line are compared with each other.
    trigrams: Vec<u64>,
}

impl Gist {
    pub(super) fn new(file: Option<&str>, lines: Option<(u32, u32)>, message: &str) -> Self {
        Self { file: file.map(str::to_owned), lines, trigrams: trigrams(message) }
    }

    /// Returns true for the same file, overlapping or near lines, and at least a quarter of all trigrams in common.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.lines, other.lines) else { return false };
        let is_near = one.0 <= two.1.saturating_add(NEAR)
            && two.0 <= one.1.saturating_add(NEAR)
            && self.file == other.file;
        is_near && self.says_like(other)
    }

    /// Returns true for at least a quarter of all trigrams in common, regardless of place.
    pub(super) fn says_like(&self, other: &Self) -> bool {
        let (mut one, mut two) = (self.trigrams.as_slice(), other.trigrams.as_slice());
        let (fewer, more) = (one.len().min(two.len()), one.len().max(two.len()));
        if fewer * 4 < more {
            return false;
        }
        let mut common = 0;
        while let ([first, rest @ ..], [second, others @ ..]) = (one, two) {
            match first.cmp(second) {
                Ordering::Less => one = rest,
                Ordering::Greater => two = others,
                Ordering::Equal => {
                    common += 1;
                    (one, two) = (rest, others);
                }
            }
        }
        common * 4 >= fewer + more - common
    }
}

/// Returns the trigrams of a text, in lower case and with single blanks, each as one number.
fn trigrams(text: &str) -> Vec<u64> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let mut letters: Vec<char> = words.join(" ").chars().collect();
    // A text of one or two characters is one group.
    while letters.len() < 3 {
        letters.push(' ');
    }
    let number =
        |three: &[char]| three.iter().fold(0, |number, letter| number << 21 | u64::from(u32::from(*letter)));
    let mut trigrams: Vec<u64> = letters.windows(3).map(number).collect();
    trigrams.sort_unstable();
    trigrams.dedup();
    trigrams
}

//! Character sets with Python's members.

use std::fmt::Write as _;

use super::translate::PythonFlags;

/// Python treats all four as one letter when it ignores case; the Rust engines see two pairs.
pub(super) const EVERY_I: &str = "iIİı";

/// A member of a character set.
#[derive(Debug, Clone, Copy)]
pub(super) enum SetMember {
    /// A code point, surrogates included.
    Character(u32),
    Named(&'static str),
}

impl SetMember {
    pub(super) fn is_range_to(self, high: Self) -> bool {
        matches!((self, high), (Self::Character(low), Self::Character(high)) if low <= high)
    }

    /// Writes a range without its surrogates, which never occur in a text. Adds the other case of ASCII letters if case
    /// is ignored for ASCII only.
    pub(super) fn write(self, high: Self, flags: PythonFlags, inside: &mut String) {
        let (low, high) = match (self, high) {
            (Self::Character(low), Self::Character(high)) => (low, high),
            (Self::Named(set), _) | (_, Self::Named(set)) => return inside.push_str(set),
        };
        let mut range = |low: u32, high: u32| {
            if low <= high {
                write!(inside, "\\x{{{low:x}}}-\\x{{{high:x}}}").expect("a string takes everything");
            }
        };
        range(low, high.min(0xD7FF));
        range(low.max(0xE000), high);
        if flags.ignore_case && flags.ascii {
            for (first, last, other) in [(0x41, 0x5A, 0x61), (0x61, 0x7A, 0x41)] {
                let (from, to) = (low.max(first), high.min(last));
                if from <= to {
                    range(from - first + other, to - first + other);
                }
            }
        } else if flags.ignore_case && EVERY_I.chars().any(|one| (low..=high).contains(&u32::from(one))) {
            inside.push_str(EVERY_I);
        }
    }
}

/// Returns the members of `\d`, `\s`, `\w` and their negations.
pub(super) fn named_set(letter: char, ascii: bool) -> Option<&'static str> {
    Some(match (letter, ascii) {
        ('d', false) => r"\p{Nd}",
        ('D', false) => r"\P{Nd}",
        ('d', true) => "0-9",
        ('D', true) => "[^0-9]",
        ('s', false) => r"\s\x1c-\x1f",
        ('S', false) => r"[^\s\x1c-\x1f]",
        ('s', true) => r" \t\n\r\x0b\x0c",
        ('S', true) => r"[^ \t\n\r\x0b\x0c]",
        ('w', false) => r"\p{L}\p{N}_",
        ('W', false) => r"[^\p{L}\p{N}_]",
        ('w', true) => "A-Za-z0-9_",
        ('W', true) => "[^A-Za-z0-9_]",
        _ => return None,
    })
}

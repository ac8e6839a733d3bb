//! Wrapping of labels by display columns.

use unicode_width::UnicodeWidthChar;

use crate::terminal::{cut, width};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Wrapped {
    pub(super) lines: Vec<String>,
    /// True if the end is cut off.
    pub(super) cut: bool,
}

/// Wraps a text into at most `most` lines of at most `columns` columns.
pub(super) fn wrap(text: &str, columns: usize, most: usize) -> Wrapped {
    let mut lines = vec![String::new()];
    for piece in pieces(text) {
        let line = lines.last_mut().expect("there is always a line");
        if width(line) + width(piece.trim_end()) <= columns {
            line.push_str(piece);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for character in piece.chars() {
            let line = lines.last_mut().expect("there is always a line");
            // Break a word that is longer than a line.
            if !line.is_empty() && width(line) + character.width().unwrap_or(0) > columns && character != ' '
            {
                lines.push(String::new());
            }
            lines.last_mut().expect("there is always a line").push(character);
        }
    }
    let mut lines: Vec<String> =
        lines.iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let is_cut = lines.len() > most;
    if is_cut {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(cut(&rest, columns).into_owned());
    }
    Wrapped { lines, cut: is_cut }
}

/// Splits a text into unbreakable pieces: a word with its trailing space, or a wide character with its marks.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    let mut before: Option<char> = None;
    for (at, character) in text.char_indices() {
        let breaks = before.is_some_and(|before| {
            let is_wide = |one: char| one.width().unwrap_or(0) > 1;
            !CLOSING.contains(character)
                && !OPENING.contains(before)
                && (before == ' ' && character != ' '
                    || is_wide(before)
                    || is_wide(character) && before != ' ')
        });
        if breaks {
            pieces.push(&text[start..at]);
            start = at;
        }
        before = Some(character);
    }
    pieces.push(&text[start..]);
    pieces
}

/// Characters that must not start a line.
const CLOSING: &str = "、。，．・：；？！）」』】〉》ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ),.;:!?\"'」 ";
/// Characters that must not end a line.
const OPENING: &str = "（「『【〈《(";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &[&str]) {
        assert_eq!(wrap(text, columns, 3).lines, expected);
    }

    #[test]
    fn words_stay_whole_and_nothing_is_cut_that_fits() {
        check("Nothing has to be remedied", 12, &["Nothing has", "to be", "remedied"]);
        check("all(\"Nothing has to be remedied\")", 22, &["all(\"Nothing has to be", "remedied\")"]);
        check("short", 12, &["short"]);
        check("", 12, &[]);
    }

    #[test]
    fn a_long_word_is_broken_and_a_long_text_cut_where_it_shows() {
        check("aaaaaaaaaaaaaaa bb", 6, &["aaaaaa", "aaaaaa", "aaa bb"]);
        check("one two three four five six", 5, &["one", "two", "thre…"]);
        assert!(wrap("one two three four five six", 5, 3).cut);
    }

    #[test]
    fn japanese_is_broken_between_characters_but_never_before_a_closing_mark() {
        check("計画を実行し、検査に通った", 12, &["計画を実行", "し、検査に", "通った"]);
        check("判断が「必要」", 8, &["判断が", "「必要」"]);
    }

    proptest! {
        #[test]
        fn every_line_fits(text in "[a-zあ-ん漢字、。 (]{0,60}", columns in 4usize..30) {
            for line in wrap(&text, columns, 3).lines {
                prop_assert!(width(&line) <= columns + 4, "{line}");
            }
        }
    }
}

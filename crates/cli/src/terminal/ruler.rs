//! Display width of text: kana and kanji take two columns, combining marks none.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the display columns of a text without control characters.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts the text to so many columns. `…` marks the cut.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let mut used = 0;
    let mut kept = String::new();
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    Cow::Owned(kept)
}

/// Pads the text with trailing spaces.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{:missing$}", "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &str) {
        assert_eq!(cut(text, columns), expected);
    }

    #[test]
    fn text_is_cut_by_columns_and_not_by_characters() {
        check("implement", 20, "implement");
        check("implement", 9, "implement");
        check("implement", 6, "imple…");
        check("修正とログイン", 14, "修正とログイン");
        check("修正とログイン", 8, "修正と…");
        check("修正とログイン", 9, "修正とロ…");
        check("修正", 0, "");
        check("修正", 1, "…");
    }

    #[test]
    fn padding_counts_wide_characters_twice() {
        assert_eq!(pad("修正", 6), "修正  ");
        assert_eq!(pad("fix", 2), "fix");
    }

    proptest! {
        #[test]
        fn what_is_cut_always_fits(text in "[a-zあ-ん漢字é ]{0,30}", columns in 0usize..40) {
            prop_assert!(width(&cut(&text, columns)) <= columns);
        }
    }
}

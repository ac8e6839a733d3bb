//! Small parts of large texts.

pub(super) fn tail(text: &str, characters: usize) -> &str {
    match characters.checked_sub(1).and_then(|before| text.char_indices().rev().nth(before)) {
        Some((start, _)) => &text[start..],
        None if characters == 0 => "",
        None => text,
    }
}

/// Returns the first characters, with `…` where cut.
pub(super) fn head(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // T-93
    #[test]
    fn texts_are_cut_between_characters() {
        let check = |text, count, last: &str, first: &str| {
            assert_eq!((tail(text, count), head(text, count).as_str()), (last, first), "{text:?} {count}");
        };
        check("あいう", 2, "いう", "あい…");
        check("あいう", 3, "あいう", "あいう");
        check("あいう", 9, "あいう", "あいう");
        check("あいう", 0, "", "…");
        check("", 0, "", "");
    }
}

//! Rough token count of a text.

/// Estimates the tokens of a text: one for every four ASCII characters, one for every other character.
pub fn tokens(text: &str) -> u64 {
    quarters(text).div_ceil(4)
}

fn quarters(text: &str) -> u64 {
    text.chars().map(|character| if character.is_ascii() { 1 } else { 4 }).sum()
}

#[cfg(test)]
mod tests {
    use super::tokens;

    // T-105
    #[test]
    fn four_ascii_characters_are_one_token_and_so_is_every_other_character() {
        let all = ["", "a", "abcd", "abcde", "計画", "計画 a"].map(tokens);
        assert_eq!(all, [0, 1, 1, 2, 2, 3]);
    }
}

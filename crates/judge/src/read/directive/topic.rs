//! Topics as agents write them.

/// Maximum length of a topic, in characters.
const LONGEST: usize = 128;

/// Characters that may directly follow a topic without belonging to it.
const CLOSING: [char; 15] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '_', '~', '`'];

/// A topic and the rest of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken<'a> {
    pub(super) topic: &'a str,
    pub(super) closing: &'a str,
    pub(super) rest: &'a str,
}

/// Parses the topic at the start of a text (H-14, H-39).
pub(super) fn take(text: &str) -> Option<Taken<'_>> {
    let length = topic_length(text);
    let (topic, behind) = text.split_at(length);
    let rest = behind.trim_start_matches(CLOSING);
    let ends = rest.chars().next().is_none_or(|next| next.is_whitespace() || !next.is_ascii());
    let closing = &behind[..behind.len() - rest.len()];
    (length > 0 && length <= LONGEST && ends).then_some(Taken { topic, closing, rest })
}

/// Returns the length of `segment(.segment)*` at the start of a text. A segment starts and ends with a letter or digit.
fn topic_length(text: &str) -> usize {
    let mut end = 0;
    let mut may_end_segment = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                end = at + 1;
                may_end_segment = true;
            }
            b'_' | b'-' if at > 0 && text.as_bytes()[at - 1] != b'.' => may_end_segment = false,
            b'.' if may_end_segment => may_end_segment = false,
            _ => break,
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        assert_eq!(take(text).map(|taken| (taken.topic, taken.rest)), expected, "{text:?}");
    }

    // H-14
    #[test]
    fn a_topic_is_ascii_segments_joined_by_dots() {
        check("tests.failing", Some(("tests.failing", "")));
        check("topic_name", Some(("topic_name", "")));
        check("a-b_c.1.x--y", Some(("a-b_c.1.x--y", "")));
        check("_a", None);
        check("-a", None);
        check(".a", None);
        check("", None);
        check("<topic>", None);
        check("テスト", None);
        check(&"x".repeat(128), Some((&"x".repeat(128), "")));
        check(&"x".repeat(129), None);
    }

    // H-39, HC-13
    #[test]
    fn punctuation_behind_a_topic_never_belongs_to_it() {
        for end in [
            ".",
            ",",
            ";",
            "]",
            "}",
            "'",
            "~",
            ")",
            "`",
            "**",
            "**.",
            "_",
            "!?",
            "\")",
            "。",
            "を発行",
            " ",
            "\t",
        ] {
            let text = format!("tests.passing{end}");
            assert_eq!(take(&text).map(|taken| taken.topic), Some("tests.passing"), "{text:?}");
        }
        check("a. next", Some(("a", " next")));
        check("a: x", Some(("a", " x")));
    }

    // H-39
    #[test]
    fn what_runs_on_behind_a_topic_spoils_it() {
        for text in ["a|b", "a/b", "http://x", "a..b", "a=b", "a(b)", "a's", "a-", "a_.b.", "a.-b", "x<y"] {
            check(text, None);
        }
    }
}

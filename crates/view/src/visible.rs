//! Escaping of foreign text for display.
//!
//! A reply, a file name or a definition may contain escape sequences that recolour, retitle or overwrite a
//! terminal. It may also contain marks that reverse the reading direction, or lines that a CI service
//! executes as commands. This module shows all of them in escaped form.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes text for one line, line breaks included.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        push(&mut shown, character);
    }
    Cow::Owned(shown)
}

/// Escapes text of several lines. Line breaks and tabs stay.
pub fn visible_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body.strip_suffix('\r').unwrap_or(body), "\n"),
            None => (line, ""),
        };
        // A reader that works line by line must not take it for a command.
        if body.trim_start().starts_with("::") {
            shown.push('\\');
        }
        for character in body.chars() {
            match character {
                '\t' => shown.push('\t'),
                other => push(&mut shown, other),
            }
        }
        shown.push_str(end);
    }
    defused(&shown).into_owned()
}

/// Escapes text so that GitHub's runner finds no command in it, on any of our streams. A command starts a
/// line as `::name::`, or follows `##[` anywhere in a line.
///
/// Disabling commands around foreign text would not work: the runner reads stdout and stderr side by side,
/// and JSON has no room for it.
pub fn defused(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let mut lines = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive(['\n', '\r']) {
        if line.trim_start().strip_prefix("::").is_some_and(|rest| rest.contains("::")) {
            lines.push('\\');
        }
        lines.push_str(&line.replace("##[", "#\\#["));
    }
    Cow::Owned(lines)
}

fn push(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        hidden if is_hidden(hidden) => {
            let code = u32::from(hidden);
            // Writing to a string cannot fail.
            let _ =
                if code < 0x100 { write!(shown, "\\x{code:02x}") } else { write!(shown, "\\u{{{code:x}}}") };
        }
        plain => shown.push(plain),
    }
}

/// Returns true for control characters and those that change the direction or lines of nearby text.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(visible_text(text), expected);
    }

    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        check("a\x1b[31mred", "a\\x1b[31mred");
        check("\x1b]0;title\x07", "\\x1b]0;title\\x07");
        check("c1 \u{9b}31m, back\x08", "c1 \\x9b31m, back\\x08");
        check("over\rwritten", "over\\rwritten");
        check("bidi \u{202e}txt", "bidi \\u{202e}txt");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        check("計画を立てました。\n\tok\r\nend\n", "計画を立てました。\n\tok\nend\n");
    }

    #[test]
    fn lines_that_a_ci_service_would_obey_are_defused() {
        check("ok\n::add-mask::secret\n  ::error::x", "ok\n\\::add-mask::secret\n\\  ::error::x");
        check("##[error]boom, ##[x]", "#\\#[error]boom, #\\#[x]");
        check("a ::b:: c, d::e\n::x", "a ::b:: c, d::e\n\\::x");
        assert_eq!(defused("::: a.yaml\n::x\r::y::"), "::: a.yaml\n::x\r\\::y::", "ours, and no command");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(visible_line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(visible_line("plain"), "plain");
    }

    proptest! {
        #[test]
        fn no_command_is_left_and_what_is_defused_stays_as_it_is(text in "([ :#\\[\r\na\u{85}\u{3000}]|::|##\\[){0,12}") {
            let lines = defused(&text).into_owned();
            prop_assert!(!lines.contains("##["), "{lines:?}");
            let is_command = |line: &str| line.trim_start().strip_prefix("::").is_some_and(|rest| rest.contains("::"));
            prop_assert!(!lines.split(['\n', '\r']).any(is_command), "{lines:?}");
            prop_assert_eq!(defused(&lines), lines.as_str());
        }

        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            prop_assert!(!visible_line(&text).chars().any(is_hidden));
            prop_assert!(!visible_text(&text).chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'));
        }
    }
}

//! Terminal escape sequences, which have no meaning in a reply.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
/// The one-character forms of `ESC [`, `ESC ]` and the other string openings.
const CONTROL_SEQUENCE: char = '\u{9b}';
const STRINGS: [char; 5] = ['\u{9d}', '\u{90}', '\u{98}', '\u{9e}', '\u{9f}'];
const STRING_END: char = '\u{9c}';

/// Removes escape sequences. A sequence never crosses the end of its line, so the number of lines stays the same.
pub(super) fn strip(text: &str) -> Cow<'_, str> {
    if !text.contains(begins_sequence) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        strip_line(line, &mut plain);
    }
    Cow::Owned(plain)
}

fn begins_sequence(character: char) -> bool {
    character == ESCAPE || character == CONTROL_SEQUENCE || STRINGS.contains(&character)
}

fn strip_line(line: &str, plain: &mut String) {
    let (body, ending) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    let mut rest = body;
    // If one string has no end on this line, no later one has. Searching again would take quadratic time.
    let mut strings_end = true;
    while let Some(at) = rest.find(begins_sequence) {
        plain.push_str(&rest[..at]);
        rest = behind_sequence(&rest[at..], &mut strings_end);
    }
    plain.push_str(rest);
    plain.push_str(ending);
}

/// Returns the text after the leading sequence. A broken sequence loses only its first character.
fn behind_sequence<'a>(text: &'a str, strings_end: &mut bool) -> &'a str {
    let mut characters = text.chars();
    let first = characters.next();
    let body = characters.as_str();
    match first {
        Some(CONTROL_SEQUENCE) => behind_control(body),
        Some(ESCAPE) => match characters.next() {
            Some('[') => behind_control(characters.as_str()),
            Some(']' | 'P' | 'X' | '^' | '_') => behind_string(characters.as_str(), body, strings_end),
            Some(' '..='/') => behind_short(body),
            Some('0'..='~') => characters.as_str(),
            Some(_) | None => body,
        },
        Some(_) => behind_string(body, body, strings_end),
        None => body,
    }
}

/// `ESC [` parameters, intermediates, one final character.
fn behind_control(text: &str) -> &str {
    let text = text.trim_start_matches(|c| ('0'..='?').contains(&c));
    let text = text.trim_start_matches(|c| (' '..='/').contains(&c));
    text.strip_prefix(|c| ('@'..='~').contains(&c)).unwrap_or(text)
}

/// `ESC` intermediates, one final character.
fn behind_short(text: &str) -> &str {
    let text = text.trim_start_matches(|c| (' '..='/').contains(&c));
    text.strip_prefix(|c| ('0'..='~').contains(&c)).unwrap_or(text)
}

/// Skips a title or a link: everything up to a bell or `ESC \`.
fn behind_string<'a>(text: &'a str, broken: &'a str, strings_end: &mut bool) -> &'a str {
    let end = if *strings_end { text.find([BELL, STRING_END, ESCAPE]) } else { None };
    let Some(end) = end else {
        *strings_end = false;
        return broken;
    };
    let rest = &text[end..];
    match rest.strip_prefix("\u{1b}\\") {
        Some(rest) => rest,
        // Another sequence starts inside the string, so the string never ended.
        None if rest.starts_with(ESCAPE) => broken,
        None => rest.strip_prefix([BELL, STRING_END]).unwrap_or(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(strip(text), expected, "{text:?}");
    }

    // H-36
    #[test]
    fn colours_titles_links_and_short_sequences_are_removed() {
        check("plain\r\ntext\n", "plain\r\ntext\n");
        check("\x1b[1;32mgreen\x1b[0m", "green");
        check("\x1b[2K\x1b[1A\x1b(Bx\x1b7", "x");
        check("\x1b]0;title\x07x", "x");
        check("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link");
        check("\u{9b}31mred\u{9b}m", "red");
    }

    #[test]
    fn a_broken_sequence_takes_no_line_with_it() {
        check("\x1b", "");
        check("a\x1b[", "a");
        check("\x1b]0;title\nEVENT: x\x07", "]0;title\nEVENT: x\x07");
        check("\x1b]0;a\x1b[1mb", "]0;ab");
        check("\x1b[31\nm", "\nm");
    }

    #[test]
    fn the_number_of_lines_stays() {
        let text = "\x1b[\n\x1b]\n\x1b\r\n\x1bP\x1b\n\n";
        assert_eq!(strip(text).matches('\n').count(), text.matches('\n').count());
    }

    // H-35
    #[test]
    fn unended_strings_cost_no_square() {
        let text = "\x1b]".repeat(1_000_000);
        assert_eq!(strip(&text).len(), 1_000_000);
    }
}

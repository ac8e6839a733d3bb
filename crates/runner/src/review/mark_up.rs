//! Escapes foreign text inside our Markdown.
//!
//! An agent's text must not look like ours, so headings, quotes, tables and HTML lose their meaning. Reading
//! a report must not fetch an address from an agent, so an image becomes a link. Emphasis, inline code and
//! closed code blocks stay, because agents write them for people.

use crate::visible::{visible_line, visible_text};

/// Escapes a text for one line.
pub(super) fn line(text: &str) -> String {
    escaped(&harmless(&visible_line(text)), &mut Spans::Closed)
}

/// Formats a text as inline code.
pub(super) fn code(text: &str) -> String {
    let text = harmless(&visible_line(text));
    let ticks = "`".repeat(longest_ticks(std::slice::from_ref(&text)) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// Keeps a line of code, except for sequences that a terminal or a CI service obeys.
pub(super) fn defused(text: &str) -> String {
    harmless(&visible_text(text))
}

/// Escapes the lines of a text. A closed code block stays a code block.
pub(super) fn lines(text: &str) -> Vec<String> {
    let text = defused(text);
    let all: Vec<&str> = text.lines().collect();
    let mut shown = Vec::with_capacity(all.len());
    let mut in_block = false;
    let mut spans = Spans::Closed;
    for (index, one) in all.iter().enumerate() {
        let opens = || opens_block(one) && all[index + 1..].iter().any(|later| closes_block(later));
        if in_block {
            in_block = !closes_block(one);
            shown.push((*one).to_owned());
        } else if opens() {
            in_block = true;
            shown.push((*one).to_owned());
        } else {
            shown.push(escaped(one, &mut spans));
        }
    }
    shown
}

/// Returns the length of the longest run of backticks.
pub(super) fn longest_ticks(lines: &[String]) -> usize {
    let runs = lines.iter().flat_map(|line| line.split(|letter| letter != '`'));
    runs.map(str::len).max().unwrap_or(0)
}

/// Returns true for three backticks with an optional language.
fn opens_block(line: &str) -> bool {
    let named = line.trim_end().strip_prefix("```");
    named.is_some_and(|name| {
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-#".contains(letter))
    })
}

fn closes_block(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'`')
}

/// Escapes the sequence that GitHub's runner obeys anywhere in a line.
fn harmless(text: &str) -> String {
    text.replace("##[", "#\\#[")
}

/// Returns true for a line that makes the line above a heading or a table head.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|letter| "-:|".contains(letter) || letter.is_whitespace())
}

/// The state of inline code before a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spans {
    /// Every backtick is closed on its own line.
    Closed,
    /// A backtick may still be open.
    Open,
}

/// Escapes headings, quotes, tables, images, fences and HTML in a line.
fn escaped(line: &str, spans: &mut Spans) -> String {
    let body = behind_markers(line);
    let mut shown = line[..line.len() - body.len()].to_owned();
    let opens = ["#", ">", "|", "=", "```", "~~~"];
    if opens.iter().any(|sign| body.starts_with(sign)) || is_rule(body) {
        shown.push('\\');
    }
    // The end of inline code is certain only with single backticks that close on the same line.
    let has_spans = *spans == Spans::Closed && !body.contains("``");
    let (mut in_code, mut is_escaped) = (false, false);
    for (at, letter) in body.char_indices() {
        let rest = &body[at + letter.len_utf8()..];
        if letter == '`' && (in_code || !is_escaped) {
            in_code = has_spans && !in_code && rest.contains('`');
        }
        let is_tag = rest.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next));
        let is_image = letter == '!' && rest.starts_with('[');
        if ((letter == '<' && is_tag) || is_image) && !in_code && !is_escaped {
            shown.push('\\');
        }
        // A character after a backslash is already escaped. Another backslash would undo that.
        is_escaped = letter == '\\' && !is_escaped && !in_code;
        shown.push(letter);
    }
    if body.matches('`').count() % 2 == 1 || body.contains("``") || body.contains("\\`") {
        *spans = Spans::Open;
    }
    shown
}

/// Returns the part of a line after blanks and list markers. A heading can start there too.
fn behind_markers(line: &str) -> &str {
    let body = line.trim_start();
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match body[digits..].chars().next() {
        Some('-' | '*' | '+') if digits == 0 => 1,
        Some('.' | ')') if digits > 0 => digits + 1,
        Some(_) | None => return body,
    };
    match &body[marker..] {
        rest if rest.starts_with([' ', '\t']) => behind_markers(rest),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(lines(text).join("\n"), expected);
    }

    // R-49
    #[test]
    fn an_agents_words_cannot_look_like_ours() {
        check("# All is well\n> quoted\n| a |", "\\# All is well\n\\> quoted\n\\| a |");
        check("Review passed\n---\nb\n -\n- c", "Review passed\n\\---\nb\n \\-\n- c");
        check("a | b\n:-- | --:", "a | b\n\\:-- | --:");
        check("a <script>x</script>", "a \\<script>x\\</script>");
        check("see `Vec<u8>` and 1 < 2", "see `Vec<u8>` and 1 < 2");
        check("open ` <b>", "open ` \\<b>");
        check("`` ` <b> ``", "`` ` \\<b> ``");
        check("x ##[error]y", "x #\\#[error]y");
        check("- # Review passed\n1. ## x\n* + > q", "- \\# Review passed\n1. \\## x\n* + \\> q");
        check("a | b\n--- | ---\n1 | 2", "a | b\n\\--- | ---\n1 | 2");
        check("a\n:-:", "a\n\\:-:");
        check("- 1\n-1 *x* 3.5", "- 1\n-1 *x* 3.5");
    }

    // Reading a report fetches no address from an agent
    #[test]
    fn an_image_becomes_a_link() {
        check("![x](https://host/?data)", "\\![x](https://host/?data)");
        check("`![x](u)` wow![y][z] !", "`![x](u)` wow\\![y][z] !");
    }

    // The agent's own backslash does not cancel ours, and an unclosed backtick hides nothing
    #[test]
    fn what_is_escaped_already_is_not_given_back_its_meaning() {
        check("\\<b> \\\\<b> \\![x](u)", "\\<b> \\\\\\<b> \\![x](u)");
        check("\\` <b> `", "\\` \\<b> `");
        check("a `\n` <b> `", "a `\n` \\<b> `");
        check("a `b\\` <b>", "a `b\\` \\<b>");
    }

    // R-49
    #[test]
    fn blocks_of_code_stay_where_they_are_closed() {
        check("Do:\n```rust\n# x <b>\n```\n# y", "Do:\n```rust\n# x <b>\n```\n\\# y");
        check("```\n# never closed", "\\```\n\\# never closed");
        check("```\na\n````\n# after", "```\na\n````\n\\# after");
    }

    #[test]
    fn code_in_a_line_is_enclosed_by_more_backticks_than_it_has() {
        assert_eq!(code("a.rs:3"), "`a.rs:3`");
        assert_eq!(code("a``b`"), "``` a``b` ```");
    }
}

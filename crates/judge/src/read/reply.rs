//! The text of a reply as its readers see it: its last part, by lines, without escape sequences, and with the lines
//! that only repeat the prompt.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;

use crate::read::markdown::{FencedBlocks, QuotedLines};

/// A reply by lines, with its fenced and echoed parts.
#[derive(Debug)]
pub(crate) struct ParsedReply<'a> {
    pub(crate) window: ReplyWindow<'a>,
    /// The same part without escape sequences; its lines match those of the window.
    pub(crate) page: ReplyLines<'a>,
    pub(crate) echo: PromptEcho<'a>,
    fences: OnceCell<FencedBlocks<'a>>,
    quoted: OnceCell<QuotedLines>,
}

impl<'a> ParsedReply<'a> {
    /// `plain` is the window's text without escape sequences.
    pub(crate) fn new(window: ReplyWindow<'a>, plain: &'a str, prompt: &'a str) -> Self {
        Self {
            window,
            page: ReplyLines::new(plain),
            echo: PromptEcho::of(prompt),
            fences: OnceCell::new(),
            quoted: OnceCell::new(),
        }
    }

    pub(crate) fn fences(&self) -> &FencedBlocks<'a> {
        self.fences.get_or_init(|| FencedBlocks::of(&self.page))
    }

    pub(crate) fn quoted(&self) -> &QuotedLines {
        self.quoted.get_or_init(|| QuotedLines::of(&self.page))
    }

    /// Returns a line number for people: from 1, in the whole reply.
    pub(crate) fn number(&self, line: usize) -> u32 {
        u32::try_from(self.window.lines_before + line + 1).unwrap_or(u32::MAX)
    }

    /// Returns true if a line only repeats the prompt. The last line never does (H-37).
    pub(crate) fn is_echo(&self, line: usize) -> bool {
        self.page.last_filled() != Some(line) && self.echo.covers(&self.page, line)
    }

    /// Returns true if these lines and a neighbouring line repeat the prompt. A value that equals an example of the
    /// prompt is an answer. With the words around the example, it is an echo.
    pub(crate) fn is_echo_in_context(&self, first: usize, last: usize) -> bool {
        let repeats = |from: usize, to: usize| {
            let mut filled = (from..=to).filter(|line| !self.page.line(*line).trim().is_empty());
            filled.all(|line| self.echo.covers(&self.page, line))
        };
        self.page.filled_before(first).is_some_and(|lead| repeats(lead, last))
            || self.page.filled_after(last).is_some_and(|trail| repeats(first, trail))
    }
}

/// The last part of a reply, small enough to read (C-52).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyWindow<'a> {
    pub(crate) text: &'a str,
    /// Offset in the whole reply.
    pub(crate) offset: usize,
    /// Number of lines before it.
    lines_before: usize,
}

impl<'a> ReplyWindow<'a> {
    /// Maximum bytes of a reply to read.
    const LIMIT: usize = 4 * 1024 * 1024;

    /// Returns the whole reply, or its last 4 MiB from the start of a line: half a line may change its meaning.
    pub(crate) fn of(reply: &'a str) -> Self {
        if reply.len() <= Self::LIMIT {
            return Self { text: reply, offset: 0, lines_before: 0 };
        }
        let at_least = reply.len() - Self::LIMIT;
        let cut = (at_least..).find(|at| reply.is_char_boundary(*at)).unwrap_or(reply.len());
        let offset = match reply[cut..].find('\n') {
            Some(newline) if cut + newline + 1 < reply.len() => cut + newline + 1,
            Some(_) | None => cut,
        };
        let lines_before = reply[..offset].matches('\n').count();
        Self { text: &reply[offset..], offset, lines_before }
    }

    /// Returns a warning for a person if the reply was cut.
    pub(crate) fn warning(&self) -> Option<String> {
        (self.offset > 0).then(|| {
            format!("the reply is longer than 4 MiB: its first {} bytes were kept but not read", self.offset)
        })
    }
}

/// A text and the offsets of its lines.
#[derive(Debug)]
pub(crate) struct ReplyLines<'a> {
    text: &'a str,
    /// 32-bit offsets, because a window is small. A reply of only line ends must not cost a hundred megabytes.
    starts: Vec<u32>,
}

impl<'a> ReplyLines<'a> {
    /// Splits a window, or a shorter text, into lines.
    pub(crate) fn new(text: &'a str) -> Self {
        let first = (!text.is_empty()).then_some(0);
        let others = text.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < text.len());
        let starts = first.into_iter().chain(others);
        Self {
            text,
            starts: starts.map(|at| u32::try_from(at).expect("a window is 4 MiB at most")).collect(),
        }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the number of lines.
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the offset of a line; the end of the text for the line after the last.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(self.text.len(), |at| *at as usize)
    }

    /// Returns a line without its line end; empty after the last.
    pub(crate) fn line(&self, line: usize) -> &'a str {
        let whole = &self.text[self.start(line)..self.start(line + 1)];
        whole.trim_end_matches(['\r', '\n'])
    }

    /// Returns the line of a byte offset.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1)
    }

    /// Returns the last line that is not blank.
    pub(crate) fn last_filled(&self) -> Option<usize> {
        let end = self.text.trim_end().len();
        end.checked_sub(1).map(|last| self.line_at(last))
    }

    /// Returns the nearest earlier line that is not blank.
    pub(crate) fn filled_before(&self, line: usize) -> Option<usize> {
        (0..line).rev().find(|line| !self.line(*line).trim().is_empty())
    }

    /// Returns the nearest later line that is not blank.
    fn filled_after(&self, line: usize) -> Option<usize> {
        (line + 1..self.count()).find(|line| !self.line(*line).trim().is_empty())
    }
}

/// Number of lines in a row that make an echo.
const RUN: usize = 3;

/// Index of the prompt: all groups of three consecutive lines, without blank ones.
///
/// A line belongs to a run of three or more repeated lines exactly if it belongs to a run of three. So the index stores
/// only threes, and a check reads only the lines around a candidate.
#[derive(Debug)]
pub(crate) struct PromptEcho<'a> {
    prompt: &'a str,
    runs: OnceCell<HashSet<[&'a str; RUN]>>,
}

impl<'a> PromptEcho<'a> {
    pub(crate) fn of(prompt: &'a str) -> Self {
        Self { prompt, runs: OnceCell::new() }
    }

    /// Returns true if a line of the reply is one of three consecutive lines of the prompt.
    pub(crate) fn covers(&self, page: &ReplyLines<'a>, line: usize) -> bool {
        let runs = self.runs.get_or_init(|| runs(self.prompt));
        if runs.is_empty() {
            return false;
        }
        let mut lines = [None; 2 * RUN - 1];
        lines[RUN - 1] = Some(line);
        for distance in 1..RUN {
            lines[RUN - 1 - distance] = lines[RUN - distance].and_then(|line| previous(page, line));
            lines[RUN - 1 + distance] = lines[RUN - 2 + distance].and_then(|line| next(page, line));
        }
        // A reply may repeat the prompt literally or as a quotation. Quotations inside the prompt do not count.
        [str::trim, essence].into_iter().any(|compared| {
            let around = lines.map(|line| line.map_or("", |line| compared(page.line(line))));
            around.windows(RUN).any(|run| runs.contains(run))
        })
    }

    /// Returns true if the reply and the prompt end with the same lines, three or more.
    pub(crate) fn reaches_the_end(&self, page: &ReplyLines<'a>) -> bool {
        let mut said =
            (0..page.count()).rev().map(|line| essence(page.line(line))).filter(|line| !line.is_empty());
        let mut asked = self.prompt.lines().rev().map(essence).filter(|line| !line.is_empty());
        (0..RUN).all(|_| match (said.next(), asked.next()) {
            (Some(said), Some(asked)) => said == asked,
            (Some(_) | None, _) => false,
        })
    }
}

/// Strips surrounding blanks and quotation marks (`>`) from a line.
pub(crate) fn essence(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>').trim_end()
}

/// Returns the nearest earlier line that is not blank or an empty quotation.
pub(crate) fn previous(page: &ReplyLines<'_>, line: usize) -> Option<usize> {
    (0..line).rev().find(|line| !essence(page.line(*line)).is_empty())
}

/// Returns the nearest later line that is not blank or an empty quotation.
pub(crate) fn next(page: &ReplyLines<'_>, line: usize) -> Option<usize> {
    (line + 1..page.count()).find(|line| !essence(page.line(*line)).is_empty())
}

fn runs(prompt: &str) -> HashSet<[&str; RUN]> {
    let mut found = HashSet::new();
    let mut run = [""; RUN];
    for line in prompt.lines().map(str::trim).filter(|line| !essence(line).is_empty()) {
        run.rotate_left(1);
        run[RUN - 1] = line;
        if !run[0].is_empty() {
            found.insert(run);
        }
    }
    found
}

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
/// The one-character forms of `ESC [`, `ESC ]` and the other string openings.
const CONTROL_SEQUENCE: char = '\u{9b}';
const STRINGS: [char; 5] = ['\u{9d}', '\u{90}', '\u{98}', '\u{9e}', '\u{9f}'];
const STRING_END: char = '\u{9c}';

/// Removes escape sequences. A sequence never crosses the end of its line, so the number of lines stays the same.
pub(crate) fn strip_escapes(text: &str) -> Cow<'_, str> {
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
mod window_tests {
    use super::*;

    #[test]
    fn a_short_reply_is_read_whole() {
        let text = "x".repeat(ReplyWindow::LIMIT);
        let window = ReplyWindow::of(&text);
        assert_eq!((window.text.len(), window.offset, window.warning()), (ReplyWindow::LIMIT, 0, None));
    }

    // C-52
    #[test]
    fn a_long_reply_is_read_from_the_first_whole_line_of_its_last_four_mebibytes() {
        let text = format!("first\n{}\nlast", "x".repeat(ReplyWindow::LIMIT));
        let window = ReplyWindow::of(&text);
        assert_eq!((window.text, window.lines_before), ("last", 2));
        assert_eq!(&text[window.offset..], window.text);
        insta::assert_snapshot!(
            window.warning().unwrap(),
            @"the reply is longer than 4 MiB: its first 4194311 bytes were kept but not read"
        );
    }

    // C-52, T-93
    #[test]
    fn one_long_line_is_cut_between_two_characters() {
        for lead in 0..3 {
            let text = format!("{}{}", "x".repeat(lead), "あ".repeat(ReplyWindow::LIMIT / 3 + 10));
            let window = ReplyWindow::of(&text);
            assert!(window.text.len() <= ReplyWindow::LIMIT && window.text.len() > ReplyWindow::LIMIT - 3);
            assert!(window.text.starts_with('あ'));
        }
    }
}

#[cfg(test)]
mod page_tests {
    use super::*;

    #[test]
    fn lines_have_numbers_starts_and_no_ends() {
        let page = ReplyLines::new("a\r\n\nあb\n  \n");
        assert_eq!(page.count(), 4);
        let lines: Vec<_> = (0..5).map(|line| page.line(line)).collect();
        assert_eq!(lines, ["a", "", "あb", "  ", ""]);
        assert_eq!((page.start(2), page.start(3), page.start(9)), (4, 9, 12));
        assert_eq!((page.line_at(0), page.line_at(4), page.line_at(8), page.line_at(11)), (0, 2, 2, 3));
        assert_eq!(
            (page.last_filled(), page.filled_before(2), page.filled_before(0)),
            (Some(2), Some(0), None)
        );
    }

    #[test]
    fn an_empty_text_has_no_lines() {
        let page = ReplyLines::new("");
        assert_eq!((page.count(), page.line(0), page.last_filled()), (0, "", None));
        assert_eq!(ReplyLines::new("\n \n").last_filled(), None);
    }
}

#[cfg(test)]
mod echo_tests {
    use super::*;

    /// `=` marks each line of the reply that is an echo.
    fn check(prompt: &str, expected: &str) {
        let reply: String = expected.lines().map(|line| format!("{}\n", &line[1..])).collect();
        let (echo, page) = (PromptEcho::of(prompt), ReplyLines::new(&reply));
        let marked: String = (0..page.count())
            .map(|line| if echo.covers(&page, line) { '=' } else { ' ' })
            .zip(reply.lines())
            .map(|(mark, line)| format!("{mark}{line}\n"))
            .collect();
        assert_eq!(marked, expected);
    }

    // H-37
    #[test]
    fn three_lines_in_a_row_are_an_echo_and_two_are_none() {
        check("a\nb\nc\nd", "=a\n=b\n=c\n x\n c\n d\n");
        check("a\nb\nc\nd", "=b\n=c\n=d\n");
        check("a\nb", " a\n b\n");
        check("", " a\n b\n c\n");
        check("a\nb\nc", " a\n c\n b\n");
    }

    #[test]
    fn blank_lines_and_blanks_hide_no_echo() {
        check("a\n\n  b\n\nc", "=a\n=b  \n=c\n");
    }

    // H-37: a reply may repeat an earlier reply that its prompt quotes.
    #[test]
    fn what_the_prompt_only_quotes_may_be_said_again() {
        check("> a\n> b\n> c", " a\n b\n c\n");
        check("> a\n> b\n> c", "=> a\n=> b\n=> c\n");
        check("a\nb\nc", "=> a\n >\n=> b\n \n=> c\n");
    }

    #[test]
    fn runs_from_different_places_of_the_prompt_may_touch() {
        check("a\nb\nc\nx\nd\ne\nf", "=a\n=b\n=c\n=d\n=e\n=f\n");
    }

    #[test]
    fn a_reply_may_end_as_its_prompt_ends() {
        let ends =
            |prompt: &str, reply: &str| PromptEcho::of(prompt).reaches_the_end(&ReplyLines::new(reply));
        assert!(ends("a\nb\nc\n\nd\n", "x\nb\nc\nd"));
        assert!(!ends("a\nb\nc\nd\n", "x\na\nb\nc"));
        assert!(!ends("c\nd\n", "c\nd"));
        assert!(!ends("", ""));
    }
}

#[cfg(test)]
mod ansi_tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(strip_escapes(text), expected, "{text:?}");
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
        assert_eq!(strip_escapes(text).matches('\n').count(), text.matches('\n').count());
    }

    // H-35
    #[test]
    fn unended_strings_cost_no_square() {
        let text = "\x1b]".repeat(1_000_000);
        assert_eq!(strip_escapes(&text).len(), 1_000_000);
    }
}

//! `EVENT: topic message`.

use std::sync::LazyLock;

use regex::Regex;
use saihai_model::Directives;

use super::miss::Miss;
use super::topic::{self, Taken};
use crate::route;

static EVENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(?i-u:event)[:：]").expect("the pattern is fixed"));

/// Maximum length of a message in characters, and its ending when cut.
const LONGEST_MESSAGE: usize = 4_000;
const CUT: &str = " …[cut]";

/// The word `EVENT:` and the text up to the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark<'a> {
    capitals: bool,
    /// True if only blanks, a list marker and emphasis precede it.
    pub(super) opens_line: bool,
    /// Emphasis directly before it, which ends with the topic or with the message.
    emphasis: Option<char>,
    pub(super) rest: &'a str,
}

impl<'a> Mark<'a> {
    /// Returns its topic, if that is well-formed.
    pub(super) fn topic(&self) -> Option<Taken<'a>> {
        topic::take(self.rest.trim_start())
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marked<'a> {
    pub(super) topic: &'a str,
    pub(super) message: Option<String>,
}

/// Returns every `EVENT:` of a line that is a word of its own (H-38).
pub(super) fn marks(line: &str) -> Vec<Mark<'_>> {
    let mut found: Vec<(usize, usize, Mark<'_>)> = Vec::new();
    let mut is_first = true;
    for hit in EVENT.find_iter(line) {
        let before = &line[..hit.start()];
        // Only the first can open the line; checking again would rescan the same prefix.
        let opens_line = std::mem::take(&mut is_first) && is_opening(before);
        let neighbour = before.chars().next_back();
        if !opens_line && neighbour.is_some_and(joins_words) {
            continue;
        }
        let capitals = hit.as_str().starts_with("EVENT");
        let emphasis = neighbour.filter(|mark| matches!(mark, '*' | '_' | '`'));
        found.push((hit.start(), hit.end(), Mark { capitals, opens_line, emphasis, rest: "" }));
    }
    let mut end = line.len();
    for (start, after, mark) in found.iter_mut().rev() {
        mark.rest = &line[*after..end.max(*after)];
        if mark.capitals {
            end = *start;
        }
    }
    found.into_iter().map(|(_, _, mark)| mark).collect()
}

/// Interprets a mark: an event, a near miss, or neither.
pub(super) fn published<'a>(mark: &Mark<'a>, directives: &Directives) -> Option<Result<Marked<'a>, Miss>> {
    let Some(taken) = mark.topic() else {
        return mark.capitals.then_some(Err(Miss::MalformedTopic));
    };
    if directives.words.iter().any(|end| end.word == taken.topic) {
        return None;
    }
    // A lone `*` takes every topic and therefore makes none of them known.
    let names = |pattern: &str| pattern != "*" && route::matches(pattern, taken.topic);
    let is_known = || directives.known.iter().any(|known| names(known.as_str()));
    if mark.capitals || (mark.opens_line && is_known()) {
        return Some(Ok(Marked { topic: taken.topic, message: message(mark, &taken) }));
    }
    is_known().then_some(Err(Miss::WrongCase))
}

/// Returns the message of an event (H-40).
fn message(mark: &Mark<'_>, taken: &Taken<'_>) -> Option<String> {
    let mut text = taken.rest.trim();
    if let Some(emphasis) = mark.emphasis.filter(|emphasis| !taken.closing.contains(*emphasis)) {
        text = text.trim_end_matches(emphasis).trim_end();
    }
    // One separator precedes the message; a colon directly after the topic is that separator.
    if !taken.closing.contains(':') {
        text = text.strip_prefix([':', '-', '–', '—', '|']).unwrap_or(text).trim_start();
    }
    if text.chars().all(is_punctuation) {
        return None;
    }
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => Some(format!("{}{CUT}", &text[..end])),
        None => Some(text.to_owned()),
    }
}

fn is_opening(before: &str) -> bool {
    let is_emphasis = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '`');
    let mut rest = before.trim_start_matches(is_emphasis);
    while let Some(behind) = behind_list_marker(rest) {
        rest = behind.trim_start_matches(is_emphasis);
    }
    rest.is_empty()
}

/// Returns the text after `- `, `+ `, `1. ` or `1) `.
fn behind_list_marker(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest =
        if rest.len() == text.len() { rest.strip_prefix(['-', '+']) } else { rest.strip_prefix(['.', ')']) }?;
    rest.starts_with(char::is_whitespace).then_some(rest)
}

/// Returns true if this character before a word makes it part of a longer one.
fn joins_words(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

fn is_punctuation(character: char) -> bool {
    match character {
        c if c.is_ascii() => !c.is_ascii_alphanumeric(),
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{fe0f}' => true,
        '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}'
        | '\u{ff5b}'..='\u{ff65}' => true,
        c => c.is_whitespace(),
    }
}

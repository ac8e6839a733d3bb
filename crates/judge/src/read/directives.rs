//! Directives: events (`EVENT: topic message`), closing words, and near misses of both.

use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use saihai_model::{
    DirectiveExtraction, Directives, NearMiss, NearMissReason, PublishedEvent, Reading, Topic,
    is_topic_connector, is_topic_letter,
};

use crate::read::reply::ParsedReply;
use crate::{read, rules};

/// Maximum number of recorded events of one reply. It keeps the output of a runaway loop out of the journal.
const RECORDED: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct DirectivesOfReply {
    events: Vec<PublishedEvent>,
    end_word: Option<String>,
    misses: NearMisses,
}

impl DirectivesOfReply {
    pub(crate) fn put_into(mut self, reading: &mut Reading) {
        if let Some(left_out) = self.events.len().checked_sub(RECORDED).filter(|count| *count > 0) {
            self.events.drain(..left_out);
            reading.warnings.push(format!("too many events: the first {left_out} were not recorded"));
        }
        reading.events = self.events;
        reading.end_word = self.end_word;
        reading.near_misses = self.misses.0.into();
    }
}

/// Reads the directives of a reply without regard to permission. The engine checks scope and required events.
pub(crate) fn read_directives(reply: &ParsedReply<'_>, directives: &Directives) -> DirectivesOfReply {
    let mut found = DirectivesOfReply::default();
    let Some(pattern) = candidates(directives) else {
        return found;
    };
    let last = last_read(reply);
    let mut before = None;
    for at in pattern.find_iter(reply.page.text()).map(|candidate| candidate.start()) {
        let line = reply.page.line_at(at);
        if before.replace(line) != Some(line) {
            read_line(&DirectiveLine { reply, line, is_last: last == Some(line) }, directives, &mut found);
        }
    }
    found
}

/// Builds a pattern for possible directives, to skip all other lines.
fn candidates(directives: &Directives) -> Option<Regex> {
    let words = directives.words.iter().map(|end| regex::escape(&end.word)).filter(|word| !word.is_empty());
    let all: Vec<String> = words.chain(["event[:：]".to_owned()]).collect();
    RegexBuilder::new(&all.join("|")).case_insensitive(true).build().ok()
}

/// A line of a reply.
struct DirectiveLine<'a, 'r> {
    reply: &'a ParsedReply<'r>,
    line: usize,
    is_last: bool,
}

fn read_line(
    DirectiveLine { reply, line, is_last }: &DirectiveLine<'_, '_>,
    directives: &Directives,
    found: &mut DirectivesOfReply,
) {
    let text = reply.page.line(*line);
    let marks = event_marks(text);
    let anywhere = directives.extraction == DirectiveExtraction::Anywhere;
    let miss = shown_only(reply, *line).or_else(|| {
        // The last line always counts as the agent's own (H-37).
        (!is_last && reply.echo.covers(&reply.page, *line)).then_some(NearMissReason::Echoed)
    });
    let miss = miss.filter(|_| !anywhere);
    if let Some(miss) = miss {
        if says_something(text, &marks, directives) {
            found.misses.add(miss, text);
        }
        return;
    }
    for end in directives.words.iter().filter(|end| !end.word.is_empty()) {
        let used = match anywhere && text.contains(&end.word) {
            true => Some(ClosingWordUse::Directive),
            false => closing_word_use(text, &marks, &end.word, *is_last),
        };
        match used {
            Some(ClosingWordUse::Directive) => found.end_word = Some(end.word.clone()),
            Some(ClosingWordUse::InsideSentence) => found.misses.add(NearMissReason::InsideSentence, text),
            Some(ClosingWordUse::WrongCase) => found.misses.add(NearMissReason::WrongCase, text),
            None => {}
        }
    }
    let opens_line = marks.first().is_some_and(|mark| mark.opens_line);
    for mark in &marks {
        let counts = anywhere || opens_line || (*is_last && !is_negated(mark.before));
        match published_event(mark, directives) {
            Some(Ok(_)) if !counts => found.misses.add(NearMissReason::InsideSentence, text),
            Some(Ok(MarkedEvent { topic, message })) => {
                found.events.push(PublishedEvent { topic: topic.into(), message, line: reply.number(*line) });
            }
            Some(Err(miss)) => match topic_below(reply, *line, mark, directives) {
                Some((line, topic)) => {
                    let line = reply.number(line);
                    found.events.push(PublishedEvent { topic: topic.into(), message: None, line });
                }
                None => found.misses.add(miss, text),
            },
            None => {}
        }
    }
}

/// Returns the topic of an `EVENT:` that ends its line: the only word of the next line, if the definition has it.
fn topic_below<'r>(
    reply: &'r ParsedReply<'_>,
    line: usize,
    mark: &EventMark<'_>,
    directives: &Directives,
) -> Option<(usize, &'r str)> {
    if !mark.opens_line || !mark.rest.trim_matches(opens_topic).is_empty() {
        return None;
    }
    let mut below = line + 1..reply.page.count();
    let next = below.find(|line| !reply.page.line(*line).trim().is_empty())?;
    let text = reply.page.line(next).trim_start_matches(opens_topic);
    let text = behind_list_marker(text).unwrap_or(text).trim_matches(is_decoration);
    (shown_only(reply, next).is_none() && is_known(text, directives)).then_some((next, text))
}

/// Returns true for a topic that some stage takes or publishes. A lone `*` takes every topic and names none.
fn is_known(topic: &str, directives: &Directives) -> bool {
    let names = |pattern: &str| pattern != "*" && rules::matches(pattern, topic);
    !topic.is_empty() && directives.known.iter().any(|known| names(known.as_str()))
}

/// Returns the last line of the reply's own words. A quotation or a fenced block after it does not change that.
fn last_read(reply: &ParsedReply<'_>) -> Option<usize> {
    let is_read =
        |line: &usize| !reply.page.line(*line).trim().is_empty() && shown_only(reply, *line).is_none();
    (0..reply.page.count()).rev().find(is_read)
}

/// Returns the reason why a line only quotes something.
fn shown_only(reply: &ParsedReply<'_>, line: usize) -> Option<NearMissReason> {
    if reply.fences().contain(line) {
        Some(NearMissReason::InCodeBlock)
    } else {
        reply.page.line(line).trim_start().starts_with('>').then_some(NearMissReason::Quoted)
    }
}

/// Returns true if a line would be a directive outside a quotation.
fn says_something(text: &str, marks: &[EventMark<'_>], directives: &Directives) -> bool {
    marks.iter().any(|mark| matches!(published_event(mark, directives), Some(Ok(_))))
        || directives.words.iter().any(|end| occurs_as_word(text, &end.word))
}

static EVENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("(?i-u:event)[:：]").expect("the pattern is fixed"));

/// Maximum length of a message in characters, and its ending when cut.
const LONGEST_MESSAGE: usize = 4_000;
const CUT: &str = " …[cut]";

/// The word `EVENT:` and the text up to the next one.
#[derive(Debug, Clone, Copy)]
struct EventMark<'a> {
    capitals: bool,
    /// True if only blanks, a list marker and emphasis precede it.
    opens_line: bool,
    /// Emphasis directly before it, which ends with the topic or with the message.
    emphasis: Option<char>,
    /// The line up to it.
    before: &'a str,
    pub(crate) rest: &'a str,
}

impl<'a> EventMark<'a> {
    /// Returns its topic, if that is well-formed.
    pub(crate) fn topic(&self, known: &[Topic]) -> Option<TopicText<'a>> {
        take_topic(self.rest.trim_start_matches(opens_topic), known)
    }
}

/// Returns true for characters between `EVENT:` and its topic.
fn opens_topic(character: char) -> bool {
    character.is_whitespace() || matches!(character, '*' | '_' | '`' | '"' | '\'')
}

#[derive(Debug, PartialEq, Eq)]
struct MarkedEvent<'a> {
    pub(crate) topic: &'a str,
    pub(crate) message: Option<String>,
}

/// Returns every `EVENT:` of a line that is a word of its own (H-38).
fn event_marks(line: &str) -> Vec<EventMark<'_>> {
    let mut found: Vec<(usize, usize, EventMark<'_>)> = Vec::new();
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
        found.push((hit.start(), hit.end(), EventMark { capitals, opens_line, emphasis, before, rest: "" }));
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
fn published_event<'a>(
    mark: &EventMark<'a>,
    directives: &Directives,
) -> Option<Result<MarkedEvent<'a>, NearMissReason>> {
    let Some(taken) = mark.topic(&directives.known) else {
        return mark.capitals.then_some(Err(NearMissReason::MalformedTopic));
    };
    if directives.words.iter().any(|end| end.word == taken.topic) {
        return None;
    }
    let known = is_known(taken.topic, directives);
    if mark.capitals || (mark.opens_line && known) {
        return Some(Ok(MarkedEvent { topic: taken.topic, message: message(mark, &taken) }));
    }
    known.then_some(Err(NearMissReason::WrongCase))
}

/// Returns the message of an event (H-40).
fn message(mark: &EventMark<'_>, taken: &TopicText<'_>) -> Option<String> {
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

/// Maximum length of a topic, in characters.
const LONGEST: usize = 128;

/// Characters that may directly follow a topic without belonging to it.
const CLOSING: [char; 15] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '_', '~', '`'];

/// A topic and the rest of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TopicText<'a> {
    pub(crate) topic: &'a str,
    pub(crate) closing: &'a str,
    pub(crate) rest: &'a str,
}

/// Parses the topic at the start of a text (H-14, H-39): the longest topic of the definition, else a topic in ASCII,
/// which ends before `を発行`, else a run of letters of any script.
fn take_topic<'a>(text: &'a str, known: &[Topic]) -> Option<TopicText<'a>> {
    let named = known.iter().map(|known| known.as_str());
    let named = named.filter(|known| !known.contains('*') && text.starts_with(known));
    let named = named.filter_map(|known| topic_text(text, known.len())).max_by_key(|taken| taken.topic.len());
    let other = || topic_text(text, topic_length(text)).or_else(|| topic_text(text, run_length(text)));
    named.or_else(other)
}

/// Returns the topic of this length, if it ends there.
fn topic_text(text: &str, length: usize) -> Option<TopicText<'_>> {
    let (topic, behind) = text.split_at(length);
    let rest = behind.trim_start_matches(CLOSING);
    let ends = rest.chars().next().is_none_or(|next| next.is_whitespace() || !next.is_ascii());
    let closing = &behind[..behind.len() - rest.len()];
    let fits = !topic.is_empty() && topic.chars().nth(LONGEST).is_none();
    (fits && ends).then_some(TopicText { topic, closing, rest })
}

/// Returns the length of the letters at the start of a text, joined by single connectors.
fn run_length(text: &str) -> usize {
    let mut end = 0;
    let mut joined = true;
    for (at, character) in text.char_indices() {
        match character {
            letter if is_topic_letter(letter) => {
                end = at + letter.len_utf8();
                joined = false;
            }
            connector if is_topic_connector(connector) && !joined => joined = true,
            _ => break,
        }
    }
    end
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

/// Position of a closing word in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClosingWordUse {
    Directive,
    InsideSentence,
    /// In the position of a directive, but in another case.
    WrongCase,
}

/// Marks that negate without a word: an unchecked box, a cross.
const NEGATIVE_MARKS: [&str; 6] = ["[ ]", "❌", "✗", "✘", "☐", "🚫"];

/// Classifies a word in a line (H-44); `None` if it does not occur.
fn closing_word_use(
    line: &str,
    marks: &[EventMark<'_>],
    word: &str,
    is_last: bool,
) -> Option<ClosingWordUse> {
    let alone = line.trim_matches(is_decoration);
    let alone = without_promise(behind_list_marker(alone).unwrap_or(alone).trim_matches(is_decoration));
    let published = marks.first().filter(|mark| mark.opens_line).and_then(|mark| mark.topic(&[]));
    let last = is_last.then(|| last_word(line, word)).flatten();
    if alone == word
        || gives_reason(alone, word)
        || published.is_some_and(|taken| taken.topic == word)
        || last == Some(word)
    {
        Some(ClosingWordUse::Directive)
    } else if alone.eq_ignore_ascii_case(word)
        // `Well done.` is prose even if `DONE` closes, but `loop_complete` never occurs by chance.
        || (last.is_some() && word.contains(['_', '-', '.']) && !occurs_as_word(line, word))
    {
        Some(ClosingWordUse::WrongCase)
    } else {
        occurs_as_word(line, word).then_some(ClosingWordUse::InsideSentence)
    }
}

/// Returns the text between `<promise>` and `</promise>`, which ralph asks for.
fn without_promise(text: &str) -> &str {
    let inner = text.strip_prefix("<promise>").and_then(|text| text.strip_suffix("</promise>"));
    inner.map_or(text, |inner| inner.trim_matches(is_decoration))
}

/// Returns true for `WORD: reason`. A reason that negates the word is prose.
fn gives_reason(text: &str, word: &str) -> bool {
    let Some(behind) = text.strip_prefix(word) else { return false };
    let behind = behind.trim_start_matches(['*', '_', '`', ' ']);
    let reason = behind.strip_prefix([':', '：', '—', '–']).or_else(|| behind.strip_prefix("- "));
    reason.is_some_and(|reason| !is_negated(reason))
}

/// Returns true if a text contains a word as a word of its own.
fn occurs_as_word(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(joins) && !text[at + word.len()..].starts_with(joins))
}

/// Returns the word at the end of a line, in any case, unless the text before it negates it.
fn last_word<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let said = line.trim_end_matches(is_decoration);
    let (before, last) = said.split_at_checked(said.len().checked_sub(word.len())?)?;
    if !last.eq_ignore_ascii_case(word) {
        return None;
    }
    let separates = |text: &str| text.chars().next_back().is_none_or(|c| c.is_whitespace() || !c.is_ascii());
    let decorated = before.trim_end_matches(|c: char| is_decoration(c) && !c.is_whitespace());
    let stands = separates(before) || separates(decorated) || publishes(before);
    (stands && !is_negated(before)).then_some(last)
}

/// Returns true if a text ends with `EVENT:` as a word of its own.
fn publishes(text: &str) -> bool {
    event_marks(text).last().is_some_and(|mark| text.ends_with("EVENT:") && mark.rest.is_empty())
}

fn is_negated(text: &str) -> bool {
    let is_negation = |word: &str| {
        let word = word.to_lowercase();
        matches!(word.as_str(), "not" | "cannot" | "never" | "until")
            || word.ends_with("n't")
            || word.ends_with("n’t")
    };
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    ["ない", "まだ"].iter().chain(&NEGATIVE_MARKS).any(|mark| text.contains(mark))
        || words.into_iter().any(is_negation)
}

/// Returns true for characters that may surround a closing word without making it part of a sentence.
fn is_decoration(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '*' | '_' | '`' | '#' | '"' | '\'' | '「' | '」' | '.' | '!' | '。' | '！' | '✅' | '✔' | '🎉'
        )
        // Variation selector for the coloured form of the previous sign.
        || character == '\u{fe0f}'
}

/// The last few misses of a reply. The end of a reply shows the agent's intent, and a run must not store a long list.
#[derive(Debug, Default)]
struct NearMisses(VecDeque<NearMiss>);

impl NearMisses {
    const KEPT: usize = 8;
    const CHARACTERS: usize = 120;

    /// Records a line and the reason why it is not a directive.
    pub(crate) fn add(&mut self, miss: NearMissReason, line: &str) {
        let one = NearMiss::Line { reason: miss, line: read::excerpt_head(line.trim(), Self::CHARACTERS) };
        if !self.0.contains(&one) {
            self.0.push_back(one);
        }
        if self.0.len() > Self::KEPT {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, &str)>) {
        assert_eq!(take_topic(text, &[]).map(|taken| (taken.topic, taken.rest)), expected, "{text:?}");
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
        check("テスト", Some(("テスト", "")));
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
            assert_eq!(take_topic(&text, &[]).map(|taken| taken.topic), Some("tests.passing"), "{text:?}");
        }
        check("a. next", Some(("a", " next")));
        check("a: x", Some(("a", " x")));
    }

    // H-39
    #[test]
    fn what_runs_on_behind_a_topic_spoils_it() {
        for text in ["a|b", "http://x", "a..b", "a=b", "a(b)", "a's", "a-", "a_.b.", "a.-b", "x<y"] {
            check(text, None);
        }
    }
}

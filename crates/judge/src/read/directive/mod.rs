//! Directives: published events and closing words.

mod event;
mod miss;
mod topic;
mod word;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use regex::{Regex, RegexBuilder};
use saihai_model::{Directives, Published, Reading};

use self::event::{Mark, Marked};
pub use self::miss::Miss;
use self::miss::Misses;
use self::word::Standing;
use super::reply::Reply;

/// Maximum number of recorded events of one reply. It keeps the output of a runaway loop out of the journal.
const RECORDED: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Found {
    events: Vec<Published>,
    end_word: Option<String>,
    misses: Misses,
}

impl Found {
    pub(super) fn put_into(mut self, reading: &mut Reading) {
        if let Some(left_out) = self.events.len().checked_sub(RECORDED).filter(|count| *count > 0) {
            self.events.drain(..left_out);
            reading.warnings.push(format!("too many events: the first {left_out} were not recorded"));
        }
        reading.events = self.events;
        reading.end_word = self.end_word;
        reading.near_misses = self.misses.into_lines();
    }
}

/// Reads the directives of a reply without regard to permission. The engine checks scope and required events.
pub(super) fn read(reply: &Reply<'_>, directives: &Directives) -> Found {
    let mut found = Found::default();
    let Some(pattern) = candidates(directives) else {
        return found;
    };
    let last = last_read(reply);
    let mut before = None;
    for at in pattern.find_iter(reply.page.text()).map(|candidate| candidate.start()) {
        let line = reply.page.line_at(at);
        if before.replace(line) != Some(line) {
            read_line(&Line { reply, line, is_last: last == Some(line) }, directives, &mut found);
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
struct Line<'a, 'r> {
    reply: &'a Reply<'r>,
    line: usize,
    is_last: bool,
}

fn read_line(Line { reply, line, is_last }: &Line<'_, '_>, directives: &Directives, found: &mut Found) {
    let text = reply.page.line(*line);
    let marks = event::marks(text);
    let miss = shown_only(reply, *line).or_else(|| {
        // The last line always counts as the agent's own (H-37).
        (!is_last && reply.echo.covers(&reply.page, *line)).then_some(Miss::Echoed)
    });
    if let Some(miss) = miss {
        if says_something(text, &marks, directives) {
            found.misses.add(miss, text);
        }
        return;
    }
    for end in directives.words.iter().filter(|end| !end.word.is_empty()) {
        match word::standing(text, &marks, &end.word, *is_last) {
            Some(Standing::Directive) => found.end_word = Some(end.word.clone()),
            Some(Standing::InsideSentence) => found.misses.add(Miss::InsideSentence, text),
            Some(Standing::WrongCase) => found.misses.add(Miss::WrongCase, text),
            None => {}
        }
    }
    for mark in &marks {
        match event::published(mark, directives) {
            Some(Ok(Marked { topic, message })) => {
                found.events.push(Published { topic: topic.into(), message, line: reply.number(*line) });
            }
            Some(Err(miss)) => found.misses.add(miss, text),
            None => {}
        }
    }
}

/// Returns the last line of the reply's own words. A quotation or a fenced block after it does not change that.
fn last_read(reply: &Reply<'_>) -> Option<usize> {
    let is_read =
        |line: &usize| !reply.page.line(*line).trim().is_empty() && shown_only(reply, *line).is_none();
    (0..reply.page.count()).rev().find(is_read)
}

/// Returns the reason why a line only quotes something.
fn shown_only(reply: &Reply<'_>, line: usize) -> Option<Miss> {
    if reply.fences().contain(line) {
        Some(Miss::InCodeBlock)
    } else {
        reply.page.line(line).trim_start().starts_with('>').then_some(Miss::Quoted)
    }
}

/// Returns true if a line would be a directive outside a quotation.
fn says_something(text: &str, marks: &[Mark<'_>], directives: &Directives) -> bool {
    marks.iter().any(|mark| matches!(event::published(mark, directives), Some(Ok(_))))
        || directives.words.iter().any(|end| word::occurs(text, &end.word))
}

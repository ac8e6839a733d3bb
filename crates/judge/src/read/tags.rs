//! Status tags: `[STEP:2]`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use saihai_model::{Offer, Reading, Tag};

use crate::read::markdown;
use crate::read::reply::{ParsedReply, ReplyLines, essence, next, previous};

/// Ignores letter case and blanks inside the brackets. A tag never crosses the end of its line.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let blanks = r"[\t \u{a0}\u{3000}]*";
    let tag = format!(r"\[{blanks}(?i-u:step){blanks}:{blanks}([0-9]+|(?i-u:none)){blanks}\]");
    Regex::new(&tag).expect("the pattern is fixed")
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoneTag {
    /// A valid answer, because the question offers it.
    Counts,
    Ignored,
}

/// Valid tags of a reply.
#[derive(Debug, Default)]
pub(crate) struct TagsOfReply {
    counting: Option<Tag>,
    /// Tags in code or a quotation, in order.
    quoted: Vec<Tag>,
}

impl TagsOfReply {
    /// Records the tag that counts, and other rules that only quoted tags name.
    pub(crate) fn put_into(self, reading: &mut Reading) {
        let Some(counting) = self.counting.or_else(|| self.quoted.last().cloned()) else {
            return;
        };
        let mut others: Vec<Tag> = Vec::new();
        for tag in self.quoted.into_iter().rev().filter(|tag| tag.number != counting.number) {
            if !others.iter().any(|other| other.number == tag.number) {
                others.push(tag);
            }
        }
        others.reverse();
        reading.tag = Some(counting);
        reading.quoted_tags = others;
    }
}

/// Finds the valid tags of a reply (P-40): with an offered number, and outside echoes of the prompt. The last one
/// counts. A tag in code or a quotation counts only if there is no other.
pub(crate) fn read_tags(reply: &ParsedReply<'_>, offers: &[Offer], none: NoneTag) -> TagsOfReply {
    let list: Vec<String> =
        offers.iter().map(|offer| format!("[STEP:{}] = {}", offer.number, offer.label)).collect();
    let mut tags = TagsOfReply::default();
    let mut line_of_tags = LineOfTags::default();
    for found in TAG.captures_iter(reply.page.text()) {
        let Some((name, number)) =
            found.get(1).and_then(|name| Some((name, offered_number(name.as_str(), offers, none)?)))
        else {
            continue;
        };
        let line = reply.page.line_at(name.start());
        if line_of_tags.line != Some(line) {
            line_of_tags = LineOfTags::of(reply, &list, line);
        }
        if line_of_tags.is_echo {
            continue;
        }
        let tag = Tag { number, line: reply.number(line) };
        let column = name.start() - reply.page.start(line);
        if line_of_tags.is_quoted || line_of_tags.is_code(column) {
            tags.quoted.push(tag);
        } else {
            tags.counting = Some(tag);
        }
    }
    tags
}

/// A tag with a word, and nothing else.
static NONCE_TAG: LazyLock<Regex> = LazyLock::new(|| {
    let tag = r"^\[[\t ]*(?i-u:step)[\t ]*:[\t ]*([0-9]+)[\t ]+([a-z0-9]+)[\t ]*\]$";
    Regex::new(tag).expect("the pattern is fixed")
});

/// Finds the tag with the word of this call (N-1). It counts only at the end of the last own line: quotations and code
/// behind it do not matter, and a repeated prompt is not the agent's own.
pub(crate) fn read_nonce_tag(reply: &ParsedReply<'_>, offers: &[Offer], nonce: &str) -> Option<Tag> {
    let is_own = |line: usize| {
        let text = reply.page.line(line);
        !text.trim().is_empty() && !reply.quoted().line(&reply.page, line)
    };
    let line = (0..=reply.page.last_filled()?).rev().find(|line| is_own(*line))?;
    let text = reply.page.line(line);
    let text = text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '.'));
    let start = text.rfind('[')?;
    let tag = NONCE_TAG.captures(&text[start..])?;
    let number = tag.get(1)?.as_str().parse().ok()?;
    let is_right = tag.get(2)?.as_str() == nonce && offers.iter().any(|offer| offer.number == number);
    let is_repeated = reply.echo.reaches_the_end(&reply.page) || reply.echo.covers(&reply.page, line);
    let counts = is_right && !is_repeated && !LineOfTags::of(reply, &[], line).is_code(start);
    counts.then(|| Tag { number: Some(number), line: reply.number(line) })
}

/// State of a line that may hold many tags.
#[derive(Debug, Default)]
struct LineOfTags {
    line: Option<usize>,
    is_echo: bool,
    is_quoted: bool,
    code_spans: Vec<Range<usize>>,
}

impl LineOfTags {
    fn of(reply: &ParsedReply<'_>, list: &[String], line: usize) -> Self {
        Self {
            line: Some(line),
            is_echo: is_echoed_tag(reply, list, line),
            is_quoted: reply.quoted().line(&reply.page, line),
            code_spans: markdown::code_spans(reply.page.line(line)),
        }
    }

    fn is_code(&self, column: usize) -> bool {
        let behind = self.code_spans.partition_point(|span| span.start <= column);
        behind.checked_sub(1).is_some_and(|index| self.code_spans[index].contains(&column))
    }
}

/// Returns the number of a tag, if it is offered; `Some(None)` is the tag for "none of these".
fn offered_number(name: &str, offers: &[Offer], none: NoneTag) -> Option<Option<usize>> {
    if name.eq_ignore_ascii_case("none") {
        return (none == NoneTag::Counts).then_some(None);
    }
    // A number too large for a machine word is never offered.
    let number = name.parse().ok()?;
    offers.iter().any(|offer| offer.number == number).then_some(Some(number))
}

fn is_echoed_tag(reply: &ParsedReply<'_>, list: &[String], line: usize) -> bool {
    let ends_the_reply = reply.page.last_filled() == Some(line);
    repeats_list(&reply.page, list, line)
        || if ends_the_reply {
            reply.echo.reaches_the_end(&reply.page)
        } else {
            reply.echo.covers(&reply.page, line)
        }
}

/// Returns true if a line belongs to a repeated full list of tags with their conditions. A list with one entry always
/// counts as a choice, because a repeat looks the same.
fn repeats_list(page: &ReplyLines<'_>, list: &[String], line: usize) -> bool {
    let said = essence(page.line(line));
    let Some(index) = list.iter().position(|entry| entry == said).filter(|_| list.len() >= 2) else {
        return false;
    };
    let agrees = |at: Option<usize>, entry: &String| at.filter(|line| essence(page.line(*line)) == entry);
    let above = list[..index].iter().rev().try_fold(line, |at, entry| agrees(previous(page, at), entry));
    let below = list[index + 1..].iter().try_fold(line, |at, entry| agrees(next(page, at), entry));
    above.is_some() && below.is_some()
}

/// Returns true if a line is only a tag, with or without its condition.
pub(crate) fn is_only_a_tag(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '>' | '#'));
    let tag = TAG.find(line).map(|tag| tag.range());
    // A tag with a word ends the line.
    let tag = tag.or_else(|| NONCE_TAG.is_match(line).then_some(0..line.len()));
    tag.is_some_and(|tag| {
        let behind = line[tag.end..].trim_start_matches(['*', '_', '`']).trim_start();
        tag.start == 0 && (behind.is_empty() || behind.starts_with('='))
    })
}

//! Status tags: `[STEP:2]`.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use regex::Regex;
use saihai_model::{Offer, Tag};

use super::echo::{essence, next, previous};
use super::page::Page;
use super::reply::Reply;

/// Upper or lower case, and blanks inside the brackets do not matter. A tag never goes over the end of its line.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    let blanks = r"[\t \u{a0}\u{3000}]*";
    let tag = format!(r"\[{blanks}(?i-u:step){blanks}:{blanks}([0-9]+|(?i-u:none)){blanks}\]");
    Regex::new(&tag).expect("the pattern is fixed")
});

/// What `[STEP:NONE]` means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoneTag {
    /// An answer like any other: a question offers it.
    Counts,
    /// Nothing.
    Ignored,
}

/// The last valid tag of a reply (P-40): of an offered number, and not merely repeated from the prompt.
pub(super) fn last(reply: &Reply<'_>, offers: &[Offer], none: NoneTag) -> Option<Tag> {
    let list: Vec<String> =
        offers.iter().map(|offer| format!("[STEP:{}] = {}", offer.number, offer.label)).collect();
    let found = TAG.captures_iter(reply.page.text()).filter_map(|found| {
        let name = found.get(1)?;
        valid(name.as_str(), offers, none).map(|number| (name.start(), number))
    });
    let mut rejected = None;
    for (at, number) in found.collect::<Vec<_>>().into_iter().rev() {
        let line = reply.page.line_at(at);
        if rejected == Some(line) {
            continue;
        }
        if !is_echo(reply, &list, line) {
            return Some(Tag { number, line: reply.number(line) });
        }
        rejected = Some(line);
    }
    None
}

/// The number of a tag, if it is offered; `Some(None)` is the tag that says "none of these".
fn valid(name: &str, offers: &[Offer], none: NoneTag) -> Option<Option<usize>> {
    if name.eq_ignore_ascii_case("none") {
        return (none == NoneTag::Counts).then_some(None);
    }
    // A number too large for a machine word is as little offered as any other large one.
    let number = name.parse().ok()?;
    offers.iter().any(|offer| offer.number == number).then_some(Some(number))
}

fn is_echo(reply: &Reply<'_>, list: &[String], line: usize) -> bool {
    let ends_the_reply = reply.page.last_filled() == Some(line);
    repeats_list(&reply.page, list, line)
        || if ends_the_reply {
            reply.echo.reaches_the_end(&reply.page)
        } else {
            reply.echo.covers(&reply.page, line)
        }
}

/// Whether a line belongs to the full list of tags with their conditions, repeated line by line. Of a list with
/// only one entry nobody can say whether it was repeated or chosen, so it was chosen.
fn repeats_list(page: &Page<'_>, list: &[String], line: usize) -> bool {
    let said = essence(page.line(line));
    let Some(index) = list.iter().position(|entry| entry == said).filter(|_| list.len() >= 2) else {
        return false;
    };
    let agrees = |at: Option<usize>, entry: &String| at.filter(|line| essence(page.line(*line)) == entry);
    let above = list[..index].iter().rev().try_fold(line, |at, entry| agrees(previous(page, at), entry));
    let below = list[index + 1..].iter().try_fold(line, |at, entry| agrees(next(page, at), entry));
    above.is_some() && below.is_some()
}

/// Whether a line says nothing but a tag, with its condition or without.
pub(super) fn stands_alone(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '>' | '#'));
    TAG.find(line).is_some_and(|tag| {
        let behind = line[tag.end()..].trim_start_matches(['*', '_', '`']).trim_start();
        tag.start() == 0 && (behind.is_empty() || behind.starts_with('='))
    })
}

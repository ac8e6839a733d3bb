//! Issue texts as titles, tasks and commit lines, and an agent's text made inert for a forge.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use regex::Regex;
use saihai_model::{Issue, IssueSource, StatusLabel};

use crate::diagnostic::steers;

/// Maximum length of a commit title in characters.
pub const COMMIT_TITLE: usize = 72;
/// Maximum length of a pull request title in characters.
pub const PULL_REQUEST_TITLE: usize = 200;
/// Maximum length of an issue text in a prompt, in characters.
const BODY: usize = 100_000;

/// A title without any usable character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the title is blank")]
pub struct BlankTitle;

/// Returns a one-line title: line breaks, controls and bidirectional overrides become one space.
pub fn clean_title(title: &str) -> Result<String, BlankTitle> {
    let is_gap = |c: char| c.is_whitespace() || steers(c) || matches!(c, '\u{61c}' | '\u{feff}');
    let words: Vec<&str> = title.split(is_gap).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { Err(BlankTitle) } else { Ok(words.join(" ")) }
}

/// Cuts a text to at most `most` characters. A cut text ends with `…`.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Task of an agent that works on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub text: String,
    /// Number of characters cut from the issue's text.
    pub left_out: usize,
}

/// Returns the task for an issue, without Saihai's own labels: they only show its state (I-24).
pub fn task(issue: &Issue, label_prefix: &str) -> Result<Task, BlankTitle> {
    let title = clean_title(&issue.title)?;
    let name = match issue.source {
        IssueSource::Folder => format!("Issue {}", issue.number.get()),
        IssueSource::Github => format!("Issue {}", issue.number),
    };
    let mut text = format!("# {name}: {title}");
    let body = issue.body.trim();
    let left_out = body.chars().count().saturating_sub(BODY);
    if !body.is_empty() {
        let end = body.char_indices().nth(BODY).map_or(body.len(), |(at, _)| at);
        text.push_str("\n\n");
        text.push_str(&body[..end]);
    }
    if left_out > 0 {
        text.push_str(&format!("\n\n[The text of this issue goes on for {left_out} more characters.]"));
    }
    let own = StatusLabel::ALL.map(|label| label.name(label_prefix));
    let labels = issue.labels.iter().filter(|label| !own.iter().any(|own| own.eq_ignore_ascii_case(label)));
    let labels: Vec<String> = labels.filter_map(|label| clean_title(label).ok()).collect();
    if !labels.is_empty() {
        text.push_str(&format!("\n\nLabels: {}", labels.join(", ")));
    }
    Ok(Task { text, left_out })
}

/// Matches what triggers a forge: mentions, closing keywords with an issue, and numeric character references
/// that could hide either. Includes backslashes before it, which would escape the added backtick.
static ACTED_ON: LazyLock<Regex> = LazyLock::new(|| {
    let acted_on = r"(?xi)
        \\* @ \w [\w/-]*
        | \\* (?: close[sd]? | fix (?: e[sd] )? | resolve[sd]? ) \b [\\:\s*_~<(\[]*
            (?: (?: [\w.-]+ / [\w.-]+ )? \\* \# \d+ | \b GH- \d+ | https?:// [^\s<>`]* /(?: issues | pull ) / \d+ >? )
        | \\* & (?: \#x? [0-9a-f]+ | commat | num ) ;";
    Regex::new(acted_on).expect("a regular expression")
});

/// Matches the same triggers in a plain-text title, split before number or name. Skips mail addresses.
static IN_A_TITLE: LazyLock<Regex> = LazyLock::new(|| {
    let acted_on = r"(?xi)
        (?<mark> \B @
        | \b (?: close[sd]? | fix (?: e[sd] )? | resolve[sd]? ) \b [\\:\s*_~<(\[]*
            (?: (?: [\w.-]+ / [\w.-]+ )? \\* \# | GH- | https?:// \S* /(?: issues | pull ) / ) )
        (?<rest> \w )";
    Regex::new(acted_on).expect("a regular expression")
});

/// Turns every `@name`, closing keyword with `#1`, HTML comment and image into code, so that the text closes
/// no issue, notifies no one, hides nothing and loads nothing. Existing code stays.
pub fn inert(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let (mut inert, mut at) = (String::with_capacity(text.len()), 0);
    for place in places(text) {
        inert.push_str(&text[at..place.start]);
        // Keep the text's own backticks apart from the added ones.
        if inert.ends_with('`') {
            inert.push(' ');
        }
        let words: Vec<&str> = text[place.clone()].split_whitespace().collect();
        let words = words.join(" ");
        let gap = if words.starts_with('`') || words.ends_with('`') { " " } else { "" };
        inert.push_str(&format!("{fence}{gap}{words}{gap}{fence}"));
        if text[place.end..].starts_with('`') {
            inert.push(' ');
        }
        at = place.end;
    }
    inert.push_str(&text[at..]);
    // The added backticks may pair with unpaired ones of the text. If so, make the whole text a
    // code block.
    if places(&inert).is_empty() { inert } else { as_block(text) }
}

/// Makes a title inert for a commit or a pull request by adding spaces: `fixes # 1` and `@ name`.
/// Titles are not Markdown, so code marks do not work there.
pub fn inert_title(title: &str) -> String {
    IN_A_TITLE.replace_all(title, "$mark $rest").into_owned()
}

/// Returns an inert excerpt of at most `most` characters. Closes every code block, so that the text
/// after the excerpt is not code.
pub fn inert_excerpt(text: &str, most: usize) -> String {
    let text = text.trim();
    let mut length = most;
    // Code marks lengthen the text. It is cut before they are added, because a cut could remove the
    // closing mark.
    loop {
        let made = closed(inert(&cut(text, length)));
        match made.chars().count().saturating_sub(most) {
            over if over > 0 && length > 0 => length = length.saturating_sub(over),
            _ => return made,
        }
    }
}

/// Closes a code block left open at the end.
fn closed(text: String) -> String {
    let behind = text.len() + "\n\n".len();
    let whole = format!("{text}\n\nx");
    let mut events = Parser::new_ext(&whole, Options::ENABLE_TABLES).into_offset_iter();
    let open = events.find_map(|(event, range)| {
        let is_fenced = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
        (is_fenced && range.end > behind).then_some(range)
    });
    let Some(open) = open else { return text };
    let opened = whole[open].trim_start();
    let marks: String = opened.chars().take_while(|mark| opened.starts_with(*mark)).collect();
    format!("{text}\n{marks}")
}

/// Wraps any text in one code block.
fn as_block(text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns the ranges that must become code, sorted and without overlaps.
fn places(text: &str) -> Vec<Range<usize>> {
    let (mut code, mut found) = (Vec::new(), Vec::new());
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => code.push(range),
            // All inline HTML: forges keep more than comments and images.
            Event::Start(Tag::Image { .. }) | Event::InlineHtml(_) => found.push(range),
            Event::Html(_) => found.push(trimmed(text, range)),
            _ => {}
        }
    }
    found.extend(ACTED_ON.find_iter(text).map(|found| found.range()));
    found.retain(|place| !place.is_empty() && !code.iter().any(|code| overlap(code, place)));
    merged(found)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    start..start + inside.trim().len()
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Sorts the ranges and merges overlapping ones.
fn merged(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for place in places {
        match merged.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            Some(_) | None => merged.push(place),
        }
    }
    merged
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

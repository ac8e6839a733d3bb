//! Text of an agent that goes to a forge, made so that the forge does nothing because of it.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use regex::Regex;

use super::cut;

/// What a forge acts on in plain text: the name of a person or a team, a word that closes an issue in front of one, and
/// characters written as their numbers, behind which either could hide. Backslashes before them are taken along, for they
/// would undo the mark that is put there.
static ACTED_ON: LazyLock<Regex> = LazyLock::new(|| {
    let acted_on = r"(?xi)
        \\* @ \w [\w/-]*
        | \\* (?: close[sd]? | fix (?: e[sd] )? | resolve[sd]? ) \b [\\:\s*_~<(\[]*
            (?: (?: [\w.-]+ / [\w.-]+ )? \\* \# \d+ | \b GH- \d+ | https?:// [^\s<>`]* /(?: issues | pull ) / \d+ >? )
        | \\* & (?: \#x? [0-9a-f]+ | commat | num ) ;";
    Regex::new(acted_on).expect("a regular expression")
});

/// The same in a line that is plain text: what comes before the number or the name, and how that begins. An address of mail calls nobody.
static IN_A_TITLE: LazyLock<Regex> = LazyLock::new(|| {
    let acted_on = r"(?xi)
        (?<mark> \B @
        | \b (?: close[sd]? | fix (?: e[sd] )? | resolve[sd]? ) \b [\\:\s*_~<(\[]*
            (?: (?: [\w.-]+ / [\w.-]+ )? \\* \# | GH- | https?:// \S* /(?: issues | pull ) / ) )
        (?<rest> \w )";
    Regex::new(acted_on).expect("a regular expression")
});

/// The same text in which every `@name`, every closing word before `#1`, every HTML comment and every image is code, so that
/// it closes no issue, calls nobody, hides nothing and loads nothing. What is code already stays as it is.
pub fn inert(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let (mut inert, mut at) = (String::with_capacity(text.len()), 0);
    for place in places(text) {
        inert.push_str(&text[at..place.start]);
        // Marks of the text itself must not run together with ours.
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
    // Marks that had no partner may have found one in what was added; then all of it is code.
    if places(&inert).is_empty() { inert } else { as_block(text) }
}

/// The title of an issue for a commit or a pull request: a space parts what a forge would act on there, `fixes # 1` and `@ name`.
/// Neither is Markdown, so nothing can be made code in them.
pub fn inert_title(title: &str) -> String {
    IN_A_TITLE.replace_all(title, "$mark $rest").into_owned()
}

/// What is shown of a longer text of an agent: inert, of at most so many characters, and with every block of code closed, so
/// that whatever stands behind it is none.
pub fn inert_excerpt(text: &str, most: usize) -> String {
    let text = text.trim();
    let mut length = most;
    // What is made code is longer than it was. It is cut before that: no mark of ours may lose its other half.
    loop {
        let made = closed(inert(&cut(text, length)));
        match made.chars().count().saturating_sub(most) {
            over if over > 0 && length > 0 => length = length.saturating_sub(over),
            _ => return made,
        }
    }
}

/// A text that leaves no block of code open.
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

/// A text as one block of code, whatever is in it.
fn as_block(text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// What has to become code, in order, none within another.
fn places(text: &str) -> Vec<Range<usize>> {
    let (mut code, mut found) = (Vec::new(), Vec::new());
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::Code(_) => code.push(range),
            // All of it: what a forge leaves of HTML is more than comments and images.
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

/// The same places in order, those that overlap as one.
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

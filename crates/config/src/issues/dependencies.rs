//! Dependencies named in the text of an issue, in the author's own words only.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;
use saihai_model::IssueNumber;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MentionedIssues {
    /// Issues of this repository in order of mention, without duplicates.
    pub issues: Vec<IssueNumber>,
    /// References to other repositories. Saihai does not follow them.
    pub elsewhere: Vec<String>,
}

/// Matches a line with dependencies: keywords after list, heading or emphasis marks, then the rest.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let line = r"(?xi)
        ^ \s* (?: (?: [-*+] | \d+[.)] ) \s+ )? (?: \[[\x20x]\] \s+ )? (?: \#{1,6} \s+ )?
        (?: \*\* | __ )?
        (?: blocked \s+ by | depends \s+ on | needs | 前提issue )
        (?: \s* (?: \*\* | __ ) )? \s* [:：]? (?: \s* (?: \*\* | __ ) )?
        (?P<rest> $ | [\s\#].* $ | https?://.* $ )";
    Regex::new(line).expect("a regular expression")
});

/// Matches one reference at the start of a text: `#3`, a URL, or `other/repo#12`.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let reference = r"(?x)
        ^ (?: \#(?P<number>\d+) | (?P<address> https?://[^\s,、]+ ) | (?P<other> [\w.-]+/[\w.-]+\#\d+ ) )";
    Regex::new(reference).expect("a regular expression")
});

/// Matches the separator between two references.
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:[,、]\s*(?:and\s+|と\s*)?|\s(?:and)\s+|と\s*)").expect("a regular expression")
});

/// Matches a list item: its indentation and its text.
static BULLET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?P<indent>[ \t]*)(?:[-*+]|\d+[.)])[ \t]+(?:\[[ x]\][ \t]+)?(?P<rest>.*)$")
        .expect("a regular expression")
});

/// Parses the dependencies in an issue's text. `home`: this repository, as `https://github.com/owner/name`.
pub fn mentioned(body: &str, home: Option<&str>) -> MentionedIssues {
    let said = visible(body);
    let mut found = MentionedIssues::default();
    let mut lines = said.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(rest) = LINE.captures(line).map(|found| found["rest"].trim().to_owned()) else { continue };
        if !rest.is_empty() {
            found.extend(only_references(&rest), home);
            continue;
        }
        let mut indent = None;
        while let Some(next) = lines.peek() {
            let bullet = BULLET.captures(next);
            let depth = next.len() - next.trim_start().len();
            match (&bullet, indent) {
                (Some(bullet), None) => indent = Some(bullet["indent"].len()),
                // A continuation line or a nested item.
                (_, Some(outer)) if depth > outer => {
                    lines.next();
                    continue;
                }
                (Some(_), Some(_)) => {}
                (None, _) if next.trim().is_empty() => {}
                (None, _) => break,
            }
            // A line such as `- Needs: #4` starts its own list of dependencies.
            if LINE.is_match(next) {
                break;
            }
            if let Some(first) = bullet.as_ref().and_then(|bullet| reference(&bullet["rest"])) {
                found.extend(vec![first.0], home);
            }
            lines.next();
        }
    }
    found
}

enum IssueReference {
    Number(Option<IssueNumber>),
    Address(String),
    Other(String),
}

/// Returns the references of a text that contains nothing else; otherwise an empty list.
fn only_references(text: &str) -> Vec<IssueReference> {
    let mut rest = text.trim().trim_end_matches(['.', '。']);
    let mut found = Vec::new();
    loop {
        let Some((one, length)) = reference(rest) else { return Vec::new() };
        found.push(one);
        rest = &rest[length..];
        if rest.trim().is_empty() {
            return found;
        }
        let Some(between) = SEPARATOR.find(rest) else { return Vec::new() };
        rest = &rest[between.end()..];
    }
}

/// Returns the reference at the start of a text, and its length.
fn reference(text: &str) -> Option<(IssueReference, usize)> {
    let found = REFERENCE.captures(text)?;
    let length = found[0].len();
    // Skip a number followed by letters: `#3rd`.
    let goes_on = text[length..].chars().next().is_some_and(|next| next.is_alphanumeric() && next != 'と');
    if goes_on {
        return None;
    }
    let reference = if let Some(number) = found.name("number") {
        IssueReference::Number(IssueNumber::parse(number.as_str()))
    } else if let Some(address) = found.name("address") {
        IssueReference::Address(address.as_str().to_owned())
    } else {
        IssueReference::Other(found[0].to_owned())
    };
    Some((reference, length))
}

impl MentionedIssues {
    fn extend(&mut self, references: Vec<IssueReference>, home: Option<&str>) {
        for reference in references {
            match reference {
                IssueReference::Number(number) => self.issues.extend(number),
                IssueReference::Address(address) => match number_at(&address, home) {
                    Some(number) => self.issues.push(number),
                    None => self.elsewhere.push(address),
                },
                IssueReference::Other(other) => self.elsewhere.push(other),
            }
        }
        let mut seen = Vec::new();
        self.issues.retain(|number| {
            !seen.contains(number) && {
                seen.push(*number);
                true
            }
        });
    }
}

/// Returns the issue number in a URL of this repository.
fn number_at(address: &str, home: Option<&str>) -> Option<IssueNumber> {
    let home = home?.trim_end_matches('/');
    let (start, rest) = address.split_at_checked(home.len())?;
    let number = rest.strip_prefix("/issues/").filter(|_| start.eq_ignore_ascii_case(home))?;
    IssueNumber::parse(number.trim_end_matches('/'))
}

/// Replaces a hidden character. It is neither a letter nor punctuation nor a space.
const SHOWN: char = '\u{fffc}';

/// Tags whose content is code or a quotation.
const TAGS: [&str; 7] = ["blockquote", "pre", "code", "q", "script", "style", "textarea"];

/// Hides, line by line, what the author does not say: comments become blank, code and quotations filler.
pub(super) fn visible(text: &str) -> String {
    let mut hidden = vec![None; text.len()];
    let mut hide = |range: Range<usize>, with: char| hidden[range].fill(Some(with));
    let mut tags = OpenTags::default();
    // Hide only the outermost quotation. Nested quotations can be as many as the characters.
    let mut until = 0;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::CodeBlock(_)) | Event::Code(_) if range.end > until => {
                until = range.end;
                hide(range, SHOWN);
            }
            Event::Html(_) | Event::InlineHtml(_) => {
                comments(text, &range).into_iter().for_each(|comment| hide(comment, ' '));
                tags.read(&text[range.clone()], &range).into_iter().for_each(|inside| hide(inside, SHOWN));
            }
            Event::Start(Tag::HtmlBlock) => {
                comments(text, &range).into_iter().for_each(|comment| hide(comment, ' '));
            }
            _ => {}
        }
    }
    if let Some(start) = tags.since {
        hide(start..text.len(), SHOWN);
    }
    let character = |(at, c): (usize, char)| if c == '\n' { c } else { hidden[at].unwrap_or(c) };
    text.char_indices().map(character).collect()
}

/// Returns the comments in some HTML. An unclosed comment extends to the end.
fn comments(text: &str, html: &Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = html.start;
    while let Some(start) = text[at..html.end].find("<!--").map(|start| at + start) {
        let end = text[start + 4..html.end].find("-->").map_or(html.end, |end| start + 4 + end + 3);
        found.push(start..end);
        at = end;
    }
    found
}

/// Tags that hide their content, even if it contains Markdown.
#[derive(Default)]
struct OpenTags {
    depth: usize,
    /// Start of the outermost open tag.
    since: Option<usize>,
}

impl OpenTags {
    /// Reads some HTML and returns the ranges that it closes.
    fn read(&mut self, html: &str, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut closed = Vec::new();
        for (at, _) in html.match_indices('<') {
            let rest = &html[at + 1..];
            let (closing, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
            let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            if !TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(&rest[..length])) {
                continue;
            }
            let place = range.start + at;
            if !closing {
                self.depth += 1;
                self.since.get_or_insert(place);
            } else if self.depth > 0 {
                self.depth -= 1;
                if self.depth == 0 {
                    closed.extend(self.since.take().map(|start| start..place));
                }
            }
        }
        closed
    }
}

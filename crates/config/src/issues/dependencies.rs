//! What the text of an issue says it depends on.

use std::sync::LazyLock;

use regex::Regex;
use saihai_model::IssueNumber;

use super::markdown::visible;

/// What a text says it depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentioned {
    /// Issues of this repository, each once, in the order they are named.
    pub issues: Vec<IssueNumber>,
    /// What is named as well and belongs to another repository: it is not followed.
    pub elsewhere: Vec<String>,
}

/// A line that names dependencies: its words, behind marks of lists, headings and emphasis, and what follows them.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let line = r"(?xi)
        ^ \s* (?: (?: [-*+] | \d+[.)] ) \s+ )? (?: \[[\x20x]\] \s+ )? (?: \#{1,6} \s+ )?
        (?: \*\* | __ )?
        (?: blocked \s+ by | depends \s+ on | needs | 前提issue )
        (?: \s* (?: \*\* | __ ) )? \s* [:：]? (?: \s* (?: \*\* | __ ) )?
        (?P<rest> $ | [\s\#].* $ | https?://.* $ )";
    Regex::new(line).expect("a regular expression")
});

/// One reference at the beginning of a text: `#3`, an address, or `other/repo#12`.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let reference = r"(?x)
        ^ (?: \#(?P<number>\d+) | (?P<address> https?://[^\s,、]+ ) | (?P<other> [\w.-]+/[\w.-]+\#\d+ ) )";
    Regex::new(reference).expect("a regular expression")
});

/// What stands between two references.
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:[,、]\s*(?:and\s+|と\s*)?|\s(?:and)\s+|と\s*)").expect("a regular expression")
});

/// An item of a list: how far it is indented, and what it says.
static BULLET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?P<indent>[ \t]*)(?:[-*+]|\d+[.)])[ \t]+(?:\[[ x]\][ \t]+)?(?P<rest>.*)$")
        .expect("a regular expression")
});

/// Reads what the text of an issue says it depends on. `home` is the web address of this repository, where it has one:
/// `https://github.com/owner/name`.
pub fn mentioned(body: &str, home: Option<&str>) -> Mentioned {
    let said = visible(body);
    let mut found = Mentioned::default();
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
                // A line that only goes on with an item, or an item within one.
                (_, Some(outer)) if depth > outer => {
                    lines.next();
                    continue;
                }
                (Some(_), Some(_)) => {}
                (None, _) if next.trim().is_empty() => {}
                (None, _) => break,
            }
            // A line of its own, such as `- Needs: #4`, is read as one.
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

/// A reference as it is written.
enum Reference {
    Number(Option<IssueNumber>),
    Address(String),
    Other(String),
}

/// The references of a text in which nothing else stands; else none.
fn only_references(text: &str) -> Vec<Reference> {
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

/// The reference a text begins with, and how long it is.
fn reference(text: &str) -> Option<(Reference, usize)> {
    let found = REFERENCE.captures(text)?;
    let length = found[0].len();
    // A number that goes on is none: `#3rd`.
    let goes_on = text[length..].chars().next().is_some_and(|next| next.is_alphanumeric() && next != 'と');
    if goes_on {
        return None;
    }
    let reference = if let Some(number) = found.name("number") {
        Reference::Number(IssueNumber::parse(number.as_str()))
    } else if let Some(address) = found.name("address") {
        Reference::Address(address.as_str().to_owned())
    } else {
        Reference::Other(found[0].to_owned())
    };
    Some((reference, length))
}

impl Mentioned {
    fn extend(&mut self, references: Vec<Reference>, home: Option<&str>) {
        for reference in references {
            match reference {
                Reference::Number(number) => self.issues.extend(number),
                Reference::Address(address) => match number_at(&address, home) {
                    Some(number) => self.issues.push(number),
                    None => self.elsewhere.push(address),
                },
                Reference::Other(other) => self.elsewhere.push(other),
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

/// The issue of this repository that an address is of.
fn number_at(address: &str, home: Option<&str>) -> Option<IssueNumber> {
    let home = home?.trim_end_matches('/');
    let (start, rest) = address.split_at_checked(home.len())?;
    let number = rest.strip_prefix("/issues/").filter(|_| start.eq_ignore_ascii_case(home))?;
    IssueNumber::parse(number.trim_end_matches('/'))
}

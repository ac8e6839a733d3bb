//! Parses a regular expression as Python 3.13 does.

mod escape;

use std::collections::BTreeMap;

use super::BadPattern;
use super::ast::{Anchor, Flagged, Flags, Greed, Part};
use super::flags::{Inline, read_inline};

/// Maximum nesting of groups. Parsing and compiling recurse as deep as the pattern.
const DEEPEST: u32 = 200;
const MOST_REPEATS: u32 = 65_535;
/// Whitespace that Python skips in a verbose pattern.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

type Read<T> = Result<T, BadPattern>;

pub(super) fn parse(pattern: &str) -> Read<Flagged> {
    let mut parser = Parser::new(pattern);
    let whole = parser.alternatives(0)?;
    if parser.peek().is_some() {
        return Err(parser.bad("unbalanced parenthesis"));
    }
    match parser.conditions.iter().find(|(group, _)| *group > parser.groups) {
        Some((group, at)) => Err(BadPattern::at(*at, format!("invalid group reference {group}"))),
        None => Ok(whole),
    }
}

pub(super) struct Parser {
    characters: Vec<char>,
    at: usize,
    pub(super) flags: Flags,
    /// True if `a`, or `u`, applies to the whole pattern.
    pub(super) ascii_or_unicode: (bool, bool),
    groups: u32,
    open: Vec<u32>,
    names: BTreeMap<String, u32>,
    /// Groups that conditions refer to before they exist.
    conditions: Vec<(u32, usize)>,
    /// Number of groups before the outermost look-behind.
    behind: Option<u32>,
}

impl Parser {
    fn new(pattern: &str) -> Self {
        Self {
            characters: pattern.chars().collect(),
            at: 0,
            flags: Flags::default(),
            ascii_or_unicode: (false, false),
            groups: 0,
            open: Vec::new(),
            names: BTreeMap::new(),
            conditions: Vec::new(),
            behind: None,
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn take_while(&mut self, most: usize, is: impl Fn(char) -> bool) -> String {
        let found: String =
            self.characters[self.at..].iter().take(most).take_while(|one| is(**one)).collect();
        self.at += found.chars().count();
        found
    }

    /// Returns an error at the current position.
    pub(super) fn bad(&self, why: impl Into<String>) -> BadPattern {
        BadPattern::at(self.at, why)
    }

    fn flagged(&self, part: Part) -> Flagged {
        Flagged { part, flags: self.flags }
    }

    /// Parses alternatives up to a closing parenthesis or the end.
    fn alternatives(&mut self, depth: u32) -> Read<Flagged> {
        if depth > DEEPEST {
            return Err(self.bad(format!("too large: groups are nested deeper than {DEEPEST}")));
        }
        let mut found = Vec::new();
        loop {
            let first = depth == 0 && found.is_empty();
            let sequence = self.sequence(depth, first)?;
            found.push(sequence);
            if !self.take('|') {
                break;
            }
        }
        Ok(match found.len() {
            1 => found.remove(0),
            _ => self.flagged(Part::Either(found)),
        })
    }

    fn sequence(&mut self, depth: u32, first: bool) -> Read<Flagged> {
        let mut parts: Vec<Flagged> = Vec::new();
        while let Some(next) = self.peek().filter(|next| !matches!(next, '|' | ')')) {
            let began = self.at;
            self.at += 1;
            if self.flags.verbose && BLANKS.contains(&next) {
                continue;
            }
            if self.flags.verbose && next == '#' {
                self.take_while(usize::MAX, |one| one != '\n');
                continue;
            }
            let part = match next {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '.' => Part::Any,
                '^' => Part::At(Anchor::LineStart),
                '$' => Part::At(Anchor::LineEnd),
                '*' | '+' | '?' | '{' => match self.repeat(next, began, &mut parts)? {
                    Some(repeat) => repeat,
                    None => Part::Literal(Some(next)),
                },
                '(' => match self.group(began, depth, first && parts.is_empty())? {
                    Some(group) => group,
                    None => continue,
                },
                other => Part::Literal(Some(other)),
            };
            parts.push(self.flagged(part));
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => self.flagged(Part::Sequence(parts)),
        })
    }

    /// Parses the repeat after `*`, `+`, `?` or `{`. Returns `None` for a literal brace.
    fn repeat(&mut self, mark: char, began: usize, parts: &mut Vec<Flagged>) -> Read<Option<Part>> {
        let (least, most) = match mark {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => match self.counts(began)? {
                Some(counts) => counts,
                None => return Ok(None),
            },
        };
        let bad = |why: &str| BadPattern::at(began, why);
        let item = parts.pop().ok_or_else(|| bad("nothing to repeat"))?;
        if matches!(item.part, Part::At(_)) {
            return Err(bad("nothing to repeat"));
        }
        if matches!(item.part, Part::Repeat { .. }) {
            return Err(bad("multiple repeat"));
        }
        let greed = match (self.take('?'), !matches!(self.peek(), Some('+'))) {
            (true, _) => Greed::Lazy,
            (false, true) => Greed::Greedy,
            (false, false) => {
                self.at += 1;
                Greed::Possessive
            }
        };
        Ok(Some(Part::Repeat { inner: Box::new(item), least, most, greed }))
    }

    /// Parses `{2}`, `{2,}`, `{,3}` or `{2,3}`. Returns `None` and consumes nothing for anything
    /// else.
    fn counts(&mut self, began: usize) -> Read<Option<(u32, Option<u32>)>> {
        let start = self.at;
        if self.peek() == Some('}') {
            return Ok(None);
        }
        let digits = |one: char| one.is_ascii_digit();
        let low = self.take_while(usize::MAX, digits);
        let high = if self.take(',') { self.take_while(usize::MAX, digits) } else { low.clone() };
        if !self.take('}') {
            self.at = start;
            return Ok(None);
        }
        let count = |text: &str| match text.parse::<u32>() {
            _ if text.is_empty() => Ok(None),
            Ok(number) if number <= MOST_REPEATS => Ok(Some(number)),
            Ok(_) | Err(_) => Err(BadPattern::at(
                began,
                format!("too large: the most a repeat can count is {MOST_REPEATS}"),
            )),
        };
        let (least, most) = (count(&low)?.unwrap_or(0), count(&high)?);
        if most.is_some_and(|most| most < least) {
            return Err(BadPattern::at(began, "min repeat greater than max repeat"));
        }
        Ok(Some((least, most)))
    }

    /// Parses the text after an opening parenthesis. Returns `None` for comments and global flags,
    /// which match nothing themselves.
    fn group(&mut self, began: usize, depth: u32, may_set_flags: bool) -> Read<Option<Part>> {
        let outer = self.flags;
        let mut name = None;
        let mut captures = true;
        let mut atomic = false;
        if self.take('?') {
            match self.next() {
                None => return Err(self.bad("unexpected end of pattern")),
                Some('P') => match self.named(began)? {
                    Named::Group(found) => name = Some(found),
                    Named::Back(group) => return Ok(Some(Part::Back(group))),
                },
                Some(':') => captures = false,
                Some('#') => return self.comment(began).map(|()| None),
                Some(mark @ ('=' | '!' | '<')) => return self.look(mark, began, depth).map(Some),
                Some('(') => return self.conditional(began, depth).map(Some),
                Some('>') => (captures, atomic) = (false, true),
                Some(flag) => match read_inline(self, flag, began)? {
                    Inline::Whole if may_set_flags => return Ok(None),
                    Inline::Whole => {
                        return Err(BadPattern::at(began, "global flags not at the start of the expression"));
                    }
                    Inline::Group(flags) => (captures, self.flags) = (false, flags),
                },
            }
        }
        let group = if captures { Some(self.open_group(name, began)?) } else { None };
        let inner = self.alternatives(depth + 1)?;
        self.close(began)?;
        self.flags = outer;
        Ok(Some(match group {
            Some(group) => {
                self.open.retain(|open| *open != group);
                Part::Capture(group, Box::new(inner))
            }
            None if atomic => Part::Atomic(Box::new(inner)),
            // A repeat after the group applies to all of it, so the group must not look like a
            // repeat itself.
            None => Part::Sequence(vec![inner]),
        }))
    }

    fn close(&mut self, began: usize) -> Read<()> {
        if self.take(')') {
            return Ok(());
        }
        Err(BadPattern::at(began, "missing ), unterminated subpattern"))
    }

    fn open_group(&mut self, name: Option<String>, began: usize) -> Read<u32> {
        self.groups += 1;
        if let Some(name) = name
            && let Some(before) = self.names.insert(name.clone(), self.groups)
        {
            let why =
                format!("redefinition of group name '{name}' as group {}; was group {before}", self.groups);
            return Err(BadPattern::at(began, why));
        }
        self.open.push(self.groups);
        Ok(self.groups)
    }

    fn comment(&mut self, began: usize) -> Read<()> {
        self.take_while(usize::MAX, |one| one != ')');
        if self.take(')') { Ok(()) } else { Err(BadPattern::at(began, "missing ), unterminated comment")) }
    }

    fn look(&mut self, mark: char, began: usize, depth: u32) -> Read<Part> {
        let (ahead, mark) = match mark {
            '<' => (false, self.next()),
            other => (true, Some(other)),
        };
        let negated = match mark {
            Some('=') => false,
            Some('!') => true,
            Some(other) => return Err(BadPattern::at(began, format!("unknown extension ?<{other}"))),
            None => return Err(self.bad("unexpected end of pattern")),
        };
        let (outer, outermost) = (self.flags, self.behind);
        if !ahead && outermost.is_none() {
            self.behind = Some(self.groups);
        }
        let inner = self.alternatives(depth + 1)?;
        self.behind = outermost;
        self.close(began)?;
        self.flags = outer;
        Ok(Part::Look { ahead, negated, inner: Box::new(inner) })
    }

    fn conditional(&mut self, began: usize, depth: u32) -> Read<Part> {
        let at = self.at;
        let name = self.until(')', "group name")?;
        let group = match name.parse::<u32>() {
            Ok(0) => return Err(BadPattern::at(at, "bad group number")),
            Ok(number) if name.bytes().all(|one| one.is_ascii_digit()) => number,
            Ok(_) | Err(_) => self.group_named(&name, at)?,
        };
        self.conditions.push((group, at));
        self.check_behind(group, at)?;
        if depth >= DEEPEST {
            return Err(self.bad(format!("too large: groups are nested deeper than {DEEPEST}")));
        }
        let yes = self.sequence(depth + 1, false)?;
        let no = if self.take('|') { Some(Box::new(self.sequence(depth + 1, false)?)) } else { None };
        if self.peek() == Some('|') {
            return Err(self.bad("conditional backref with more than two branches"));
        }
        self.close(began)?;
        Ok(Part::Conditional { group, yes: Box::new(yes), no })
    }

    fn named(&mut self, began: usize) -> Read<Named> {
        let at = self.at + 1;
        if self.take('<') {
            let name = self.until('>', "group name")?;
            check_name(&name, at)?;
            return Ok(Named::Group(name));
        }
        if self.take('=') {
            let name = self.until(')', "group name")?;
            let group = self.group_named(&name, at)?;
            return self.reference(group, at).map(Named::Back);
        }
        Err(match self.next() {
            Some(other) => BadPattern::at(began, format!("unknown extension ?P{other}")),
            None => self.bad("unexpected end of pattern"),
        })
    }

    fn until(&mut self, end: char, what: &str) -> Read<String> {
        let at = self.at;
        let found = self.take_while(usize::MAX, |one| one != end);
        if !self.take(end) {
            return Err(BadPattern::at(
                at,
                match found.is_empty() {
                    true => format!("missing {what}"),
                    false => format!("missing {end}, unterminated name"),
                },
            ));
        }
        if found.is_empty() { Err(BadPattern::at(at, format!("missing {what}"))) } else { Ok(found) }
    }

    fn group_named(&self, name: &str, at: usize) -> Read<u32> {
        check_name(name, at)?;
        let known = self.names.get(name).copied();
        known.ok_or_else(|| BadPattern::at(at, format!("unknown group name '{name}'")))
    }

    fn reference(&self, group: u32, at: usize) -> Read<u32> {
        if group == 0 || group > self.groups {
            return Err(BadPattern::at(at, format!("invalid group reference {group}")));
        }
        if self.open.contains(&group) {
            return Err(BadPattern::at(at, "cannot refer to an open group"));
        }
        self.check_behind(group, at)?;
        Ok(group)
    }

    fn check_behind(&self, group: u32, at: usize) -> Read<()> {
        if self.behind.is_some_and(|before| group > before) {
            return Err(BadPattern::at(
                at,
                "cannot refer to group defined in the same lookbehind subpattern",
            ));
        }
        Ok(())
    }
}

enum Named {
    Group(String),
    Back(u32),
}

fn check_name(name: &str, at: usize) -> Read<()> {
    let begins = |one: char| one == '_' || one.is_alphabetic();
    let fits = name.starts_with(begins) && name.chars().all(|one| begins(one) || one.is_alphanumeric());
    if fits { Ok(()) } else { Err(BadPattern::at(at, format!("bad character in group name '{name}'"))) }
}

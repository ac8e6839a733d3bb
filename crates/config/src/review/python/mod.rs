//! Regular expressions as Python's `re.search` means them, found in linear time wherever that is possible.

mod ast;
mod emit;
mod flags;
mod necessary;
mod parser;
mod room;
mod rounds;
mod width;

use std::fmt;

use ast::{Anchor, Flagged, Part};
use emit::Way;

pub(crate) use room::Room;

/// The longest pattern that is taken, in bytes.
const LONGEST: usize = 8 * 1024;
/// The most memory a compiled pattern may take.
const LARGEST: usize = 10 * 1024 * 1024;
/// How often a pattern that cannot be searched for in linear time may go back, in one text.
const BACKTRACKS: usize = 250_000;
/// How much text is searched with such a pattern, all files together.
pub(crate) const LONGEST_BACKTRACKED: usize = 4 * 1024 * 1024;

/// A regular expression of Python 3.13.
#[derive(Debug, Clone)]
pub(crate) struct PythonRegex {
    source: String,
    engine: Engine,
    matches_empty_text: bool,
    needs_line_mode: bool,
}

#[derive(Debug, Clone)]
enum Engine {
    /// The expression, and one for texts without which it is nowhere.
    Linear {
        regex: regex::Regex,
        necessary: Option<regex::Regex>,
    },
    Backtracking(Box<fancy_regex::Regex>),
}

/// What came of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// It begins at this byte.
    At(usize),
    Nowhere,
    /// Nobody knows: the search was too long.
    Unknown,
}

/// Why a pattern is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadPattern {
    pub(crate) position: usize,
    /// In Python's words, where Python has some.
    pub(crate) why: String,
    pub(crate) hint: Option<&'static str>,
    /// It is one, and there is no room left for it beside the others.
    pub(crate) is_full: bool,
}

impl BadPattern {
    fn at(position: usize, why: impl Into<String>) -> Self {
        Self { position, why: why.into(), hint: None, is_full: false }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    fn too_large() -> Self {
        Self::at(0, format!("too large: compiled it would take more than {} MiB", LARGEST >> 20))
    }

    fn too_large_together(all: usize) -> Self {
        let why = format!(
            "too large together: compiled, the agents' patterns would take more than {} MiB",
            all >> 20
        );
        let full = Self { is_full: true, ..Self::at(0, why) };
        full.hint(
            "leave patterns out, or let repeats count less: `\\w{200}` takes 10 MiB, `\\w+` next to nothing",
        )
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at position {}", self.why, self.position)
    }
}

impl PythonRegex {
    /// Reads a pattern; what Python 3.13 does not take, or what is too large, alone or for the room there is, is refused.
    pub(crate) fn new(pattern: &str, room: &mut Room) -> Result<Self, BadPattern> {
        if pattern.len() > LONGEST {
            return Err(BadPattern::at(0, format!("too large: the pattern is longer than {LONGEST} bytes")));
        }
        let whole = parser::parse(pattern)?;
        width::check_behind(&whole)?;
        check_conditions(&whole)?;
        let way = emit::way(&whole);
        if way == Way::Backtracking {
            rounds::check(&whole)?;
        }
        let necessary = necessary::necessary(&whole).unwrap_or_default();
        if way == Way::Backtracking {
            room.take(&emit::emit(&whole, Way::Size, false))?;
        }
        let (expression, on_nothing) = (emit::emit(&whole, way, false), emit::emit(&whole, way, true));
        let engine = Engine::new(&expression, way, &necessary, room)?;
        // Most patterns say the same of nothing as of everything else, and compiling is what costs.
        let matches_empty_text = match expression == on_nothing {
            true => engine.find("") != Found::Nowhere,
            false => {
                Engine::new(&on_nothing, way, &necessary, &mut Room::default())?.find("") != Found::Nowhere
            }
        };
        let needs_line_mode = whole.any(&mut |part: &Flagged| {
            let anchor = matches!(part.part, Part::At(Anchor::LineStart | Anchor::LineEnd));
            anchor && !part.flags.lines
        });
        Ok(Self { source: pattern.to_owned(), engine, matches_empty_text, needs_line_mode })
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is searched for by going back and forth, within limits.
    pub(crate) fn backtracks(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    /// Whether it asks for the beginning or end of the whole text in the way most people mean a line's.
    pub(crate) fn needs_line_mode(&self) -> bool {
        self.needs_line_mode
    }

    /// Whether it is found in every text, because nothing at all is enough for it.
    pub(crate) fn matches_everything(&self) -> bool {
        self.matches_empty_text && self.engine.find("x\nx") != Found::Nowhere
    }

    /// Where in a text it is first found, where as much as is `left` may be searched by going back and forth.
    pub(crate) fn find_within(&self, text: &str, left: &mut usize) -> Found {
        if !self.backtracks() {
            return self.find(text);
        }
        match left.checked_sub(text.len()) {
            Some(rest) => {
                *left = rest;
                self.find(text)
            }
            None => Found::Unknown,
        }
    }

    /// Where in a text it is first found.
    pub(crate) fn find(&self, text: &str) -> Found {
        match (text.is_empty(), self.matches_empty_text) {
            (true, true) => Found::At(0),
            (true, false) => Found::Nowhere,
            (false, _) => self.engine.find(text),
        }
    }
}

/// Refuses a condition inside its own group: the engines do not agree with Python on what it has found by then.
fn check_conditions(whole: &Flagged) -> Result<(), BadPattern> {
    let own = whole.any(&mut |part| {
        let Part::Capture(own, inner) = &part.part else { return false };
        inner.any(&mut |part| matches!(&part.part, Part::Conditional { group, .. } if group == own))
    });
    if own {
        Err(BadPattern::at(0, "a condition on the group it stands in is not supported"))
    } else {
        Ok(())
    }
}

impl Engine {
    fn new(expression: &str, way: Way, necessary: &[String], room: &mut Room) -> Result<Self, BadPattern> {
        match way {
            Way::Linear | Way::Size => {
                let texts: Vec<String> = necessary.iter().map(|text| regex::escape(text)).collect();
                let necessary = (!texts.is_empty()).then(|| room.take(&texts.join("|"))).transpose()?;
                Ok(Self::Linear { regex: room.take(expression)?, necessary })
            }
            Way::Backtracking => {
                let mut builder = fancy_regex::RegexBuilder::new(expression);
                let built = builder.delegate_size_limit(LARGEST).backtrack_limit(BACKTRACKS).build();
                let built = built.map_err(|error| {
                    if matches!(error, fancy_regex::Error::ParseError(..)) {
                        return BadPattern::at(0, format!("not supported: {error}"));
                    }
                    BadPattern::too_large()
                });
                built.map(|regex| Self::Backtracking(Box::new(regex)))
            }
        }
    }

    fn find(&self, text: &str) -> Found {
        match self {
            Self::Linear { necessary: Some(necessary), .. } if !necessary.is_match(text) => Found::Nowhere,
            Self::Linear { regex, .. } => {
                regex.find(text).map_or(Found::Nowhere, |found| Found::At(found.start()))
            }
            Self::Backtracking(regex) => match regex.find(text) {
                Ok(found) => found.map_or(Found::Nowhere, |found| Found::At(found.start())),
                Err(_) => Found::Unknown,
            },
        }
    }
}

#[cfg(test)]
mod tests;

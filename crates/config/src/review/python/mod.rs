//! Regular expressions with the semantics of Python's `re.search`, in linear time if possible.

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

/// Maximum pattern length in bytes.
const LONGEST: usize = 8 * 1024;
/// Maximum memory of a compiled pattern.
const LARGEST: usize = 10 * 1024 * 1024;
/// Maximum number of backtracks per text, for patterns without a linear search.
const BACKTRACKS: usize = 250_000;
/// Maximum number of bytes searched with such a pattern, over all files.
pub(crate) const LONGEST_BACKTRACKED: usize = 4 * 1024 * 1024;

/// A Python 3.13 regular expression.
#[derive(Debug, Clone)]
pub(crate) struct PythonRegex {
    source: String,
    engine: Engine,
    matches_empty_text: bool,
    needs_line_mode: bool,
}

#[derive(Debug, Clone)]
enum Engine {
    /// The expression, and a quick filter for texts that cannot match.
    Linear {
        regex: regex::Regex,
        necessary: Option<regex::Regex>,
    },
    Backtracking(Box<fancy_regex::Regex>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Byte offset of the match.
    At(usize),
    Nowhere,
    /// The search exceeded its limit.
    Unknown,
}

/// Reason why a pattern is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadPattern {
    pub(crate) position: usize,
    /// Python's own error message, if there is one.
    pub(crate) why: String,
    pub(crate) hint: Option<&'static str>,
    /// True if the pattern is valid but exceeds the shared memory budget.
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
    /// Parses a pattern. Rejects patterns that Python 3.13 rejects and patterns that exceed a size
    /// limit.
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
        // Compiling is expensive, and most patterns need no separate form for the empty text.
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

    /// Returns true if the search needs backtracking and therefore has limits.
    pub(crate) fn backtracks(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    /// Returns true if an anchor refers to the whole text where authors usually mean a line.
    pub(crate) fn needs_line_mode(&self) -> bool {
        self.needs_line_mode
    }

    /// Returns true if the pattern matches every text, because it matches the empty text.
    pub(crate) fn matches_everything(&self) -> bool {
        self.matches_empty_text && self.engine.find("x\nx") != Found::Nowhere
    }

    /// Returns the first match. Backtracking may search at most `left` bytes.
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

    pub(crate) fn find(&self, text: &str) -> Found {
        match (text.is_empty(), self.matches_empty_text) {
            (true, true) => Found::At(0),
            (true, false) => Found::Nowhere,
            (false, _) => self.engine.find(text),
        }
    }
}

/// Rejects a condition inside its own group, because the engines and Python disagree about its
/// state there.
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

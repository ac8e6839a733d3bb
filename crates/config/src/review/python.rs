//! Regular expressions with the semantics of Python's `re.search`, in linear time if possible (R-23 to R-26).
//!
//! One pass reads a pattern as Python 3.13 does and writes it for `fancy-regex`. Both engines share most of the syntax. The
//! pass refuses what Python refuses, and spells out what the engines read differently: `$`, `\Z`, `\w`, `\s`, sets,
//! braces, flags, octal escapes and the letter i.

mod sets;
mod translate;

use std::fmt;

use translate::Translator;

/// Maximum pattern length in bytes.
const LONGEST: usize = 8 * 1024;
/// Maximum memory of a compiled pattern.
const LARGEST: usize = 10 * 1024 * 1024;
/// Minimum memory charged for a pattern.
const SMALLEST: usize = 64 * 1024;
/// Maximum memory for the patterns of all agents: enough for several hundred large Unicode sets.
const ALL_TOGETHER: usize = 128 * 1024 * 1024;
/// Maximum number of backtracks per text, for patterns without a linear search.
const BACKTRACKS: usize = 250_000;
/// Maximum number of bytes searched with such a pattern, over all files.
pub const LONGEST_BACKTRACKED: usize = 4 * 1024 * 1024;

const NEVER: &str = r"[^\s\S]";

/// A Python 3.13 regular expression.
#[derive(Debug, Clone)]
pub struct PythonRegex {
    source: String,
    regex: fancy_regex::Regex,
    /// A quick search for literals of which every match contains one. It rejects most texts.
    necessary: Option<regex::Regex>,
    backtracks: bool,
    matches_empty_text: bool,
    needs_line_mode: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PythonMatch {
    /// Byte offset of the match.
    At(usize),
    Nowhere,
    /// The search exceeded its limit.
    Unknown,
}

/// Kind of a refused pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadPatternKind {
    /// Python refuses it too.
    Invalid,
    /// Valid in Python, but Saihai cannot search for it.
    Unsupported,
    /// Valid, but it exceeds the shared memory budget.
    NoRoom,
}

/// Reason why a pattern is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadPattern {
    position: usize,
    /// Python's own error message, if there is one.
    why: String,
    pub(crate) hint: Option<&'static str>,
    pub(crate) kind: BadPatternKind,
}

/// Remaining memory for compiled patterns (R-11, R-26).
#[derive(Debug, Clone)]
pub(crate) struct PatternMemory {
    left: usize,
}

type Read<T> = Result<T, BadPattern>;

impl BadPattern {
    fn at(position: usize, why: impl Into<String>) -> Self {
        Self { position, why: why.into(), hint: None, kind: BadPatternKind::Invalid }
    }

    fn unsupported(position: usize, why: impl Into<String>) -> Self {
        Self { kind: BadPatternKind::Unsupported, ..Self::at(position, why) }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at position {}", self.why, self.position)
    }
}

impl Default for PatternMemory {
    fn default() -> Self {
        Self { left: ALL_TOGETHER }
    }
}

impl PatternMemory {
    /// Compiles an expression of so many separately compiled pieces and charges its memory. The engine does not report
    /// the size, so each attempt doubles the limit. All failed attempts together cost no more than the last one.
    fn compile(&mut self, expression: &str, pieces: usize) -> Read<fancy_regex::Regex> {
        let mut size = SMALLEST;
        loop {
            if size > self.left {
                let why = format!(
                    "too large together: compiled, the agents' patterns would take more than {} MiB",
                    ALL_TOGETHER >> 20
                );
                let full = BadPattern { kind: BadPatternKind::NoRoom, ..BadPattern::at(0, why) };
                return Err(full.hint(
                    "remove patterns, or use smaller repeats: `\\w{200}` takes 10 MiB, `\\w+` almost none",
                ));
            }
            let mut builder = fancy_regex::RegexBuilder::new(expression);
            builder.delegate_size_limit(size / pieces).backtrack_limit(BACKTRACKS);
            match builder.build() {
                Ok(regex) => {
                    self.left -= size;
                    return Ok(regex);
                }
                Err(error @ fancy_regex::Error::ParseError(..)) => {
                    return Err(BadPattern::unsupported(0, error.to_string()));
                }
                Err(_) if size < LARGEST => size = (size * 2).min(LARGEST),
                Err(_) => {
                    let why = format!("too large: compiled it would take more than {} MiB", LARGEST >> 20);
                    return Err(BadPattern::unsupported(0, why));
                }
            }
        }
    }
}

impl PythonRegex {
    /// Parses a pattern. Rejects patterns that Python 3.13 rejects and patterns that exceed a size limit.
    pub(crate) fn new(pattern: &str, memory: &mut PatternMemory) -> Result<Self, BadPattern> {
        if pattern.len() > LONGEST {
            return Err(BadPattern::at(0, format!("too large: the pattern is longer than {LONGEST} bytes")));
        }
        let mut translated = Translator::translate(pattern)?;
        let expression = translated.expression(r"\B");
        let pieces = if translated.backtracks { translated.pieces } else { 1 };
        let regex = memory.compile(&expression, pieces)?;
        // In Python `\B` never matches in an empty text, unlike in the Rust engines.
        let on_nothing = translated.expression(NEVER);
        let matches_empty_text = if on_nothing == expression {
            search(&regex, "") != PythonMatch::Nowhere
        } else {
            search(&PatternMemory::default().compile(&on_nothing, pieces)?, "") != PythonMatch::Nowhere
        };
        let literals = translated.necessary().filter(|_| !translated.backtracks);
        let literals: Option<Vec<String>> =
            literals.map(|texts| texts.iter().map(|text| regex::escape(text)).collect());
        let necessary = literals.and_then(|literals| regex::Regex::new(&literals.join("|")).ok());
        Ok(Self {
            source: pattern.to_owned(),
            regex,
            necessary,
            backtracks: translated.backtracks,
            matches_empty_text,
            needs_line_mode: translated.needs_line_mode,
        })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if the search needs backtracking and therefore has limits.
    pub fn backtracks(&self) -> bool {
        self.backtracks
    }

    /// Returns true if an anchor refers to the whole text where authors usually mean a line.
    pub fn needs_line_mode(&self) -> bool {
        self.needs_line_mode
    }

    /// Returns true if the pattern matches every text, because it matches the empty text.
    pub fn matches_everything(&self) -> bool {
        self.matches_empty_text && search(&self.regex, "x\nx") != PythonMatch::Nowhere
    }

    /// Returns the first match. Backtracking may search at most `left` bytes.
    pub fn find_within(&self, text: &str, left: &mut usize) -> PythonMatch {
        if self.backtracks {
            match left.checked_sub(text.len()) {
                Some(rest) => *left = rest,
                None => return PythonMatch::Unknown,
            }
        }
        self.find(text)
    }

    pub fn find(&self, text: &str) -> PythonMatch {
        match (text.is_empty(), self.matches_empty_text) {
            (true, true) => PythonMatch::At(0),
            (true, false) => PythonMatch::Nowhere,
            (false, _) if self.necessary.as_ref().is_some_and(|texts| !texts.is_match(text)) => {
                PythonMatch::Nowhere
            }
            (false, _) => search(&self.regex, text),
        }
    }
}

fn search(regex: &fancy_regex::Regex, text: &str) -> PythonMatch {
    match regex.find(text) {
        Ok(found) => found.map_or(PythonMatch::Nowhere, |found| PythonMatch::At(found.start())),
        Err(_) => PythonMatch::Unknown,
    }
}

/// Maximum number of literals to search for. Searching for more takes as long as the expression itself.
const MOST_LITERALS: usize = 16;

/// Literal texts of which every match of a group contains at least one.
#[derive(Debug, Default)]
struct NecessaryLiterals {
    /// Adjacent letters at the end of the alternative.
    run: String,
    /// Literals of the last item, if it is a group. A repeat may make them unnecessary.
    of_last: Option<Vec<String>>,
    /// The most selective literals of the alternative so far.
    best: Option<Vec<String>>,
    /// Literals of all earlier alternatives; `None` if one has none.
    before: Option<Vec<String>>,
}

impl NecessaryLiterals {
    /// Ends the run of letters and takes the last item into account.
    fn settle(&mut self) {
        let run = std::mem::take(&mut self.run);
        let candidates = [(!run.is_empty()).then(|| vec![run]), self.of_last.take(), self.best.take()];
        let shortest = |texts: &Vec<String>| texts.iter().map(String::len).min();
        self.best = candidates.into_iter().flatten().max_by_key(shortest);
    }

    fn end_alternative(&mut self, is_first: bool) {
        self.settle();
        let own = self.best.take();
        self.before =
            if is_first { own } else { self.before.take().zip(own).map(|(all, own)| [all, own].concat()) };
        self.before = self.before.take().filter(|all| all.len() <= MOST_LITERALS);
    }
}

#[cfg(test)]
mod tests;

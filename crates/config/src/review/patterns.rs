//! Patterns for file names, with the semantics of Python's `fnmatch` on every platform (R-19, R-20), and for
//! whole paths, with `**` and `{a,b}` (R-68).

use globset::{GlobBuilder, GlobMatcher};

/// A pattern that matches whole file names. Every text is a valid pattern.
#[derive(Debug, Clone)]
pub struct NamePattern {
    source: String,
    parts: Vec<GlobPart>,
    /// Literal suffix. Comparing it first rejects most names cheaply.
    end: String,
}

#[derive(Debug, Clone)]
enum GlobPart {
    Many,
    One,
    Is(char),
    /// Any character in the ranges or, if negated, any character outside them.
    Of {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl NamePattern {
    pub fn new(pattern: &str) -> Self {
        let parts = parts(pattern);
        let end = end(&parts);
        Self { source: pattern.to_owned(), parts, end }
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns true if the pattern only matches text with a `/`, which no file name contains.
    pub fn needs_slash(&self) -> bool {
        self.parts.iter().any(|part| match part {
            GlobPart::Is(letter) => *letter == '/',
            GlobPart::Of { ranges, negated: false } => {
                !ranges.is_empty() && ranges.iter().all(|range| *range == ('/', '/'))
            }
            GlobPart::Many | GlobPart::One | GlobPart::Of { .. } => false,
        })
    }

    /// Matches the file name at the end of the path.
    pub fn takes(&self, path: &str) -> bool {
        path.ends_with(&self.end) && takes(&self.parts, path.rsplit('/').next().unwrap_or(path))
    }
}

/// Returns the literal characters after the last wildcard.
fn end(parts: &[GlobPart]) -> String {
    let letters = parts.iter().rev().map_while(|part| match part {
        GlobPart::Is(letter) => Some(*letter),
        GlobPart::Many | GlobPart::One | GlobPart::Of { .. } => None,
    });
    letters.collect::<Vec<_>>().into_iter().rev().collect()
}

/// Backtracks only to the last `*`, because it can match everything an earlier `*` could. The work
/// is at most pattern length times name length.
fn takes(parts: &[GlobPart], name: &str) -> bool {
    let (mut at, mut rest) = (0, name);
    let mut last_many: Option<(usize, &str)> = None;
    loop {
        let mut behind = rest.chars();
        match (parts.get(at), behind.next()) {
            (Some(GlobPart::Many), _) => {
                at += 1;
                last_many = Some((at, rest));
                continue;
            }
            (Some(part), Some(letter)) if part.takes(letter) => {
                at += 1;
                rest = behind.as_str();
                continue;
            }
            (None, None) => return true,
            (_, _) => {}
        }
        let Some((after, from)) = last_many else { return false };
        let mut longer = from.chars();
        if longer.next().is_none() {
            return false;
        }
        (at, rest) = (after, longer.as_str());
        last_many = Some((after, rest));
    }
}

impl GlobPart {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::Many | Self::One => true,
            Self::Is(own) => *own == letter,
            Self::Of { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != *negated
            }
        }
    }
}

fn parts(pattern: &str) -> Vec<GlobPart> {
    let characters: Vec<char> = pattern.chars().collect();
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Some(next) = characters.get(at) {
        at += 1;
        parts.push(match next {
            '*' => GlobPart::Many,
            '?' => GlobPart::One,
            '[' => match end_of_set(&characters, at) {
                Some(end) => {
                    let inside = &characters[at..end];
                    at = end + 1;
                    set(inside)
                }
                None => GlobPart::Is('['),
            },
            other => GlobPart::Is(*other),
        });
    }
    parts
}

/// Returns the position of the bracket that closes a set. A bracket in first position is a member.
fn end_of_set(characters: &[char], start: usize) -> Option<usize> {
    let negated = usize::from(characters.get(start) == Some(&'!'));
    let first = start + negated;
    let first = first + usize::from(characters.get(first) == Some(&']'));
    (first..characters.len()).find(|at| characters[*at] == ']')
}

/// A character of a set, or a hyphen that forms a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetLetter {
    Own(char),
    Hyphen,
}

/// Parses a set as Python does. Python first removes reversed ranges and then reads the remaining
/// text. A `!` that becomes first this way still negates the set.
fn set(inside: &[char]) -> GlobPart {
    let mut letters = Vec::new();
    for (index, piece) in pieces(inside).into_iter().enumerate() {
        letters.extend((index > 0).then_some(SetLetter::Hyphen));
        letters.extend(piece.into_iter().map(SetLetter::Own));
    }
    let negated = letters.first() == Some(&SetLetter::Own('!'));
    let mut rest = &letters[usize::from(negated)..];
    let mut ranges = Vec::new();
    while let [low, behind @ ..] = rest {
        let (high, behind) = match behind {
            [SetLetter::Hyphen, high, behind @ ..] => (high, behind),
            behind => (low, behind),
        };
        ranges.push((low.written(), high.written()));
        rest = behind;
    }
    GlobPart::Of { ranges, negated }
}

/// Splits a set at its range hyphens. A hyphen forms a range unless it is first, last or directly
/// after a range. A reversed range is empty, so both its ends are removed.
fn pieces(inside: &[char]) -> Vec<Vec<char>> {
    let mut pieces: Vec<Vec<char>> = Vec::new();
    let (mut start, mut from) = (0, 1 + usize::from(inside.first() == Some(&'!')));
    while let Some(hyphen) = (from..inside.len().saturating_sub(1)).find(|at| inside[*at] == '-') {
        pieces.push(inside[start..hyphen].to_vec());
        (start, from) = (hyphen + 1, hyphen + 3);
    }
    pieces.push(inside[start..].to_vec());
    for index in (1..pieces.len()).rev() {
        if pieces[index - 1].last() > pieces[index].first() {
            let behind = pieces.remove(index);
            pieces[index - 1].pop();
            pieces[index - 1].extend(behind.into_iter().skip(1));
        }
    }
    pieces
}

impl SetLetter {
    fn written(self) -> char {
        match self {
            Self::Own(letter) => letter,
            Self::Hyphen => '-',
        }
    }
}

/// A pattern for paths from the project root. One that ends in `/` matches everything below it.
#[derive(Debug, Clone)]
pub struct PathPattern {
    source: String,
    matcher: GlobMatcher,
}

impl PathPattern {
    /// Parses a pattern. The error is a short reason.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let below = if pattern.ends_with('/') { "**" } else { "" };
        let whole = format!("{pattern}{below}");
        let glob = GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| error.kind().to_string())?;
        Ok(Self { source: pattern.to_owned(), matcher: glob.compile_matcher() })
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn takes(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, taken: &[&str], refused: &[&str]) {
        let pattern = NamePattern::new(pattern);
        for name in taken {
            assert!(pattern.takes(name), "`{}` does not take {name:?}", pattern.source());
        }
        for name in refused {
            assert!(!pattern.takes(name), "`{}` takes {name:?}", pattern.source());
        }
    }

    // R-19, R-20
    #[test]
    fn names_are_taken_as_fnmatch_takes_them() {
        check("*.py", &["a.py", "src/deep/a.py", ".py", "a.b.py"], &["a.pyc", "A.PY", "a.py/b"]);
        check("test_?.rs", &["test_a.rs", "test_漢.rs"], &["test_ab.rs", "test_.rs"]);
        check("*", &["", ".hidden", "a\nb"], &[]);
        check("[!a]*", &["b", "^"], &["a", ""]);
        check("[^a]", &["^", "a"], &["b"]);
        check("[]a]", &["]", "a"], &["[]a]"]);
        check("[!]a]", &["b"], &["]", "a"]);
        check("[abc", &["[abc"], &["a"]);
        check("[]", &["[]"], &["]"]);
        check("[z-a]", &[], &["z", "a", "m", "-"]);
        // Python reads the text left by a reversed range again: `fnmatch` turns the first case into
        // `[^a]`.
        check("[a-[!a]", &["e", "["], &["a"]);
        check("[b-a!]", &["a", "-", "!"], &[]);
        check("[b-a!-z]", &["a", "!"], &["-", "z"]);
        check("[b-ac-d]", &["c", "d"], &["a", "b", "-"]);
        check("[!z-a]", &["z", "x"], &["", "xy"]);
        check("[a-c-e]", &["a", "b", "c", "-", "e"], &["d"]);
        check("[a-c--e]", &["a", "c", "-", "5", "e"], &["f", ","]);
        check("[z-a-c-e]", &["-", "c", "d", "e"], &["z", "a", "b"]);
        check("[-a]", &["-", "a"], &["b"]);
        check("[a-]", &["-", "a"], &["b"]);
        check("{a,b}", &["{a,b}"], &["a"]);
        check("**", &["a", ""], &[]);
        check("[[:alpha:]]", &[":]", "[]"], &["a"]);
        check("[a&&b]", &["&", "a", "b"], &["c"]);
        check("[*]", &["*"], &["a"]);
        check(r"a\*", &[r"a\b"], &["a*"]);
        check("", &["", "x/"], &["a"]);
        check("*a*b", &["ab", "aab", "xaxbab"], &["ba", "aba"]);
        check("*[0-9]?", &["a1b", "a12"], &["a1", "1"]);
    }

    // Case 22
    #[test]
    fn sets_cases_and_ends_of_lines_are_those_of_fnmatch() {
        check("[!a]", &["b"], &["a"]);
        check("[^a]", &["^"], &["b"]);
        check("[z-a]", &[], &["z"]);
        check("[", &["["], &[]);
        check("*.PY", &[], &["x.py"]);
        check("*.py", &[], &["x.py\n"]);
    }

    // No glob is itself invalid
    #[test]
    fn a_pattern_may_be_of_any_length() {
        let long = "漢?[a-z]*".repeat(100_000);
        assert!(!NamePattern::new(&long).takes("a.py"));
        assert!(NamePattern::new(&"?".repeat(200_000)).takes(&"x".repeat(200_000)));
        check(&"*a".repeat(2_000), &[], &[&"a".repeat(1_000), &"ab".repeat(1_500)]);
    }
}

#[cfg(test)]
mod path_pattern_tests {
    use super::*;

    fn check(pattern: &str, taken: &[&str], refused: &[&str]) {
        let pattern = PathPattern::new(pattern).unwrap();
        for path in taken {
            assert!(pattern.takes(path), "`{}` does not take {path:?}", pattern.source());
        }
        for path in refused {
            assert!(!pattern.takes(path), "`{}` takes {path:?}", pattern.source());
        }
    }

    // R-68
    #[test]
    fn paths_are_taken_whole_with_directories_and_alternatives() {
        check("src/*.py", &["src/x.py"], &["src/deep/x.py", "x.py", "lib/src/x.py"]);
        check("src/**/*.py", &["src/x.py", "src/a/b/x.py"], &["test/x.py"]);
        check("**/migrations/**", &["migrations/1.sql", "db/migrations/a/2.sql"], &["migrations"]);
        check("*.{rs,toml}", &["a.rs", "a.toml"], &["a.py", "src/a.rs"]);
        check("vendor/**", &["vendor/a", "vendor/a/b"], &["vendors/a"]);
        check("vendor/", &["vendor/a", "vendor/a/b"], &["vendors/a", "vendor"]);
        assert!(PathPattern::new("a{b").is_err());
        assert!(PathPattern::new("[").is_err());
    }
}

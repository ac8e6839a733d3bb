//! Patterns for names of files, as Python's `fnmatch` means them on every system (R-19, R-20).

use std::fmt::Write as _;

/// A pattern that a whole name is held against.
#[derive(Debug, Clone)]
pub(crate) struct NamePattern {
    source: String,
    regex: regex::Regex,
}

impl NamePattern {
    /// Reads a pattern. Every text is one; only one that would take too much memory is none.
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let regex = regex::RegexBuilder::new(&translate(pattern)).size_limit(10 << 20).build().ok()?;
        Some(Self { source: pattern.to_owned(), regex })
    }

    /// As it was written.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is the name of the file at a path.
    pub(crate) fn takes(&self, path: &str) -> bool {
        self.regex.is_match(path.rsplit('/').next().unwrap_or(path))
    }
}

fn translate(pattern: &str) -> String {
    let characters: Vec<char> = pattern.chars().collect();
    let mut out = String::from(r"(?s)\A");
    let mut at = 0;
    while let Some(next) = characters.get(at) {
        at += 1;
        match next {
            '*' if out.ends_with(".*") => {}
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => match end_of_set(&characters, at) {
                Some(end) => {
                    out.push_str(&set(&characters[at..end]));
                    at = end + 1;
                }
                None => out.push_str(r"\["),
            },
            other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push_str(r"\z");
    out
}

/// Where the bracket that ends a set stands; one directly at its beginning is a member.
fn end_of_set(characters: &[char], start: usize) -> Option<usize> {
    let negated = usize::from(characters.get(start) == Some(&'!'));
    let first = start + negated;
    let first = first + usize::from(characters.get(first) == Some(&']'));
    (first..characters.len()).find(|at| characters[*at] == ']')
}

fn set(inside: &[char]) -> String {
    let (negated, members) = match inside {
        ['!', members @ ..] => (true, members),
        members => (false, members),
    };
    let mut out = String::new();
    for (low, high) in ranges(members) {
        write!(out, "\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high))
            .expect("a string takes everything");
    }
    match (out.is_empty(), negated) {
        (true, true) => ".".to_owned(),
        (true, false) => r"[^\s\S]".to_owned(),
        (false, true) => format!("[^{out}]"),
        (false, false) => format!("[{out}]"),
    }
}

/// The members of a set. A hyphen makes a range of what stands beside it, unless it stands first, last or directly
/// behind a range; a range that goes backwards holds nothing.
fn ranges(members: &[char]) -> Vec<(char, char)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(low) = members.get(at) {
        match (members.get(at + 1), members.get(at + 2)) {
            (Some('-'), Some(high)) => {
                if low <= high {
                    found.push((*low, *high));
                }
                at += 3;
                if members.get(at) == Some(&'-') {
                    found.push(('-', '-'));
                    at += 1;
                }
            }
            _ => {
                found.push((*low, *low));
                at += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, taken: &[&str], refused: &[&str]) {
        let pattern = NamePattern::new(pattern).unwrap();
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
        check("[!z-a]", &["z", "x"], &["", "xy"]);
        check("[a-c-e]", &["a", "b", "c", "-", "e"], &["d"]);
        check("[-a]", &["-", "a"], &["b"]);
        check("[a-]", &["-", "a"], &["b"]);
        check("{a,b}", &["{a,b}"], &["a"]);
        check("**", &["a", ""], &[]);
        check("[[:alpha:]]", &[":]", "[]"], &["a"]);
        check("[a&&b]", &["&", "a", "b"], &["c"]);
        check("[*]", &["*"], &["a"]);
        check(r"a\*", &[r"a\b"], &["a*"]);
        check("", &["", "x/"], &["a"]);
    }
}

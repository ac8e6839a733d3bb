//! Patterns: ECMA-262 regular expressions, as JSON Schema requires, run by `fancy-regex`.

use std::iter::Peekable;
use std::str::Chars;

use fancy_regex::{Regex, RegexBuilder};

/// Maximum steps of a pattern on one text. Beyond it the pattern does not match.
const MOST_STEPS: usize = 100_000;
const LARGEST_PROGRAM: usize = 1 << 20;

/// Members of a character class, without its brackets.
const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str = r"\t-\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    let mut builder = RegexBuilder::new(&translated(pattern)?);
    builder.backtrack_limit(MOST_STEPS).delegate_size_limit(LARGEST_PROGRAM);
    builder.build().ok()
}

/// Translates a pattern into Rust syntax. `None` for an escape that ECMA-262 lacks or Rust reads otherwise.
fn translated(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(one) = chars.next() {
        match one {
            '\\' => escape(&mut chars, in_class, &mut out)?,
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // Rust reads a `]` right after the opening bracket as a member. ECMA-262 reads an empty class, which is
                // surely a mistake.
                if chars.peek() == Some(&']') {
                    return None;
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // In Rust these start a nested class or combine two classes.
            '[' | '&' | '~' if in_class => out.extend(['\\', one]),
            // `--` is a difference in Rust. Here the second hyphen is the end of a range, or a member.
            '-' if in_class && chars.peek() == Some(&'-') => {
                chars.next();
                out.push_str(if is_range_start(&out) { r"-\-" } else { r"\--" });
            }
            // ECMA-262 has more line terminators.
            '.' if !in_class => out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            // Flags and other groups that only Rust supports.
            '(' if chars.peek() == Some(&'?') => out.push_str(group(&mut chars)?),
            one => out.push(one),
        }
    }
    Some(out)
}

/// Returns true if a hyphen here would continue a member of the class.
fn is_range_start(class: &str) -> bool {
    !(class.ends_with('[') || class.ends_with("[^")) || class.ends_with("\\[")
}

fn group(chars: &mut Peekable<Chars<'_>>) -> Option<&'static str> {
    chars.next();
    match chars.next()? {
        ':' => Some("(?:"),
        '=' => Some("(?="),
        '!' => Some("(?!"),
        '<' => match chars.peek()? {
            '=' => chars.next().map(|_| "(?<="),
            '!' => chars.next().map(|_| "(?<!"),
            _ => Some("(?<"),
        },
        _ => None,
    }
}

fn escape(chars: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) -> Option<()> {
    let mut class = |members: &str, negated: bool| {
        let open = if negated { "[^" } else { "[" };
        out.extend([open, members, "]"]);
    };
    match chars.next()? {
        'd' => class(DIGIT, false),
        'D' => class(DIGIT, true),
        'w' => class(WORD, false),
        'W' => class(WORD, true),
        's' => class(SPACE, false),
        'S' => class(SPACE, true),
        'c' => {
            let letter = chars.next().filter(char::is_ascii_alphabetic)?;
            out.push_str(&format!("\\x{:02x}", u32::from(letter) % 32));
        }
        '0' if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str("\\x00"),
        'b' if in_class => out.push_str("\\x08"),
        // Rust's own word boundary includes letters of all scripts.
        'b' => out.push_str(r"(?:(?<=[A-Za-z0-9_])(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])(?=[A-Za-z0-9_]))"),
        'B' if !in_class => {
            out.push_str(r"(?:(?<=[A-Za-z0-9_])(?=[A-Za-z0-9_])|(?<![A-Za-z0-9_])(?![A-Za-z0-9_]))");
        }
        digit @ '1'..='9' if !in_class => out.extend(['\\', digit]),
        'k' if !in_class && chars.peek() == Some(&'<') => out.push_str("\\k"),
        same @ ('n' | 'r' | 't' | 'v' | 'f' | 'x' | 'u' | 'p' | 'P') => out.extend(['\\', same]),
        other if other.is_ascii_alphanumeric() => return None,
        // Most of these need no backslash in Rust, but it is harmless before ASCII punctuation.
        other if other.is_ascii_punctuation() => out.extend(['\\', other]),
        other => out.push(other),
    }
    Some(())
}

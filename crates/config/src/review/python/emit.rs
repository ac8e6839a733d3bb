//! Translates a Python expression to the syntax of the `regex` crate with the same meaning (R-24).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::ast::{Anchor, CharKind, ClassItem, Flagged, Flags, Greed, Part};

const NEVER: &str = r"[^\s\S]";
const ASCII_WORD: &str = "[A-Za-z0-9_]";
/// Python treats all four as one letter when it ignores case; the Rust engines see two pairs.
const EVERY_I: &str = "iIİı";

/// Regex engine that an expression is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Linear,
    /// Backtracking engine, for expressions that the linear engine cannot represent.
    Backtracking,
    /// Linear approximation, used only to measure size. The backtracking engine compiles an
    /// expression in pieces and limits each piece alone.
    Size,
}

/// Returns the engine that an expression needs (R-25).
pub(super) fn way(whole: &Flagged) -> Way {
    let needs = whole.any(&mut |part| {
        // An ASCII `\B` also holds between the bytes of one character, which is not a valid position.
        let bounds_ascii = part.flags.ascii && part.part == Part::At(Anchor::NotWord);
        let looks = matches!(
            part.part,
            Part::Look { .. }
                | Part::Back(_)
                | Part::Atomic(_)
                | Part::Conditional { .. }
                | Part::Repeat { greed: Greed::Possessive, .. }
        );
        bounds_ascii || looks
    });
    if needs || ends_inside(whole, true) { Way::Backtracking } else { Way::Linear }
}

/// Returns true if something could follow a `$`.
fn ends_inside(part: &Flagged, last: bool) -> bool {
    match &part.part {
        Part::At(Anchor::LineEnd) => !part.flags.lines && !last,
        Part::Sequence(parts) => {
            parts.iter().enumerate().any(|(index, part)| ends_inside(part, last && index + 1 == parts.len()))
        }
        Part::Either(parts) => parts.iter().any(|part| ends_inside(part, last)),
        Part::Repeat { inner, most, .. } => ends_inside(inner, last && *most == Some(1)),
        Part::Capture(_, inner) => ends_inside(inner, last),
        Part::Literal(_)
        | Part::Any
        | Part::Class { .. }
        | Part::At(_)
        | Part::Back(_)
        | Part::Atomic(_)
        | Part::Look { .. }
        | Part::Conditional { .. } => false,
    }
}

/// Writes an expression. In Python `\B` never matches in an empty text, unlike in the Rust engines.
pub(super) fn emit(whole: &Flagged, way: Way, empty_text: bool) -> String {
    let mut emitter = Emitter { way, empty_text, numbers: referenced(whole), out: String::new() };
    emitter.part(whole);
    emitter.out
}

/// Returns the referenced groups with their new numbers. Other groups need no number.
fn referenced(whole: &Flagged) -> BTreeMap<u32, u32> {
    let mut groups = BTreeMap::new();
    whole.any(&mut |part| {
        if let Part::Back(group) | Part::Conditional { group, .. } = &part.part {
            groups.insert(*group, 0);
        }
        false
    });
    groups.values_mut().zip(1..).for_each(|(number, next)| *number = next);
    groups
}

struct Emitter {
    way: Way,
    empty_text: bool,
    numbers: BTreeMap<u32, u32>,
    out: String,
}

impl Emitter {
    fn part(&mut self, part: &Flagged) {
        let flags = part.flags;
        match &part.part {
            Part::Literal(None) => self.out.push_str(NEVER),
            Part::Literal(Some(one)) => self.literal(*one, flags),
            Part::Any => self.out.push_str(if flags.dot_all { "(?s:.)" } else { r"[^\n]" }),
            Part::Class { negated, items } => self.class(*negated, items, flags),
            Part::At(anchor) => self.anchor(*anchor, flags),
            Part::Back(_) if self.way == Way::Size => self.out.push_str("(?:)"),
            Part::Back(group) => {
                let open = if flags.ignore_case { "(?i:" } else { "(?:" };
                let number = self.numbers.get(group).copied().unwrap_or(0);
                write!(self.out, "{open}\\{number})").expect("a string takes everything");
            }
            Part::Sequence(parts) => self.inside("(?:", parts, ""),
            Part::Either(parts) => self.inside("(?:", parts, "|"),
            Part::Capture(_, inner) | Part::Atomic(inner) | Part::Look { inner, .. }
                if self.way == Way::Size =>
            {
                self.inside("(?:", std::slice::from_ref(inner), "");
            }
            Part::Capture(group, inner) => {
                let open = if self.numbers.contains_key(group) { "(" } else { "(?:" };
                self.inside(open, std::slice::from_ref(inner), "");
            }
            Part::Atomic(inner) => self.inside("(?>", std::slice::from_ref(inner), ""),
            Part::Look { ahead, negated, inner } => {
                let open = match (ahead, negated) {
                    (true, false) => "(?=",
                    (true, true) => "(?!",
                    (false, false) => "(?<=",
                    (false, true) => "(?<!",
                };
                self.inside(open, std::slice::from_ref(inner), "");
            }
            Part::Conditional { yes, no, .. } if self.way == Way::Size => {
                self.around("(?:", yes, "|");
                no.iter().for_each(|no| self.part(no));
                self.out.push(')');
            }
            Part::Conditional { group, yes, no } => {
                let number = self.numbers.get(group).copied().unwrap_or(0);
                write!(self.out, "(?({number})").expect("a string takes everything");
                self.inside("(?:", std::slice::from_ref(yes), "");
                self.out.push('|');
                if let Some(no) = no {
                    self.inside("(?:", std::slice::from_ref(no), "");
                }
                self.out.push(')');
            }
            Part::Repeat { inner, least, most, greed } => self.repeat(inner, *least, *most, *greed),
        }
    }

    fn inside<P: std::borrow::Borrow<Flagged>>(&mut self, open: &str, parts: &[P], between: &str) {
        self.out.push_str(open);
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.out.push_str(between);
            }
            self.part(part.borrow());
        }
        self.out.push(')');
    }

    fn around(&mut self, open: &str, inner: &Flagged, close: &str) {
        self.out.push_str(open);
        self.part(inner);
        self.out.push_str(close);
    }

    fn repeat(&mut self, inner: &Flagged, least: u32, most: Option<u32>, greed: Greed) {
        if is_place(inner) {
            // Neither engine repeats an empty match, and one empty match equals many.
            return match (least, greed) {
                (1.., _) => self.part(inner),
                (0, Greed::Lazy) => self.around("(?:|", inner, ")"),
                (0, Greed::Greedy) => self.around("(?:", inner, "|)"),
                (0, Greed::Possessive) => self.around(self.atomic(), inner, "|)"),
            };
        }
        if greed == Greed::Possessive {
            self.out.push_str(self.atomic());
        }
        self.inside("(?:", std::slice::from_ref(inner), "");
        match most {
            Some(most) => write!(self.out, "{{{least},{most}}}"),
            None => write!(self.out, "{{{least},}}"),
        }
        .expect("a string takes everything");
        match greed {
            Greed::Greedy => {}
            Greed::Lazy => self.out.push('?'),
            Greed::Possessive => self.out.push(')'),
        }
    }

    fn atomic(&self) -> &'static str {
        if self.way == Way::Size { "(?:" } else { "(?>" }
    }

    fn literal(&mut self, one: char, flags: Flags) {
        let escaped = regex::escape(one.encode_utf8(&mut [0; 4]));
        match (flags.ignore_case, flags.ascii) {
            (true, true) if one.is_ascii_alphabetic() => {
                self.out.extend(['[', one.to_ascii_lowercase(), one.to_ascii_uppercase(), ']']);
            }
            (true, false) if EVERY_I.contains(one) => self.out.extend(["[", EVERY_I, "]"]),
            (true, false) => write!(self.out, "(?i:{escaped})").expect("a string takes everything"),
            (true | false, _) => self.out.push_str(&escaped),
        }
    }

    fn anchor(&mut self, anchor: Anchor, flags: Flags) {
        let words = |same: &str, other: &str| format!("(?:(?<{same}{ASCII_WORD})(?{other}{ASCII_WORD})");
        let text = match (anchor, self.way) {
            (Anchor::LineStart, _) if flags.lines => "(?m:^)".to_owned(),
            (Anchor::LineStart | Anchor::Start, _) => r"\A".to_owned(),
            (Anchor::LineEnd, _) if flags.lines => "(?m:$)".to_owned(),
            // Nothing follows this position, so the pattern may consume the line feed.
            (Anchor::LineEnd, Way::Linear | Way::Size) => r"(?:\n?\z)".to_owned(),
            (Anchor::LineEnd, Way::Backtracking) => r"(?=\n?\z)".to_owned(),
            (Anchor::End, _) => r"\z".to_owned(),
            (Anchor::Word, Way::Linear | Way::Size) if flags.ascii => r"(?-u:\b)".to_owned(),
            (Anchor::Word, _) if flags.ascii => {
                format!("{}|(?<!{ASCII_WORD})(?={ASCII_WORD}))", words("=", "!"))
            }
            (Anchor::Word, _) => r"\b".to_owned(),
            (Anchor::NotWord, _) if self.empty_text => NEVER.to_owned(),
            (Anchor::NotWord, Way::Size) => r"\B".to_owned(),
            (Anchor::NotWord, _) if flags.ascii => {
                format!("{}|(?<!{ASCII_WORD})(?!{ASCII_WORD}))", words("=", "="))
            }
            (Anchor::NotWord, _) => r"\B".to_owned(),
        };
        self.out.push_str(&text);
    }

    fn class(&mut self, negated: bool, items: &[ClassItem], flags: Flags) {
        let mut inside = String::new();
        for item in items {
            match *item {
                ClassItem::Range(low, high) => range(&mut inside, low, high, flags),
                ClassItem::Kind { kind, negated } => inside.push_str(kind_text(kind, negated, flags.ascii)),
            }
        }
        let set = match (inside.is_empty(), negated) {
            (true, true) => r"[\s\S]".to_owned(),
            (true, false) => NEVER.to_owned(),
            (false, true) => format!("[^{inside}]"),
            (false, false) => format!("[{inside}]"),
        };
        if flags.ignore_case && !flags.ascii {
            write!(self.out, "(?i:{set})").expect("a string takes everything");
        } else {
            self.out.push_str(&set);
        }
    }
}

/// Returns true if the part matches only empty text, ignoring parentheses around it.
fn is_place(part: &Flagged) -> bool {
    match &part.part {
        Part::At(_) | Part::Look { .. } => true,
        Part::Sequence(parts) => parts.iter().all(is_place),
        Part::Capture(_, inner) | Part::Atomic(inner) | Part::Repeat { inner, .. } => is_place(inner),
        Part::Literal(_)
        | Part::Any
        | Part::Class { .. }
        | Part::Back(_)
        | Part::Either(_)
        | Part::Conditional { .. } => false,
    }
}

/// Writes a range without its surrogates, which never occur in a text. Adds the other case of ASCII
/// letters if case is ignored for ASCII only.
fn range(inside: &mut String, low: u32, high: u32, flags: Flags) {
    for (low, high) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if low <= high {
            write!(inside, "\\x{{{low:x}}}-\\x{{{high:x}}}").expect("a string takes everything");
        }
    }
    if flags.ignore_case && !flags.ascii && EVERY_I.chars().any(|one| (low..=high).contains(&u32::from(one)))
    {
        inside.push_str(EVERY_I);
    }
    if flags.ignore_case && flags.ascii {
        for (first, last, other) in [(0x41, 0x5A, 0x61), (0x61, 0x7A, 0x41)] {
            let (from, to) = (low.max(first), high.min(last));
            if from <= to {
                let (from, to) = (from - first + other, to - first + other);
                write!(inside, "\\x{{{from:x}}}-\\x{{{to:x}}}").expect("a string takes everything");
            }
        }
    }
}

fn kind_text(kind: CharKind, negated: bool, ascii: bool) -> &'static str {
    match (kind, negated, ascii) {
        (CharKind::Digit, false, false) => r"\p{Nd}",
        (CharKind::Digit, true, false) => r"\P{Nd}",
        (CharKind::Digit, false, true) => "0-9",
        (CharKind::Digit, true, true) => "[^0-9]",
        (CharKind::Space, false, false) => r"\s\x1c-\x1f",
        (CharKind::Space, true, false) => r"[^\s\x1c-\x1f]",
        (CharKind::Space, false, true) => r" \t\n\r\x0b\x0c",
        (CharKind::Space, true, true) => r"[^ \t\n\r\x0b\x0c]",
        (CharKind::Word, false, false) => r"\p{L}\p{N}_",
        (CharKind::Word, true, false) => r"[^\p{L}\p{N}_]",
        (CharKind::Word, false, true) => "A-Za-z0-9_",
        (CharKind::Word, true, true) => "[^A-Za-z0-9_]",
    }
}

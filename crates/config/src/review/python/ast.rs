//! Syntax tree of a Python regular expression.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// One character; `None` is a lone surrogate, which never occurs in Rust text.
    Literal(Option<char>),
    Any,
    Class {
        negated: bool,
        items: Vec<ClassItem>,
    },
    At(Anchor),
    /// Back-reference to an earlier group.
    Back(u32),
    Sequence(Vec<Flagged>),
    Either(Vec<Flagged>),
    Capture(u32, Box<Flagged>),
    /// Group without backtracking into it.
    Atomic(Box<Flagged>),
    Look {
        ahead: bool,
        negated: bool,
        inner: Box<Flagged>,
    },
    /// Choice by the participation of a group.
    Conditional {
        group: u32,
        yes: Box<Flagged>,
        no: Option<Box<Flagged>>,
    },
    Repeat {
        inner: Box<Flagged>,
        least: u32,
        most: Option<u32>,
        greed: Greed,
    },
}

/// A part and the flags that apply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flagged {
    pub(super) part: Part,
    pub(super) flags: Flags,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    pub(super) lines: bool,
    pub(super) dot_all: bool,
    pub(super) verbose: bool,
    pub(super) ascii: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    LineStart,
    LineEnd,
    Start,
    End,
    Word,
    NotWord,
}

/// Member of a character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClassItem {
    /// Range of code points, surrogates included.
    Range(u32, u32),
    /// `\d`, `\s`, `\w` and their negations.
    Kind { kind: CharKind, negated: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharKind {
    Digit,
    Space,
    Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greed {
    Greedy,
    Lazy,
    Possessive,
}

impl Part {
    pub(super) fn inside(&self) -> Vec<&Flagged> {
        match self {
            Self::Literal(_) | Self::Any | Self::Class { .. } | Self::At(_) | Self::Back(_) => Vec::new(),
            Self::Sequence(parts) | Self::Either(parts) => parts.iter().collect(),
            Self::Capture(_, inner)
            | Self::Atomic(inner)
            | Self::Look { inner, .. }
            | Self::Repeat { inner, .. } => vec![inner],
            Self::Conditional { yes, no, .. } => {
                [Some(yes), no.as_ref()].into_iter().flatten().map(|part| &**part).collect()
            }
        }
    }
}

impl Flagged {
    /// Returns true if `is` holds for this part or any part inside it.
    pub(super) fn any(&self, is: &mut impl FnMut(&Self) -> bool) -> bool {
        is(self) || self.part.inside().into_iter().any(|inner| inner.any(is))
    }
}

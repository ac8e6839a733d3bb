//! What a Python regular expression says.

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// One character; a lone surrogate, which no text of ours holds, is `None`.
    Literal(Option<char>),
    Any,
    /// One character of a set.
    Class {
        negated: bool,
        items: Vec<ClassItem>,
    },
    At(Anchor),
    /// What a group before it has found.
    Back(u32),
    /// One part after the other.
    Sequence(Vec<Flagged>),
    Either(Vec<Flagged>),
    /// A group with a number.
    Capture(u32, Box<Flagged>),
    /// A group that is not gone back into.
    Atomic(Box<Flagged>),
    /// A look at what comes or came.
    Look {
        ahead: bool,
        negated: bool,
        inner: Box<Flagged>,
    },
    /// By whether a group has taken part.
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

/// A part, and the flags it stands under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flagged {
    pub(super) part: Part,
    pub(super) flags: Flags,
}

/// The flags that say what a part means.
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

/// A member of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClassItem {
    /// From one character to another, by code points: surrogates are among them.
    Range(u32, u32),
    /// `\d`, `\s`, `\w` and their contraries.
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
    /// As much as it can.
    Greedy,
    /// As little as it can.
    Lazy,
    /// As much as it can, and gives nothing back.
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
    /// Whether this part or one inside it is of a kind.
    pub(super) fn any(&self, is: &mut impl FnMut(&Self) -> bool) -> bool {
        is(self) || self.part.inside().into_iter().any(|inner| inner.any(is))
    }
}

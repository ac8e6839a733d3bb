//! What a value must be, as data.

use super::Object;

/// What a value must be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text,
    /// The path of a file or directory.
    Path,
    Bool,
    /// A whole number of a range.
    Integer {
        min: i64,
        max: i64,
    },
    /// A number of at least `min`, or greater than it.
    Number {
        min: f64,
        /// Whether the bound itself is excluded.
        above: bool,
    },
    /// A length of time: `"90s"`, `"30m"`, `"2h"` or whole seconds.
    Duration {
        /// Whether none at all is allowed.
        zero: bool,
    },
    OneOf(&'static [&'static str]),
    /// A list of such values.
    List(&'static Kind),
    /// A list of such values that is not empty.
    Filled(&'static Kind),
    /// A mapping from free names to such values.
    Map(&'static Kind),
    /// A mapping from one free name to such a value.
    Single(&'static Kind),
    /// A mapping with known keys. What is in it is checked when its own fields are read.
    Object(&'static Object),
    Either(&'static [Kind]),
    /// Anything at all; the reader sees for itself.
    Any,
    /// A key that is known and refused, in these words after its name.
    Refused(&'static str),
}

impl Kind {
    /// A text, or a list of them.
    pub const TEXTS: Self = Self::Either(&[Self::Text, Self::List(&Self::Text)]);

    /// The table of its keys, where it is a mapping with known ones.
    pub fn object(&self) -> Option<&'static Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// What its values must be, where it is a mapping with free names.
    pub fn named_values(&self) -> Option<&'static Self> {
        if let Self::Map(kind) = self { Some(kind) } else { None }
    }

    /// Whether it is a mapping of either sort.
    pub fn is_mapping(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Map(_) | Self::Single(_))
    }

    /// What it is, for messages: `a list of text`.
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Integer { .. } => "a whole number".to_owned(),
            Self::Number { .. } => "a number".to_owned(),
            Self::Duration { .. } => "a duration such as \"90s\", \"30m\" or \"2h\"".to_owned(),
            Self::OneOf(words) => crate::diagnostic::list_of(words.iter().copied(), "or"),
            Self::List(item) | Self::Filled(item) => item.describe_many(),
            Self::Map(_) | Self::Object(_) => "a mapping".to_owned(),
            Self::Single(_) => "a mapping of one key".to_owned(),
            Self::Either(kinds) => {
                let words: Vec<String> = kinds.iter().map(Self::describe).collect();
                words.join(" or ")
            }
            Self::Any => "anything".to_owned(),
            Self::Refused(_) => "absent".to_owned(),
        }
    }

    /// A list of it, for messages.
    fn describe_many(&self) -> String {
        match self {
            Self::Object(_) | Self::Map(_) | Self::Single(_) => "a list of mappings".to_owned(),
            Self::Any | Self::Refused(_) | Self::Either(_) => "a list".to_owned(),
            Self::Integer { .. } => "a list of whole numbers".to_owned(),
            Self::Number { .. } => "a list of numbers".to_owned(),
            Self::Path => "a list of paths".to_owned(),
            Self::List(_) | Self::Filled(_) => "a list of lists".to_owned(),
            Self::Text | Self::Bool | Self::Duration { .. } | Self::OneOf(_) => {
                format!("a list of {}", self.describe())
            }
        }
    }
}

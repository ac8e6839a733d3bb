//! Kinds of values, as data.

use super::Object;

/// Required kind of a value.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text,
    Path,
    Bool,
    Integer {
        min: i64,
        max: i64,
    },
    /// Number of at least `min`, or greater than `min`.
    Number {
        min: f64,
        above: bool,
    },
    /// Duration: `"90s"`, `"30m"`, `"2h"` or whole seconds.
    Duration {
        zero: bool,
    },
    OneOf(&'static [&'static str]),
    List(&'static Kind),
    /// Non-empty list of such values.
    Filled(&'static Kind),
    /// Mapping from free names to such values.
    Map(&'static Kind),
    /// Mapping with exactly one free name and such a value.
    Single(&'static Kind),
    /// Mapping with known keys. Its contents are checked when its own fields are read.
    Object(&'static Object),
    Either(&'static [Kind]),
    /// Any value; the reader checks it.
    Any,
    /// Known but refused key, with the reason that follows its name in the message.
    Refused(&'static str),
}

impl Kind {
    /// A text or a list of texts.
    pub const TEXTS: Self = Self::Either(&[Self::Text, Self::List(&Self::Text)]);

    /// Returns the key table of a mapping with known keys.
    pub fn object(&self) -> Option<&'static Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Returns the kind of the values in a mapping with free names.
    pub fn named_values(&self) -> Option<&'static Self> {
        if let Self::Map(kind) = self { Some(kind) } else { None }
    }

    pub fn is_mapping(&self) -> bool {
        matches!(self, Self::Object(_) | Self::Map(_) | Self::Single(_))
    }

    /// Returns a description for messages, such as `a list of text`.
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

    /// Returns the plural for messages.
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

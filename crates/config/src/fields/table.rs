//! Key tables of objects and kinds of values, as data.

use std::fmt;

use crate::diagnostic::nearest;

/// Key table of an object.
pub struct Object {
    /// Name with article, such as `a movement`.
    pub title: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug)]
pub struct Field {
    /// Name that readers use to look the key up.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Words that people write instead. They stay errors; the hint names this key.
    pub synonyms: &'static [&'static str],
    pub kind: ValueKind,
    /// Kind for schemas, if the reader checks the value itself and `kind` says nothing.
    pub form: Option<ValueKind>,
    pub required: bool,
    /// Description for schemas and the manual.
    pub about: &'static str,
    /// Default value as JSON, for schemas, listings and the manual.
    pub default: Option<&'static str>,
    /// Slug of the error for a refused key, if not `not-supported`.
    pub slug: Option<&'static str>,
    /// Accept a refused key with a warning if its value is `false` or null: it then has no effect.
    pub unless_off: bool,
    /// Accept the key with a warning, because it has no effect.
    pub idle: bool,
}

impl Object {
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the field with this spelling, and the spelling.
    pub fn find(&self, spelling: &str) -> Option<(&'static Field, &'static str)> {
        self.fields.iter().find_map(|field| {
            let mut spellings = std::iter::once(&field.name).chain(field.aliases);
            spellings.find(|name| **name == spelling).map(|name| (field, *name))
        })
    }

    /// Returns the fields that an unknown key may mean, each with the spelling to write instead.
    ///
    /// People write `agents` for a role and for several movements, so a synonym can name two fields.
    pub(super) fn meant_by(&self, word: &str) -> Vec<(&'static Field, &'static str)> {
        let by_synonym = self.fields.iter().filter(|field| field.synonyms.contains(&word));
        let by_synonym: Vec<_> = by_synonym.map(|field| (field, field.name)).collect();
        if !by_synonym.is_empty() {
            return by_synonym;
        }
        let near = nearest(word, self.known()).and_then(|near| self.find(near));
        near.into_iter().collect()
    }

    /// Returns all accepted spellings, without refused ones.
    pub fn known(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.fields.iter().filter(|field| !field.is_refused());
        fields.flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()))
    }
}

impl Field {
    pub const fn new(name: &'static str, kind: ValueKind) -> Self {
        let (form, about, default, slug) = (None, "", None, None);
        Self {
            name,
            aliases: &[],
            synonyms: &[],
            kind,
            form,
            required: false,
            about,
            default,
            slug,
            unless_off: false,
            idle: false,
        }
    }

    pub const fn required(name: &'static str, kind: ValueKind) -> Self {
        let mut field = Self::new(name, kind);
        field.required = true;
        field
    }

    /// Creates a known but refused key: "`name` is not supported".
    pub const fn refused(name: &'static str) -> Self {
        Self::new(name, ValueKind::Refused(RefusedKey::Unsupported))
    }

    /// Creates several refused keys at once. They are spellings of one field that nothing reads.
    pub const fn refused_all(names: &'static [&'static str]) -> Self {
        let (first, others) = names.split_first().expect("at least one key");
        Self::refused(first).aliases(others)
    }

    /// Creates a key that is accepted with a warning, because it has no effect.
    pub const fn idle(name: &'static str) -> Self {
        let mut field = Self::new(name, ValueKind::Any).about("has no effect");
        field.idle = true;
        field
    }

    /// Creates a known but refused key, with the reason that follows its name.
    pub const fn refused_because(name: &'static str, why: &'static str) -> Self {
        Self::new(name, ValueKind::Refused(RefusedKey::Because(why)))
    }

    /// Returns true if the key is always refused, by its kind or by its reader.
    pub fn is_refused(&self) -> bool {
        matches!(self.form.as_ref().unwrap_or(&self.kind), ValueKind::Refused(_))
    }

    /// Refuses the key only if its value asks for something.
    #[must_use]
    pub const fn unless_off(mut self) -> Self {
        self.unless_off = true;
        self
    }

    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    #[must_use]
    pub const fn synonyms(mut self, synonyms: &'static [&'static str]) -> Self {
        self.synonyms = synonyms;
        self
    }

    /// Sets the kind for schemas, if the reader checks the value itself.
    #[must_use]
    pub const fn form(mut self, form: ValueKind) -> Self {
        self.form = Some(form);
        self
    }

    #[must_use]
    pub const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Sets the default value as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    /// Sets the slug of the error.
    #[must_use]
    pub const fn slug(mut self, slug: &'static str) -> Self {
        self.slug = Some(slug);
        self
    }
}

/// Prints only the title, because tables can contain themselves.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.title).finish()
    }
}

/// Required kind of a value.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
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
    List(&'static ValueKind),
    /// Non-empty list of such values.
    Filled(&'static ValueKind),
    /// Mapping from free names to such values.
    Map(&'static ValueKind),
    /// Mapping with exactly one free name and such a value.
    Single(&'static ValueKind),
    /// Mapping with known keys. Its contents are checked when its own fields are read.
    Object(&'static Object),
    Either(&'static [ValueKind]),
    /// Any value; the reader checks it.
    Any,
    /// Known but refused key, with the reason that follows its name in the message.
    Refused(RefusedKey),
}

/// Reason why a key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedKey {
    Unsupported,
    /// The words that follow its name. They contain an alternative.
    Because(&'static str),
}

impl RefusedKey {
    /// Returns the words that follow the name of the key.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unsupported => "is not supported",
            Self::Because(why) => why,
        }
    }
}

impl ValueKind {
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

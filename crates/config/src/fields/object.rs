//! Tables of keys, as data.

use std::fmt;

use super::Kind;

/// The table of an object's keys.
pub struct Object {
    /// What it is, with its article: `a movement`.
    pub title: &'static str,
    pub fields: &'static [Field],
}

/// One key of an object.
#[derive(Debug)]
pub struct Field {
    /// Its name, under which readers ask for it.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What its value must be.
    pub kind: Kind,
    /// What its value must be where the reader sees for itself and `kind` therefore says nothing; for schemas.
    pub form: Option<Kind>,
    /// Whether it must be given.
    pub required: bool,
    /// What it means, for schemas and the manual.
    pub about: &'static str,
    /// What holds where it is absent, as JSON; for schemas, listings and the manual.
    pub default: Option<&'static str>,
    /// The slug under which a refused key is reported, if not `not-supported`.
    pub slug: Option<&'static str>,
    /// Whether a refused key changes nothing, and is only warned of, where it says no or nothing.
    pub unless_off: bool,
}

impl Object {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field that is spelt so, and the spelling.
    pub fn find(&self, spelling: &str) -> Option<(&'static Field, &'static str)> {
        self.fields.iter().find_map(|field| {
            let mut spellings = std::iter::once(&field.name).chain(field.aliases);
            spellings.find(|name| **name == spelling).map(|name| (field, *name))
        })
    }

    /// The spellings that may be used, refused ones left out.
    pub fn known(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.fields.iter().filter(|field| !field.is_refused());
        fields.flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()))
    }
}

impl Field {
    /// A key that may be absent.
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        let (form, about, default, slug) = (None, "", None, None);
        Self { name, aliases: &[], kind, form, required: false, about, default, slug, unless_off: false }
    }

    /// A key that must be given.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        let mut field = Self::new(name, kind);
        field.required = true;
        field
    }

    /// A key we know and refuse: "`name` is not supported".
    pub const fn refused(name: &'static str) -> Self {
        Self::new(name, Kind::Refused("is not supported"))
    }

    /// A key we know and refuse, in these words after its name.
    pub const fn refused_because(name: &'static str, why: &'static str) -> Self {
        Self::new(name, Kind::Refused(why))
    }

    /// Whether it is known only to be refused, by its kind or by its reader.
    pub fn is_refused(&self) -> bool {
        matches!(self.form.as_ref().unwrap_or(&self.kind), Kind::Refused(_))
    }

    /// Refused only where it asks for something.
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

    /// What its value must be, where the reader sees for itself.
    #[must_use]
    pub const fn form(mut self, form: Kind) -> Self {
        self.form = Some(form);
        self
    }

    #[must_use]
    pub const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// What holds where it is absent, as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    /// The slug under which it is refused.
    #[must_use]
    pub const fn slug(mut self, slug: &'static str) -> Self {
        self.slug = Some(slug);
        self
    }
}

/// By its title alone: tables can contain themselves.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object").field(&self.title).finish()
    }
}

use std::fmt;

use super::Kind;

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
    pub kind: Kind,
    /// Kind for schemas, if the reader checks the value itself and `kind` says nothing.
    pub form: Option<Kind>,
    pub required: bool,
    /// Description for schemas and the manual.
    pub about: &'static str,
    /// Default value as JSON, for schemas, listings and the manual.
    pub default: Option<&'static str>,
    /// Slug of the error for a refused key, if not `not-supported`.
    pub slug: Option<&'static str>,
    /// Accept a refused key with a warning if its value is `false` or null, because it then has no
    /// effect.
    pub unless_off: bool,
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

    /// Returns all accepted spellings, without refused ones.
    pub fn known(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.fields.iter().filter(|field| !field.is_refused());
        fields.flat_map(|field| std::iter::once(field.name).chain(field.aliases.iter().copied()))
    }
}

impl Field {
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        let (form, about, default, slug) = (None, "", None, None);
        Self { name, aliases: &[], kind, form, required: false, about, default, slug, unless_off: false }
    }

    pub const fn required(name: &'static str, kind: Kind) -> Self {
        let mut field = Self::new(name, kind);
        field.required = true;
        field
    }

    /// Creates a known but refused key: "`name` is not supported".
    pub const fn refused(name: &'static str) -> Self {
        Self::new(name, Kind::Refused("is not supported"))
    }

    /// Creates a known but refused key, with the reason that follows its name.
    pub const fn refused_because(name: &'static str, why: &'static str) -> Self {
        Self::new(name, Kind::Refused(why))
    }

    /// Returns true if the key is always refused, by its kind or by its reader.
    pub fn is_refused(&self) -> bool {
        matches!(self.form.as_ref().unwrap_or(&self.kind), Kind::Refused(_))
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

    /// Sets the kind for schemas, if the reader checks the value itself.
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

//! Codes of diagnostics: `<area>/<slug>`.

use std::fmt;

/// What a diagnostic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    Piece,
    Hats,
    Steps,
    Review,
    /// The lowered workflow, alike in every dialect.
    Workflow,
    /// Settings files, variables and flags.
    Settings,
    Script,
    Provider,
    Work,
}

impl Area {
    /// The word before the slash.
    pub fn name(self) -> &'static str {
        match self {
            Self::Piece => "piece",
            Self::Hats => "hats",
            Self::Steps => "steps",
            Self::Review => "review",
            Self::Workflow => "workflow",
            Self::Settings => "settings",
            Self::Script => "script",
            Self::Provider => "provider",
            Self::Work => "work",
        }
    }

    /// A code of this area.
    pub const fn code(self, slug: &'static str) -> Code {
        Code { area: self, slug }
    }
}

/// The code of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    pub area: Area,
    /// What is wrong; slugs that mean the same are the same in every area.
    pub slug: &'static str,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.area.name(), self.slug)
    }
}

//! Codes of diagnostics: `<area>/<slug>`.

use std::fmt;

/// Subject area of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    Piece,
    Hats,
    Steps,
    Review,
    /// The lowered workflow, common to all dialects.
    Workflow,
    /// Settings files, variables and flags.
    Settings,
    Script,
    Provider,
    Work,
}

impl Area {
    /// Returns the part before the slash.
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

    pub const fn code(self, slug: &'static str) -> Code {
        Code { area: self, slug }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    pub area: Area,
    /// Kind of problem. The same kind has the same slug in every area.
    pub slug: &'static str,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.area.name(), self.slug)
    }
}

//! Facets: texts that a piece defines once and uses by name (P-8).

/// Kind of text that a piece can keep in a map, in a file, or in the facet directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Facet {
    Persona,
    Policy,
    Knowledge,
    Instruction,
    Format,
}

impl Facet {
    pub(super) const ALL: [Self; 5] =
        [Self::Persona, Self::Policy, Self::Knowledge, Self::Instruction, Self::Format];

    /// Returns the key of the piece's map.
    pub(super) fn map(self) -> &'static str {
        match self {
            Self::Persona => "personas",
            Self::Policy => "policies",
            Self::Knowledge => "knowledge",
            Self::Instruction => "instructions",
            Self::Format => "report_formats",
        }
    }

    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Persona => "personas",
            Self::Policy => "policies",
            Self::Knowledge => "knowledge",
            Self::Instruction => "instructions",
            Self::Format => "output-contracts",
        }
    }

    /// Returns the word for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::Policy => "policy",
            Self::Knowledge => "knowledge",
            Self::Instruction => "instruction",
            Self::Format => "report format",
        }
    }

    /// Returns true if the text itself may replace the name.
    pub(super) fn may_be_inline(self) -> bool {
        match self {
            Self::Persona | Self::Policy | Self::Knowledge => false,
            Self::Instruction | Self::Format => true,
        }
    }

    /// Returns true if a value is a path. Inline text may contain a slash, but a name may not.
    pub(super) fn is_path(self, value: &str) -> bool {
        let one_line = !value.trim_end().contains('\n');
        one_line && (value.trim_end().ends_with(".md") || (!self.may_be_inline() && value.contains('/')))
    }
}

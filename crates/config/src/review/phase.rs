/// The part of a review in which an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Phase {
    Early,
    #[default]
    Main,
    Final,
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Early, Self::Main, Self::Final];

    /// Returns the name used in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Main => "main",
            Self::Final => "final",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

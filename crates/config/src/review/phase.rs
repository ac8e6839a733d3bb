//! When in a review an agent is asked.

/// When in a review an agent is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Phase {
    Early,
    #[default]
    Main,
    Final,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Early, Self::Main, Self::Final];

    /// Its word in files and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Main => "main",
            Self::Final => "final",
        }
    }

    /// The phase of that word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

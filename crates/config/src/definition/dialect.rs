//! The ways a definition can be written.

use crate::Area;

/// The ways a definition can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Movements: a piece.
    Piece,
    /// Hats and topics: `orch.yml`.
    Hats,
    /// Step agents: `.agent/NAME/agent.json`.
    Steps,
    /// Review agents: `*.toml`.
    Review,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Piece, Self::Hats, Self::Steps, Self::Review];

    /// The word before the colon in `piece:NAME`, and in JSON.
    pub fn name(self) -> &'static str {
        self.area().name()
    }

    /// The area of its diagnostics.
    pub fn area(self) -> Area {
        match self {
            Self::Piece => Area::Piece,
            Self::Hats => Area::Hats,
            Self::Steps => Area::Steps,
            Self::Review => Area::Review,
        }
    }
}

//! The ways a definition can be written.

use crate::Area;

/// The ways a definition can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    Piece,
    Hats,
    Steps,
    Review,
}

impl Dialect {
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

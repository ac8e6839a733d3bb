use crate::Area;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    Piece,
    Hats,
    Steps,
    Review,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Piece, Self::Hats, Self::Steps, Self::Review];

    /// Returns the prefix in `piece:NAME`, which is also the name in JSON.
    pub fn name(self) -> &'static str {
        self.area().name()
    }

    /// Returns the area of the dialect's diagnostics.
    pub fn area(self) -> Area {
        match self {
            Self::Piece => Area::Piece,
            Self::Hats => Area::Hats,
            Self::Steps => Area::Steps,
            Self::Review => Area::Review,
        }
    }
}

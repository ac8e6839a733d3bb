//! The work on an issue, handed over: what a delivery's stages do to the repository and the forge.
//!
//! [`Assignment`] is what is frozen of it at the beginning; [`Deliverer`] does it. Every effect looks at the world first and finds
//! out whether it has happened; the journal has its intent before and its result after, because it is an action like
//! any other. Nothing here decides what comes next.

mod assignment;
mod deliverer;
mod local;
mod own_tree;
mod past;
mod placement;
mod published;
mod requests;
mod reviewed;
mod summary;

pub use assignment::{Assignment, Delivered, Destination};
pub use deliverer::{Deliverer, Forge, Means};
pub use own_tree::{OwnTree, Planter};
pub use past::{Came, Deeds, Past};
pub use placement::Placement;
pub use summary::{StageSum, Summary};

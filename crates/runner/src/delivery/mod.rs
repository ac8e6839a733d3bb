//! Delivery of the work on an issue: the effects of delivery stages on the repository and the forge.
//!
//! [`Assignment`] is the part frozen at the start; [`Deliverer`] performs it. Every effect first checks
//! whether it has already happened. It is an action like any other: the journal has its intent before and its
//! result after. Nothing here decides the next step.

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

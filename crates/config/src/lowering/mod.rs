//! Parts of lowering that all dialects share: the provider of each turn, and source locations.

mod providers;
mod spots;

pub(crate) use providers::{Answerer, Providers};
pub(crate) use spots::Spots;

//! What lowering is made of in every dialect: who answers a turn, and where what was lowered is written.

mod providers;
mod spots;

pub(crate) use providers::{Answerer, Providers};
pub(crate) use spots::Spots;

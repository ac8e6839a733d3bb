//! The provider `script`: answers from a file, starts no model and opens no socket.
//!
//! [`Player`] chooses which reply an ask gets: pure, at once, in the order of the asks. [`Performance`] then does
//! what the reply says: takes its time, writes, runs, fails, hangs or speaks.

mod performance;
mod player;
mod scripted;

#[cfg(test)]
pub(crate) mod tests;

pub use player::{Accounts, Asked, BadScript, Left, Missing, Player, Taken};

pub(crate) use performance::Performance;
pub(crate) use scripted::Scripted;

//! The provider `script`: it answers from a file, starts no model and opens no socket.
//!
//! A [`Player`] chooses the reply for an ask. It is pure and decides immediately, in the order of the asks. A
//! [`Performance`] then acts out the reply: it waits, writes, runs, fails, hangs or answers.

mod performance;
mod player;
mod scripted;

#[cfg(test)]
pub(crate) mod tests;

pub use player::{Accounts, Asked, BadScript, Left, Missing, Player, Taken};

pub(crate) use performance::Performance;
pub(crate) use scripted::Scripted;

//! The state machine of a run.
//!
//! [`Run::apply`] folds one fact into the run and says what must now be done. It reads nothing but its arguments: time,
//! chance, ids, file contents and settings arrive inside facts or stand in the workflow. Live runs and resumed runs
//! call the same function, so there is no second path: resume *is* [`replay`].
//!
//! How it works: a fact is put in its place in the current round (`facts`), then `advance` asks in a loop what the
//! round lacks next, in one order for all workflows. There are no states for "judging", "retrying" or "parked"; they
//! follow from what the places hold and from the hold. A round that lacks nothing is left by its verdict (`leave`).
//!
//! What is deliberately absent: texts (only references and bounded excerpts are kept), words for agents or people (they
//! come in the workflow), and any knowledge of a dialect.

// A new fact, decision or verdict must be thought about wherever one is handled.
#![warn(clippy::wildcard_enum_match_arm)]

mod advance;
mod carry;
mod complete;
mod counts;
mod draft;
mod facts;
mod failures;
mod launch;
mod leave;
mod ledger;
mod monitor;
mod names;
mod prove;
pub mod rehearse;
mod replay;
mod retry;
mod run;
mod topics;
mod verdict;
mod visit;
pub mod work;

pub use carry::Carry;
pub use counts::Counts;
pub use ledger::Ledger;
pub use replay::{Diverged, Replay, replay};
pub use run::{Phase, Run};
pub use visit::{Call, Done, Round, Slot, Visit};

//! The state machine of a run.
//!
//! [`Run::apply`] folds one fact into the run and returns the effects to execute. It reads only its arguments. Time,
//! randomness, ids, file contents and settings arrive inside facts or in the workflow. Live runs and resumed runs call
//! the same function, so there is no second path: resume *is* [`replay`].
//!
//! How it works: `facts` records a fact in its place in the current round. Then `advance` fills the gaps of the round
//! in a loop, in one order for all workflows. There are no states for "judging", "retrying" or "parked". They follow
//! from the contents of the places and from the hold. A complete round is left by its verdict (`leave`).
//!
//! Deliberately absent: texts (the run keeps only references and bounded excerpts), words for agents or people (the
//! workflow provides them), and any knowledge of a dialect.

// Every `match` must handle a new fact, decision or verdict explicitly.
#![warn(clippy::wildcard_enum_match_arm)]

mod advance;
mod complete;
mod draft;
mod facts;
mod failures;
mod launch;
mod leave;
mod notes;
mod progress;
pub mod rehearse;
mod replay;
mod run;
mod verdict;

pub use draft::Carry;
pub use notes::{NumberedNote, PersonNotes};
pub use progress::{CycleProgress, StageReview, StageTrail};
pub use replay::{Diverged, Replay, replay};
pub use run::{CallResult, CallState, Counts, Ledger, Phase, Round, Run, Slot, Visit};

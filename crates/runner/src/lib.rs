//! The driver library: the one loop that runs a workflow, fact → engine → journal → effects → observers.
//!
//! A run is its journal. [`Driver`] owns a run. It folds every fact through `saihai_engine::Run::apply` and
//! appends the fact and its decisions in one synced batch. Only then does it perform the effects. Resuming
//! after a crash, answering from another process and forking all work the same way: read the journal, fold
//! its facts, append the next fact.
//!
//! ```text
//! let runs = Runs::of_project(root);
//! let mut driver = Driver::start(&runs, beginning, connections, clock)?;     // or Driver::resume(…)
//! let control = driver.control();                                             // Ctrl-C, answers, cancel
//! let finish = driver.drive(&mut |observed| show(observed)).await?;
//! ```
//!
//! Every write goes through [`Disk`] and every time comes from [`Clock`]. `result`, `explain` and `show` are
//! projections of the records ([`project`]), never a second source of truth.
//!
//! Deliberately absent:
//! - Decisions. They belong to the engine.
//! - Messages for people. They belong to the command line.
//! - State shared between tasks. The driver owns all of it; a provider gets its input and returns a reply.

mod beginning;
mod clock;
mod control;
pub mod delivery;
mod driver;
mod error;
mod fork;
mod history;
mod inbox;
mod loaded_run;
mod observed;
mod offline;
mod outside;
mod owned;
mod preview;
pub mod project;
mod project_source;
mod render;
mod reports;
pub mod review;
mod secrets;
mod subject;
#[cfg(test)]
mod testing;
mod tools_used;
mod visible;
mod writable;

pub use beginning::Beginning;
pub use clock::Clock;
pub use control::{Command, Control};
pub use driver::{Driver, Finish, Going};
pub use error::Error;
pub use fork::{Forked, fork};
pub use loaded_run::{ListedRun, LoadedRun, list_runs, run_state};
pub use observed::{Observed, Warning};
pub use offline::{Given, Reached, answer, cancel, is_gate_closed, open_gate};
pub use outside::{Deed, Outside, Performing};
pub use preview::{Entering, Preview, preview};
pub use project_source::ProjectSource;
pub(crate) use saihai_git::git;
pub use saihai_git::repository;
pub use saihai_git::{Environment, Git, GitError, Tracked, abandoned_checkouts, end_all_git};
pub use saihai_store::journal::JOURNAL_SCHEMA;
pub use saihai_store::{Disk, Glimpse, Glimpses, Operations, RunDirectory, Runs, StoreError, replace_below};
pub(crate) use saihai_store::{blobs, disk, journal, live, lock};
pub use saihai_view::RunState as State;
pub use subject::{
    Base, Error as SubjectError, RevisionSource, SUBJECT, Untracked, changes, frozen, parted_from, proposed,
    whole_files,
};
pub use visible::{defused, visible_line, visible_text};
pub use writable::can_create_directory;

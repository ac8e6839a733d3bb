//! A run on disk.
//!
//! `.saihai/runs/<id>/` holds the journal, the frozen workflow, blobs, the lock and the inbox of one run. [`Runs`]
//! finds runs by name from their directories alone, without opening other journals. [`RunDirectory`] reads one run.
//! Every write of a run goes through [`Disk`], so that tests can make any write fail, tear, or kill the process.
//!
//! This crate does not interpret records. The engine folds them into a state, and the view folds them into a display.

pub mod blobs;
pub mod disk;
mod error;
pub mod journal;
pub mod live;
pub mod lock;
mod run_directory;
mod runs;

pub use disk::{Disk, Operations, replace_below};
pub use error::StoreError;
pub use live::{Glimpse, Glimpses};
pub use run_directory::{RunDirectory, SERVER_TICKET, damaged};
pub use runs::{Runs, names_run};

//! The driver library: the one loop that runs a workflow, fact → engine → journal → effects → observers.
//!
//! A run is its journal. [`Driver`] owns a run. It folds every fact through `saihai_engine::Run::apply` and
//! appends the fact and its decisions in one synced batch. Only then does it perform the effects. Resuming
//! after a crash, answering from another process and forking all work the same way: read the journal, fold
//! its facts, append the next fact.
//!
//! ```text
//! let runs = Runs::of_project(root);
//! let mut driver = Driver::start(&runs, spec, connections, clock)?;          // or Driver::resume(…)
//! let control = driver.control();                                             // Ctrl-C, answers, cancel
//! let outcome = driver.drive(options, &mut |event| show(event)).await?;
//! ```
//!
//! Every write goes through [`Disk`] and every time comes from [`Clock`]. `result`, `explain` and `show` are
//! views of the records ([`views`]), never a second source of truth.
//!
//! Deliberately absent:
//! - Decisions. They belong to the engine.
//! - Messages for people. They belong to the command line.
//! - State shared between tasks. The driver owns all of it; a provider gets its input and returns a reply.

mod clock;
mod driver;
mod driver_event;
pub mod durable;
mod error;
mod fork;
mod hosted;
mod project_source;
mod prompts;
mod remote_control;
mod replay;
mod reports;
mod run_session;
mod secrets;
mod submission;
#[cfg(test)]
mod testing;
pub mod views;

pub use clock::Clock;
pub use driver::{
    ActionExecutor, ActionFuture, ActionRequest, DriveOptions, DriveOutcome, Driver, DriverControl,
    FileCounter, RunSpec, WorkDirectory, Workplace,
};
pub use driver_event::{DriverEvent, DriverWarning};
pub use error::{AnswerProblem, DriverError, ForkProblem};
pub use fork::{ForkedRun, fork};
pub use hosted::{HostedCall, HostedRun};
pub use project_source::{ProjectSource, can_create_directory};
pub use prompts::{PreviewInput, PromptPreview, preview};
pub use remote_control::{
    GateAnswer, RequestDelivery, addressed, answer, answer_with, cancel, fitting_answer, lend, open_gate,
    person_note, tell, withdraw,
};
pub use replay::{CallHistory, ReplayedRun};
pub use run_session::answer_without_person;
pub use saihai_store::journal::{JOURNAL_SCHEMA, JournalReader};
pub use saihai_store::{
    Disk, Glimpse, Glimpses, RunDirectory, Runs, SERVER_TICKET, StoreError, names_run, replace_below,
};
pub(crate) use saihai_store::{blobs, disk, journal, live, lock};
pub use saihai_view::{defused, visible_line, visible_text};
pub use submission::{PulledRun, SubmittedRun, UnhostableAction, unhostable};
pub use views::{
    FollowedRun, IterationSummary, ListedRun, LoadedRun, Recording, RunOutcome, TurnFileChanges,
    UnmatchedTurn, list_runs, run_state,
};

//! A run as any screen shows it.
//!
//! [`RunView`] folds the records of a journal in one pass. The result is visits, rounds, calls and attempts with their
//! times, results and costs. Lists, tables, explanations and reports derive from it; none of them reads records itself.
//! The fold is incremental. A live display thus holds the same value as one made from a finished journal.
//!
//! Texts stay references. A caller that shows one reads it from the run's directory. This crate writes no words for
//! people and does no I/O. It decides nothing: it can also show a run that this version could not continue.

mod bus_events;
mod findings_ledger;
mod results;
mod run_view;
mod transitions;
mod unverified;
mod visible;

#[cfg(test)]
mod tests;

pub use bus_events::{BusEvent, BusEvents, EventFate, EventSource};
pub use findings_ledger::{FindingOrigin, FindingState, FindingsLedger, LedgerFinding};
pub use results::{ActionResult, IterationView, OpenGateView, ReportVersion, RunSpending, asked_of};
pub use run_view::{
    AttemptResult, AttemptView, CallView, ExitView, PauseView, PerformedView, PersonNoteView, RoundView,
    RunState, RunView, VisitView,
};
pub use transitions::{DecisiveTurn, Evidence, Transition};
pub use visible::{defused, is_hidden, visible_line, visible_text};

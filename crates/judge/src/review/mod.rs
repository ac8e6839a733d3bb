//! What reviewers found, folded into one report.
//!
//! [`Payload::read`] takes what one agent replied apart into [`Finding`]s and [`Assessment`]s and loses nothing of it;
//! [`Review::report`] folds the results of all agents into one [`Report`]: places are made sure of, similar findings
//! become one with several members, and a baseline, suppressions and thresholds say which of them count. No model is
//! asked and no clock is read, so the same replies give the same report, in whatever order they arrived.

mod agent_result;
mod anchor;
mod assessment;
mod baseline;
mod change;
mod code;
mod day;
mod dedupe;
mod dollars;
mod finding;
mod fingerprint;
mod ignore;
mod matching;
mod mode;
mod outcome;
mod path;
mod path_pattern;
mod payload;
mod policy;
mod report;
mod reported;
mod reviewing;
mod similar;
mod summary;
mod suppression;

#[cfg(test)]
mod tests;

pub use agent_result::{AgentResult, Status, TruncatedBy};
pub use anchor::Anchor;
pub use assessment::Assessment;
pub use baseline::{Baseline, NotABaseline};
pub use change::Change;
pub use code::{Code, Source};
pub use day::Day;
pub use finding::{Finding, Kind};
pub use ignore::Ignore;
pub use mode::Mode;
pub use outcome::{Outcome, Stopped};
pub use path_pattern::PathPattern;
pub use payload::Payload;
pub use policy::{FailOn, FailScope, Policy};
pub use report::{Considered, LoadError, NotReviewed, Report, Unread};
pub use reported::{Excerpt, Fixed, Member, Reported, State, Suppressed};
pub use reviewing::Review;
pub use saihai_model::Severity;
pub use summary::{Counts, Summary};
pub use suppression::{Notice, NoticeLevel};

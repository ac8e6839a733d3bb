//! Folds the findings of review agents into one report.
//!
//! [`Payload::read`] splits an agent's reply into [`Finding`]s and [`Assessment`]s, and loses none of it.
//! [`Review::report`] folds the results of all agents into one [`Report`]. It verifies places and merges similar
//! findings into one with several members. A baseline, suppressions and thresholds then decide which findings count.
//!
//! Nothing here asks a model or reads a clock. The same replies thus give the same report, in any order of arrival.

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

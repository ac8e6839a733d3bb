//! Reviews: which agents a change needs, what they are asked, and one report of all they find.
//!
//! 1. [`subject`] reads what is reviewed: changes since a revision, or whole files.
//! 2. [`select`] decides by patterns which agents a subject needs. [`lower`] makes a workflow of them and freezes all
//!    decisions as a [`ReviewPlan`]; a report needs only the run.
//! 3. The driver runs the workflow. Its last action calls [`finish_run`], which folds the journal into the results of
//!    the agents, and these into one [`ReviewReport`].
//! 4. [`to_markdown`], [`to_json`], [`to_sarif`] and [`to_github`] render that report and nothing else.
//!
//! Folding asks no model and reads no clock. The same replies thus give the same report, in any order of arrival.

mod assemble;
mod baseline;
mod cache;
mod code;
mod github;
mod lower;
mod markdown;
mod plan;
mod prompt;
mod report;
mod results;
mod revision;
mod run_report;
mod sarif;
mod select;
pub mod subject;
mod suppression;
mod words;

pub use baseline::{Baseline, BaselineError};
pub use cache::ReviewCache;
pub use github::to_github;
pub use lower::{CachePolicy, LoweredReview, ReviewOptions, ReviewRequest, ending, lower};
pub use markdown::{to_markdown, to_short_markdown};
pub use plan::{
    ConsideredAgent, GapReason, RefusedDefinition, ReportFile, ReportFormat, ReviewGap, ReviewPlan,
};
pub use prompt::{ChangeDescription, describe_changes};
pub use report::{
    AgentResult, AgentStatus, BaselineState, CodeExcerpt, FindingAnchor, FindingMember, FixedFinding,
    ReportSummary, ReportedFinding, ReviewMode, ReviewOutcome, ReviewReport, SeverityCounts,
    SuppressedFinding, TruncatedBy,
};
pub use revision::{RevisionSource, file_at_revision};
pub use run_report::{
    BASELINE, changed_files, empty_report, finish_run, last_report, report_so_far, saved_report,
};
pub use sarif::{REPORT_SCHEMA, to_json, to_sarif};
pub use select::{
    AgentDecision, AgentFilter, AgentSelection, SelectionReason, SkipReason, UnknownAgent, select,
};
pub use suppression::{NoticeLevel, SuppressionNotice};
pub use words::findings_for_agents;

#[cfg(test)]
mod tests;

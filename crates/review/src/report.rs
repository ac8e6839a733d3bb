//! The report of a review.

use saihai_judge::{Assessment, Finding};
use saihai_model::{FailureClass, Millis, Severity, Usage, Usd};
use serde::{Deserialize, Serialize};

use crate::plan::{ConsideredAgent, RefusedDefinition, ReviewGap, ReviewPlan};
use crate::suppression::SuppressionNotice;

/// The report of a review: all findings and decisions. Every output format derives from it alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewReport {
    /// Version of this format. Later versions only add fields.
    pub version: u32,
    pub run: String,
    pub mode: ReviewMode,
    pub base: Option<String>,
    pub head: Option<String>,
    pub outcome: ReviewOutcome,
    pub warnings: Vec<String>,
    /// All agents that were considered.
    pub selection: Vec<ConsideredAgent>,
    pub load_errors: Vec<RefusedDefinition>,
    pub results: Vec<AgentResult>,
    pub findings: Vec<ReportedFinding>,
    /// Assessments of the whole subject.
    pub assessments: Vec<Assessment>,
    pub suppressed: Vec<SuppressedFinding>,
    /// Findings below the minimum confidence.
    pub filtered: Vec<ReportedFinding>,
    /// Findings of the baseline that no longer exist.
    pub fixed: Vec<FixedFinding>,
    /// Parts that some or all agents did not see.
    pub not_reviewed: Vec<ReviewGap>,
    pub notices: Vec<SuppressionNotice>,
    pub summary: ReportSummary,
}

impl ReviewReport {
    /// Returns the reason why this report cannot be a baseline. `None` if all asked agents answered.
    pub fn is_no_baseline(&self) -> Option<&'static str> {
        if self.outcome == ReviewOutcome::Cancelled {
            Some("the review was stopped")
        } else if self.results.is_empty() {
            Some("nothing was reviewed")
        } else if !self.results.iter().all(|result| result.status.has_delivered()) {
            Some("not every agent answered")
        } else {
            None
        }
    }
}

/// A finding in the report: one, or several about the same problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedFinding {
    /// Displayed finding: the worst of its members, with the highest confidence of all.
    #[serde(flatten)]
    pub finding: Finding,
    pub fingerprint: String,
    pub anchor: FindingAnchor,
    /// Number of agents that found it.
    pub votes: usize,
    /// State relative to the baseline; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<BaselineState>,
    /// True if it can fail the review, apart from its severity.
    pub counts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<CodeExcerpt>,
    /// Reviewed file that it may be about, if its place is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps: Option<String>,
    /// All merged findings with their agents. The displayed one comes first.
    pub members: Vec<FindingMember>,
}

/// One of the merged findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingMember {
    #[serde(flatten)]
    pub finding: Finding,
    pub fingerprint: String,
    pub anchor: FindingAnchor,
}

/// State of a finding relative to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineState {
    /// It is not in the baseline.
    New,
    Persisting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeExcerpt {
    /// Number of the first line.
    pub first_line: u32,
    /// Lines, each cut if long.
    pub lines: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressedFinding {
    #[serde(flatten)]
    pub reported: ReportedFinding,
    pub reason: String,
    /// Place of the suppression, as `FILE:LINE`.
    pub by: String,
    /// True if the reviewed change itself adds the suppression.
    pub added_by_change: bool,
}

/// A finding of the baseline that no longer exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedFinding {
    pub fingerprint: String,
    pub agents: Vec<String>,
    pub severity: Option<Severity>,
    pub file: Option<String>,
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub message: String,
}

impl ReportedFinding {
    /// Returns the agents that found it, without duplicates, sorted by name.
    pub fn agents(&self) -> Vec<&str> {
        let mut agents: Vec<&str> = self.members.iter().map(|member| member.finding.agent.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        agents
    }

    /// Returns true if a member is as bad as the whole.
    pub(super) fn is_worst(&self, member: &FindingMember) -> bool {
        member.finding.severity == self.finding.severity
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportSummary {
    pub by_severity: SeverityCounts,
    pub findings: usize,
    /// Findings that count and are bad enough to fail the review.
    pub failing: usize,
    /// Worst severity; `None` exactly if there is no finding.
    pub max_severity: Option<Severity>,
    pub wall_ms: Millis,
    /// Known cost, in millionths of a dollar.
    #[serde(rename = "cost_usd", default, skip_serializing_if = "Option::is_none", with = "dollars")]
    pub cost: Option<Usd>,
    /// Number of agents that answered.
    pub delivered: usize,
    pub failed: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeverityCounts {
    pub critical: usize,
    pub important: usize,
    pub suggestion: usize,
    pub nitpick: usize,
}

impl SeverityCounts {
    /// Returns the count of a severity.
    pub fn of(&self, severity: Severity) -> usize {
        match severity {
            Severity::Critical => self.critical,
            Severity::Important => self.important,
            Severity::Suggestion => self.suggestion,
            Severity::Nitpick => self.nitpick,
        }
    }
}

impl ReportSummary {
    pub(super) fn new(
        findings: &[ReportedFinding],
        results: &[AgentResult],
        failing: usize,
        wall: Millis,
    ) -> Self {
        let of = |severity| findings.iter().filter(|one| one.finding.severity == severity).count();
        let costs = results.iter().filter_map(|result| result.cost);
        let delivered = results.iter().filter(|result| result.status.has_delivered()).count();
        Self {
            by_severity: SeverityCounts {
                critical: of(Severity::Critical),
                important: of(Severity::Important),
                suggestion: of(Severity::Suggestion),
                nitpick: of(Severity::Nitpick),
            },
            findings: findings.len(),
            failing,
            max_severity: findings.iter().map(|one| one.finding.severity).min(),
            wall_ms: wall,
            cost: costs.reduce(|one, other| Usd(one.0.saturating_add(other.0))),
            delivered,
            failed: results.len() - delivered,
        }
    }
}

/// Distance of a finding from the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingAnchor {
    /// On a line that the change adds.
    Added,
    /// Inside a hunk, next to an added line.
    Context,
    /// In a reviewed file, elsewhere or on no line.
    File,
    /// In a file that was not reviewed.
    Outside,
    None,
    /// The named place does not exist.
    Unverified,
}

impl FindingAnchor {
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Context => "context",
            Self::File => "file",
            Self::Outside => "outside",
            Self::None => "none",
            Self::Unverified => "unverified",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewMode {
    /// A change in the working tree.
    Diff,
    Pr,
    Files,
}

impl ReviewMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Diff => "diff",
            Self::Pr => "pr",
            Self::Files => "files",
        }
    }
}

/// Result of one agent. It keeps everything that arrived, also from a failed agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    pub agent: String,
    #[serde(flatten)]
    pub status: AgentStatus,
    /// Total time, including all attempts and waits.
    pub elapsed_ms: Millis,
    pub findings: Vec<Finding>,
    /// Assessments of the whole subject.
    pub assessments: Vec<Assessment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost in millionths of a dollar.
    #[serde(rename = "cost_usd", default, skip_serializing_if = "Option::is_none", with = "dollars")]
    pub cost: Option<Usd>,
    /// True if the answer came from the cache.
    #[serde(default)]
    pub cached: bool,
    /// Notes for a person about the reading of its reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Texts of refused findings, each cut if long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AgentStatus {
    Success,
    /// Part of a reply arrived.
    Truncated {
        reason: TruncatedBy,
    },
    /// Our own deadline ended it.
    Timeout {
        timeout_seconds: u64,
    },
    Error {
        /// A class of failure, `invalid_output` or `budget`.
        class: String,
        message: String,
        /// Exit code of its program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// End of its program's stderr.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr: Option<String>,
    },
}

/// Cause of a truncated reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TruncatedBy {
    /// The limit on model calls.
    MaxTurns,
    /// The limit on the model's output.
    OutputLimit,
    /// Only a part of it was valid.
    InvalidOutput,
}

impl TruncatedBy {
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxTurns => "max_turns",
            Self::OutputLimit => "output_limit",
            Self::InvalidOutput => "invalid_output",
        }
    }
}

impl AgentStatus {
    /// Class of an agent that did not start because the budget was used up.
    pub const BUDGET: &'static str = "budget";
    /// Class of an agent with an unusable reply.
    pub const INVALID_OUTPUT: &'static str = "invalid_output";

    /// Creates a failure of a class, without details of a program.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self::error(class.name(), message)
    }

    /// Creates a failure for this reason, without details of a program.
    pub fn error(class: &str, message: impl Into<String>) -> Self {
        Self::Error { class: class.to_owned(), message: message.into(), exit_code: None, stderr: None }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Truncated { .. } => "truncated",
            Self::Timeout { .. } => "timeout",
            Self::Error { .. } => "error",
        }
    }

    /// Returns true if the agent answered, even in part.
    pub fn has_delivered(&self) -> bool {
        match self {
            Self::Success | Self::Truncated { .. } => true,
            Self::Timeout { .. } | Self::Error { .. } => false,
        }
    }

    /// Returns true if it was never asked, for lack of budget.
    pub fn is_unpaid(&self) -> bool {
        matches!(self, Self::Error { class, .. } if class == Self::BUDGET)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Truncated { .. } => 1,
            Self::Timeout { .. } => 2,
            Self::Error { .. } => 3,
        }
    }
}

impl AgentResult {
    pub fn new(agent: &str, status: AgentStatus, elapsed: Millis) -> Self {
        Self {
            agent: agent.to_owned(),
            status,
            elapsed_ms: elapsed,
            findings: Vec::new(),
            assessments: Vec::new(),
            usage: None,
            cost: None,
            cached: false,
            notes: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Merges the results of an agent that got its text in parts: all findings, and the worst status.
    #[must_use]
    pub fn and(mut self, part: Self) -> Self {
        if part.status.rank() > self.status.rank() {
            self.status = part.status;
        }
        self.elapsed_ms = Millis(self.elapsed_ms.0.saturating_add(part.elapsed_ms.0));
        self.findings.extend(part.findings);
        self.assessments.extend(part.assessments);
        self.notes.extend(part.notes);
        self.refused.extend(part.refused);
        self.usage = sum_usage(self.usage, part.usage);
        self.cost = sum_cost(self.cost, part.cost);
        self.cached = self.cached && part.cached;
        self
    }
}

pub(crate) fn sum_usage(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    either(one, other, |one, other| Usage {
        input: either(one.input, other.input, u64::saturating_add),
        output: either(one.output, other.output, u64::saturating_add),
        cached: either(one.cached, other.cached, u64::saturating_add),
        reasoning: either(one.reasoning, other.reasoning, u64::saturating_add),
        cumulative: one.cumulative || other.cumulative,
    })
}

pub(crate) fn sum_cost(one: Option<Usd>, other: Option<Usd>) -> Option<Usd> {
    either(one, other, |one, other| Usd(one.0.saturating_add(other.0)))
}

/// Returns the sum of the known values.
fn either<T>(one: Option<T>, other: Option<T>, sum: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(sum(one, other)),
        (one, other) => one.or(other),
    }
}

/// Money in reports: dollars, as in all our JSON (K-3).
mod dollars {
    use saihai_model::Usd;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    #[expect(clippy::ref_option, reason = "serde hands out references to fields")]
    pub(super) fn serialize<S: Serializer>(cost: &Option<Usd>, serializer: S) -> Result<S::Ok, S::Error> {
        match cost {
            Some(cost) => serializer.serialize_f64(cost.dollars()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usd>, D::Error> {
        let dollars = Option::<f64>::deserialize(deserializer)?;
        let cost = |dollars| {
            Usd::from_dollars(dollars).ok_or_else(|| de::Error::custom("it is not an amount of money"))
        };
        dollars.map(cost).transpose()
    }
}

/// Outcome of a review; the first that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewOutcome {
    Cancelled,
    /// No asked agent answered, or no agent was asked although some should have been.
    NothingDelivered,
    /// A finding is bad enough to fail the review.
    Failing,
    /// Nothing bad was found, but the review was incomplete.
    Incomplete,
    /// Nothing bad was found, but a required agent did not answer.
    AgentFailed,
    Passed,
}

/// Reason why a review stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReviewStop {
    /// A person stopped it, or something outside it failed.
    FromOutside,
    /// It reached a limit or its budget.
    AtLimit,
}

/// Facts that decide the outcome, next to the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decisive<'a> {
    pub(super) stopped: Option<ReviewStop>,
    pub(super) failing: usize,
    pub(super) results: &'a [AgentResult],
    pub(super) not_reviewed: &'a [ReviewGap],
}

impl ReviewOutcome {
    pub(super) fn of(plan: &ReviewPlan, found: Decisive<'_>) -> Self {
        let asked = || found.results.iter().filter(|result| !result.status.is_unpaid());
        let delivered = |result: &AgentResult| result.status.has_delivered();
        let is_partial = found.not_reviewed.iter().any(|one| one.reason.is_a_gap())
            || found.results.iter().any(|result| result.status.is_unpaid());
        match found.stopped {
            Some(ReviewStop::FromOutside) => return Self::Cancelled,
            Some(ReviewStop::AtLimit) if found.failing == 0 => return Self::Incomplete,
            Some(ReviewStop::AtLimit) => return Self::Failing,
            None => {}
        }
        if asked().count() > 0 && !asked().any(delivered) {
            Self::NothingDelivered
        } else if found.failing > 0 {
            Self::Failing
        } else if is_partial && !plan.allow_partial {
            Self::Incomplete
        } else if !found.results.is_empty() && !found.results.iter().any(delivered) {
            // Gaps are allowed, but a review without any answer has not passed.
            Self::NothingDelivered
        } else if plan.require_all && !found.results.iter().all(delivered) {
            Self::AgentFailed
        } else {
            Self::Passed
        }
    }

    /// Returns the exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failing => 1,
            Self::Cancelled => 3,
            Self::NothingDelivered | Self::AgentFailed => 4,
            Self::Incomplete => 5,
        }
    }
}

//! Endings of a run, reasons for a hold, and the reasons behind both.
//!
//! A reason is an enum with data. Journals and frozen workflows hold it as one line of text: a code, then its subject,
//! such as `retries_exhausted quote 3`. Only the `From<&str>` implementations of this file read that text. Text that
//! they do not know stays verbatim: screens show it and no code interprets it.

use serde::{Deserialize, Serialize};

use crate::{CallId, FailureClass, Moment, OutsideReason, StallEvidence};

/// End of a run. After it, the run can only be forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Completed(CompletionReason),
    /// Its own rules ended it.
    Failed(FailureReason),
    Declined,
    /// A person or a closing word of the agent cancelled it.
    Cancelled,
    /// Done as far as the budget allowed.
    Incomplete(IncompleteReason),
    /// Done, but the delivery failed.
    Undelivered,
}

/// Reason why a run waits. A hold forbids new calls; running calls still finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    Person(CallId),
    /// Something outside must change first.
    Outside(CallId, OutsideReason),
    /// The next attempt makes sense only after this time.
    Until(Moment, FailureClass),
    Provider(CallId, FailureClass),
    Limit(LimitReason),
    Budget,
    /// A cycle makes no progress.
    NoProgress(Box<StallEvidence>),
    /// The path of a file that could not be written.
    Storage(String),
    /// The process received a stop signal.
    Interrupted,
    /// The run was cancelled and waits for its calls to end.
    Cancelling,
}

impl Hold {
    /// Returns the rank of the hold. A weaker hold never replaces a stronger one. Answers and wake-ups do not lift a
    /// stronger one.
    pub fn strength(&self) -> u8 {
        match self {
            Self::Cancelling => 3,
            Self::Interrupted | Self::Storage(_) => 2,
            Self::Limit(_) | Self::Budget | Self::NoProgress(_) => 1,
            Self::Person(_) | Self::Outside(..) | Self::Until(..) | Self::Provider(..) => 0,
        }
    }

    /// Returns the code that programs see.
    pub fn reason(&self) -> &str {
        match self {
            Self::Person(_) => "person",
            Self::Outside(..) => "forge",
            Self::Until(_, FailureClass::Quota) => "quota",
            Self::Until(..) | Self::Provider(..) => "provider",
            Self::Limit(limit) => limit.code(),
            Self::Budget => "budget",
            Self::NoProgress(_) => "no_progress",
            Self::Storage(_) => "storage",
            Self::Interrupted => "interrupt",
            Self::Cancelling => "cancelled",
        }
    }
}

impl Ending {
    /// Returns the outcome that people and programs see.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Incomplete(_) => "incomplete",
            Self::Undelivered => "undelivered",
        }
    }

    /// Returns the code that programs see. For a failure it leaves out the subject.
    pub fn reason(&self) -> &str {
        match self {
            Self::Completed(reason) => reason.text(),
            Self::Incomplete(reason) => reason.code(),
            Self::Failed(reason) => reason.public_code(),
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Undelivered => "undelivered",
        }
    }
}

/// Result of a command. [`Self::code`] is the only place that defines the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Done,
    /// The workflow ended in failure, or a check that the command makes failed.
    Failed,
    /// Usage, settings or definition error, unknown run, run owned by another process, or damaged journal.
    Usage,
    /// Interrupted, cancelled, or declined at a gate.
    Interrupted,
    /// A provider, a program or the disk failed.
    Unavailable,
    /// A limit or a budget was reached.
    Limited,
    /// A person has to act first.
    Waiting,
    Bug,
}

impl ExitStatus {
    const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Interrupted,
        Self::Unavailable,
        Self::Limited,
        Self::Waiting,
        Self::Bug,
    ];

    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 3,
            Self::Unavailable => 4,
            Self::Limited => 5,
            Self::Waiting => 6,
            Self::Bug => 70,
        }
    }

    /// Returns the status with this code.
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.code() == code)
    }

    /// Returns the status of an ended or held run.
    pub fn of_run(ending: Option<&Ending>, hold: Option<&Hold>) -> Self {
        match (ending, hold) {
            (Some(Ending::Completed(_)), _) | (None, None) => Self::Done,
            (Some(Ending::Failed(_)), _) => Self::Failed,
            (Some(Ending::Declined | Ending::Cancelled), _) => Self::Interrupted,
            (Some(Ending::Undelivered), _) => Self::Unavailable,
            (Some(Ending::Incomplete(_)), _) => Self::Limited,
            (None, Some(Hold::Interrupted | Hold::Cancelling)) => Self::Interrupted,
            (None, Some(Hold::Provider(..) | Hold::Until(..) | Hold::Storage(_))) => Self::Unavailable,
            (None, Some(Hold::Limit(_) | Hold::Budget | Hold::NoProgress(_))) => Self::Limited,
            (None, Some(Hold::Person(_) | Hold::Outside(..))) => Self::Waiting,
        }
    }
}

/// Returns the exit code of an ended or held run.
pub fn exit_code(ending: Option<&Ending>, hold: Option<&Hold>) -> u8 {
    ExitStatus::of_run(ending, hold).code()
}

/// Reason for a completed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CompletionReason {
    /// The flow came to its end.
    Complete,
    Delivered(DeliveryResult),
    /// A sentence of the definition, of an agent or of a handler. Shown, never interpreted.
    Stated(String),
}

/// Result of a delivery that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResult {
    Merged,
    PrCreated,
    BranchReady,
    NoChanges,
}

/// Reason for a failed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum FailureReason {
    /// The definition led to its abort.
    Abort,
    /// No rule of the last stage matched.
    NoMatch,
    /// The flow ended, but its completion condition does not hold.
    FlowEnded,
    /// A step failed. A monitor for repeated steps names none.
    StepFailed {
        step: Option<String>,
    },
    RetriesExhausted {
        step: String,
        times: u32,
    },
    ValidationFailed {
        step: String,
        validator: String,
    },
    /// A step lacks the output `KEY` of another, as `STEP.KEY`.
    MissingInput {
        input: String,
    },
    /// The completion condition could not be evaluated. The message is a handler's.
    CompletionFailed {
        message: String,
    },
    TooManyRounds,
    /// An agent published nothing, and the definition has no other exit.
    Silent,
    NoTopics,
    UnknownStage,
    EndlessChain,
    EndlessExit,
    /// A review has findings that count.
    Findings,
    /// A review could not build its report.
    NoReport,
    /// The delivery failed, with its label.
    Delivery(DeliveryFailure),
    /// A reason that this version does not know. Shown, never interpreted.
    Verbatim(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFailure {
    NotOurs,
    /// An action ended with a label that its stage does not know.
    UnknownLabel,
    LockLost,
    Git,
    Forge,
    PushRejected,
    Checks,
    Verify,
    BranchChanged,
    HistoryRewritten,
    EmbeddedRepository,
    LargeFile,
    Secret,
}

/// Reason for an incomplete run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum IncompleteReason {
    /// Only some agents of a review replied.
    PartialReview,
    /// A reason that this version does not know. Shown, never interpreted.
    Verbatim(String),
}

/// The limit that holds a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum LimitReason {
    MaxIterations,
    /// The limit that no definition can raise.
    EmergencyStop,
    /// The active time of the run.
    Timeout,
    /// A stage reached its visit limit.
    Exhausted,
    /// Too many rounds in a row published nothing.
    Stalled,
    /// Too many rounds in a row published the same.
    Stale,
    /// A limit that this version does not know. Shown, never interpreted.
    Verbatim(String),
}

/// Builds the table of the variants without data, in both directions.
macro_rules! codes {
    ($name:ident { $($variant:ident = $code:literal),+ $(,)? }) => {
        impl $name {
            const CODES: &'static [(&'static str, Self)] = &[$(($code, Self::$variant)),+];

            fn plain_code(&self) -> Option<&'static str> {
                Self::CODES.iter().find(|(_, one)| one == self).map(|(code, _)| *code)
            }

            fn of_code(text: &str) -> Option<Self> {
                Self::CODES.iter().find(|(code, _)| *code == text).map(|(_, one)| one.clone())
            }
        }
    };
}

codes!(IncompleteReason { PartialReview = "partial" });

codes!(DeliveryResult {
    Merged = "merged",
    PrCreated = "pr-created",
    BranchReady = "branch-ready",
    NoChanges = "no-changes",
});

codes!(DeliveryFailure {
    NotOurs = "not-ours",
    UnknownLabel = "delivery",
    LockLost = "lock-lost",
    Git = "git",
    Forge = "forge",
    PushRejected = "push-rejected",
    Checks = "checks",
    Verify = "verify",
    BranchChanged = "branch-changed",
    HistoryRewritten = "history-rewritten",
    EmbeddedRepository = "embedded-repository",
    LargeFile = "large-file",
    Secret = "secret",
});

codes!(LimitReason {
    MaxIterations = "max_iterations",
    EmergencyStop = "emergency_stop",
    Timeout = "timeout",
    Exhausted = "exhausted",
    Stalled = "stalled",
    Stale = "stale",
});

codes!(FailureReason {
    Abort = "abort",
    NoMatch = "no_match",
    FlowEnded = "flow_ended",
    TooManyRounds = "too_many_rounds",
    Silent = "silent",
    NoTopics = "no_topics",
    UnknownStage = "unknown_stage",
    EndlessChain = "endless_chain",
    EndlessExit = "endless_exit",
    Findings = "findings",
    NoReport = "no_report",
});

impl DeliveryResult {
    pub fn code(self) -> &'static str {
        self.plain_code().unwrap_or_default()
    }
}

impl DeliveryFailure {
    pub fn code(self) -> &'static str {
        self.plain_code().unwrap_or_default()
    }
}

impl CompletionReason {
    pub fn text(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::Delivered(result) => result.code(),
            Self::Stated(text) => text,
        }
    }
}

impl IncompleteReason {
    pub fn code(&self) -> &str {
        match self {
            Self::Verbatim(text) => text,
            known => known.plain_code().unwrap_or_default(),
        }
    }
}

impl LimitReason {
    pub fn code(&self) -> &str {
        match self {
            Self::Verbatim(text) => text,
            known => known.plain_code().unwrap_or_default(),
        }
    }
}

impl FailureReason {
    /// Returns the code without its subject.
    pub fn code(&self) -> &str {
        match self {
            Self::StepFailed { .. } => "step_failed",
            Self::RetriesExhausted { .. } => "retries_exhausted",
            Self::ValidationFailed { .. } => "validation_failed",
            Self::MissingInput { .. } => "missing_input",
            Self::CompletionFailed { .. } => "completion_failed",
            Self::Delivery(failure) => failure.code(),
            Self::Verbatim(text) => text,
            known => known.plain_code().unwrap_or_default(),
        }
    }

    /// Returns the subject of the code, empty if it has none.
    pub fn subject(&self) -> String {
        match self {
            Self::StepFailed { step } => step.clone().unwrap_or_default(),
            Self::RetriesExhausted { step, times } => format!("{step} {times}"),
            Self::ValidationFailed { step, validator } => format!("{step} {validator}"),
            Self::MissingInput { input } => input.clone(),
            Self::CompletionFailed { message } => message.clone(),
            _ => String::new(),
        }
    }

    /// Returns the text of journals: the code, then its subject.
    pub fn text(&self) -> String {
        match self.subject() {
            subject if subject.is_empty() => self.code().to_owned(),
            subject => format!("{} {subject}", self.code()),
        }
    }

    /// Returns the code in results. All failures of a step have the same one, because other output shows the details.
    fn public_code(&self) -> &str {
        match self {
            Self::RetriesExhausted { .. }
            | Self::MissingInput { .. }
            | Self::CompletionFailed { .. }
            | Self::ValidationFailed { .. } => "step_failed",
            _ => self.code(),
        }
    }

    /// Reads the text of a journal, if it is one of the known reasons.
    fn read(text: &str) -> Option<Self> {
        let (code, subject) = text.split_once(' ').unwrap_or((text, ""));
        let two = || subject.rsplit_once(' ').map(|(step, last)| (step.to_owned(), last));
        Some(match code {
            "step_failed" => Self::StepFailed { step: (!subject.is_empty()).then(|| subject.to_owned()) },
            "retries_exhausted" => {
                let (step, times) = two()?;
                Self::RetriesExhausted { step, times: times.parse().ok()? }
            }
            "validation_failed" => {
                let (step, validator) = two()?;
                Self::ValidationFailed { step, validator: validator.to_owned() }
            }
            "missing_input" => Self::MissingInput { input: subject.to_owned() },
            "completion_failed" => Self::CompletionFailed { message: subject.to_owned() },
            code => match Self::of_code(code) {
                Some(plain) => plain,
                None => Self::Delivery(DeliveryFailure::of_code(code)?),
            },
        })
    }
}

impl From<&str> for CompletionReason {
    fn from(text: &str) -> Self {
        match DeliveryResult::of_code(text) {
            _ if text == "complete" => Self::Complete,
            Some(result) => Self::Delivered(result),
            None => Self::Stated(text.to_owned()),
        }
    }
}

impl From<&str> for FailureReason {
    /// Reads the text of a journal. The result always writes the same text again, so that a replay compares equal.
    fn from(text: &str) -> Self {
        let known = Self::read(text).filter(|reason| reason.text() == text);
        known.unwrap_or_else(|| Self::Verbatim(text.to_owned()))
    }
}

impl From<&str> for IncompleteReason {
    fn from(text: &str) -> Self {
        Self::of_code(text).unwrap_or_else(|| Self::Verbatim(text.to_owned()))
    }
}

impl From<&str> for LimitReason {
    fn from(text: &str) -> Self {
        Self::of_code(text).unwrap_or_else(|| Self::Verbatim(text.to_owned()))
    }
}

/// Connects the text form of a reason to serde.
macro_rules! text_form {
    ($name:ident, $text:ident) => {
        impl From<String> for $name {
            fn from(text: String) -> Self {
                text.as_str().into()
            }
        }

        impl From<$name> for String {
            fn from(reason: $name) -> Self {
                reason.$text().to_owned()
            }
        }
    };
}

text_form!(CompletionReason, text);
text_form!(FailureReason, text);
text_form!(IncompleteReason, code);
text_form!(LimitReason, code);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &FailureReason) {
        let read: FailureReason = serde_json::from_value(text.into()).expect("any text is a reason");
        assert_eq!((&read, read.text().as_str()), (expected, text));
    }

    // Old journals hold these texts, and a replay compares what this version writes with them.
    #[test]
    fn a_failure_is_read_from_its_text_and_writes_the_same_text() {
        let step = || "two words".to_owned();
        check("abort", &FailureReason::Abort);
        check("step_failed", &FailureReason::StepFailed { step: None });
        check("step_failed two words", &FailureReason::StepFailed { step: Some(step()) });
        check("retries_exhausted two words 3", &FailureReason::RetriesExhausted { step: step(), times: 3 });
        let validation = FailureReason::ValidationFailed { step: step(), validator: "clean".to_owned() };
        check("validation_failed two words clean", &validation);
        check("missing_input plan.goal", &FailureReason::MissingInput { input: "plan.goal".to_owned() });
        let message = "`check` exited with 1: no".to_owned();
        check("completion_failed `check` exited with 1: no", &FailureReason::CompletionFailed { message });
        for (code, failure) in DeliveryFailure::CODES {
            check(code, &FailureReason::Delivery(*failure));
        }
    }

    #[test]
    fn unknown_text_stays_verbatim() {
        for text in
            ["", "bored", "retries_exhausted", "retries_exhausted a 03", "abort twice", "step_failed "]
        {
            check(text, &FailureReason::Verbatim(text.to_owned()));
        }
        let ending: Ending = serde_json::from_str(r#"{"completed":"it fits"}"#).expect("an ending");
        assert_eq!(ending, Ending::Completed(CompletionReason::Stated("it fits".to_owned())));
        let hold: Hold = serde_json::from_str(r#"{"limit":"patience"}"#).expect("a hold");
        assert_eq!(hold, Hold::Limit(LimitReason::Verbatim("patience".to_owned())));
        assert_eq!(serde_json::to_string(&hold).expect("a text"), r#"{"limit":"patience"}"#);
    }
}

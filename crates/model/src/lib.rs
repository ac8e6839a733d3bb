//! The vocabulary of Saihai as types.
//!
//! Every definition lowers into one [`Workflow`]. All input of a run is a [`Fact`]. Every conclusion of the engine is a
//! [`Decision`]. Every request to the outside is an [`Effect`]. The types cover all four dialects and the delivery of
//! issues, and name none of them.
//!
//! Deliberately absent: behaviour. There is no clock, no file, no process and no judgment here. The crate holds only
//! data that can be written to a journal and read back, plus small lookups.
//!
//! Every counter relies on this nesting: a *visit* of a stage has *rounds* (each one iteration). A round has *calls*
//! (work, correction, question, gate, action), and a call has *attempts*.

mod decision;
mod effect;
mod ending;
mod exit;
mod fact;
mod failure;
mod frozen_json;
mod ids;
mod issue;
mod money;
mod program;
mod progress;
mod prompt;
mod provider;
mod reading;
mod reads;
mod record;
mod repository;
mod sandbox;
mod script;
mod status_label;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod verdict;
mod work_outcome;
mod workflow;

pub use decision::{By, Decision, Destination, Remark, Verdict};
pub use effect::{
    Action, ActionInput, ActionSpec, Ask, CommandVerdict, Effect, Meter, Once, OpenGate, Performance, Poll,
    Progress, ProviderAnswer, ProviderRefusal, Reply, Request,
};
pub use ending::{
    CompletionReason, DeliveryFailure, DeliveryResult, Ending, ExitStatus, FailureReason, Hold,
    IncompleteReason, LimitReason, exit_code,
};
pub use exit::{
    Again, Completion, Exit, ExitRule, LastBlock, PhaseStep, Phases, Route, RuleCondition, Target, Topics,
};
pub use fact::{
    Answer, AnsweredBy, BudgetLoan, CallFailed, Event, FORKED, Fact, FileChangeCounts, Outcome, ParentTurn,
    PersonNote, Raise, Replied, RunOrigin, Start, ToolUsed,
};
pub use failure::{Failure, FailureClass, TurnLimit, UnwrittenFile};
pub use frozen_json::FrozenJson;
pub use ids::{
    CallId, Label, Millis, Moment, ProviderName, Purpose, RoundPosition, SessionKey, StageId, Topic, TurnId,
    slug,
};
pub use issue::{Issue, IssueNumber, IssueSource, IssueState, NoIssueNumber};
pub use money::{Budget, Cost, Limits, Retry, ToolUse, Usage, Usd};
pub use program::{ProgramCommand, ProgramExit, ProgramExitRange, typed_command};
pub use progress::{
    Breaker, FindingMark, StallConsequence, StallEvidence, StallJudge, StallKind, StallSignal, TreeFact,
    TreeGap, TreeState,
};
pub use prompt::{
    Changes, Draft, Join, Prompt, PromptPart, PromptSection, SectionCondition, Splice, ValueForm, Variable,
};
pub use provider::{OwnProtocol, OwnProvider, Passing, Price, Protocol, ProviderKind, ProviderSettings};
pub use reading::{
    NearMiss, NearMissReason, PublishedEvent, Reading, ReplyBlock, ReportClue, ReportLocation, Severity, Tag,
};
pub use reads::{
    AnswerForm, BlockUse, Blocks, CarriedWords, Choice, DirectiveExtraction, Directives, EndWord,
    ExitCodeLabel, InvalidOutputPolicy, Keyword, LabelField, LabelRefinement, Method, MissingFieldPolicy,
    Offer, Output, OutputCheck, OutputNames, OutputSchema, Proof, Question, QuestionSession, Reads,
    RefutedProofPolicy, Report, Shaping, Threshold, is_topic_connector, is_topic_letter,
};
pub use record::{Record, RecordEntry};
pub use repository::{MergeMethod, RepositoryName, Subject, SubjectFile, SubjectMode, SubjectOmission};
pub use sandbox::{SandboxChoice, SandboxHost, SandboxNetwork, SandboxSettings};
pub use script::{
    Difference, Expectation, ExpectedPrompt, Script, ScriptAnswer, ScriptEdit, ScriptFailure, ScriptReply,
    ScriptRun, ScriptTarget, ScriptWrite, Times, Visits,
};
pub use serde_json::Value as Json;
pub use status_label::StatusLabel;
pub use text::{SavedReport, Text, TextFile, TextSource, tokens};
pub use verdict::{
    ReportedVerdict, VerdictChannel, VerdictMode, VerdictServerCommand, VerdictTool, VerdictToolProblem,
    VerdictToolResult,
};
pub use work_outcome::{
    DeliveryHold, OutsideReason, RequestSide, UncertainChange, WorkOutcome, work_exit_code,
};
pub use workflow::{
    Activity, Alarm, ExpectedReply, Gate, GateMode, LogFiles, LogFormat, Monitor, OnFailure, OwnCommand,
    PassedStages, Permission, Rounds, SessionPolicy, Stage, Turn, VisitLimit, Wants, Watch, Workflow,
};

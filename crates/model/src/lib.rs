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

mod action;
mod ask;
mod completion;
mod decision;
mod effect;
mod ending;
mod exit;
mod expectation;
mod fact;
mod failure;
mod gate;
mod id;
mod issue;
mod limits;
mod moment;
mod money;
mod monitor;
mod own_provider;
mod prompt;
mod provider;
mod reading;
mod reads;
mod record;
mod repository;
mod saved_report;
mod script;
mod severity;
mod slug;
mod status_label;
mod subject;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod text_file;
mod tokens;
mod turn;
mod work_outcome;
mod workflow;

pub use action::{Action, ActionSpec, Once, Poll, Told};
pub use ask::{Answered as ProviderAnswer, Ask, Meter, Progress, Refusal, Reply};
pub use completion::{Completion, LastBlock, PhaseStep, Phases};
pub use decision::{By, Decision, Destination, Remark, Verdict};
pub use effect::{Effect, Given, OpenGate, Performance, Request};
pub use ending::{Ending, Hold, code as failure_code, exit_code};
pub use exit::{Again, Exit, Holds, Route, Rule, Target, Topics};
pub use expectation::{Difference, Expectation, ExpectedPrompt};
pub use fact::{Answer, AnsweredBy, CallFailed, Event, Fact, Outcome, Raise, Replied, Start, ToolUsed};
pub use failure::{Failure, FailureClass, TurnLimit, UnwrittenFile};
pub use gate::{Gate, GateMode, Wants};
pub use id::{CallId, Label, Place, ProviderName, Purpose, SessionKey, StageId, Topic, TurnId};
pub use issue::{Issue, IssueNumber, IssueSource, IssueState, NoIssueNumber};
pub use limits::{Limits, Retry};
pub use moment::{Millis, Moment};
pub use money::{Budget, Cost, ToolUse, Usage, Usd};
pub use monitor::{Alarm, Monitor, Watch};
pub use own_provider::{OwnProtocol, OwnProvider};
pub use prompt::{Changes, Draft, Form, Join, Part, Prompt, Section, Splice, Variable, When};
pub use provider::{Passing, Price, Protocol, ProviderKind, ProviderSettings};
pub use reading::{Block, Found, How, Published, Reading, Tag};
pub use reads::{
    AnswerForm, BlockUse, Blocks, Checked, Choice, Directives, EndWord, Keyword, Method, Narrowed, Offer,
    Output, OutputNames, OutputSchema, Pointed, Proof, Question, QuestionSession, Reads, Refuted, Report,
    Shaping, Spoken, StillWrong, Threshold, Unsaid,
};
pub use record::{Entry, Record};
pub use repository::{MergeMethod, RepositoryName};
pub use saved_report::SavedReport;
pub use script::{
    Script, ScriptAnswer, ScriptEdit, ScriptFailure, ScriptReply, ScriptRun, ScriptWrite,
    Target as ScriptTarget, Times, Visits,
};
pub use serde_json::Value as Json;
pub use severity::Severity;
pub use slug::slug;
pub use status_label::StatusLabel;
pub use subject::{LeftOut, Subject, SubjectFile, SubjectMode};
pub use text::Text;
pub use text_file::{TextFile, TextSource};
pub use tokens::tokens;
pub use turn::{Permission, SessionPolicy, Turn};
pub use work_outcome::{WorkOutcome, WorkReason, work_exit_code};
pub use workflow::{
    Activity, LogFiles, LogFormat, OnFailure, OwnCommand, Rounds, Stage, VisitLimit, Wanted, Workflow,
};

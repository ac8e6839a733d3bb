//! Judgment: the meaning of a reply, and its consequences.
//!
//! `read` runs next to a reply's text and extracts everything that a run will ever need from it. The engine calls
//! `label` and `rules`, which see only readings. [`ReviewReply`] splits the reply of a review agent into findings.
//!
//! Nothing here does I/O, keeps state or knows a dialect. This applies to an AI judge too: judgment only says that a
//! question is due.

// Every `match` must handle a new fact, decision or verdict explicitly.
#![warn(clippy::wildcard_enum_match_arm)]

mod digest;
mod findings;
mod label;
mod read;
mod rules;

pub use digest::sha256;
pub use findings::marks::finding_marks;
pub use findings::{Assessment, Finding, FindingKind, ReviewReply};
pub use label::{JudgeAnswer, LabelOutcome, answered, label};
pub use read::{CallVerdict, ReplyText, overheard, read, read_call, read_program, without_status_tags};
pub use rules::{RuleOutcome, TurnLabels, route, rules, takes};

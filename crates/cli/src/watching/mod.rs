//! What `saihai top` and the page share: runs that are followed while any process drives them, their state in words,
//! and the requests of a person to a run.

mod calls;
mod followed_runs;
mod run_process;
mod standing;
pub(crate) mod steering;
mod watched_run;

pub(crate) use calls::{CallMark, call_mark, call_name, call_results, is_gate, visit_calls};
pub(crate) use followed_runs::{FollowedRow, FollowedRuns, SeenRun};
pub(crate) use run_process::RunProcess;
pub(crate) use standing::{RunStanding, StandingKind, stage_name, state_sentence};
pub(crate) use watched_run::{LiveTexts, ProjectRun, WatchedRun};

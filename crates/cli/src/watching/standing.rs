use saihai_model::{Ending, Hold};
use saihai_view::{RunState, RunView};

use super::SeenRun;
use crate::driving::{LATE, state_words};
use crate::report::parked_words;
use crate::terminal::visible_line;

/// The state of a run, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunStanding {
    pub(crate) kind: StandingKind,
    /// `you`, `resume`, a provider and a time; empty if the run waits for nothing.
    pub(crate) waits_for: String,
    /// The state in a sentence.
    pub(crate) words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandingKind {
    /// A person has to answer.
    Waiting,
    Running,
    Interrupted,
    /// Answered, and no process drives it yet.
    Answered,
    Parked,
    Completed,
    Failed,
    Declined,
    Cancelled,
}

impl RunStanding {
    pub(crate) fn of(run: &SeenRun<'_>) -> Self {
        let state = run.state;
        let gate = run.workflow.and_then(|workflow| run.view.open_gate(workflow));
        let is_late = gate.is_some_and(|gate| gate.is_closed(run.now));
        let kind = match state {
            RunState::Running { gate: Some(_), .. } | RunState::Parked { hold: Hold::Person(_), .. }
                if !is_late =>
            {
                StandingKind::Waiting
            }
            RunState::Running { .. } => StandingKind::Running,
            RunState::Interrupted => StandingKind::Interrupted,
            RunState::Ready => StandingKind::Answered,
            RunState::Parked { .. } => StandingKind::Parked,
            RunState::Ended { ending } => match ending {
                Ending::Completed(_) => StandingKind::Completed,
                Ending::Failed(_) | Ending::Incomplete(_) | Ending::Undelivered => StandingKind::Failed,
                Ending::Declined => StandingKind::Declined,
                Ending::Cancelled => StandingKind::Cancelled,
            },
        };
        let waits_for = match state {
            _ if kind == StandingKind::Waiting => "you".to_owned(),
            RunState::Interrupted | RunState::Ready => "resume".to_owned(),
            RunState::Parked { .. } if is_late => "resume".to_owned(),
            RunState::Parked { hold, provider } => parked_words(hold, provider.as_ref(), run.now),
            RunState::Running { .. } | RunState::Ended { .. } => String::new(),
        };
        let waits_for = visible_line(&waits_for).into_owned();
        let mut words = state_sentence(run.view, state, is_late);
        if let RunState::Running { owner: Some(owner), .. } = state {
            words.push_str(&format!(", driven by process {owner}"));
        }
        Self { kind, waits_for, words }
    }
}

/// Describes the state of a run in a list. A rehearsal never claims that work was done.
pub(crate) fn state_sentence(view: &RunView, state: &RunState, is_late: bool) -> String {
    let mut words = match state {
        RunState::Ended { ending: Ending::Completed(_) } if view.start.rehearsal => "rehearsed".to_owned(),
        state if view.start.rehearsal => format!("{}, rehearsal", state_words(state)),
        state => state_words(state),
    };
    if is_late {
        words.push_str(&format!("; {LATE}"));
    }
    if let Some(from) = &view.start.forked_from {
        words.push_str(&format!(", forked from {}", visible_line(from)));
    }
    words
}

/// Names a stage, with the number of its visit from the second on.
pub(crate) fn stage_name(stage: &str, visit: u32) -> String {
    let stage = visible_line(stage);
    if visit > 1 { format!("{stage} ({visit})") } else { stage.into_owned() }
}

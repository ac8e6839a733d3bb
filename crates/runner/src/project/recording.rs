//! Records a run as a script that replays it (C-75).

use saihai_config::of_target;
use saihai_model::{
    Answer, CallFailed, FailureClass, Millis, Permission, Place, Replied, Script, ScriptAnswer,
    ScriptFailure, ScriptReply, ScriptTarget, Text, Visits, Workflow,
};
use saihai_view::{AttemptResult, AttemptView, CallView};

use super::changes::Changes;
use crate::{Error, LoadedRun, tools_used};

/// A run as a script, and the parts that no script can replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The replies in the order of the asks, and the expectations for a replay.
    pub script: Script,
    /// Turns with unknown file changes, by their name in a script.
    pub unknown: Vec<String>,
    pub cancelled: bool,
}

/// The wait of a replayed failure, if the recorded one named a time.
const SHORT_WAIT: Millis = Millis(1_000);

impl LoadedRun {
    /// Records the run so far.
    pub fn recording(&self) -> Result<Recording, Error> {
        let mut asks: Vec<Ask<'_>> = Vec::new();
        for call in &self.view.calls {
            let last = call.attempts.len().saturating_sub(1);
            asks.extend(call.attempts.iter().enumerate().map(|(index, attempt)| Ask {
                call,
                attempt,
                is_last: index == last,
            }));
        }
        asks.sort_by_key(|ask| ask.attempt.seq);
        let changes = Changes::of(self)?;
        let mut unknown = Vec::new();
        let mut replies = Vec::new();
        // A stopped attempt, or one that died with its process, was usually repeated. Then the later one
        // counts.
        for (index, ask) in asks.iter().enumerate().filter(|(_, ask)| ask.has_spoken() || ask.is_last) {
            let reply = ask.script_reply(self)?;
            let tools =
                ask.reply().map(|reply| tools_used::read(&self.directory, &reply.tools_used)).transpose()?;
            let may_change = may_change(&self.workflow, ask.call);
            let changed = changes.made(index, tools.unwrap_or_default(), may_change);
            if changed.unknown {
                let name = reply.target.as_ref().map_or_else(String::new, of_target);
                unknown.push(format!("{name} at visit {}", ask.call.id.visit));
            }
            replies.push(changed.put_into(reply));
        }
        let start = &self.view.start;
        let script = Script {
            strict: true,
            lenient_roles: false,
            replies,
            task: Some(self.directory.text(&start.task)?),
            expect: Some(self.expectation()?),
            answers: self.view.answers.iter().map(answer).collect(),
            interactive: Some(start.interactive),
            recorded: Some(self.directory.id().to_owned()),
        };
        Ok(Recording { script, unknown, cancelled: self.view.cancelled })
    }
}

struct Ask<'a> {
    call: &'a CallView,
    attempt: &'a AttemptView,
    /// True for the last attempt of the call.
    is_last: bool,
}

impl Ask<'_> {
    /// Returns true if the attempt replied, or failed by itself.
    fn has_spoken(&self) -> bool {
        match &self.attempt.result {
            AttemptResult::Open => false,
            AttemptResult::Replied { .. } => true,
            AttemptResult::Failed { failed, .. } => failed.failure.class != FailureClass::Cancelled,
        }
    }

    fn reply(&self) -> Option<&Replied> {
        match &self.attempt.result {
            AttemptResult::Replied { reply, .. } => Some(reply),
            AttemptResult::Failed { .. } | AttemptResult::Open => None,
        }
    }

    fn script_reply(&self, run: &LoadedRun) -> Result<ScriptReply, Error> {
        let reply = ScriptReply {
            target: Some(target(&run.workflow, self.call)),
            visits: Some(Visits::These(vec![self.call.id.visit])),
            ..ScriptReply::default()
        };
        Ok(match &self.attempt.result {
            AttemptResult::Replied { reply: came, .. } => ScriptReply {
                text: Some(run.directory.text(said(came))?),
                structured: came.reading.output.clone(),
                usage: came.usage.clone(),
                cost: came.cost,
                ..reply
            },
            AttemptResult::Failed { failed, .. } if self.has_spoken() => ScriptReply {
                fail: Some(failure(failed)),
                usage: failed.usage.clone(),
                cost: failed.cost,
                ..reply
            },
            // It was stopped because of another turn, and a replay stops it again.
            AttemptResult::Failed { .. } | AttemptResult::Open => ScriptReply { hang: true, ..reply },
        })
    }
}

/// Returns everything that was carried on. A script sends it as one message.
fn said(reply: &Replied) -> &Text {
    reply.spoken.as_ref().unwrap_or(&reply.text)
}

fn answer(answer: &Answer) -> ScriptAnswer {
    ScriptAnswer {
        gate: answer.call.stage.clone(),
        visits: Some(Visits::These(vec![answer.call.visit])),
        label: answer.label.clone(),
        text: answer.text.clone(),
    }
}

/// Returns true if a call was allowed to change files.
fn may_change(workflow: &Workflow, call: &CallView) -> bool {
    let turns = workflow.stage(&call.id.stage).map(|stage| stage.turns()).unwrap_or_default();
    match call.place {
        Place::Main(index) => turns.get(index).is_some_and(|turn| turn.permission != Permission::ReadOnly),
        _ => false,
    }
}

fn failure(failed: &CallFailed) -> ScriptFailure {
    let failure = &failed.failure;
    let waits =
        failure.until.is_some() || matches!(failure.class, FailureClass::RateLimited | FailureClass::Quota);
    ScriptFailure {
        class: failure.class,
        message: failure.message.clone(),
        retry_after: waits.then_some(SHORT_WAIT),
        until: None,
    }
}

fn target(workflow: &Workflow, call: &CallView) -> ScriptTarget {
    let turns = workflow.stage(&call.id.stage).map(|stage| stage.turns()).unwrap_or_default();
    let (index, judge) = match call.place {
        Place::Main(index) => (Some(index), false),
        Place::Check(index) => (Some(index), true),
        Place::Exit => (None, true),
        Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_) => (None, false),
    };
    // The only turn of a stage needs no name.
    let turn = index.filter(|_| turns.len() > 1).and_then(|index| turns.get(index));
    ScriptTarget { stage: call.id.stage.clone(), turn: turn.map(|turn| turn.id.clone()), judge }
}

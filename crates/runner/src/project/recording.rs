//! A run as a script that plays it again (C-75).

use std::collections::BTreeMap;

use saihai_model::{
    Answer, CallFailed, CallId, Decision, Entry, Fact, FailureClass, Millis, Permission, Place, Record,
    Replied, Script, ScriptAnswer, ScriptFailure, ScriptReply, ScriptTarget, Text, Visits, Workflow,
};

use super::changes::{Changes, Step};
use super::expectation;
use crate::{Error, RunDirectory, tools_used};
use saihai_config::of_target;

/// A run as a script, and what of it no script can play.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Its replies in the order of the asks, and what a run that plays them is expected to do.
    pub script: Script,
    /// Turns that could change files and of which it is not known what they changed, as a script names them.
    pub unknown: Vec<String>,
    /// Whether somebody cancelled it.
    pub cancelled: bool,
}

/// How long a played failure makes the run wait, where the recorded one named a time.
const SHORT_WAIT: Millis = Millis(1_000);

impl Recording {
    /// The run as it stands.
    ///
    /// # Errors
    /// The run cannot be read or is damaged.
    pub fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let mut fold = Fold::default();
        directory.read(&mut |record| fold.see(record))?;
        let workflow = directory.workflow()?;
        let start = directory.start()?;
        let changes = Changes::of(directory, &workflow, &fold.steps)?;
        let replies = fold.said.iter().enumerate().filter(|(index, one)| {
            // What was stopped, or died with its process, was asked again as a rule; then that is what counts.
            one.has_spoken() || fold.last.get(&one.call) == Some(index)
        });
        let mut unknown = Vec::new();
        let mut said = Vec::new();
        for (index, one) in replies {
            let place = fold.places.get(&one.call);
            let reply = one.reply(directory, &workflow, place)?;
            let tools =
                one.replied().map(|reply| tools_used::read(directory, &reply.tools_used)).transpose()?;
            let may_change = may_change(&workflow, &one.call, place);
            let changed = changes.made(index, tools.unwrap_or_default(), may_change);
            if changed.unknown {
                let name = reply.target.as_ref().map_or_else(String::new, of_target);
                unknown.push(format!("{name} at visit {}", one.call.visit));
            }
            said.push(changed.put_into(reply));
        }
        let script = Script {
            strict: true,
            lenient_roles: false,
            replies: said,
            task: Some(directory.text(&start.task)?),
            expect: Some(expectation(directory)?),
            answers: fold.answers.iter().map(answer).collect(),
            interactive: Some(start.interactive),
            recorded: Some(directory.id().to_owned()),
        };
        Ok(Self { script, unknown, cancelled: fold.cancelled })
    }
}

#[derive(Debug, Default)]
struct Fold {
    places: BTreeMap<CallId, Place>,
    said: Vec<Said>,
    /// The last ask of each call, by its place in `said`.
    last: BTreeMap<CallId, usize>,
    /// What was asked and what came back, in order.
    steps: Vec<Step>,
    answers: Vec<Answer>,
    cancelled: bool,
}

/// An ask and what came of it.
#[derive(Debug)]
struct Said {
    call: CallId,
    came: Came,
}

#[derive(Debug)]
enum Came {
    Nothing,
    Reply(Box<Replied>),
    Failure(Box<CallFailed>),
}

impl Fold {
    fn see(&mut self, record: Record) {
        match record.entry {
            Entry::Decision(Decision::Called { call, place, .. }) => {
                self.places.insert(call, place);
            }
            Entry::Fact(Fact::Asked { call, prompt, .. }) => {
                let place = self.places.get(&call).copied();
                self.steps.push(Step::Asked { call: call.clone(), place, prompt });
                self.last.insert(call.clone(), self.said.len());
                self.said.push(Said { call, came: Came::Nothing });
            }
            Entry::Fact(Fact::Replied(reply)) => {
                let call = reply.call.clone();
                self.steps.push(Step::Ended { call: call.clone(), failure: None });
                self.came(&call, Came::Reply(reply));
            }
            Entry::Fact(Fact::Failed(failed)) => {
                let call = failed.call.clone();
                self.steps.push(Step::Ended { call: call.clone(), failure: Some(failed.failure.clone()) });
                self.came(&call, Came::Failure(failed));
            }
            Entry::Fact(Fact::Answered(answer)) => self.answers.push(answer),
            Entry::Fact(Fact::Cancelled { .. }) => self.cancelled = true,
            Entry::Decision(_) | Entry::Fact(_) => {}
        }
    }

    fn came(&mut self, call: &CallId, came: Came) {
        if let Some(said) = self.last.get(call).and_then(|index| self.said.get_mut(*index)) {
            said.came = came;
        }
    }
}

impl Said {
    /// Whether it came to something of its own accord.
    fn has_spoken(&self) -> bool {
        match &self.came {
            Came::Nothing => false,
            Came::Reply(_) => true,
            Came::Failure(failed) => failed.failure.class != FailureClass::Cancelled,
        }
    }

    fn replied(&self) -> Option<&Replied> {
        match &self.came {
            Came::Reply(reply) => Some(reply),
            Came::Failure(_) | Came::Nothing => None,
        }
    }

    fn reply(
        &self,
        directory: &RunDirectory,
        workflow: &Workflow,
        place: Option<&Place>,
    ) -> Result<ScriptReply, Error> {
        let reply = ScriptReply {
            target: Some(target(workflow, &self.call, place)),
            visits: Some(Visits::These(vec![self.call.visit])),
            ..ScriptReply::default()
        };
        Ok(match &self.came {
            Came::Reply(came) => ScriptReply {
                text: Some(directory.text(said(came))?),
                structured: came.reading.output.clone(),
                usage: came.usage.clone(),
                cost: came.cost,
                ..reply
            },
            Came::Failure(failed) if self.has_spoken() => ScriptReply {
                fail: Some(failure(failed)),
                usage: failed.usage.clone(),
                cost: failed.cost,
                ..reply
            },
            // It was stopped because of what others did, and will be again.
            Came::Failure(_) | Came::Nothing => ScriptReply { hang: true, ..reply },
        })
    }
}

/// All that was carried on: a script says everything in one message.
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

/// Whether a call was allowed to change files.
fn may_change(workflow: &Workflow, call: &CallId, place: Option<&Place>) -> bool {
    let turns = workflow.stage(&call.stage).map(|stage| stage.turns()).unwrap_or_default();
    match place {
        Some(Place::Main(index)) => {
            turns.get(*index).is_some_and(|turn| turn.permission != Permission::ReadOnly)
        }
        Some(
            Place::Check(_)
            | Place::Exit
            | Place::Report(_)
            | Place::Block(_)
            | Place::Proof(_)
            | Place::Outside(_),
        )
        | None => false,
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

fn target(workflow: &Workflow, call: &CallId, place: Option<&Place>) -> ScriptTarget {
    let turns = workflow.stage(&call.stage).map(|stage| stage.turns()).unwrap_or_default();
    let (index, judge) = match place {
        Some(Place::Main(index)) => (Some(*index), false),
        Some(Place::Check(index)) => (Some(*index), true),
        Some(Place::Exit) => (None, true),
        Some(Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_)) | None => {
            (None, false)
        }
    };
    // The only turn of a stage needs no name.
    let turn = index.filter(|_| turns.len() > 1).and_then(|index| turns.get(index));
    ScriptTarget { stage: call.stage.clone(), turn: turn.map(|turn| turn.id.clone()), judge }
}

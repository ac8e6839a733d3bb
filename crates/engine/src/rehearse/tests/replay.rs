//! Replays a generated script through the player that a real run uses.

use std::collections::VecDeque;

use crate::Run;
use saihai_connect::{Asked, Player, Taken};
use saihai_model::{
    Decision, FailureClass, Label, OpenGate, Performance, Place, Request, ScriptFailure, Workflow,
};

use crate::rehearse::Rehearsed;
use crate::rehearse::simulation::{self, Cast};
use crate::rehearse::speech::Speech;

struct Again {
    player: Player,
    answers: VecDeque<Label>,
    results: VecDeque<Option<Label>>,
}

impl Cast for Again {
    fn reply(&mut self, _: &Run, request: &Request, place: Place) -> Result<Speech, ScriptFailure> {
        let asked = Asked {
            call: &request.call,
            turn: request.turn.as_ref(),
            place,
            role: request.role.as_deref(),
            prompt: "",
        };
        let taken = self.player.take(&asked);
        // The reply is recorded at once, so that a retry takes the next one.
        self.player.ended(&request.call, None);
        match taken {
            Taken::Reply { reply, .. } => match &reply.fail {
                Some(fail) => Err(fail.clone()),
                None => Ok(Speech {
                    text: reply.text.clone().unwrap_or_default(),
                    structured: reply.structured.clone(),
                }),
            },
            Taken::Missing(missing) => Err(ScriptFailure {
                class: FailureClass::BadRequest,
                message: missing.to_string(),
                retry_after: None,
                until: None,
            }),
            Taken::Generic { .. } => panic!("generated scripts are strict"),
        }
    }

    fn answer(&mut self, _: &Run, _: &OpenGate) -> Label {
        self.answers.pop_front().unwrap()
    }

    fn perform(&mut self, _: &Run, _: &Performance, _: Place) -> Option<Label> {
        self.results.pop_front().unwrap()
    }

    fn decided(&mut self, _: &Decision) {}
}

/// Replays the script of a run. Returns the engine's decisions and the number of unused replies.
pub(super) fn again(workflow: &Workflow, seed: u64, run: &Rehearsed) -> (Vec<Decision>, usize) {
    let mut cast = Again {
        player: Player::new(run.script.clone()).unwrap(),
        answers: run.answers.iter().map(|(_, label)| label.clone()).collect(),
        results: run.results.iter().map(|(_, label)| label.clone()).collect(),
    };
    let played = simulation::play(workflow, seed, &mut cast);
    (played.decisions, cast.player.accounts().left.len())
}

//! Replays a generated script through the player that a real run uses.

use std::collections::VecDeque;

use crate::run::Run;
use saihai_connect::{ScriptAsk, ScriptChoice, ScriptPlayer, UnscriptedProgram};
use saihai_model::{
    Decision, FailureClass, Label, OpenGate, Performance, ProgramExit, Request, RoundPosition, ScriptFailure,
    Workflow,
};

use crate::rehearse::Rehearsed;
use crate::rehearse::replies::RehearsedReply;
use crate::rehearse::simulation;
use crate::rehearse::simulation::Cast;

struct Again {
    player: ScriptPlayer,
    answers: VecDeque<Label>,
    results: VecDeque<Option<Label>>,
}

impl Cast for Again {
    fn reply(
        &mut self,
        _: &Run,
        request: &Request,
        place: RoundPosition,
    ) -> Result<RehearsedReply, ScriptFailure> {
        let asked = ScriptAsk {
            call: &request.call,
            turn: request.turn.as_ref(),
            place,
            role: request.role.as_deref(),
            prompt: "",
            program: request.program.as_ref().map(|_| UnscriptedProgram::LacksReply),
        };
        let taken = self.player.take(&asked);
        // The reply is recorded at once, so that a retry takes the next one.
        self.player.ended(&request.call, None);
        match taken {
            ScriptChoice::Reply { reply, .. } => match &reply.fail {
                Some(fail) => Err(fail.clone()),
                None => Ok(RehearsedReply {
                    text: reply.text.clone().unwrap_or_default(),
                    structured: reply.structured.clone(),
                    exit: request.program.as_ref().map(|_| reply.exit.unwrap_or(ProgramExit::Code(0))),
                    verdict: None,
                }),
            },
            ScriptChoice::Missing(missing) => Err(ScriptFailure {
                class: FailureClass::BadRequest,
                message: missing.to_string(),
                retry_after: None,
                until: None,
            }),
            ScriptChoice::Generic { .. } | ScriptChoice::RunProgram => panic!("generated scripts are strict"),
        }
    }

    fn answer(&mut self, _: &Run, _: &OpenGate) -> Label {
        self.answers.pop_front().unwrap()
    }

    fn perform(&mut self, _: &Run, _: &Performance, _: RoundPosition) -> Option<Label> {
        self.results.pop_front().unwrap()
    }

    fn decided(&mut self, _: &Decision) {}
}

/// Replays the script of a run. Returns the engine's decisions and the number of unused replies.
pub(super) fn again(workflow: &Workflow, seed: u64, run: &Rehearsed) -> (Vec<Decision>, usize) {
    let mut cast = Again {
        player: ScriptPlayer::new(run.script.clone()).unwrap(),
        answers: run.answers.iter().map(|(_, label)| label.clone()).collect(),
        results: run.results.iter().map(|(_, label)| label.clone()).collect(),
    };
    let played = simulation::play(workflow, seed, &mut cast);
    (played.decisions, cast.player.accounts().left.len())
}

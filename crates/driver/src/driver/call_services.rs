//! What the calls of a run need besides the run itself: providers, their settings, session counters and actions.

use std::collections::BTreeMap;
use std::sync::Arc;

use saihai_connect::{Asking, CommandSurroundings, Providers};
use saihai_model::{
    Ask, CallId, ExpectedReply, Fact, Performance, ProviderName, ProviderSettings, Record, RecordEntry,
    RoundPosition, VerdictTool, Workflow,
};
use tokio_util::sync::CancellationToken;

use super::actions::{self, ActionExecutor, ActionFuture, StartedAction};
use super::replies::{self, SessionMeters};
use super::running_calls::{AskContext, TaskResult};
use crate::DriverError;
use crate::run_session::{HeldRun, PreparedAsk};

/// Asks agents and performs actions for a run that its caller holds.
pub(crate) struct CallServices {
    pub(crate) providers: Providers,
    pub(crate) settings: BTreeMap<ProviderName, ProviderSettings>,
    pub(crate) meters: SessionMeters,
    /// The environment of the driver's own actions.
    pub(crate) surroundings: CommandSurroundings,
    /// Performs actions that reach beyond the run and its files.
    pub(crate) executor: Option<Arc<dyn ActionExecutor>>,
}

/// An ask that has started or has ended at once.
pub(crate) enum StartedAsk {
    Asking(Box<Asking>, AskContext),
    /// The cache had the reply.
    Done(Box<Fact>),
}

/// An action that has started or has ended at once.
pub(crate) enum ActionStart {
    Running(CallId, Box<dyn FnOnce(CancellationToken) -> ActionFuture>),
    Done(Box<Fact>),
}

/// Returns the verdict tool of a call. Questions about a reply are answered in their text.
fn verdict_tool(workflow: &Workflow, call: &CallId, place: RoundPosition) -> Option<VerdictTool> {
    match workflow.wanted(&call.stage, place)? {
        ExpectedReply::Work(reads) => reads.choice.as_ref()?.verdict_tool(),
        ExpectedReply::Answer(..) => None,
    }
}

impl CallServices {
    /// Asks an agent. If the cache has the reply, returns the fact immediately.
    pub(crate) fn ask(&mut self, held: &HeldRun, prepared: PreparedAsk) -> StartedAsk {
        let PreparedAsk { request, prompt, persona } = prepared;
        let (call, place, session) = (request.call.clone(), request.place, request.session.clone());
        let (provider, set) = (request.provider.clone(), self.settings.get(&request.provider));
        let (price, is_counted) = (set.map(|set| set.price).unwrap_or_default(), request.money.is_some());
        // After a fallback the request names no model, so the provider's own setting applies.
        let model = request.model.or_else(|| set?.model.clone());
        let began = held.clock().now();
        let about =
            AskContext { call: call.clone(), place, prompt, began, provider, session, price, is_counted };
        let about = match replies::cached(held, about, request.purpose) {
            Ok(fact) => return StartedAsk::Done(Box::new(fact)),
            Err(about) => about,
        };
        let (run, start) = (held.directory().id(), held.start());
        let traceparent = saihai_telemetry::traceparent(run, start.seed, &call, request.attempt);
        let asking = self.providers.ask(Ask {
            run: run.to_owned(),
            stage: call.stage.clone(),
            call: request.call,
            place,
            turn: request.turn,
            purpose: request.purpose,
            attempt: request.attempt,
            role: request.role,
            directory: start.directory.clone(),
            // The change under review may come from a stranger, and project settings can name programs to run
            //
            foreign: held.workflow().is_review(),
            rehearsal: start.rehearsal,
            prompt: about.prompt.clone(),
            persona,
            provider: request.provider,
            program: request.program,
            model,
            permission: request.permission,
            tools: request.tools,
            schema: request.schema,
            verdict: verdict_tool(held.workflow(), &call, place),
            metered: self.meters.of(request.session.as_deref()),
            session: request.session,
            timeout: request.timeout,
            silence: held.run().limits().silence,
            max_calls: request.max_calls,
            money: request.money,
            scratch: held.directory().scratch().display().to_string(),
            traceparent: Some(traceparent),
        });
        StartedAsk::Asking(Box::new(asking), *about)
    }

    /// Turns the result of an ask into a fact. It notes the counters before the fact is settled, because the next ask
    /// in the same session may follow immediately.
    pub(crate) fn reply(&mut self, held: &HeldRun, about: AskContext, came: TaskResult) -> Fact {
        let asked = about.session.clone();
        let fact = replies::fact(held, about, came);
        if let Some((session, meter)) = replies::session_meter(&fact) {
            self.meters.note(asked.as_deref(), session.as_deref(), Some(&meter));
        }
        fact
    }

    /// Starts an action, or performs it immediately.
    pub(crate) fn act(&self, held: &HeldRun, performance: Performance) -> Result<ActionStart, DriverError> {
        Ok(match actions::perform(held, &self.surroundings, performance)? {
            StartedAction::Done(fact) => ActionStart::Done(fact),
            StartedAction::Outside(call, request) => match self.executor.clone() {
                None => ActionStart::Done(Box::new(actions::unsupported(call, &request))),
                Some(executor) => {
                    ActionStart::Running(call, Box::new(move |stop| executor.perform(*request, stop)))
                }
            },
            StartedAction::Command(call, command) => {
                let surroundings = self.surroundings.clone();
                ActionStart::Running(call, Box::new(move |stop| Box::pin(command.run(surroundings, stop))))
            }
        })
    }

    /// Tells the providers that a call has ended.
    pub(crate) fn note_record(&mut self, record: &Record) {
        match &record.entry {
            RecordEntry::Fact(Fact::Replied(reply)) => self.providers.ended(&reply.call, None),
            RecordEntry::Fact(Fact::Failed(failed)) => {
                self.providers.ended(&failed.call, Some(&failed.failure))
            }
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => {}
        }
    }

    /// Forgets sessions that the run cannot continue.
    pub(crate) fn forget_ended(&mut self, held: &HeldRun) {
        self.meters.forget_ended(held.run());
        self.providers.part(|session| held.run().sessions().any(|kept| kept == session));
    }

    /// Makes programs that are being stopped end sooner.
    pub(crate) fn hurry(&mut self) {
        self.providers.hurry();
        self.surroundings.hurry();
    }
}

//! One call of a run whose records another process keeps.
//!
//! A worker of a server holds a run only for the length of one call. It gets the state of the run with the call, and
//! returns facts. It folds nothing and appends nothing: the loop that gave it the call does both.

use saihai_connect::{CommandSurroundings, Connections, Providers};
use saihai_engine::Run;
use saihai_model::{Effect, Fact, Progress, Script, Start, Workflow};
use tokio_util::sync::CancellationToken;

use crate::driver::{
    ActionExecutor, ActionStart, CallServices, StartedAsk, TaskResult, performed, replay_history,
};
use crate::replay::CallHistory;
use crate::run_session::HeldRun;
use crate::secrets::SecretRedactor;
use crate::{Clock, DriverError, DriverWarning, RunDirectory};

/// Input of [`HostedCall::open`]: the run as its last fact left it.
#[derive(Debug)]
pub struct HostedRun {
    /// The directory on this machine for texts and the providers' files. It needs no journal.
    pub directory: RunDirectory,
    pub workflow: Workflow,
    /// The start, with the work directory and the report directory of this machine.
    pub start: Box<Start>,
    pub run: Run,
    pub script: Option<Script>,
    pub history: CallHistory,
}

/// A run in the hands of a worker, for one call.
pub struct HostedCall {
    held: HeldRun,
    services: CallServices,
}

impl HostedCall {
    pub fn open(
        run: HostedRun,
        connections: Connections,
        executor: Option<std::sync::Arc<dyn ActionExecutor>>,
        clock: Clock,
    ) -> Result<Self, DriverError> {
        let HostedRun { directory, workflow, start, run, script, mut history } = run;
        let connections = Connections { script, ..connections.describing(&workflow) };
        let settings = connections.settings.clone();
        let surroundings = CommandSurroundings::of(&connections);
        let secrets = SecretRedactor::of(&connections);
        let mut providers = Providers::open(&workflow, connections).map_err(DriverError::Unavailable)?;
        let events = std::mem::take(&mut history.events);
        replay_history(events, &mut providers, &directory, start.rehearsal)?;
        let held = HeldRun { directory, workflow, start, run, view: None, clock, secrets };
        let services = CallServices { providers, settings, meters: history.meters, surroundings, executor };
        Ok(Self { held, services })
    }

    /// Asks or acts, and returns the facts in their order. A stopped call returns its failure, or a reply that had
    /// arrived already.
    pub async fn perform(
        &mut self,
        effect: Effect,
        tell: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
        warnings: &mut Vec<DriverWarning>,
    ) -> Result<Vec<Fact>, DriverError> {
        match effect {
            Effect::Ask(request) => {
                let (asked, prepared) = self.held.prepare_ask(*request, warnings)?;
                let Some(prepared) = prepared else { return Ok(vec![asked]) };
                let fact = match self.services.ask(&self.held, prepared) {
                    StartedAsk::Done(fact) => *fact,
                    StartedAsk::Asking(asking, about) => {
                        let answer = asking.answer(tell, stop).await;
                        self.services.reply(&self.held, about, TaskResult::Answer(Box::new(answer)))
                    }
                };
                // The fact that it was asked is recorded already. Only the rendered prompt is new.
                let prompt = Some(asked).filter(|asked| matches!(asked, Fact::Asked { prompt: Some(_), .. }));
                Ok(prompt.into_iter().chain([fact]).collect())
            }
            Effect::Perform(performance) => Ok(vec![match self.services.act(&self.held, *performance)? {
                ActionStart::Done(fact) => *fact,
                ActionStart::Running(call, act) => {
                    let outcome = act(stop).await;
                    performed(&self.held, call, TaskResult::Outcome(Box::new(outcome)))
                }
            }]),
            Effect::Record(_) | Effect::OpenGate(_) | Effect::Wake { .. } | Effect::Stop { .. } => {
                Ok(Vec::new())
            }
        }
    }

    /// Ends programs that serve more than one call.
    pub async fn close(mut self) {
        self.services.providers.close().await;
    }
}

impl std::fmt::Debug for HostedCall {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HostedCall").field("run", &self.held.directory().id()).finish_non_exhaustive()
    }
}

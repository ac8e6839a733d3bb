//! Any agent that speaks the Agent Client Protocol (C-67): JSON-RPC 2.0, a line each way.
//!
//! Nothing holds such an agent but its own habit of asking before it acts. So a level below `full` is given only to
//! agents known to ask, or of which the settings say so (C-45), and what they ask for is answered by the level.
//!
//! A process serves one session: it stays after a turn that went well, for the next one. Where it is gone, because a turn
//! failed, the process died or the run was resumed, the session is loaded into a new one. What an agent cannot load is
//! lost, which the engine knows how to mend (C-29).

mod client;
mod message;
mod notice;
mod permission;

#[cfg(test)]
mod tests;

use saihai_model::{Ask, Failure, FailureClass, ProviderKind, ProviderSettings};

use crate::agent::{Acquaintance, Agent, Invocation, Listener, Profile, failure, fits};
use client::Client;

/// Any agent that speaks the protocol.
pub(crate) struct Acp;

static PROFILE: Profile = Profile {
    kind: ProviderKind::Acp,
    program: "",
    install: "",
    tested: "protocol 1",
    environment: &[],
    known_tools: &[],
    max_prompt: 10_000_000,
};

impl Agent for Acp {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<Invocation, Failure> {
        // What it is started with is a greeting; the prompt comes later.
        let most = settings.max_prompt.unwrap_or(PROFILE.max_prompt);
        fits(message::prompt_text(ask).len(), most, &ask.provider)?;
        if !settings.can_enforce(ask.permission) {
            let (level, provider) = (ask.permission.name(), &ask.provider);
            let words = format!(
                "nothing is known to hold the agent of `{provider}` to `{level}`; if it asks before it acts, say so \
                 with `honours` in its settings"
            );
            return Err(failure(FailureClass::BadRequest, &words));
        }
        let arguments = settings.args.clone();
        Ok(Invocation { arguments, input: message::initialize(), ..Invocation::default() })
    }

    fn listener(&self, ask: &Ask, _: &ProviderSettings) -> Box<dyn Listener> {
        Box::new(Client::new(ask.clone()))
    }

    fn going_on(&self, ask: &Ask, known: &Acquaintance) -> Option<(String, Box<dyn Listener>)> {
        let client = Client::going_on(ask.clone(), known)?;
        Some((client.prompt(), Box::new(client)))
    }
}

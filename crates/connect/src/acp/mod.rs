//! Any agent that speaks the Agent Client Protocol (C-67): JSON-RPC 2.0, one line per message.
//!
//! Nothing restricts such an agent except its own requests for permission. So a level below `full` needs an
//! agent that is known to ask, or a setting that says so (C-45). The level then decides each request.
//!
//! A process serves one session. It stays after a successful turn, for the next one. After a failed turn, a
//! dead process or a resumed run, a new process loads the session. If the agent cannot load it, the session
//! is lost, and the engine recovers (C-29).

mod client;
mod message;
mod notice;
mod permission;

#[cfg(test)]
mod tests;

use saihai_model::{Ask, Failure, FailureClass, ProviderKind, ProviderSettings};

use crate::agent::{Acquaintance, Agent, Invocation, Listener, Profile, failure, fits};
use client::Client;

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
        // The first input is only the handshake, so the prompt's size is checked here.
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

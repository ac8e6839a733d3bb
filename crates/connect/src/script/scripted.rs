//! The `script` provider, as the other modules use it.

use std::sync::Arc;

use saihai_model::{Ask, CallId, Failure, FailureClass, Refusal, ScriptReply};

use crate::asking::Asking;
use crate::process::Grace;
use crate::providers::Connections;
use crate::script::performance::{Means, Performance};
use crate::script::player::{Accounts, Asked, BadScript, Player, Taken};

/// The reply if the script has none and allows that.
const GENERIC: &str = "Done. (The script has no reply for this turn.)";

/// A script and the resources for its replies.
pub(crate) struct Scripted {
    player: Player,
    means: Arc<Means>,
}

impl Scripted {
    pub(crate) fn open(with: Connections, grace: &Grace) -> Result<Self, BadScript> {
        let means = Means::new(&with, grace);
        let player = Player::new(with.script.unwrap_or_default())?;
        Ok(Self { player, means: Arc::new(means) })
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Asking {
        let taken = self.player.take(&Asked {
            call: &ask.call,
            turn: ask.turn.as_ref(),
            place: ask.place,
            role: ask.role.as_deref(),
            prompt: &ask.prompt,
        });
        let means = Arc::clone(&self.means);
        match taken {
            Taken::Missing(missing) => {
                let failure = Failure::new(FailureClass::BadRequest, missing.to_string());
                Asking::refused(Refusal::from(failure))
            }
            Taken::Generic { number } => {
                let reply =
                    Arc::new(ScriptReply { text: Some(GENERIC.to_owned()), ..ScriptReply::default() });
                Asking::scripted(Performance { ask, reply, number, again: false, means })
            }
            Taken::Reply { reply, number, again } => {
                Asking::scripted(Performance { ask, reply, number, again, means })
            }
        }
    }

    pub(crate) fn already_asked(&mut self, asked: &Asked<'_>) {
        self.player.already_asked(asked);
    }

    pub(crate) fn ended(&mut self, call: &CallId, failure: Option<&Failure>) {
        self.player.ended(call, failure);
    }

    pub(crate) fn reads_prompts(&self) -> bool {
        self.player.reads_prompts()
    }

    pub(crate) fn accounts(&self) -> Accounts {
        self.player.accounts()
    }
}

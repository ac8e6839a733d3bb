//! An accepted ask.

use saihai_model::{Progress, ProviderAnswer, Refusal};
use tokio_util::sync::CancellationToken;

use crate::attempt::Attempt;
use crate::http::Turn;
use crate::script::Performance;

/// An ask that its provider has accepted but not started.
#[must_use = "nothing is asked until it is answered"]
pub struct Asking(Way);

enum Way {
    Refused(Box<Refusal>),
    Script(Box<Performance>),
    Agent(Box<Attempt>),
    Http(Box<Turn>),
}

impl Asking {
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self(Way::Refused(Box::new(refusal)))
    }

    pub(crate) fn scripted(performance: Performance) -> Self {
        Self(Way::Script(Box::new(performance)))
    }

    pub(crate) fn attempt(attempt: Attempt) -> Self {
        Self(Way::Agent(Box::new(attempt)))
    }

    pub(crate) fn http(turn: Turn) -> Self {
        Self(Way::Http(Box::new(turn)))
    }

    /// Runs the ask and enforces its deadline. If `stop` is cancelled it returns soon, as cancelled unless
    /// the reply was already complete. Dropping the future ends everything it started.
    pub async fn answer(
        self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        match self.0 {
            Way::Refused(refusal) => Err(*refusal),
            Way::Script(performance) => performance.answer(progress, stop).await,
            Way::Agent(attempt) => attempt.answer(progress, stop).await,
            Way::Http(turn) => turn.answer(progress, stop).await,
        }
    }
}

//! Time as scripted replies spend it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use saihai_model::Millis;

/// A wait that somebody else measures.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The run's clock, as far as a provider needs it.
pub trait Clock: Send + Sync {
    /// Waits for this long.
    fn sleep(&self, length: Millis) -> Sleep<'_>;
}

/// The time everybody has.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealTime;

impl Clock for RealTime {
    fn sleep(&self, length: Millis) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(Duration::from_millis(length.0)))
    }
}

/// No time passes: every wait is over at once. For rehearsals, tests and measurements.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTime;

impl Clock for NoTime {
    fn sleep(&self, _length: Millis) -> Sleep<'_> {
        Box::pin(std::future::ready(()))
    }
}

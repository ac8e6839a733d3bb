//! Time for scripted replies and deadlines.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use saihai_model::Millis;

pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The run's clock, reduced to the needs of a provider.
pub trait Clock: Send + Sync {
    fn sleep(&self, length: Millis) -> Sleep<'_>;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct RealTime;

impl Clock for RealTime {
    fn sleep(&self, length: Millis) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(Duration::from_millis(length.0)))
    }
}

/// A clock without time: every wait ends immediately. For rehearsals, tests and measurements.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTime;

impl Clock for NoTime {
    fn sleep(&self, _length: Millis) -> Sleep<'_> {
        Box::pin(std::future::ready(()))
    }
}

/// A clock that tests advance by hand.
#[cfg(test)]
pub(crate) struct HandClock(tokio::sync::watch::Sender<u64>);

#[cfg(test)]
impl HandClock {
    pub(crate) fn new() -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self(tokio::sync::watch::Sender::new(0)))
    }

    pub(crate) fn advance(&self, length: Millis) {
        self.0.send_modify(|now| *now += length.0);
    }
}

#[cfg(test)]
impl Clock for HandClock {
    fn sleep(&self, length: Millis) -> Sleep<'_> {
        let mut now = self.0.subscribe();
        let until = *now.borrow() + length.0;
        Box::pin(async move {
            now.wait_for(|now| *now >= until).await.expect("the clock outlives its sleepers");
        })
    }
}

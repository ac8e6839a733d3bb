//! Time for scripted replies and deadlines, and the time that a program has to end.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use saihai_model::Millis;
use tokio_util::sync::CancellationToken;

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

/// The time between the request to end and the kill (C-56). All clones hurry together.
#[derive(Debug, Clone)]
pub(crate) struct GracePeriod {
    usual: Millis,
    hurry: CancellationToken,
}

/// The kind of request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopRequest {
    /// A request in the program's own protocol.
    Words,
    /// A signal without an earlier request.
    Signal,
    /// A signal after a request without effect.
    SignalAfterWords,
}

/// Time while a person waits for us to exit.
const HURRIED: Millis = Millis(2_000);

/// Time after a request in the protocol.
const WORDS: Millis = Millis(5_000);

impl GracePeriod {
    pub(crate) fn new(usual: Millis) -> Self {
        Self { usual, hurry: CancellationToken::new() }
    }

    /// Shortens the time from now on, also for programs that are already ending.
    pub(crate) fn hurry(&self) {
        self.hurry.cancel();
    }

    /// Waits for the time that a program has after such a request.
    pub(crate) async fn pass(&self, plea: StopRequest, clock: &dyn Clock) {
        let hurried = HURRIED.min(self.usual);
        // The request and the signal after it share the short time.
        let (usual, hurried) = match plea {
            StopRequest::Words => (WORDS.min(self.usual), Millis(hurried.0 / 2)),
            StopRequest::Signal => (self.usual, hurried),
            StopRequest::SignalAfterWords => (self.usual, Millis(hurried.0 / 2)),
        };
        let in_a_hurry = async {
            self.hurry.cancelled().await;
            clock.sleep(hurried).await;
        };
        tokio::select! {
            biased;
            () = clock.sleep(usual) => {}
            () = in_a_hurry => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::clock::HandClock;

    /// Returns the time after a request, with an optional start of the hurry.
    async fn length(usual: u64, plea: StopRequest, hurried_after: Option<u64>) -> u64 {
        const STEP: u64 = 10;
        let (grace, clock) = (GracePeriod::new(Millis(usual)), HandClock::new());
        let mut passing = pin!(grace.pass(plea, &*clock));
        let mut passed = 0;
        loop {
            if hurried_after.is_some_and(|after| after <= passed) {
                grace.hurry();
            }
            let is_over = tokio::select! {
                biased;
                () = &mut passing => true,
                () = std::future::ready(()) => false,
            };
            if is_over {
                return passed;
            }
            clock.advance(Millis(STEP));
            passed += STEP;
        }
    }

    // C-56
    #[tokio::test]
    async fn it_is_ten_seconds_and_two_in_a_hurry() {
        use StopRequest::{Signal, SignalAfterWords, Words};
        for (plea, usual, hurried) in
            [(Signal, 10_000, 2_000), (Words, 5_000, 1_000), (SignalAfterWords, 10_000, 1_000)]
        {
            assert_eq!(length(10_000, plea, None).await, usual, "{plea:?}");
            assert_eq!(length(10_000, plea, Some(0)).await, hurried, "{plea:?}");
        }
        assert_eq!(
            length(10_000, Signal, Some(3_000)).await,
            5_000,
            "who is being ended already has two more"
        );
        assert_eq!(length(10_000, Signal, Some(9_000)).await, 10_000, "and never longer than before");
        assert_eq!(length(50, Signal, Some(0)).await, 50);
    }
}

//! Signals to stop.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::exit;

/// A guard for the time before work starts. While it exists, a signal ends the process at once. Reading many issues
/// takes a while, and no other code handles signals then.
pub(crate) struct Unbegun(Arc<AtomicBool>);

impl Unbegun {
    pub(crate) fn listen() -> io::Result<Self> {
        let begun = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&begun);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        std::thread::Builder::new().name("unbegun".to_owned()).spawn(move || {
            runtime.block_on(signals.next());
            if !seen.load(Ordering::Relaxed) {
                io::stderr().write_all(b"stopped; nothing had begun\n").unwrap_or(());
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
        })?;
        Ok(Self(begun))
    }
}

impl Drop for Unbegun {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The signals that stop a run.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Returns the next signal by its name in the journal.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "ctrl-c",
            _ = self.terminate.recv() => "sigterm",
            _ = self.hang_up.recv() => "sighup",
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Returns the next signal by its name in the journal.
    pub(crate) async fn next(&mut self) -> &'static str {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "ctrl-c",
            // Without a signal handler no signal ever arrives.
            Err(_) => std::future::pending().await,
        }
    }
}

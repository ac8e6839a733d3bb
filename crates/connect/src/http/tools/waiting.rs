//! Waits for network answers, and stops with the tool.

use std::future::Future;
use std::time::Duration;

use super::Halt;

/// Interval between checks for a stopped tool.
const GLANCE: Duration = Duration::from_millis(100);

/// Waits until the future is done or the tool must stop. Each tool has its own thread, and this creates a
/// runtime on it. So it never blocks the run.
pub(super) fn wait<T>(halt: &Halt, done: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let said = runtime.block_on(async {
        tokio::select! {
            said = done => said,
            why = halted(halt) => Err(why),
        }
    });
    // A name lookup cannot be interrupted.
    runtime.shutdown_background();
    said
}

/// Waits until the tool must stop, and returns the reason.
async fn halted(halt: &Halt) -> String {
    loop {
        tokio::time::sleep(GLANCE).await;
        if let Err(why) = halt.check() {
            return why;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_waited_for_when_nobody_waits() {
        let never = std::future::pending::<Result<(), String>>();
        assert_eq!(wait(&Halt::now(), never), Err("stopped".to_owned()));
    }
}

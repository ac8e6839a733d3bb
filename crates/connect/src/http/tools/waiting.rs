//! Waiting for something outside, as long as somebody waits for the tool.

use std::future::Future;
use std::time::Duration;

use super::Halt;

/// How often it is asked whether anybody still waits.
const GLANCE: Duration = Duration::from_millis(100);

/// Waits until it is done or the tool must stop. A tool has a thread of its own, and on it this has a runtime of its own:
/// nothing of the run waits for it.
pub(super) fn wait<T>(halt: &Halt, done: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let said = runtime.block_on(async {
        tokio::select! {
            said = done => said,
            why = halted(halt) => Err(why),
        }
    });
    // Looking up a name cannot be interrupted.
    runtime.shutdown_background();
    said
}

/// Why it must stop, as soon as it must.
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

//! Only in the build of the tests: named points at which a worker dies, numbers from variables, and
//! recorded histories.

#[cfg(feature = "faults")]
use temporalio_common::protos::temporal::api::history::v1::History;
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;

/// Ends this process, as `kill -9` would, if `SAIHAI_TEMPORAL_FAULT` names the point and the file of
/// `SAIHAI_TEMPORAL_FAULT_ONCE` can be created.
#[cfg(feature = "faults")]
pub(crate) fn point(name: &str) {
    let is_named = std::env::var("SAIHAI_TEMPORAL_FAULT").is_ok_and(|wanted| wanted == name);
    let once = std::env::var_os("SAIHAI_TEMPORAL_FAULT_ONCE");
    let is_first = || once.is_none_or(|path| std::fs::File::create_new(path).is_ok());
    if is_named && is_first() {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

#[cfg(not(feature = "faults"))]
pub(crate) fn point(_: &str) {}

/// Returns the value of a variable.
#[cfg(feature = "faults")]
pub(crate) fn number(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

#[cfg(not(feature = "faults"))]
pub(crate) fn number(_: &str) -> Option<u32> {
    None
}

/// Writes a history into the directory of `SAIHAI_TEMPORAL_HISTORIES`, for the test that replays it.
#[cfg(feature = "faults")]
pub(crate) async fn record(number: usize, events: &[HistoryEvent]) {
    let Some(directory) = std::env::var_os("SAIHAI_TEMPORAL_HISTORIES") else { return };
    let history = temporalio_client::WorkflowHistory::from(History { events: events.to_vec() });
    let text = history.to_json().await.expect("events as JSON");
    let path = std::path::Path::new(&directory).join(format!("{number}.json"));
    std::fs::write(path, text).expect("a file for a history");
}

#[cfg(not(feature = "faults"))]
pub(crate) async fn record(_: usize, _: &[HistoryEvent]) {}

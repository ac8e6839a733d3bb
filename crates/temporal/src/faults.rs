//! Only in the build of the tests: named points at which a worker dies, and numbers from variables.

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

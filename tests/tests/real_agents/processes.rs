//! Finds the processes of a turn on this machine.

use std::fs;
use std::path::Path;

/// Returns the id and name of each marked process with this home.
pub(crate) fn marked(home: &Path) -> Vec<(u32, String)> {
    let home = format!("HOME={}", home.display());
    let entries = fs::read_dir("/proc").expect("the processes");
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<(u32, String)> =
        numbers.filter(|pid| is_marked(*pid, &home)).map(|pid| (pid, name(pid))).collect();
    found.sort();
    found
}

/// Returns the environment variables of these processes.
pub(crate) fn variables(home: &Path) -> Vec<String> {
    let environments =
        marked(home).into_iter().filter_map(|(pid, _)| fs::read(format!("/proc/{pid}/environ")).ok());
    let texts = environments.map(|environment| String::from_utf8_lossy(&environment).into_owned());
    texts.flat_map(|text| text.split('\0').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns whether a process has our mark and this home. Ended and foreign processes have no readable environment.
fn is_marked(pid: u32, home: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let has = |wanted: &dyn Fn(&[u8]) -> bool| environment.split(|byte| *byte == 0).any(wanted);
    has(&|variable| variable == home.as_bytes()) && has(&|variable| variable.starts_with(b"SAIHAI_TURN="))
}

fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

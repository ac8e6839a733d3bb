//! Which processes of this machine belong to a turn.

use std::fs;
use std::path::Path;

/// The processes that carry our mark and work in these surroundings: number and name.
pub(crate) fn marked(home: &Path) -> Vec<(u32, String)> {
    let home = format!("HOME={}", home.display());
    let entries = fs::read_dir("/proc").expect("the processes");
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<(u32, String)> =
        numbers.filter(|pid| is_marked(*pid, &home)).map(|pid| (pid, name(pid))).collect();
    found.sort();
    found
}

/// The variables of those processes.
pub(crate) fn variables(home: &Path) -> Vec<String> {
    let environments =
        marked(home).into_iter().filter_map(|(pid, _)| fs::read(format!("/proc/{pid}/environ")).ok());
    let texts = environments.map(|environment| String::from_utf8_lossy(&environment).into_owned());
    texts.flat_map(|text| text.split('\0').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A process that has just ended, or is another user's, has no environment to be read.
fn is_marked(pid: u32, home: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let has = |wanted: &dyn Fn(&[u8]) -> bool| environment.split(|byte| *byte == 0).any(wanted);
    has(&|variable| variable == home.as_bytes()) && has(&|variable| variable.starts_with(b"SAIHAI_TURN="))
}

fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

//! Finds and ends our processes, also those whose parents are gone (C-57, C-58).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::mark::{Mark, run_marked};

/// Time for killed processes to disappear.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    id: i32,
    /// Start time, which identifies a process together with its id.
    started: u64,
    parent: i32,
    group: i32,
    session: i32,
    is_zombie: bool,
}

/// Ends every process of a run's earlier owner, and returns those that could not be ended. A new owner calls
/// this first (C-58). It spares this process and its ancestors.
pub fn sweep(run_directory: &Path) -> Vec<u32> {
    let spared = ourselves(&all());
    let marked = |process: &Process| run_marked(run_directory, &environment(process.id));
    until_none(|| {
        all().into_iter().filter(|process| !spared.contains(&process.id) && marked(process)).collect()
    })
}

/// Ends every descendant of a process, its group, its session and all marked processes, but not the process
/// itself. Returns those that could not be ended.
pub(super) fn end_relatives(leader: Pid, mark: &Mark) -> Vec<u32> {
    let us = std::process::id().cast_signed();
    let is_relative = |process: &Process| {
        let id = leader.as_raw_pid();
        let related = process.group == id || process.session == id || mark.is_in(&environment(process.id));
        related && process.id != us
    };
    until_none(|| below(leader, &is_relative))
}

/// Ends every descendant of a process, but not the process itself.
#[cfg(target_os = "linux")]
pub(super) fn end_descendants(ancestor: Pid) {
    until_none(|| below(ancestor, &|_| false));
}

/// Returns the relatives, and all descendants of a process and of its relatives, without the process itself.
fn below(ancestor: Pid, is_relative: &dyn Fn(&Process) -> bool) -> Vec<Process> {
    let ancestor = ancestor.as_raw_pid();
    let all = all();
    let mut family: BTreeSet<i32> = all.iter().filter(|one| is_relative(one)).map(|one| one.id).collect();
    family.insert(ancestor);
    // Children may come before their parents.
    loop {
        let before = family.len();
        family.extend(
            all.iter().filter(|one| family.contains(&one.parent)).map(|one| one.id).collect::<Vec<_>>(),
        );
        if family.len() == before {
            break;
        }
    }
    all.into_iter().filter(|one| one.id != ancestor && family.contains(&one.id)).collect()
}

/// Returns a process and its descendants.
#[cfg(target_os = "linux")]
pub(super) fn members(leader: Pid) -> Vec<i32> {
    let all = all();
    let mut members: BTreeSet<i32> = BTreeSet::from([leader.as_raw_pid()]);
    loop {
        let is_new = |one: &&Process| !members.contains(&one.id) && members.contains(&one.parent);
        let new: Vec<i32> = all.iter().filter(is_new).map(|one| one.id).collect();
        if new.is_empty() {
            return members.into_iter().collect();
        }
        members.extend(new);
    }
}

/// Repeats the search and ends all it finds, until it finds nothing.
fn until_none(mut find: impl FnMut() -> Vec<Process>) -> Vec<u32> {
    let begun = Instant::now();
    loop {
        let found: Vec<Process> = find().into_iter().filter(|process| !process.is_zombie).collect();
        if found.is_empty() || begun.elapsed() > PATIENCE {
            return found.iter().map(|process| process.id.cast_unsigned()).collect();
        }
        found.iter().for_each(kill);
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Ends a process, and never another one that has reused its id.
#[cfg(target_os = "linux")]
fn kill(process: &Process) {
    use rustix::process::{PidfdFlags, Signal};

    let Some(id) = Pid::from_raw(process.id) else { return };
    let Ok(handle) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return };
    if look(process.id).is_some_and(|now| now.started == process.started) {
        // A process that has already ended is fine.
        let _ = rustix::process::pidfd_send_signal(&handle, Signal::KILL);
    }
}

/// Other systems have no list of processes here, so there is nothing to end.
#[cfg(not(target_os = "linux"))]
fn kill(_process: &Process) {}

/// Returns this process and its ancestors.
fn ourselves(all: &[Process]) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut next = Some(std::process::id().cast_signed());
    while let Some(id) = next.filter(|id| found.insert(*id)) {
        next = all.iter().find(|process| process.id == id).map(|process| process.parent);
    }
    found
}

fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(look).collect()
}

fn look(id: i32) -> Option<Process> {
    parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Parses a line of `stat`. The second field is the program's name, which may contain anything.
fn parse(id: i32, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Process {
        id,
        started: fields.get(19)?.parse().ok()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        is_zombie: matches!(fields.first(), Some(&("Z" | "X"))),
    })
}

/// Returns the initial environment of a process; empty if we may not read it.
fn environment(id: i32) -> Vec<u8> {
    fs::read(format!("/proc/{id}/environ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_program_is_called() {
        let stat = "42 (a) Z 1 (x) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 1";
        let process = Process { id: 42, started: 12345, parent: 7, group: 8, session: 9, is_zombie: false };
        assert_eq!(parse(42, stat), Some(process));
        assert_eq!(parse(42, "42 (a"), None);
        assert_eq!(parse(42, "42 (a) S 1 2"), None);
    }

    /// Starts a program with these variables that only we end.
    fn stranger(variables: &[(&str, &str)]) -> std::process::Child {
        let mut command = std::process::Command::new("sleep");
        let child = command.arg("1000").envs(variables.iter().copied()).spawn().unwrap();
        // A process that has just started has no variables for a moment.
        while environment(child.id().cast_signed()).is_empty() {
            thread::yield_now();
        }
        child
    }

    fn is_there(process: &std::process::Child) -> bool {
        look(process.id().cast_signed()).is_some_and(|now| !now.is_zombie)
    }

    // T-74: a reused process id, and processes that only look like ours.
    #[test]
    #[cfg(target_os = "linux")]
    fn t74_only_what_is_ours_is_ever_ended() {
        let directory = tempfile::tempdir().unwrap();
        let ours = std::fs::canonicalize(directory.path()).unwrap().display().to_string();
        let other = format!("{ours}-2");
        for _ in 0..20 {
            let mut strangers = [
                stranger(&[]),
                stranger(&[("SAIHAI_TURN", "work.1.1.1"), ("SAIHAI_RUN_DIRECTORY", &other)]),
                stranger(&[("X_SAIHAI_RUN_DIRECTORY", &ours)]),
            ];
            let mut marked = stranger(&[("SAIHAI_RUN_DIRECTORY", &ours)]);
            let id = strangers[0].id().cast_signed();
            let was = look(id).unwrap();
            kill(&Process { started: was.started - 1, ..was });
            assert!(sweep(directory.path()).is_empty());
            // Waiting for the killed process ensures that every signal has arrived.
            assert!(!is_there(&marked));
            marked.wait().unwrap();
            assert!(strangers.iter().all(is_there));
            // The control: the same process does end when it is the target.
            kill(&was);
            let ended = strangers[0].wait().unwrap();
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
            for stranger in &mut strangers[1..] {
                stranger.kill().unwrap();
                stranger.wait().unwrap();
            }
        }
    }

    #[test]
    fn we_and_those_above_us_are_spared() {
        let spared = ourselves(&all());
        let us = std::process::id().cast_signed();
        let parent = rustix::process::getppid().unwrap().as_raw_pid();
        assert!(spared.contains(&us) && spared.contains(&parent), "{spared:?}");
    }
}

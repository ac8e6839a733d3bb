//! Finds and ends an agent's processes by their mark, ancestors or control group (C-57, C-58).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::Pid;
use saihai_model::{Ask, CallId};

/// Time for killed processes to disappear. A busy machine takes seconds to list its processes and to end one.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ListedProcess {
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
    let spared = ourselves();
    let is_left = |id: &i32| !spared.contains(id) && run_marked(run_directory, &environment(*id));
    until_none(PATIENCE, || process_ids().filter(is_left).filter_map(look).collect())
}

/// Ends every descendant of a process, its group, its session and all marked processes, but not the process
/// itself. Returns those that could not be ended.
pub(super) fn end_relatives(leader: Pid, mark: &ProcessMark) -> Vec<u32> {
    let us = std::process::id().cast_signed();
    let is_relative = |process: &ListedProcess| {
        let id = leader.as_raw_pid();
        let related = process.group == id || process.session == id || mark.is_in(&environment(process.id));
        related && process.id != us
    };
    until_none(PATIENCE, || below(leader, &is_relative))
}

/// Ends every descendant of a process, but not the process itself.
#[cfg(target_os = "linux")]
pub(super) fn end_descendants(ancestor: Pid) {
    until_none(PATIENCE, || below(ancestor, &|_| false));
}

/// Returns the relatives, and all descendants of a process and of its relatives, without the process itself.
fn below(ancestor: Pid, is_relative: &dyn Fn(&ListedProcess) -> bool) -> Vec<ListedProcess> {
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
        let is_new = |one: &&ListedProcess| !members.contains(&one.id) && members.contains(&one.parent);
        let new: Vec<i32> = all.iter().filter(is_new).map(|one| one.id).collect();
        if new.is_empty() {
            return members.into_iter().collect();
        }
        members.extend(new);
    }
}

/// Repeats the search and ends all it finds, until it finds nothing. Returns the processes that are still there
/// when `patience` has passed since the first search.
fn until_none(patience: Duration, mut find: impl FnMut() -> Vec<ListedProcess>) -> Vec<u32> {
    let mut first_search = None;
    loop {
        let found: Vec<ListedProcess> = find().into_iter().filter(|process| !process.is_zombie).collect();
        let begun = *first_search.get_or_insert_with(Instant::now);
        if found.is_empty() {
            return Vec::new();
        }
        found.iter().for_each(kill);
        if begun.elapsed() > patience {
            return found.iter().map(|process| process.id.cast_unsigned()).collect();
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Ends a process, and never another one that has reused its id.
#[cfg(target_os = "linux")]
fn kill(process: &ListedProcess) {
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
fn kill(_process: &ListedProcess) {}

/// Returns this process and its ancestors.
fn ourselves() -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut next = Some(std::process::id().cast_signed());
    while let Some(id) = next.filter(|id| found.insert(*id)) {
        next = look(id).map(|process| process.parent);
    }
    found
}

fn all() -> Vec<ListedProcess> {
    process_ids().filter_map(look).collect()
}

fn process_ids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn look(id: i32) -> Option<ListedProcess> {
    parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Parses a line of `stat`. The second field is the program's name, which may contain anything.
fn parse(id: i32, stat: &str) -> Option<ListedProcess> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(ListedProcess {
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

const RUN: &str = "SAIHAI_RUN";
const TURN: &str = "SAIHAI_TURN";
const DIRECTORY: &str = "SAIHAI_RUN_DIRECTORY";

/// Variables with the run and turn of a process. The directory distinguishes runs of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessMark {
    run: String,
    turn: String,
    directory: String,
}

impl ProcessMark {
    pub(crate) fn of(ask: &Ask) -> Self {
        // Scratch is directly below the run's directory.
        let directory = Path::new(&ask.scratch).parent().map(written).unwrap_or_default();
        Self { run: ask.run.clone(), turn: ask.call.to_string(), directory }
    }

    /// Returns the mark for a program that the run itself starts.
    pub(crate) fn new(run: &str, call: &CallId, run_directory: &Path) -> Self {
        Self { run: run.to_owned(), turn: call.to_string(), directory: written(run_directory) }
    }

    pub(crate) fn variables(&self) -> [(OsString, OsString); 3] {
        [(RUN, &self.run), (TURN, &self.turn), (DIRECTORY, &self.directory)]
            .map(|(name, value)| (name.into(), value.into()))
    }

    /// Returns true if an environment, in the kernel's format, contains this mark.
    pub(super) fn is_in(&self, environment: &[u8]) -> bool {
        has(environment, TURN, &self.turn) && has(environment, DIRECTORY, &self.directory)
    }
}

/// Returns true if an environment, in the kernel's format, belongs to a run.
pub(super) fn run_marked(run_directory: &Path, environment: &[u8]) -> bool {
    has(environment, DIRECTORY, &written(run_directory))
}

/// The turn that a process belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentTurn {
    pub call: String,
    /// The directory of its run.
    pub directory: PathBuf,
    /// The directory with all runs.
    pub runs: PathBuf,
}

impl CurrentTurn {
    /// Reads the turn from the environment. If there is one, this process is an agent or a program of one.
    pub fn of_this_process() -> Option<Self> {
        let directory = PathBuf::from(std::env::var_os(DIRECTORY)?);
        let call = std::env::var_os(TURN)?.to_string_lossy().into_owned();
        let runs = directory.parent()?.to_owned();
        Some(Self { call, directory, runs })
    }
}

fn value(environment: &[u8], name: &str) -> Option<String> {
    let mut variables = environment.split(|byte| *byte == 0);
    let set = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(set).into_owned())
}

/// Returns the canonical form of a directory.
fn written(directory: &Path) -> String {
    std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).display().to_string()
}

fn has(environment: &[u8], name: &str, expected: &str) -> bool {
    value(environment, name).as_deref() == Some(expected)
}

const PREFIX: &str = "saihai-";

/// A group that is ended and removed on drop.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Creates a group below our own. Returns `None` if we may not create groups, or cannot end them at once.
    pub(crate) fn create() -> Option<Self> {
        let ours = own()?;
        remove_empty(&ours);
        let us = std::process::id();
        let path = (0..10_000).find_map(|number| {
            let path = ours.join(format!("{PREFIX}{us}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => Some(Some(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                Err(_) => Some(None),
            }
        })??;
        let group = Self { path };
        // This also excludes old kernels without `cgroup.kill`, and groups that we may create but not enter.
        let usable = group.path.join("cgroup.kill").exists()
            && fs::OpenOptions::new().write(true).open(group.members()).is_ok();
        usable.then_some(group)
    }

    /// Returns the file in which a process writes `0` to become a member.
    pub(crate) fn members(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    pub(crate) fn kill(&self) {
        // A missing group has no members.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Ends every member, waits briefly for the last one, and removes the group.
    pub(crate) fn end(self) {
        let begun = Instant::now();
        self.kill();
        // Processes forked meanwhile are ended too.
        while !self.is_empty() && begun.elapsed() < PATIENCE {
            thread::sleep(BETWEEN_LOOKS);
            self.kill();
        }
    }

    fn is_empty(&self) -> bool {
        fs::read_to_string(self.members()).map_or(true, |members| members.trim().is_empty())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.kill();
        // A group with a member that cannot die stays. A later run removes it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes groups that a killed process of ours left behind. The kernel keeps groups with members.
fn remove_empty(ours: &Path) {
    let Ok(entries) = fs::read_dir(ours) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the directory of our own group.
fn own() -> Option<PathBuf> {
    let memberships = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let path = locate(&memberships, &mounts)?;
    path.is_dir().then_some(path)
}

/// Finds the directory in the kernel's lists of our groups and mounts.
fn locate(memberships: &str, mounts: &str) -> Option<PathBuf> {
    let own = memberships.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = place.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(root).ok()?;
        Some(Path::new(point).join(below))
    })
}

/// The certainty that no process of an agent outlives its turn on this machine (C-57).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// The kernel tracks all processes and ends them at once.
    ControlGroup,
    /// We search for descendants, the session and marked processes until none is left.
    Search,
    /// We end the process group only.
    ProcessGroup,
}

impl Containment {
    /// Returns the best method that this machine allows.
    pub fn here() -> Self {
        if !cfg!(target_os = "linux") {
            return Self::ProcessGroup;
        }
        if ControlGroup::create().is_some() { Self::ControlGroup } else { Self::Search }
    }
}

#[cfg(test)]
mod tests {
    mod sweep {
        use super::super::*;

        #[test]
        fn a_process_is_read_whatever_its_program_is_called() {
            let stat = "42 (a) Z 1 (x) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 99 1";
            let process =
                ListedProcess { id: 42, started: 12345, parent: 7, group: 8, session: 9, is_zombie: false };
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

        // C-57: the search itself may take longer than the patience.
        #[test]
        #[cfg(target_os = "linux")]
        fn a_process_is_ended_even_if_the_search_was_slow() {
            let mut child = stranger(&[]);
            until_none(Duration::ZERO, || look(child.id().cast_signed()).into_iter().collect());
            assert!(!child.wait().unwrap().success());
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
                kill(&ListedProcess { started: was.started - 1, ..was });
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
            let spared = ourselves();
            let us = std::process::id().cast_signed();
            let parent = rustix::process::getppid().unwrap().as_raw_pid();
            assert!(spared.contains(&us) && spared.contains(&parent), "{spared:?}");
        }
    }

    mod mark {
        use super::super::*;

        // C-57: runs of the same name in two projects are different runs.
        #[test]
        fn a_mark_is_the_turn_and_the_directory_of_its_run() {
            let mark = ProcessMark {
                run: "r".into(),
                turn: "a.1.1.1".into(),
                directory: "/p/.saihai/runs/r".into(),
            };
            let check = |environment: &[u8], expected: bool| assert_eq!(mark.is_in(environment), expected);
            check(b"A=1\0SAIHAI_TURN=a.1.1.1\0SAIHAI_RUN_DIRECTORY=/p/.saihai/runs/r\0", true);
            check(b"SAIHAI_TURN=a.1.1.12\0SAIHAI_RUN_DIRECTORY=/p/.saihai/runs/r\0", false);
            check(b"SAIHAI_TURN=a.1.1.1\0SAIHAI_RUN_DIRECTORY=/q/.saihai/runs/r\0", false);
            check(b"XSAIHAI_TURN=a.1.1.1\0SAIHAI_RUN_DIRECTORY=/p/.saihai/runs/r", false);
            check(b"", false);
            assert!(run_marked(Path::new("/p"), b"SAIHAI_RUN_DIRECTORY=/p\0X=1"));
        }
    }

    mod cgroup {
        use super::super::*;

        // C-57
        #[test]
        fn our_own_group_is_found_wherever_groups_are_mounted() {
            let check = |memberships: &str, mounts: &str, expected: Option<&str>| {
                assert_eq!(locate(memberships, mounts), expected.map(PathBuf::from));
            };
            let unified = "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
            check("0::/user.slice/a.scope\n", unified, Some("/sys/fs/cgroup/user.slice/a.scope"));
            let hybrid = "1 2 0:20 / /sys rw - sysfs sysfs rw\n3 2 0:24 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
            check("4:memory:/x\n0::/\n", hybrid, Some("/sys/fs/cgroup/unified/"));
            let bound = "25 30 0:23 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
            check("0::/docker/1/b\n", bound, Some("/sys/fs/cgroup/b"));
            check("0::/elsewhere\n", bound, None);
            check("4:memory:/x\n", unified, None);
            check("0::/\n", "1 2 0:20 / /sys rw - sysfs sysfs rw\n", None);
        }
    }
}

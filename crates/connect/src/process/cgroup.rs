//! A control group of the kernel for one program, if we may create one (C-57).
//!
//! A process cannot leave its group by forking, and the kernel ends a whole group at once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use super::sweep::{BETWEEN_LOOKS, PATIENCE};

const PREFIX: &str = "saihai-";

/// A group that is ended and removed on drop.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
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

impl Drop for Cgroup {
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

#[cfg(test)]
mod tests {
    use super::*;

    // C-57
    #[test]
    fn our_own_group_is_found_wherever_groups_are_mounted() {
        let check = |memberships: &str, mounts: &str, expected: Option<&str>| {
            assert_eq!(locate(memberships, mounts), expected.map(PathBuf::from));
        };
        let unified = "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        check("0::/user.slice/a.scope\n", unified, Some("/sys/fs/cgroup/user.slice/a.scope"));
        let hybrid =
            "1 2 0:20 / /sys rw - sysfs sysfs rw\n3 2 0:24 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
        check("4:memory:/x\n0::/\n", hybrid, Some("/sys/fs/cgroup/unified/"));
        let bound = "25 30 0:23 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        check("0::/docker/1/b\n", bound, Some("/sys/fs/cgroup/b"));
        check("0::/elsewhere\n", bound, None);
        check("4:memory:/x\n", unified, None);
        check("0::/\n", "1 2 0:20 / /sys rw - sysfs sysfs rw\n", None);
    }
}

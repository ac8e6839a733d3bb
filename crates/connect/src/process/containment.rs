//! By what everything that an agent starts is found and ended.

use super::cgroup::Cgroup;

/// How sure it is that nothing of an agent outlives its turn on this machine (C-57).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// The kernel keeps all of it together and ends it at once.
    ControlGroup,
    /// Its descendants, its session and whatever carries its mark are looked for until none is left.
    Search,
    /// Only its process group is ended.
    ProcessGroup,
}

impl Containment {
    /// What this machine allows us.
    pub fn here() -> Self {
        if !cfg!(target_os = "linux") {
            return Self::ProcessGroup;
        }
        if Cgroup::create().is_some() { Self::ControlGroup } else { Self::Search }
    }
}

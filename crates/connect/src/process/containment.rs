//! The method that finds and ends all processes of an agent.

use super::cgroup::Cgroup;

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
        if Cgroup::create().is_some() { Self::ControlGroup } else { Self::Search }
    }
}

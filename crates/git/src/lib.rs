//! The one git of Saihai.
//!
//! An agent can write any file of a project, `.git/config` and `.gitattributes` included. So no call of this crate runs code
//! that a repository names: hooks, filters, pagers, credential helpers, file system monitors and external diffs are off.
//! [`git`] reads; [`repository`] makes worktrees, commits, pushes, merges and rescues. Work of agents is never lost: nothing
//! is removed before a ref reaches its content, and no push is forced.
//!
//! Everything takes plain data, returns plain outcomes, and blocks. Agents are not contained here: an agent with the user's
//! rights can do what the user can do.

pub mod git;
pub mod program_path;
pub mod repository;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use git::{Environment, Error as GitError, Git, Tracked, abandoned_checkouts, end_all as end_all_git};

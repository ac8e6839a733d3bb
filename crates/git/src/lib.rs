//! The one git of Saihai.
//!
//! An agent can write any file of a project, `.git/config` and `.gitattributes` included. So no call of this crate runs code
//! that a repository names: hooks, filters, pagers, credential helpers, file system monitors and external diffs are off.
//! [`Git`] reads; [`Repository`] makes worktrees, commits, pushes, merges and rescues. Work of agents is never lost: nothing
//! is removed before a ref reaches its content, and no push is forced.
//!
//! Everything takes plain data, returns plain outcomes, and blocks. Agents are not contained here: an agent with the user's
//! rights can do what the user can do.

mod branches;
mod commit_work;
mod diff;
mod error;
mod frozen_settings;
mod git_program;
mod git_reader;
mod locks;
mod merge;
mod mirror;
mod private_git;
pub mod program_path;
pub mod repository;
mod rescue;
mod server;
mod snapshot;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod tree_watch;
mod work_item;
mod worktree;

pub use branches::RefSnapshot;
pub use commit_work::{CommitWorkOutcome, CommitWorkRequest, CommittedWork, UndeliverableWork};
pub use diff::{ChangedFile, ChangedLineCounts, FileDiff, TrackedFileWatch};
pub use error::{RepositoryError, RepositoryErrorDuration};
pub use frozen_settings::{FrozenGitSettings, address};
pub use git_program::{
    GitEnvironment, GitError, GitRefusalKind, GitTerminalAccess, RefusedFileForm, end_all as end_all_git,
    output as git_output, run as run_git,
};
pub use git_reader::{
    BranchName, CommitEntryKind, CommittedFile, Git, TreeDepth, abandoned_checkouts, is_own,
};
pub use locks::{ItemLock, ItemLockAttempt};
pub use merge::{GitMergeOutcome, GitMergeRequest, LandedMerges, MergeTarget, MergeVerifier};
pub use mirror::{
    FencedPush, Mirror, MirrorError, MirrorTree, WorkRevision, publish, unpublish, work_reference,
};
pub use repository::{Repository, common_directory, hide};
pub use rescue::{
    BranchRemoval, CleanUpOutcome, CleanUpRequest, KeptWorktreeReason, MakeRoomOutcome, RescueCondition,
    RescueOutcome,
};
pub use server::{GitAccessToken, GitPushOutcome, GitPushRequest, ServerBranchRequest, ServerUpdateRequest};
pub use snapshot::named;
pub use tree_watch::TreeWatch;
pub use work_item::{BaseCommit, CheckedOutIssue, WorkItem, WorkItemSource};
pub use worktree::{
    BranchOwnership, PlaceItemOutcome, PlaceItemRefusal, PlaceItemRequest, Worktree, WorktreeContent,
};

//! The forge: GitHub, or a server with the same API.
//!
//! Each operation of [`Github`] is one read or one change. Reads are repeated after transient errors. Changes
//! are sent once, and the caller checks the result with another operation. The caller, who owns the run, also
//! waits for rate limits. The forge `local` means no forge and has no code here.

mod access;
mod client;
mod issues;
mod project_board;
mod pull_requests;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transport;
pub(crate) mod viewer;

#[cfg(test)]
mod tests;

pub use access::{ForgeAccess, ForgeAddress, ForgeAddressError, ForgeToken, ForgeTokenError, find_token};
pub use client::{Github, RepositoryDetails};
pub use issues::{BlockedBy, ForgeComment, NewIssue};
pub use project_board::{ProjectItems, ProjectName, SkippedItem};
pub use pull_requests::{
    ChecksVerdict, CommitChecks, NewPullRequest, PullRequest, PullRequestStanding, PullRequestState,
    is_marked, marker, rewrite, standing,
};
pub use transport::ForgeError;
pub use viewer::ForgeRepository;
// The old name, until every user has the new one.
pub(crate) use viewer::ForgeViewer;

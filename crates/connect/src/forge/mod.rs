//! The forge: GitHub, or a server with the same API.
//!
//! Each operation of [`Github`] is one read or one change. A read is repeated while the trouble may pass; a change is sent once, and the caller
//! looks up by another operation whether it happened. Waiting for a rate limit is left to the caller as well, who owns the run. The forge
//! `local` is the absence of one and has no code here.

mod access;
mod client;
mod error;
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
pub use error::ForgeError;
pub use issues::{BlockedBy, ForgeComment, NewIssue};
pub use project_board::{ProjectItems, ProjectName, SkippedItem};
pub use pull_requests::{
    ChecksVerdict, CommitChecks, NewPullRequest, PullRequest, PullRequestStanding, PullRequestState,
    is_marked, marker, rewrite, standing,
};
pub use viewer::ForgePlace;
pub(crate) use viewer::ForgeViewer;

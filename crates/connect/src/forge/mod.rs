//! The forge: where issues are kept and results go.
//!
//! [`Github`] is a repository on GitHub, or on a server that speaks as it does. Each of its operations is one look or one
//! effect; what an effect needs in order not to happen twice is to be looked up first, by an operation of its own. The
//! forge `local` has nothing here: it is the absence of a forge.
//!
//! Requests are made and understood by `octocrab`; they go through [`wire`], so that no answer is larger than we can hold, no
//! connection waits for ever, and a token is sent to one host only.
//!
//! Deliberately absent: repeating an effect, and waiting for a rate limit. Both are decisions of whoever owns the run.

mod address;
mod checks;
mod comments;
mod error;
mod github;
mod issues;
mod labels;
mod marked;
mod pages;
mod project;
mod pull_requests;
mod remembered;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod token;
pub(crate) mod viewed;
mod wire;

#[cfg(test)]
mod tests;

pub use address::{Address, BadAddress};
pub use checks::{Checks, ChecksVerdict};
pub use comments::Comment;
pub use error::ForgeError;
pub use github::{About, Access, Github};
pub use issues::{BlockedBy, NewIssue};
pub use marked::{is_marked, marker, rewrite};
pub use project::{ProjectItems, ProjectName, SkippedItem};
pub use pull_requests::{NewPullRequest, PullRequest, PullRequestStanding, PullRequestState, standing};
pub use token::{NoToken, Token, find_token};
pub use viewed::ForgePlace;
pub(crate) use viewed::Viewer;

//! A forge on the loopback, for tests: it keeps issues, labels, comments, pull requests and checks, answers as GitHub does, remembers
//! every request, and goes wrong where a test says so.
//!
//! It runs on threads of its own, so that tests of the client and tests of the whole program can speak to it alike.

mod answer;
mod http;
mod routes;
mod server;
mod state;
mod wrong;

pub use http::Request;
pub use server::ForgeServer;
pub use state::{Board, BoardItem, ForgeState, KeptComment, KeptIssue, KeptPullRequest};
pub use wrong::Wrong;

//! A forge on the loopback interface, for tests.
//!
//! It stores issues, labels, comments, pull requests and checks, and answers like GitHub. It records every
//! request, and fails where a test says so. It runs on its own threads, so tests of the client and of the
//! whole program can use it.

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

//! Support code of the end-to-end suites: temporary projects, the program under test, an
//! independent journal reader and the tidy rules.
//!
//! The suites use Saihai as a person or a script would: arguments in; exit code, output and files
//! out. `Journal` parses the file format without product code, so that it can reveal errors of the
//! product.

mod api_server;
mod collector;
mod example;
mod fake_agent;
mod fault;
mod full_screen;
mod invocation;
mod journal;
#[cfg(test)]
mod json_schema_differential;
mod live;
mod manual;
mod mcp_client;
mod page_client;
mod project;
mod published;
mod real_agent;
mod story;
mod terminal;
mod terminal_picture;
pub mod tidy;
mod workload;

pub use api_server::{Answer, ApiServer, Refusal, Request, Wire};
pub use collector::{Collector, CollectorReply};
pub use example::Example;
pub use fake_agent::{FakeAgent, FakeCall};
pub use fault::{At, Fault, Moment};
pub use full_screen::FullScreen;
pub use invocation::{Invocation, Outcome};
pub use journal::{Journal, Line};
pub use live::Live;
pub use manual::{Page, updated};
pub use mcp_client::McpClient;
pub use page_client::{PageAnswer, PageClient, PageEvents};
pub use project::{Project, Snapshot};
pub use published::{wrong_line, wrong_output, wrong_report};
pub use real_agent::{RealAgent, Surroundings};
pub use story::story;
pub use terminal::{StyledCharacter, Terminal, screen, styled_screen};
pub use terminal_picture::picture;
pub use workload::{End, Workload, in_parallel};

//! What answers a prompt: the only layer that crosses the boundary to agents.
//!
//! An ask has two steps. [`Providers::ask`] is synchronous and belongs to whoever owns the run: a provider that
//! must decide in the order of the asks (the `script` provider takes its reply here) does so at once. What comes
//! back is an [`Asking`], which any task may carry out with [`Asking::answer`], however long that takes. So
//! parallel turns get the same replies in every run, whatever finishes first, and no state is shared.
//!
//! ```text
//! let mut providers = Providers::open(&workflow, connections)?;   // every provider is there, before any turn
//! let asking = providers.ask(ask);                                // in the order of the asks
//! tokio::spawn(async move { asking.answer(&progress, stop).await })
//! providers.ended(&call, None);                                   // a reply or failure stands in the journal
//! ```
//!
//! What is deliberately absent: retries, waiting, sessions kept between asks and any memory of a run beyond the
//! script's place in its file. A provider classifies a failure; what follows is the engine's decision.

mod acp;
mod agent;
mod agents;
mod asking;
mod attempt;
mod clock;
mod command_line;
mod doctor;
mod environment;
pub mod forge;
mod http;
mod lenient;
mod metering;
mod process;
mod providers;
mod redact;
mod script;
mod structured;
#[cfg(test)]
mod testing;
mod told_cost;
mod tool_log;
mod tree;

pub use agent::Login;
pub use agents::{code_of_project, known_tools};
pub use asking::Asking;
pub use clock::{Clock, NoTime, RealTime, Sleep};
pub use command_line::{CommandEnd, CommandLine, CommandOutput, Surroundings};
pub use doctor::{Examined, examine, program, remote};
pub use http::Unreachable;
pub use process::{Containment, NotFound, Turn, absolute_places, find, launcher, sweep};
pub use providers::{Connections, Providers, Unavailable};
pub use redact::{Redaction, Redactor, SHORTEST_SECRET};
pub use script::{Accounts, Asked, BadScript, Left, Missing, Player, Taken};

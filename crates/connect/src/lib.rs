//! Providers: the only layer that talks to agents.
//!
//! An ask has two steps. [`Providers::ask`] is synchronous and belongs to the owner of the run. A provider
//! that depends on the order of the asks decides here: the `script` provider takes its reply in this step.
//! The result is an [`Asking`], which any task may run with [`Asking::answer`] for as long as it takes. So
//! parallel turns get the same replies in every run, whichever finishes first, and share no state.
//!
//! ```text
//! let mut providers = Providers::open(&workflow, connections)?;   // checks every provider before any turn
//! let asking = providers.ask(ask);                                // in the order of the asks
//! tokio::spawn(async move { asking.answer(&progress, stop).await })
//! providers.ended(&call, None);                                   // the journal has a reply or a failure
//! ```
//!
//! Deliberately absent: retries, waiting, and any memory of a run except the position in a script. Sessions
//! are not kept between asks either. A provider classifies a failure, and the engine decides what follows.

mod agent;
mod agents;
mod api_error;
mod attempt;
mod clock;
mod doctor;
pub mod forge;
mod http;
mod process;
mod program_turn;
mod providers;
mod redact;
mod sandbox;
mod script;
mod structured;
#[cfg(test)]
mod testing;
mod tree;
mod verdict;

pub use agent::Login;
pub use agents::{code_of_project, known_tools};
pub use clock::{Clock, NoTime, RealTime, Sleep};
pub use doctor::{ProviderReport, examine, program, remote};
pub use http::{CollectorClient, CollectorError, CollectorReceipt, Unreachable};
pub use process::{CommandEnd, CommandLine, CommandOutput, CommandSurroundings};
pub use process::{Containment, CurrentTurn, find, launcher, sweep};
pub use providers::{Asking, Connections, Providers, Unavailable};
pub use redact::{Redaction, Redactor, SHORTEST_SECRET};
pub use sandbox::{LandlockSupport, SandboxProblem, SandboxReport};
pub use script::{
    BadScript, MissingReply, ScriptAccounts, ScriptAsk, ScriptChoice, ScriptPlayer, UnscriptedProgram,
    UnusedReply,
};
pub use verdict::relay;

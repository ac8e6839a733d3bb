//! `saihai mcp`: agents check definitions, start runs, watch them and read their results (N-20).
//!
//! [`tools`] lists the tools and performs them. A tool takes the path of its command: it runs the command in this
//! process and returns the JSON that the command prints, or it uses the code behind it. [`arguments`] reads the
//! arguments of a call and writes their schema, [`paging`] cuts long texts, [`run_start`] starts runs and
//! [`run_status`] tells how they are.
//! [`elicitation`] turns gates into questions of the client. [`server`] speaks the protocol, and [`install`] writes the configuration entry of
//! agent programs.
//!
//! The server holds no state: a run has a process of its own, and a new server finds it by its id. Answers to gates
//! belong to people, so no tool gives them unless the setting `mcp.gates` allows it.

mod arguments;
mod elicitation;
mod install;
mod paging;
mod run_start;
mod run_status;
mod server;
mod tools;

pub(crate) use install::{AgentProgram, ConfigurationEntry, EntryChange};
pub(crate) use server::serve;

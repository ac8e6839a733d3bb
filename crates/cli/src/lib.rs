//! The `saihai` command: arguments in, words and exit codes out.
//!
//! Each command is one file under `commands`: it reads its arguments, asks `config` and the runner, and shows what
//! came back. Nothing is decided here. What a run does is decided by the engine; what a person sees of it is folded
//! from the same records (`report`) whether the run is live, resumed or long finished.
//!
//! stdout is data and stderr is everything else (`terminal::Streams` owns both). Text that others wrote, be it an
//! agent's reply or a file's name, passes through `terminal::visible` before a person sees it, so that no control
//! character of theirs reaches a terminal.
//!
//! Deliberately absent: a runtime for commands that need none (`--version` starts nothing), global state, and
//! `println!`, which would panic on a closed pipe.

mod commands;
mod definition_flags;
mod diagnostics;
mod driving;
mod error;
mod forge_place;
mod graph;
mod issue;
mod json;
mod new_files;
mod ours;
mod outside;
mod own_programs;
mod person;
mod prepared;
mod program;
mod project;
mod report;
mod repository;
mod script;
mod task;
mod terminal;
mod time;
mod usage;
mod values;

pub use program::main;

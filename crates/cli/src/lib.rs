//! The `saihai` command line program.
//!
//! It is the layer between a person and the runner: it parses arguments, prints text and JSON, and returns exit
//! codes. It makes no decisions about runs; those belong to the engine.
//!
//! Each command is one file under `commands`. It reads its arguments, calls `config` and the runner, and prints the
//! result. `report` derives all output about a run from its records. So a live, resumed or finished run reads the
//! same.
//!
//! stdout is for data and stderr for everything else; `terminal::Streams` owns both. External text, such as a reply
//! or a file name, passes through `terminal::visible` before a person sees it. So none of its control characters
//! reach a terminal.
//!
//! Deliberately absent: a runtime for commands that need none (`--version` starts nothing), global state, and
//! `println!`, which panics on a closed pipe.

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

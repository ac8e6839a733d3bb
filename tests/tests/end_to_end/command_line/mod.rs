//! The command line for people and programs: help, exit codes, JSON, terminals and bad input.

mod authoring;
mod completion;
mod demo;
mod doctor;
mod exit_codes;
mod help;
mod input;
mod json;
mod rehearsal;
mod run_commands;
mod screens;
mod settings;
mod support;
mod terminal;

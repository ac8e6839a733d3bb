//! The command line as people and programs meet it: help, exit codes, JSON, terminals, bad input.

mod demo;
mod doctor;
mod exit_codes;
mod help;
mod input;
mod json;
mod rehearsal;
mod settings;
mod support;
mod terminal;

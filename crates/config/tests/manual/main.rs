//! Checks the manual against the readers: every example loads, and every wrong example gives its diagnostic.

mod built_in;
mod codes;
mod hats;
mod issues;
mod keys;
mod page;
mod pieces;
mod reviews;
mod sarif;
mod schemas;
mod scripts;
mod settings;
mod sources;
mod steps;

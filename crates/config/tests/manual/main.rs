//! The manual, tried out: every example loads, and every diagnostic's page is right about what is wrong and what is
//! right.

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

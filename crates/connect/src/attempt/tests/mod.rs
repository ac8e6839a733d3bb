//! Attempts on small shell programs.

mod stage;
mod talking;

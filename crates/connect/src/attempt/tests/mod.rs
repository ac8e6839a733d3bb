//! Attempts on small shell programs.

mod ending;
mod output;
mod stage;
mod talking;

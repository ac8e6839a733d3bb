//! Attempts on small shell programs.

mod ending;
mod output;
mod preparation;
mod stage;
mod talking;

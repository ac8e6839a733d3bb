mod performance;
mod player;
mod process;
mod say;
mod tree;

//! Saihai on a small local model.
//!
//! No test depends on the model's words. The tests cover streamed text, tokens, sessions, and a server that
//! stops when its client leaves (C-81).

mod asking;
mod model;
mod running;

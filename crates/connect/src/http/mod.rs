//! The providers that are reached by HTTP: `anthropic`, and `openai` with all that speak like it.
//!
//! [`Service`] is one of them, opened before the first turn. A [`Turn`] converses: it sends the conversation
//! ([`exchange`]), runs the tools the model asks for ([`tools`]) and sends on, until the model has answered. What
//! differs between the two interfaces is pure and stands in [`anthropic`] and [`openai`].
//!
//! Deliberately absent: retries, waiting and falling back, which are the engine's; tools that write or run anything.

mod anthropic;
mod api;
pub(crate) mod client;
mod events;
mod exchange;
mod form;
mod kept;
mod openai;
mod retry_after;
mod service;
mod session;
mod shown;
mod spoken;
mod tools;
mod trouble;
mod turn;

#[cfg(test)]
mod tests;

pub use service::Unreachable;

pub(crate) use service::Service;
pub(crate) use spoken::sum;
pub(crate) use tools::Web;
pub(crate) use turn::Turn;

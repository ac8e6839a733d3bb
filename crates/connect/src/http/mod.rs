//! Providers that use HTTP: `anthropic`, and `openai` with all compatible servers.
//!
//! A [`Service`] is one provider, opened before the first turn. A [`Turn`] sends the conversation
//! ([`exchange`]) and runs the tools that the model requests ([`tools`]). It repeats this until the model has
//! answered. The differences between the two APIs are pure code in [`anthropic`] and [`openai`].
//!
//! Deliberately absent: retries, waiting and fallbacks, which belong to the engine, and tools that write or
//! run anything.

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

//! What another process tells a run: through its living owner, or in its place.

use saihai_model::{CallId, Wants};

use crate::{Clock, Error, RunDirectory};

/// An answer as a person gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Yes, with or without a text.
    Yes(Option<String>),
    /// No, with or without a text.
    No(Option<String>),
    /// A text.
    Text(String),
}

/// Who recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The living owner, which goes on by itself.
    Owner,
    /// This process: the run goes on when it is resumed.
    Journal,
}

/// The open gate of a run: its call, what it asks and what answer it takes.
///
/// # Errors
/// No gate is open, or the run is damaged.
pub fn open_gate(_directory: &RunDirectory) -> Result<(CallId, String, Wants), Error> {
    Err(Error::NotBuilt("looking at a gate"))
}

/// Answers the open gate.
///
/// # Errors
/// No gate is open, it takes another answer, or the run is damaged.
#[expect(clippy::unused_async, reason = "it will wait for the owner")]
pub async fn answer(
    _directory: &RunDirectory,
    _given: Given,
    _clock: Clock,
) -> Result<(CallId, Reached), Error> {
    Err(Error::NotBuilt("answering"))
}

/// Cancels the run for good.
///
/// # Errors
/// The run is over already, or is damaged.
#[expect(clippy::unused_async, reason = "it will wait for the owner")]
pub async fn cancel(_directory: &RunDirectory, _by: &str, _clock: Clock) -> Result<Reached, Error> {
    Err(Error::NotBuilt("cancelling"))
}

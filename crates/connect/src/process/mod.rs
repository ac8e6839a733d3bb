//! Programs that we start: finding, starting, signalling and ending them with all their descendants.
//!
//! A [`Family`] is one program with all its descendants. If [`crate::Connections::launcher`] names our own
//! program, it starts through [`launcher`], so that nothing outlives us. [`run`] runs a program without a
//! conversation.

mod cgroup;
mod containment;
mod family;
mod grace;
pub mod launcher;
mod mark;
mod pipes;
#[cfg(target_os = "linux")]
mod received;
mod run;
#[cfg(target_os = "linux")]
mod supervisor;
mod sweep;
mod wait;

pub use containment::Containment;
pub(crate) use family::{Family, Start, Streams, is_exhausted};
pub(crate) use grace::{Grace, Plea};
pub(crate) use mark::Mark;
pub use mark::Turn;
pub(crate) use pipes::{Pipes, read};
pub(crate) use run::{Ended, Error, Heard, Program, exchange, run};
pub use saihai_git::program_path::{NotFound, absolute_places, find};
pub use sweep::sweep;
pub(crate) use wait::Status;

#[cfg(test)]
mod tests;

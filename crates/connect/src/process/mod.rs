//! Programs we start: how they are found, started, signalled and ended with everything that came of them.
//!
//! [`Family`] is one of them with all its descendants. Where [`crate::Connections::launcher`] names our own program,
//! it is started through [`launcher`], so that nothing of it outlives us. [`run`] runs one without a
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

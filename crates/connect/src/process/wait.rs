//! Waits for a child without reaping it.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The process exited with this code.
    Code(i32),
    Signal(i32),
}

/// Waits for a child to end and leaves it a zombie, so that its process id stays valid for signals. It needs
/// a thread, because safe code cannot watch a process handle.
pub(crate) async fn ended(child: Pid) -> io::Result<Status> {
    tokio::task::spawn_blocking(move || look(child)).await?
}

/// Returns true if a child has ended, and leaves it a zombie.
pub(crate) fn has_ended(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(rustix::process::waitid(WaitId::Pid(child), options), Ok(None))
}

fn look(child: Pid) -> io::Result<Status> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        let status = match rustix::process::waitid(WaitId::Pid(child), options) {
            Ok(status) => status,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let Some(status) = status else { continue };
        if let Some(code) = status.exit_status() {
            return Ok(Status::Code(code));
        }
        return Ok(Status::Signal(status.terminating_signal().unwrap_or_default()));
    }
}

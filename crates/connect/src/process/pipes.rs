//! The three pipes to a program.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

use tokio::net::unix::pipe::{Receiver, Sender};

pub(crate) struct Pipes {
    pub(crate) input: Sender,
    pub(crate) output: Receiver,
    pub(crate) complaints: Receiver,
}

impl Pipes {
    pub(crate) fn take(child: &mut Child) -> io::Result<Self> {
        let missing = || io::Error::other("a pipe to it is missing");
        let input: OwnedFd = child.stdin.take().ok_or_else(missing)?.into();
        let output: OwnedFd = child.stdout.take().ok_or_else(missing)?.into();
        let complaints: OwnedFd = child.stderr.take().ok_or_else(missing)?.into();
        Ok(Self {
            input: Sender::from_owned_fd(input)?,
            output: Receiver::from_owned_fd(output)?,
            complaints: Receiver::from_owned_fd(complaints)?,
        })
    }
}

/// Reads available bytes, or waits for some; returns 0 at the end. Dropping the future loses nothing.
pub(crate) async fn read(from: &Receiver, into: &mut [u8]) -> io::Result<usize> {
    loop {
        from.readable().await?;
        match from.try_read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

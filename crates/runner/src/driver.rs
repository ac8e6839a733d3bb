//! The loop.

use saihai_connect::{Accounts, Connections};
use saihai_model::{Ending, Hold, Raise, exit_code};

use crate::{Beginning, Clock, Control, Error, Observed, RunDirectory, Runs};

/// A run and the one process that owns it.
#[derive(Debug)]
pub struct Driver {
    directory: RunDirectory,
    control: Control,
}

/// How a run is driven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Going {
    /// The driver stays at an open gate until it is answered, instead of parking.
    pub stay_at_gates: bool,
    /// Every gate that takes yes or no is answered with yes, and recorded as such.
    pub auto: bool,
}

/// How driving came to an end.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// The run.
    pub run: String,
    /// How it ended, if it did.
    pub ending: Option<Ending>,
    /// Why it waits, if it does.
    pub hold: Option<Hold>,
    /// What a script still holds and what it lacked.
    pub accounts: Accounts,
}

impl Finish {
    /// The exit code of the run.
    pub fn exit_code(&self) -> u8 {
        exit_code(self.ending.as_ref(), self.hold.as_ref())
    }
}

impl Driver {
    /// Makes the run's directory and owns it. Nothing is asked before [`Self::drive`].
    ///
    /// # Errors
    /// A provider cannot be asked, or the directory cannot be made; then there is no run.
    pub fn start(
        _runs: &Runs,
        _beginning: Beginning,
        _connections: Connections,
        _clock: Clock,
    ) -> Result<Self, Error> {
        Err(Error::NotBuilt("starting a run"))
    }

    /// Owns a run that is there and reads it. Nothing is written and nothing asked before [`Self::drive`]; a run
    /// that is over, or that this resumption does not free, is only reported by it (K-22). The script, if there is
    /// one, is the frozen one.
    ///
    /// # Errors
    /// The run is owned by another process, is damaged, or cannot go on with this version.
    pub fn resume(
        _directory: RunDirectory,
        _raise: Raise,
        _connections: Connections,
        _clock: Clock,
    ) -> Result<Self, Error> {
        Err(Error::NotBuilt("resuming a run"))
    }

    /// Where the run is.
    pub fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// A handle through which the driver is told things while it drives.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Drives the run until it ends or is parked.
    ///
    /// # Errors
    /// The lock was lost, or something the run needs turned out to be damaged. That the disk is full is no error:
    /// the run is parked for it.
    #[expect(clippy::unused_async, reason = "it will wait for agents")]
    pub async fn drive(
        self,
        _going: Going,
        _observer: &mut dyn FnMut(Observed<'_>),
    ) -> Result<Finish, Error> {
        Err(Error::NotBuilt("driving a run"))
    }
}

//! How the process that drives a run is told something.

use saihai_model::{Answer, AnsweredBy, CallId, Label};
use tokio::sync::mpsc;

/// Something the driver is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Stop soon: agents are ended, the run is parked. Told twice, the driver returns at once.
    Interrupt {
        /// By what: `ctrl-c`, `sigterm`, …
        by: String,
    },
    Answer(Answer),
    /// The run is cancelled for good.
    Cancel {
        by: String,
    },
    /// A wait that is over may end now.
    GoOn,
}

/// A handle to a driver, cheap to clone. Telling a driver that is gone does nothing.
#[derive(Debug, Clone)]
pub struct Control {
    commands: mpsc::UnboundedSender<Command>,
}

impl Control {
    /// A handle and what its driver listens to.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, heard) = mpsc::unbounded_channel();
        (Self { commands }, heard)
    }

    /// Asks the driver to stop; the second time it returns at once.
    pub fn interrupt(&self, by: &str) {
        self.tell(Command::Interrupt { by: by.to_owned() });
    }

    /// Answers a gate: `yes`, `no` or `answered`.
    pub fn answer(&self, call: CallId, label: Label, text: Option<String>) {
        self.tell(Command::Answer(Answer { call, by: AnsweredBy::Person, label, text }));
    }

    pub fn cancel(&self, by: &str) {
        self.tell(Command::Cancel { by: by.to_owned() });
    }

    /// Lets a driver that goes on only when it is told to (`Going::when_told`) end a wait that is over.
    pub fn go_on(&self) {
        self.tell(Command::GoOn);
    }

    fn tell(&self, command: Command) {
        // The driver may have returned meanwhile; then there is nobody left to be told.
        drop(self.commands.send(command));
    }
}

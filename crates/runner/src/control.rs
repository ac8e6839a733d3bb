//! Commands to the process that drives a run.

use saihai_model::{Answer, AnsweredBy, CallId, Label};
use tokio::sync::mpsc;

/// A command to the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Ends the agents and parks the run. The second one makes the driver return immediately.
    Interrupt {
        /// The source: `ctrl-c`, `sigterm`, …
        by: String,
    },
    Answer(Answer),
    /// Cancels the run for good.
    Cancel {
        by: String,
    },
    /// Lets an elapsed wait end now.
    GoOn,
}

/// A handle to a driver, cheap to clone. Commands to a driver that has returned do nothing.
#[derive(Debug, Clone)]
pub struct Control {
    commands: mpsc::UnboundedSender<Command>,
}

impl Control {
    /// Creates a handle and the receiver for its driver.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (commands, heard) = mpsc::unbounded_channel();
        (Self { commands }, heard)
    }

    /// Asks the driver to stop. The second call makes it return immediately.
    pub fn interrupt(&self, by: &str) {
        self.tell(Command::Interrupt { by: by.to_owned() });
    }

    /// Answers a gate with `yes`, `no` or `answered`.
    pub fn answer(&self, call: CallId, label: Label, text: Option<String>) {
        self.tell(Command::Answer(Answer { call, by: AnsweredBy::Person, label, text }));
    }

    pub fn cancel(&self, by: &str) {
        self.tell(Command::Cancel { by: by.to_owned() });
    }

    /// Ends an elapsed wait of a driver that runs with `Going::when_told`.
    pub fn go_on(&self) {
        self.tell(Command::GoOn);
    }

    fn tell(&self, command: Command) {
        // The driver may have returned in the meantime.
        drop(self.commands.send(command));
    }
}

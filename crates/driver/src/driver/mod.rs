//! A driver: the owner of one run on this machine.

mod actions;
mod call_services;
mod command_action;
mod local_context;
mod replies;
mod running_calls;
mod start;
mod tree_facts;

use std::sync::Arc;
use std::time::Duration;

use saihai_connect::ScriptAccounts;
use saihai_model::{
    Answer, AnsweredBy, CallId, Ending, Fact, FileChangeCounts, Hold, Label, Moment, PersonNote, RecordEntry,
    Start, exit_code,
};
use saihai_view::RunView;
use tokio::sync::mpsc;

use crate::live::Live;
use crate::remote_control::Inbox;
use crate::run_session::{RunSession, SessionFailure};
use crate::secrets::ProgressRedactor;
use crate::{DriverError, DriverEvent, DriverWarning, RunDirectory, durable};
pub(crate) use call_services::{ActionStart, CallServices, StartedAsk};
use local_context::{GRACE_INTERRUPTED, LocalContext};
use running_calls::RunningCalls;
use start::FirstFact;
use tree_facts::TreeFacts;

pub(crate) use actions::performed;
pub use actions::{ActionExecutor, ActionFuture, ActionRequest};
pub(crate) use replies::{SessionMeters, read_tools, session_meter};
pub(crate) use running_calls::TaskResult;
pub use start::{RunSpec, WorkDirectory, Workplace};
pub(crate) use start::{freeze, replay_history};

/// A command to the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DriverCommand {
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
    /// A person's note to the agents.
    Tell(PersonNote),
    /// Takes a note back, by its number.
    Withdraw(u32),
    /// Lets an elapsed wait end now.
    GoOn,
}

/// A handle to a driver, cheap to clone. Commands to a driver that has returned do nothing.
#[derive(Debug, Clone)]
pub struct DriverControl {
    commands: mpsc::UnboundedSender<DriverCommand>,
}

impl DriverControl {
    /// Creates a handle and the receiver for its driver.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<DriverCommand>) {
        let (commands, heard) = mpsc::unbounded_channel();
        (Self { commands }, heard)
    }

    /// Asks the driver to stop. The second call makes it return immediately.
    pub fn interrupt(&self, by: &str) {
        self.send(DriverCommand::Interrupt { by: by.to_owned() });
    }

    /// Answers a gate with `yes`, `no` or `answered`.
    pub fn answer(&self, call: CallId, label: Label, text: Option<String>) {
        self.send(DriverCommand::Answer(Answer { call, by: AnsweredBy::Person, label, text }));
    }

    pub fn cancel(&self, by: &str) {
        self.send(DriverCommand::Cancel { by: by.to_owned() });
    }

    /// Gives the agents a note of a person.
    pub fn tell(&self, note: PersonNote) {
        self.send(DriverCommand::Tell(note));
    }

    /// Ends an elapsed wait of a driver that runs with `DriveOptions::when_told`.
    pub fn go_on(&self) {
        self.send(DriverCommand::GoOn);
    }

    fn send(&self, command: DriverCommand) {
        // The driver may have returned in the meantime.
        drop(self.commands.send(command));
    }
}

/// A run and the one process that owns it.
pub struct Driver {
    session: RunSession,
    services: CallServices,
    first: FirstFact,
    calls: RunningCalls,
    live: Live,
    shown: ProgressRedactor,
    control: DriverControl,
    commands: mpsc::UnboundedReceiver<DriverCommand>,
    inbox: Inbox,
    wake: Option<Moment>,
    /// True once the current wait may end.
    is_released: bool,
    interrupts: u32,
    warnings: Vec<DriverWarning>,
    count_files: Option<FileCounter>,
    trees: TreeFacts,
    /// True once this driver has recorded a fact.
    has_settled: bool,
}

/// Compares the files of a run with those at its start. Returns `None` if they cannot be compared.
pub type FileCounter = Box<dyn FnOnce(&RunView) -> Option<FileChangeCounts> + Send>;

/// Options for driving a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DriveOptions {
    /// Stay at an open gate until it is answered, instead of parking.
    pub stay_at_gates: bool,
    /// Answer every yes/no gate with yes, and record the answer as automatic.
    pub auto: bool,
    /// End an idle wait only on [`DriverControl::go_on`], because another run may work in the meantime.
    pub when_told: bool,
}

/// The state in which driving stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveOutcome {
    pub run: String,
    /// The ending, if the run ended.
    pub ending: Option<Ending>,
    /// The reason for waiting, if the run waits.
    pub hold: Option<Hold>,
    /// The failed write, if the run waits because of the disk.
    pub storage: Option<String>,
    /// Unused and missing replies of the script.
    pub accounts: ScriptAccounts,
}

impl DriveOutcome {
    pub fn exit_code(&self) -> u8 {
        exit_code(self.ending.as_ref(), self.hold.as_ref())
    }
}

impl Driver {
    pub fn directory(&self) -> &RunDirectory {
        self.session.held().directory()
    }

    /// Returns a handle for commands to the driver while it drives.
    pub fn control(&self) -> DriverControl {
        self.control.clone()
    }

    /// Sets the implementation for actions beyond the run and its files.
    #[must_use]
    pub fn reaching(mut self, executor: Arc<dyn ActionExecutor>) -> Self {
        self.services.executor = Some(executor);
        self
    }

    /// Sets the function that counts the changed files when driving stops. The journal keeps the result.
    #[must_use]
    pub fn counting_files(self, count: FileCounter) -> Self {
        Self { count_files: Some(count), ..self }
    }

    /// Returns the start of the run, also before it is recorded.
    pub fn start_of_run(&self) -> &Start {
        self.session.held().start()
    }

    /// Drives the run until it ends or parks.
    pub async fn drive(
        mut self,
        options: DriveOptions,
        observer: &mut dyn FnMut(DriverEvent<'_>),
    ) -> Result<DriveOutcome, DriverError> {
        for warning in std::mem::take(&mut self.warnings) {
            observer(DriverEvent::Warning(&warning));
        }
        let driven = match self.first_facts(options) {
            Some(facts) => durable::drive(&mut LocalContext::new(&mut self, options, observer), facts).await,
            None => Ok(()),
        };
        let grace = if self.interrupts > 1 { Duration::ZERO } else { GRACE_INTERRUPTED };
        self.services.hurry();
        self.calls.shut_down(grace).await;
        if self.interrupts <= 1 {
            self.services.providers.close().await;
        }
        if driven.is_ok() && self.interrupts <= 1 {
            self.count_files(observer);
        }
        match driven {
            Ok(()) => Ok(self.finish()),
            Err(SessionFailure::Error(error)) => Err(error),
            Err(SessionFailure::Storage(failed)) => {
                let hold = Some(Hold::Storage(failed.path.display().to_string()));
                Ok(DriveOutcome { ending: None, hold, storage: Some(failed.to_string()), ..self.finish() })
            }
        }
    }

    /// Records how many files differ from the start, if driving recorded anything. The run has stopped already, so a
    /// failure costs only this figure.
    fn count_files(&mut self, observer: &mut dyn FnMut(DriverEvent<'_>)) {
        let Some(count) = self.count_files.take().filter(|_| self.has_settled) else { return };
        let Some(counts) = self.session.held().view().and_then(count) else { return };
        let now = self.session.held().clock().now();
        let entry = RecordEntry::Fact(Fact::FilesCounted(counts));
        if let Ok(records) = self.session.append(vec![(now, entry)]) {
            records.iter().for_each(|record| observer(DriverEvent::Recorded(record)));
        }
    }

    fn finish(&self) -> DriveOutcome {
        let run = self.session.held().run();
        DriveOutcome {
            run: self.directory().id().to_owned(),
            ending: run.ending().cloned(),
            hold: run.hold().cloned(),
            storage: None,
            accounts: self.services.providers.accounts(),
        }
    }
}

#[cfg(test)]
mod tests;

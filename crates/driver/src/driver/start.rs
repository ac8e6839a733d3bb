//! Starting and resuming a driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai_config::ValidatedDefinition;
use saihai_connect::{CommandSurroundings, Connections, Providers, ScriptAsk, UnscriptedProgram};
use saihai_model::{
    Fact, FrozenJson as _, Json, Millis, PromptPart, Raise, RunOrigin, Script, Stage, Start, Text, TextFile,
    Variable,
};
use saihai_view::RunView;

use super::call_services::CallServices;
use super::replies::SessionMeters;
use super::{DriveOptions, Driver};
use crate::blobs::sha256;
use crate::live::Live;
use crate::lock::Lock;
use crate::remote_control::Inbox;
use crate::replay::{CallHistory, EarlierCall, ReplayedRun};
use crate::run_session::RunSession;
use crate::secrets::{ProgressRedactor, SecretRedactor};
use crate::{Clock, DriverControl, DriverError, DriverWarning, RunDirectory, Runs};
use saihai_git::Git;

/// Input of a new run: everything the command line and the configuration know before the first turn.
///
/// The type system refuses a workflow that was not validated (S-20):
///
/// ```compile_fail,E0308
/// fn with(spec: saihai::RunSpec, workflow: saihai_model::Workflow) -> saihai::RunSpec {
///     saihai::RunSpec { workflow, ..spec }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The lowered definition. The run directory keeps a frozen copy.
    pub workflow: ValidatedDefinition,
    /// Replies for the `script` provider. The run directory keeps a frozen copy.
    pub script: Option<Script>,
    /// The name of the definition as the user typed it.
    pub definition: String,
    /// The dialect of the definition, for display only.
    pub dialect: String,
    pub task: String,
    /// The readable end of the run id (`saihai_model::slug`).
    pub slug: String,
    /// Seed for the random number generator.
    pub seed: u64,
    /// True if a person sits at the terminal.
    pub interactive: bool,
    /// True if no agent is really asked.
    pub rehearsal: bool,
    /// Longest wait that the driver sits out. It parks the run for longer waits.
    pub patience: Millis,
    /// The user's checkout. Agents work here unless `placement` says otherwise.
    pub directory: PathBuf,
    /// Parent of the run's report directory.
    pub reports: PathBuf,
    /// Values that prompts show by name. Strings appear verbatim, other values as JSON.
    pub subject: BTreeMap<String, Json>,
    /// The worktree to work in and its delivery, if any.
    pub placement: Option<Workplace>,
    /// The files that the texts of the workflow came from (S-49).
    pub texts: Vec<TextFile>,
    /// The agent behind the start, if there is one.
    pub origin: RunOrigin,
}

/// The first fact of a driver.
#[derive(Debug)]
pub(super) enum FirstFact {
    Start(Box<Start>),
    Resume(Raise),
}

impl Driver {
    /// Creates the directory of a run and owns it. Asks nothing before [`Self::drive`].
    pub fn start(
        runs: &Runs,
        spec: RunSpec,
        connections: Connections,
        clock: Clock,
    ) -> Result<Self, DriverError> {
        let connections = connections.describing(&spec.workflow);
        let connections = Connections { script: spec.script.clone(), ..connections };
        let settings = connections.settings.clone();
        let surroundings = CommandSurroundings::of(&connections);
        let secrets = SecretRedactor::of(&connections);
        let providers = Providers::open(&spec.workflow, connections).map_err(DriverError::Unavailable)?;
        // Only the stored copy is redacted. The script in use may contain anything an agent would say.
        let spec = secrets.spec(spec)?;
        let (directory, reports) = runs.create(&spec.slug, clock.now(), &spec.reports)?;
        let session = create(&directory, &reports, spec, secrets, clock);
        // A run that could not start leaves nothing behind, if possible.
        let session = session.inspect_err(|_| runs.discard(&directory, &reports))?;
        let first = FirstFact::Start(Box::new(session.held().start().clone()));
        let meters = SessionMeters::default();
        let services = CallServices { providers, settings, meters, surroundings, executor: None };
        Ok(Self::with(session, services, first))
    }

    /// Withdraws a run that was created and never driven. Leaves nothing behind, if possible.
    pub fn withdraw(self, runs: &Runs) {
        if let FirstFact::Start(start) = &self.first {
            runs.discard(self.directory(), Path::new(&start.report_directory));
        }
    }

    /// Owns and reads an existing run. Asks nothing before [`Self::drive`], which only reports a run that is
    /// over or that this resumption does not free (K-22). A script comes from the frozen copy.
    pub fn resume(
        directory: RunDirectory,
        raise: Raise,
        connections: Connections,
        clock: Clock,
    ) -> Result<Self, DriverError> {
        let lock = directory.lock()?;
        Self::resume_locked(ReplayedRun::read(&directory)?, lock, raise, connections, clock)
    }

    /// Owns a run that was read before, as [`Self::resume`] does. Reads only what was recorded since.
    pub fn resume_replayed(
        mut run: ReplayedRun,
        raise: Raise,
        connections: Connections,
        clock: Clock,
    ) -> Result<Self, DriverError> {
        let lock = run.directory().lock()?;
        run.catch_up()?;
        Self::resume_locked(run, lock, raise, connections, clock)
    }

    fn resume_locked(
        run: ReplayedRun,
        lock: Lock,
        raise: Raise,
        connections: Connections,
        clock: Clock,
    ) -> Result<Self, DriverError> {
        let mut run = run.into_parts()?;
        let survivors = saihai_connect::sweep(run.directory.path());
        let script = run.directory.script()?;
        let connections = Connections { script: script.clone(), ..connections.describing(&run.workflow) };
        let settings = connections.settings.clone();
        let surroundings = CommandSurroundings::of(&connections);
        let secrets = SecretRedactor::of(&connections);
        let mut providers = Providers::open(&run.workflow, connections).map_err(DriverError::Unavailable)?;
        let CallHistory { events, meters, .. } = std::mem::take(&mut run.calls);
        replay_history(events, &mut providers, &run.directory, run.view.start.rehearsal)?;
        let torn = run.torn.map(|torn| DriverWarning::torn(&run.directory, torn));
        let session = RunSession::of_replay(run, lock, clock)?.with(script.as_ref(), secrets);
        let services = CallServices { providers, settings, meters, surroundings, executor: None };
        let mut driver = Self::with(session, services, FirstFact::Resume(raise));
        driver.warnings.extend(torn);
        driver.warnings.extend(survivors.into_iter().map(|process| DriverWarning::Survivor { process }));
        driver.services.meters.forget_ended(driver.session.held().run());
        Ok(driver)
    }

    /// Returns the view of the earlier records of a resumed run.
    pub fn earlier_view(&self) -> Option<&RunView> {
        self.session.held().view()
    }

    fn with(session: RunSession, services: CallServices, first: FirstFact) -> Self {
        let (control, commands) = DriverControl::new();
        let directory = session.held().directory();
        Self {
            inbox: Inbox::new(directory.inbox(), directory.disk()),
            live: Live::new(directory.live()),
            shown: ProgressRedactor::new(session.held().secrets().clone()),
            calls: super::RunningCalls::new(),
            wake: None,
            is_released: false,
            interrupts: 0,
            warnings: Vec::new(),
            count_files: None,
            trees: Default::default(),
            has_settled: false,
            session,
            services,
            first,
            control,
            commands,
        }
    }

    /// Returns the first facts of a driver, or none if they would change nothing. Nothing is written then.
    pub(super) fn first_facts(&self, options: DriveOptions) -> Option<Vec<Fact>> {
        let raise = match &self.first {
            FirstFact::Start(start) => return Some(vec![Fact::Started(start.clone())]),
            FirstFact::Resume(raise) => raise.clone(),
        };
        let run = self.session.held().run();
        if run.ending().is_some() {
            return None;
        }
        let mut facts = Vec::new();
        if run.busy().next().is_some() {
            facts.push(Fact::Reopened);
        }
        facts.push(Fact::Resumed(raise));
        let answers_gates = run.open_gate().is_some() && (options.stay_at_gates || options.auto);
        let then = self.session.foresee(&facts);
        let frees = !then.is_parked() || then.hold() != run.hold();
        (frees || answers_gates).then_some(facts)
    }
}

/// Freezes everything a run needs and creates its journal.
fn create(
    directory: &RunDirectory,
    reports: &Path,
    spec: RunSpec,
    secrets: SecretRedactor,
    clock: Clock,
) -> Result<RunSession, DriverError> {
    let lock = directory.lock()?;
    let start = freeze(directory, reports, &spec)?;
    let script = spec.script.as_ref();
    let session = RunSession::new(directory.clone(), lock, spec.workflow.into_workflow(), start, clock)?;
    Ok(session.with(script, secrets))
}

/// Writes the files that never change, and returns the start of the run.
pub(crate) fn freeze(
    directory: &RunDirectory,
    reports: &Path,
    spec: &RunSpec,
) -> Result<Box<Start>, DriverError> {
    let workflow = spec.workflow.to_json();
    directory.freeze(&workflow, spec.script.as_ref())?;
    let blobs = directory.blobs();
    let keep =
        |text: String| blobs.keep(text).map_err(|(path, source)| DriverError::io("write", &path)(source));
    let task = keep(spec.task.clone())?;
    let mut subject = BTreeMap::new();
    for (name, value) in &spec.subject {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        subject.insert(name.clone(), keep(text)?);
    }
    let start = spec.started(directory.id(), task, reports, sha256(&workflow));
    Ok(Box::new(Start { subject, ..start }))
}

/// The workplace of a run outside the user's checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workplace {
    pub directory: WorkDirectory,
    /// Data of the creator of the workplace. The journal keeps it for a resumed run.
    pub frozen: Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkDirectory {
    At(PathBuf),
    /// A directory below this one, named after the run.
    NamedAfterRun(PathBuf),
}

impl WorkDirectory {
    pub fn of_run(&self, run: &str) -> PathBuf {
        match self {
            Self::At(path) => path.clone(),
            Self::NamedAfterRun(root) => root.join(run),
        }
    }
}

impl RunSpec {
    fn started(&self, run: &str, task: Text, reports: &Path, workflow: String) -> Start {
        let placed = self.placement.as_ref().map(|placement| placement.directory.of_run(run));
        let directory = placed.as_ref().unwrap_or(&self.directory);
        // A rehearsal or a review changes nothing, so there is nothing to compare later. A placement knows its base
        // commit, and its worktree may not be ready yet.
        let is_plain = self.placement.is_none() && !self.rehearsal && !self.workflow.is_review();
        let is_compared = is_plain || self.shows_changes();
        let checkout = is_compared.then(|| checked_out(directory)).flatten();
        let (head, uncommitted) = checkout.map_or((None, Vec::new()), |(head, files)| (Some(head), files));
        Start {
            definition: self.definition.clone(),
            dialect: self.dialect.clone(),
            task,
            seed: self.seed,
            interactive: self.interactive,
            rehearsal: self.rehearsal,
            patience: self.patience,
            directory: directory.display().to_string(),
            head,
            uncommitted,
            report_directory: reports.display().to_string(),
            subject: BTreeMap::new(),
            delivery: self.placement.as_ref().map(|placement| placement.frozen.clone()),
            texts: self.texts.clone(),
            workflow,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            forked_from: None,
            origin: self.origin.clone(),
        }
    }

    /// Returns true if a prompt shows the changes of the run, which include commits.
    fn shows_changes(&self) -> bool {
        let turns = self.workflow.stages.values().flat_map(Stage::turns);
        let mut parts = turns.flat_map(|turn| &turn.prompt.sections).flat_map(|section| &section.body);
        parts.any(|part| matches!(part, PromptPart::Value(Variable::Changes(_), _)))
    }
}

/// Maximum number of files with uncommitted changes to record.
const MOST_UNCOMMITTED: usize = 200;

/// Returns the commit checked out in a directory, and the files that differ from it. On failure, the code that needs
/// the commit reports the reason later.
fn checked_out(directory: &Path) -> Option<(String, Vec<String>)> {
    let git = Git::open(directory).ok().flatten()?;
    let commit = match git.commit("HEAD").ok()? {
        Some(commit) => commit,
        None => git.empty_tree().ok()?,
    };
    let mut files = git.uncommitted().unwrap_or_default();
    files.truncate(MOST_UNCOMMITTED);
    Some((commit, files))
}

/// Tells the providers about the earlier calls of a run.
pub(crate) fn replay_history(
    events: Vec<EarlierCall>,
    providers: &mut Providers,
    directory: &RunDirectory,
    rehearsal: bool,
) -> Result<(), DriverError> {
    let unscripted = match rehearsal {
        true => UnscriptedProgram::LacksReply,
        false => UnscriptedProgram::Runs,
    };
    events.into_iter().try_for_each(|event| replay_call(event, providers, directory, unscripted))
}

/// Tells the providers about an earlier call of the run.
fn replay_call(
    event: EarlierCall,
    providers: &mut Providers,
    directory: &RunDirectory,
    unscripted: UnscriptedProgram,
) -> Result<(), DriverError> {
    match event {
        EarlierCall::Ended { call, failure } => providers.ended(&call, failure.as_ref()),
        EarlierCall::Asked(ask) => {
            let prompt = match ask.prompt.filter(|_| providers.reads_prompts()) {
                Some(text) => directory.text(&text)?,
                None => String::new(),
            };
            let asked = ScriptAsk {
                call: &ask.call,
                turn: ask.turn.as_ref(),
                place: ask.place,
                role: ask.role.as_deref(),
                prompt: &prompt,
                program: ask.is_program.then_some(unscripted),
            };
            providers.already_asked(&ask.provider, &asked);
        }
    }
    Ok(())
}

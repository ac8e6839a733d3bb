//! Starting and resuming a driver.

use std::collections::BTreeMap;
use std::path::Path;

use saihai_connect::{Asked, Connections, Providers, Surroundings};
use saihai_model::{CallId, Effect, Fact, Part, Raise, Request, Stage, Start, Text, Variable};

use super::meters::{self, Meters};
use super::{Driver, Going};
use crate::blobs::{Blobs, sha256};
use crate::delivery::Placement;
use crate::git::Git;
use crate::history::{Check, History, Seen};
use crate::inbox::Inbox;
use crate::live::Live;
use crate::owned::{Owned, Way};
use crate::secrets::{Secrets, Shown};
use crate::{Beginning, Clock, Control, Error, RunDirectory, Runs, Warning};

/// The first fact of a driver.
#[derive(Debug)]
pub(super) enum Opening {
    Start(Box<Start>),
    Resume(Raise),
}

impl Driver {
    /// Creates the directory of a run and owns it. Asks nothing before [`Self::drive`].
    pub fn start(
        runs: &Runs,
        beginning: Beginning,
        connections: Connections,
        clock: Clock,
    ) -> Result<Self, Error> {
        let connections = connections.describing(&beginning.workflow);
        let connections = Connections { script: beginning.script.clone(), ..connections };
        let settings = connections.settings.clone();
        let around = Surroundings::of(&connections);
        let secrets = Secrets::of(&connections);
        let providers = Providers::open(&beginning.workflow, connections).map_err(Error::Unavailable)?;
        // Only the stored copy is redacted. The script in use may contain anything an agent would say.
        let beginning = secrets.beginning(beginning)?;
        let (directory, reports) = runs.create(&beginning.slug, clock.now(), &beginning.reports)?;
        let begun = begin(&directory, &reports, beginning, clock);
        // A run that could not start leaves nothing behind, if possible.
        let (owned, start) = begun.inspect_err(|_| runs.discard(&directory, &reports))?;
        let owned = owned.without(secrets);
        Ok(Self { settings, ..Self::with(owned, providers, around, Opening::Start(start)) })
    }

    /// Withdraws a run that was created and never driven. Leaves nothing behind, if possible.
    pub fn withdraw(self, runs: &Runs) {
        if let Opening::Start(start) = &self.opening {
            runs.discard(self.owned.directory(), Path::new(&start.report_directory));
        }
    }

    /// Owns and reads an existing run. Asks nothing before [`Self::drive`], which only reports a run that is
    /// over or that this resumption does not free (K-22). A script comes from the frozen copy.
    pub fn resume(
        directory: RunDirectory,
        raise: Raise,
        connections: Connections,
        clock: Clock,
    ) -> Result<Self, Error> {
        let lock = directory.lock()?;
        let survivors = saihai_connect::sweep(directory.path());
        let (script, workflow) = (directory.script()?, directory.workflow()?);
        let connections = Connections { script: script.clone(), ..connections.describing(&workflow) };
        let settings = connections.settings.clone();
        let around = Surroundings::of(&connections);
        let secrets = Secrets::of(&connections);
        let mut providers = Providers::open(&workflow, connections).map_err(Error::Unavailable)?;
        let (history, meters) = {
            let mut recall = Recall::new(&mut providers, directory.blobs());
            let history =
                History::read(&directory, Check::Content, &mut |seen| recall.see(seen, &directory))?;
            (history, recall.meters)
        };
        let torn = history.torn.map(|torn| Warning::torn(&directory, torn));
        let owned = Owned::of_history(directory, lock, history, clock)?;
        let owned = owned.answered_by(script.as_ref()).without(secrets);
        let mut driver =
            Self { settings, meters, ..Self::with(owned, providers, around, Opening::Resume(raise)) };
        driver.warnings.extend(torn);
        driver.warnings.extend(survivors.into_iter().map(|process| Warning::Survivor { process }));
        driver.meters.forget_ended(driver.owned.run());
        Ok(driver)
    }

    fn with(owned: Owned, providers: Providers, around: Surroundings, opening: Opening) -> Self {
        let (control, commands) = Control::new();
        let directory = owned.directory();
        Self {
            inbox: Inbox::new(directory.inbox(), directory.disk()),
            live: Live::new(directory.live()),
            shown: Shown::new(owned.secrets().clone()),
            calls: super::Calls::new(),
            settings: BTreeMap::new(),
            around,
            outside: None,
            meters: Meters::default(),
            way: Way::Drive { auto: false },
            wake: None,
            when_told: false,
            told: false,
            interrupts: 0,
            warnings: Vec::new(),
            owned,
            providers,
            opening,
            control,
            commands,
        }
    }

    /// Returns the first facts of a driver, or none if they would change nothing. Nothing is written then.
    pub(super) fn first_facts(&self, going: Going) -> Option<Vec<Fact>> {
        let raise = match &self.opening {
            Opening::Start(start) => return Some(vec![Fact::Started(start.clone())]),
            Opening::Resume(raise) => raise.clone(),
        };
        let run = self.owned.run();
        if run.ending().is_some() {
            return None;
        }
        let mut facts = Vec::new();
        if run.busy().next().is_some() {
            facts.push(Fact::Reopened);
        }
        facts.push(Fact::Resumed(raise));
        let answers_gates = run.open_gate().is_some() && (going.stay_at_gates || going.auto);
        let then = self.owned.foresee(&facts);
        let frees = !then.is_parked() || then.hold() != run.hold();
        (frees || answers_gates).then_some(facts)
    }
}

/// Freezes everything a run needs and creates its journal.
fn begin(
    directory: &RunDirectory,
    reports: &Path,
    beginning: Beginning,
    clock: Clock,
) -> Result<(Owned, Box<Start>), Error> {
    let lock = directory.lock()?;
    let workflow = serde_json::to_vec(&*beginning.workflow).expect("a workflow has text keys only");
    directory.freeze(&workflow, beginning.script.as_ref())?;
    let blobs = directory.blobs();
    let keep = |text: String| blobs.keep(text).map_err(|(path, source)| Error::io("write", &path)(source));
    let task = keep(beginning.task.clone())?;
    let mut subject = BTreeMap::new();
    for (name, value) in &beginning.subject {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        subject.insert(name.clone(), keep(text)?);
    }
    let start = beginning.started(directory.id(), task, reports, sha256(&workflow));
    let start = Box::new(Start { subject, ..start });
    let owned =
        Owned::new(directory.clone(), lock, beginning.workflow.into_workflow(), start.clone(), clock)?;
    let owned = owned.answered_by(beginning.script.as_ref());
    Ok((owned, start))
}

impl Beginning {
    fn started(&self, run: &str, task: Text, reports: &Path, workflow: String) -> Start {
        let placed = self.placement.as_ref().map(|placement| placement.directory(&self.directory, run));
        Start {
            definition: self.definition.clone(),
            dialect: self.dialect.clone(),
            task,
            seed: self.seed,
            interactive: self.interactive,
            rehearsal: self.rehearsal,
            patience: self.patience,
            directory: placed.as_ref().unwrap_or(&self.directory).display().to_string(),
            head: self.shows_changes().then(|| head_of(placed.as_ref().unwrap_or(&self.directory))).flatten(),
            report_directory: reports.display().to_string(),
            subject: BTreeMap::new(),
            delivery: self.placement.as_ref().map(Placement::frozen),
            texts: self.texts.clone(),
            workflow,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            forked_from: None,
        }
    }

    /// Returns true if a prompt shows the changes of the run, which include commits.
    fn shows_changes(&self) -> bool {
        let turns = self.workflow.stages.values().flat_map(Stage::turns);
        let mut parts = turns.flat_map(|turn| &turn.prompt.sections).flat_map(|section| &section.body);
        parts.any(|part| matches!(part, Part::Value(Variable::Changes(_), _)))
    }
}

/// Returns the commit checked out in a directory. On failure, the code that needs the commit reports the
/// reason later.
fn head_of(directory: &Path) -> Option<String> {
    let git = Git::open(directory).ok().flatten()?;
    match git.commit("HEAD").ok()? {
        Some(commit) => Some(commit),
        None => git.empty_tree().ok(),
    }
}

/// Replays earlier asks of the run to its providers.
struct Recall<'a> {
    providers: &'a mut Providers,
    blobs: Blobs,
    /// The last request of each call without a reply. It holds no more than the calls under way at once.
    requests: Vec<Request>,
    meters: Meters,
}

impl<'a> Recall<'a> {
    fn new(providers: &'a mut Providers, blobs: Blobs) -> Self {
        Self { providers, blobs, requests: Vec::new(), meters: Meters::default() }
    }

    fn see(&mut self, seen: Seen<'_>, directory: &RunDirectory) -> Result<(), Error> {
        if let Seen::Fact(fact) = &seen {
            self.hear(fact);
        }
        match seen {
            Seen::Fact(Fact::Asked { call, prompt, .. }) => self.asked(call, prompt.as_ref(), directory),
            Seen::Fact(Fact::Replied(reply)) => {
                self.requests.retain(|request| request.call != reply.call);
                self.providers.ended(&reply.call, None);
                Ok(())
            }
            Seen::Fact(Fact::Failed(failed)) => {
                self.providers.ended(&failed.call, Some(&failed.failure));
                Ok(())
            }
            Seen::Fact(_) => Ok(()),
            Seen::Effects(effects) => {
                for effect in effects {
                    if let Effect::Ask(request) = effect {
                        self.requests.retain(|before| before.call != request.call);
                        self.requests.push(*request);
                    }
                }
                Ok(())
            }
        }
    }

    fn hear(&mut self, fact: &Fact) {
        let call = match fact {
            Fact::Replied(reply) => &reply.call,
            Fact::Failed(failed) => &failed.call,
            Fact::Started(_)
            | Fact::Asked { .. }
            | Fact::Performed { .. }
            | Fact::Answered(_)
            | Fact::Woke
            | Fact::Reopened
            | Fact::Resumed(_)
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. } => return,
        };
        let asked = self.requests.iter().find(|request| request.call == *call);
        let asked = asked.and_then(|request| request.session.as_deref());
        if let Some((session, meter)) = meters::told(fact) {
            self.meters.note(asked, session.as_deref(), Some(&meter));
        }
    }

    fn asked(&mut self, call: &CallId, prompt: Option<&Text>, directory: &RunDirectory) -> Result<(), Error> {
        let request = self.requests.iter().find(|request| request.call == *call);
        let Some(request) = request else { return Ok(()) };
        let sent = prompt.or(request.prompt.as_ref()).filter(|_| self.providers.reads_prompts());
        let sent =
            sent.map(|text| self.blobs.read(text).map_err(|bad| directory.bad_text(text, &bad.to_string())));
        let sent = sent.transpose()?.unwrap_or_default();
        let asked = Asked {
            call,
            turn: request.turn.as_ref(),
            place: request.place,
            role: request.role.as_deref(),
            prompt: &sent,
        };
        self.providers.already_asked(&request.provider, &asked);
        Ok(())
    }
}

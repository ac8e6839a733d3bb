//! The loop: a fact is settled, what follows is performed, and the next fact is awaited.

mod actions;
mod calls;
mod meters;
mod opening;
mod reply;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use saihai_config::review::Plan;
use saihai_connect::{Accounts, Providers, Surroundings};
use saihai_model::{
    Ask, CallId, Ending, Entry, Fact, Hold, Moment, OpenGate, Performance, Progress, ProviderName,
    ProviderSettings, Record, exit_code,
};
use tokio::sync::mpsc;

use crate::inbox::{Inbox, Wish};
use crate::live::Live;
use crate::owned::{Broken, Owned, Prepared, Todo, Way};
use crate::render::{self, Rendered};
use crate::secrets::Shown;
use crate::{Command, Control, Error, Observed, Outside, RunDirectory, Warning};
use actions::Begun;
use calls::{About, Calls, Ended, Next};
use meters::Meters;
use opening::Opening;

/// A run and the one process that owns it.
pub struct Driver {
    owned: Owned,
    providers: Providers,
    /// What is set about them, by name.
    settings: BTreeMap<ProviderName, ProviderSettings>,
    meters: Meters,
    /// In what surroundings it does something itself.
    around: Surroundings,
    /// Who does what reaches further.
    outside: Option<Arc<dyn Outside>>,
    opening: Opening,
    calls: Calls,
    live: Live,
    shown: Shown,
    control: Control,
    commands: mpsc::UnboundedReceiver<Command>,
    inbox: Inbox,
    way: Way,
    wake: Option<Moment>,
    /// Waits end only when that is told.
    when_told: bool,
    told: bool,
    interrupts: u32,
    warnings: Vec<Warning>,
}

/// How a run is driven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Going {
    /// The driver stays at an open gate until it is answered, instead of parking.
    pub stay_at_gates: bool,
    /// Every gate that takes yes or no is answered with yes, and recorded as such.
    pub auto: bool,
    /// Whoever waits for a moment, with nothing under way, goes on only when it is told to: somebody else may work meanwhile.
    pub when_told: bool,
}

/// How driving came to an end.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    pub run: String,
    /// How it ended, if it did.
    pub ending: Option<Ending>,
    /// Why it waits, if it does.
    pub hold: Option<Hold>,
    /// What could not be written, where the disk is why it waits.
    pub storage: Option<String>,
    /// What a script still holds and what it lacked.
    pub accounts: Accounts,
}

impl Finish {
    /// The exit code of the run.
    pub fn exit_code(&self) -> u8 {
        exit_code(self.ending.as_ref(), self.hold.as_ref())
    }
}

/// What the loop waits for.
enum Happened {
    Call(Next),
    Command(Command),
    Time,
    Poll,
}

/// How often the inbox is looked at, and whether a wait is over by the clock though the timer slept.
const POLL: Duration = Duration::from_millis(250);
/// After Ctrl-C a run is parked within three seconds (K-22). An agent has two of them (C-56); this is for whatever is not
/// gone then.
const GRACE_INTERRUPTED: Duration = Duration::from_millis(2_800);
/// Otherwise an agent has five seconds where it can be told in words, ten after the signal, and one to be gone (C-56).
const GRACE: Duration = Duration::from_secs(17);

type Observer<'a> = &'a mut dyn FnMut(Observed<'_>);

impl Driver {
    pub fn directory(&self) -> &RunDirectory {
        self.owned.directory()
    }

    /// A handle through which the driver is told things while it drives.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The same, and this one does what reaches beyond the run and its files.
    #[must_use]
    pub fn reaching(self, outside: Arc<dyn Outside>) -> Self {
        Self { outside: Some(outside), ..self }
    }

    /// Drives the run until it ends or is parked.
    pub async fn drive(
        mut self,
        going: Going,
        observer: &mut dyn FnMut(Observed<'_>),
    ) -> Result<Finish, Error> {
        self.way = Way::Drive { auto: going.auto };
        self.when_told = going.when_told;
        let driven = self.go(going, observer).await;
        let grace = if self.interrupts > 1 { Duration::ZERO } else { GRACE_INTERRUPTED };
        self.providers.hurry();
        self.around.hurry();
        self.calls.shut_down(grace).await;
        if self.interrupts <= 1 {
            self.providers.close().await;
        }
        match driven {
            Ok(()) => Ok(self.finish()),
            Err(Broken::Error(error)) => Err(error),
            Err(Broken::Storage(failed)) => {
                let hold = Some(Hold::Storage(failed.path.display().to_string()));
                Ok(Finish { ending: None, hold, storage: Some(failed.to_string()), ..self.finish() })
            }
        }
    }

    async fn go(&mut self, going: Going, observer: Observer<'_>) -> Result<(), Broken> {
        for warning in std::mem::take(&mut self.warnings) {
            observer(Observed::Warning(&warning));
        }
        let Some(facts) = self.first_facts(going) else { return Ok(()) };
        self.settle(facts, observer)?;
        // What was left for an owner that died is not to wait.
        self.look_into_inbox(observer)?;
        let mut polls = tokio::time::interval_at(tokio::time::Instant::now() + POLL, POLL);
        polls.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.is_over(going)? {
            match self.next(&mut polls).await {
                Happened::Call(Next::Progress(call, progress)) => {
                    self.show(&call, progress, observer);
                }
                Happened::Call(Next::Ended(ended)) => {
                    self.take_in(*ended, observer)?;
                }
                Happened::Command(command) => self.obey(command, observer)?,
                Happened::Time => self.pass_time(observer)?,
                Happened::Poll => {
                    self.pass_time(observer)?;
                    self.look_into_inbox(observer)?;
                }
            }
            if self.interrupts > 1 {
                return self.leave_at_once(observer);
            }
        }
        Ok(())
    }

    async fn next(&mut self, polls: &mut tokio::time::Interval) -> Happened {
        let left = self.wake.filter(|_| self.may_wake()).map(|at| self.owned.clock().until(at));
        let wake = async {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(command) = self.commands.recv() => Happened::Command(command),
            next = self.calls.next() => Happened::Call(next),
            () = wake => {
                // The timer runs on monotonic time: what it has sat out is over (C-34).
                if let Some(at) = self.wake {
                    self.owned.has_reached(at);
                }
                Happened::Time
            }
            _ = polls.tick() => Happened::Poll,
        }
    }

    /// Whether a wait may end. Limits of what is under way hold in any case.
    fn may_wake(&self) -> bool {
        !self.when_told || self.told || !self.calls.is_empty()
    }

    /// Nothing is under way and nothing can be done before something changes outside.
    fn is_over(&self, going: Going) -> Result<bool, Broken> {
        let run = self.owned.run();
        if run.ending().is_some() {
            return Ok(true);
        }
        if !self.calls.is_empty() {
            return Ok(false);
        }
        if run.is_parked() {
            let stays = going.stay_at_gates && self.interrupts == 0;
            return Ok(!(stays && run.open_gate().is_some()));
        }
        if self.wake.is_none() {
            return Err(Broken::Error(Error::Stuck { run: self.directory().id().to_owned() }));
        }
        Ok(false)
    }

    fn obey(&mut self, command: Command, observer: Observer<'_>) -> Result<(), Broken> {
        let fact = match command {
            Command::Interrupt { by } => {
                self.interrupts += 1;
                if self.interrupts > 1 {
                    return Ok(());
                }
                self.providers.hurry();
                self.around.hurry();
                // There is nothing to stop at an open gate, and a run that is interrupted could not be answered.
                if self.owned.run().is_parked() && self.owned.run().open_gate().is_some() {
                    return Ok(());
                }
                Fact::Interrupted { by }
            }
            Command::Cancel { by } => Fact::Cancelled { by },
            Command::GoOn => {
                self.told = true;
                return Ok(());
            }
            Command::Answer(answer) => {
                if self.owned.run().open_gate() != Some(&answer.call) {
                    observer(Observed::Warning(&Warning::LateAnswer { call: answer.call }));
                    return Ok(());
                }
                Fact::Answered(answer)
            }
        };
        self.settle(vec![fact], observer)
    }

    fn pass_time(&mut self, observer: Observer<'_>) -> Result<(), Broken> {
        match self.wake {
            Some(at) if at <= self.owned.clock().now() && self.may_wake() => {
                (self.wake, self.told) = (None, false);
                self.settle(vec![Fact::Woke], observer)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What others have left for us. A letter is removed only once it stands in the journal; one that cannot be removed would be
    /// read again and again, so nothing goes on beside it.
    fn look_into_inbox(&mut self, observer: Observer<'_>) -> Result<(), Broken> {
        let Ok(letters) = self.inbox.look() else { return Ok(()) };
        for letter in letters {
            match letter.wish {
                Ok(Wish::Answer(answer)) => self.obey(Command::Answer(answer), observer)?,
                Ok(Wish::Cancel { by }) => self.obey(Command::Cancel { by }, observer)?,
                Err(why) => {
                    let path = letter.path.display().to_string();
                    observer(Observed::Warning(&Warning::BadRequest { path, why }));
                }
            }
            let removed = self.inbox.remove(&letter.path);
            removed.map_err(Error::io("remove", &letter.path)).map_err(Broken::Error)?;
        }
        Ok(())
    }

    /// The second Ctrl-C: whatever has come back already is kept, nothing else is waited for.
    fn leave_at_once(&mut self, observer: Observer<'_>) -> Result<(), Broken> {
        for ended in self.calls.drain() {
            self.take_in(ended, observer)?;
        }
        Ok(())
    }

    /// Shows what a turn does to whoever looks on, here or elsewhere.
    fn show(&mut self, call: &CallId, progress: Progress, observer: Observer<'_>) {
        if let Some(progress) = self.shown.take(call, progress) {
            self.live.show(call, &progress);
            observer(Observed::Progress { call, progress: &progress });
        }
    }

    /// What came of an ask becomes a fact. The counters in it are known before the fact is settled: what follows from
    /// it at once may be the next ask in the same session.
    fn take_in(&mut self, ended: Ended, observer: Observer<'_>) -> Result<(), Broken> {
        let (about, came) = match ended {
            Ended::Ask { about, came } => (*about, came),
            Ended::Action { call, came } => {
                return self.settle(vec![actions::came(&self.owned, call, came)], observer);
            }
        };
        self.live.end(&about.call);
        self.shown.end(&about.call);
        let asked = about.session.clone();
        let fact = reply::fact(&self.owned, about, came);
        if let Some((session, meter)) = meters::told(&fact) {
            self.meters.note(asked.as_deref(), session.as_deref(), Some(&meter));
        }
        self.settle(vec![fact], observer)?;
        let run = self.owned.run();
        self.meters.forget_ended(run);
        self.providers.part(|session| run.sessions().any(|kept| kept == session));
        Ok(())
    }

    /// Settles facts and performs what follows, until nothing follows at once.
    fn settle(&mut self, facts: Vec<Fact>, observer: Observer<'_>) -> Result<(), Broken> {
        let mut next = VecDeque::from([facts]);
        while let Some(facts) = next.pop_front() {
            let settled = self.owned.settle(facts, self.way)?;
            settled.warnings.iter().for_each(|warning| observer(Observed::Warning(warning)));
            for record in &settled.records {
                self.tell_providers(record);
                observer(Observed::Recorded(record));
            }
            // Every fact tells the engine the time: a wake-up that is past has been seen to.
            self.wake = self.wake.filter(|at| *at > self.owned.run().now());
            for todo in settled.todo {
                if let Some(fact) = self.perform(todo, observer)? {
                    next.push_back(vec![fact]);
                }
            }
        }
        if let (true, Some(until)) = (self.calls.is_empty(), self.wake) {
            observer(Observed::Waiting { until });
        }
        Ok(())
    }

    fn tell_providers(&mut self, record: &Record) {
        match &record.entry {
            Entry::Fact(Fact::Replied(reply)) => self.providers.ended(&reply.call, None),
            Entry::Fact(Fact::Failed(failed)) => self.providers.ended(&failed.call, Some(&failed.failure)),
            Entry::Fact(_) | Entry::Decision(_) => {}
        }
    }

    fn perform(&mut self, todo: Todo, observer: Observer<'_>) -> Result<Option<Fact>, Broken> {
        match todo {
            Todo::Ask(prepared) => return Ok(self.ask(*prepared)),
            Todo::Perform(performance) => return self.act(*performance),
            Todo::Gate(gate) => self.show_gate(&gate, observer)?,
            Todo::Wake(at) => self.wake = Some(self.wake.map_or(at, |before| before.min(at))),
            Todo::Stop(call) => {
                let grace = if self.interrupts > 0 { GRACE_INTERRUPTED } else { GRACE };
                self.calls.stop(&call, grace);
            }
        }
        Ok(None)
    }

    /// Does something outside: at once, or on its way where it takes its time.
    fn act(&mut self, performance: Performance) -> Result<Option<Fact>, Broken> {
        let begun = actions::perform(&self.owned, &self.around, performance).map_err(Broken::Error)?;
        match begun {
            Begun::Done(fact) => Ok(Some(*fact)),
            Begun::Outside(call, deed) => {
                let Some(outside) = self.outside.clone() else {
                    return Ok(Some(actions::nobody(call, &deed)));
                };
                self.calls.act(call, |stop| outside.perform(*deed, stop));
                Ok(None)
            }
            Begun::Command(call, command) => {
                let around = self.around.clone();
                self.calls.act(call, |stop| command.run(around, stop));
                Ok(None)
            }
        }
    }

    fn show_gate(&self, gate: &OpenGate, observer: Observer<'_>) -> Result<(), Broken> {
        let blobs = self.directory().blobs();
        let rendered = match self.owned.renderer(&blobs).render(&gate.question) {
            Ok(rendered) => rendered,
            Err(render::Failed::Blob { text, why }) => {
                return Err(Broken::Error(self.directory().bad_text(&text, &why).into()));
            }
            // A person can answer without it; no gate's question shows changes.
            Err(render::Failed::Changes(_)) => Rendered::default(),
            Err(render::Failed::Report { file, source }) => {
                let why = source.to_string();
                Rendered { warnings: vec![Warning::UnsafeReport { file, why }], ..Rendered::default() }
            }
        };
        rendered.warnings.iter().for_each(|warning| observer(Observed::Warning(warning)));
        let (call, title, question) = (&gate.call, gate.title.as_str(), rendered.text.trim_end());
        observer(Observed::Gate { call, title, question, wants: gate.wants });
        Ok(())
    }

    /// Asks; what was asked before and kept is known at once.
    fn ask(&mut self, prepared: Prepared) -> Option<Fact> {
        let Prepared { request, prompt, persona } = prepared;
        let (call, place, session) = (request.call.clone(), request.place, request.session.clone());
        let (provider, set) = (request.provider.clone(), self.settings.get(&request.provider));
        let (price, is_counted) = (set.map(|set| set.price).unwrap_or_default(), request.money.is_some());
        // Whoever falls back on another provider has no model's name for it.
        let model = request.model.or_else(|| set?.model.clone());
        let began = self.owned.clock().now();
        let about = About { call: call.clone(), place, prompt, began, provider, session, price, is_counted };
        let about = match reply::kept(&self.owned, about, request.purpose) {
            Ok(fact) => return Some(fact),
            Err(about) => about,
        };
        let asking = self.providers.ask(Ask {
            run: self.owned.directory().id().to_owned(),
            stage: call.stage.clone(),
            call: request.call,
            place,
            turn: request.turn,
            purpose: request.purpose,
            attempt: request.attempt,
            role: request.role,
            directory: self.owned.start().directory.clone(),
            // What is reviewed may be a stranger's change, and settings of a project can name programs to be run.
            foreign: Plan::of(self.owned.workflow()).is_some(),
            prompt: about.prompt.clone(),
            persona,
            provider: request.provider,
            model,
            permission: request.permission,
            tools: request.tools,
            schema: request.schema,
            metered: self.meters.of(request.session.as_deref()),
            session: request.session,
            timeout: request.timeout,
            silence: self.owned.run().limits().silence,
            max_calls: request.max_calls,
            money: request.money,
            scratch: self.owned.directory().scratch().display().to_string(),
        });
        self.calls.ask(asking, *about);
        None
    }

    fn finish(&self) -> Finish {
        let run = self.owned.run();
        Finish {
            run: self.directory().id().to_owned(),
            ending: run.ending().cloned(),
            hold: run.hold().cloned(),
            storage: None,
            accounts: self.providers.accounts(),
        }
    }
}

#[cfg(test)]
mod tests;

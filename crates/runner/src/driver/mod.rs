//! The loop: settle a fact, perform the effects, wait for the next fact.

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
    settings: BTreeMap<ProviderName, ProviderSettings>,
    meters: Meters,
    /// The environment of the driver's own actions.
    around: Surroundings,
    /// Performs actions that reach beyond the run and its files.
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
    /// Waits end only on [`Control::go_on`].
    when_told: bool,
    told: bool,
    interrupts: u32,
    warnings: Vec<Warning>,
}

/// Options for driving a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Going {
    /// Stay at an open gate until it is answered, instead of parking.
    pub stay_at_gates: bool,
    /// Answer every yes/no gate with yes, and record the answer as automatic.
    pub auto: bool,
    /// End an idle wait only on [`Control::go_on`], because another run may work in the meantime.
    pub when_told: bool,
}

/// The state in which driving stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    pub run: String,
    /// The ending, if the run ended.
    pub ending: Option<Ending>,
    /// The reason for waiting, if the run waits.
    pub hold: Option<Hold>,
    /// The failed write, if the run waits because of the disk.
    pub storage: Option<String>,
    /// Unused and missing replies of the script.
    pub accounts: Accounts,
}

impl Finish {
    pub fn exit_code(&self) -> u8 {
        exit_code(self.ending.as_ref(), self.hold.as_ref())
    }
}

/// An event that the loop waits for.
enum Happened {
    Call(Next),
    Command(Command),
    Time,
    Poll,
}

/// Poll interval for the inbox, and for waits that end by the clock while the timer slept.
const POLL: Duration = Duration::from_millis(250);
/// Grace period after Ctrl-C. The run must be parked within three seconds (K-22). An agent has two of them
/// (C-56); this limit is for the rest.
const GRACE_INTERRUPTED: Duration = Duration::from_millis(2_800);
/// Grace period in other cases. An agent has five seconds to stop on request, ten after the signal, and one
/// to exit (C-56).
const GRACE: Duration = Duration::from_secs(17);

type Observer<'a> = &'a mut dyn FnMut(Observed<'_>);

impl Driver {
    pub fn directory(&self) -> &RunDirectory {
        self.owned.directory()
    }

    /// Returns a handle for commands to the driver while it drives.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Sets the implementation for actions beyond the run and its files.
    #[must_use]
    pub fn reaching(self, outside: Arc<dyn Outside>) -> Self {
        Self { outside: Some(outside), ..self }
    }

    /// Drives the run until it ends or parks.
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
        // Requests to an owner that died must not wait for the first poll.
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
                // The timer uses monotonic time, so a wait it sat out is over (C-34).
                if let Some(at) = self.wake {
                    self.owned.has_reached(at);
                }
                Happened::Time
            }
            _ = polls.tick() => Happened::Poll,
        }
    }

    /// Returns true if a wait may end. Limits of calls under way always apply.
    fn may_wake(&self) -> bool {
        !self.when_told || self.told || !self.calls.is_empty()
    }

    /// Returns true if nothing is under way and nothing can happen without a change from outside.
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
                // An open gate has nothing to stop, and an interrupted run could not be answered.
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

    /// Handles requests from other processes. A request is removed only once the journal has it. One that
    /// cannot be removed would be read again and again, so the run stops there.
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

    /// Handles the second Ctrl-C. It keeps replies that have already arrived and waits for nothing else.
    fn leave_at_once(&mut self, observer: Observer<'_>) -> Result<(), Broken> {
        for ended in self.calls.drain() {
            self.take_in(ended, observer)?;
        }
        Ok(())
    }

    /// Shows the progress of a turn to observers in this and other processes.
    fn show(&mut self, call: &CallId, progress: Progress, observer: Observer<'_>) {
        if let Some(progress) = self.shown.take(call, progress) {
            self.live.show(call, &progress);
            observer(Observed::Progress { call, progress: &progress });
        }
    }

    /// Turns the result of an ask into a fact. It notes the counters before settling, because the next ask in
    /// the same session may follow immediately.
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

    /// Settles facts and performs their effects until no further fact follows immediately.
    fn settle(&mut self, facts: Vec<Fact>, observer: Observer<'_>) -> Result<(), Broken> {
        let mut next = VecDeque::from([facts]);
        while let Some(facts) = next.pop_front() {
            let settled = self.owned.settle(facts, self.way)?;
            settled.warnings.iter().for_each(|warning| observer(Observed::Warning(warning)));
            for record in &settled.records {
                self.tell_providers(record);
                observer(Observed::Recorded(record));
            }
            // Every fact tells the engine the time, so a wake-up in the past is done.
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

    /// Performs an action: immediately, or as a task if it takes time.
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
            // A person can answer without it. No gate's question shows changes.
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

    /// Asks an agent. If the cache has the reply, returns the fact immediately.
    fn ask(&mut self, prepared: Prepared) -> Option<Fact> {
        let Prepared { request, prompt, persona } = prepared;
        let (call, place, session) = (request.call.clone(), request.place, request.session.clone());
        let (provider, set) = (request.provider.clone(), self.settings.get(&request.provider));
        let (price, is_counted) = (set.map(|set| set.price).unwrap_or_default(), request.money.is_some());
        // After a fallback the request names no model, so the provider's own setting applies.
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
            // The change under review may come from a stranger, and project settings can name programs to run
            //
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

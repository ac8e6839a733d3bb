//! What another process tells a run: through its living owner, or in its place.

use std::path::Path;
use std::time::Duration;

use saihai_connect::Connections;
use saihai_model::{Answer, AnsweredBy, CallId, Effect, Entry, Fact, Label, OpenGate, Wants};

use crate::history::{Check, History, Seen};
use crate::inbox::{Inbox, Wish};
use crate::lock::Lock;
use crate::owned::{Broken, Owned, Way};
use crate::render::{self, Renderer};
use crate::secrets::Secrets;
use crate::{Clock, Error, RunDirectory, State, StoreError};

/// An answer as a person gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Yes, with or without a text.
    Yes(Option<String>),
    /// No, with or without a text.
    No(Option<String>),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The living owner, which goes on by itself.
    Owner,
    /// This process: the run goes on when it is resumed.
    Journal,
    /// Nobody: an owner lives and does not read it, a stopped process for example. A cancellation lies in its inbox; an answer was
    /// taken back.
    Unread,
}

/// The longest text that goes with a yes or a no.
const MOST_CHARACTERS: u32 = 10_000;
/// How often the owner is looked after while it is waited for.
const LOOK: Duration = Duration::from_millis(50);
/// So long is an owner waited for that looks four times a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// The open gate of a run: its call, what it asks and what answer it takes.
pub fn open_gate(directory: &RunDirectory) -> Result<(CallId, String, Wants), Error> {
    let mut gates: Option<Box<OpenGate>> = None;
    let history = History::read(directory, Check::Length, &mut |seen| {
        if let Seen::Effects(effects) = seen {
            for effect in effects {
                if let Effect::OpenGate(gate) = effect {
                    gates = Some(gate);
                }
            }
        }
        Ok(())
    })?;
    let gate = gates.filter(|gate| history.run.open_gate() == Some(&gate.call));
    let Some(gate) = gate else { return Err(no_gate(directory)?) };
    let blobs = directory.blobs();
    let renderer = Renderer {
        blobs: &blobs,
        directory: &history.start.directory,
        head: history.start.head.as_deref(),
        report_directory: &history.start.report_directory,
    };
    let rendered = renderer.render(&gate.question).map_err(|failed| match failed {
        render::Failed::Blob { text, why } => directory.bad_text(&text, &why).into(),
        render::Failed::Changes(error) => {
            Error::io("look at", Path::new(&history.start.directory))(std::io::Error::other(error))
        }
        render::Failed::Report { file, source } => {
            Error::io("read", &Path::new(&history.start.report_directory).join(file))(source)
        }
    })?;
    Ok((gate.call, rendered.text.trim_end().to_owned(), gate.wants))
}

/// The error that a run has no open gate, with the state it is in.
fn no_gate(directory: &RunDirectory) -> Result<Error, Error> {
    let state = Box::new(crate::run_state(directory)?);
    Ok(Error::NoGate { run: directory.id().to_owned(), state })
}

/// Whether the time to answer the open gate of a run is over: whoever goes on with the run takes that for a no.
pub fn is_gate_closed(directory: &RunDirectory, clock: &Clock) -> Result<bool, Error> {
    let history = History::read(directory, Check::Length, &mut |_| Ok(()))?;
    Ok(history.run.gate_closes().is_some_and(|closes| closes <= clock.now()))
}

pub async fn answer(
    directory: &RunDirectory,
    given: Given,
    clock: Clock,
) -> Result<(CallId, Reached), Error> {
    let (call, _, wants) = open_gate(directory)?;
    let (label, text) = fitting(given, wants)?;
    // Also the letter to a living owner is a file of the run.
    let secrets = Secrets::of(&Connections::default());
    let text = text.map(|text| secrets.text(text));
    let answer = Answer { call: call.clone(), by: AnsweredBy::Person, label, text };
    let reached = tell(directory, &Wish::Answer(answer), clock).await?;
    // Before an owner takes a letter away, what it says stands in the journal, or does not count.
    if reached == Reached::Owner && is_open(directory, &call)? {
        return Err(Error::NotTaken { run: directory.id().to_owned() });
    }
    Ok((call, reached))
}

/// Whether a gate of a run is the one that is open.
fn is_open(directory: &RunDirectory, call: &CallId) -> Result<bool, Error> {
    let history = History::read(directory, Check::Length, &mut |_| Ok(()))?;
    Ok(history.run.open_gate() == Some(call))
}

/// Cancels the run for good.
pub async fn cancel(directory: &RunDirectory, by: &str, clock: Clock) -> Result<Reached, Error> {
    if let State::Ended { ending } = crate::run_state(directory)? {
        let outcome = ending.outcome().to_owned();
        return Err(Error::Over { run: directory.id().to_owned(), outcome });
    }
    tell(directory, &Wish::Cancel { by: by.to_owned() }, clock).await
}

/// The label and text of an answer, if the gate takes it.
fn fitting(given: Given, wants: Wants) -> Result<(Label, Option<String>), Error> {
    let wrong = |why: String| Err(Error::WrongAnswer { why });
    let (label, text, most) = match (given, wants) {
        (Given::Yes(text), Wants::YesNo) => ("yes", text, MOST_CHARACTERS),
        (Given::No(text), Wants::YesNo) => ("no", text, MOST_CHARACTERS),
        (Given::Text(text), Wants::Text { max_chars }) => ("answered", Some(text), max_chars),
        (Given::Yes(_) | Given::No(_), Wants::Text { .. }) => {
            return wrong("this gate takes a text".to_owned());
        }
        (Given::Text(_), Wants::YesNo) => return wrong("this gate takes `yes` or `no`".to_owned()),
    };
    let length = text.as_ref().map(|text| text.chars().count());
    match length {
        Some(0) => wrong("the answer is empty".to_owned()),
        Some(length) if length > most as usize => {
            wrong(format!("the answer has {length} characters; at most {most} are taken"))
        }
        Some(_) | None => Ok((label.into(), text)),
    }
}

/// Brings a wish to the run's owner, or records it where there is none.
async fn tell(directory: &RunDirectory, wish: &Wish, clock: Clock) -> Result<Reached, Error> {
    let inbox = Inbox::new(directory.inbox(), directory.disk());
    let mut was_posted = false;
    loop {
        match directory.lock() {
            // An owner that was killed may have recorded the letter and not removed it.
            Ok(_) if was_posted && is_recorded(directory, wish)? => return Ok(Reached::Journal),
            Ok(lock) => {
                record(directory, lock, wish.clone(), clock)?;
                return Ok(Reached::Journal);
            }
            Err(StoreError::Owned { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let letter = inbox.put(wish).map_err(Error::io("write", &directory.inbox()))?;
        was_posted = true;
        let waited = tokio::time::timeout(PATIENCE, taken(directory, &letter)).await;
        match (&waited, wish) {
            (Ok(true), _) => return Ok(Reached::Owner),
            (Err(_), Wish::Cancel { .. }) => return Ok(Reached::Unread),
            (Ok(false), _) | (Err(_), Wish::Answer(_)) => {}
        }
        // The owner is gone, or as good as gone. If the letter is too, it was read before that.
        if !inbox.remove(&letter).map_err(Error::io("remove", &letter))? {
            return Ok(Reached::Owner);
        }
        if waited.is_err() {
            return Ok(Reached::Unread);
        }
    }
}

/// Whether a wish stands in the journal.
fn is_recorded(directory: &RunDirectory, wish: &Wish) -> Result<bool, Error> {
    let mut found = false;
    directory.read(&mut |record| {
        found |= match (&record.entry, wish) {
            (Entry::Fact(Fact::Answered(recorded)), Wish::Answer(answer)) => recorded == answer,
            (Entry::Fact(Fact::Cancelled { by: recorded }), Wish::Cancel { by }) => recorded == by,
            (Entry::Fact(_) | Entry::Decision(_), _) => false,
        };
    })?;
    Ok(found)
}

/// Waits until a letter is gone, or its reader.
async fn taken(directory: &RunDirectory, letter: &Path) -> bool {
    loop {
        if !letter.exists() {
            return true;
        }
        if directory.owner().is_none() {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Records a wish in the place of an owner. What follows from it is done by whoever resumes the run.
fn record(directory: &RunDirectory, lock: Lock, wish: Wish, clock: Clock) -> Result<(), Error> {
    let history = History::read(directory, Check::Content, &mut |_| Ok(()))?;
    let run = &history.run;
    if let Some(ending) = run.ending() {
        let outcome = ending.outcome().to_owned();
        return Err(Error::Over { run: directory.id().to_owned(), outcome });
    }
    let dead = run.busy().next().is_some().then_some(Fact::Reopened);
    let facts: Vec<_> = match wish {
        Wish::Answer(answer) => {
            if run.open_gate() != Some(&answer.call) {
                drop(lock);
                return Err(no_gate(directory)?);
            }
            // It is not recorded: whoever goes on with the run sees that nobody answered in time, today and when it is replayed.
            if run.gate_closes().is_some_and(|closes| closes <= clock.now()) {
                let (run, gate) = (directory.id().to_owned(), answer.call.stage.to_string());
                return Err(Error::GateClosed { run, gate });
            }
            dead.into_iter().chain([Fact::Answered(answer)]).collect()
        }
        // Cancelled first: then nothing that died is begun again.
        Wish::Cancel { by } => [Fact::Cancelled { by }].into_iter().chain(dead).collect(),
    };
    let mut owned = Owned::of_history(directory.clone(), lock, history, clock)?;
    match owned.settle(facts, Way::Record) {
        Ok(_) => Ok(()),
        Err(broken) => Err(broken.into_error()),
    }
}

impl Broken {
    /// For those who cannot park a run: what could not be written is an error.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Error(error) => error,
            Self::Storage(failed) => Error::io("append to", &failed.path)(failed.source),
        }
    }
}

#[cfg(test)]
mod tests;

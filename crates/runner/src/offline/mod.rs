//! Requests from other processes to a run: through its living owner, or directly into the journal.

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

/// An answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Yes, with an optional text.
    Yes(Option<String>),
    /// No, with an optional text.
    No(Option<String>),
    Text(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The living owner, which continues by itself.
    Owner,
    /// This process. The run continues when it is resumed.
    Journal,
    /// No process. An owner lives and does not read, for example because it is stopped. A cancellation stays
    /// in its inbox; an answer was withdrawn.
    Unread,
}

/// Maximum length of the text with a yes or a no.
const MOST_CHARACTERS: u32 = 10_000;
/// Poll interval while waiting for the owner.
const LOOK: Duration = Duration::from_millis(50);
/// Time to wait for an owner, which polls four times a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the open gate of a run: its call, its question and the accepted answer.
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

/// Builds the error for a run without an open gate.
fn no_gate(directory: &RunDirectory) -> Result<Error, Error> {
    let state = Box::new(crate::run_state(directory)?);
    Ok(Error::NoGate { run: directory.id().to_owned(), state })
}

/// Returns true if the open gate of a run timed out. Resuming the run then counts it as declined.
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
    // A request to a living owner is a file of the run too, so redact it.
    let secrets = Secrets::of(&Connections::default());
    let text = text.map(|text| secrets.text(text));
    let answer = Answer { call: call.clone(), by: AnsweredBy::Person, label, text };
    let reached = tell(directory, &Wish::Answer(answer), clock).await?;
    // An owner records a request before removing it, or rejects it.
    if reached == Reached::Owner && is_open(directory, &call)? {
        return Err(Error::NotTaken { run: directory.id().to_owned() });
    }
    Ok((call, reached))
}

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

/// Returns the label and text of an answer, if the gate accepts it.
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

/// Brings a request to the owner of the run, or records it if there is none.
async fn tell(directory: &RunDirectory, wish: &Wish, clock: Clock) -> Result<Reached, Error> {
    let inbox = Inbox::new(directory.inbox(), directory.disk());
    let mut was_posted = false;
    loop {
        match directory.lock() {
            // A killed owner may have recorded the request without removing it.
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
        // The owner is gone or unresponsive. If the request is gone too, the owner has read it.
        if !inbox.remove(&letter).map_err(Error::io("remove", &letter))? {
            return Ok(Reached::Owner);
        }
        if waited.is_err() {
            return Ok(Reached::Unread);
        }
    }
}

/// Returns true if the journal has the request.
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

/// Waits until a request file is gone, or its reader.
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

/// Records a request in place of an owner. Resuming the run performs the effects.
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
            // Do not record a late answer. Resuming and replaying both see that the gate timed out.
            if run.gate_closes().is_some_and(|closes| closes <= clock.now()) {
                let (run, gate) = (directory.id().to_owned(), answer.call.stage.to_string());
                return Err(Error::GateClosed { run, gate });
            }
            dead.into_iter().chain([Fact::Answered(answer)]).collect()
        }
        // Cancel first, so that dead calls are not restarted.
        Wish::Cancel { by } => [Fact::Cancelled { by }].into_iter().chain(dead).collect(),
    };
    let mut owned = Owned::of_history(directory.clone(), lock, history, clock)?;
    match owned.settle(facts, Way::Record) {
        Ok(_) => Ok(()),
        Err(broken) => Err(broken.into_error()),
    }
}

impl Broken {
    /// Converts to an error, for callers that cannot park a run.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Error(error) => error,
            Self::Storage(failed) => Error::io("append to", &failed.path)(failed.source),
        }
    }
}

#[cfg(test)]
mod tests;

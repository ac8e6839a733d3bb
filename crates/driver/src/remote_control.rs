//! Control of a run from another process: the owner of a run reads requests in its `inbox/`, and without an owner a
//! request goes directly into the journal.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use saihai_connect::Connections;
use saihai_engine::Run;
use saihai_model::{
    Answer, AnsweredBy, BudgetLoan, CallId, Fact, Label, PersonNote, Stage, StageId, Wants, Workflow,
};
use saihai_view::PersonNoteView;
use serde::{Deserialize, Serialize};

use crate::error::AnswerProblem;
use crate::lock::Lock;
use crate::prompts::{PromptError, PromptRenderer};
use crate::replay::{BlobCheck, ReplayedRun};
use crate::run_session::RunSession;
use crate::secrets::SecretRedactor;
use crate::{Clock, Disk, DriverError, RunDirectory, StoreError};

/// An answer of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// Yes, with an optional text.
    Yes(Option<String>),
    /// No, with an optional text.
    No(Option<String>),
    Text(String),
}

/// The receiver of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestDelivery {
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
pub fn open_gate(directory: &RunDirectory) -> Result<(CallId, String, Wants), DriverError> {
    let run = ReplayedRun::read_checking(directory, BlobCheck::Length)?;
    let Some(gate) = run.open_gate() else { return Err(no_gate(&run)) };
    let (blobs, start) = (directory.blobs(), run.start());
    let renderer = PromptRenderer {
        blobs: &blobs,
        directory: &start.directory,
        head: start.head.as_deref(),
        report_directory: &start.report_directory,
    };
    let rendered = renderer.render(&gate.question).map_err(|failed| match failed {
        PromptError::Blob { text, why } => directory.bad_text(&text, &why).into(),
        PromptError::Changes(error) => {
            DriverError::io("look at", Path::new(&start.directory))(std::io::Error::other(error))
        }
        PromptError::Report { file, source } => {
            DriverError::io("read", &Path::new(&start.report_directory).join(file))(source)
        }
    })?;
    let question = saihai_judge::without_status_tags(rendered.text.trim_end());
    Ok((gate.call.clone(), question, gate.wants))
}

/// Builds the error for a run without an open gate.
fn no_gate(run: &ReplayedRun) -> DriverError {
    DriverError::NoGate { run: run.directory().id().to_owned(), state: Box::new(run.state()) }
}

pub async fn answer(
    directory: &RunDirectory,
    answer: GateAnswer,
    clock: Clock,
) -> Result<(CallId, RequestDelivery), DriverError> {
    answer_with(directory, |_| Ok::<_, DriverError>(answer), clock).await
}

/// Answers the open gate with what `ask` returns for the kind of answer that the gate accepts.
pub async fn answer_with<E: From<DriverError>>(
    directory: &RunDirectory,
    ask: impl FnOnce(Wants) -> Result<GateAnswer, E>,
    clock: Clock,
) -> Result<(CallId, RequestDelivery), E> {
    let run = ReplayedRun::read(directory)?;
    let gate = run.open_gate().ok_or_else(|| no_gate(&run))?;
    let (call, wants) = (gate.call.clone(), gate.wants);
    let (label, text) = fitting_answer(ask(wants)?, wants).map_err(DriverError::from)?;
    // A request to a living owner is a file of the run too, so redact it.
    let secrets = SecretRedactor::of(&Connections::default());
    let text = text.map(|text| secrets.text(text));
    let answer = Answer { call: call.clone(), by: AnsweredBy::Person, label, text };
    let reached = deliver(run, InboxRequest::Answer(answer), clock).await?;
    Ok((call, reached))
}

/// Cancels the run for good.
pub async fn cancel(
    directory: &RunDirectory,
    by: &str,
    clock: Clock,
) -> Result<RequestDelivery, DriverError> {
    let run = ReplayedRun::read(directory)?;
    if let Some(ending) = run.run().ending().cloned() {
        return Err(DriverError::Over { run: directory.id().to_owned(), ending });
    }
    deliver(run, InboxRequest::Cancel { by: by.to_owned() }, clock).await
}

/// Gives the agents of a run a note of a person. `to` names a stage; without one, the note goes to the current stage.
/// Returns the note as sent, and its receiver.
pub async fn tell(
    directory: &RunDirectory,
    text: String,
    to: Option<&str>,
    now: bool,
    clock: Clock,
) -> Result<(PersonNote, RequestDelivery), DriverError> {
    let run = insist_on_unfinished(directory)?;
    let to = to.map(|name| stage_with_agent(&run, name)).transpose()?;
    let note = person_note(text, to, now)?;
    let note = addressed(note, run.run(), run.workflow());
    let reached = deliver(run, InboxRequest::Tell(note.clone()), clock).await?;
    Ok((note, reached))
}

/// Creates a note, without secrets of this environment. A request to a living owner is a file of the run too.
pub fn person_note(text: String, to: Option<StageId>, now: bool) -> Result<PersonNote, DriverError> {
    let (characters, most) = (text.chars().count(), PersonNote::MOST_CHARACTERS);
    if text.trim().is_empty() || characters > most {
        return Err(DriverError::BadNote { characters, most });
    }
    let text = SecretRedactor::of(&Connections::default()).text(text);
    Ok(PersonNote { heading: heading(&text).to_owned(), text, to, now })
}

/// Takes back a note that no prompt shows yet.
pub async fn withdraw(
    directory: &RunDirectory,
    number: u32,
    clock: Clock,
) -> Result<RequestDelivery, DriverError> {
    let run = insist_on_unfinished(directory)?;
    let mut waiting = run.run().waiting_notes().iter();
    if !waiting.any(|waiting| waiting.number == number) {
        let shown = run.view().person_notes.iter().any(|note| note.number == number && !note.is_withdrawn);
        return Err(DriverError::NoNote { run: directory.id().to_owned(), number, shown });
    }
    deliver(run, InboxRequest::Withdraw(number), clock).await
}

/// Takes the budget of a new run out of the budget of the run whose agent starts it. Without an owner there is no such
/// agent.
pub async fn lend(directory: &RunDirectory, loan: BudgetLoan, clock: Clock) -> Result<(), DriverError> {
    let run = insist_on_unfinished(directory)?;
    match deliver(run, InboxRequest::Lend(loan), clock).await? {
        RequestDelivery::Owner => Ok(()),
        RequestDelivery::Journal | RequestDelivery::Unread => Err(not_driven(directory)),
    }
}

fn not_driven(directory: &RunDirectory) -> DriverError {
    DriverError::NotDriven { run: directory.id().to_owned() }
}

fn insist_on_unfinished(directory: &RunDirectory) -> Result<ReplayedRun, DriverError> {
    let run = ReplayedRun::read(directory)?;
    match run.run().ending().cloned() {
        Some(ending) => Err(DriverError::Over { run: directory.id().to_owned(), ending }),
        None => Ok(run),
    }
}

/// Finds a stage by name. Only a stage whose turns ask an agent has a prompt for a note.
fn stage_with_agent(run: &ReplayedRun, name: &str) -> Result<StageId, DriverError> {
    let stages: Vec<&StageId> =
        run.workflow().stages.iter().filter(|(_, stage)| asks_agent(stage)).map(|(id, _)| id).collect();
    let found = stages.iter().find(|id| id.as_str() == name);
    found.map(|id| (*id).clone()).ok_or_else(|| DriverError::NoStageForNote {
        stage: name.to_owned(),
        stages: stages.iter().map(ToString::to_string).collect(),
    })
}

fn asks_agent(stage: &Stage) -> bool {
    stage.turns().iter().any(|turn| turn.program.is_none())
}

/// Addresses a note without a stage to the current one. If that asks no agent, the next prompt of any stage shows it.
pub fn addressed(note: PersonNote, run: &Run, workflow: &Workflow) -> PersonNote {
    let current = run.visit().map(|visit| &visit.stage);
    let asks = |id: &&StageId| workflow.stage(id).is_some_and(asks_agent);
    let to = note.to.or_else(|| current.filter(asks).cloned());
    PersonNote { to, ..note }
}

/// Returns the heading of a note in a prompt, in the language of the note.
fn heading(text: &str) -> &'static str {
    match saihai_config::Language::of([text]) {
        saihai_config::Language::English => {
            "## Note from the user\n\nFollow this note. The rules above stay as they are."
        }
        saihai_config::Language::Japanese => {
            "## 利用者からの指示\n\n次の指示に従ってください。上の規則は変わりません。"
        }
    }
}

/// Returns the label and text of an answer, if the gate accepts it.
pub fn fitting_answer(answer: GateAnswer, wants: Wants) -> Result<(Label, Option<String>), AnswerProblem> {
    let (label, text, most) = match (answer, wants) {
        (GateAnswer::Yes(text), Wants::YesNo) => ("yes", text, MOST_CHARACTERS),
        (GateAnswer::No(text), Wants::YesNo) => ("no", text, MOST_CHARACTERS),
        (GateAnswer::Text(text), Wants::Text { max_chars }) => ("answered", Some(text), max_chars),
        (GateAnswer::Yes(_) | GateAnswer::No(_), Wants::Text { .. }) => return Err(AnswerProblem::NeedsText),
        (GateAnswer::Text(_), Wants::YesNo) => return Err(AnswerProblem::NeedsYesNo),
    };
    match text.as_ref().map(|text| text.chars().count()) {
        Some(0) => Err(AnswerProblem::Empty),
        Some(characters) if characters > most as usize => Err(AnswerProblem::TooLong { characters, most }),
        Some(_) | None => Ok((label.into(), text)),
    }
}

/// Brings a request to the owner of the run, or records it if there is none.
async fn deliver(
    mut run: ReplayedRun,
    request: InboxRequest,
    clock: Clock,
) -> Result<RequestDelivery, DriverError> {
    let directory = run.directory().clone();
    let inbox = Inbox::new(directory.inbox(), directory.disk());
    let mut was_posted = false;
    let recorded_before = times_recorded(&run, &request);
    loop {
        match directory.lock() {
            Ok(lock) => {
                run.catch_up()?;
                // A killed owner may have recorded the request without removing it.
                if !(was_posted && times_recorded(&run, &request) > recorded_before) {
                    record(run, lock, request, clock)?;
                }
                return Ok(RequestDelivery::Journal);
            }
            Err(StoreError::Owned { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let file = inbox.put(&request).map_err(DriverError::io("write", &directory.inbox()))?;
        was_posted = true;
        let waited = tokio::time::timeout(PATIENCE, taken(&directory, &file)).await;
        match (&waited, &request) {
            (Ok(true), _) => return read_by_owner(run, &request),
            (Err(_), InboxRequest::Cancel { .. }) => return Ok(RequestDelivery::Unread),
            (Ok(false), _)
            | (
                Err(_),
                InboxRequest::Answer(_)
                | InboxRequest::Tell(_)
                | InboxRequest::Withdraw(_)
                | InboxRequest::Lend(_),
            ) => {}
        }
        // The owner is gone or unresponsive. If the request is gone too, the owner has read it.
        if !inbox.remove(&file).map_err(DriverError::io("remove", &file))? {
            return read_by_owner(run, &request);
        }
        if waited.is_err() {
            return Ok(RequestDelivery::Unread);
        }
    }
}

/// Checks that the owner accepted a request. It records a request before removing it, or rejects it.
fn read_by_owner(mut run: ReplayedRun, request: &InboxRequest) -> Result<RequestDelivery, DriverError> {
    if let InboxRequest::Answer(answer) = request {
        run.catch_up()?;
        if run.run().open_gate() == Some(&answer.call) {
            return Err(DriverError::NotTaken { run: run.directory().id().to_owned() });
        }
    }
    Ok(RequestDelivery::Owner)
}

/// Counts a request in the journal. A person may send the same note twice.
fn times_recorded(run: &ReplayedRun, request: &InboxRequest) -> usize {
    let view = run.view();
    match request {
        InboxRequest::Answer(answer) => view.answers.iter().filter(|recorded| *recorded == answer).count(),
        InboxRequest::Cancel { .. } => usize::from(view.cancelled),
        InboxRequest::Tell(note) => {
            view.person_notes.iter().filter(|recorded| recorded.note.text == note.text).count()
        }
        InboxRequest::Withdraw(number) => {
            let withdrawn = |note: &&PersonNoteView| note.number == *number && note.is_withdrawn;
            view.person_notes.iter().filter(withdrawn).count()
        }
        InboxRequest::Lend(loan) => view.loans.iter().filter(|recorded| *recorded == loan).count(),
    }
}

/// Waits until a request file is gone, or its reader.
async fn taken(directory: &RunDirectory, file: &Path) -> bool {
    loop {
        if !file.exists() {
            return true;
        }
        if directory.owner().is_none() {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Records a request in place of an owner. Resuming the run performs the effects.
fn record(replayed: ReplayedRun, lock: Lock, request: InboxRequest, clock: Clock) -> Result<(), DriverError> {
    let (run, id) = (replayed.run(), replayed.directory().id());
    if let Some(ending) = run.ending().cloned() {
        return Err(DriverError::Over { run: id.to_owned(), ending });
    }
    let dead = run.busy().next().is_some().then_some(Fact::Reopened);
    let facts: Vec<_> = match request {
        InboxRequest::Answer(answer) => {
            if run.open_gate() != Some(&answer.call) {
                drop(lock);
                return Err(no_gate(&replayed));
            }
            // Do not record a late answer. Resuming and replaying both see that the gate timed out.
            if run.gate_closes().is_some_and(|closes| closes <= clock.now()) {
                return Err(DriverError::GateClosed {
                    run: id.to_owned(),
                    gate: answer.call.stage.to_string(),
                });
            }
            dead.into_iter().chain([Fact::Answered(answer)]).collect()
        }
        // Cancel first, so that dead calls are not restarted.
        InboxRequest::Cancel { by } => [Fact::Cancelled { by }].into_iter().chain(dead).collect(),
        InboxRequest::Tell(note) => {
            let note = addressed(note, run, replayed.workflow());
            dead.into_iter().chain([Fact::Told(note)]).collect()
        }
        InboxRequest::Withdraw(note) => dead.into_iter().chain([Fact::Withdrawn { note }]).collect(),
        InboxRequest::Lend(_) => return Err(not_driven(replayed.directory())),
    };
    let mut session = RunSession::of_replay(replayed.into_parts()?, lock, clock)?;
    session.record_only(facts)
}

/// A request from another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InboxRequest {
    Answer(Answer),
    Cancel { by: String },
    Tell(PersonNote),
    Withdraw(u32),
    Lend(BudgetLoan),
}

/// A request file in an inbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InboxFile {
    pub(crate) path: PathBuf,
    /// The content, or the reason why it is unreadable.
    pub(crate) request: Result<InboxRequest, String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Inbox {
    directory: PathBuf,
    disk: Disk,
}

impl Inbox {
    /// Upper limit for the size of a request file. Every real answer is shorter.
    const MOST: u64 = 256 * 1024;

    pub(crate) fn new(directory: PathBuf, disk: &Disk) -> Self {
        Self { directory, disk: disk.clone() }
    }

    /// Leaves a request for the owner and returns the path of its file.
    pub(crate) fn put(&self, request: &InboxRequest) -> io::Result<PathBuf> {
        let bytes = serde_json::to_vec(request).expect("a request has text keys only");
        // One process can write several files, and several processes can write at once.
        for number in 0_u32.. {
            let name = format!("{}-{number}.json", std::process::id());
            let path = self.directory.join(name);
            if !path.exists() {
                self.disk.replace(&path, &bytes)?;
                return Ok(path);
            }
        }
        unreachable!("some number is free")
    }

    /// Lists the waiting requests in the order of their names. Files still being written do not appear yet.
    pub(crate) fn look(&self) -> io::Result<Vec<InboxFile>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths.into_iter().map(InboxFile::open).collect())
    }

    /// Removes a request file and returns true if it still existed.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<bool> {
        match self.disk.remove(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl InboxFile {
    fn open(path: PathBuf) -> Self {
        let request = Self::read(&path);
        Self { path, request }
    }

    fn read(path: &Path) -> Result<InboxRequest, String> {
        let metadata = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
        if !metadata.is_file() || metadata.len() > Inbox::MOST {
            return Err("it is not a request file".to_owned());
        }
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests;

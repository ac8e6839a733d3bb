//! Talks to a process until it exits or has to be ended.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use saihai_model::{Ask, Failure, FailureClass, Millis, Progress, ProviderName};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::output::{OutputRecorder, RecordedOutput};
use crate::agent::IdleAgentFacts;
use crate::clock::{Clock, Sleep};
use crate::clock::{GracePeriod, StopRequest};
use crate::process::{ProcessPipes, ProcessStatus, ProcessTree, read};
use crate::sandbox::SandboxedStart;

/// Time for a process to exit after it reported the end of the turn (C-59).
const AFTER_DONE: Millis = Millis(10_000);

/// Time to drain pipes after all known writers are dead. After that, an unknown process holds one open.
const REMAINS: Duration = Duration::from_secs(1);

const CHUNK: usize = 64 * 1024;

/// Time limits of a turn.
pub(super) struct TurnDeadlines<'a> {
    pub(super) deadline: Option<Millis>,
    /// Maximum silence while no tool is running.
    pub(super) silence: Option<Millis>,
    /// Time between the request to end and the kill.
    pub(super) grace: &'a GracePeriod,
    pub(super) clock: &'a dyn Clock,
}

#[derive(Debug)]
pub(super) enum ConversationEnd {
    Exited(ProcessStatus),
    Stopped,
    /// The turn exceeded its time limit.
    Deadline(Millis),
    /// The process was silent for too long.
    Silence(Millis),
    /// The process announced a wait and waited too long:
    /// [`AgentListener::pause`](crate::agent::AgentListener::pause).
    Paused,
    /// The process reported the end of the turn but did not exit.
    Lingered,
    /// The turn is over, and the process stays for the next one (C-67).
    Stays,
    /// The process had to be ended immediately.
    Failed(Failure),
}

impl ConversationEnd {
    /// Returns the exit status of a process that exited by itself.
    pub(super) fn status(&self) -> Option<ProcessStatus> {
        match self {
            Self::Exited(status) => Some(*status),
            Self::Stopped
            | Self::Deadline(_)
            | Self::Silence(_)
            | Self::Paused
            | Self::Lingered
            | Self::Stays
            | Self::Failed(_) => None,
        }
    }
}

/// A process and its listener.
pub(super) struct AgentConversation<'a> {
    pub(super) family: ProcessTree,
    pub(super) pipes: ProcessPipes,
    pub(super) hearing: OutputRecorder,
    pub(super) patience: TurnDeadlines<'a>,
    pub(super) progress: &'a (dyn Fn(Progress) + Send + Sync),
}

/// The result of a conversation.
pub(super) struct ConversationResult {
    pub(super) over: ConversationEnd,
    pub(super) heard: RecordedOutput,
    /// Hosts that the sandbox refused during the turn.
    pub(super) refused: Vec<String>,
    /// The process, if it stays. Otherwise nothing of it is left.
    pub(super) stayed: Option<(ProcessTree, ProcessPipes)>,
}

impl AgentConversation<'_> {
    /// Writes `words`, listens until the end of the turn, and ends the process unless it stays.
    pub(super) async fn hold(self, words: Vec<u8>, stop: &CancellationToken) -> ConversationResult {
        let Self {
            mut family,
            pipes: ProcessPipes { input, output, complaints },
            mut hearing,
            patience,
            progress,
        } = self;
        let mut mouth = InputWriter::new(input, words, hearing.is_spoken_with());
        let mut ears = OutputStreams {
            hearing: &mut hearing,
            output: Some(&output),
            complaints: Some(&complaints),
            progress,
        };
        let mut over = talk(&family, &mut ears, &mut mouth, &patience, stop).await;
        if let ConversationEnd::Stays = over {
            // The turn is complete: output after its last line cannot change it.
            let _ = ears.hearing.finish(&mut |news| progress(news));
            let refused = family.take_refused_hosts();
            if let (Some(_), Some(input)) = (ears.output, mouth.into_input()) {
                let pipes = ProcessPipes { input, output, complaints };
                return ConversationResult {
                    over,
                    heard: hearing.into_heard(),
                    refused,
                    stayed: Some((family, pipes)),
                };
            }
            return ConversationResult { over, heard: hearing.into_heard(), refused, stayed: None };
        }
        let mut refused = Vec::new();
        let survivors = if let ConversationEnd::Exited(_) = over {
            refused.extend(family.take_refused_hosts());
            let survivors = family.end().await;
            if let Err(failure) = ears.hear_the_rest().await {
                over = ConversationEnd::Failed(failure);
            }
            survivors
        } else {
            take_leave(&family, &mut ears, &mut mouth, &patience).await;
            // The output limit outlasts the other limits: a turn that floods must not be repeated.
            let is_limit = matches!(
                over,
                ConversationEnd::Deadline(_) | ConversationEnd::Silence(_) | ConversationEnd::Paused
            );
            if let (true, Err(failure)) = (is_limit, ears.hearing.within_limit()) {
                over = ConversationEnd::Failed(failure);
            }
            refused.extend(family.take_refused_hosts());
            family.end().await
        };
        if !survivors.is_empty() {
            hearing.warn(format!("processes it started could not be ended: {survivors:?}"));
        }
        ConversationResult { over, heard: hearing.into_heard(), refused, stayed: None }
    }
}

async fn talk(
    family: &ProcessTree,
    ears: &mut OutputStreams<'_>,
    mouth: &mut InputWriter,
    patience: &TurnDeadlines<'_>,
    stop: &CancellationToken,
) -> ConversationEnd {
    let mut ended = pin!(family.ended());
    let mut limits = DeadlineTimers::new(patience);
    let mut buffers = OutputBuffers::default();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return ConversationEnd::Stopped,
            // Limits come before output, because the pipe of an agent that prints without pause is never empty.
            over = limits.over() => {
                let heard = match ears.hear_what_is_there(&mut buffers) {
                    Ok(heard) => heard,
                    Err(failure) => return ConversationEnd::Failed(failure),
                };
                if heard {
                    limits.renew(ears.hearing);
                }
                let is_over = match over {
                    ConversationEnd::Deadline(_) => !ears.hearing.is_done(),
                    // A program that prints whole messages only may be receiving one.
                    ConversationEnd::Silence(_) => !heard && !limits.is_spoken_to(family.since_received()),
                    ConversationEnd::Paused => !heard,
                    _ => true,
                };
                if is_over {
                    return if family.has_ended() { exited(ended.await) } else { over };
                }
            }
            heard = ears.hear(&mut buffers) => {
                if let Err(failure) = heard {
                    return ConversationEnd::Failed(failure);
                }
                limits.renew(ears.hearing);
            }
            () = mouth.speak() => {}
            status = &mut ended => return exited(status),
        }
        mouth.add(&ears.hearing.take_words());
        if ears.hearing.stays() {
            return ConversationEnd::Stays;
        }
        if ears.hearing.is_done() {
            mouth.close();
        }
    }
}

fn exited(status: io::Result<ProcessStatus>) -> ConversationEnd {
    status.map_or_else(|error| ConversationEnd::Failed(lost(&error)), ConversationEnd::Exited)
}

/// Ends a process gracefully (C-56): first by a request in its own protocol, then by a signal to its group.
async fn take_leave(
    family: &ProcessTree,
    ears: &mut OutputStreams<'_>,
    mouth: &mut InputWriter,
    patience: &TurnDeadlines<'_>,
) {
    let TurnDeadlines { grace, clock, .. } = patience;
    let mut plea = StopRequest::Signal;
    if let Some(words) = ears.hearing.farewell().filter(|_| !ears.hearing.is_done()) {
        mouth.add(&words);
        mouth.close();
        tokio::select! {
            biased;
            _ = family.ended() => return,
            () = ears.overhear() => {}
            () = async { mouth.speak().await; std::future::pending().await } => {}
            () = grace.pass(StopRequest::Words, *clock) => plea = StopRequest::SignalAfterWords,
        }
    }
    family.terminate();
    tokio::select! {
        biased;
        _ = family.ended() => {}
        () = ears.overhear() => {}
        () = grace.pass(plea, *clock) => {}
    }
}

struct DeadlineTimers<'a> {
    patience: &'a TurnDeadlines<'a>,
    whole: Sleep<'a>,
    silence: Sleep<'a>,
    pause: Sleep<'a>,
    is_done: bool,
}

impl<'a> DeadlineTimers<'a> {
    fn new(patience: &'a TurnDeadlines<'a>) -> Self {
        let (whole, silence) = (patience.wait(patience.deadline), patience.wait(patience.silence));
        Self { patience, whole, silence, pause: patience.wait(None), is_done: false }
    }

    fn renew(&mut self, hearing: &OutputRecorder) {
        if self.is_done {
            return;
        }
        self.pause = self.patience.wait(hearing.pause().filter(|_| !hearing.is_done()));
        if hearing.is_done() {
            self.is_done = true;
            self.whole = self.patience.wait(Some(AFTER_DONE));
            self.silence = self.patience.wait(None);
        } else {
            let silence = self.patience.silence.filter(|_| !hearing.is_busy());
            self.silence = self.patience.wait(silence);
        }
    }

    /// Returns true, and restarts the timer, if the program received network data since its last output.
    fn is_spoken_to(&mut self, since_received: Option<Millis>) -> bool {
        let rest =
            self.patience.silence.zip(since_received).map(|(most, since)| most.0.saturating_sub(since.0));
        let Some(rest @ 1..) = rest else { return false };
        self.silence = self.patience.wait(Some(Millis(rest)));
        true
    }

    async fn over(&mut self) -> ConversationEnd {
        let (deadline, silence) = (self.patience.deadline, self.patience.silence);
        tokio::select! {
            biased;
            () = &mut self.whole => match deadline {
                Some(deadline) if !self.is_done => ConversationEnd::Deadline(deadline),
                Some(_) | None => ConversationEnd::Lingered,
            },
            () = &mut self.silence => ConversationEnd::Silence(silence.unwrap_or_default()),
            () = &mut self.pause => ConversationEnd::Paused,
        }
    }
}

impl TurnDeadlines<'_> {
    fn wait(&self, length: Option<Millis>) -> Sleep<'_> {
        match length {
            Some(length) => self.clock.sleep(length),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// The open output streams of a process.
struct OutputStreams<'a> {
    hearing: &'a mut OutputRecorder,
    output: Option<&'a Receiver>,
    complaints: Option<&'a Receiver>,
    progress: &'a (dyn Fn(Progress) + Send + Sync),
}

struct OutputBuffers {
    output: Vec<u8>,
    complaints: Vec<u8>,
}

impl Default for OutputBuffers {
    fn default() -> Self {
        Self { output: vec![0; CHUNK], complaints: vec![0; CHUNK] }
    }
}

/// A read, by its stream and length.
enum OutputRead {
    Output(usize),
    Complaint(usize),
}

impl OutputStreams<'_> {
    /// Waits for the next output and handles it. Dropping the future loses nothing.
    async fn hear(&mut self, buffers: &mut OutputBuffers) -> Result<(), Failure> {
        let tell = &mut |news| (self.progress)(news);
        match self.listen(buffers).await {
            OutputRead::Output(count) => self.hearing.output(&buffers.output[..count], tell),
            OutputRead::Complaint(count) => self.hearing.complaint(&buffers.complaints[..count], tell),
        }
    }

    /// Handles the output that is in the pipes now, and returns true if there was some. One read empties a pipe.
    fn hear_what_is_there(&mut self, buffers: &mut OutputBuffers) -> Result<bool, Failure> {
        // The runtime may not have noticed the output yet, so this asks the kernel.
        let there = |pipe: Option<&Receiver>, buffer: &mut [u8]| match pipe {
            Some(pipe) => rustix::io::read(pipe, buffer).unwrap_or(0),
            None => 0,
        };
        let output = there(self.output, &mut buffers.output);
        let complaint = there(self.complaints, &mut buffers.complaints);
        let tell = &mut |news| (self.progress)(news);
        self.hearing.output(&buffers.output[..output], tell)?;
        self.hearing.complaint(&buffers.complaints[..complaint], tell)?;
        Ok(output > 0 || complaint > 0)
    }

    /// Reads from either stream, standard output first. Never returns once both have ended.
    async fn listen(&mut self, buffers: &mut OutputBuffers) -> OutputRead {
        loop {
            let sound = tokio::select! {
                biased;
                count = read_from(self.output, &mut buffers.output) => OutputRead::Output(count),
                count = read_from(self.complaints, &mut buffers.complaints) => OutputRead::Complaint(count),
            };
            match sound {
                OutputRead::Output(0) => self.output = None,
                OutputRead::Complaint(0) => self.complaints = None,
                OutputRead::Output(_) | OutputRead::Complaint(_) => return sound,
            }
        }
    }

    /// Reads the rest of the pipes after all writers are dead.
    async fn hear_the_rest(&mut self) -> Result<(), Failure> {
        let mut buffers = OutputBuffers::default();
        while self.output.is_some() || self.complaints.is_some() {
            match tokio::time::timeout(REMAINS, self.hear(&mut buffers)).await {
                Ok(heard) => heard?,
                Err(_) => break,
            }
        }
        let tell = &mut |news| (self.progress)(news);
        self.hearing.finish(tell)
    }

    /// Records output while the process is being ended. Never returns.
    async fn overhear(&mut self) {
        let mut buffers = OutputBuffers::default();
        loop {
            if let OutputRead::Output(count) = self.listen(&mut buffers).await {
                self.hearing.overhear(&buffers.output[..count]);
            }
        }
    }
}

/// A pipe that cannot be read has ended.
async fn read_from(pipe: Option<&Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => read(pipe, buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(FailureClass::Crashed, format!("cannot wait for its end: {error}"))
}

/// Standard input, and the text to write.
pub(super) struct InputWriter {
    input: Option<Sender>,
    words: Vec<u8>,
    said: usize,
    stays_open: bool,
}

impl InputWriter {
    pub(super) fn new(input: Sender, words: Vec<u8>, stays_open: bool) -> Self {
        Self { input: Some(input), words, said: 0, stays_open }
    }

    /// Queues text, unless the process has closed its input.
    pub(super) fn add(&mut self, words: &str) {
        self.words.drain(..self.said);
        self.said = 0;
        self.words.extend_from_slice(words.as_bytes());
    }

    pub(super) fn close(&mut self) {
        self.stays_open = false;
        if self.said == self.words.len() {
            self.input = None;
        }
    }

    /// Returns standard input if everything was written and the process still reads.
    pub(super) fn into_input(self) -> Option<Sender> {
        self.input.filter(|_| self.said == self.words.len())
    }

    /// Writes the queued text as fast as the process reads it. Returns only after it closed the input. A
    /// process need not read its input (C-51). After a drop, the next call continues where this one stopped.
    pub(super) async fn speak(&mut self) {
        while let Some(input) = &self.input {
            let rest = &self.words[self.said..];
            if rest.is_empty() {
                if self.stays_open {
                    break;
                }
                self.input = None;
                return;
            }
            let written = match input.writable().await {
                Ok(()) => input.try_write(rest),
                Err(error) => Err(error),
            };
            match written {
                Ok(count) => self.said += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.input = None,
            }
        }
        std::future::pending().await
    }
}

/// A process that stays after a turn, for the next turn of its session. Dropping it ends it.
pub(crate) struct IdleAgent {
    pub(super) provider: ProviderName,
    pub(super) session: String,
    /// Its sandbox, which does not change while it runs.
    pub(crate) sandbox: Option<SandboxedStart>,
    pub(super) known: IdleAgentFacts,
    pub(super) family: ProcessTree,
    pub(super) pipes: ProcessPipes,
}

impl IdleAgent {
    async fn dismiss(self, grace: GracePeriod, clock: Arc<dyn Clock>) {
        let Self { family, pipes, .. } = self;
        drop(pipes);
        family.terminate();
        tokio::select! {
            biased;
            _ = family.ended() => {}
            () = grace.pass(StopRequest::SignalAfterWords, &*clock) => {}
        }
        family.end().await;
    }
}

/// All processes that stay. Attempts add them after their turn, and the owner takes them out again.
pub(crate) struct IdleAgents {
    hand_in: mpsc::UnboundedSender<IdleAgent>,
    handed_in: mpsc::UnboundedReceiver<IdleAgent>,
    waiting: BTreeMap<(ProviderName, String), IdleAgent>,
    /// Processes that are being ended.
    leaving: JoinSet<()>,
    grace: GracePeriod,
    clock: Arc<dyn Clock>,
}

impl IdleAgents {
    pub(crate) fn new(grace: &GracePeriod, clock: &Arc<dyn Clock>) -> Self {
        let (hand_in, handed_in) = mpsc::unbounded_channel();
        Self {
            hand_in,
            handed_in,
            waiting: BTreeMap::new(),
            leaving: JoinSet::new(),
            grace: grace.clone(),
            clock: Arc::clone(clock),
        }
    }

    /// Returns the channel on which attempts add a process.
    pub(crate) fn hand_in(&self) -> mpsc::UnboundedSender<IdleAgent> {
        self.hand_in.clone()
    }

    /// Returns the process for an ask, if there is one and it still runs.
    pub(crate) fn take(&mut self, ask: &Ask) -> Option<IdleAgent> {
        self.take_in();
        let stayed = self.waiting.remove(&(ask.provider.clone(), ask.session.clone()?))?;
        (!stayed.family.has_ended()).then_some(stayed)
    }

    /// Ends processes whose session is over, without waiting for them.
    pub(crate) fn part(&mut self, goes_on: impl Fn(&str) -> bool) {
        self.take_in();
        let over: Vec<_> = self.waiting.keys().filter(|(_, session)| !goes_on(session)).cloned().collect();
        for key in over {
            if let Some(stayed) = self.waiting.remove(&key) {
                self.leaving.spawn(stayed.dismiss(self.grace.clone(), Arc::clone(&self.clock)));
            }
        }
        // Forget the tasks that are done.
        while self.leaving.try_join_next().is_some() {}
    }

    /// Ends all processes and waits for them.
    pub(crate) async fn close(&mut self) {
        self.part(|_| false);
        while self.leaving.join_next().await.is_some() {}
    }

    fn take_in(&mut self) {
        while let Ok(stayed) = self.handed_in.try_recv() {
            let key = (stayed.provider.clone(), stayed.session.clone());
            self.waiting.insert(key, stayed);
        }
    }
}

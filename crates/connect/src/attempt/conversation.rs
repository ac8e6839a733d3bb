//! Talking with a process until it ends, or has to be ended.

use std::io;
use std::pin::pin;
use std::time::Duration;

use saihai_model::{Failure, FailureClass, Millis, Progress};
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

use super::hearing::{Heard, Hearing};
use super::mouth::Mouth;
use crate::clock::{Clock, Sleep};
use crate::process::{Family, Grace, Pipes, Plea, Status, read};

/// How long a process has to exit once it has said that the turn is over (C-59).
const AFTER_DONE: Millis = Millis(10_000);

/// How long pipes are read whose writers are all dead; longer means that somebody we do not know holds one.
const REMAINS: Duration = Duration::from_secs(1);

const CHUNK: usize = 64 * 1024;

/// How long what may take.
pub(super) struct Patience<'a> {
    /// The whole attempt.
    pub(super) deadline: Option<Millis>,
    /// The longest silence while no tool is at work.
    pub(super) silence: Option<Millis>,
    /// Between being asked to end and being ended.
    pub(super) grace: &'a Grace,
    pub(super) clock: &'a dyn Clock,
}

/// Why it is over.
#[derive(Debug)]
pub(super) enum Over {
    /// It ended by itself.
    Exited(Status),
    /// We were stopped.
    Stopped,
    /// It took longer than it may.
    Deadline(Millis),
    /// It was silent for too long.
    Silence(Millis),
    /// It said that it waits, and waited for too long: [`Listener::pause`](crate::agent::Listener::pause).
    Paused,
    /// It had said that the turn is over, and stayed.
    Lingered,
    /// The turn is over, and it is to stay for the next one (C-67).
    Stays,
    /// It had to be ended at once.
    Failed(Failure),
}

impl Over {
    /// With what it ended by itself.
    pub(super) fn status(&self) -> Option<Status> {
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

/// A process and who listens to it.
pub(super) struct Conversation<'a> {
    pub(super) family: Family,
    pub(super) pipes: Pipes,
    pub(super) hearing: Hearing,
    pub(super) patience: Patience<'a>,
    pub(super) progress: &'a (dyn Fn(Progress) + Send + Sync),
}

/// What a conversation has come to.
pub(super) struct Held {
    pub(super) over: Over,
    pub(super) heard: Heard,
    /// The process, where it stays. Otherwise nothing of it is left.
    pub(super) stayed: Option<(Family, Pipes)>,
}

impl Conversation<'_> {
    /// Says `words`, listens to the end of the turn, and leaves nothing of the process behind unless it is to stay.
    pub(super) async fn hold(self, words: Vec<u8>, stop: &CancellationToken) -> Held {
        let Self { family, pipes: Pipes { input, output, complaints }, mut hearing, patience, progress } =
            self;
        let mut mouth = Mouth::new(input, words, hearing.is_spoken_with());
        let mut ears =
            Ears { hearing: &mut hearing, output: Some(&output), complaints: Some(&complaints), progress };
        let mut over = talk(&family, &mut ears, &mut mouth, &patience, stop).await;
        if let Over::Stays = over {
            // The turn stands: what follows its last line is nothing that could change it.
            let _ = ears.hearing.finish(&mut |news| progress(news));
            if let (Some(_), Some(input)) = (ears.output, mouth.into_input()) {
                let pipes = Pipes { input, output, complaints };
                return Held { over, heard: hearing.into_heard(), stayed: Some((family, pipes)) };
            }
            return Held { over, heard: hearing.into_heard(), stayed: None };
        }
        let survivors = if let Over::Exited(_) = over {
            let survivors = family.end().await;
            if let Err(failure) = ears.hear_the_rest().await {
                over = Over::Failed(failure);
            }
            survivors
        } else {
            take_leave(&family, &mut ears, &mut mouth, &patience).await;
            family.end().await
        };
        if !survivors.is_empty() {
            hearing.warn(format!("processes it started could not be ended: {survivors:?}"));
        }
        Held { over, heard: hearing.into_heard(), stayed: None }
    }
}

async fn talk(
    family: &Family,
    ears: &mut Ears<'_>,
    mouth: &mut Mouth,
    patience: &Patience<'_>,
    stop: &CancellationToken,
) -> Over {
    let mut ended = pin!(family.ended());
    let mut limits = Limits::new(patience);
    let mut buffers = Buffers::default();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Over::Stopped,
            heard = ears.hear(&mut buffers) => {
                if let Err(failure) = heard {
                    return Over::Failed(failure);
                }
                limits.renew(ears.hearing);
                mouth.add(&ears.hearing.take_words());
                if ears.hearing.stays() {
                    return Over::Stays;
                }
                if ears.hearing.is_done() {
                    mouth.close();
                }
            }
            () = mouth.speak() => {}
            status = &mut ended => return status.map_or_else(|error| Over::Failed(lost(&error)), Over::Exited),
            over = limits.over() => {
                // It may print whole messages only, and one is on its way.
                let is_silence = matches!(over, Over::Silence(_));
                if !(is_silence && limits.is_spoken_to(family.since_received())) {
                    return over;
                }
            }
        }
    }
}

/// Ends a process the polite way first (C-56): in its own words where it has some, then by a signal to its group.
async fn take_leave(family: &Family, ears: &mut Ears<'_>, mouth: &mut Mouth, patience: &Patience<'_>) {
    let Patience { grace, clock, .. } = patience;
    let mut plea = Plea::Signal;
    if let Some(words) = ears.hearing.farewell().filter(|_| !ears.hearing.is_done()) {
        mouth.add(&words);
        mouth.close();
        tokio::select! {
            biased;
            _ = family.ended() => return,
            () = ears.overhear() => {}
            () = async { mouth.speak().await; std::future::pending().await } => {}
            () = grace.pass(Plea::Words, *clock) => plea = Plea::SignalAfterWords,
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

/// The times that are running.
struct Limits<'a> {
    patience: &'a Patience<'a>,
    whole: Sleep<'a>,
    silence: Sleep<'a>,
    pause: Sleep<'a>,
    is_done: bool,
}

impl<'a> Limits<'a> {
    fn new(patience: &'a Patience<'a>) -> Self {
        let (whole, silence) = (patience.wait(patience.deadline), patience.wait(patience.silence));
        Self { patience, whole, silence, pause: patience.wait(None), is_done: false }
    }

    /// Something was heard.
    fn renew(&mut self, hearing: &Hearing) {
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

    /// Waits on where the program itself was sent data since it became silent.
    fn is_spoken_to(&mut self, since_received: Option<Millis>) -> bool {
        let rest =
            self.patience.silence.zip(since_received).map(|(most, since)| most.0.saturating_sub(since.0));
        let Some(rest @ 1..) = rest else { return false };
        self.silence = self.patience.wait(Some(Millis(rest)));
        true
    }

    async fn over(&mut self) -> Over {
        let (deadline, silence) = (self.patience.deadline, self.patience.silence);
        tokio::select! {
            biased;
            () = &mut self.whole => match deadline {
                Some(deadline) if !self.is_done => Over::Deadline(deadline),
                Some(_) | None => Over::Lingered,
            },
            () = &mut self.silence => Over::Silence(silence.unwrap_or_default()),
            () = &mut self.pause => Over::Paused,
        }
    }
}

impl Patience<'_> {
    fn wait(&self, length: Option<Millis>) -> Sleep<'_> {
        match length {
            Some(length) => self.clock.sleep(length),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// Both streams of a process, as far as they are open.
struct Ears<'a> {
    hearing: &'a mut Hearing,
    output: Option<&'a Receiver>,
    complaints: Option<&'a Receiver>,
    progress: &'a (dyn Fn(Progress) + Send + Sync),
}

struct Buffers {
    output: Vec<u8>,
    complaints: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { output: vec![0; CHUNK], complaints: vec![0; CHUNK] }
    }
}

/// What was read into which buffer.
enum Sound {
    Output(usize),
    Complaint(usize),
}

impl Ears<'_> {
    /// Waits for the next sound and tells it. Nothing is lost when it is dropped.
    async fn hear(&mut self, buffers: &mut Buffers) -> Result<(), Failure> {
        let tell = &mut |news| (self.progress)(news);
        match self.listen(buffers).await {
            Sound::Output(count) => self.hearing.output(&buffers.output[..count], tell),
            Sound::Complaint(count) => self.hearing.complaint(&buffers.complaints[..count], tell),
        }
    }

    /// Reads from whichever stream has something, the first one first; never returns once both have ended.
    async fn listen(&mut self, buffers: &mut Buffers) -> Sound {
        loop {
            let sound = tokio::select! {
                biased;
                count = read_from(self.output, &mut buffers.output) => Sound::Output(count),
                count = read_from(self.complaints, &mut buffers.complaints) => Sound::Complaint(count),
            };
            match sound {
                Sound::Output(0) => self.output = None,
                Sound::Complaint(0) => self.complaints = None,
                Sound::Output(_) | Sound::Complaint(_) => return sound,
            }
        }
    }

    /// All writers are dead: what is left in the pipes is heard too.
    async fn hear_the_rest(&mut self) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        while self.output.is_some() || self.complaints.is_some() {
            match tokio::time::timeout(REMAINS, self.hear(&mut buffers)).await {
                Ok(heard) => heard?,
                Err(_) => break,
            }
        }
        let tell = &mut |news| (self.progress)(news);
        self.hearing.finish(tell)
    }

    /// Keeps what is printed while it is being ended. It goes on for ever.
    async fn overhear(&mut self) {
        let mut buffers = Buffers::default();
        loop {
            if let Sound::Output(count) = self.listen(&mut buffers).await {
                self.hearing.overhear(&buffers.output[..count]);
            }
        }
    }
}

/// A pipe that cannot be read any more has ended.
async fn read_from(pipe: Option<&Receiver>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => read(pipe, buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::new(FailureClass::Crashed, format!("its end could not be waited for: {error}"))
}

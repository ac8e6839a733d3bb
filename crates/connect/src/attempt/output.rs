//! Records the output of a process in a file and passes it to the agent's listener line by line.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai_model::{Ask, CallId, Failure, FailureClass, Millis, Progress, TurnLimit};

use super::lines::{LineSplitter, OutputLine};
use super::{lines, unwritten};
use crate::agent::{AgentListener, ListenerStep};
use crate::redact::{Redaction, Redactor};

/// Maximum size of standard output (C-52).
pub(super) const LIMIT: u64 = 256 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) type Tell<'a> = &'a mut dyn FnMut(Progress);

pub(super) struct OutputRecorder {
    listener: Box<dyn AgentListener>,
    /// Listens after the end of the turn, only to detect a second end (C-59).
    afterwards: Box<dyn AgentListener>,
    transcript: TurnTranscript,
    output: LineSplitter,
    output_redaction: Redaction,
    complaint_lines: LineSplitter,
    complaint_redaction: Redaction,
    complaints: ErrorOutput,
    received: u64,
    done: bool,
    to_say: String,
    warnings: Vec<String>,
    spoken: CallCounter,
}

pub(super) struct RecordedOutput {
    pub(super) listener: Box<dyn AgentListener>,
    pub(super) complaints: String,
    /// The program reported the end of the turn.
    pub(super) done: bool,
    pub(super) warnings: Vec<String>,
    /// The program printed nothing at all.
    pub(super) silent: bool,
    /// The last message so far.
    pub(super) said: Option<String>,
}

impl OutputRecorder {
    pub(super) fn new(
        listener: Box<dyn AgentListener>,
        afterwards: Box<dyn AgentListener>,
        transcript: TurnTranscript,
        redactor: &Arc<Redactor>,
    ) -> Self {
        Self {
            listener,
            afterwards,
            transcript,
            output: LineSplitter::default(),
            output_redaction: redactor.stream(),
            complaint_lines: LineSplitter::default(),
            complaint_redaction: redactor.stream(),
            complaints: ErrorOutput::default(),
            received: 0,
            done: false,
            to_say: String::new(),
            warnings: Vec::new(),
            spoken: CallCounter::default(),
        }
    }

    /// Limits the number of model calls.
    pub(super) fn at_most(mut self, calls: Option<u32>) -> Self {
        self.spoken = CallCounter::new(calls);
        self
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn is_busy(&self) -> bool {
        self.listener.is_busy()
    }

    pub(super) fn pause(&self) -> Option<Millis> {
        self.listener.pause()
    }

    pub(super) fn is_spoken_with(&self) -> bool {
        self.listener.is_spoken_with()
    }

    /// Returns true if the turn is over and the process stays for the next one.
    pub(super) fn stays(&self) -> bool {
        self.done && self.listener.stays().is_some()
    }

    pub(super) fn farewell(&mut self) -> Option<String> {
        self.listener.farewell()
    }

    /// Returns the text to send since the last call.
    pub(super) fn take_words(&mut self) -> String {
        std::mem::take(&mut self.to_say)
    }

    /// Handles bytes from standard output.
    pub(super) fn output(&mut self, bytes: &[u8], tell: Tell<'_>) -> Result<(), Failure> {
        self.count(bytes)?;
        let mut clean = Vec::with_capacity(bytes.len());
        self.output_redaction.push(bytes, &mut clean);
        self.clean_output(&clean, tell)
    }

    fn clean_output(&mut self, bytes: &[u8], tell: Tell<'_>) -> Result<(), Failure> {
        self.keep(bytes)?;
        let mut lines = std::mem::take(&mut self.output);
        let mut said = Ok(());
        lines.push(bytes, |line| {
            if said.is_ok() {
                said = self.line(&line, tell);
            }
        });
        self.output = lines;
        said
    }

    /// Handles bytes from standard error.
    pub(super) fn complaint(&mut self, bytes: &[u8], tell: Tell<'_>) -> Result<(), Failure> {
        let mut clean = Vec::with_capacity(bytes.len());
        self.complaint_redaction.push(bytes, &mut clean);
        self.clean_complaint(&clean, tell)
    }

    fn clean_complaint(&mut self, bytes: &[u8], tell: Tell<'_>) -> Result<(), Failure> {
        self.complaints.push(bytes);
        let mut lines = std::mem::take(&mut self.complaint_lines);
        let mut said = Ok(());
        lines.push(bytes, |line| {
            if said.is_ok() {
                said = self.complaint_line(&line, tell);
            }
        });
        self.complaint_lines = lines;
        said
    }

    /// Records output while the process is being ended, without the listener.
    pub(super) fn overhear(&mut self, bytes: &[u8]) {
        let mut clean = Vec::with_capacity(bytes.len());
        self.output_redaction.push(bytes, &mut clean);
        // The turn is over. A disk that is full now changes nothing, and `within_limit` reports a flood.
        let _ = self.count(bytes).and_then(|()| self.keep(&clean));
    }

    /// Handles the rest after both streams have ended: a last line without a line end.
    pub(super) fn finish(&mut self, tell: Tell<'_>) -> Result<(), Failure> {
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        self.output_redaction.finish(&mut output);
        self.clean_output(&output, tell)?;
        self.complaint_redaction.finish(&mut complaint);
        self.clean_complaint(&complaint, tell)?;
        let mut said = Ok(());
        let mut lines = std::mem::take(&mut self.output);
        lines.finish(|line| said = self.line(&line, tell));
        let mut lines = std::mem::take(&mut self.complaint_lines);
        lines.finish(|line| {
            if said.is_ok() {
                said = self.complaint_line(&line, tell);
            }
        });
        said
    }

    /// Adds a warning for the user.
    pub(super) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    pub(super) fn into_heard(self) -> RecordedOutput {
        RecordedOutput {
            listener: self.listener,
            complaints: self.complaints.into_text(),
            done: self.done,
            warnings: self.warnings,
            silent: self.received == 0,
            said: self.spoken.into_said(),
        }
    }

    fn count(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.received += bytes.len() as u64;
        self.within_limit()
    }

    /// Returns a failure if standard output was longer than its limit (C-52).
    pub(super) fn within_limit(&self) -> Result<(), Failure> {
        if self.received <= LIMIT {
            return Ok(());
        }
        let message = format!("output limit: it printed more than {} MiB", LIMIT >> 20);
        Err(Failure::new(FailureClass::Crashed, message))
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.transcript.append(bytes).map_err(|error| self.not_kept(&error))
    }

    fn not_kept(&self, error: &io::Error) -> Failure {
        unwritten(self.transcript.path(), error)
    }

    fn line(&mut self, line: &OutputLine<'_>, tell: Tell<'_>) -> Result<(), Failure> {
        match line {
            OutputLine::Whole(line) => {
                let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
                self.tell_line(&String::from_utf8_lossy(line), tell)
            }
            OutputLine::Long { from, length } => self.long_line(*from, *length, tell),
        }
    }

    /// Reads a line from the transcript that was too long for memory.
    fn long_line(&mut self, from: u64, length: u64, tell: Tell<'_>) -> Result<(), Failure> {
        let read = self.transcript.read(from, length, |file| lines::condense(file));
        match read.map_err(|error| self.not_kept(&error))? {
            Some(condensed) => {
                if condensed.was_cut {
                    self.warnings.push(format!(
                        "a line of {length} bytes was cut where a text in it was too long; all of it is in {}",
                        self.transcript.path().display()
                    ));
                }
                self.tell_line(&condensed.line, tell)
            }
            None => self.in_parts(from, length, tell),
        }
    }

    /// Passes on text that is not JSON in parts. Only the last part has a line end.
    fn in_parts(&mut self, mut from: u64, length: u64, tell: Tell<'_>) -> Result<(), Failure> {
        let end = from + length;
        let mut rest = Vec::new();
        while from < end {
            let part = (lines::LONGEST as u64).min(end - from);
            let read = self.transcript.read(from, part, |file| file.read_to_end(&mut rest));
            read.map_err(|error| self.not_kept(&error))?;
            from += part;
            let whole = if from < end { lines::whole_characters(&rest) } else { rest.len() };
            let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
            rest.drain(..whole);
            self.tell_line(&text, tell)?;
        }
        Ok(())
    }

    fn tell_line(&mut self, line: &str, tell: Tell<'_>) -> Result<(), Failure> {
        if self.done {
            if matches!(self.afterwards.output(line, &mut |_| {}), ListenerStep::Done) {
                self.warnings.push("it ended its turn twice; the second end was ignored".to_owned());
            }
            return Ok(());
        }
        self.follow(|listener, tell| listener.output(line, tell), tell)
    }

    fn complaint_line(&mut self, line: &OutputLine<'_>, tell: Tell<'_>) -> Result<(), Failure> {
        match line {
            OutputLine::Whole(line) if !self.done => {
                let line = String::from_utf8_lossy(line);
                self.follow(|listener, tell| listener.complaint(&line, tell), tell)
            }
            // No message is that long.
            OutputLine::Whole(_) | OutputLine::Long { .. } => Ok(()),
        }
    }

    fn follow(
        &mut self,
        hear: impl FnOnce(&mut dyn AgentListener, Tell<'_>) -> ListenerStep,
        tell: Tell<'_>,
    ) -> Result<(), Failure> {
        let spoken = &mut self.spoken;
        let next = hear(&mut *self.listener, &mut |progress| {
            spoken.hear(&progress);
            tell(progress);
        });
        match (next, self.spoken.exceeded()) {
            // The limit does not apply to a turn that has just ended.
            (ListenerStep::GoOn | ListenerStep::Say(_), Some(failure)) => Err(failure),
            (next, _) => self.go_on(next),
        }
    }

    fn go_on(&mut self, next: ListenerStep) -> Result<(), Failure> {
        match next {
            ListenerStep::GoOn => Ok(()),
            ListenerStep::Say(words) => {
                self.to_say.push_str(&words);
                Ok(())
            }
            ListenerStep::Done => {
                self.done = true;
                Ok(())
            }
            ListenerStep::Abort(failure) => Err(failure),
        }
    }
}

/// The file and its length.
pub(super) struct TurnTranscript {
    file: File,
    path: PathBuf,
    length: u64,
}

impl TurnTranscript {
    /// Creates the file of an attempt. It replaces a file that a crashed process left for the same attempt.
    pub(super) fn create(ask: &Ask) -> io::Result<Self> {
        let path = transcript_of(ask);
        let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&path)?;
        Ok(Self { file, path, length: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Reads a part of the file, then returns to its end.
    pub(super) fn read<T>(
        &mut self,
        from: u64,
        length: u64,
        reader: impl FnOnce(&mut dyn io::Read) -> io::Result<T>,
    ) -> io::Result<T> {
        self.file.seek(SeekFrom::Start(from))?;
        let read = reader(&mut (&self.file).take(length));
        self.file.seek(SeekFrom::Start(self.length))?;
        read
    }
}

pub(crate) fn transcript_of(ask: &Ask) -> PathBuf {
    Path::new(&ask.scratch).join(name(&ask.call, ask.attempt))
}

/// Builds a file name from the call and the attempt, in characters that every file system allows. Other
/// characters are escaped, so that two calls never share a file.
fn name(call: &CallId, attempt: u32) -> String {
    const LONGEST: usize = 120;
    let mut name = String::new();
    for byte in call.stage.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > LONGEST {
        name.truncate(LONGEST);
        name.push('~');
    }
    format!("{name}.{}.{}.{}-{attempt}.out", call.visit, call.round, call.n)
}

/// Maximum length of the first part, and of the last part (C-52).
const KEPT: usize = 64 * 1024;

/// The first and the last part of a stream.
#[derive(Debug, Default)]
pub(super) struct ErrorOutput {
    first: Vec<u8>,
    /// Grows to twice the limit, so that not every read moves it.
    last: Vec<u8>,
    left_out: u64,
}

impl ErrorOutput {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.first.len()));
        self.first.extend_from_slice(first);
        self.last.extend_from_slice(rest);
        if self.last.len() > 2 * KEPT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
        self.left_out += over as u64;
    }

    /// Returns both parts, with a line between them if something was dropped.
    pub(super) fn into_text(mut self) -> String {
        self.cut();
        let first = String::from_utf8_lossy(&self.first);
        let last = String::from_utf8_lossy(&self.last);
        match self.left_out {
            0 => format!("{first}{last}"),
            left_out => format!("{first}\n[… {left_out} bytes left out …]\n{last}"),
        }
    }
}

/// Maximum length of the kept text; the end is kept.
const LONGEST: usize = 1024 * 1024;

/// Messages and model calls. One call covers every message and tool start up to the first tool result.
#[derive(Debug, Default)]
pub(super) struct CallCounter {
    most: Option<u32>,
    calls: u32,
    /// The current call is not complete.
    is_open: bool,
    said: String,
}

impl CallCounter {
    pub(super) fn new(most: Option<u32>) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn hear(&mut self, progress: &Progress) {
        match progress {
            Progress::Text(text) => {
                self.begin();
                self.said.push_str(text);
                self.shorten();
            }
            Progress::ToolStarted(_) => self.begin(),
            Progress::ToolFinished(_) => self.is_open = false,
            Progress::Retrying(_) | Progress::Denied(_) => {}
        }
    }

    /// Returns the failure for a turn with too many model calls.
    pub(super) fn exceeded(&self) -> Option<Failure> {
        let most = self.most.filter(|most| self.calls > *most)?;
        let message = format!("the model was called more than {most} times");
        let failure = Failure::new(FailureClass::BadRequest, message);
        Some(Failure { limit: Some(TurnLimit::Calls), ..failure })
    }

    /// Returns the text of the last call.
    pub(super) fn into_said(self) -> Option<String> {
        Some(self.said).filter(|said| !said.trim().is_empty())
    }

    fn begin(&mut self) {
        if !self.is_open {
            self.calls = self.calls.saturating_add(1);
            self.is_open = true;
            self.said.clear();
        }
    }

    /// Cuts the text. It may grow to twice the limit, so that not every word moves all of it.
    fn shorten(&mut self) {
        if self.said.len() > 2 * LONGEST {
            let surplus = self.said.len() - LONGEST;
            let from = (surplus..).find(|at| self.said.is_char_boundary(*at)).unwrap_or_default();
            self.said.drain(..from);
        }
    }
}

#[cfg(test)]
mod tests {
    mod complaints {
        use super::super::*;

        // C-52
        #[test]
        fn the_first_and_the_last_are_kept() {
            let mut complaints = ErrorOutput::default();
            complaints.push(b"one\n");
            complaints.push(&vec![b'x'; KEPT]);
            assert_eq!(complaints.last.len(), 4);
            for _ in 0..100 {
                complaints.push(&vec![b'y'; KEPT / 2]);
            }
            complaints.push(b"\nthe end\n");
            let text = complaints.into_text();
            assert!(text.starts_with("one\nxxx") && text.ends_with("yyy\nthe end\n"), "{text:.80}");
            let left_out = 4 + 50 * KEPT + 9 - KEPT;
            assert!(text.contains(&format!("\n[… {left_out} bytes left out …]\n")), "{left_out}");
            assert!(text.len() < 2 * KEPT + 100);
        }

        #[test]
        fn a_short_one_is_whole_even_where_it_is_no_text() {
            let mut complaints = ErrorOutput::default();
            complaints.push(b"a\xff");
            complaints.push(b"b");
            assert_eq!(complaints.into_text(), "a\u{fffd}b");
        }
    }

    mod spoken {
        use super::super::*;

        fn heard(most: u32, news: &[&str]) -> (Option<String>, Option<String>) {
            let mut spoken = CallCounter::new(Some(most));
            for one in news {
                let name = || "Read".to_owned();
                spoken.hear(&match *one {
                    ">" => Progress::ToolStarted(name()),
                    "<" => Progress::ToolFinished(name()),
                    "!" => Progress::Denied(name()),
                    text => Progress::Text(text.to_owned()),
                });
            }
            let exceeded = spoken.exceeded();
            assert!(exceeded.iter().all(|failure| failure.limit == Some(TurnLimit::Calls)));
            (spoken.into_said(), exceeded.map(|failure| failure.message))
        }

        // Calls are counted for programs without a limit of their own
        #[test]
        fn a_call_lasts_until_a_tool_comes_back() {
            let once = ["I ", "look.", ">", ">", "!", "<", "<"];
            assert_eq!(heard(1, &once), (Some("I look.".to_owned()), None));
            let twice = [&once[..], &["It ", "leaks."]].concat();
            assert_eq!(heard(2, &twice), (Some("It leaks.".to_owned()), None));
            let too_often =
                (Some("It leaks.".to_owned()), Some("the model was called more than 1 times".to_owned()));
            assert_eq!(heard(1, &twice), too_often);
            assert_eq!(heard(1, &[">", "<", ">"]).0, None);
            assert_eq!(heard(3, &[]), (None, None));
        }

        #[test]
        fn of_very_much_the_end_is_held() {
            let mut spoken = CallCounter::new(None);
            for _ in 0..40_000 {
                spoken.hear(&Progress::Text("\u{6f22}".repeat(50)));
            }
            spoken.hear(&Progress::Text("end".to_owned()));
            assert!(spoken.said.len() <= 2 * LONGEST && spoken.said.ends_with("\u{6f22}end"));
        }
    }
}

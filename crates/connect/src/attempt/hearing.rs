//! Records the output of a process in a file and passes it to the agent's listener line by line.

use std::io;
use std::sync::Arc;

use saihai_model::{Failure, FailureClass, Millis, Progress};

use super::complaints::Complaints;
use super::lines::{self, Line, Lines};
use super::long_line;
use super::spoken::Spoken;
use super::transcript::Transcript;
use super::unwritten;
use crate::agent::{Listener, Next};
use crate::redact::{Redaction, Redactor};

/// Maximum size of standard output (C-52).
pub(super) const LIMIT: u64 = 256 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) type Tell<'a> = &'a mut dyn FnMut(Progress);

pub(super) struct Hearing {
    listener: Box<dyn Listener>,
    /// Listens after the end of the turn, only to detect a second end (C-59).
    afterwards: Box<dyn Listener>,
    transcript: Transcript,
    output: Lines,
    output_redaction: Redaction,
    complaint_lines: Lines,
    complaint_redaction: Redaction,
    complaints: Complaints,
    received: u64,
    done: bool,
    to_say: String,
    warnings: Vec<String>,
    spoken: Spoken,
}

pub(super) struct Heard {
    pub(super) listener: Box<dyn Listener>,
    pub(super) complaints: String,
    /// The program reported the end of the turn.
    pub(super) done: bool,
    pub(super) warnings: Vec<String>,
    /// The program printed nothing at all.
    pub(super) silent: bool,
    /// The last message so far.
    pub(super) said: Option<String>,
}

impl Hearing {
    pub(super) fn new(
        listener: Box<dyn Listener>,
        afterwards: Box<dyn Listener>,
        transcript: Transcript,
        redactor: &Arc<Redactor>,
    ) -> Self {
        Self {
            listener,
            afterwards,
            transcript,
            output: Lines::default(),
            output_redaction: redactor.stream(),
            complaint_lines: Lines::default(),
            complaint_redaction: redactor.stream(),
            complaints: Complaints::default(),
            received: 0,
            done: false,
            to_say: String::new(),
            warnings: Vec::new(),
            spoken: Spoken::default(),
        }
    }

    /// Limits the number of model calls.
    pub(super) fn at_most(mut self, calls: Option<u32>) -> Self {
        self.spoken = Spoken::new(calls);
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
        // The turn is over and its reason is known, so an error here is ignored.
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

    pub(super) fn into_heard(self) -> Heard {
        Heard {
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

    fn line(&mut self, line: &Line<'_>, tell: Tell<'_>) -> Result<(), Failure> {
        match line {
            Line::Whole(line) => {
                let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
                self.tell_line(&String::from_utf8_lossy(line), tell)
            }
            Line::Long { from, length } => self.long_line(*from, *length, tell),
        }
    }

    /// Reads a line from the transcript that was too long for memory.
    fn long_line(&mut self, from: u64, length: u64, tell: Tell<'_>) -> Result<(), Failure> {
        let read = self.transcript.read(from, length, |file| long_line::condense(file));
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
            let whole = if from < end { long_line::whole_characters(&rest) } else { rest.len() };
            let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
            rest.drain(..whole);
            self.tell_line(&text, tell)?;
        }
        Ok(())
    }

    fn tell_line(&mut self, line: &str, tell: Tell<'_>) -> Result<(), Failure> {
        if self.done {
            if matches!(self.afterwards.output(line, &mut |_| {}), Next::Done) {
                self.warnings.push("it ended its turn twice; the second end was ignored".to_owned());
            }
            return Ok(());
        }
        self.follow(|listener, tell| listener.output(line, tell), tell)
    }

    fn complaint_line(&mut self, line: &Line<'_>, tell: Tell<'_>) -> Result<(), Failure> {
        match line {
            Line::Whole(line) if !self.done => {
                let line = String::from_utf8_lossy(line);
                self.follow(|listener, tell| listener.complaint(&line, tell), tell)
            }
            // No message is that long.
            Line::Whole(_) | Line::Long { .. } => Ok(()),
        }
    }

    fn follow(
        &mut self,
        hear: impl FnOnce(&mut dyn Listener, Tell<'_>) -> Next,
        tell: Tell<'_>,
    ) -> Result<(), Failure> {
        let spoken = &mut self.spoken;
        let next = hear(&mut *self.listener, &mut |progress| {
            spoken.hear(&progress);
            tell(progress);
        });
        match (next, self.spoken.exceeded()) {
            // The limit does not apply to a turn that has just ended.
            (Next::GoOn | Next::Say(_), Some(failure)) => Err(failure),
            (next, _) => self.go_on(next),
        }
    }

    fn go_on(&mut self, next: Next) -> Result<(), Failure> {
        match next {
            Next::GoOn => Ok(()),
            Next::Say(words) => {
                self.to_say.push_str(&words);
                Ok(())
            }
            Next::Done => {
                self.done = true;
                Ok(())
            }
            Next::Abort(failure) => Err(failure),
        }
    }
}

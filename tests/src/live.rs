use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;
use crate::invocation::WATCHDOG;

/// A running invocation. Dropping it kills the process.
#[derive(Debug)]
pub struct Live {
    shown: String,
    child: Child,
    stdin: Option<ChildStdin>,
    output: Lines,
    errors: Lines,
}

/// Output of one stream, line by line.
#[derive(Debug)]
struct Lines {
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Lines {
    fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
        Self { lines, seen: Vec::new() }
    }

    fn wait_for(&mut self, part: &str, shown: &str) -> String {
        let begun = Instant::now();
        loop {
            let left = WATCHDOG.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(part) {
                        return line.trim_end_matches('\n').to_owned();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("`{shown}` never wrote {part:?}: {:#?}", self.seen)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("`{shown}` ended without {part:?}: {:#?}", self.seen)
                }
            }
        }
    }

    /// Returns the complete output after the stream ends.
    fn all(&mut self, shown: &str) -> String {
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(WATCHDOG.saturating_sub(begun.elapsed())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.seen.concat(),
                Err(RecvTimeoutError::Timeout) => panic!("`{shown}` hangs: {:#?}", self.seen),
            }
        }
    }
}

impl Live {
    pub(crate) fn new(shown: String, mut child: Child) -> Self {
        let stdin = child.stdin.take();
        let output = Lines::of(child.stdout.take().expect("it is a pipe"));
        let errors = Lines::of(child.stderr.take().expect("it is a pipe"));
        Self { shown, child, stdin, output, errors }
    }

    /// Waits for a stdout line that contains `part`.
    pub fn wait_for(&mut self, part: &str) -> String {
        self.output.wait_for(part, &self.shown)
    }

    pub fn wait_for_note(&mut self, part: &str) -> String {
        self.errors.wait_for(part, &self.shown)
    }

    /// Writes a line to stdin. A process that does not read it fails the test elsewhere.
    pub fn send_line(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            drop(stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush()));
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal to our own child");
    }

    pub fn finish(mut self) -> Outcome {
        drop(self.stdin.take());
        let stdout = self.output.all(&self.shown);
        let stderr = self.errors.all(&self.shown);
        let status = self.child.wait().expect("its end");
        Outcome { call: self.shown.clone(), code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

//! A call that is still going on.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;
use crate::invocation::WATCHDOG;

/// A call that is still going on. Dropping it kills it.
#[derive(Debug)]
pub struct Live {
    shown: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
    errors: Option<JoinHandle<String>>,
}

impl Live {
    pub(crate) fn new(shown: String, mut child: Child) -> Self {
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it is a pipe");
        let mut stderr = child.stderr.take().expect("it is a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            drop(stderr.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { shown, child, stdin, lines, seen: Vec::new(), errors: Some(errors) }
    }

    /// Waits until it writes a line that contains this.
    ///
    /// # Panics
    /// It ends without one, or hangs.
    pub fn wait_for(&mut self, part: &str) -> String {
        let begun = Instant::now();
        loop {
            let left = WATCHDOG.saturating_sub(begun.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("`{}` never wrote {part:?}: {:#?}", self.shown, self.seen)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("`{}` ended without {part:?}: {:#?}", self.shown, self.seen)
                }
            }
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// It cannot be sent.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal to our own child");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It hangs.
    pub fn finish(mut self) -> Outcome {
        drop(self.stdin.take());
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(WATCHDOG.saturating_sub(begun.elapsed())) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("`{}` hangs: {:#?}", self.shown, self.seen),
            }
        }
        let status = self.child.wait().expect("its end");
        let stderr = self.errors.take().expect("only taken here").join().expect("the reader of stderr");
        let stdout = self.seen.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        Outcome { call: self.shown.clone(), code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

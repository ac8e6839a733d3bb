//! Git while it runs: how long it may, and how it is ended.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::Error;

/// The longest that git has for anything. Nobody can see from outside whether a git that is silent goes on, so this is more than the
/// first fetch of a great repository takes. What git is known to wait for in vain is refused before it is started.
const LONGEST: Duration = Duration::from_secs(3_600);
/// How soon a git hears that everything is to end.
const LOOK: Duration = Duration::from_millis(50);
/// How long it is waited for those that were ended.
const GRACE: Duration = Duration::from_secs(2);

/// Everything is to end at once. Of the process, as the signal that says so is.
static ENDING: AtomicBool = AtomicBool::new(false);
static RUNNING: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// In a group of its own, which is ended whole: what git has started does not go on without it.
    Apart,
    /// Where it can ask the person something.
    AtTerminal,
}

/// Ends every git that this process runs, with all that it started, and lets none begin any more.
pub fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
    let end = Instant::now() + GRACE;
    while RUNNING.load(Ordering::SeqCst) > 0 && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
}

/// Runs git, with something to read or nothing.
pub fn run(git: &mut Command, named: &str, input: Option<&[u8]>, seat: Seat) -> Result<Output, Error> {
    run_within(git, named, input, seat, LONGEST)
}

fn run_within(
    git: &mut Command,
    named: &str,
    input: Option<&[u8]>,
    seat: Seat,
    longest: Duration,
) -> Result<Output, Error> {
    let _counted = Counted::new();
    git.stdin(input.map_or_else(Stdio::null, |_| Stdio::piped()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if seat == Seat::Apart {
        git.process_group(0);
    }
    let mut child = git.spawn().map_err(Error::Missing)?;
    let pipe = child.stdin.take();
    let watched = Watched { process: Pid::from_child(&child), seat, until: Instant::now() + longest };
    let (over, ended) = channel::<()>();
    std::thread::scope(|scope| {
        if let (Some(mut pipe), Some(input)) = (pipe, input) {
            // A child that stops reading says why on its own.
            scope.spawn(move || pipe.write_all(input).ok());
        }
        let watch = scope.spawn(move || watched.watch(&ended));
        let output = Child::wait_with_output(child);
        drop(over);
        match watch.join().unwrap_or_default() {
            Some(why) => Err(Error::Ended { command: named.to_owned(), why }),
            None => output.map_err(Error::Missing),
        }
    })
}

/// Runs git and has what it says read while it says it, as far as somebody wants to hear it; then it is ended.
pub fn stream<T>(
    git: &mut Command,
    named: &'static str,
    input: &[u8],
    read: impl FnOnce(ChildStdout) -> io::Result<T>,
) -> Result<T, Error> {
    stream_within(git, named, input, read, LONGEST)
}

fn stream_within<T>(
    git: &mut Command,
    named: &'static str,
    input: &[u8],
    read: impl FnOnce(ChildStdout) -> io::Result<T>,
    longest: Duration,
) -> Result<T, Error> {
    let _counted = Counted::new();
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = git.spawn().map_err(Error::Missing)?;
    let mut pipe = child.stdin.take().expect("its input is a pipe");
    let said = child.stdout.take().expect("its output is a pipe");
    let process = Pid::from_child(&child);
    let watched = Watched { process, seat: Seat::Apart, until: Instant::now() + longest };
    let (over, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || pipe.write_all(input).ok());
        let watch = scope.spawn(move || watched.watch(&ended));
        let found = read(said);
        drop(over);
        let why = watch.join().unwrap_or_default();
        // Whatever it has not said yet is not needed. It may have ended by itself.
        kill_process_group(process, Signal::KILL).unwrap_or(());
        child.wait().map_err(Error::Missing)?;
        match why {
            Some(why) => Err(Error::Ended { command: named.to_owned(), why }),
            None => found.map_err(|_| Error::Unreadable { command: named }),
        }
    })
}

/// One git that runs, as long as this is there.
struct Counted;

impl Counted {
    fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A git that is ended when its time is over.
struct Watched {
    process: Pid,
    seat: Seat,
    until: Instant,
}

impl Watched {
    /// Waits until it has ended by itself, or ends it and says why.
    fn watch(&self, ended: &Receiver<()>) -> Option<&'static str> {
        loop {
            if ENDING.load(Ordering::SeqCst) {
                return self.end("everything was to end at once");
            }
            if Instant::now() >= self.until {
                return self.end("it took longer than an hour");
            }
            match ended.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn end(&self, why: &'static str) -> Option<&'static str> {
        let ended = match self.seat {
            Seat::Apart => kill_process_group(self.process, Signal::KILL),
            Seat::AtTerminal => kill_process(self.process, Signal::KILL),
        };
        // It may just have ended by itself.
        ended.ok().map(|()| why)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_git_that_waits_for_ever_is_ended_with_all_it_started() {
        let mut git = Command::new("sh");
        // Who started the other one is gone; the other one holds its output.
        git.args(["-c", "sleep 600 & sleep 600 & wait"]);
        let error = run_within(&mut git, "status", None, Seat::Apart, Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "`git status` was ended: it took longer than an hour");
    }

    #[test]
    fn a_git_that_is_listened_to_is_ended_as_well() {
        let listened = |script: &str, input: &[u8], longest, most: u64| {
            let mut git = Command::new("sh");
            git.args(["-c", script]);
            let read = |said: ChildStdout| {
                let mut heard = String::new();
                said.take(most).read_to_string(&mut heard).map(|_| heard)
            };
            stream_within(&mut git, "cat-file", input, read, longest).map_err(|error| error.to_string())
        };
        let late = listened("echo begun; sleep 600 & sleep 600", b"", Duration::ZERO, 100);
        assert_eq!(late, Err("`git cat-file` was ended: it took longer than an hour".to_owned()));
        assert_eq!(listened("cat", b"whole", LONGEST, 100), Ok("whole".to_owned()));
        // More than fits into the pipes, and nobody listens to the end.
        assert_eq!(listened("cat; sleep 600", &[b'x'; 1_000_000], LONGEST, 3), Ok("xxx".to_owned()));
    }

    #[test]
    fn a_git_in_time_says_what_it_has_to_say() {
        let mut git = Command::new("sh");
        git.args(["-c", "cat; echo no >&2; exit 3"]);
        let output = run(&mut git, "status", Some(b"read"), Seat::Apart).unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"read"[..], &b"no\n"[..])
        );
    }
}

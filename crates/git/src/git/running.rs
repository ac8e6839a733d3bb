//! Runs git with a time limit.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::Error;

/// Time limit for every git command. A silent git may still be working, so the limit exceeds the first fetch
/// of a large repository. Commands that would wait in vain are refused before they start.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Poll interval for the request to end everything.
const LOOK: Duration = Duration::from_millis(50);
/// Time to wait for ended processes.
const GRACE: Duration = Duration::from_secs(2);

/// Set when all git processes must end. It is global, like the signal that causes it.
static ENDING: AtomicBool = AtomicBool::new(false);
static RUNNING: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// Git runs in its own process group. Killing the group also ends the programs that git started.
    Apart,
    /// Git can prompt on the terminal.
    AtTerminal,
}

/// Ends every git of this process with all its children, and prevents new ones.
pub fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
    let end = Instant::now() + GRACE;
    while RUNNING.load(Ordering::SeqCst) > 0 && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
}

/// Runs git with optional input.
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
            // A child that stops reading reports the reason itself.
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

/// Runs git and passes its output to a reader while it arrives. When the reader has enough, git is ended.
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
        // The rest of the output is not needed. Git may already have ended.
        kill_process_group(process, Signal::KILL).unwrap_or(());
        child.wait().map_err(Error::Missing)?;
        match why {
            Some(why) => Err(Error::Ended { command: named.to_owned(), why }),
            None => found.map_err(|_| Error::Unreadable { command: named }),
        }
    })
}

/// Counts a running git while it exists.
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

/// A git process with a time limit.
struct Watched {
    process: Pid,
    seat: Seat,
    until: Instant,
}

impl Watched {
    /// Waits for the end of the process, or kills it and returns the reason.
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
        // The process may just have ended by itself.
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
        // The parent of the second process is gone, and that process holds the output open.
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
        // The output exceeds the pipe buffers, and the reader stops early.
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

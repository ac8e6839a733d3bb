//! Prints the output, with the demanded faults.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;

use crate::Printed;
use crate::fault::Fault;
use crate::lingering::{self, How};

/// Reads standard input, unless the fault says not to.
pub(crate) fn hear(fault: Option<Fault>) -> anyhow::Result<String> {
    let mut input = Vec::new();
    match fault {
        Some(Fault::ClosesInput) => close_input()?,
        _ => drop(io::stdin().read_to_end(&mut input)?),
    }
    Ok(String::from_utf8_lossy(&input).into_owned())
}

/// Closes standard input without reading the rest.
pub(crate) fn close_input() -> anyhow::Result<()> {
    Ok(rustix::stdio::dup2_stdin(File::open("/dev/null")?)?)
}

/// Prints the output. The last line ends the turn.
pub(crate) fn say(printed: &Printed, fault: Option<Fault>) -> anyhow::Result<ExitCode> {
    if fault == Some(Fault::Mute) {
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = io::stdout().lock();
    eprint!("{}", printed.complaints);
    before(&mut out, fault)?;
    let (lines, end) = match printed.lines.split_last() {
        Some((end, lines)) => (lines, Some(end.to_string())),
        None => (&[][..], None),
    };
    for line in lines {
        writeln!(out, "{line}")?;
        out.flush()?;
        match fault {
            Some(Fault::Silence) => lingering::for_ever(),
            Some(Fault::Talks) => repeat_slowly(&mut out, line)?,
            _ => {}
        }
    }
    if let Some(end) = end {
        last(&mut out, &end, fault)?;
    }
    out.flush()?;
    after(fault)?;
    Ok(ExitCode::from(match fault {
        Some(Fault::ErrorExit0) => 0,
        Some(Fault::SuccessExit1) => 1,
        _ => printed.code,
    }))
}

/// Prints the output of a fault that precedes everything else.
fn before(out: &mut impl Write, fault: Option<Fault>) -> io::Result<()> {
    match fault {
        Some(Fault::LongLine) => {
            out.write_all(b"{\"type\":\"noise\",\"text\":\"")?;
            repeat(out, &[b'x'; 10_000], 50_000_000)?;
            out.write_all(b"\"}\n")
        }
        Some(Fault::Flood) => {
            let mut line = [b'x'; 10_000];
            line[9_999] = b'\n';
            repeat(out, &line, 1_000_000_000)
        }
        Some(Fault::BadText) => out.write_all(b"{\"type\":\"noise\",\"text\":\"\xff\xfe\"}\n\xc3\n"),
        Some(Fault::Ansi) => out.write_all(b"\x1b[31mstarting\x1b[0m\x07\n"),
        _ => Ok(()),
    }
}

fn repeat(out: &mut impl Write, part: &[u8], length: usize) -> io::Result<()> {
    let block = part.repeat(100);
    (0..length / block.len()).try_for_each(|_| out.write_all(&block))
}

/// Repeats a line until the reader is gone.
fn repeat_slowly(out: &mut impl Write, line: &Value) -> io::Result<()> {
    loop {
        thread::sleep(Duration::from_millis(5));
        writeln!(out, "{line}")?;
        out.flush()?;
    }
}

fn last(out: &mut impl Write, end: &str, fault: Option<Fault>) -> io::Result<()> {
    match fault {
        Some(Fault::NoEnd) => Ok(()),
        Some(Fault::ClosesOutput) => {
            rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
            rustix::stdio::dup2_stderr(File::open("/dev/null")?)?;
            lingering::for_ever()
        }
        Some(Fault::HalfLine) => out.write_all(&end.as_bytes()[..end.len() / 2]),
        Some(Fault::TwoEnds) => writeln!(out, "{end}\n{end}"),
        _ => writeln!(out, "{end}"),
    }
}

/// Performs the fault that follows the output.
fn after(fault: Option<Fault>) -> anyhow::Result<()> {
    match fault {
        Some(Fault::Hang | Fault::IgnoresTerm) => lingering::for_ever(),
        Some(Fault::Forks) => leave(How::Child),
        Some(Fault::Setsid) => leave(How::Session),
        Some(Fault::DoubleFork) => leave(How::Grandchild),
        Some(Fault::BareDoubleFork) => leave(How::BareGrandchild),
        Some(Fault::LeavesBehind) => lingering::leave(How::Grandchild),
        Some(Fault::Segv) => {
            // The Rust runtime handles the first signal to check for a stack overflow and then
            // resets the handler.
            kill_process(getpid(), Signal::SEGV)?;
            Ok(kill_process(getpid(), Signal::SEGV)?)
        }
        Some(Fault::Kill) => Ok(kill_process(getpid(), Signal::KILL)?),
        _ => Ok(()),
    }
}

/// Leaves a process behind and keeps running.
fn leave(how: How) -> anyhow::Result<()> {
    lingering::leave(how)?;
    lingering::for_ever()
}

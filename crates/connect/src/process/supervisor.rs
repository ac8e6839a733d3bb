//! The process between Saihai and an agent program, which ends all descendants of the program (C-57, C-58).
//!
//! Programs from npm are a Node launcher and a child that does the work. A death signal reaches only the
//! launcher. The supervisor adopts every process below it whose parent has ended, so nothing leaves its tree.
//! It ends the tree as soon as Saihai is gone, however Saihai died, or the program has ended.
//!
//! It leads its own session, so a signal to the process group of Saihai does not reach it. If it is killed as
//! well, the program itself dies by its death signal, and the next owner of the run ends the rest.

use std::io;
use std::process::Command;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, kill_process_group,
};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::sweep::end_descendants;

/// Runs `program` until it ends or `parent` is gone, and returns the exit code of the program.
pub(super) fn supervise(parent: Pid, program: Command) -> io::Result<u8> {
    // The program's death signal is tied to the thread that starts it, so everything happens on this one.
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let status = runtime.block_on(run(parent, program))?;
    end_descendants(getpid());
    Ok(status.map_or(0, exit_like))
}

/// Returns the status of the program, or nothing if Saihai is gone.
async fn run(parent: Pid, mut program: Command) -> io::Result<Option<WaitStatus>> {
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut child_ended = signal(SignalKind::child())?;
    let mut parent_ended = signal(SignalKind::hangup())?;
    rustix::process::set_parent_process_death_signal(Some(Signal::HUP))?;
    // A parent that died before the death signal was set does not send one.
    if getppid() != Some(parent) {
        return Ok(None);
    }
    let program = Pid::from_child(&program.spawn()?);
    let_go_of_streams()?;
    loop {
        // Adopted processes are reaped too, so that no zombies accumulate.
        while let Ok(Some((process, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if process == program {
                return Ok(Some(status));
            }
        }
        tokio::select! {
            _ = child_ended.recv() => {}
            _ = terminate.recv() => {
                if kill_process_group(program, Signal::TERM).is_err() {
                    // The program does not lead a group yet.
                    let _ = kill_process(program, Signal::TERM);
                }
            }
            // The signal also arrives when only the thread that started us has ended.
            _ = parent_ended.recv() => if getppid() != Some(parent) {
                return Ok(None);
            },
        }
    }
}

/// Closes our streams. They belong to the program: the other side must see when the program closes them.
fn let_go_of_streams() -> io::Result<()> {
    let nowhere = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Returns the program's exit code. If a signal killed the program, this process dies by the same signal.
fn exit_like(status: WaitStatus) -> u8 {
    if let Some(code) = status.exit_status() {
        return u8::try_from(code).unwrap_or(u8::MAX);
    }
    let signal = status.terminating_signal().unwrap_or_default();
    if let Some(signal) = Signal::from_named_raw(signal) {
        // The program has already written its own core dump.
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(Resource::Core, nothing);
        // The first SIGSEGV or SIGBUS only removes the handler of the Rust runtime.
        for _ in 0..2 {
            let _ = kill_process(getpid(), signal);
        }
    }
    // This process handles the signal, so return the exit code of a shell.
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

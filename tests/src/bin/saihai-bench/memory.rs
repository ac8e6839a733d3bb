//! T-103: memory of one run and of each further run.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use saihai::{DriveOptions, DriverEvent};
use saihai_model::{Fact, RecordEntry, ScriptReply};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::law::Law;
use crate::numbers::peak_size;
use crate::subject;

const FURTHER: u32 = 1_000;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let one = in_own_process(1)?;
    let many = in_own_process(FURTHER + 1)?;
    let further = (many - one) / f64::from(FURTHER);
    let raw = format!("{:.1} MB for {} runs in one process", many / 1e6, FURTHER + 1);
    Ok(vec![
        Law {
            id: "T-103",
            what: "peak size of a process with one live run",
            limit: 12.0,
            unit: "MB",
            measured: vec![one / 1e6],
            raw: "peak resident size".to_owned(),
        },
        Law {
            id: "T-103",
            what: "each further live run",
            limit: 100.0,
            unit: "KB",
            measured: vec![further / 1e3],
            raw,
        },
    ])
}

/// Returns the peak memory of a new process that drives this many runs, each with an active turn.
fn in_own_process(runs: u32) -> Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["live-runs", &runs.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .context("this program again")?;
    ensure!(output.status.success(), "`live-runs {runs}` failed");
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Drives this many runs until each waits for its agent, and prints the peak memory.
pub(crate) fn live_runs(count: u32) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let (asked, mut news) = mpsc::unbounded_channel();
        let mut controls = Vec::new();
        let mut drives = Vec::new();
        for _ in 0..count {
            let hang = ScriptReply { hang: true, ..ScriptReply::default() };
            let driver = subject::driver(directory.path(), subject::workflow(1), subject::script(hang))?;
            controls.push(driver.control());
            let asked = asked.clone();
            drives.push(tokio::task::spawn_local(async move {
                let mut observer = |observed: DriverEvent<'_>| {
                    if let DriverEvent::Recorded(record) = observed
                        && matches!(record.entry, RecordEntry::Fact(Fact::Asked { .. }))
                    {
                        let _ = asked.send(());
                    }
                };
                driver.drive(DriveOptions::default(), &mut observer).await
            }));
        }
        for _ in 0..count {
            if news.recv().await.is_none() {
                bail!("a run ended before it asked");
            }
        }
        println!("{}", peak_size("self")?);
        controls.iter().for_each(|control| control.interrupt("bench"));
        for drive in drives {
            drive.await??;
        }
        Ok(())
    })
}

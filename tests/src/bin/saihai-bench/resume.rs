//! T-104: resuming costs as much as reading. Both happen in memory, so both are measured in CPU
//! time.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use saihai::{Clock, Driver, Runs};
use saihai_connect::Connections;
use saihai_model::{Budget, Millis, Raise, ScriptReply};

use crate::law::Law;
use crate::numbers::{median, processor_time};
use crate::subject;

/// Minimum number of journal lines. A turn writes its request, its reply and the decision on it.
const EVENTS: usize = 10_000;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let directory = tempfile::tempdir()?;
    let (journal, events) = long_run(directory.path())?;
    let mut ratios = Vec::new();
    let mut raw = String::new();
    for _ in 0..5 {
        let (mut ours, mut reading) = (Vec::new(), Vec::new());
        for _ in 0..11 {
            ours.push(ready(directory.path())?);
            let begun = processor_time();
            let bytes = std::hint::black_box(fs::read(&journal)?);
            reading.push((processor_time() - begun).as_secs_f64());
            drop(bytes);
        }
        ratios.push(median(&ours) / median(&reading));
        let size = fs::metadata(&journal)?.len();
        raw = format!(
            "{:.1} ms against {:.1} ms for {events} events, {size} bytes",
            median(&ours) * 1e3,
            median(&reading) * 1e3
        );
    }
    let what = "a run of 10,000 events until it is ready, against reading its bytes";
    Ok(vec![Law { id: "T-104", what, limit: 10.0, unit: "×", measured: ratios, raw }])
}

/// Creates a parked run with at least that many events.
fn long_run(root: &Path) -> Result<(PathBuf, usize)> {
    let reply = ScriptReply { text: Some(subject::reply()), ..ScriptReply::default() };
    let turns = 2_000;
    let driver = subject::driver(root, subject::workflow(turns), subject::script(reply))?;
    let journal = driver.directory().path().join("journal.ndjson");
    subject::drive(driver, &mut |_| ())?;
    let events = fs::read(&journal)?.iter().filter(|byte| **byte == b'\n').count();
    anyhow::ensure!(events >= EVENTS, "only {events} events in {turns} turns");
    Ok((journal, events))
}

/// Returns the CPU seconds until the run is ready to continue.
fn ready(root: &Path) -> Result<f64> {
    let runs = Runs::of_project(root);
    let directory = runs.find("last").context("the run")?;
    let raise =
        Raise { rounds: None, budget: Budget::default(), runtime: None, patience: Millis(0), now: false };
    let begun = processor_time();
    let driver = Driver::resume(directory, raise, Connections::default(), Clock::system())?;
    let passed = (processor_time() - begun).as_secs_f64();
    drop(driver);
    Ok(passed)
}

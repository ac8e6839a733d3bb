//! T-101: cost of a turn beyond its one append and sync.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use saihai::DriverEvent;
use saihai_model::{Decision, RecordEntry, ScriptReply};

use crate::law::Law;
use crate::numbers::{median, processor_time};
use crate::subject;

const BLOCK: usize = 100;
const BLOCKS: usize = 20;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let mut ratios = Vec::new();
    let mut per_turn = Vec::new();
    let mut raw = String::new();
    let mut bare_turn = 0.0;
    for _ in 0..5 {
        let blocks = repetition()?;
        let ours = median(&blocks.ours);
        let bare = median(&blocks.bare);
        ratios.push(ours / bare);
        per_turn.push(blocks.processor_ms);
        bare_turn = blocks.bare_processor_ms;
        let turn = |block: f64| block / 100.0 * 1e3;
        raw = format!("{:.3} ms a turn against {:.3} ms for append and sync", turn(ours), turn(bare));
    }
    let processor =
        format!("{} turns a repetition; append and sync alone take {bare_turn:.2} ms", BLOCK * BLOCKS);
    Ok(vec![
        Law {
            id: "T-101",
            what: "a turn against append + sync of its bytes",
            limit: 1.3,
            unit: "×",
            measured: ratios,
            raw,
        },
        Law {
            id: "T-101",
            what: "processor time a turn",
            limit: 0.3,
            unit: "ms",
            measured: per_turn,
            raw: processor,
        },
    ])
}

#[derive(Default)]
struct Blocks {
    /// Seconds per block of turns.
    ours: Vec<f64>,
    /// Seconds for the same number of plain appends of the same bytes.
    bare: Vec<f64>,
    processor_ms: f64,
    /// CPU time of an append and sync alone.
    bare_processor_ms: f64,
}

/// Runs turns in blocks. After each block, a plain loop appends the same bytes again in the same
/// directory.
fn repetition() -> Result<Blocks> {
    let directory = tempfile::tempdir_in(std::env::current_dir()?)?;
    let turns = u32::try_from(BLOCK * BLOCKS)?;
    let reply = ScriptReply { text: Some(subject::reply()), ..ScriptReply::default() };
    let driver = subject::driver(directory.path(), subject::workflow(turns), subject::script(reply))?;
    let journal = driver.directory().path().join("journal.ndjson");
    let mut bare = Bare::new(&directory.path().join("bare"))?;
    let mut blocks = Blocks::default();
    let mut rounds = 0;
    let mut begun = Instant::now();
    let mut read = 0;
    let mut apart = Duration::ZERO;
    let mut failure = None;
    let before = processor_time();
    subject::drive(driver, &mut |observed| {
        if !is_round(&observed) {
            return;
        }
        rounds += 1;
        if rounds % BLOCK != 0 {
            return;
        }
        blocks.ours.push(begun.elapsed().as_secs_f64());
        let own = processor_time();
        match bare.repeat(&journal, &mut read) {
            Ok((seconds, processor)) => {
                blocks.bare.push(seconds);
                blocks.bare_processor_ms += processor * 1e3 / f64::from(turns);
            }
            Err(error) => failure = Some(error),
        }
        apart += processor_time() - own;
        begun = Instant::now();
    })?;
    let spent = processor_time() - before - apart;
    blocks.processor_ms = spent.as_secs_f64() * 1e3 / f64::from(turns);
    failure.map_or(Ok(blocks), Err)
}

fn is_round(observed: &DriverEvent<'_>) -> bool {
    matches!(observed, DriverEvent::Recorded(record) if matches!(record.entry, RecordEntry::Decision(Decision::Round { .. })))
}

/// A loop that only appends and syncs.
struct Bare {
    file: File,
}

impl Bare {
    fn new(path: &Path) -> Result<Self> {
        Ok(Self { file: OpenOptions::new().create_new(true).append(true).open(path)? })
    }

    /// Repeats the new appends of the journal one by one. Returns the wall and CPU seconds.
    fn repeat(&mut self, journal: &Path, read: &mut usize) -> Result<(f64, f64)> {
        let bytes = std::fs::read(journal)?;
        let appends = appends(bytes.get(*read..).context("a journal only grows")?)?;
        *read = bytes.len();
        let (begun, own) = (Instant::now(), processor_time());
        for append in &appends {
            self.file.write_all(append)?;
            self.file.sync_data()?;
        }
        Ok((begun.elapsed().as_secs_f64(), (processor_time() - own).as_secs_f64()))
    }
}

/// Splits a part of a journal into its appends.
fn appends(bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut appends = Vec::new();
    let (mut from, mut at) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        let json: serde_json::Value = serde_json::from_slice(line)?;
        if json["left"] == 0 {
            appends.push(&bytes[from..at]);
            from = at;
        }
    }
    ensure!(from == bytes.len(), "an append is not whole");
    Ok(appends)
}

//! T-102: the ten-thousandth turn costs as much as the tenth.

use std::path::Path;

use anyhow::Result;
use saihai::DriverEvent;
use saihai_model::{Decision, RecordEntry, ScriptReply};

use crate::law::Law;
use crate::numbers::processor_time;
use crate::subject;

/// In memory, so that no sync affects the result.
const WHERE: &str = "/dev/shm";

pub(crate) fn measure() -> Result<Vec<Law>> {
    let mut ratios = Vec::new();
    let mut raw = String::new();
    for _ in 0..5 {
        let (early, late) = repetition()?;
        ratios.push(late / early);
        raw = format!("{:.3} ms a turn early, {:.3} ms late", early, late);
    }
    let what = "processor time of turns 9,001-10,000 against 11-1,010";
    Ok(vec![Law { id: "T-102", what, limit: 1.2, unit: "×", measured: ratios, raw }])
}

/// Returns the milliseconds of an early and a late turn.
fn repetition() -> Result<(f64, f64)> {
    let place = if Path::new(WHERE).is_dir() { Path::new(WHERE).to_owned() } else { std::env::temp_dir() };
    let directory = tempfile::tempdir_in(place)?;
    let reply = ScriptReply { text: Some(subject::reply()), ..ScriptReply::default() };
    let driver = subject::driver(directory.path(), subject::workflow(10_001), subject::script(reply))?;
    let mut marks = [0.0; 4];
    subject::drive(driver, &mut |observed| {
        if let DriverEvent::Recorded(record) = observed
            && let RecordEntry::Decision(Decision::Round { iteration, .. }) = record.entry
            && let Some(mark) = [11, 1_011, 9_001, 10_001].iter().position(|turn| *turn == iteration)
        {
            marks[mark] = processor_time().as_secs_f64();
        }
    })?;
    Ok((marks[1] - marks[0], marks[3] - marks[2]))
}

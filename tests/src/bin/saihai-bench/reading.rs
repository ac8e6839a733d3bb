//! H-35: the cost of reading directives grows linearly with the length of a reply.

use anyhow::{Result, ensure};
use saihai_judge::ReplyText;
use saihai_model::{DirectiveExtraction, Directives, EndWord, ExpectedReply, Reads, Target};

use crate::law::Law;
use crate::numbers::processor_time;

const BYTES: usize = 10_000_000;
const REPETITIONS: usize = 5;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let (once, twice) = (reply(BYTES), reply(2 * BYTES));
    let mut ratios = Vec::new();
    let mut raw = String::new();
    for _ in 0..REPETITIONS {
        let (short, long) = (read(&once)?, read(&twice)?);
        ratios.push(long / short);
        raw = format!("{:.0} ms against {:.0} ms", long * 1e3, short * 1e3);
    }
    let what = "processor time of reading a reply of 20 MB against one of 10 MB";
    Ok(vec![Law { id: "H-35", what, limit: 2.3, unit: "×", measured: ratios, raw }])
}

/// Returns lines of every recognised kind, with the event last.
fn reply(bytes: usize) -> String {
    let lines =
        "working on `src/lib.rs`, event handling, 試験 and so on\n> EVENT: quoted\n```\nEVENT: fenced\n```\n";
    format!("{}EVENT: tests.passing", lines.repeat(bytes / lines.len()))
}

/// Returns the seconds of one read.
fn read(text: &str) -> Result<f64> {
    let word = EndWord {
        word: "LOOP_COMPLETE".to_owned(),
        requires: Vec::new(),
        then: Target::Complete,
        quiet: false,
    };
    let directives = Directives {
        words: vec![word],
        known: Vec::new(),
        declared: None,
        enforce: false,
        extraction: DirectiveExtraction::default(),
    };
    let reads = Reads { directives: Some(directives), ..Reads::default() };
    let begun = processor_time();
    let reading =
        saihai_judge::read(ExpectedReply::Work(&reads), "Do it.", ReplyText { text, structured: None });
    let spent = processor_time() - begun;
    ensure!(reading.events.len() == 1, "the event is not found");
    Ok(spent.as_secs_f64())
}

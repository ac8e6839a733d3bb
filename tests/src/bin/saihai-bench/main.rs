//! Benchmarks of the cost limits. `cargo xtask bench` starts this program and builds its subject in
//! release mode.
//!
//! Every limit is a size, or a ratio within one run on one machine; never a wall time. A ratio
//! alternates both sides, takes medians and repeats five times. It fails only if the median of the
//! repetitions exceeds the limit.

mod delivery;
mod flat;
mod large;
mod law;
mod many;
mod memory;
mod numbers;
mod page;
mod reading;
mod resume;
mod sandbox;
mod screen;
mod selection;
mod start;
mod subject;
mod turn;
mod views;

use std::process::ExitCode;

use anyhow::{Result, bail};

use law::Law;

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => None,
        // Peak memory needs a separate process.
        ["live-runs", count] => return memory::live_runs(count.parse()?).map(|()| ExitCode::SUCCESS),
        ["large-reply", bytes] => return large::large_reply(bytes.parse()?).map(|()| ExitCode::SUCCESS),
        ["selecting"] => return selection::selecting().map(|()| ExitCode::SUCCESS),
        ["--only", law] => Some(*law),
        _ => bail!("usage: cargo xtask bench [--only LAW]"),
    };
    println!("{}", law::machine());
    let mut kept = true;
    for (id, measure) in LAWS {
        if wanted.is_none_or(|wanted| wanted == id) {
            for law in measure()? {
                println!("{law}");
                kept &= law.is_kept();
            }
        }
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

type Measure = fn() -> Result<Vec<Law>>;

const LAWS: [(&str, Measure); 14] = [
    ("T-100", start::measure),
    ("T-101", turn::measure),
    ("T-102", flat::measure),
    ("T-103", memory::measure),
    ("T-104", resume::measure),
    ("T-106", selection::measure),
    ("T-107", large::measure),
    ("T-108", views::measure),
    ("V-12", page::measure),
    ("V-17", screen::measure),
    ("H-35", reading::measure),
    ("I-45", many::measure),
    ("I-45-merge", delivery::measure),
    ("B-4", sandbox::measure),
];

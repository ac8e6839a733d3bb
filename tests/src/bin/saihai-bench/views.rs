//! T-108: looking at runs costs little more than reading them. Each command is the real program; its floor is a
//! read of the same bytes in this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use saihai_model::ScriptReply;

use crate::law::Law;
use crate::numbers::median;
use crate::subject;

/// In memory, so that no disk affects the result.
pub(crate) const MEMORY: &str = "/dev/shm";
const RUNS: usize = 5_000;
const EVENTS: usize = 50_000;
/// Turns of one of many runs, and of the long run. A turn writes at least five events.
const SHORT: u32 = 4;
const LONG: u32 = 10_000;

pub(crate) fn measure() -> Result<Vec<Law>> {
    let saihai =
        PathBuf::from(std::env::var("SAIHAI_BENCH_PROGRAM").context("start this with `cargo xtask bench`")?);
    let place = if Path::new(MEMORY).is_dir() { PathBuf::from(MEMORY) } else { std::env::temp_dir() };
    let (many, one, long) =
        (tempfile::tempdir_in(&place)?, tempfile::tempdir_in(&place)?, tempfile::tempdir_in(&place)?);
    run_of(one.path(), SHORT)?;
    many_runs(many.path(), RUNS)?;
    let journal = run_of(long.path(), LONG)?;
    let events = fs::read(&journal)?.iter().filter(|byte| **byte == b'\n').count();
    ensure!(events >= EVENTS, "only {events} events");
    let runs = many.path().join(".saihai/runs");
    Ok(vec![
        compare(
            "T-108",
            "`show last` among 5,000 runs, against the same in a project with one run and a list of 5,000 directories",
            3.0,
            &mut || timed(&saihai, many.path(), &["show", "last"]),
            &mut || Ok(timed(&saihai, one.path(), &["show", "last"])? + listed(&runs)?),
        )?,
        compare(
            "T-108",
            "`runs` with 5,000 runs, against reading their journals",
            12.0,
            &mut || timed(&saihai, many.path(), &["runs"]),
            &mut || journals_read(&runs),
        )?,
        compare(
            "T-108",
            "`show` on a run of 50,000 events, against reading its journal",
            40.0,
            &mut || timed(&saihai, long.path(), &["show", "last"]),
            &mut || {
                let begun = Instant::now();
                drop(std::hint::black_box(fs::read(&journal)?));
                Ok(begun.elapsed().as_secs_f64())
            },
        )?,
    ])
}

pub(crate) type Side<'a> = &'a mut dyn FnMut() -> Result<f64>;

/// Alternates both sides and compares their medians, five times.
pub(crate) fn compare(
    id: &'static str,
    what: &'static str,
    limit: f64,
    command: Side<'_>,
    floor: Side<'_>,
) -> Result<Law> {
    let (mut measured, mut raw) = (Vec::new(), String::new());
    for _ in 0..5 {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            ours.push(command()?);
            theirs.push(floor()?);
        }
        measured.push(median(&ours) / median(&theirs));
        raw = format!("{:.1} ms against {:.1} ms", median(&ours) * 1e3, median(&theirs) * 1e3);
    }
    Ok(Law { id, what, limit, unit: "×", measured, raw })
}

pub(crate) fn timed(program: &Path, project: &Path, arguments: &[&str]) -> Result<f64> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(project).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status()?;
    ensure!(status.success(), "`{}` failed", arguments.join(" "));
    Ok(begun.elapsed().as_secs_f64())
}

fn listed(runs: &Path) -> Result<f64> {
    let begun = Instant::now();
    ensure!(fs::read_dir(runs)?.count() >= RUNS, "runs are missing");
    Ok(begun.elapsed().as_secs_f64())
}

fn journals_read(runs: &Path) -> Result<f64> {
    let begun = Instant::now();
    for entry in fs::read_dir(runs)? {
        let journal = entry?.path().join("journal.ndjson");
        if journal.exists() {
            drop(std::hint::black_box(fs::read(journal)?));
        }
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Drives a run of so many turns and returns its journal.
pub(crate) fn run_of(root: &Path, turns: u32) -> Result<PathBuf> {
    let reply = ScriptReply { text: Some(subject::reply()), ..ScriptReply::default() };
    let driver = subject::driver(root, subject::workflow(turns), subject::script(reply))?;
    let journal = driver.directory().path().join("journal.ndjson");
    subject::drive(driver, &mut |_| ())?;
    Ok(journal)
}

/// Drives one run and copies it under other ids, an hour apart.
pub(crate) fn many_runs(root: &Path, count: usize) -> Result<()> {
    let journal = run_of(root, SHORT)?;
    let original = journal.parent().context("a run has a directory")?;
    let runs = original.parent().context("a run is below the others")?;
    for number in 1..count {
        let (day, hour) = (number / 24, number % 24);
        let (year, month, day) = (2000 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
        let copy = runs.join(format!("{year}{month:02}{day:02}-{hour:02}0000-bench"));
        fs::create_dir(&copy)?;
        for entry in fs::read_dir(original)? {
            let entry = entry?;
            let to = copy.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                fs::create_dir(to)?
            } else {
                fs::copy(entry.path(), to).map(drop)?
            }
        }
    }
    Ok(())
}

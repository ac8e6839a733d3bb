//! T-107 and T-103: cost of a very long reply beyond copying it from a pipe to a file.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use saihai_connect::Connections;
use saihai_model::{Activity, ProviderKind, ProviderName, ProviderSettings, Workflow};

use crate::law::Law;
use crate::numbers::peak_size;
use crate::subject;

const LARGE: usize = 100_000_000;
const SMALL: usize = 1_000;
const REPETITIONS: usize = 5;
/// Provider that prints a file.
const PRINTER: &str = "printer";

pub(crate) fn measure() -> Result<Vec<Law>> {
    let directory = tempfile::tempdir_in(std::env::current_dir()?)?;
    let said = directory.path().join("said");
    write_reply(&said, LARGE)?;
    let mut ratios = Vec::new();
    let mut raw = String::new();
    for repetition in 0..REPETITIONS {
        let bare = copy(&said, &directory.path().join("copy"))?;
        let ours = turn(&directory.path().join(repetition.to_string()), &said)?;
        ratios.push(ours / bare);
        raw = format!("{ours:.2} s against {bare:.2} s for the copy");
    }
    Ok(vec![
        Law {
            id: "T-107",
            what: "a reply of 100 MB against copying it from a pipe to a file",
            limit: 3.0,
            unit: "×",
            measured: ratios,
            raw,
        },
        memory()?,
    ])
}

fn memory() -> Result<Law> {
    let (large, small) = (in_own_process(LARGE)?, in_own_process(SMALL)?);
    Ok(Law {
        id: "T-103",
        what: "peak size with a reply of 100 MB, beyond one of 1 KB",
        limit: 24.0,
        unit: "MB",
        measured: vec![(large - small) / 1e6],
        raw: format!("{:.1} MB against {:.1} MB", large / 1e6, small / 1e6),
    })
}

fn in_own_process(bytes: usize) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["large-reply", &bytes.to_string()]).stderr(Stdio::inherit()).output();
    let output = output.context("this program again")?;
    ensure!(output.status.success(), "`large-reply {bytes}` failed");
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Processes a reply of this size and prints the peak memory of this process.
pub(crate) fn large_reply(bytes: usize) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let said = directory.path().join("said");
    write_reply(&said, bytes)?;
    turn(&directory.path().join("run"), &said)?;
    println!("{}", peak_size("self")?);
    Ok(())
}

/// Writes lines of ordinary length and a tag.
fn write_reply(path: &Path, bytes: usize) -> Result<()> {
    let mut file = std::io::BufWriter::new(File::create(path)?);
    let line = format!("{}\n", "The function keeps its input now. ".repeat(3).trim_end());
    for _ in 0..bytes / line.len() {
        file.write_all(line.as_bytes())?;
    }
    file.write_all(b"[STEP:0]\n")?;
    Ok(file.flush()?)
}

/// Baseline: returns the seconds in which the same program's output reaches a file.
fn copy(said: &Path, into: &Path) -> Result<f64> {
    let begun = Instant::now();
    let mut child = Command::new("cat").arg(said).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("a pipe")?;
    let mut file = File::create(into)?;
    // Copy through user space, as a reply does. The kernel could otherwise move the data directly.
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = std::io::Read::read(&mut output, &mut buffer)?;
        if count == 0 {
            break;
        }
        file.write_all(&buffer[..count])?;
    }
    file.sync_data()?;
    ensure!(child.wait()?.success(), "the copy failed");
    Ok(begun.elapsed().as_secs_f64())
}

/// Returns the seconds of a run whose only turn is that reply.
fn turn(root: &Path, said: &Path) -> Result<f64> {
    std::fs::create_dir_all(root)?;
    let printer = ProviderSettings {
        program: Some("cat".to_owned()),
        args: vec![said.display().to_string()],
        honours: vec!["readonly".to_owned()],
        ..ProviderSettings::new(ProviderKind::Command)
    };
    let settings = [(ProviderName::from(PRINTER), printer)].into();
    let connections = Connections { settings, ..Connections::default() };
    let driver = subject::driver_on(root, asking_the_printer(), None, connections)?;
    let run = driver.directory().clone();
    let begun = Instant::now();
    subject::drive(driver, &mut |_| {})?;
    let took = begun.elapsed().as_secs_f64();
    // The passed-on text is limited; the transcript holds all of it.
    let kept = std::fs::read_dir(run.path().join("scratch"))?.filter_map(|entry| entry.ok()?.metadata().ok());
    let (whole, kept) = (std::fs::metadata(said)?.len(), kept.map(|file| file.len()).max().unwrap_or(0));
    // The final line break does not belong to the reply.
    ensure!(whole < 20_000 || kept + 1 >= whole, "only {kept} of {whole} bytes of the reply were kept");
    Ok(took)
}

fn asking_the_printer() -> Workflow {
    let mut workflow = subject::workflow(1);
    for stage in workflow.stages.values_mut() {
        if let Activity::Turns { turns, .. } = &mut stage.does {
            turns.iter_mut().for_each(|turn| turn.provider = ProviderName::from(PRINTER));
        }
    }
    workflow
}

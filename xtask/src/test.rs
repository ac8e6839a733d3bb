//! `cargo xtask test`: runs all tests that this machine can run, and lists the skipped parts.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::{cargo, page, real_agents, real_model, temporal, tool};

/// Environment variable that only the test build may contain (T-2).
const FAULT: &str = concat!("SAIHAI", "_FAULT");

const LEFT_OUT: &str = "\
left out, and how to run it:
  the laws of cost (T-100 – T-104)      cargo xtask bench
  not there yet: soak (T-110)";

const PAGE_LEFT_OUT: &str = "  the page in a browser (V-14)          cargo xtask test --page";
const REAL_AGENTS_LEFT_OUT: &str = "  agent programs, a real model (C-85)   cargo xtask test --real-agents";

const TEMPORAL_LEFT_OUT: &str = "  runs on a Temporal server (D-T1 – D-T6) cargo xtask test --temporal";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let (mut in_browser, mut real_agents, mut on_server) = (false, false, false);
    for argument in arguments {
        match argument.as_str() {
            "--page" => in_browser = true,
            "--real-agents" => real_agents = true,
            "--temporal" => on_server = true,
            _ => bail!(
                "`test` takes `--page`, `--real-agents` and `--temporal`; for one test: cargo test -p CRATE NAME"
            ),
        }
    }
    // Its tests say that they skip where it cannot be installed.
    if cfg!(target_os = "linux")
        && let Err(error) = tool::need("bwrap", "bubblewrap")
    {
        eprintln!("xtask: tests of the sandbox `bwrap` do not run: {error:#}");
    }
    // Many tests wait for processes and timers, so that twice as many as there are cores keep the machine busy.
    let threads = std::thread::available_parallelism().map_or(4, |cores| cores.get() * 2).to_string();
    cargo::cargo_with(&["test", "--workspace"], &[("RUST_TEST_THREADS", Path::new(&threads))])?;
    the_release_binary_has_no_faults()?;
    if in_browser {
        page::test(&[])?;
    }
    if real_agents {
        real_agents::test(&[])?;
        real_model::test(&[])?;
    }
    if on_server {
        temporal::test(&[])?;
    }
    println!("\nall tests passed\n\n{LEFT_OUT}");
    if !in_browser {
        println!("{PAGE_LEFT_OUT}");
    }
    if !real_agents {
        println!("{REAL_AGENTS_LEFT_OUT}");
    }
    if !on_server {
        println!("{TEMPORAL_LEFT_OUT}");
    }
    Ok(ExitCode::SUCCESS)
}

/// T-2 with a control: the test build contains the word, so the search works.
fn the_release_binary_has_no_faults() -> Result<()> {
    cargo::cargo(&["build", "--release", "--package", "saihai-cli"])?;
    let target = cargo::target_directory()?;
    let released = target.join("release").join(program("saihai"));
    let faulty = target.join("debug").join(program("saihai-faulty"));
    ensure!(contains(&faulty, FAULT)?, "the control failed: {} does not contain {FAULT}", faulty.display());
    ensure!(!contains(&released, FAULT)?, "T-2: {} contains {FAULT}", released.display());
    println!("the release binary does not contain {FAULT} (T-2)");
    Ok(())
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

fn contains(file: &Path, text: &str) -> Result<bool> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

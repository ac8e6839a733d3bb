//! `cargo xtask bench`: the laws of cost. The measuring program is part of the tests package; this builds it and
//! what it measures, both as they are released.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::cargo;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    // Apart, so that the feature `faults` of the tests package is not switched on in what is measured.
    cargo::cargo(&["build", "--release", "--package", "saihai-cli"])?;
    let release = cargo::target_directory()?.join("release");
    let program = format!("saihai{}", std::env::consts::EXE_SUFFIX);
    let measured = release.join("measured");
    std::fs::create_dir_all(&measured)?;
    let copy = measured.join(&program);
    std::fs::copy(release.join(&program), &copy).context("the release binary is not there")?;
    cargo::cargo(&["build", "--release", "--package", "saihai-tests", "--bins"])?;
    let bench = release.join(format!("saihai-bench{}", std::env::consts::EXE_SUFFIX));
    let status = Command::new(&bench)
        .env("SAIHAI_BENCH_PROGRAM", &copy)
        .args(arguments)
        .status()
        .with_context(|| format!("{} could not be started", bench.display()))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

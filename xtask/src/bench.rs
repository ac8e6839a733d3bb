//! `cargo xtask bench`: the laws of cost. The measuring program is part of the tests package; this builds it and
//! the program it measures with `--release`, which is what `cargo install` gives (`dist` is a little faster).

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::cargo;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    cargo::cargo(&["build", "--release", "--package", "saihai-cli"])?;
    cargo::cargo(&["build", "--release", "--package", "saihai-tests", "--no-default-features", "--bins"])?;
    let release = cargo::target_directory()?.join("release");
    let program = |name: &str| release.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let status = Command::new(program("saihai-bench"))
        .env("SAIHAI_BENCH_PROGRAM", program("saihai"))
        .args(arguments)
        .status()
        .context("the bench could not be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

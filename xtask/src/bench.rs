//! `cargo xtask bench`: cost limits. The benchmark program is part of the tests package. This task
//! builds it and its subject with `--release`, as `cargo install` does (`dist` is a little faster).

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::cargo;

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    cargo::cargo(&["build", "--release", "--package", "saihai-cli"])?;
    cargo::cargo(&[
        "build",
        "--release",
        "--package",
        "saihai-tests",
        "--no-default-features",
        "--features=tools",
        "--bins",
    ])?;
    let release = cargo::target_directory()?.join("release");
    let program = |name: &str| release.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let status = Command::new(program("saihai-bench"))
        .env("SAIHAI_BENCH_PROGRAM", program("saihai"))
        .args(arguments)
        .status()
        .context("the bench could not be started")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

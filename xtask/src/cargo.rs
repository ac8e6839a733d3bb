//! Calling cargo from a task.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use xtask::source;

/// Runs cargo at the root of the workspace and fails unless it succeeds.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(arguments, &[])
}

/// The same, with variables set.
pub(crate) fn cargo_with(arguments: &[&str], variables: &[(&str, &Path)]) -> Result<()> {
    let shown = arguments.join(" ");
    eprintln!("xtask: cargo {shown}");
    let status = command()
        .args(arguments)
        .envs(variables.iter().copied())
        .status()
        .with_context(|| format!("`cargo {shown}` could not be started"))?;
    ensure!(status.success(), "`cargo {shown}` failed ({status})");
    Ok(())
}

/// Builds something and says where the program of a target is.
pub(crate) fn executable(arguments: &[&str], target: &str) -> Result<PathBuf> {
    let shown = arguments.join(" ");
    eprintln!("xtask: cargo {shown}");
    let output = command()
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("`cargo {shown}` could not be started"))?;
    ensure!(output.status.success(), "`cargo {shown}` failed ({})", output.status);
    let told = String::from_utf8(output.stdout)?;
    let messages = told.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut programs = messages
        .filter(|message| message["target"]["name"] == target)
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    programs.next().with_context(|| format!("`cargo {shown}` made no program `{target}`"))
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let output = command()
        .args(["metadata", "--format-version=1", "--no-deps"])
        .output()
        .context("`cargo metadata` could not be started")?;
    ensure!(output.status.success(), "`cargo metadata` failed ({})", output.status);
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let directory =
        metadata["target_directory"].as_str().context("cargo metadata has no target directory")?;
    Ok(PathBuf::from(directory))
}

fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(source::root());
    // What cargo says about xtask to xtask would make build scripts that look at it (ring's) think that all has changed.
    let about_us = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| about_us(name)) {
        command.env_remove(name);
    }
    command
}

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use xtask::source;

/// Runs cargo in the workspace root and fails unless it succeeds.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(arguments, &[])
}

/// Like [`cargo`], with environment variables.
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

/// Builds with these arguments and returns the path of a target's executable.
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
    // Cargo sets these variables for xtask itself. Passing them on makes some build scripts
    // (ring's) rebuild everything.
    let about_us = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| about_us(name)) {
        command.env_remove(name);
    }
    command
}

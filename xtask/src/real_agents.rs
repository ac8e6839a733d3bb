//! Vendors' agent programs (C-85). This task installs them below `target`, at pinned or latest
//! versions. It runs them without root and with no network but the loopback interface.

mod confinement;
mod installation;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use xtask::source;

use crate::cargo;
use confinement::Confinement;
use installation::{AgentVersions, Installation};

/// Directory of the providers. Their tests read recorded output from `recorded`.
const PROVIDERS: &str = "crates/connect/src/agents";

/// Tests all programs through Saihai, or only tests named like a word: `real-agents [--latest] [WORD…]`.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    let (versions, filters) = match arguments {
        [flag, filters @ ..] if flag == "--latest" => (AgentVersions::Latest, filters),
        filters => (AgentVersions::Pinned, filters),
    };
    if let Some(flag) = filters.iter().find(|word| word.starts_with('-')) {
        bail!("unknown flag `{flag}`; only `--latest` is taken, before the names of tests");
    }
    crate::tool::need("bwrap", "bubblewrap")?;
    let (installation, confinement) = prepare(versions)?;
    let test = cargo::executable(
        &["test", "--no-run", "--package", "saihai-tests", "--test", "real_agents"],
        "real_agents",
    )?;
    let saihai = cargo::target_directory()?.join("debug/saihai-faulty");
    installation.take_in(&saihai, "saihai")?;
    installation.take_in(&test, "real_agents")?;
    // An agent works for some seconds and may then wait up to a minute between its own retries.
    let mut arguments = vec!["--test-threads=4".to_owned()];
    arguments.extend_from_slice(filters);
    let status = confinement.run("real_agents", &arguments)?;
    ensure!(status.success(), "the suite of the real agents failed ({status})");
    Ok(())
}

/// Records the programs' output for the provider tests: `record-agents [AGENT [CASE]]`.
pub(crate) fn record(arguments: &[String]) -> Result<ExitCode> {
    let (installation, confinement) = prepare(AgentVersions::Pinned)?;
    let recorder = cargo::executable(
        &["build", "--package", "saihai-tests", "--features=tools", "--example", "record_agents"],
        "record_agents",
    )?;
    installation.take_in(&recorder, "record_agents")?;
    let recorded = installation.directory().join("recorded");
    if recorded.exists() {
        fs::remove_dir_all(&recorded)?;
    }
    fs::create_dir(&recorded)?;
    fs::set_permissions(&recorded, fs::Permissions::from_mode(0o777))?;
    let inside = confinement.inside(&recorded)?.display().to_string();
    let mut all = vec![inside];
    all.extend_from_slice(arguments);
    let status = confinement.run("record_agents", &all)?;
    ensure!(status.success(), "the recording failed ({status})");
    keep(&recorded, &source::root().join(PROVIDERS))?;
    Ok(ExitCode::SUCCESS)
}

/// Measures the start-up time of a program.
pub(crate) fn time() -> Result<ExitCode> {
    let (installation, confinement) = prepare(AgentVersions::Pinned)?;
    let build = ["build", "--package", "saihai-tests", "--features=tools", "--example", "time_agents"];
    installation.take_in(&cargo::executable(&build, "time_agents")?, "time_agents")?;
    let status = confinement.run("time_agents", &[])?;
    ensure!(status.success(), "the measurement failed ({status})");
    Ok(ExitCode::SUCCESS)
}

fn prepare(versions: AgentVersions) -> Result<(Installation, Confinement)> {
    let directory = cargo::target_directory()?.join(versions.directory_name());
    let installation = Installation::make(&directory, versions)
        .context("real agents: not run: they could not be installed")?;
    let confinement = Confinement::around(installation.directory())
        .context("real agents: not run: there is no place without a network for them")?;
    Ok((installation, confinement))
}

/// Replaces the existing recordings with the new ones.
fn keep(recorded: &Path, providers: &Path) -> Result<()> {
    for agent in entries(recorded)? {
        let place = providers.join(agent.file_name().context("an entry has a name")?).join("recorded");
        fs::create_dir_all(&place)?;
        for file in entries(&agent)? {
            fs::copy(&file, place.join(file.file_name().context("an entry has a name")?))?;
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

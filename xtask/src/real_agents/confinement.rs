//! A place without a network and without root.
//!
//! Root makes the namespaces itself and then becomes `nobody` for good; the programs are mounted where `nobody` can
//! reach them. Anyone else becomes root of a user namespace for as long as it takes to bring the loopback up, and then
//! themselves again. The agents never have more rights than that user, so that a turn with every permission is one a
//! test may run.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use crate::tool::{id, need};

/// Mounts `$1` on `$2`, and becomes another user.
const AS_ROOT: &str = "PATH=$PATH:/usr/sbin:/sbin && ip link set lo up && mount --bind \"$1\" \"$2\" && shift 2 && \
    exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all -- \"$@\"";

const AS_A_USER: &str = "PATH=$PATH:/usr/sbin:/sbin && ip link set lo up && user=$1 group=$2 && shift 2 && \
    exec unshare --user --map-user=\"$user\" --map-group=\"$group\" -- \"$@\"";

/// How programs of one directory are run.
#[derive(Debug)]
pub(super) struct Confinement {
    /// Where the directory is outside.
    outside: PathBuf,
    who: Who,
}

#[derive(Debug)]
enum Who {
    /// Root, and where the directory is mounted inside.
    Root(Mount),
    User {
        user: String,
        group: String,
    },
}

/// An empty directory for a mount, gone afterwards.
#[derive(Debug)]
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        // The mount was never seen out here, so it is still empty.
        let _ = fs::remove_dir(&self.0);
    }
}

impl Confinement {
    /// Fails if there can be none here.
    pub(super) fn around(directory: &Path) -> Result<Self> {
        need("unshare", "util-linux")?;
        need("setpriv", "util-linux")?;
        need("ip", "iproute2")?;
        let (user, group) = (id("-u")?, id("-g")?);
        let who = if user == "0" {
            let place = env::temp_dir().join(format!("saihai-real-agents-{}", std::process::id()));
            fs::create_dir(&place).with_context(|| place.display().to_string())?;
            Who::Root(Mount(place))
        } else {
            Who::User { user, group }
        };
        let confinement = Self { outside: directory.to_owned(), who };
        confinement.is_possible()?;
        Ok(confinement)
    }

    /// Where something of the directory is inside.
    pub(super) fn inside(&self, path: &Path) -> Result<PathBuf> {
        let relative = path.strip_prefix(&self.outside)?;
        Ok(self.directory().join(relative))
    }

    /// Runs a program of the directory's `bin`.
    pub(super) fn run(&self, program: &str, arguments: &[String]) -> Result<ExitStatus> {
        let bin = self.directory().join("bin");
        let mut command = self.command();
        command
            .args(["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"])
            .arg(format!("SAIHAI_REAL_AGENTS={}", bin.display()))
            .arg(bin.join(program))
            .args(arguments);
        command.status().context("`unshare` could not be started")
    }

    fn directory(&self) -> &Path {
        match &self.who {
            Who::Root(mount) => &mount.0,
            Who::User { .. } => &self.outside,
        }
    }

    /// Sees it done: not root, and no interface but the loopback.
    fn is_possible(&self) -> Result<()> {
        let output = self.command().args(["sh", "-c", "id -u && cat /proc/net/dev"]).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`unshare --net` failed: {}", said.trim());
        let seen = String::from_utf8_lossy(&output.stdout);
        ensure!(!seen.starts_with("0\n"), "the programs would be run by root");
        let interfaces: Vec<&str> =
            seen.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
        ensure!(interfaces == ["lo"], "the programs would see {interfaces:?}");
        Ok(())
    }

    /// The beginning of a command inside; what is to be run follows.
    fn command(&self) -> Command {
        let mut command = Command::new("unshare");
        match &self.who {
            Who::Root(mount) => {
                command.args(["--net", "--mount", "--", "sh", "-c", AS_ROOT, "sh"]);
                command.arg(&self.outside).arg(&mount.0);
            }
            Who::User { user, group } => {
                command.args(["--user", "--map-root-user", "--net", "--", "sh", "-c", AS_A_USER, "sh"]);
                command.args([user, group]);
            }
        }
        command
    }
}

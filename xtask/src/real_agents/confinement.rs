//! Runs programs without a network and without root.
//!
//! As root, it creates the namespaces and then switches to the user `nobody` for good. It mounts
//! the programs where `nobody` can reach them. Other users become root of a user namespace only
//! until the loopback interface is up. The agents never have more rights than that user, so a test
//! can safely run a turn with full permission.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use crate::tool::{id, need};

/// Mounts `$1` on `$2` and switches to another user.
const AS_ROOT: &str = "PATH=$PATH:/usr/sbin:/sbin && ip link set lo up && mount --bind \"$1\" \"$2\" && shift 2 && \
    exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all -- \"$@\"";

const AS_A_USER: &str = "PATH=$PATH:/usr/sbin:/sbin && ip link set lo up && user=$1 group=$2 && shift 2 && \
    exec unshare --user --map-user=\"$user\" --map-group=\"$group\" -- \"$@\"";

/// Method of running the programs of a directory.
#[derive(Debug)]
pub(super) struct Confinement {
    /// Path of the directory outside the namespace.
    outside: PathBuf,
    who: Who,
}

#[derive(Debug)]
enum Who {
    /// Started as root, with the mount point inside the namespace.
    Root(Mount),
    User {
        user: String,
        group: String,
    },
}

/// Empty directory for a mount, deleted on drop.
#[derive(Debug)]
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        // The mount exists only inside the namespace, so the directory is still empty here.
        let _ = fs::remove_dir(&self.0);
    }
}

impl Confinement {
    /// Fails if this machine cannot create the namespaces.
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

    /// Maps a path in the directory to its path inside the namespace.
    pub(super) fn inside(&self, path: &Path) -> Result<PathBuf> {
        let relative = path.strip_prefix(&self.outside)?;
        Ok(self.directory().join(relative))
    }

    /// Runs a program from `bin` of the directory.
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

    /// Checks that the process is not root and sees no interface but the loopback.
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

    /// Returns the command prefix that enters the namespace. The caller appends the program.
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

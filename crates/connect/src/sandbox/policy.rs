//! Paths that a program inside a sandbox can change, read, or not read (B-2).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use saihai_model::ProviderKind;
use serde::{Deserialize, Serialize};

use super::utf8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PathAccess {
    Hidden,
    Read,
    Write,
}

/// Access by path. The longest path that contains a file decides; everything else can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SandboxPolicy {
    rules: BTreeMap<PathBuf, PathAccess>,
}

/// Credentials below the home directory. Reading one of them needs `sandbox_read`.
const SECRETS: [&str; 20] = [
    ".ssh",
    ".gnupg",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".kube",
    ".docker",
    ".terraform.d/credentials.tfrc.json",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
];

/// Files below the home directory that start programs of the user. They stay unchanged, even if the work tree is the
/// home directory.
const START_FILES: [&str; 13] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/fish",
    ".config/systemd",
    ".config/autostart",
    ".gitconfig",
    ".config/git",
];

/// Sockets that start programs outside. Landlock cannot close them; bubblewrap hides them.
const SOCKETS: [&str; 4] = ["/run/docker.sock", "/run/podman", "/run/containerd", "/run/dbus"];

/// Templates of environment files, without secrets.
const ENV_TEMPLATES: [&str; 4] = [".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Devices that programs write to.
pub(super) const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

impl SandboxPolicy {
    /// Sets the access of an existing path. Links are followed, so that a link cannot hide its target.
    fn set(&mut self, path: &Path, access: PathAccess) {
        if let Ok(path) = fs::canonicalize(path) {
            self.rules.insert(path, access);
        }
    }

    pub(super) fn read(&mut self, path: &Path) {
        self.set(path, PathAccess::Read);
    }

    pub(super) fn write(&mut self, path: &Path) {
        self.set(path, PathAccess::Write);
    }

    /// Hides credentials, environment files of the project, and sockets of services.
    pub(super) fn hide_secrets(&mut self, home: Option<&Path>, directory: &Path, allowed: &[PathBuf]) {
        for secret in SECRETS {
            home.into_iter().for_each(|home| self.set(&home.join(secret), PathAccess::Hidden));
        }
        for socket in SOCKETS {
            self.set(Path::new(socket), PathAccess::Hidden);
        }
        self.set(
            &Path::new("/run/user").join(rustix::process::getuid().as_raw().to_string()),
            PathAccess::Hidden,
        );
        for file in environment_files(directory) {
            self.set(&file, PathAccess::Hidden);
        }
        for path in allowed {
            self.set(path, PathAccess::Read);
        }
        for device in DEVICES {
            self.write(Path::new(device));
        }
    }

    /// Opens the work tree, and the parts of the repository that a commit in a linked worktree changes.
    pub(super) fn allow_editing(&mut self, directory: &Path) {
        self.write(directory);
        let Some(own) = linked_git_directory(directory) else { return };
        let Some(common) = own.parent().and_then(Path::parent) else { return };
        self.write(&own);
        self.write(&common.join("objects"));
        let head = fs::read_to_string(own.join("HEAD")).unwrap_or_default();
        if let Some(branch) = head.trim().strip_prefix("ref: ").map(Path::new) {
            for place in [common.join(branch), common.join("logs").join(branch)] {
                place.parent().into_iter().for_each(|folder| self.write(folder));
            }
        }
    }

    /// Keeps paths inside the work tree unchanged: the repository of the user's checkout, runs with their journals and
    /// inboxes, start files and our own program.
    pub(super) fn keep(&mut self, home: Option<&Path>, directory: &Path, runs: &Path) {
        let git = directory.join(".git");
        if git.is_dir() {
            self.set(&git, PathAccess::Read);
        }
        self.set(runs, PathAccess::Read);
        for file in START_FILES {
            home.into_iter().for_each(|home| self.set(&home.join(file), PathAccess::Read));
        }
        if let Ok(ours) = std::env::current_exe() {
            self.set(&ours, PathAccess::Read);
        }
    }

    pub(super) fn paths(&self, access: PathAccess) -> impl Iterator<Item = &Path> {
        self.rules.iter().filter(move |(_, one)| **one == access).map(|(path, _)| path.as_path())
    }

    /// Returns the rules, parents before their children.
    pub(super) fn rules(&self) -> impl Iterator<Item = (&Path, PathAccess)> {
        self.rules.iter().map(|(path, access)| (path.as_path(), *access))
    }

    /// Returns the access of a path by the nearest rule above it, without its own.
    pub(super) fn inherited(&self, path: &Path) -> PathAccess {
        path.ancestors().skip(1).find_map(|one| self.rules.get(one)).copied().unwrap_or(PathAccess::Read)
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.rules.contains_key(path)
    }

    /// Returns true if a path below allows less than `access`.
    pub(super) fn narrows_below(&self, path: &Path, access: PathAccess) -> bool {
        self.rules.iter().any(|(one, own)| one != path && one.starts_with(path) && *own < access)
    }

    pub(super) fn to_argument(&self) -> io::Result<String> {
        self.rules.keys().try_for_each(|path| utf8(path).map(drop))?;
        serde_json::to_string(self).map_err(io::Error::other)
    }

    pub(super) fn of_argument(argument: &str) -> io::Result<Self> {
        serde_json::from_str(argument).map_err(io::Error::other)
    }
}

/// Returns files such as `.env` and `.env.local` in the root of the work tree.
fn environment_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_secret = |name: &String| {
        (name == ".env" || name.starts_with(".env.")) && !ENV_TEMPLATES.contains(&name.as_str())
    };
    names.filter(is_secret).map(|name| directory.join(name)).collect()
}

/// Returns the git directory of a linked worktree, which lies in the `worktrees` of its repository.
fn linked_git_directory(directory: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(directory.join(".git")).ok()?;
    let own = directory.join(link.trim().strip_prefix("gitdir: ")?);
    let own = fs::canonicalize(own).ok()?;
    (own.parent()?.file_name()? == "worktrees").then_some(own)
}

/// Files in which an agent program keeps its login, sessions and caches. This table is the only place that names them.
#[derive(Debug)]
pub(super) struct AgentState {
    program: &'static str,
    kind: Option<ProviderKind>,
    /// Variables that name a directory instead of the usual one.
    variables: &'static [&'static str],
    /// Directories below the home directory. Missing ones are created.
    directories: &'static [&'static str],
    /// Files below the home directory.
    files: &'static [&'static str],
    /// A variable for temporary files, next to `TMPDIR`.
    pub(super) temporary_variable: Option<&'static str>,
}

const UNKNOWN_AGENT: AgentState = AgentState {
    program: "",
    kind: None,
    variables: &[],
    directories: &[],
    files: &[],
    temporary_variable: None,
};

static AGENT_STATES: [AgentState; 5] = [
    AgentState {
        program: "claude",
        kind: Some(ProviderKind::Claude),
        variables: &["CLAUDE_CONFIG_DIR"],
        directories: &[".claude", ".cache/claude", ".cache/claude-cli-nodejs", ".local/state/claude"],
        files: &[".claude.json", ".claude.json.backup"],
        temporary_variable: Some("CLAUDE_CODE_TMPDIR"),
    },
    AgentState {
        program: "codex",
        kind: Some(ProviderKind::Codex),
        variables: &["CODEX_HOME"],
        directories: &[".codex"],
        ..UNKNOWN_AGENT
    },
    AgentState {
        program: "opencode",
        kind: Some(ProviderKind::Opencode),
        variables: &["OPENCODE_CONFIG_DIR"],
        directories: &[
            ".config/opencode",
            ".local/share/opencode",
            ".local/state/opencode",
            ".cache/opencode",
            ".opencode",
        ],
        ..UNKNOWN_AGENT
    },
    AgentState {
        program: "gemini",
        kind: Some(ProviderKind::Gemini),
        directories: &[".gemini"],
        ..UNKNOWN_AGENT
    },
    AgentState {
        program: "copilot",
        kind: Some(ProviderKind::Copilot),
        variables: &["COPILOT_HOME"],
        directories: &[".copilot", ".config/github-copilot", ".cache/copilot", ".local/state/.copilot"],
        ..UNKNOWN_AGENT
    },
];

/// Variables that move a directory of the table, with the part of the path that they replace.
const XDG: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config/"),
    ("XDG_DATA_HOME", ".local/share/"),
    ("XDG_STATE_HOME", ".local/state/"),
    ("XDG_CACHE_HOME", ".cache/"),
];

impl AgentState {
    /// Finds an agent by its kind, or by the name of its program: `acp` can start any of them.
    pub(super) fn of(kind: Option<ProviderKind>, program: &Path) -> &'static Self {
        static UNKNOWN: AgentState = UNKNOWN_AGENT;
        let name = program.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let is_acp = kind == Some(ProviderKind::Acp);
        let found = AGENT_STATES.iter().find(|one| one.kind == kind || (is_acp && one.program == name));
        found.unwrap_or(&UNKNOWN)
    }

    /// Returns its directories and files, and creates missing directories: a rule needs a path that exists.
    pub(super) fn directories(
        &self,
        home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Vec<PathBuf> {
        let moved = |name: &str| {
            let (xdg, part) = XDG.iter().find(|(_, part)| name.starts_with(part))?;
            variable(xdg).map(|base| base.join(&name[part.len()..]))
        };
        let usual = |name: &&str| moved(name).or_else(|| Some(home?.join(name)));
        let named = self.variables.iter().filter_map(|name| variable(name));
        let directories: Vec<PathBuf> = self.directories.iter().filter_map(usual).chain(named).collect();
        for directory in &directories {
            // A directory that cannot be created has no rule, and the program reports that it cannot write.
            let _ = fs::create_dir_all(directory);
        }
        directories.into_iter().chain(self.files.iter().filter_map(usual)).collect()
    }
}

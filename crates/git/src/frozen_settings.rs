//! Settings read before an agent can change them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::RepositoryError;
use crate::git_program::{GitEnvironment, GitError, output};

/// The user's configuration and the inert part of the repository's, as they were before the first agent.
#[derive(Clone)]
pub struct FrozenGitSettings {
    /// Keys and values, in order of precedence.
    pub(crate) settings: Vec<(String, Option<String>)>,
    pub(crate) object_format: String,
    /// True if the user signs commits.
    pub(crate) signs: bool,
    /// The user's identity from the environment.
    pub(crate) identity: Vec<(&'static str, OsString)>,
    /// The committer's name if no identity is configured.
    stand_in: Option<&'static str>,
    /// `info/exclude` and the user's own exclude file.
    pub(crate) excludes: [Vec<u8>; 2],
    /// `info/attributes` and the user's own attributes file.
    pub(crate) attributes: [Vec<u8>; 2],
    /// True if some objects may exist only on a server.
    pub(crate) partial: bool,
    /// The push address of each remote.
    remotes: BTreeMap<String, String>,
}

impl std::fmt::Debug for FrozenGitSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys: Vec<&str> = self.settings.iter().map(|(key, _)| key.as_str()).collect();
        formatter.debug_struct("Frozen").field("keys", &keys).finish_non_exhaustive()
    }
}

/// Sections of the user's own configuration that apply: identity, authentication and filters.
const OWN_SECTIONS: [&str; 8] =
    ["user.", "author.", "committer.", "credential.", "http.", "filter.", "gpg.", "url."];
const OWN_KEYS: [&str; 3] = ["core.sshcommand", "ssh.variant", "commit.gpgsign"];
/// Keys for the form of files, from any scope. They start no program.
const INERT_KEYS: [&str; 8] = [
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.safecrlf",
    "core.precomposeunicode",
    "core.sharedrepository",
];
/// Identity keys, from any scope. They are plain text.
const IDENTITY_KEYS: [&str; 2] = ["user.name", "user.email"];
const IDENTITY_VARIABLES: [&str; 4] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
/// The identity of GitHub Actions on GitHub.
const ACTIONS: [&str; 2] = ["github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com"];
/// Variables that name the user's configuration files.
const CONFIGURATION_VARIABLES: [&str; 3] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

impl FrozenGitSettings {
    pub(crate) fn read(
        root: &Path,
        common: &Path,
        environment: &GitEnvironment,
        object_format: String,
    ) -> Result<Self, RepositoryError> {
        let configuration = GitConfigReader { root, environment };
        let entries = configuration.entries()?;
        let is_true = |value: Option<&String>| value.is_none_or(|value| is_true(value));
        let own = entries.iter().filter(|entry| entry.is_own);
        let signs = own.clone().rfind(|entry| entry.key == "commit.gpgsign");
        let named = |name: &'static str| {
            Some((name, environment.value(name).filter(|value| !value.is_empty())?.clone()))
        };
        let read = |path: PathBuf| std::fs::read(&path).unwrap_or_default();
        let mut settings: Vec<_> =
            entries.iter().filter(|entry| entry.counts()).map(GitConfigEntry::setting).collect();
        let ssh = environment.value("GIT_SSH_COMMAND").map(|command| command.to_string_lossy().into_owned());
        match ssh {
            Some(command) => settings.push(("core.sshcommand".to_owned(), Some(command))),
            None if settings.iter().any(|(key, _)| key == "core.sshcommand") => {}
            // By default, ssh would prompt on the terminal.
            None => settings.push(("core.sshcommand".to_owned(), Some("ssh -oBatchMode=yes".to_owned()))),
        }
        Ok(Self {
            settings,
            object_format,
            signs: signs.is_some_and(|entry| is_true(entry.value.as_ref())),
            identity: IDENTITY_VARIABLES.into_iter().filter_map(named).collect(),
            stand_in: None,
            excludes: [
                read(common.join("info/exclude")),
                configuration.own_file("core.excludesFile", "ignore"),
            ],
            attributes: [
                read(common.join("info/attributes")),
                configuration.own_file("core.attributesFile", "attributes"),
            ],
            partial: entries
                .iter()
                .any(|entry| entry.key == "extensions.partialclone" || entry.key.ends_with(".promisor")),
            remotes: remotes(&entries, root),
        })
    }

    /// Returns the address of a remote at the time of reading.
    pub fn remote_url(&self, name: &str) -> Option<&str> {
        self.remotes.get(name).map(String::as_str)
    }

    /// Returns true if a boolean key is set.
    pub(crate) fn is_on(&self, key: &str) -> bool {
        let found = self.settings.iter().rfind(|(known, _)| known == key);
        found.is_some_and(|(_, value)| value.as_ref().is_none_or(|value| is_true(value)))
    }

    /// Returns the committer's name if no identity is configured.
    pub fn stand_in(&self) -> Option<&'static str> {
        self.stand_in
    }

    /// Commits as GitHub Actions inside a job without a configured identity. Returns `false` elsewhere.
    pub(crate) fn commit_as_actions(&mut self, environment: &GitEnvironment) -> bool {
        let is_inside = environment.value("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        if is_inside {
            let [name, address] = ACTIONS;
            let values = [name, address, name, address].map(OsString::from);
            self.identity = IDENTITY_VARIABLES.into_iter().zip(values).collect();
            self.stand_in = Some(name);
        }
        is_inside
    }
}

/// Makes git read the user's own configuration.
pub(crate) fn with_own_configuration(git: &mut Command, environment: &GitEnvironment) {
    for name in CONFIGURATION_VARIABLES {
        if let Some(value) = environment.value(name) {
            git.env(name, value);
        }
    }
}

struct GitConfigReader<'a> {
    root: &'a Path,
    environment: &'a GitEnvironment,
}

struct GitConfigEntry {
    is_own: bool,
    key: String,
    value: Option<String>,
}

impl GitConfigReader<'_> {
    fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut git = self.environment.git();
        with_own_configuration(&mut git, self.environment);
        output(git.current_dir(self.root).arg("config").args(arguments), "config")
    }

    fn entries(&self) -> Result<Vec<GitConfigEntry>, GitError> {
        let said = self.ask(&["--null", "--show-scope", "--includes", "--list"])?;
        let said = String::from_utf8_lossy(&said);
        let mut parts = said.split('\0');
        let mut entries = Vec::new();
        while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
            let (key, value) = match entry.split_once('\n') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (entry, None),
            };
            // The `command` scope contains our own settings.
            if scope != "command" {
                let is_own = matches!(scope, "global" | "system");
                entries.push(GitConfigEntry { is_own, key: key.to_owned(), value });
            }
        }
        Ok(entries)
    }

    /// Reads the user's own rules file from its configured or usual path.
    fn own_file(&self, key: &str, usual: &str) -> Vec<u8> {
        let asked = ["--global", "--system"].into_iter().find_map(|scope| {
            let mut said = self.ask(&[scope, "--includes", "--type=path", "--get", key]).ok()?;
            said.pop_if(|byte| *byte == b'\n');
            Some(PathBuf::from(OsString::from_vec(said)))
        });
        let value = |name: &str| self.environment.value(name).filter(|value| !value.is_empty());
        let usual = || {
            let home = value("XDG_CONFIG_HOME").map(PathBuf::from);
            let home = home.or_else(|| Some(Path::new(value("HOME")?).join(".config")))?;
            Some(home.join("git").join(usual))
        };
        asked.or_else(usual).and_then(|path| std::fs::read(&path).ok()).unwrap_or_default()
    }
}

impl GitConfigEntry {
    fn counts(&self) -> bool {
        let key = self.key.as_str();
        let own = || OWN_KEYS.contains(&key) || OWN_SECTIONS.iter().any(|section| key.starts_with(section));
        INERT_KEYS.contains(&key) || IDENTITY_KEYS.contains(&key) || (self.is_own && own())
    }

    fn setting(&self) -> (String, Option<String>) {
        (self.key.clone(), self.value.clone())
    }
}

fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Returns the first push address of each remote.
fn remotes(entries: &[GitConfigEntry], root: &Path) -> BTreeMap<String, String> {
    let mut remotes = BTreeMap::new();
    // `pushurl` takes precedence over `url`.
    for kind in [".pushurl", ".url"] {
        for entry in entries {
            let name = entry.key.strip_prefix("remote.").and_then(|rest| rest.strip_suffix(kind));
            if let (Some(name), Some(url)) = (name, &entry.value) {
                remotes.entry(name.to_owned()).or_insert_with(|| absolute(url, root));
            }
        }
    }
    remotes
}

/// Returns an address without its password.
pub fn address(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (place, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    match place.rsplit_once('@') {
        Some((user, host)) if scheme == "ssh" => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{name}@{host}{path}")
        }
        Some((_, host)) => format!("{scheme}://{host}{path}"),
        None => url.to_owned(),
    }
}

/// Makes a path relative to the repository absolute, because we push from another directory.
fn absolute(url: &str, root: &Path) -> String {
    let before_slash = url.split('/').next().unwrap_or_default();
    if before_slash.contains(':') || url.starts_with('/') {
        return url.to_owned();
    }
    root.join(url).to_string_lossy().into_owned()
}

//! Programs that we start: finding, starting, signalling and ending them with all their descendants.
//!
//! A [`ProcessTree`] is one program with all its descendants. If [`crate::Connections::launcher`] names our
//! own program, it starts through [`launcher`], so that nothing outlives us. [`run`] runs a program without a
//! conversation. The variables of every program come from an allow-list (C-54).

mod containment;
mod family;
pub mod launcher;
pub(crate) mod network_relay;
mod program;
#[cfg(target_os = "linux")]
mod received;

use std::ffi::{OsStr, OsString};

use saihai_git::program_path::absolute_places;
use saihai_model::ProviderSettings;

pub(crate) use containment::ProcessMark;
pub use containment::{Containment, CurrentTurn, sweep};
pub(crate) use family::{
    ProcessPipes, ProcessStart, ProcessStatus, ProcessStreams, ProcessTree, is_exhausted, read,
};
pub use program::{CommandEnd, CommandLine, CommandOutput, CommandSurroundings};
pub(crate) use program::{ProgramEnd, ProgramRun, follow, not_run, run};
pub use saihai_git::program_path::find;

const NAMES: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];

const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Variables that are never passed on, because they raise an agent's permission (C-46).
const NEVER: [&str; 3] = ["COPILOT_ALLOW_ALL", "OPENCODE_PERMISSION", "OPENCODE_CONFIG_CONTENT"];

/// Sources of an agent program's variables; later ones override earlier ones.
pub(crate) struct AgentEnvironment<'a> {
    pub(crate) ours: &'a [(OsString, OsString)],
    /// Our variables that this kind of program needs.
    pub(crate) agents: &'a [&'a str],
    /// Variables that the user passes on or sets.
    pub(crate) settings: &'a ProviderSettings,
    pub(crate) set: &'a [(String, String)],
}

impl AgentEnvironment<'_> {
    /// Returns all variables, each name once.
    pub(crate) fn all(&self) -> Vec<(OsString, OsString)> {
        let passed: Vec<String> = self
            .agents
            .iter()
            .map(|name| (*name).to_owned())
            .chain(self.settings.env_pass.iter().cloned())
            .collect();
        let mut given = allowed_variables(self.ours, &passed);
        // Only we may set variables that raise permission (C-46).
        let users = self.settings.env.iter().filter(|(name, _)| !NEVER.contains(&name.as_str()));
        for (name, value) in self.set.iter().map(|(name, value)| (name, value)).chain(users) {
            let name = OsStr::new(name);
            given.retain(|(existing, _)| existing != name);
            given.push((name.to_owned(), value.into()));
        }
        given
    }
}

/// Returns the allowed variables of ours and those in `passed`, and turns terminal features off.
pub(crate) fn allowed_variables(
    ours: &[(OsString, OsString)],
    passed: &[String],
) -> Vec<(OsString, OsString)> {
    let wanted = |name: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        let listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        (listed || passed.iter().any(|pass| is_named(name, pass))) && !NEVER.contains(&name)
    };
    let mut given: Vec<_> = ours.iter().filter(|(name, _)| wanted(name)).cloned().collect();
    // The program starts in a directory that others write to, so relative entries of the path are unsafe.
    for (_, path) in given.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = absolute_places(path);
    }
    // An empty path means that directory as well.
    given.retain(|(name, value)| name != "PATH" || !value.is_empty());
    given.push(("NO_COLOR".into(), "1".into()));
    given.push(("TERM".into(), "dumb".into()));
    given
}

/// Matches a name. An agent's own list may use a final `*`; a user's list cannot.
fn is_named(name: &str, pass: &str) -> bool {
    pass.strip_suffix('*').map_or(name == pass, |prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests;

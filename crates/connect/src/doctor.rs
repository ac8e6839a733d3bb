//! Checks which providers this machine can use (C-86). It opens no connection and shows no variable's value.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use saihai_model::{Permission, ProviderKind, ProviderName, ProviderSettings};
use tokio::task::JoinSet;

use crate::agent::{AgentProgram, Login, LoginProbe, ProbeOutput};
use crate::process::{AgentEnvironment, allowed_variables};
use crate::{Connections, agents, http, process};

/// The result for one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderReport {
    pub name: ProviderName,
    pub kind: ProviderKind,
    /// The program we looked for; none if the provider needs or names none.
    pub program: Option<String>,
    pub path: Option<PathBuf>,
    /// The version that the program reports.
    pub version: Option<String>,
    /// The version we tested with.
    pub tested: Option<&'static str>,
    /// The install command to paste.
    pub install: Option<&'static str>,
    pub login: Login,
    /// The provider supports permission `full`: it can enforce it, and does not refuse it to our user.
    pub full: bool,
}

impl ProviderReport {
    pub fn is_there(&self) -> bool {
        self.path.is_some() || !needs_program(self.kind)
    }
}

/// Maximum wait for a program.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum output of a program that reports its version or login.
const MOST: u64 = 64 * 1024;

/// Checks every configured or built-in provider concurrently. Returns them in the order of their names.
pub async fn examine(with: &Connections) -> Vec<ProviderReport> {
    let mut examining = JoinSet::new();
    for (name, settings) in candidates(with) {
        let environment = with.environment.clone();
        let root = with.root;
        examining.spawn(async move { ProviderCheckup { name, settings, environment, root }.examine().await });
    }
    let mut all = examining.join_all().await;
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// Returns the URL of the repository's remote, preferably the one with this name. It only reads git's
/// configuration, which runs nothing and opens no connection.
pub async fn remote(git: &Path, directory: &Path, name: &str, with: &Connections) -> Option<String> {
    let directory = directory.to_str()?;
    let arguments = ["-C", directory, "config", "--get-regexp", r"^remote\..*\.url$"];
    let said = probe(git, &arguments, allowed_variables(&with.environment, &[])).await?;
    let remotes = || said.output.lines().filter_map(|line| line.split_once(' '));
    let key = format!("remote.{name}.url");
    let named = remotes().find(|(this, _)| *this == key);
    let (_, address) = named.or_else(|| remotes().next()).filter(|_| said.code == Some(0))?;
    Some(address.to_owned())
}

/// Returns the path of a program and the version it reports.
pub async fn program(name: &str, with: &Connections) -> Option<(PathBuf, Option<String>)> {
    let path = with.environment.iter().find(|(this, _)| this == "PATH").map(|(_, path)| path.as_os_str());
    let file = process::find(name, path).ok()?;
    let said = probe(&file, &["--version"], allowed_variables(&with.environment, &[])).await;
    Some((file, said.and_then(|said| said.version())))
}

/// Returns the configured providers and the built-in ones.
fn candidates(with: &Connections) -> Vec<(ProviderName, ProviderSettings)> {
    let set = with.settings.iter().map(|(name, settings)| (name.clone(), settings.clone()));
    let own = ProviderKind::ALL.into_iter().filter(|kind| is_known_by_name(*kind));
    let own = own.map(|kind| (ProviderName::from(kind.name()), ProviderSettings::new(kind)));
    let described: Vec<_> = set.filter(|(_, settings)| settings.kind != ProviderKind::Script).collect();
    let undescribed: Vec<_> = own.filter(|(name, _)| !with.settings.contains_key(name)).collect();
    described.into_iter().chain(undescribed).collect()
}

/// Returns true if a provider can be checked without settings.
fn is_known_by_name(kind: ProviderKind) -> bool {
    match kind {
        ProviderKind::Anthropic | ProviderKind::Openai => true,
        ProviderKind::Script | ProviderKind::Acp | ProviderKind::Command => false,
        ProviderKind::Claude
        | ProviderKind::Codex
        | ProviderKind::Opencode
        | ProviderKind::Gemini
        | ProviderKind::Copilot => agents::of(kind).is_some(),
    }
}

fn needs_program(kind: ProviderKind) -> bool {
    match kind {
        ProviderKind::Anthropic | ProviderKind::Openai | ProviderKind::Script => false,
        ProviderKind::Claude
        | ProviderKind::Codex
        | ProviderKind::Opencode
        | ProviderKind::Gemini
        | ProviderKind::Copilot
        | ProviderKind::Acp
        | ProviderKind::Command => true,
    }
}

struct ProviderCheckup {
    name: ProviderName,
    settings: ProviderSettings,
    environment: Vec<(OsString, OsString)>,
    root: bool,
}

impl ProviderCheckup {
    async fn examine(self) -> ProviderReport {
        let kind = self.settings.kind;
        let Some(agent) = agents::of(kind) else {
            let variable = http::key_variable_of(&self.settings);
            let login = self.key(variable.as_deref().as_slice());
            let full = self.settings.can_enforce(Permission::Full);
            let (name, program) = (self.name, self.settings.program);
            return ProviderReport {
                name,
                kind,
                program,
                path: None,
                version: None,
                tested: None,
                install: None,
                login,
                full,
            };
        };
        let profile = agent.profile();
        let program = self.settings.program.clone().unwrap_or_else(|| profile.program.to_owned());
        let path = self.variable("PATH");
        let file = if program.is_empty() { None } else { process::find(&program, path).ok() };
        let version = match &file {
            Some(file) => self.ask(agent, file, &["--version"]).await.and_then(|said| said.version()),
            None => None,
        };
        let login = self.login(agent, file.as_deref()).await;
        let is_refused = self.root && agent.refuses_root(Permission::Full, &self.settings);
        let full = self.settings.can_enforce(Permission::Full) && !is_refused;
        ProviderReport {
            kind,
            program: Some(program).filter(|program| !program.is_empty()),
            path: file,
            version,
            tested: Some(profile.tested).filter(|tested| !tested.is_empty()),
            install: Some(profile.install).filter(|install| !install.is_empty()),
            login,
            full,
            name: self.name,
        }
    }

    /// Returns the login that the program reports, or else checks for a key.
    async fn login(&self, agent: &dyn AgentProgram, file: Option<&Path>) -> Login {
        let said = match (agent.login(), file) {
            (Some(LoginProbe { arguments, read }), Some(file)) => {
                self.ask(agent, file, arguments).await.map_or(Login::Unknown, |said| read(&said))
            }
            (None, _) | (_, None) => Login::Unknown,
        };
        match (&said, self.key(agent.keys())) {
            (Login::Out | Login::Unknown, key @ Login::Key(_)) => key,
            (_, _) => said,
        }
    }

    /// Returns the first non-empty variable among those the provider would get.
    fn key(&self, names: &[&str]) -> Login {
        let filled = |name: &&str| {
            let set = self.settings.env.get(*name).is_some_and(|value| !value.is_empty());
            set || self.variable(name).is_some_and(|value| !value.is_empty())
        };
        names.iter().copied().find(filled).map_or(Login::Unknown, |name| Login::Key(name.to_owned()))
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment.iter().find(|(this, _)| this == name).map(|(_, value)| value.as_os_str())
    }

    async fn ask(&self, agent: &dyn AgentProgram, file: &Path, arguments: &[&str]) -> Option<ProbeOutput> {
        let (ours, settings) = (self.environment.as_slice(), &self.settings);
        let given = AgentEnvironment { ours, agents: agent.profile().environment, settings, set: &[] };
        probe(file, arguments, given.all()).await
    }
}

/// Runs a program that reports about itself, outside of any project. Returns nothing if it takes too long.
pub(crate) async fn probe(
    file: &Path,
    arguments: &[&str],
    environment: Vec<(OsString, OsString)>,
) -> Option<ProbeOutput> {
    let mut command = Command::new(file);
    command.args(arguments).env_clear().envs(environment).current_dir(std::env::temp_dir());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().ok()?;
    let group = Pid::from_child(&child);
    let mut said = tokio::task::spawn_blocking(move || {
        let output = child.stdout.take().map(read).unwrap_or_default();
        let complaints = child.stderr.take().map(read).unwrap_or_default();
        let status = child.wait().ok()?;
        Some(ProbeOutput { code: status.code(), output: output + &complaints })
    });
    if let Ok(said) = tokio::time::timeout(LIMIT, &mut said).await {
        return said.ok()?;
    }
    // The child has not been reaped, so its process id cannot belong to another process.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = said.await;
    None
}

/// Returns the start of a program's output. It reads and drops the rest, so that the program never blocks.
fn read(mut stream: impl std::io::Read) -> String {
    let mut beginning = Vec::new();
    let _ = (&mut stream).take(MOST).read_to_end(&mut beginning);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    String::from_utf8_lossy(&beginning).into_owned()
}

impl ProbeOutput {
    /// Returns the reported version. The output of a failed program, such as a traceback, names other ones.
    fn version(&self) -> Option<String> {
        version(&self.output).filter(|_| self.code == Some(0))
    }
}

/// Finds the first three numbers with dots between them.
pub(crate) fn version(text: &str) -> Option<String> {
    let words = text.split(|character: char| !(character.is_ascii_digit() || character == '.'));
    let numbers = |word: &&str| {
        let parts: Vec<&str> = word.split('.').collect();
        parts.len() >= 3 && parts.iter().take(3).all(|part| !part.is_empty())
    };
    let word = words.map(|word| word.trim_matches('.')).find(numbers)?;
    Some(word.split('.').take(3).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::{ProbeOutput, version};

    // U-20
    #[test]
    fn a_program_that_fails_has_no_version() {
        let output = "Traceback (most recent call last):\n  File \"/opt/python3.11.2/agent.py\"\n".to_owned();
        let check = |code, expected: Option<&str>| {
            let said = ProbeOutput { code, output: output.clone() };
            assert_eq!(said.version().as_deref(), expected);
        };
        check(Some(0), Some("3.11.2"));
        check(Some(1), None);
        check(None, None);
    }

    // C-86
    #[test]
    fn the_version_is_the_first_three_numbers_with_dots() {
        for (said, expected) in [
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("v1.18.33.", Some("1.18.33")),
            ("tool 1.2, build 3.4.5-beta", Some("3.4.5")),
            ("no version", None),
            ("1..2", None),
            ("", None),
        ] {
            assert_eq!(version(said).as_deref(), expected, "{said}");
        }
    }
}

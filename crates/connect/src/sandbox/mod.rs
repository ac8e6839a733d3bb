//! The boundary around agent programs (B-1 – B-3).
//!
//! [`SandboxPolicy`] says which paths a program can change, read or not read. Landlock and bubblewrap enforce
//! the same policy: [`landlock_rules`] in the launcher, before the program starts, and [`bubblewrap`] as a
//! wrapper of the command line. A program of the user's is a wrapper too; it gets the policy in variables.
//!
//! Deliberately absent: detection of what an agent did. The kernel refuses it.

mod bubblewrap;
mod landlock_rules;
mod network;
mod policy;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use saihai_git::program_path::find;
use saihai_model::{
    Ask, Permission, ProviderKind, SandboxChoice, SandboxHost, SandboxNetwork, SandboxSettings,
};

pub use landlock_rules::LandlockSupport;
pub(crate) use landlock_rules::confine_this_process;
pub(crate) use network::NetworkProxy;
pub(crate) use policy::SandboxPolicy;
use policy::{AgentState, PathAccess};

use crate::process::network_relay;

/// The reason why a sandbox cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxProblem {
    #[error(
        "`landlock` and `bwrap` need Linux; name a program of your own, such as `sandbox = [\"docker\", \"run\", …]`"
    )]
    NotLinux,
    #[error("this kernel has no Landlock; it needs Linux 6.2 or newer with `landlock` in `lsm=`")]
    NoLandlock,
    #[error("Landlock of this kernel cannot stop a program from emptying files; it needs Linux 6.2 or newer")]
    OldLandlock,
    #[error("this sandbox is set up by Saihai's own program, which this caller does not name")]
    NoLauncher,
    #[error(
        "there is no program `bwrap`; install it with `apt install bubblewrap` or `dnf install bubblewrap`"
    )]
    NoBwrap,
    #[error("`bwrap` does not work here: {0}; user namespaces may be turned off")]
    BrokenBwrap(String),
    #[error("there is no program `{0}`")]
    NoProgram(String),
    #[error("no sandbox works here: {bwrap}; {landlock}")]
    Nothing { bwrap: Box<Self>, landlock: Box<Self> },
    #[error("`landlock` cannot close the network; use `bwrap` for `sandbox_network = \"none\"`")]
    OpenNetwork,
    #[error("`landlock` cannot limit the network to hosts; use `bwrap` for a list in `sandbox_network`")]
    NoHostRules,
    #[error("a program of your own must limit the network itself; remove `sandbox_network`")]
    NetworkOfProgram,
    /// A setting names a path that does not exist.
    #[error("`{key}` names `{path}`, which does not exist")]
    MissingPath { key: &'static str, path: String },
}

/// Sandboxes of this machine, for `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    pub landlock: Result<LandlockSupport, SandboxProblem>,
    pub bwrap: Result<PathBuf, SandboxProblem>,
}

impl SandboxReport {
    pub fn of_this_machine(environment: &[(OsString, OsString)]) -> Self {
        Self { landlock: landlock_rules::support(), bwrap: bubblewrap::locate(environment, true) }
    }

    /// Returns the name of the sandbox that `auto` means here.
    pub fn strongest(&self) -> Option<&'static str> {
        if self.bwrap.is_ok() { Some("bwrap") } else { self.landlock.is_ok().then_some("landlock") }
    }
}

/// A sandbox that works on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SandboxMethod {
    Landlock,
    Bwrap(PathBuf),
    /// A wrapper of the user's, with its arguments.
    Program(PathBuf, Vec<String>),
}

/// Finds the sandbox that a person chose. `None` means that programs run without one.
pub(crate) fn resolve(
    choice: &SandboxChoice,
    settings: &SandboxSettings,
    environment: &[(OsString, OsString)],
    launcher: Option<&Path>,
) -> Result<Option<SandboxMethod>, SandboxProblem> {
    let landlock = || {
        landlock_rules::support()?;
        if launcher.is_none() {
            return Err(SandboxProblem::NoLauncher);
        }
        match settings.network {
            SandboxNetwork::Open => Ok(SandboxMethod::Landlock),
            SandboxNetwork::Closed => Err(SandboxProblem::OpenNetwork),
            SandboxNetwork::Hosts(_) => Err(SandboxProblem::NoHostRules),
        }
    };
    let bwrap = || {
        let program = bubblewrap::locate(environment, settings.network == SandboxNetwork::Open)?;
        if matches!(settings.network, SandboxNetwork::Hosts(_)) && launcher.is_none() {
            return Err(SandboxProblem::NoLauncher);
        }
        Ok(SandboxMethod::Bwrap(program))
    };
    let method = match choice {
        SandboxChoice::Off => return Ok(None),
        SandboxChoice::Landlock => landlock()?,
        SandboxChoice::Bwrap => bwrap()?,
        SandboxChoice::Auto => bwrap().or_else(|missing| {
            landlock().map_err(|landlock| match landlock {
                SandboxProblem::NotLinux => SandboxProblem::NotLinux,
                other => SandboxProblem::Nothing { bwrap: Box::new(missing), landlock: Box::new(other) },
            })
        })?,
        SandboxChoice::Program(_) if settings.network != SandboxNetwork::Open => {
            return Err(SandboxProblem::NetworkOfProgram);
        }
        SandboxChoice::Program(argv) => {
            let (name, arguments) = argv.split_first().ok_or(SandboxProblem::NoProgram(String::new()))?;
            let file =
                find(name, path_of(environment)).map_err(|_| SandboxProblem::NoProgram(name.clone()))?;
            SandboxMethod::Program(file, arguments.to_vec())
        }
    };
    for (key, paths) in [("sandbox_read", &settings.read), ("sandbox_write", &settings.write)] {
        if let Some(missing) = paths.iter().find(|path| !path.exists()) {
            return Err(SandboxProblem::MissingPath { key, path: missing.display().to_string() });
        }
    }
    Ok(Some(method))
}

fn path_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str())
}

/// The sandboxes of one provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AgentSandboxes {
    pub(crate) usual: Option<SandboxMethod>,
    /// The sandbox of stages that require one.
    pub(crate) required: Option<SandboxMethod>,
    pub(crate) settings: SandboxSettings,
}

impl AgentSandboxes {
    /// Returns the sandbox of a program for an ask.
    pub(crate) fn of_ask(
        &self,
        ask: &Ask,
        required: bool,
        kind: Option<ProviderKind>,
    ) -> Option<SandboxedStart> {
        let method = if required { &self.required } else { &self.usual }.clone()?;
        // Scratch is directly below the directory of the run.
        let runs = Path::new(&ask.scratch).parent().and_then(Path::parent);
        Some(SandboxedStart {
            method,
            settings: self.settings.clone(),
            permission: ask.permission,
            directory: PathBuf::from(&ask.directory),
            runs: runs.map(Path::to_owned).unwrap_or_default(),
            kind,
        })
    }
}

/// A program that runs in a sandbox: everything that its policy depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxedStart {
    pub(crate) method: SandboxMethod,
    pub(crate) settings: SandboxSettings,
    pub(crate) permission: Permission,
    pub(crate) directory: PathBuf,
    /// The directory of all runs.
    pub(crate) runs: PathBuf,
    /// The kind of agent; absent for other programs.
    pub(crate) kind: Option<ProviderKind>,
}

/// A start, changed so that the program runs inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrappedStart {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The policy that the launcher applies, if it does.
    pub(crate) launcher_policy: Option<String>,
}

/// The way from a limited network to the proxy outside.
#[derive(Debug)]
pub(crate) struct NetworkGate {
    pub(crate) socket: PathBuf,
    /// Our own program, which passes connections on inside.
    pub(crate) relay: PathBuf,
}

impl SandboxedStart {
    /// Returns the hosts of a limited network.
    pub(crate) fn hosts(&self) -> Option<&[SandboxHost]> {
        match (&self.method, &self.settings.network) {
            (SandboxMethod::Bwrap(_), SandboxNetwork::Hosts(hosts)) => Some(hosts),
            (_, _) => None,
        }
    }

    /// Returns the start of a program inside. `temporary` is its private directory for temporary files, and `gate` the way
    /// out of a limited network.
    pub(crate) fn wrap(
        &self,
        program: &Path,
        arguments: &[String],
        environment: &[(OsString, OsString)],
        temporary: &Path,
        gate: Option<&NetworkGate>,
    ) -> io::Result<WrappedStart> {
        let policy = self.policy(program, environment, temporary)?;
        let state = AgentState::of(self.kind, program);
        let temporary_variables = ["TMPDIR"].into_iter().chain(state.temporary_variable);
        let mut variables: Vec<(OsString, OsString)> =
            temporary_variables.map(|name| (name.into(), temporary.into())).collect();
        let (program, arguments, launcher_policy) = match &self.method {
            SandboxMethod::Landlock => (program.to_owned(), arguments.to_vec(), Some(policy.to_argument()?)),
            SandboxMethod::Bwrap(bwrap) => {
                let is_open = self.settings.network == SandboxNetwork::Open;
                let mut inside = bubblewrap::arguments(&policy, &self.directory, is_open, gate)?;
                if let (Some(hosts), Some(_)) = (self.hosts(), gate) {
                    inside.extend(network_relay::arguments(
                        bubblewrap::RELAY_INSIDE,
                        bubblewrap::SOCKET_INSIDE,
                        hosts,
                    ));
                    variables.extend(proxy_variables());
                }
                inside.push(utf8(program)?);
                inside.extend_from_slice(arguments);
                (bwrap.clone(), inside, None)
            }
            SandboxMethod::Program(wrapper, own) => {
                let of = |access| std::env::join_paths(policy.paths(access)).map_err(io::Error::other);
                variables.push(("SAIHAI_INSIDE_WRITE".into(), of(PathAccess::Write)?));
                variables.push(("SAIHAI_INSIDE_HIDE".into(), of(PathAccess::Hidden)?));
                let mut inside = own.clone();
                inside.push(utf8(program)?);
                inside.extend_from_slice(arguments);
                (wrapper.clone(), inside, None)
            }
        };
        Ok(WrappedStart { program, arguments, variables, launcher_policy })
    }

    fn policy(
        &self,
        program: &Path,
        environment: &[(OsString, OsString)],
        temporary: &Path,
    ) -> io::Result<SandboxPolicy> {
        let variable = |name: &str| {
            environment.iter().find(|(one, _)| one == name).map(|(_, value)| PathBuf::from(value))
        };
        let home = variable("HOME");
        let mut policy = SandboxPolicy::default();
        policy.hide_secrets(home.as_deref(), &self.directory, &self.settings.read);
        match self.permission {
            Permission::ReadOnly => policy.read(&self.directory),
            Permission::Edit { .. } | Permission::Full => policy.allow_editing(&self.directory),
        }
        policy.keep(home.as_deref(), &self.directory, &self.runs);
        let state = AgentState::of(self.kind, program);
        for directory in state.directories(home.as_deref(), &variable) {
            policy.write(&directory);
        }
        for path in self.settings.write.iter().map(PathBuf::as_path).chain([temporary]) {
            policy.write(path);
        }
        Ok(policy)
    }
}

/// Variables that name the proxy, as programs know them.
fn proxy_variables() -> impl Iterator<Item = (OsString, OsString)> {
    let proxy = format!("http://{}", network_relay::PROXY);
    // Servers that the program starts itself, and listed ones of this machine, are on its loopback.
    let direct = "localhost,127.0.0.1,::1".to_owned();
    let both = |name: &str| [name.to_owned(), name.to_lowercase()];
    let named = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"].map(|name| (name, proxy.clone()));
    let named = named.into_iter().chain([("NO_PROXY", direct)]);
    let named = named.flat_map(move |(name, value)| both(name).map(|name| (name, value.clone())));
    // Node.js reads the others only if it is asked to.
    let node = ("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    named.chain([node]).map(|(name, value)| (name.into(), value.into()))
}

/// Arguments and the launcher's policy are text.
fn utf8(path: &Path) -> io::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::other(format!("the path {} is not UTF-8", path.display())))
}

#[cfg(test)]
mod tests;

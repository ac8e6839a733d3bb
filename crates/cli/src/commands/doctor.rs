use std::path::Path;

use clap::Args;
use saihai_config::{Diagnostics, Settings};
use saihai_connect::{
    Connections, Containment, LandlockSupport, Login, ProviderReport, SandboxReport, examine, program, remote,
};
use saihai_model::ExitStatus;
use serde::Serialize;

use crate::definitions::connections;
use crate::driving::block_on;
use crate::error::CommandError;
use crate::issue_tracker::{OWN_HOST, RemoteRepository};
use crate::project::Project;
use crate::terminal::{Stream, Streams, Table, visible_line, wrapped};

/// The environment variable with the forge's token.
const TOKEN: &str = "GITHUB_TOKEN";

/// Check which agents this machine can run, and what is missing
#[derive(Debug, Args)]
#[command(after_help = "\
Asks each agent program for its version and login, for at most 10 seconds. Opens no connection.
The exit code is 4 if a provider that the settings name is missing.

Examples:
  saihai doctor
  saihai doctor --json")]
pub(crate) struct DoctorCommand {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DoctorObject {
    providers: Vec<ProviderObject>,
    git: ProgramObject,
    forge: ForgeObject,
    root: bool,
    /// The mechanism that contains a process tree.
    process_tree: &'static str,
    sandbox: SandboxObject,
    runs: WritableObject,
    reports: WritableObject,
    /// What to do next, most important first.
    advice: Vec<String>,
}

/// Sandboxes that work on this machine. A problem says what is missing.
#[derive(Serialize)]
struct SandboxObject {
    landlock: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    landlock_problem: Option<String>,
    bwrap: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bwrap_problem: Option<String>,
    /// The sandbox that `auto` means here.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto: Option<&'static str>,
}

impl SandboxObject {
    fn of(report: &SandboxReport) -> Self {
        // An old kernel leaves gaps that are not worth a refusal.
        let gaps = "this kernel does not keep agents from signalling other programs; Linux 6.12 does";
        let landlock_problem = match &report.landlock {
            Ok(LandlockSupport::All) => None,
            Ok(LandlockSupport::Files) => Some(gaps.to_owned()),
            Err(problem) => Some(problem.to_string()),
        };
        Self {
            landlock: report.landlock.is_ok(),
            landlock_problem,
            bwrap: report.bwrap.is_ok(),
            bwrap_problem: report.bwrap.as_ref().err().map(ToString::to_string),
            auto: report.strongest(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let words = |name: &str, works: bool, problem: &Option<String>| {
            let state = if works { "works" } else { "does not work" };
            let why = problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
            format!("sandbox `{name}` {state}{why}")
        };
        let mut lines = vec![
            words("bwrap", self.bwrap, &self.bwrap_problem),
            words("landlock", self.landlock, &self.landlock_problem),
        ];
        if let Some(auto) = self.auto {
            lines.push(format!("`--sandbox auto` means `{auto}` here"));
        }
        lines
    }
}

#[derive(Serialize)]
struct ProviderObject {
    provider: String,
    kind: &'static str,
    /// True if the settings name this provider.
    named: bool,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested: Option<bool>,
    login: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    full: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<&'static str>,
    #[serde(skip)]
    account: Login,
}

#[derive(Serialize)]
struct ProgramObject {
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// The project's forge, determined without contacting it.
#[derive(Serialize)]
struct ForgeObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// True for GitHub and for a known GitHub Enterprise server.
    github: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'static str>,
    /// True if the `gh` program exists, which can supply a token.
    gh: bool,
}

#[derive(Serialize)]
struct WritableObject {
    path: String,
    writable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl DoctorCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        // Invalid settings must not hide the other findings.
        let mut wrong = Diagnostics::new();
        let settings = project.load_settings(false, &mut wrong);
        if !wrong.is_empty() {
            streams.warning("the settings have errors; `saihai check` reports them");
        }
        let findings =
            block_on(async { Ok(DoctorObject::of(&project, &settings, &connections(&settings)).await) })?;
        let mut findings = findings;
        findings.advice = findings.advice(&project, &settings);
        let missing = findings.providers.iter().any(|provider| provider.named && !provider.found);
        if self.json {
            streams.out.json("doctor", findings)?;
        } else {
            let lines = findings.lines(&streams.out);
            streams.out.lines(&lines)?;
        }
        Ok(if missing { ExitStatus::Unavailable } else { ExitStatus::Done })
    }
}

impl DoctorObject {
    async fn of(project: &Project, settings: &Settings, with: &Connections) -> Self {
        let named = |examined: &ProviderReport| {
            settings.providers.contains_key(&examined.name)
                || settings.provider.as_ref() == Some(&examined.name)
        };
        let providers = examine(with).await.into_iter();
        let providers = providers.map(|examined| ProviderObject::of(named(&examined), examined)).collect();
        let git = program("git", with).await;
        Self {
            providers,
            forge: ForgeObject::of(git.as_ref().map(|(path, _)| path.as_path()), project, with).await,
            git: ProgramObject {
                found: git.is_some(),
                path: git.as_ref().map(|(path, _)| path.display().to_string()),
                version: git.and_then(|(_, version)| version),
            },
            root: with.root,
            process_tree: match Containment::here() {
                Containment::ControlGroup => "cgroup",
                Containment::Search => "subreaper",
                Containment::ProcessGroup => "process group",
            },
            sandbox: SandboxObject::of(&SandboxReport::of_this_machine(&with.environment)),
            runs: WritableObject::of(project.runs().directory()),
            reports: WritableObject::of(&settings.reports_dir),
            advice: Vec::new(),
        }
    }

    /// Returns what to write where, or what to install, until a provider can be asked.
    fn advice(&self, project: &Project, settings: &Settings) -> Vec<String> {
        let file = project.shown(&project.places.root.join(".saihai/config.toml"));
        let line = |name: &str| format!("`provider = \"{name}\"`");
        let usable = self.providers.iter().filter(|one| one.is_usable());
        // An account that is known to work comes first, then a program whose login is not known.
        let best = usable.min_by_key(|one| match one.account {
            Login::In => 0,
            Login::Key(_) => 1,
            Login::Unknown => 2,
            Login::Out => 3,
        });
        let Some(default) = settings.provider.as_ref() else {
            return match best {
                Some(one) if matches!(one.account, Login::Out) => vec![format!(
                    "next: log in to `{}`, then add {} to `{file}`",
                    one.provider,
                    line(&one.provider)
                )],
                Some(one) => vec![format!(
                    "next: add {} to `{file}`, or pass `--provider {}`",
                    line(&one.provider),
                    one.provider
                )],
                None => self.nothing_to_ask(&file),
            };
        };
        let origin = settings.find("provider").ok().and_then(|found| found.into_iter().next());
        let origin = origin.map_or_else(|| file.clone(), |found| found.origin.to_string());
        match self.providers.iter().find(|one| one.provider == default.as_str()) {
            Some(one) if !one.found => {
                let install = one.install.map(|install| format!("install it with `{install}`"));
                let change = best.map(|best| format!("write {} in {origin}", line(&best.provider)));
                let ways: Vec<String> = install.into_iter().chain(change).collect();
                let ways = if ways.is_empty() { "install it".to_owned() } else { ways.join(", or ") };
                vec![format!("next: the provider `{default}` is missing: {ways}")]
            }
            Some(one) if matches!(one.account, Login::Out) => {
                vec![format!("next: log in to `{default}`")]
            }
            _ => vec![format!("`{default}` is the default provider ({origin})")],
        }
    }

    fn nothing_to_ask(&self, file: &str) -> Vec<String> {
        let installable = self.providers.iter().filter_map(|one| Some((&one.provider, one.install?)));
        let mut lines: Vec<String> =
            installable.map(|(name, install)| format!("install `{name}` with `{install}`")).collect();
        lines.insert(0, "next: no agent is available yet; install one of these:".to_owned());
        lines.push(format!("then add `provider = \"NAME\"` to `{file}`"));
        lines
    }

    fn lines(&self, out: &Stream) -> Vec<String> {
        let mut table = Table::new(&["PROVIDER", "FOUND", "VERSION", "TRIED WITH", "LOGIN"]);
        for provider in &self.providers {
            table.row(provider.cells());
        }
        let table = table.optional(&["TRIED WITH", "VERSION"]).lines_for(out);
        let advice = self.advice.iter().map(|advice| visible_line(advice).into_owned());
        let prose = self.facts().into_iter().chain([String::new()]).chain(advice);
        let prose = prose.flat_map(|line| wrapped(&line, out.columns(), 2));
        table.into_iter().chain([String::new()]).chain(prose).collect()
    }

    /// Describes the machine, one line for each fact.
    fn facts(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.push(match &self.git.path {
            Some(path) => {
                let version = self.git.version.as_deref().unwrap_or("of unknown version");
                format!("git {version} at `{}`", visible_line(path))
            }
            None => "git was not found".to_owned(),
        });
        lines.push(self.forge.line());
        lines.push(self.full_line());
        let tree = self.process_tree;
        lines.push(match Containment::here() {
            Containment::ControlGroup | Containment::Search => {
                format!("processes of agents are ended as a whole tree ({tree})")
            }
            Containment::ProcessGroup => format!(
                "processes of agents are ended with their {tree}; Saihai names processes that left it and does not end them"
            ),
        });
        lines.extend(self.sandbox.lines());
        lines.extend([self.runs.line("runs"), self.reports.line("reports")]);
        lines
    }

    /// Reports if permission `full` is available to agents.
    fn full_line(&self) -> String {
        let refusing = self.providers.iter().filter(|provider| provider.program.is_some() && !provider.full);
        let names: Vec<String> = refusing.map(|one| format!("`{}`", visible_line(&one.provider))).collect();
        match (self.root, names.as_slice()) {
            (false, _) => "permission `full` is available".to_owned(),
            (true, []) => "permission `full` is available, also to root".to_owned(),
            (true, names) => format!(
                "permission `full` is not available to root with {}; run as another user",
                names.join(", ")
            ),
        }
    }
}

impl ProviderObject {
    fn of(named: bool, examined: ProviderReport) -> Self {
        let found = examined.is_there();
        let is_tested = examined.version.as_deref().zip(examined.tested);
        let (login, key) = match &examined.login {
            Login::In => ("in", None),
            Login::Out => ("out", None),
            Login::Key(variable) => ("key_set", Some(variable.to_string())),
            Login::Unknown => ("unknown", None),
        };
        Self {
            provider: examined.name.to_string(),
            kind: examined.kind.name(),
            named,
            found,
            program: examined.program,
            path: examined.path.map(|path| path.display().to_string()),
            tested: is_tested.map(|(version, tested)| version == tested),
            version: examined.version,
            tested_version: examined.tested,
            login,
            key,
            full: examined.full,
            install: examined.install.filter(|_| !found),
            account: examined.login,
        }
    }

    /// Returns true if the provider can be asked, perhaps after a login: its program starts, or its key is set.
    fn is_usable(&self) -> bool {
        let starts = self.path.is_some() && self.version.is_some();
        starts || self.path.is_none() && self.found && matches!(self.account, Login::Key(_))
    }

    fn cells(&self) -> Vec<String> {
        let found = match (&self.path, &self.program) {
            (Some(path), _) => visible_line(path).into_owned(),
            (None, _) if self.found => "needs no program".to_owned(),
            (None, Some(program)) => format!("not found: `{}`", visible_line(program)),
            (None, None) => "no `program` is set".to_owned(),
        };
        let login = match &self.account {
            Login::In => "logged in".to_owned(),
            Login::Out => "not logged in".to_owned(),
            Login::Key(variable) => format!("`{variable}` is set"),
            Login::Unknown => "unknown".to_owned(),
        };
        let or_none = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let version = or_none(self.version.as_deref());
        vec![visible_line(&self.provider).into_owned(), found, version, or_none(self.tested_version), login]
    }
}

impl WritableObject {
    fn of(path: &Path) -> Self {
        let error = saihai::can_create_directory(path).err().map(|error| error.to_string());
        Self { path: path.display().to_string(), writable: error.is_none(), error }
    }

    fn line(&self, what: &str) -> String {
        let path = visible_line(&self.path);
        match &self.error {
            None => format!("{what} can be written to `{path}`"),
            Some(why) => format!("{what} cannot be written to `{path}`: {}", visible_line(why)),
        }
    }
}

impl ForgeObject {
    async fn of(git: Option<&Path>, project: &Project, with: &Connections) -> Self {
        let address = match git {
            Some(git) => remote(git, &project.places.root, "origin", with).await,
            None => None,
        };
        let remote = address.as_deref().and_then(RemoteRepository::of);
        let is_set = with.environment.iter().any(|(name, value)| name == TOKEN && !value.is_empty());
        Self {
            github: remote.as_ref().is_some_and(|remote| remote.is_on_github(with)),
            token: is_set.then_some(TOKEN),
            gh: program("gh", with).await.is_some(),
            host: remote.as_ref().map(|remote| remote.host.clone()),
            repository: remote.map(|remote| remote.name),
        }
    }

    fn line(&self) -> String {
        let (Some(host), Some(name)) = (&self.host, &self.repository) else {
            return "there is no remote repository for issues".to_owned();
        };
        let (host, shown) =
            (visible_line(host), format!("`{}` at `{}`", visible_line(name), visible_line(host)));
        if !self.github {
            return format!(
                "the remote repository {shown} is not on GitHub; if `{host}` is a GitHub of your own, set `{OWN_HOST}`"
            );
        }
        let token = match (self.token, self.gh) {
            (Some(_), _) => format!("`{TOKEN}` is set"),
            (None, true) => format!("`{TOKEN}` is not set; `gh` can supply a token"),
            (None, false) => format!("`{TOKEN}` is not set, and `gh` is not installed"),
        };
        format!("the remote repository is {shown}; {token}")
    }
}

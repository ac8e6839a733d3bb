//! `saihai doctor`.

mod forge;

use std::path::PathBuf;

use clap::Args;
use saihai_config::{Diagnostics, Settings};
use saihai_connect::{Connections, Containment, Examined, Login, examine, program};
use serde::Serialize;

use crate::driving::block_on;
use crate::error::{Error, exit};
use crate::json;
use crate::prepared::connections;
use crate::project::Project;
use crate::terminal::{Streams, Table, visible_line};
use forge::{Forge, ForgeObject};

/// Say which agents can be asked on this machine, and what is missing
#[derive(Debug, Args)]
#[command(
    after_help = "Programs are asked for their version and whether somebody is logged in, each for at most 10 seconds; \
                  no connection is opened. The exit code is 4 if a provider that the settings name is missing."
)]
pub(crate) struct Doctor {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

struct Findings {
    providers: Vec<Provider>,
    git: Option<(PathBuf, Option<String>)>,
    forge: Forge,
    root: bool,
    containment: Containment,
    runs: Place,
    reports: Place,
}

struct Provider {
    examined: Examined,
    /// True if the settings name this provider.
    named: bool,
}

struct Place {
    path: PathBuf,
    /// Reason why the directory is not writable.
    wrong: Option<String>,
}

impl Doctor {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        // Invalid settings must not hide the other findings.
        let mut wrong = Diagnostics::new();
        let settings = project.load_settings(false, &mut wrong);
        if !wrong.is_empty() {
            streams.warning("something is wrong with the settings; `saihai check` says what");
        }
        let findings =
            block_on(async { Ok(Findings::of(&project, &settings, &connections(&settings)).await) })?;
        if self.json {
            json::line(&mut streams.out, "doctor", findings.object())?;
        } else {
            for line in findings.lines() {
                streams.out.data(&line)?;
            }
            for advice in findings.advice() {
                streams.note(&advice);
            }
        }
        let missing = findings.providers.iter().any(Provider::is_missed);
        Ok(if missing { exit::UNAVAILABLE } else { exit::DONE })
    }
}

impl Findings {
    async fn of(project: &Project, settings: &Settings, with: &Connections) -> Self {
        let named = |examined: &Examined| {
            settings.providers.contains_key(&examined.name)
                || settings.provider.as_ref() == Some(&examined.name)
        };
        let providers = examine(with).await.into_iter();
        let providers = providers.map(|examined| Provider { named: named(&examined), examined }).collect();
        let git = program("git", with).await;
        Self {
            providers,
            forge: Forge::of(git.as_ref().map(|(path, _)| path.as_path()), &project.places.root, with).await,
            git,
            root: with.root,
            containment: Containment::here(),
            runs: Place::of(project.runs().directory().to_owned()),
            reports: Place::of(settings.reports_dir.clone()),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut table = Table::new(&["PROVIDER", "FOUND", "VERSION", "TRIED WITH", "LOGIN"]);
        for provider in &self.providers {
            table.row(provider.cells());
        }
        let mut lines = table.lines();
        lines.push(String::new());
        lines.push(match &self.git {
            Some((path, version)) => {
                let version = version.as_deref().unwrap_or("of unknown version");
                format!("git {version} at `{}`", visible_line(&path.display().to_string()))
            }
            None => "git was not found".to_owned(),
        });
        lines.push(self.forge.line());
        lines.push(self.full_line());
        lines.push(self.tree_line());
        lines
            .extend([("runs", &self.runs), ("reports", &self.reports)].map(|(what, place)| place.line(what)));
        lines
    }

    /// Reports if permission `full` is available to agents.
    fn full_line(&self) -> String {
        let refuse = |provider: &&Provider| provider.examined.program.is_some() && !provider.examined.full;
        let refusing = self.providers.iter().filter(refuse);
        let names: Vec<String> =
            refusing.map(|one| format!("`{}`", visible_line(one.examined.name.as_str()))).collect();
        match (self.root, names.as_slice()) {
            (false, _) => "permission `full` can be given here".to_owned(),
            (true, []) => "permission `full` can be given here, though this is root".to_owned(),
            (true, names) => format!(
                "this is root, to whom permission `full` is refused by {}; run as another user",
                names.join(", ")
            ),
        }
    }

    fn tree_line(&self) -> String {
        let how = tree(self.containment);
        match self.containment {
            Containment::ControlGroup | Containment::Search => {
                format!("processes of agents are ended as a whole tree ({how})")
            }
            Containment::ProcessGroup => format!(
                "processes of agents are ended with their {how}; what leaves that is named, and stays"
            ),
        }
    }

    fn advice(&self) -> Vec<String> {
        let missing = self.providers.iter().filter(|provider| !provider.examined.is_there());
        let advice = missing.filter_map(|provider| {
            let (name, install) = (&provider.examined.name, provider.examined.install?);
            Some(format!("`{name}` can be installed with `{install}`"))
        });
        advice.collect()
    }

    fn object(&self) -> DoctorObject<'_> {
        DoctorObject {
            providers: self.providers.iter().map(Provider::object).collect(),
            git: ProgramObject {
                found: self.git.is_some(),
                path: self.git.as_ref().map(|(path, _)| path.display().to_string()),
                version: self.git.as_ref().and_then(|(_, version)| version.as_deref()),
            },
            forge: self.forge.object(),
            root: self.root,
            process_tree: tree(self.containment),
            runs: self.runs.object(),
            reports: self.reports.object(),
        }
    }
}

/// Names the mechanism that contains a process tree.
fn tree(containment: Containment) -> &'static str {
    match containment {
        Containment::ControlGroup => "cgroup",
        Containment::Search => "subreaper",
        Containment::ProcessGroup => "process group",
    }
}

impl Provider {
    fn is_missed(&self) -> bool {
        self.named && !self.examined.is_there()
    }

    fn cells(&self) -> Vec<String> {
        let Examined { name, program, path, version, tested, .. } = &self.examined;
        let found = match (path, program) {
            (Some(path), _) => visible_line(&path.display().to_string()).into_owned(),
            (None, _) if self.examined.is_there() => "needs no program".to_owned(),
            (None, Some(program)) => format!("not found: `{}`", visible_line(program)),
            (None, None) => "no `program` is set".to_owned(),
        };
        let login = match &self.examined.login {
            Login::In => "logged in".to_owned(),
            Login::Out => "not logged in".to_owned(),
            Login::Key(variable) => format!("`{variable}` is set"),
            Login::Unknown => "unknown".to_owned(),
        };
        let or_none = |text: Option<&str>| text.unwrap_or("-").to_owned();
        vec![
            visible_line(name.as_str()).into_owned(),
            found,
            or_none(version.as_deref()),
            or_none(*tested),
            login,
        ]
    }

    fn object(&self) -> ProviderObject<'_> {
        let examined = &self.examined;
        let (login, key) = match &examined.login {
            Login::In => ("in", None),
            Login::Out => ("out", None),
            Login::Key(variable) => ("key_set", Some(variable.as_str())),
            Login::Unknown => ("unknown", None),
        };
        let is_tested = examined.version.as_deref().zip(examined.tested);
        ProviderObject {
            provider: examined.name.as_str(),
            kind: examined.kind.name(),
            named: self.named,
            found: examined.is_there(),
            program: examined.program.as_deref(),
            path: examined.path.as_ref().map(|path| path.display().to_string()),
            version: examined.version.as_deref(),
            tested_version: examined.tested,
            tested: is_tested.map(|(version, tested)| version == tested),
            login,
            key,
            full: examined.full,
            install: examined.install.filter(|_| !examined.is_there()),
        }
    }
}

impl Place {
    fn of(path: PathBuf) -> Self {
        let wrong = saihai::can_create_directory(&path).err().map(|error| error.to_string());
        Self { path, wrong }
    }

    fn line(&self, what: &str) -> String {
        let path = self.path.display().to_string();
        let path = visible_line(&path);
        match &self.wrong {
            None => format!("{what} can be written to `{path}`"),
            Some(why) => format!("{what} cannot be written to `{path}`: {}", visible_line(why)),
        }
    }

    fn object(&self) -> PlaceObject<'_> {
        PlaceObject {
            path: self.path.display().to_string(),
            writable: self.wrong.is_none(),
            error: self.wrong.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct DoctorObject<'a> {
    providers: Vec<ProviderObject<'a>>,
    git: ProgramObject<'a>,
    forge: ForgeObject<'a>,
    root: bool,
    process_tree: &'a str,
    runs: PlaceObject<'a>,
    reports: PlaceObject<'a>,
}

#[derive(Serialize)]
struct ProviderObject<'a> {
    provider: &'a str,
    kind: &'a str,
    named: bool,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested: Option<bool>,
    login: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    full: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<&'a str>,
}

#[derive(Serialize)]
struct ProgramObject<'a> {
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
}

#[derive(Serialize)]
struct PlaceObject<'a> {
    path: String,
    writable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

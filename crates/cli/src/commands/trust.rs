use std::path::{Path, PathBuf};

use clap::Args;
use saihai_config::{
    Diagnostics, DiskSource, FileKind, Options, Source as _, TRUST_FILE, Trust as Trusted, TrustRequest,
    find, load,
};
use saihai_model::{ExitStatus, Workflow};
use serde::Serialize;

use crate::definitions::LARGEST_PROGRAM;
use crate::error::CommandError;
use crate::project::{Project, insist_on_person_anywhere, write_atomically};
use crate::terminal::{Streams, visible_line};

/// Trust this project's settings to run programs and contact hosts
#[derive(Debug, Args)]
#[command(after_help = "\
A cloned repository must not run programs or send secrets without your consent.
This command prints the keys that could, and records the current content of the file.
Trust a changed file again.

Examples:
  saihai trust
  saihai trust .agent/release/check.sh
  saihai trust --list")]
pub(crate) struct TrustCommand {
    /// Settings file, project, or program of a definition [default: this project]
    #[arg(value_name = "PATH", conflicts_with_all = ["list", "revoke"])]
    path: Option<PathBuf>,

    /// List the trusted files
    #[arg(long, conflicts_with = "revoke")]
    list: bool,

    /// Stop trusting this file
    #[arg(long, value_name = "PATH")]
    revoke: Option<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TrustedObject<'a> {
    path: &'a str,
    keys: Vec<KeyObject<'a>>,
}

#[derive(Serialize)]
struct KeyObject<'a> {
    key: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct TrustObject<'a> {
    path: &'a str,
    hash: &'a str,
}

#[derive(Serialize)]
struct RevokedObject<'a> {
    path: &'a str,
}

impl TrustCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        if !self.list {
            insist_on_person_anywhere("only a person can change trust")?;
        }
        let project = Project::find()?;
        let mut found = Diagnostics::new();
        let trusted = Trusted::load(&project.source, project.places.user.as_deref(), &mut found);
        // An unreadable trust file must not be overwritten.
        streams.diagnose(&found, false)?;
        if self.list {
            return self.show(&trusted, streams);
        }
        match &self.revoke {
            Some(path) => self.revoke(&project, trusted, path, streams),
            None => self.trust(&project, trusted, streams),
        }
    }

    fn show(&self, trusted: &Trusted, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        for (path, hash) in trusted.files() {
            if self.json {
                streams.out.json("trust", TrustObject { path, hash })?;
            } else {
                streams.out.data(&visible_line(path))?;
            }
        }
        Ok(ExitStatus::Done)
    }

    fn trust(
        &self,
        project: &Project,
        mut trusted: Trusted,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let file = settings_file(project, self.path.as_deref());
        let mut found = Diagnostics::new();
        let request = if is_settings(&file) {
            TrustRequest::examine(&project.source, &file, &mut found)
        } else {
            program(project, &file)
        };
        streams.diagnose(&found, false)?;
        let Some(request) = request else {
            return Err(CommandError::usage(format!("`{}` cannot be read", project.shown(&file))));
        };
        trusted.record(&request.path, &request.content);
        save(project, &trusted)?;
        let path = request.path.to_string_lossy();
        if self.json {
            let keys = request.keys.iter().map(|(key, value)| KeyObject { key, value }).collect();
            streams.out.json("trusted", TrustedObject { path: &path, keys })?;
            return Ok(ExitStatus::Done);
        }
        streams.out.data(&format!("trusted: {}", visible_line(&path)))?;
        for (key, value) in &request.keys {
            streams.out.data(&format!("  {} = {}", visible_line(key), visible_line(value)))?;
        }
        if request.keys.is_empty() && is_settings(&file) {
            streams.note("nothing in it needs trust");
        }
        Ok(ExitStatus::Done)
    }

    fn revoke(
        &self,
        project: &Project,
        mut trusted: Trusted,
        path: &Path,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let file = settings_file(project, Some(path));
        // The file may be gone, so its name has to do.
        let file = project.source.canonical(&file).unwrap_or(file);
        if !trusted.revoke(&file) {
            let error = CommandError::usage(format!("`{}` is not trusted", project.shown(&file)));
            return Err(error.hint("`saihai trust --list` lists the trusted files"));
        }
        save(project, &trusted)?;
        let path = file.to_string_lossy();
        if self.json {
            streams.out.json("revoked", RevokedObject { path: &path })?;
        } else {
            streams.out.data(&format!("no longer trusted: {}", visible_line(&path)))?;
        }
        Ok(ExitStatus::Done)
    }
}

/// Returns the settings file for a path: the path itself, or the project's settings file in that directory.
fn settings_file(project: &Project, path: Option<&Path>) -> PathBuf {
    let path = path.map_or_else(|| project.places.root.clone(), |path| project.places.current.join(path));
    match project.source.kind(&path) {
        Some(FileKind::Directory) => path.join(".saihai/config.toml"),
        Some(FileKind::File | FileKind::Other) | None => path,
    }
}

/// Returns true for a settings file. Other files are programs or definitions, which are trusted by content.
fn is_settings(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}

/// Returns a trust request for the current content of a program.
fn program(project: &Project, file: &Path) -> Option<TrustRequest> {
    let content = DiskSource.read(file, LARGEST_PROGRAM).ok()?;
    let path = DiskSource.canonical(file).ok()?;
    Some(TrustRequest { path, content, keys: commands(project, file) })
}

/// Lists the commands of a definition, so that the user sees them before trusting it.
fn commands(project: &Project, file: &Path) -> Vec<(String, String)> {
    let is_definition = file
        .extension()
        .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|definition| end == *definition));
    let name = file.to_string_lossy();
    let found = is_definition.then(|| find(&project.source, &project.places, &name).ok()).flatten();
    // Running the definition reports its errors.
    let settings = project.load_settings(false, &mut Diagnostics::new());
    let loaded =
        found.map(|found| load(&project.source, &project.places, &found, &Options::default(), &settings));
    let workflow = loaded.and_then(|loaded| loaded.workflow);
    let commands = workflow.iter().flat_map(Workflow::commands);
    let written = commands.filter(|command| command.written.is_some());
    written.map(|command| ("runs".to_owned(), command.typed())).collect()
}

fn save(project: &Project, trusted: &Trusted) -> Result<(), CommandError> {
    let file = project.user_directory()?.join(TRUST_FILE);
    write_atomically(&file, &trusted.to_toml())
        .map_err(|error| CommandError::unavailable(format!("cannot write `{}`: {error}", file.display())))
}

//! `saihai trust`.

use std::path::{Path, PathBuf};

use clap::Args;
use saihai_config::{
    Diagnostics, DiskSource, FileKind, Options, Source as _, TRUST_FILE, Trust as Trusted, TrustRequest,
    find, load,
};
use saihai_model::Workflow;
use serde::Serialize;

use crate::diagnostics;
use crate::error::{Error, exit};
use crate::json;
use crate::own_programs;
use crate::person;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

/// Honour what a project's settings say about programs and addresses
#[derive(Debug, Args)]
#[command(
    after_help = "A repository must not be able to run programs or to send secrets elsewhere just because \
                        somebody cloned it. This shows the keys that could, and records the file as it is now; \
                        a changed file must be trusted again."
)]
pub(crate) struct Trust {
    /// The settings file, its project, or a definition's program [default: this project]
    #[arg(value_name = "PATH", conflicts_with_all = ["list", "revoke"])]
    path: Option<PathBuf>,

    /// List what is trusted
    #[arg(long, conflicts_with = "revoke")]
    list: bool,

    /// Trust it no longer
    #[arg(long, value_name = "PATH")]
    revoke: Option<PathBuf>,

    /// Print one JSON object a line
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

impl Trust {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        if !self.list {
            person::insist_anywhere("what is trusted is said by a person")?;
        }
        let project = Project::find()?;
        let mut found = Diagnostics::new();
        let trusted = Trusted::load(&project.source, project.places.user.as_deref(), &mut found);
        // An unreadable trust file must not be overwritten.
        diagnostics::insist(&found, false, streams)?;
        if self.list {
            return self.show(&trusted, streams);
        }
        match &self.revoke {
            Some(path) => self.revoke(&project, trusted, path, streams),
            None => self.trust(&project, trusted, streams),
        }
    }

    fn show(&self, trusted: &Trusted, streams: &mut Streams) -> Result<u8, Error> {
        for (path, hash) in trusted.files() {
            if self.json {
                json::line(&mut streams.out, "trust", TrustObject { path, hash })?;
            } else {
                streams.out.data(&visible_line(path))?;
            }
        }
        Ok(exit::DONE)
    }

    fn trust(&self, project: &Project, mut trusted: Trusted, streams: &mut Streams) -> Result<u8, Error> {
        let file = settings_file(project, self.path.as_deref());
        let mut found = Diagnostics::new();
        let request = if is_settings(&file) {
            TrustRequest::examine(&project.source, &file, &mut found)
        } else {
            program(project, &file)
        };
        diagnostics::insist(&found, false, streams)?;
        let Some(request) = request else {
            return Err(Error::usage(format!("`{}` cannot be read", project.shown(&file))));
        };
        trusted.record(&request.path, &request.content);
        save(project, &trusted)?;
        let path = request.path.to_string_lossy();
        if self.json {
            let keys = request.keys.iter().map(|(key, value)| KeyObject { key, value }).collect();
            json::line(&mut streams.out, "trusted", TrustedObject { path: &path, keys })?;
            return Ok(exit::DONE);
        }
        streams.out.data(&format!("trusted: {}", visible_line(&path)))?;
        for (key, value) in &request.keys {
            streams.out.data(&format!("  {} = {}", visible_line(key), visible_line(value)))?;
        }
        if request.keys.is_empty() && is_settings(&file) {
            streams.note("nothing in it needs trust");
        }
        Ok(exit::DONE)
    }

    fn revoke(
        &self,
        project: &Project,
        mut trusted: Trusted,
        path: &Path,
        streams: &mut Streams,
    ) -> Result<u8, Error> {
        let file = settings_file(project, Some(path));
        // The file may be gone, so its name has to do.
        let file = project.source.canonical(&file).unwrap_or(file);
        if !trusted.revoke(&file) {
            let error = Error::usage(format!("`{}` is not trusted", project.shown(&file)));
            return Err(error.hint("`saihai trust --list` shows what is"));
        }
        save(project, &trusted)?;
        let path = file.to_string_lossy();
        if self.json {
            json::line(&mut streams.out, "revoked", RevokedObject { path: &path })?;
        } else {
            streams.out.data(&format!("not trusted any more: {}", visible_line(&path)))?;
        }
        Ok(exit::DONE)
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
    let content = DiskSource.read(file, own_programs::LARGEST).ok()?;
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

/// Writes the trust file atomically.
fn save(project: &Project, trusted: &Trusted) -> Result<(), Error> {
    let directory = project.user_directory()?;
    let file = directory.join(TRUST_FILE);
    let failed =
        |error: std::io::Error| Error::unavailable(format!("cannot write `{}`: {error}", file.display()));
    std::fs::create_dir_all(&directory).map_err(failed)?;
    let fresh = directory.join(format!("{TRUST_FILE}.{}", std::process::id()));
    std::fs::write(&fresh, trusted.to_toml()).map_err(failed)?;
    std::fs::rename(&fresh, &file).map_err(|error| {
        // Delete the temporary file. A failure here does not matter.
        let _ = std::fs::remove_file(&fresh);
        failed(error)
    })
}

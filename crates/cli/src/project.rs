//! The project of a command, and its environment.

use std::io;
use std::path::{Path, PathBuf};

use saihai::{ProjectSource, Runs};
use saihai_config::{
    Diagnostics, DiskSource, Language, ProjectPaths, Settings, SettingsFrom, Source, Variables, project_root,
};
use saihai_connect::CurrentTurn;
use saihai_git::GitEnvironment;
use saihai_git::common_directory;

use crate::error::CommandError;
use crate::known_projects::KnownProjects;
use crate::terminal::Streams;

pub(crate) struct Project {
    /// The files of this machine, restricted to those the project may reach.
    pub(crate) source: ProjectSource,
    pub(crate) variables: Variables,
    /// The directories of a command.
    pub(crate) places: ProjectPaths,
}

impl Project {
    /// Finds the project that contains the current directory.
    pub(crate) fn find() -> Result<Self, CommandError> {
        Self::find_from(None)
    }

    /// Finds the project that contains a directory, which may be relative to the current one.
    pub(crate) fn find_from(directory: Option<&Path>) -> Result<Self, CommandError> {
        let current = std::env::current_dir().map_err(|error| {
            CommandError::usage(format!("the current directory cannot be used: {error}"))
                .hint("change to one that exists")
        })?;
        let current = directory.map_or_else(|| current.clone(), |directory| current.join(directory));
        let variables = Variables::new(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        );
        let places = ProjectPaths {
            root: project_root(&DiskSource, &current),
            user: variables.user_directory(),
            home: variables.home(),
            current,
        };
        Ok(Self::at(places, variables))
    }

    /// Returns the project at exactly this directory.
    pub(crate) fn find_at(root: &Path) -> Result<Self, CommandError> {
        let found = Self::find_from(Some(root))?;
        let places = ProjectPaths { root: root.to_owned(), ..found.places };
        Ok(Self::at(places, found.variables))
    }

    pub(crate) fn at(places: ProjectPaths, variables: Variables) -> Self {
        let source = ProjectSource::new(places.root.clone(), places.user.clone());
        Self { source, variables, places }
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::of_project(&self.places.root)
    }

    /// Adds the project to those of the machine. Called when a run starts or continues.
    pub(crate) fn remember(&self) {
        if let Some(known) = KnownProjects::of_user() {
            known.remember(&self.places.root);
        }
    }

    /// Returns the effective settings. Prints their diagnostics; errors end the command.
    pub(crate) fn settings(
        &self,
        trust_project: bool,
        streams: &mut Streams,
    ) -> Result<Settings, CommandError> {
        let mut found = Diagnostics::new();
        let settings = self.load_settings(trust_project, &mut found);
        streams.diagnose(&found.sorted(), settings.strict)?;
        streams.notify.clone_from(&settings.notify);
        Ok(settings)
    }

    /// Returns the effective settings and collects their diagnostics.
    pub(crate) fn load_settings(&self, trust_project: bool, found: &mut Diagnostics) -> Settings {
        self.settings_from(&self.source, trust_project, found)
    }

    /// Returns the effective settings with the given project files.
    pub(crate) fn settings_from(
        &self,
        source: &dyn Source,
        trust_project: bool,
        found: &mut Diagnostics,
    ) -> Settings {
        let from = SettingsFrom {
            root: &self.places.root,
            user: self.places.user.as_deref(),
            current: &self.places.current,
            variables: &self.variables,
            flags: &[],
            trust_project,
        };
        Settings::load(source, &from, found)
    }

    /// Returns the language of built-in texts. Invalid settings are left to the commands that depend on them.
    pub(crate) fn language(&self) -> Language {
        self.load_settings(false, &mut Diagnostics::new()).language
    }

    /// Formats a path for the user.
    pub(crate) fn shown(&self, path: &Path) -> String {
        self.places.shown(path)
    }

    pub(crate) fn user_directory(&self) -> Result<PathBuf, CommandError> {
        self.places.user.clone().ok_or_else(|| {
            CommandError::usage("there is no directory for your own files")
                .hint("set `HOME` or `XDG_CONFIG_HOME`")
        })
    }

    /// Refuses an agent of any run of this project, in any worktree (I-43). `rule` names the action that needs a person.
    ///
    /// The environment variables of its turn identify an agent. This stops an agent that runs such a command by
    /// mistake. An agent that hides its identity has its user's rights, and only a sandbox contains it.
    pub(crate) fn insist_on_person(&self, rule: &str) -> Result<(), CommandError> {
        refuse_agent(CurrentTurn::of_this_process().filter(|turn| self.has_turn(turn)), rule)
    }

    /// Returns true if the turn belongs to the project. Each worktree of a repository can count as a project.
    fn has_turn(&self, turn: &CurrentTurn) -> bool {
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let common = |place: &Path| common_directory(place, &GitEnvironment::of_process()).ok();
        resolved(&turn.runs) == resolved(self.runs().directory())
            || common(&self.places.root).is_some_and(|ours| common(&turn.runs) == Some(ours))
    }
}

/// Refuses every agent, for commands that affect all projects.
pub(crate) fn insist_on_person_anywhere(rule: &str) -> Result<(), CommandError> {
    refuse_agent(CurrentTurn::of_this_process(), rule)
}

fn refuse_agent(turn: Option<CurrentTurn>, rule: &str) -> Result<(), CommandError> {
    match turn {
        None => Ok(()),
        Some(turn) => Err(CommandError::usage(format!("{rule}, and this is the agent of `{}`", turn.call))
            .hint("run this command in your own terminal")),
    }
}

/// Writes a file and its directories atomically. A link is replaced, not followed.
pub(crate) fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = directory.join(format!(".{name}.{}", std::process::id()));
    let written = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, path));
    if written.is_err() {
        // Delete the temporary file. A failure here does not matter.
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

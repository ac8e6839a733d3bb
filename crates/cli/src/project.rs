//! The project of a command, and its environment.

use std::path::PathBuf;

use saihai::{ProjectSource, Runs};
use saihai_config::{
    Diagnostics, DiskSource, Language, Places, Settings, SettingsFrom, Source, Variables, project_root,
};

use crate::diagnostics;
use crate::error::Error;
use crate::terminal::Streams;

pub(crate) struct Project {
    /// The files of this machine, restricted to those the project may reach.
    pub(crate) source: ProjectSource,
    pub(crate) variables: Variables,
    /// The directories of a command.
    pub(crate) places: Places,
}

impl Project {
    /// Finds the project that contains the current directory.
    pub(crate) fn find() -> Result<Self, Error> {
        let current = std::env::current_dir().map_err(|error| {
            Error::usage(format!("the current directory cannot be used: {error}"))
                .hint("change to one that exists")
        })?;
        let variables = Variables::new(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        );
        let places = Places {
            root: project_root(&DiskSource, &current),
            user: variables.user_directory(),
            home: variables.home(),
            current,
        };
        Ok(Self::at(places, variables))
    }

    pub(crate) fn at(places: Places, variables: Variables) -> Self {
        let source = ProjectSource::new(places.root.clone(), places.user.clone());
        Self { source, variables, places }
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::of_project(&self.places.root)
    }

    /// Returns the effective settings. Prints their diagnostics; errors end the command.
    pub(crate) fn settings(&self, trust_project: bool, streams: &mut Streams) -> Result<Settings, Error> {
        let mut found = Diagnostics::new();
        let settings = self.load_settings(trust_project, &mut found);
        diagnostics::insist(&found.sorted(), settings.strict, streams)?;
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
    pub(crate) fn shown(&self, path: &std::path::Path) -> String {
        self.places.shown(path)
    }

    pub(crate) fn user_directory(&self) -> Result<PathBuf, Error> {
        self.places.user.clone().ok_or_else(|| {
            Error::usage("there is no directory for your own files").hint("set `HOME` or `XDG_CONFIG_HOME`")
        })
    }
}

//! The project a command works in, and what is known around it.

use std::path::PathBuf;

use saihai::{ProjectSource, Runs};
use saihai_config::{
    Diagnostics, DiskSource, Language, Places, Settings, SettingsFrom, Source, Variables, project_root,
};

use crate::diagnostics;
use crate::error::Error;
use crate::terminal::Streams;

pub(crate) struct Project {
    /// The files of this machine, as far as those of the project may lead.
    pub(crate) source: ProjectSource,
    pub(crate) variables: Variables,
    /// The directories a command works with.
    pub(crate) places: Places,
}

impl Project {
    /// The project around the current directory.
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

    /// The project in these places.
    pub(crate) fn at(places: Places, variables: Variables) -> Self {
        let source = ProjectSource::new(places.root.clone(), places.user.clone());
        Self { source, variables, places }
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::of_project(&self.places.root)
    }

    /// The settings in force. What is wrong with them is said, and errors end the command.
    pub(crate) fn settings(&self, trust_project: bool, streams: &mut Streams) -> Result<Settings, Error> {
        let mut found = Diagnostics::new();
        let settings = self.load_settings(trust_project, &mut found);
        diagnostics::insist(&found.sorted(), settings.strict, streams)?;
        Ok(settings)
    }

    /// The settings in force and what is wrong with them.
    pub(crate) fn load_settings(&self, trust_project: bool, found: &mut Diagnostics) -> Settings {
        self.settings_from(&self.source, trust_project, found)
    }

    /// The settings in force where the project's files are these.
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

    /// The language of what is built in. What is wrong with the settings is left to commands that depend on them.
    pub(crate) fn language(&self) -> Language {
        self.load_settings(false, &mut Diagnostics::new()).language
    }

    /// A path as the person knows it.
    pub(crate) fn shown(&self, path: &std::path::Path) -> String {
        self.places.shown(path)
    }

    pub(crate) fn user_directory(&self) -> Result<PathBuf, Error> {
        self.places.user.clone().ok_or_else(|| {
            Error::usage("there is no directory for your own files").hint("set `HOME` or `XDG_CONFIG_HOME`")
        })
    }
}

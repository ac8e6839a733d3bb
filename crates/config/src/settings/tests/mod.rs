mod budgets;
mod discovery;
mod enforcement;
mod laws;
mod layers;
mod listing;
mod providers;
mod pyproject;
mod takt;
mod trust;
mod work;
mod wrong;

use std::path::Path;

use insta::assert_snapshot;
use saihai_model::{Budget, Millis, Permission, ProviderName, Retry, Usd};

use super::*;
use crate::diagnostic::{Colour, to_human};
use crate::source::MemorySource;

const USER: &str = "/home/me/.config/saihai/config.toml";
const PROJECT: &str = "/p/.saihai/config.toml";

#[derive(Default)]
struct World {
    source: MemorySource,
    variables: Vec<(String, String)>,
    flags: Vec<SettingFlag>,
    trust_project: bool,
}

impl World {
    fn user(mut self, text: &str) -> Self {
        self.source.add(USER, text);
        self
    }

    fn project(mut self, text: &str) -> Self {
        self.source.add(PROJECT, text);
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn flag(mut self, flag: &str, key: &str, value: &str) -> Self {
        self.flags.push(SettingFlag { flag: flag.to_owned(), key: key.to_owned(), value: value.to_owned() });
        self
    }

    fn load(&self) -> (Settings, String) {
        let mut diagnostics = Diagnostics::new();
        let home = ("HOME".to_owned(), "/home/me".to_owned());
        let variables = Variables::new(self.variables.iter().cloned().chain([home]));
        let user = variables.user_directory();
        let from = SettingsFrom {
            root: Path::new("/p"),
            user: user.as_deref(),
            current: Path::new("/p"),
            variables: &variables,
            flags: &self.flags,
            trust_project: self.trust_project,
        };
        let settings = Settings::load(&self.source, &from, &mut diagnostics);
        (settings, to_human(&diagnostics.sorted(), Colour::Never))
    }

    /// Loads the settings and asserts that there are no errors.
    fn settings(&self) -> Settings {
        let (settings, wrong) = self.load();
        assert_eq!(wrong, "");
        settings
    }

    fn wrong(&self) -> String {
        self.load().1
    }
}

fn origin(settings: &Settings, key: &str) -> String {
    let listed = settings.find(key).unwrap();
    let lines = listed.iter().map(|one| format!("{} = {} ({})\n", one.key, one.value, one.origin));
    lines.collect()
}

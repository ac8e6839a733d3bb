//! Loads settings from files, variables and flags.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use saihai_model::{Permission, ProviderName, ProviderSettings, Retry};

use super::budget::read_budget;
use super::layer::{self, Layer};
use super::tables::SETTINGS;
use super::trust::{Trust, needs_trust};
use super::values::{Section, Setting, SettingOrigin, Values};
use super::{LimitSettings, ReviewSettings, SessionDefault, Settings, Variables, WorkSettings};
use super::{provider, provider_check, work_check};
use crate::diagnostic::{Area, Diagnostic, Diagnostics, DocumentPath, nearest, quoted};
use crate::document::{Document, Format, LARGEST_FILE, cannot_read};
use crate::fields::{Kind, Object, duration_of};
use crate::language::Language;
use crate::source::{ReadError, Source};

/// Project settings file below the project root.
const PROJECT_FILE: &str = ".saihai/config.toml";
/// User settings file below the user directory.
const USER_FILE: &str = "config.toml";
/// Variables that Saihai sets for agents, or that are not settings.
const NO_SETTINGS: [&str; 5] = ["RUN", "RUN_DIRECTORY", "TURN", "PERMISSION", "TRUST_PROJECT"];

const SCRIPT: [&str; 3] = ["PROVIDERS", "SCRIPT", "FILE"];

#[derive(Debug, Clone, Copy)]
pub struct SettingsFrom<'a> {
    pub root: &'a Path,
    pub user: Option<&'a Path>,
    /// Working directory of the command. Paths in variables and flags are relative to it.
    pub current: &'a Path,
    pub variables: &'a Variables,
    pub flags: &'a [SettingFlag],
    /// Trust the project for this call.
    pub trust_project: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFlag {
    /// The flag as typed, such as `--run-timeout`.
    pub flag: String,
    pub key: String,
    pub value: String,
}

impl Settings {
    /// Reads all layers. Reports all errors at once and leaves invalid values out.
    pub fn load(source: &dyn Source, from: &SettingsFrom<'_>, diagnostics: &mut Diagnostics) -> Self {
        let mut loading = Loading { source, from, diagnostics };
        let user = loading.user_layer();
        let (project, trusted) = loading.project_layer();
        let mut said: Values = user.iter().chain(&project).cloned().collect();
        let texts = loading.texts(&said);
        said.extend(texts.iter().cloned());
        provider_check::check(&said, loading.diagnostics);
        loading.check_bounds(&said);
        work_check::check(&said, loading.diagnostics);

        let mut held: Values = user.into_iter().collect();
        let mut untrusted = Vec::new();
        for (key, setting) in project {
            // A value that equals the user's own needs no trust.
            let same = held.get(&key).is_some_and(|own| own.node.value == setting.node.value);
            if trusted || same || !needs_trust(&key) {
                held.extend([(key, setting)]);
            } else if said.get(&key) == Some(&setting) {
                untrusted.push(setting);
            }
        }
        held.extend(texts);
        loading.settings(&said, held, untrusted)
    }
}

struct Loading<'a, 'd> {
    source: &'a dyn Source,
    from: &'a SettingsFrom<'a>,
    diagnostics: &'d mut Diagnostics,
}

impl Loading<'_, '_> {
    fn user_layer(&mut self) -> Layer {
        let Some(path) = self.from.user.map(|directory| directory.join(USER_FILE)) else {
            return Layer::new();
        };
        self.read(&path)
            .map(|(_, document)| layer::of_file(&document, SettingOrigin::User, self.diagnostics))
            .unwrap_or_default()
    }

    /// Returns the values of the project file, and true if the file is trusted.
    fn project_layer(&mut self) -> (Layer, bool) {
        let path = self.from.root.join(PROJECT_FILE);
        let Some((content, document)) = self.read(&path) else { return (Layer::new(), false) };
        let layer = layer::of_file(&document, SettingOrigin::Project, self.diagnostics);
        let variable = self.from.variables.get("SAIHAI_TRUST_PROJECT");
        let trusted =
            self.from.trust_project || variable.is_some_and(|value| matches!(value, "1" | "true")) || {
                let trust = Trust::load(self.source, self.from.user, self.diagnostics);
                self.source.canonical(&path).is_ok_and(|path| trust.trusts(&path, &content))
            };
        (layer, trusted)
    }

    fn read(&mut self, path: &Path) -> Option<(Vec<u8>, Document)> {
        let name = path.strip_prefix(self.from.current).unwrap_or(path).to_string_lossy();
        match self.source.read(path, LARGEST_FILE) {
            Ok(content) => {
                let document =
                    Document::parse(&content, Format::Toml, &name, Area::Settings, self.diagnostics)?;
                Some((content, document))
            }
            Err(ReadError::Missing) => None,
            Err(error) => {
                self.diagnostics.push(cannot_read(&error, &name, Area::Settings));
                None
            }
        }
    }

    /// Returns the values of variables and flags.
    fn texts(&mut self, files: &Values) -> Layer {
        let names = provider_check::names(files);
        let mut layer = Layer::new();
        for (variable, value) in self.from.variables.iter() {
            let Some(word) = variable.strip_prefix("SAIHAI_") else { continue };
            if value.is_empty() || NO_SETTINGS.contains(&word) {
                continue;
            }
            let words: Vec<&str> =
                if word == "SCRIPT" { SCRIPT.to_vec() } else { word.split("__").collect() };
            match layer::key_of_words(&words, &names) {
                Some((key, kind)) => {
                    let origin = SettingOrigin::Variable(variable.to_owned());
                    layer.extend(layer::of_text(key, &kind, value, origin, self.diagnostics));
                }
                None => self.unknown_variable(variable),
            }
        }
        for SettingFlag { flag, key, value } in self.from.flags {
            let words: Vec<String> = key.split('.').map(str::to_ascii_uppercase).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = layer::key_of_words(&words, &names);
            debug_assert!(found.is_some(), "`{key}` is no setting");
            if let Some((key, kind)) = found {
                let origin = SettingOrigin::Flag(flag.clone());
                layer.extend(layer::of_text(key, &kind, value, origin, self.diagnostics));
            }
        }
        layer
    }

    fn unknown_variable(&mut self, variable: &str) {
        let known = known_variables();
        let message = format!("the variable {} is not known and has no effect", quoted(variable));
        let hint =
            nearest(variable, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        self.diagnostics
            .push(Diagnostic::warning(Area::Settings.code("unknown-key"), message).maybe_hint(hint));
    }

    /// Checks bounds that depend on more than the kind of a value.
    fn check_bounds(&mut self, said: &Values) {
        const DAY: u64 = 24 * 3600 * 1000;
        for (key, setting) in said.iter() {
            let Some(Ok(saihai_model::Millis(length))) = duration_of(&setting.node) else { continue };
            let is = |keys: &str| *key == DocumentPath::of_keys(keys);
            let review_timeout = key.key_at(0) == Some("review") && key.last_key() == Some("timeout");
            let message = if review_timeout && !(1_000..=DAY).contains(&length) {
                format!("`{key}` must be between `1s` and `24h`")
            } else if is("work.every") && length < 15_000 {
                format!("`{key}` must be at least `15s`")
            } else {
                continue;
            };
            self.diagnostics.push(setting.at.error("bad-value", message).label("not allowed"));
        }
    }

    fn settings(&mut self, said: &Values, values: Values, untrusted: Vec<Setting>) -> Settings {
        let unset = Settings::default();
        let root = values.section(&DocumentPath::root());
        let limits = root.within("limits");
        let retry = root.within("retry");
        Settings {
            provider: root.text("provider").map(ProviderName::from),
            language: root.text("language").and_then(Language::named).unwrap_or_else(|| self.language()),
            strict: root.bool("strict").unwrap_or(unset.strict),
            max_permission: root.text("max_permission").and_then(permission),
            reports_dir: self
                .path(root.get("reports_dir"))
                .unwrap_or_else(|| self.from.root.join(unset.reports_dir)),
            default_session: match root.text("default_session") {
                Some("continue") => SessionDefault::Continue,
                Some(_) | None => SessionDefault::Refresh,
            },
            judge_fallback: root.bool("judge_fallback").unwrap_or(unset.judge_fallback),
            limits: LimitSettings {
                hard_iterations: limits.count("hard_iterations").unwrap_or(unset.limits.hard_iterations),
                run_timeout: limits.duration("run_timeout"),
                concurrency: limits.count("concurrency"),
            },
            budget: read_budget(&root.within("budget"), self.diagnostics),
            short_wait: retry.duration("short_wait").unwrap_or(unset.short_wait),
            retry: read_retry(&retry),
            providers: self.providers(said, &root.within("providers")),
            review: ReviewSettings::read(&values, self.diagnostics),
            work: self.work(&root.within("work")),
            untrusted,
            values,
        }
    }

    fn work(&mut self, section: &Section<'_>) -> WorkSettings {
        let unset = WorkSettings::default();
        let below =
            |path: Option<PathBuf>, unset: PathBuf| path.unwrap_or_else(|| self.from.root.join(unset));
        WorkSettings {
            from: below(self.path(section.get("from")), unset.from),
            worktree_root: below(self.path(section.get("worktree_root")), unset.worktree_root),
            api: self.from.variables.get("GITHUB_API_URL").map_or(unset.api, str::to_owned),
            budget: read_budget(&section.within("budget"), self.diagnostics),
            budget_per_issue: read_budget(&section.within("budget_per_issue"), self.diagnostics),
            ..unset
        }
        .with(section)
    }

    /// Returns all configured providers. Uses the kind even from an untrusted file. An untrusted
    /// provider is then rejected on use, instead of being reported as unknown.
    fn providers(&self, said: &Values, held: &Section<'_>) -> IndexMap<ProviderName, ProviderSettings> {
        let names = provider_check::names(said);
        let providers = names.into_iter().filter_map(|name| {
            let kind = provider_check::kind_of(
                name,
                &said.section(&DocumentPath::root()).within("providers").within(name),
            )?;
            let section = held.within(name);
            let file = self.path(section.get("file"));
            Some((ProviderName::from(name), ProviderSettings { file, ..provider::read(kind, &section) }))
        });
        providers.collect()
    }

    /// Resolves a path relative to the place that sets it.
    fn path(&self, setting: Option<&Setting>) -> Option<PathBuf> {
        let setting = setting?;
        let text = setting.node.as_text()?;
        if let Some(rest) = text.strip_prefix("~/") {
            return self.from.variables.home().map(|home| home.join(rest));
        }
        let base = match setting.origin {
            SettingOrigin::Default | SettingOrigin::Project(_) => self.from.root,
            SettingOrigin::User(_) => self.from.user.unwrap_or(self.from.root),
            SettingOrigin::Variable(_) | SettingOrigin::Flag(_) => self.from.current,
        };
        Some(base.join(text))
    }

    fn language(&self) -> Language {
        let japanese = self.from.variables.locale().is_some_and(|locale| locale.starts_with("ja"));
        if japanese { Language::Japanese } else { Language::English }
    }
}

fn permission(name: &str) -> Option<Permission> {
    let levels =
        [Permission::ReadOnly, Permission::Edit { commands: false }, Permission::Edit { commands: true }];
    levels.into_iter().find(|level| level.name() == name)
}

fn read_retry(section: &Section<'_>) -> Retry {
    let unset = Retry::default();
    Retry {
        transient: section.count("transient").unwrap_or(unset.transient),
        rate_limited: section.count("rate_limited").unwrap_or(unset.rate_limited),
        crashed: section.count("crashed").unwrap_or(unset.crashed),
        max_wait: section.duration("max_wait").unwrap_or(unset.max_wait),
        wait_for_quota: section.text("on_quota") != Some("fail"),
        ..unset
    }
}

/// Returns the variables that are settings, without those of individual providers and agents.
fn known_variables() -> Vec<String> {
    let mut names = vec!["SAIHAI_SCRIPT".to_owned(), "SAIHAI_TRUST_PROJECT".to_owned()];
    collect(&SETTINGS, "SAIHAI_", &mut names);
    names
}

fn collect(object: &Object, prefix: &str, names: &mut Vec<String>) {
    for field in object.fields {
        let name = format!("{prefix}{}", field.name.to_ascii_uppercase());
        if let Kind::Object(inner) = field.kind {
            collect(inner, &format!("{name}__"), names);
        } else if !matches!(field.kind, Kind::Map(_)) {
            names.push(name);
        }
    }
}

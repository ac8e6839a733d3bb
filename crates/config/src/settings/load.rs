//! Loads settings from files, variables and flags.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use saihai_model::{
    Budget, Millis, Permission, ProviderName, ProviderSettings, Retry, SandboxSettings, Usd, VerdictMode,
};

use super::providers::{check_providers, configured_providers, kind_of, read_provider};
use super::pyproject::{PYPROJECT, as_settings};
use super::sandbox::{adds_sandbox, check_sandbox, sandbox_choice, sandbox_network};
use super::tables::SETTINGS;
use super::takt::takt_layer;
use super::trust::{Trust, needs_trust};
use super::values::{
    Layer, Setting, SettingOrigin, SettingValues, SettingsSection, key_of_words, layer_of_file, layer_of_text,
};
use super::work::check_work;
use super::{
    CheckCommands, LimitSettings, McpGateAnswers, ReviewSettings, SessionDefault, Settings, WorkSettings,
};
use crate::diagnostic::{Area, Diagnostic, Diagnostics, DocumentPath, did_you_mean, nearest, quoted};
use crate::document::{Document, Format, LARGEST_FILE, Node, cannot_read};
use crate::fields::{Object, ValueKind, duration_of};
use crate::lowering::Language;
use crate::source::{ReadError, Source};

/// Project settings file below the project root.
const PROJECT_FILE: &str = ".saihai/config.toml";
/// User settings file below the user directory.
const USER_FILE: &str = "config.toml";
/// Variables that Saihai sets for agents, or that are not settings.
const NO_SETTINGS: [&str; 7] =
    ["RUN", "RUN_DIRECTORY", "TURN", "PERMISSION", "TRUST_PROJECT", "INSIDE_WRITE", "INSIDE_HIDE"];

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
        let mut loading = SettingsLoader { source, from, diagnostics };
        let mut user = loading.takt_layer();
        user.extend(loading.user_layer());
        let (project, trusted) = loading.project_layer();
        let mut said: SettingValues = user.iter().chain(&project).cloned().collect();
        let texts = loading.texts(&said);
        said.extend(texts.iter().cloned());
        check_providers(&said, loading.diagnostics);
        loading.check_bounds(&said);
        check_work(&said, loading.diagnostics);
        check_sandbox(&said, loading.diagnostics);

        let mut held: SettingValues = user.into_iter().collect();
        let mut untrusted = Vec::new();
        for (key, setting) in project {
            // A value that equals the user's own needs no trust.
            let own = held.get(&key);
            let same = own.is_some_and(|own| own.node.value == setting.node.value);
            // A project may add a sandbox, and may not replace the user's.
            let adds = adds_sandbox(&key, &setting.node) && own.is_none();
            if trusted || same || adds || !needs_trust(&key) {
                held.extend([(key, setting)]);
            } else if said.get(&key) == Some(&setting) {
                untrusted.push(setting);
            }
        }
        held.extend(texts);
        loading.settings(&said, held, untrusted)
    }
}

struct SettingsLoader<'a, 'd> {
    source: &'a dyn Source,
    from: &'a SettingsFrom<'a>,
    diagnostics: &'d mut Diagnostics,
}

impl SettingsLoader<'_, '_> {
    /// Returns TAKT's settings, which every other layer replaces.
    fn takt_layer(&mut self) -> Layer {
        let SettingsFrom { root, current, variables, .. } = *self.from;
        let home = variables.home();
        takt_layer(self.source, (root, home.as_deref(), current), self.diagnostics)
    }

    fn user_layer(&mut self) -> Layer {
        let Some(path) = self.from.user.map(|directory| directory.join(USER_FILE)) else {
            return Layer::new();
        };
        self.read(&path)
            .map(|(_, document)| layer_of_file(&document, SettingOrigin::User, self.diagnostics))
            .unwrap_or_default()
    }

    /// Returns the values of hachimoku in `pyproject.toml`. None of them needs trust.
    fn pyproject_layer(&mut self) -> Layer {
        let path = self.from.root.join(PYPROJECT);
        let Ok(content) = self.source.read(&path, LARGEST_FILE) else { return Layer::new() };
        let name = path.strip_prefix(self.from.current).unwrap_or(&path).to_string_lossy();
        as_settings(&content, &name, self.diagnostics)
            .map(|document| layer_of_file(&document, SettingOrigin::Project, self.diagnostics))
            .unwrap_or_default()
    }

    /// Returns the values of the project's files, and true if its own settings file is trusted.
    fn project_layer(&mut self) -> (Layer, bool) {
        let mut layer = self.pyproject_layer();
        let path = self.from.root.join(PROJECT_FILE);
        let Some((content, document)) = self.read(&path) else { return (layer, false) };
        layer.extend(layer_of_file(&document, SettingOrigin::Project, self.diagnostics));
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
    fn texts(&mut self, files: &SettingValues) -> Layer {
        let names = configured_providers(files);
        let mut layer = Layer::new();
        for (variable, value) in self.from.variables.iter() {
            let Some(word) = variable.strip_prefix("SAIHAI_") else { continue };
            if value.is_empty() || NO_SETTINGS.contains(&word) {
                continue;
            }
            let words: Vec<&str> =
                if word == "SCRIPT" { SCRIPT.to_vec() } else { word.split("__").collect() };
            match key_of_words(&words, &names) {
                Some((key, kind)) => {
                    let origin = SettingOrigin::Variable(variable.to_owned());
                    layer.extend(layer_of_text(key, &kind, value, origin, self.diagnostics));
                }
                None => self.unknown_variable(variable),
            }
        }
        for SettingFlag { flag, key, value } in self.from.flags {
            let words: Vec<String> = key.split('.').map(str::to_ascii_uppercase).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = key_of_words(&words, &names);
            debug_assert!(found.is_some(), "`{key}` is not a setting");
            if let Some((key, kind)) = found {
                let origin = SettingOrigin::Flag(flag.clone());
                layer.extend(layer_of_text(key, &kind, value, origin, self.diagnostics));
            }
        }
        layer
    }

    fn unknown_variable(&mut self, variable: &str) {
        let known = known_variables();
        let message = format!("the variable {} is unknown and has no effect", quoted(variable));
        let hint =
            nearest(variable, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
        self.diagnostics
            .push(Diagnostic::warning(Area::Settings.code("unknown-key"), message).maybe_hint(hint));
    }

    /// Checks bounds that depend on more than the kind of a value.
    fn check_bounds(&mut self, said: &SettingValues) {
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

    /// Returns the default directory of reports. A project of TAKT keeps its own.
    fn usual_reports(&self) -> PathBuf {
        let of_takt = self.from.root.join(".takt");
        let root = if self.source.is_directory(&of_takt) { of_takt } else { self.from.root.join(".saihai") };
        root.join("reports")
    }

    fn settings(&mut self, said: &SettingValues, values: SettingValues, untrusted: Vec<Setting>) -> Settings {
        let unset = Settings::default();
        let root = values.section(&DocumentPath::root());
        let limits = root.within("limits");
        let retry = root.within("retry");
        Settings {
            provider: root.text("provider").map(ProviderName::from),
            language: root.text("language").and_then(Language::named).unwrap_or_else(|| self.language()),
            strict: root.value("strict").unwrap_or(unset.strict),
            max_permission: root.text("max_permission").and_then(permission),
            reports_dir: self.path(root.get("reports_dir")).unwrap_or_else(|| self.usual_reports()),
            default_session: match root.text("default_session") {
                Some("continue") => SessionDefault::Continue,
                Some(_) | None => SessionDefault::Refresh,
            },
            judge_fallback: root.value("judge_fallback").unwrap_or(unset.judge_fallback),
            verdict: root.text("verdict").and_then(VerdictMode::named).unwrap_or_default(),
            checks: self.checks(root.get("checks")),
            notify: root.value("notify").unwrap_or_default(),
            sandbox: self.sandbox(&root),
            otel: root.within("telemetry").value("otel").unwrap_or(unset.otel),
            mcp_gates: match root.within("mcp").text("gates") {
                Some("elicitation") => McpGateAnswers::Elicitation,
                Some(_) | None => McpGateAnswers::Person,
            },
            limits: LimitSettings::read(&limits, self.diagnostics),
            budget: read_budget(&root.within("budget"), self.diagnostics),
            short_wait: retry.value("short_wait").unwrap_or(unset.short_wait),
            retry: read_retry(&retry),
            providers: self.providers(said, &root.within("providers")),
            review: ReviewSettings::read(&root.within("review"), self.diagnostics),
            work: self.work(&root.within("work")),
            untrusted,
            values,
        }
    }

    /// Returns the checks. An untrusted file counts too: the definition that runs them asks for trust in it.
    fn checks(&self, setting: Option<&Setting>) -> CheckCommands {
        let Some(setting) = setting else { return CheckCommands::default() };
        let lines = setting.node.as_list().into_iter().flatten().filter_map(|line| line.as_text());
        let commands = lines.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let file = || self.from.root.join(PROJECT_FILE).to_string_lossy().into_owned();
        let written = matches!(setting.origin, SettingOrigin::Project(_)).then(file);
        CheckCommands { commands, written }
    }

    /// Reads the sandbox of all providers. Paths are relative to the place that sets them.
    fn sandbox(&self, root: &SettingsSection<'_>) -> SandboxSettings {
        let paths = |name: &str| {
            let Some(setting) = root.get(name) else { return Vec::new() };
            let texts = setting.node.as_list().into_iter().flatten().filter_map(Node::as_text);
            texts.filter_map(|text| self.path_of(text, &setting.origin)).collect()
        };
        SandboxSettings {
            choice: root.get("sandbox").and_then(|setting| sandbox_choice(&setting.node)),
            required: root.value("sandbox_required").unwrap_or_default(),
            network: root.get("sandbox_network").map(|at| sandbox_network(&at.node)).unwrap_or_default(),
            read: paths("sandbox_read"),
            write: paths("sandbox_write"),
        }
    }

    fn work(&mut self, section: &SettingsSection<'_>) -> WorkSettings {
        let mut work = WorkSettings::read(section, self.diagnostics);
        for (key, path) in [("from", &mut work.from), ("worktree_root", &mut work.worktree_root)] {
            *path = self.path(section.get(key)).unwrap_or_else(|| self.from.root.join(&path));
        }
        if let Some(api) = self.from.variables.get("GITHUB_API_URL").filter(|_| section.get("api").is_none())
        {
            api.clone_into(&mut work.api);
        }
        // In run order, independent of the order in the file.
        work.gates.sort();
        work.gates.dedup();
        work
    }

    /// Returns all configured providers. Uses the kind even from an untrusted file. An untrusted
    /// provider is then rejected on use, instead of being reported as unknown.
    fn providers(
        &self,
        said: &SettingValues,
        held: &SettingsSection<'_>,
    ) -> IndexMap<ProviderName, ProviderSettings> {
        let names = configured_providers(said);
        let providers = names.into_iter().filter_map(|name| {
            let kind = kind_of(name, &said.section(&DocumentPath::root()).within("providers").within(name))?;
            let section = held.within(name);
            let file = self.path(section.get("file"));
            Some((ProviderName::from(name), ProviderSettings { file, ..read_provider(kind, &section) }))
        });
        providers.collect()
    }

    /// Resolves a path relative to the place that sets it.
    fn path(&self, setting: Option<&Setting>) -> Option<PathBuf> {
        let setting = setting?;
        self.path_of(setting.node.as_text()?, &setting.origin)
    }

    fn path_of(&self, text: &str, origin: &SettingOrigin) -> Option<PathBuf> {
        if let Some(rest) = text.strip_prefix("~/") {
            return self.from.variables.home().map(|home| home.join(rest));
        }
        let base = match origin {
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

fn read_retry(section: &SettingsSection<'_>) -> Retry {
    let unset = Retry::default();
    Retry {
        transient: section.value("transient").unwrap_or(unset.transient),
        rate_limited: section.value("rate_limited").unwrap_or(unset.rate_limited),
        crashed: section.value("crashed").unwrap_or(unset.crashed),
        max_wait: section.value("max_wait").unwrap_or(unset.max_wait),
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
        if let ValueKind::Object(inner) = field.kind {
            collect(inner, &format!("{name}__"), names);
        } else if !matches!(field.kind, ValueKind::Map(_)) {
            names.push(name);
        }
    }
}

/// Files that mark a project root without git.
const MARKS: [&str; 5] = [".saihai", ".takt", ".agent", ".hachimoku", "orch.yml"];

/// Environment variables. The caller passes them in; this crate never reads them itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(Vec<(String, String)>);

impl Variables {
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// Returns the value of a variable. An empty value counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.iter().find(|(other, value)| *other == name && !value.is_empty());
        found.map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.get(name).map(PathBuf::from)
    }

    /// Returns the user's Saihai directory: `$XDG_CONFIG_HOME/saihai`, else `~/.config/saihai`.
    pub fn user_directory(&self) -> Option<PathBuf> {
        if cfg!(windows) {
            return self.get("APPDATA").map(|directory| Path::new(directory).join("saihai"));
        }
        // The XDG specification requires ignoring a relative path.
        let own = self.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|directory| directory.is_absolute());
        own.or_else(|| self.home().map(|home| home.join(".config"))).map(|directory| directory.join("saihai"))
    }

    /// Returns the directory for Saihai's own notes: `$XDG_STATE_HOME/saihai`, else `~/.local/state/saihai`.
    pub fn state_directory(&self) -> Option<PathBuf> {
        if cfg!(windows) {
            return self.get("LOCALAPPDATA").map(|directory| Path::new(directory).join("saihai"));
        }
        let own = self.get("XDG_STATE_HOME").map(PathBuf::from).filter(|directory| directory.is_absolute());
        own.or_else(|| self.home().map(|home| home.join(".local/state")))
            .map(|directory| directory.join("saihai"))
    }

    /// Returns the message locale, such as `ja_JP.UTF-8`.
    pub fn locale(&self) -> Option<&str> {
        ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| self.get(name))
    }
}

/// Returns the git top level, else the nearest ancestor with project files, else the directory itself.
pub fn project_root(source: &dyn Source, directory: &Path) -> PathBuf {
    let holds = |names: &[&str]| {
        directory
            .ancestors()
            .find(|ancestor| names.iter().any(|name| source.kind(&ancestor.join(name)).is_some()))
    };
    holds(&[".git"]).or_else(|| holds(&MARKS)).unwrap_or(directory).to_owned()
}

const KEYS: [&str; 4] = ["usd", "tokens", "turns", "minutes"];

/// Reason why a text is not a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBudget {
    #[error("{} has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas", quoted(.0))]
    NoKey(String),
    #[error("{} is not one of the keys `usd`, `tokens`, `turns` and `minutes`{}", quoted(.0), suggestion(.0))]
    UnknownKey(String),
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    #[error("{} is not a value for `{key}`; it must be a {} greater than 0", quoted(.value), number_of(.key))]
    BadValue { key: &'static str, value: String },
}

fn number_of(key: &str) -> &'static str {
    if matches!(key, "usd" | "minutes") { "number" } else { "whole number" }
}

fn suggestion(key: &str) -> String {
    did_you_mean(key, KEYS).map_or(String::new(), |hint| format!("; {hint}"))
}

/// Parses `usd=5,tokens=2000000,turns=40,minutes=90`: any of the four, each at most once.
pub fn parse_budget(text: &str) -> Result<Budget, BadBudget> {
    let mut budget = Budget::default();
    for part in text.split(',').map(str::trim) {
        let (key, value) = part.split_once('=').ok_or_else(|| BadBudget::NoKey(part.to_owned()))?;
        let (key, value) = (key.trim(), value.trim());
        let key =
            *KEYS.iter().find(|known| **known == key).ok_or_else(|| BadBudget::UnknownKey(key.to_owned()))?;
        let bad = || BadBudget::BadValue { key, value: value.to_owned() };
        let number = || value.parse::<f64>().ok();
        let whole = || value.parse::<u64>().ok().filter(|count| *count > 0);
        let twice = match key {
            "usd" => budget.usd.replace(number().and_then(dollars).ok_or_else(bad)?).is_some(),
            "minutes" => budget.time.replace(number().and_then(minutes).ok_or_else(bad)?).is_some(),
            "tokens" => budget.tokens.replace(whole().ok_or_else(bad)?).is_some(),
            _ => budget.turns.replace(whole().ok_or_else(bad)?).is_some(),
        };
        if twice {
            return Err(BadBudget::Twice(key));
        }
    }
    Ok(budget)
}

/// Reads a budget table. Reports amounts that are too large to represent.
pub(super) fn read_budget(section: &SettingsSection<'_>, diagnostics: &mut Diagnostics) -> Budget {
    let mut amount = |name: &str, convert: fn(f64) -> Option<u64>| {
        let setting = section.get(name)?;
        let amount = convert(setting.node.as_number()?);
        if amount.is_none() {
            let message = format!("`{name}` is an amount that cannot be counted");
            diagnostics.push(setting.at.error("bad-value", message).label("not allowed"));
        }
        amount
    };
    Budget {
        usd: amount("usd", |number| dollars(number).map(|usd| usd.0)).map(Usd),
        time: amount("minutes", |number| minutes(number).map(|time| time.0)).map(Millis),
        tokens: section.value("tokens"),
        turns: section.value("turns"),
    }
}

fn dollars(number: f64) -> Option<Usd> {
    Usd::from_dollars(number).filter(|usd| usd.0 > 0)
}

/// Converts minutes, up to a century like every duration.
fn minutes(number: f64) -> Option<Millis> {
    const CENTURY: f64 = 100.0 * 366.0 * 24.0 * 60.0;
    let within = number > 0.0 && number <= CENTURY;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    within.then(|| Millis((number * 60_000.0).round() as u64)).filter(|time| time.0 > 0)
}

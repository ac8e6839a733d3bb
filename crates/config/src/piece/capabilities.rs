//! Presets of tools, named by `capabilities` or by `provider_options.extends`, and the tools that a turn sees with its
//! provider.

use std::path::PathBuf;

use super::takt_keys::IN_SETTINGS;
use super::texts::PieceReader;
use crate::{Cursor, Fields, Located, Value, ValueKind, quoted, quoted_path};

/// Directory of presets below `.takt`.
const PRESETS: &str = "provider-options";

/// Maximum number of presets that extend each other.
const DEEPEST_PRESET: usize = 5;

/// Key that names the preset below the other options.
const EXTENDS: &str = "extends";

/// Tools by provider, as a file names them. The last list of a provider counts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ProviderTools(Vec<(String, Vec<String>)>);

impl ProviderTools {
    /// Returns the tools for a provider: its own list, else the first one. Providers translate the names.
    pub(super) fn of(&self, provider: &str) -> Option<Vec<String>> {
        let own = self.0.iter().find(|(name, _)| name == provider);
        own.or(self.0.first()).map(|(_, tools)| tools.clone())
    }

    /// Merges lists of growing importance. A later list replaces that of the same provider.
    pub(super) fn merged(parts: impl IntoIterator<Item = Option<Self>>) -> Self {
        let mut merged = Self::default();
        parts.into_iter().flatten().for_each(|part| merged.replace_by(part));
        merged
    }

    fn set(&mut self, provider: &str, tools: Vec<String>) {
        let provider = if provider.starts_with("claude") { "claude" } else { provider };
        match self.0.iter_mut().find(|(name, _)| name == provider) {
            Some((_, known)) => *known = tools,
            None => self.0.push((provider.to_owned(), tools)),
        }
    }

    fn replace_by(&mut self, other: Self) {
        other.0.into_iter().for_each(|(provider, tools)| self.set(&provider, tools));
    }
}

/// A preset that TAKT brings under this name. The tools are those that its description promises.
struct BuiltInPreset {
    names: &'static [&'static str],
    tools: &'static [&'static str],
}

const LOOKING: &[&str] = &["Read", "Glob", "Grep", "Bash", "WebSearch", "WebFetch"];
const BUILT_IN: [BuiltInPreset; 3] = [
    BuiltInPreset { names: &["readonly", "review-readonly"], tools: LOOKING },
    BuiltInPreset {
        names: &["edit"],
        tools: &["Read", "Glob", "Grep", "Edit", "Write", "Bash", "WebSearch", "WebFetch"],
    },
    // Skills are a matter of the provider's own settings.
    BuiltInPreset { names: &["enable-skills"], tools: &[] },
];

/// Presets named by `capabilities`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) tools: ProviderTools,
    /// True if the preset `edit` is named, which asks for an editing turn.
    pub(super) edits: bool,
}

impl Capabilities {
    /// Reads `capabilities`: one name or a list. Later names win.
    pub(super) fn read(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Option<Self> {
        let names = fields.texts("capabilities")?;
        let mut capabilities =
            Self { edits: names.iter().any(|name| name.value == "edit"), ..Self::default() };
        for name in &names {
            capabilities.tools.replace_by(reader.preset(name, 0).unwrap_or_default());
        }
        Some(capabilities)
    }
}

impl PieceReader<'_> {
    /// Reads `provider_options`: `PROVIDER: {allowed_tools: […], …}`, or `extends: PRESET` with changes. Notes every
    /// other option.
    pub(super) fn provider_options(&mut self, options: &Cursor<'_>, movement: &str) -> ProviderTools {
        self.options_below(options, movement, 0)
    }

    fn options_below(&mut self, options: &Cursor<'_>, movement: &str, depth: usize) -> ProviderTools {
        let mut tools = ProviderTools::default();
        options.must_be(&ValueKind::Map(&ValueKind::Any), &mut self.diagnostics);
        if let Some(name) =
            options.get(EXTENDS).filter(|name| name.must_be(&ValueKind::Text, &mut self.diagnostics))
            && let Some(name) = name.text()
        {
            tools.replace_by(self.preset(&name, depth).unwrap_or_default());
        }
        for (provider, values) in options.entries().filter(|(key, _)| key.value != EXTENDS) {
            if !values.must_be(&ValueKind::Map(&ValueKind::Any), &mut self.diagnostics) {
                continue;
            }
            for (key, value) in values.entries() {
                if key.value != "allowed_tools" {
                    let path = format!("provider_options.{}.{}", provider.value, key.value);
                    self.idle.add(path, IN_SETTINGS, movement);
                } else if value.must_be(&ValueKind::List(&ValueKind::Text), &mut self.diagnostics) {
                    let named = value.items().filter_map(|item| item.text()).map(|tool| tool.value);
                    tools.set(&provider.value, named.collect());
                }
            }
        }
        tools
    }

    /// Returns the tools of a preset: a file of the project, of the user, or one that Saihai knows.
    fn preset(&mut self, name: &Located<String>, depth: usize) -> Option<ProviderTools> {
        if depth >= DEEPEST_PRESET {
            let message = format!("presets extend each other more than {DEEPEST_PRESET} levels deep");
            self.diagnostics.push(name.error("too-large", message));
            return None;
        }
        let is_path =
            name.value.contains('/') || [".yaml", ".yml"].iter().any(|end| name.value.ends_with(end));
        let path = match is_path {
            true => self.resolve_path(name),
            false => self.preset_files(&name.value).into_iter().find(|path| self.has_file(path)),
        };
        let Some(path) = path else {
            let built_in = BUILT_IN.iter().find(|preset| preset.names.contains(&name.value.as_str()));
            if built_in.is_none() {
                self.say_unknown_preset(name);
            }
            let tools = built_in.filter(|preset| !preset.tools.is_empty())?.tools;
            let mut preset = ProviderTools::default();
            preset.set("claude", tools.iter().map(|tool| (*tool).to_owned()).collect());
            return Some(preset);
        };
        let document = self.document(&path, name)?;
        let root = document.cursor();
        if !matches!(root.node().value, Value::Map(_)) {
            self.diagnostics.push(root.error("bad-type", "a preset must be a mapping of providers"));
            return None;
        }
        Some(self.options_below(&root, &name.value, depth + 1))
    }

    fn preset_files(&self, name: &str) -> Vec<PathBuf> {
        let directories = self.below_takt(PRESETS).into_iter();
        let files = directories.flat_map(|directory| {
            ["yaml", "yml"].map(|extension| directory.join(format!("{name}.{extension}")))
        });
        files.collect()
    }

    fn say_unknown_preset(&mut self, name: &Located<String>) {
        let known = BUILT_IN.iter().flat_map(|preset| preset.names.iter().copied());
        let hint = self.diagnostics.suggest(&name.value, known).unwrap_or_else(|| {
            let first = self.preset_files(&name.value).into_iter().next();
            let shown = first.map(|path| quoted_path(&self.shown(&path))).unwrap_or_default();
            format!("write its tools into {shown}: `claude: {{allowed_tools: [Read]}}`")
        });
        let message = format!("no preset of tools is named {}", quoted(&name.value));
        self.diagnostics.push(name.error("missing-file", message).hint(hint));
    }
}

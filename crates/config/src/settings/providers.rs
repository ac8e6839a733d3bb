//! Provider settings: reading them, and checks beyond the kinds of values.

use indexmap::IndexMap;
use saihai_model::{Millis, Price, Protocol, ProviderKind, ProviderName, ProviderSettings, VerdictMode};

use super::sandbox::sandbox_choice;
use super::values::{Setting, SettingValues, SettingsSection, provider_of};
use crate::diagnostic::{Diagnostic, Diagnostics, DocumentPath, Location, did_you_mean, list_of, quoted};

/// Reads a provider. The caller resolves `file`, because it knows the base directory.
pub(super) fn read_provider(kind: ProviderKind, section: &SettingsSection<'_>) -> ProviderSettings {
    let unset = ProviderSettings::new(kind);
    let text = |name| section.text(name).map(str::to_owned);
    let price = section.within("price");
    ProviderSettings {
        program: text("program"),
        args: section.value("args").unwrap_or_default(),
        model: text("model"),
        base_url: text("base_url"),
        env_pass: section.value("env_pass").unwrap_or_default(),
        env: variables(&section.within("env")),
        system_prompt: text("system_prompt"),
        tools: section.value("tools"),
        accept_edits: section.text("edit_mode").is_some(),
        honours: section.value("honours").unwrap_or_default(),
        turn_timeout: timeout(section, "turn_timeout", unset.turn_timeout),
        idle_timeout: timeout(section, "idle_timeout", unset.idle_timeout),
        max_prompt: section.value("max_prompt"),
        fallback: text("fallback").map(ProviderName::from),
        price: Price {
            input: price.value("input"),
            output: price.value("output"),
            cached: price.value("cached"),
            turn: price.value("turn"),
        },
        protocol: if section.text("protocol") == Some("json") { Protocol::Json } else { Protocol::Text },
        trust: section.value("trust").unwrap_or_default(),
        sandbox: section.get("sandbox").and_then(|setting| sandbox_choice(&setting.node)),
        verdict: section.text("verdict").and_then(VerdictMode::named),
        ..unset
    }
}

fn variables(section: &SettingsSection<'_>) -> IndexMap<String, String> {
    let each = section.each();
    each.filter_map(|(name, setting)| Some((name.to_owned(), setting.node.as_text()?.to_owned()))).collect()
}

/// Reads a time limit. Zero means no limit.
fn timeout(section: &SettingsSection<'_>, name: &str, unset: Option<Millis>) -> Option<Millis> {
    match section.value(name) {
        Some(Millis(0)) => None,
        Some(length) => Some(length),
        None => unset,
    }
}

/// Placeholders in the arguments of a `command` provider.
const PLACEHOLDERS: [&str; 6] = ["model", "session", "cwd", "permission", "persona_file", "schema_file"];

/// Returns the configured providers in order of first mention.
pub(super) fn configured_providers(values: &SettingValues) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (key, _) in values.iter() {
        if let Some(name) = provider_of(key)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Returns the kind of a provider: its `kind` key, else the kind of its name.
pub(super) fn kind_of(name: &str, section: &SettingsSection<'_>) -> Option<ProviderKind> {
    ProviderKind::named(section.text("kind").unwrap_or(name))
}

/// Reports all errors in provider settings.
pub(super) fn check_providers(values: &SettingValues, diagnostics: &mut Diagnostics) {
    let names = configured_providers(values);
    for name in &names {
        let section = values.section(&DocumentPath::root().key("providers").key(*name));
        match kind_of(name, &section) {
            Some(kind) => ProviderCheck { kind, section, diagnostics }.all(),
            None => needs_kind(name, values, diagnostics),
        }
    }
    let known = || ProviderKind::ALL.iter().map(|kind| kind.name()).chain(names.iter().copied());
    for (key, setting) in values.iter().filter(|(key, _)| names_a_provider(key)) {
        let name = setting.node.as_text().unwrap_or_default();
        if !known().any(|known| known == name) {
            let message = format!("no provider is named {}", quoted(name));
            let hint = diagnostics.suggest(name, known()).unwrap_or_else(|| {
                format!("known are {}; others need a table `[providers.NAME]`", list_of(known(), "and"))
            });
            let diagnostic = setting.at.error("unknown-provider", message).label(format!("`{key}`"));
            diagnostics.push(diagnostic.hint(hint));
        }
    }
    check_cycles(values, &names, diagnostics);
}

fn names_a_provider(key: &DocumentPath) -> bool {
    match key.last_key() {
        Some("provider") => provider_of(key).is_none(),
        Some("fallback") => provider_of(key).is_some(),
        Some(_) | None => false,
    }
}

fn needs_kind(name: &str, values: &SettingValues, diagnostics: &mut Diagnostics) {
    let first = values.iter().find(|(key, _)| provider_of(key) == Some(name));
    let Some((_, setting)) = first else { return };
    let built_in = ProviderKind::ALL.iter().map(|kind| kind.name());
    let message = format!("the provider {} is not built in and needs a `kind`", quoted(name));
    let hint = did_you_mean(name, built_in.clone())
        .unwrap_or_else(|| format!("`kind` is one of {}", list_of(built_in, "or")));
    diagnostics.push(setting.at.error("unknown-provider", message).label("in this table").hint(hint));
}

fn check_cycles(values: &SettingValues, names: &[&str], diagnostics: &mut Diagnostics) {
    let fallback = |name: &str| values.get(&DocumentPath::root().key("providers").key(name).key("fallback"));
    let mut told: Vec<&str> = Vec::new();
    for name in names {
        let mut path = vec![*name];
        while let Some(next) = path.last().and_then(|last| fallback(last)).and_then(|one| one.node.as_text())
        {
            if let Some(start) = path.iter().position(|earlier| *earlier == next) {
                let cycle = &path[start..];
                if !cycle.iter().any(|member| told.contains(member))
                    && let Some(setting) = fallback(cycle[cycle.len() - 1])
                {
                    told.extend(cycle);
                    let message = format!("fallbacks form a cycle: {} → {next}", cycle.join(" → "));
                    diagnostics.push(setting.at.error("fallback-cycle", message).label("leads back"));
                }
                break;
            }
            path.push(next);
        }
    }
}

struct ProviderCheck<'a, 'd> {
    kind: ProviderKind,
    section: SettingsSection<'a>,
    diagnostics: &'d mut Diagnostics,
}

impl<'a> ProviderCheck<'a, '_> {
    fn all(&mut self) {
        self.program();
        self.args();
        self.base_url();
        self.variables();
        self.keys_of_other_kinds();
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn program(&mut self) {
        let Some((setting, program)) = self.text("program") else { return };
        let separated = program.contains('/') || (cfg!(windows) && program.contains('\\'));
        if program.is_empty() {
            self.report(setting.at.error("bad-value", "`program` must not be empty"));
        } else if separated && !std::path::Path::new(program).is_absolute() {
            let message =
                format!("`program` must be a bare name or an absolute path, not {}", quoted(program));
            let hint = "programs in the working directory of an agent are not trusted";
            self.report(setting.at.error("bad-value", message).label("a relative path").hint(hint));
        }
    }

    fn args(&mut self) {
        for (at, arg) in self.items("args") {
            let flag = arg.split_once('=').map_or(arg, |(flag, _)| flag);
            if reserved_arguments(self.kind).any(|reserved| reserved == flag) {
                let kind = self.kind.name();
                let message = format!("the argument {} of `{kind}` is set by Saihai itself", quoted(flag));
                self.report(
                    at.error("bad-value", message).label("cannot be set").maybe_hint(instead_of(flag)),
                );
            }
            if self.kind == ProviderKind::Command {
                self.placeholders(&at, arg);
            }
        }
    }

    fn placeholders(&mut self, at: &Location, arg: &str) {
        for part in arg.split('{').skip(1) {
            let Some((name, _)) = part.split_once('}') else { continue };
            let is_name =
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if is_name && !PLACEHOLDERS.contains(&name) {
                let message = format!("unknown placeholder {}", quoted(&format!("{{{name}}}")));
                let hint = did_you_mean(name, PLACEHOLDERS)
                    .unwrap_or_else(|| format!("known are {}", list_of(PLACEHOLDERS, "and")));
                self.report(at.error("bad-value", message).hint(hint));
            }
        }
    }

    fn base_url(&mut self) {
        let Some((setting, url)) = self.text("base_url") else { return };
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let authority = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        match authority {
            None | Some("") => {
                let message = "`base_url` must start with `https://` or `http://` and contain a host";
                self.report(setting.at.error("bad-value", message).label("not such an address"));
            }
            Some(authority) if authority.contains('@') => {
                // Omit the line from the message, because it contains a secret.
                let at = Location { span: None, ..setting.at.clone() };
                let message = format!("`{}` must not contain a user name or password", at.path);
                let hint = "keys are passed in variables: see `env_pass`";
                self.report(at.error("bad-value", message).hint(hint));
            }
            Some(_) => {}
        }
    }

    fn variables(&mut self) {
        let passed = self.items("env_pass").into_iter().map(|(at, name)| (at, name.to_owned()));
        let set = self.section.within("env");
        let set = set.each().map(|(name, setting)| (setting.at.clone(), name.to_owned()));
        let all: Vec<(Location, String)> = passed.chain(set).collect();
        for (at, name) in all {
            if name.contains('*') {
                let message = "a variable must be named in full, without `*`";
                self.report(at.error("bad-value", message).label("names more than one"));
            } else if name.is_empty() || name.contains(['=', '\0']) {
                let message = format!("{} is not a variable name", quoted(&name));
                self.report(at.error("bad-value", message));
            }
        }
    }

    fn keys_of_other_kinds(&mut self) {
        use ProviderKind::{Acp, Anthropic, Claude, Command, Gemini, Openai, Script};
        // Keys that control the connection of a different kind are errors. Keys without effect
        // cause a warning.
        let errors: [(&str, &[ProviderKind]); 4] =
            [("protocol", &[Command]), ("file", &[Script]), ("trust", &[Gemini]), ("edit_mode", &[Claude])];
        for (name, kinds) in errors {
            self.only(name, kinds, |at, message| at.error("no-effect", message));
        }
        let warnings: [(&str, &[ProviderKind]); 2] =
            [("honours", &[Acp, Command]), ("base_url", &[Anthropic, Openai])];
        for (name, kinds) in warnings {
            self.only(name, kinds, |at, message| at.warning("no-effect", message));
        }
        if matches!(self.kind, Anthropic | Openai | Script) {
            for name in ["program", "args", "env_pass"] {
                self.only(name, &[], |at, message| at.warning("no-effect", message));
            }
        }
    }

    fn only(&mut self, name: &str, kinds: &[ProviderKind], report: fn(&Location, String) -> Diagnostic) {
        let Some(setting) = self.section.get(name).filter(|_| !kinds.contains(&self.kind)) else { return };
        let kind = self.kind.name();
        let diagnostic = report(&setting.at, format!("`{name}` has no effect on `{kind}`"));
        let names = list_of(kinds.iter().map(|kind| kind.name()), "and");
        let hint = (!kinds.is_empty()).then(|| format!("it is for {names}"));
        self.report(diagnostic.maybe_hint(hint));
    }

    fn text(&self, name: &str) -> Option<(&'a Setting, &'a str)> {
        let setting = self.section.get(name)?;
        setting.node.as_text().map(|text| (setting, text))
    }

    /// Returns the items of a text list with their locations.
    fn items(&self, name: &str) -> Vec<(Location, &'a str)> {
        let Some(setting) = self.section.get(name) else { return Vec::new() };
        let items = setting.node.as_list().unwrap_or_default().iter().enumerate();
        let located = items.filter_map(|(index, item)| {
            let at =
                Location { span: Some(item.span), path: setting.at.path.index(index), ..setting.at.clone() };
            item.as_text().map(|text| (at, text))
        });
        located.collect()
    }
}

/// Returns the setting that replaces an argument.
fn instead_of(flag: &str) -> Option<String> {
    match flag {
        "-m" | "--model" => Some("set `model` instead".to_owned()),
        "--permission-mode" | "--approval-mode" | "--sandbox" | "-s" | "--auto" | "--yolo" | "-y" => {
            Some("the definition sets the permission of a turn, and `max_permission` limits it".to_owned())
        }
        _ => None,
    }
}

/// Returns the agent arguments that settings cannot contain, because Saihai sets them or controls their effect.
///
/// No other agent arguments appear outside the connection layer. These must be here, so that an error points
/// into the settings file before any connection.
fn reserved_arguments(kind: ProviderKind) -> impl Iterator<Item = &'static str> {
    let arguments = match kind {
        ProviderKind::Claude => {
            "-p --print --output-format --input-format --verbose --model --permission-mode \
             --dangerously-skip-permissions --allow-dangerously-skip-permissions --tools \
             --allowedTools --allowed-tools --disallowedTools --disallowed-tools \
             --strict-mcp-config --append-system-prompt-file --system-prompt-snapshot \
             --json-schema --max-budget-usd --session-id --resume -r --continue -c \
             --fork-session"
        }
        ProviderKind::Codex => {
            "exec resume --json --skip-git-repo-check -s --sandbox -C --cd -m --model \
             --output-schema --full-auto --yolo --dangerously-bypass-approvals-and-sandbox \
             --ask-for-approval"
        }
        ProviderKind::Opencode => {
            "run --format --title -m --model --agent --auto -s --session -c --continue \
             --attach --interactive -i --fork"
        }
        ProviderKind::Gemini => {
            "-o --output-format -m --model -p --prompt --approval-mode --yolo -y \
             --session-id --resume -r --skip-trust --prompt-interactive -i --allowed-tools \
             --policy --admin-policy --acp --experimental-acp --session-file"
        }
        ProviderKind::Copilot => {
            "--output-format --no-color --no-ask-user --disable-builtin-mcps --model -p \
             --prompt --session-id --resume --continue --available-tools --allow-tool \
             --deny-tool --allow-all-tools --allow-all --yolo --allow-all-paths \
             --allow-all-urls --excluded-tools --mode --autopilot --interactive -i --acp \
             --connect"
        }
        ProviderKind::Command => "--json-protocol",
        ProviderKind::Acp | ProviderKind::Anthropic | ProviderKind::Openai | ProviderKind::Script => "",
    };
    arguments.split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-10, C-43: only the definition decides the permission of a turn.
    #[test]
    fn no_argument_that_raises_a_permission_can_be_set() {
        let check = |kind, raising: &[&str]| {
            for argument in raising {
                assert!(
                    reserved_arguments(kind).any(|reserved| reserved == *argument),
                    "{kind:?} {argument}"
                );
            }
        };
        check(ProviderKind::Opencode, &["--auto", "--agent", "--attach"]);
        check(ProviderKind::Gemini, &["--yolo", "-y", "--approval-mode", "--allowed-tools", "--policy"]);
        check(
            ProviderKind::Copilot,
            &["--yolo", "--allow-all", "--allow-all-paths", "--allow-tool", "--mode"],
        );
    }
}

//! Reader of `ralph.yml` and hat collections, with the provider from their `cli` section. The result has the same
//! form as for `orch.yml` (H-65 to H-71).

use std::path::Path;

use saihai_model::{Millis, OwnProtocol, OwnProvider};

use super::model::{HatBounds, HatFlow, HatsFile, TopicTexts};
use super::read::{
    Hat, check_id, check_instructions, check_keyword, check_topic, check_words, no_effect, read_name,
    read_topics, read_triggers, report_idle,
};
use super::tables;
use crate::{
    Cursor, Definition, Diagnostics, Document, Fields, LARGEST_FILE, Located, Options, ProjectPaths,
    Settings, Source, Value, quoted,
};

/// Keys that identify a file of ralph.
const OWN_KEYS: [&str; 4] = ["event_loop", "cli", "core", "events"];
/// Returns true for a document in ralph's format (H-7).
pub(super) fn is_one(definition: &Definition, document: &Document) -> bool {
    let name = definition.path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    name == Some("ralph.yml") || OWN_KEYS.iter().any(|key| document.root.get(key).is_some())
}

/// Reads a document. It reports all errors, not only the first.
pub(super) fn read(
    document: &Document,
    context: &RalphContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<HatsFile> {
    let fields = Fields::read(&document.cursor(), &tables::RALPH, diagnostics)?;
    let looping = fields.object("event_loop", &tables::EVENT_LOOP, diagnostics);
    let cli = fields.object("cli", &tables::CLI, diagnostics);
    let core = fields.object("core", &tables::CORE, diagnostics);
    report_switches(&fields, looping.as_ref(), cli.as_ref(), diagnostics);
    for object in [Some(&fields), looping.as_ref(), cli.as_ref(), core.as_ref()].into_iter().flatten() {
        report_idle(object, diagnostics);
    }
    let hats: indexmap::IndexMap<String, Hat> = fields
        .map("hats")
        .into_iter()
        .filter_map(|(id, hat)| read_hat(id, &hat, diagnostics))
        .map(|hat| (hat.id.value.clone(), hat))
        .collect();
    let events = fields.map("events");
    let topics = events.into_iter().filter_map(|(topic, event)| read_event(topic, &event, diagnostics));
    let topics = topics.collect();
    let backend = cli.as_ref().map(|cli| context.read_backend(cli, diagnostics)).unwrap_or_default();
    Some(HatsFile {
        backend: backend.name,
        own_provider: backend.own,
        base_prompt: core.as_ref().and_then(guardrails),
        flow: looping.as_ref().map(|looping| read_flow(looping, diagnostics)).unwrap_or_default(),
        bounds: looping.as_ref().map(read_bounds).unwrap_or_default(),
        task: looping.as_ref().and_then(|looping| read_task(looping, context, diagnostics)),
        topics,
        hats,
        ..HatsFile::default()
    })
}

/// Everything outside a collection that its meaning depends on.
pub(super) struct RalphContext<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) places: &'a ProjectPaths,
    pub(super) definition: &'a Definition,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
}

/// H-70, H-71: reports switches as unsupported if they are on, and as without effect if they are off.
fn report_switches(
    fields: &Fields<'_>,
    looping: Option<&Fields<'_>>,
    cli: Option<&Fields<'_>>,
    diagnostics: &mut Diagnostics,
) {
    let interactive = |value: &Cursor<'_>| value.node().as_text() == Some("interactive");
    let on = |value: &Cursor<'_>| !value.is_off();
    switch(Some(fields), "hooks", on, diagnostics);
    switch(Some(fields), "RObot", on, diagnostics);
    switch(looping, "persistent", on, diagnostics);
    switch(cli, "default_mode", interactive, diagnostics);
}

fn switch(
    object: Option<&Fields<'_>>,
    key: &str,
    is_on: impl Fn(&Cursor<'_>) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let Some(value) = object.and_then(|object| object.any(key)) else { return };
    if is_on(&value) {
        let message = format!("{} is not supported", quoted(&value.path().to_string()));
        diagnostics.push(value.error("not-supported", message).label("not supported").hint("remove it"));
    } else {
        diagnostics.push(no_effect(&value.location()));
    }
}

fn read_hat(id: Located<String>, value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Hat> {
    let mut found = Diagnostics::new();
    check_id(&id, &mut found);
    let fields = Fields::read(value, &tables::RALPH_HAT, &mut found);
    let hat = fields.map(|fields| {
        report_idle(&fields, &mut found);
        refuse_concurrency(&fields, &mut found);
        let default_publishes = fields.text("default_publishes");
        if let Some(topic) = &default_publishes {
            check_topic(topic, &mut found);
        }
        Hat {
            name: read_name(&fields, &id.value, &mut found),
            triggers: read_triggers(&fields, &id.value, &mut found),
            publishes: read_topics(&fields, "publishes", &mut found),
            instructions: read_instructions(&fields, &id, &mut found),
            description: fields.text("description").map(|text| text.value),
            default_publishes,
            backend: read_hat_backend(&fields, &mut found),
            timeout: fields.count("timeout").map(|seconds| Millis::seconds(seconds.value.into())),
            max_activations: fields.count("max_activations").map(|count| count.value),
            sandbox_required: false,
            sound: true,
            id,
        }
    });
    let sound = !found.has_errors();
    diagnostics.append(found);
    hat.map(|hat| Hat { sound, ..hat })
}

/// Reads the provider of a hat: a name, or an object that names it.
fn read_hat_backend(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Located<String>> {
    let value = fields.any("backend")?;
    let name = match value.node().value {
        Value::Map(_) => fields.object("backend", &tables::HAT_BACKEND, diagnostics)?.text("type"),
        _ => value.text(),
    };
    name.filter(|name| name.value != "auto")
}

fn refuse_concurrency(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let Some(count) = fields.count("concurrency") else { return };
    if count.value > 1 {
        let message = format!("{}: {} is not supported", quoted(&count.at.path.to_string()), count.value);
        let hint = "one hat is active at a time; a piece can ask several agents at once";
        diagnostics.push(count.error("not-supported", message).label("more than one").hint(hint));
    } else if let Some(at) = fields.key("concurrency") {
        diagnostics.push(no_effect(at));
    }
}

/// Reads `instructions` and appends `extra_instructions`. Missing ones are empty.
fn read_instructions(
    fields: &Fields<'_>,
    id: &Located<String>,
    diagnostics: &mut Diagnostics,
) -> Located<String> {
    let own = fields.text("instructions");
    if let Some(own) = &own {
        check_instructions(own, diagnostics);
    }
    let at = own.as_ref().map_or(&id.at, |own| &own.at).clone();
    let own = own.map(|own| own.value).into_iter();
    let extra = fields.texts("extra_instructions").unwrap_or_default();
    extra.iter().for_each(|text| check_words(text, diagnostics));
    let extra = extra.into_iter().map(|text| text.value);
    let all: Vec<String> = own.chain(extra).collect();
    let separated = all.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join("\n\n");
    // A single text stays byte for byte.
    let text = if let [only] = all.as_slice() { only.clone() } else { separated };
    Located::new(text, at)
}

fn read_event(
    topic: Located<String>,
    value: &Cursor<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<(String, TopicTexts)> {
    check_topic(&topic, diagnostics);
    let fields = Fields::read(value, &tables::EVENT, diagnostics)?;
    let texts = ["description", "on_publish"].into_iter().filter_map(|key| fields.text(key));
    let publishing = texts.map(|text| text.value).collect();
    let triggered = fields.text("on_trigger").map(|text| text.value);
    Some((topic.value, TopicTexts { publishing, triggered }))
}

fn read_flow(looping: &Fields<'_>, diagnostics: &mut Diagnostics) -> HatFlow {
    let keyword = looping.text("completion_promise");
    let cancellation = looping.text("cancellation_promise").filter(|word| !word.value.is_empty());
    for word in keyword.iter().chain(&cancellation) {
        check_keyword(word, diagnostics);
    }
    let starting_event = looping.text("starting_event");
    if let Some(topic) = &starting_event {
        check_topic(topic, diagnostics);
    }
    let required = looping.has("required_events");
    HatFlow {
        starting_event,
        keyword,
        cancellation,
        required_events: required.then(|| read_topics(looping, "required_events", diagnostics)),
        enforce_scope: looping.bool("enforce_hat_scope").map(|flag| flag.value),
        extraction: None,
        stall_after: None,
        max_activations: None,
    }
}

fn read_bounds(looping: &Fields<'_>) -> HatBounds {
    let seconds = |key: &str| looping.count(key).map(|seconds| Millis::seconds(seconds.value.into()));
    HatBounds {
        max_iterations: looping.count("max_iterations").map(|count| count.value),
        failures: looping.count("max_consecutive_failures").map(|count| count.value),
        idle: seconds("idle_timeout_secs"),
        runtime: seconds("max_runtime_seconds"),
        cost_usd: looping.number("max_cost_usd").map(|cost| cost.value),
        progress: None,
    }
}

/// H-66: returns `prompt`, or the content of `prompt_file`. A missing file is only a warning, because the
/// command line may give the task.
fn read_task(
    looping: &Fields<'_>,
    context: &RalphContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    let (prompt, file) = (looping.text("prompt"), looping.text("prompt_file"));
    if let (Some(prompt), Some(file)) = (&prompt, &file) {
        let message = "`event_loop.prompt` and `event_loop.prompt_file` both give the task";
        let diagnostic = file.error("alias-conflict", message).label("gives the task too");
        diagnostics.push(diagnostic.also(&prompt.at, "first given here").hint("keep one of them"));
        return None;
    }
    let Some(file) = file else { return prompt.map(|prompt| prompt.value) };
    let beside = context.definition.path.as_deref().and_then(Path::parent);
    let read = match context.places.resolve(beside, &file.value) {
        Some(path) => context.source.read(&path, LARGEST_FILE).map_err(|error| error.to_string()),
        None => Err("the home directory is unknown".to_owned()),
    };
    match read {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(why) => {
            let message = format!("the task cannot be read from {}: {why}", quoted(&file.value));
            let hint = "give the task on the command line";
            diagnostics.push(file.warning("missing-file", message).label("no such task").hint(hint));
            None
        }
    }
}

/// H-66: formats guardrails as a list.
fn guardrails(core: &Fields<'_>) -> Option<String> {
    let rules = core.texts("guardrails").unwrap_or_default();
    let lines: Vec<String> = rules.iter().map(|rule| format!("- {}", rule.value.trim())).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Backend whose program the file describes.
const CUSTOM: &str = "custom";
/// Backend that uses the Agent Client Protocol, with its command line.
const KIRO_ACP: (&str, [&str; 2]) = ("kiro-acp", ["kiro-cli", "acp"]);
/// Backends of ralph without a Saihai provider.
const UNSERVED: [&str; 5] = ["kiro", "amp", "pi", "roo", "forge"];
/// Keys that describe the program of `custom`.
const DESCRIBING: [&str; 4] = ["command", "args", "prompt_mode", "prompt_flag"];

/// The named provider, and its description if the file contains one.
#[derive(Debug, Default)]
pub(super) struct RalphBackend {
    pub(super) name: Option<Located<String>>,
    pub(super) own: Option<OwnProvider>,
}

impl RalphContext<'_> {
    fn read_backend(&self, cli: &Fields<'_>, diagnostics: &mut Diagnostics) -> RalphBackend {
        let Some(name) = cli.text("backend").filter(|name| name.value != "auto") else {
            refuse_description(cli, "auto", diagnostics);
            return RalphBackend::default();
        };
        if name.value != CUSTOM {
            refuse_description(cli, &name.value, diagnostics);
        }
        if UNSERVED.contains(&name.value.as_str()) {
            self.report_unserved(&name, diagnostics);
            return RalphBackend::default();
        }
        let own = match name.value.as_str() {
            CUSTOM if self.is_set(CUSTOM) => {
                // The user's settings describe this provider, so they win over the file.
                DESCRIBING
                    .iter()
                    .filter_map(|key| cli.key(key))
                    .for_each(|at| diagnostics.push(no_effect(at)));
                None
            }
            CUSTOM => match self.custom(&name, cli, diagnostics) {
                Some(own) => Some(own),
                // The missing command is already reported. Without a name, no "unknown provider" follows.
                None => return RalphBackend::default(),
            },
            known if known == KIRO_ACP.0 && !self.is_set(known) => Some(OwnProvider {
                name: known.into(),
                speaks: OwnProtocol::Acp,
                argv: KIRO_ACP.1.map(str::to_owned).to_vec(),
                written: None,
            }),
            _ => None,
        };
        RalphBackend { name: Some(name), own }
    }

    fn is_set(&self, name: &str) -> bool {
        self.settings.providers.contains_key(name)
    }

    fn custom(
        &self,
        name: &Located<String>,
        cli: &Fields<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<OwnProvider> {
        let Some(command) = cli.text("command").filter(|command| !command.value.trim().is_empty()) else {
            let message = format!("`cli.backend: {CUSTOM}` needs `cli.command`, the program to be asked");
            let hint = "such as `command: my-agent`";
            diagnostics.push(name.error("missing-key", message).label("which program?").hint(hint));
            return None;
        };
        let program = command.value.trim();
        if program.contains('/') && !program.starts_with('/') {
            let message = format!(
                "`cli.command` must be the name of a program or an absolute path, not {}",
                quoted(program)
            );
            let hint = "programs in the working directory of an agent are not trusted";
            diagnostics.push(command.error("bad-value", message).label("a relative path").hint(hint));
        }
        let speaks = match cli.text("prompt_mode").as_ref().map(|mode| mode.value.as_str()) {
            Some("stdin") => OwnProtocol::Input,
            // Ralph's default.
            Some(_) | None => OwnProtocol::Argument,
        };
        let args = cli.texts("args").unwrap_or_default().into_iter().map(|argument| argument.value);
        let flag = cli.text("prompt_flag").filter(|_| speaks == OwnProtocol::Argument);
        let flag = flag.map(|flag| flag.value).filter(|flag| !flag.is_empty());
        let argv = std::iter::once(program.to_owned()).chain(args).chain(flag).collect();
        let written = self.definition.path.as_deref().map(|path| path.to_string_lossy().into_owned());
        Some(OwnProvider { name: CUSTOM.into(), speaks, argv, written })
    }

    fn report_unserved(&self, name: &Located<String>, diagnostics: &mut Diagnostics) {
        let message = format!("no provider for ralph's backend {}", quoted(&name.value));
        let hint = "use `--provider` with another one, or describe the program: `backend: custom` with `command` and `args`";
        let diagnostic = if self.options.starts && self.options.provider.is_none() {
            name.error("unserved-backend", message)
        } else {
            name.warning("unserved-backend", message)
        };
        diagnostics.push(diagnostic.label("not asked").hint(hint));
    }
}

/// H-70, H-71: the file must not describe the program of a known provider.
fn refuse_description(cli: &Fields<'_>, backend: &str, diagnostics: &mut Diagnostics) {
    for (key, place) in [("command", "program"), ("args", "args")] {
        if let Some(at) = cli.key(key) {
            if cli.any(key).is_some_and(|value| value.is_off()) {
                diagnostics.push(no_effect(at));
                continue;
            }
            let message = format!("`cli.{key}` is not supported with the backend {}", quoted(backend));
            let provider = if backend == "auto" { "NAME" } else { backend };
            let hint =
                format!("a trusted `.saihai/config.toml` sets it: `{place}` in `[providers.{provider}]`");
            diagnostics.push(at.error("not-supported", message).label("not passed on").hint(hint));
        }
    }
    for at in ["prompt_mode", "prompt_flag"].iter().filter_map(|key| cli.key(key)) {
        diagnostics.push(no_effect(at));
    }
}

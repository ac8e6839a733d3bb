//! Reader of `ralph.yml` and hat collections. The result has the same form as for `orch.yml` (H-65 to H-71).

use std::path::Path;

use saihai_model::Millis;

use super::backend;
use super::hat::{
    Hat, check_id, check_instructions, check_topic, check_words, read_name, read_topics, read_triggers,
};
use super::ralph_tables as tables;
use super::read::{check_keyword, no_effect};
use super::written::{Bounds, Flow, TopicTexts, Written};
use crate::{
    Cursor, Definition, Diagnostics, Document, Fields, LARGEST_FILE, Located, Places, Source, quoted,
};

/// Keys that identify a file of ralph.
const OWN_KEYS: [&str; 4] = ["event_loop", "cli", "core", "events"];
/// Keys without effect, per object.
const IDLE: [&str; 7] = ["adapters", "tui", "memories", "tasks", "skills", "features", "backpressure"];
const IDLE_HAT: [&str; 4] = ["scratchpad", "aggregate", "disallowed_tools", "import"];
const IDLE_LOOP: [&str; 5] = [
    "starting_hat",
    "checkpoint_interval",
    "cooldown_delay_seconds",
    "context_window_tokens",
    "mutation_score_warn_threshold",
];
const IDLE_CLI: [&str; 3] = ["idle_timeout_secs", "pty_mode", "pty_interactive"];

/// Returns true for a document in ralph's format (H-7).
pub(super) fn is_one(definition: &Definition, document: &Document) -> bool {
    let name = definition.path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    name == Some("ralph.yml") || OWN_KEYS.iter().any(|key| document.root.get(key).is_some())
}

/// Reads a document. It reports all errors, not only the first.
pub(super) fn read(
    document: &Document,
    files: &Files<'_>,
    backends: backend::Reader<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Written> {
    let fields = Fields::read(&document.cursor(), &tables::RALPH, diagnostics)?;
    let looping = fields.object("event_loop", &tables::EVENT_LOOP, diagnostics);
    let cli = fields.object("cli", &tables::CLI, diagnostics);
    let core = fields.object("core", &tables::CORE, diagnostics);
    report_switches(&fields, looping.as_ref(), cli.as_ref(), diagnostics);
    report_idle(Some(&fields), &IDLE, diagnostics);
    report_idle(looping.as_ref(), &IDLE_LOOP, diagnostics);
    report_idle(cli.as_ref(), &IDLE_CLI, diagnostics);
    report_idle(core.as_ref(), &["scratchpad", "specs_dir"], diagnostics);
    let hats: indexmap::IndexMap<String, Hat> = fields
        .map("hats")
        .into_iter()
        .filter_map(|(id, hat)| read_hat(id, &hat, diagnostics))
        .map(|hat| (hat.id.value.clone(), hat))
        .collect();
    let events = fields.map("events");
    let topics = events.into_iter().filter_map(|(topic, event)| read_event(topic, &event, diagnostics));
    let topics = topics.collect();
    let backend = cli.as_ref().map(|cli| backends.read(cli, diagnostics)).unwrap_or_default();
    Some(Written {
        backend: backend.name,
        own_provider: backend.own,
        base_prompt: core.as_ref().and_then(guardrails),
        flow: looping.as_ref().map(|looping| read_flow(looping, diagnostics)).unwrap_or_default(),
        bounds: looping.as_ref().map(read_bounds).unwrap_or_default(),
        task: looping.as_ref().and_then(|looping| read_task(looping, files, diagnostics)),
        topics,
        hats,
        ..Written::default()
    })
}

/// Access to the files that a collection names.
pub(super) struct Files<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) places: &'a Places,
    pub(super) beside: Option<&'a Path>,
}

fn report_idle(object: Option<&Fields<'_>>, keys: &[&str], diagnostics: &mut Diagnostics) {
    let given = keys.iter().filter_map(|key| object?.key(key));
    given.for_each(|at| diagnostics.push(no_effect(at)));
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
    let fields = Fields::read(value, &tables::HAT, &mut found);
    let hat = fields.map(|fields| {
        report_idle(Some(&fields), &IDLE_HAT, &mut found);
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
            timeout: fields.count("timeout").map(|seconds| Millis::seconds(seconds.value.into())),
            max_activations: fields.count("max_activations").map(|count| count.value),
            sound: true,
            id,
        }
    });
    let sound = !found.has_errors();
    diagnostics.append(found);
    hat.map(|hat| Hat { sound, ..hat })
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

fn read_flow(looping: &Fields<'_>, diagnostics: &mut Diagnostics) -> Flow {
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
    Flow {
        starting_event,
        keyword,
        cancellation,
        required_events: required.then(|| read_topics(looping, "required_events", diagnostics)),
        enforce_scope: looping.bool("enforce_hat_scope").map(|flag| flag.value),
        stall_after: None,
        max_activations: None,
    }
}

fn read_bounds(looping: &Fields<'_>) -> Bounds {
    let seconds = |key: &str| looping.count(key).map(|seconds| Millis::seconds(seconds.value.into()));
    Bounds {
        max_iterations: looping.count("max_iterations").map(|count| count.value),
        failures: looping.count("max_consecutive_failures").map(|count| count.value),
        idle: seconds("idle_timeout_secs"),
        runtime: seconds("max_runtime_seconds"),
        cost_usd: looping.number("max_cost_usd").map(|cost| cost.value),
    }
}

/// H-66: returns `prompt`, or the content of `prompt_file`. A missing file is only a warning, because the
/// command line may give the task.
fn read_task(looping: &Fields<'_>, files: &Files<'_>, diagnostics: &mut Diagnostics) -> Option<String> {
    let (prompt, file) = (looping.text("prompt"), looping.text("prompt_file"));
    if let (Some(prompt), Some(file)) = (&prompt, &file) {
        let message = "`event_loop.prompt` and `event_loop.prompt_file` both give the task";
        let diagnostic = file.error("alias-conflict", message).label("gives the task too");
        diagnostics.push(diagnostic.also(&prompt.at, "first given here").hint("keep one of them"));
        return None;
    }
    let Some(file) = file else { return prompt.map(|prompt| prompt.value) };
    let read = match files.places.resolve(files.beside, &file.value) {
        Some(path) => files.source.read(&path, LARGEST_FILE).map_err(|error| error.to_string()),
        None => Err("nobody's home directory is meant by it".to_owned()),
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

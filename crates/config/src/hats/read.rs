//! Reader of `orch.yml` and of single hats.

use indexmap::IndexMap;
use saihai_model::{DirectiveExtraction, Millis};

use super::model::{HatBounds, HatFlow, HatGates, HatsFile, TopicPrecision, is_topic};
use super::tables;
use crate::breaker::ProgressSetting;
use crate::delivery::Wishes;
use crate::{Cursor, Diagnostics, Document, Fields, Located, Location, Value, list_of, quoted};

/// Reads a document. It reports all errors, not only the first.
pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Option<HatsFile> {
    let fields = Fields::read(&document.cursor(), &tables::ORCH, diagnostics)?;
    let inner = OrchObjects::read(&fields, diagnostics);
    report_no_effect(&fields, &inner, diagnostics);
    let hats: IndexMap<String, Hat> = fields
        .map("hats")
        .into_iter()
        .filter_map(|(id, hat)| Hat::read(id, &hat, diagnostics))
        .map(|hat| (hat.id.value.clone(), hat))
        .collect();
    let (backend, model) = read_backend(&fields, inner.backend.as_ref(), diagnostics);
    Some(HatsFile {
        backend,
        model,
        preset: fields.text("preset"),
        base_prompt: fields.text("base_prompt").map(|text| text.value),
        language: fields.text("language").map(|text| text.value),
        flow: read_flow(&fields, &inner, diagnostics),
        bounds: read_bounds(&fields, &inner, diagnostics),
        gates: read_gates(&fields),
        wishes: read_wishes(&fields, &inner),
        delivery: read_delivery(&fields, &inner, diagnostics),
        hats,
        ..HatsFile::default()
    })
}

struct OrchObjects<'d> {
    backend: Option<Fields<'d>>,
    looping: Option<Fields<'d>>,
    state: Option<Fields<'d>>,
    labels: Option<Fields<'d>>,
    session: Option<Fields<'d>>,
    worktree: Option<Fields<'d>>,
    dependency: Option<Fields<'d>>,
}

impl<'d> OrchObjects<'d> {
    fn read(fields: &Fields<'d>, diagnostics: &mut Diagnostics) -> Self {
        let long = fields.any("backend").filter(|value| matches!(value.node().value, Value::Map(_)));
        Self {
            backend: long.and_then(|value| Fields::read(&value, &tables::BACKEND, diagnostics)),
            looping: fields.object("loop", &tables::LOOP, diagnostics),
            state: fields.object("state", &tables::STATE, diagnostics),
            labels: fields.object("labels", &tables::LABELS, diagnostics),
            session: fields.object("session", &tables::SESSION, diagnostics),
            worktree: fields.object("worktree", &tables::WORKTREE, diagnostics),
            dependency: fields.object("dependency", &tables::DEPENDENCY, diagnostics),
        }
    }
}

/// Merges two spellings of one key. Different values are an error (H-19).
pub(super) fn one_of<T: PartialEq>(
    first: Option<Located<T>>,
    second: Option<Located<T>>,
    diagnostics: &mut Diagnostics,
) -> Option<Located<T>> {
    if let (Some(first), Some(second)) = (&first, &second)
        && first.value != second.value
    {
        let [one, other] = [first, second].map(|value| quoted(&value.at.path.to_string()));
        let message = format!("{one} and {other} set the same key to different values");
        let diagnostic = second.error("alias-conflict", message).label("says something else");
        diagnostics.push(diagnostic.also(&first.at, "first given here").hint("keep one of them"));
    }
    first.or(second)
}

fn read_backend(
    fields: &Fields<'_>,
    long: Option<&Fields<'_>>,
    diagnostics: &mut Diagnostics,
) -> (Option<Located<String>>, Option<Located<String>>) {
    let own = long.and_then(|backend| backend.text("model"));
    let model = one_of(fields.text("model"), own, diagnostics);
    (fields.text("backend").or_else(|| long?.text("type")), model)
}

fn read_flow(fields: &Fields<'_>, inner: &OrchObjects<'_>, diagnostics: &mut Diagnostics) -> HatFlow {
    let promise = inner.looping.as_ref().and_then(|looping| looping.text("completion_promise"));
    let keyword = one_of(fields.text("completion_keyword"), promise, diagnostics);
    if let Some(keyword) = &keyword {
        check_keyword(keyword, diagnostics);
    }
    let starting_event = fields.text("starting_event");
    if let Some(topic) = &starting_event {
        check_topic(topic, diagnostics);
    }
    let required_events = fields.has("required_events");
    HatFlow {
        starting_event,
        keyword,
        cancellation: None,
        required_events: required_events.then(|| read_topics(fields, "required_events", diagnostics)),
        enforce_scope: fields.bool("enforce_hat_scope").map(|flag| flag.value),
        extraction: fields.text("extraction").map(|text| match text.value.as_str() {
            "anywhere" => DirectiveExtraction::Anywhere,
            _ => DirectiveExtraction::OwnLines,
        }),
        stall_after: fields.count("stall_after").map(|count| count.value),
        max_activations: fields.count("max_activations").map(|count| count.value),
    }
}

/// H-19: the keyword must be a valid topic, so that `EVENT: KEYWORD` works too.
pub(super) fn check_keyword(keyword: &Located<String>, diagnostics: &mut Diagnostics) {
    if !is_topic(&keyword.value) || !keyword.value.is_ascii() {
        let message =
            format!("{} must be one word of ASCII letters, digits, `_`, `-` and dots", path_of(keyword));
        let diagnostic = keyword.error("bad-value", message).label("not such a word");
        diagnostics.push(diagnostic.hint("such as `LOOP_COMPLETE` or `DONE`"));
    }
}

fn path_of<T>(value: &Located<T>) -> String {
    quoted(&value.at.path.to_string())
}

fn read_bounds(fields: &Fields<'_>, inner: &OrchObjects<'_>, diagnostics: &mut Diagnostics) -> HatBounds {
    let looping = inner.looping.as_ref();
    let iterations = looping.and_then(|looping| looping.count("max_iterations"));
    let idle = looping.and_then(|looping| looping.count("idle_timeout_secs"));
    let iterations = one_of(fields.count("max_iterations"), iterations, diagnostics);
    let idle = one_of(fields.count("idle_timeout_secs"), idle, diagnostics);
    HatBounds {
        max_iterations: iterations.map(|count| count.value),
        failures: fields.count("max_consecutive_failures").map(|count| count.value),
        idle: idle.map(|seconds| Millis::seconds(seconds.value.into())),
        runtime: fields.count("max_runtime_seconds").map(|seconds| Millis::seconds(seconds.value.into())),
        cost_usd: fields.number("max_cost_usd").map(|cost| cost.value),
        progress: ProgressSetting::read(fields, diagnostics),
    }
}

fn read_gates(fields: &Fields<'_>) -> HatGates {
    let is_list = fields.any("gates").is_some_and(|gates| matches!(gates.node().value, Value::List(_)));
    let auto = fields.bool("auto").map(|flag| flag.value);
    let mut gates = HatGates { auto, is_list, given: fields.has("gates"), ..HatGates::default() };
    for gate in fields.list("gates") {
        if let Some(name) = gate.text() {
            gates.named.insert(name.value, Located::new(true, name.at));
        }
    }
    for (name, asks) in fields.map("gates") {
        if let Some(asks) = asks.node().as_bool() {
            gates.named.insert(name.value, Located::new(asks, name.at));
        }
    }
    gates
}

/// Reads the keys about work on an issue, which `run` ignores (I-9).
fn read_delivery(
    fields: &Fields<'_>,
    inner: &OrchObjects<'_>,
    diagnostics: &mut Diagnostics,
) -> IndexMap<&'static str, bool> {
    let from = |object: &Option<Fields<'_>>, key: &str| object.as_ref().and_then(|object| object.bool(key));
    let enabled =
        one_of(from(&inner.labels, "enabled"), from(&inner.state, "use_github_labels"), diagnostics);
    let prefix = |object: &Option<Fields<'_>>, key: &str| object.as_ref().and_then(|object| object.text(key));
    one_of(prefix(&inner.labels, "prefix"), prefix(&inner.state, "label_prefix"), diagnostics);
    let asked = [
        ("create_pr", fields.bool("create_pr")),
        ("labels", enabled),
        ("dependency", from(&inner.dependency, "resolve")),
    ];
    asked.into_iter().filter_map(|(key, flag)| Some((key, flag?.value))).collect()
}

/// Reads their full values. Conflicts are already reported, so the first value counts.
fn read_wishes(fields: &Fields<'_>, inner: &OrchObjects<'_>) -> Wishes {
    let flag = |object: Option<&Fields<'_>>, key: &str| object?.bool(key).map(|flag| flag.value);
    let text = |object: Option<&Fields<'_>>, key: &str| object?.text(key).map(|text| text.value);
    let (labels, state, worktree) = (inner.labels.as_ref(), inner.state.as_ref(), inner.worktree.as_ref());
    let copied = worktree.and_then(|worktree| worktree.texts("copy_files"));
    Wishes {
        auto: None,
        gates: None,
        pull_request: flag(Some(fields), "create_pr"),
        worktree: flag(worktree, "enabled"),
        worktree_root: text(worktree, "base_dir"),
        copy_files: copied.map(|files| files.into_iter().map(|file| file.value).collect()),
        labels: flag(labels, "enabled").or_else(|| flag(state, "use_github_labels")),
        label_prefix: text(labels, "prefix").or_else(|| text(state, "label_prefix")),
        resolve: flag(inner.dependency.as_ref(), "resolve"),
    }
}

/// H-18: warns about keys without effect. Session managers are an error: they need another program.
fn report_no_effect(fields: &Fields<'_>, inner: &OrchObjects<'_>, diagnostics: &mut Diagnostics) {
    let manager = inner.session.as_ref().and_then(|session| session.text("manager"));
    let is_idle = manager.as_ref().is_some_and(|name| matches!(name.value.as_str(), "auto" | "native"));
    if let Some(manager) = manager.filter(|name| matches!(name.value.as_str(), "tmux" | "zellij")) {
        let message = format!("`session.manager: {}` is not supported", manager.value);
        let hint = "runs are followed with `saihai log -f` or the dashboard; remove the key";
        diagnostics.push(manager.error("not-supported", message).label("not supported").hint(hint));
    }
    if let Some(at) = inner.session.as_ref().filter(|_| is_idle).and_then(|session| session.key("manager")) {
        diagnostics.push(no_effect(at));
    }
    for object in [Some(fields), inner.session.as_ref(), inner.state.as_ref()].into_iter().flatten() {
        report_idle(object, diagnostics);
    }
}

pub(super) fn report_idle(object: &Fields<'_>, diagnostics: &mut Diagnostics) {
    object.idle_keys().for_each(|at| diagnostics.push(no_effect(at)));
}

pub(super) fn no_effect(at: &crate::Location) -> crate::Diagnostic {
    let message = format!("{} has no effect here", quoted(&at.path.to_string()));
    at.warning("no-effect", message).label("changes nothing").hint("remove it")
}

/// Hat for topics that no trigger matches (H-29).
pub(super) const DEFAULT: &str = "default";

/// Maximum length of a hat's id, in characters.
const LONGEST_ID: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hat {
    pub(super) id: Located<String>,
    pub(super) name: String,
    pub(super) triggers: Vec<Located<String>>,
    /// Topics it may publish, including the keyword.
    pub(super) publishes: Vec<Located<String>>,
    /// Prompt text for this role.
    pub(super) instructions: Located<String>,
    /// Description for people; not part of the prompt.
    pub(super) description: Option<String>,
    /// Topic that the engine publishes if a turn reports nothing even after a reminder.
    pub(super) default_publishes: Option<Located<String>>,
    /// Provider of this hat alone (ralph).
    pub(super) backend: Option<Located<String>>,
    pub(super) timeout: Option<Millis>,
    pub(super) max_activations: Option<u32>,
    pub(super) sandbox_required: bool,
    /// False if the hat has errors.
    pub(super) sound: bool,
}

impl Hat {
    /// Reads one entry of `hats`. Returns `None` if it is not a mapping.
    pub(super) fn read(
        id: Located<String>,
        value: &Cursor<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let mut found = Diagnostics::new();
        check_id(&id, &mut found);
        let hat = Fields::read(value, &tables::HAT, &mut found).map(|fields| Self {
            name: read_name(&fields, &id.value, &mut found),
            triggers: read_triggers(&fields, &id.value, &mut found),
            publishes: read_topics(&fields, "publishes", &mut found),
            instructions: read_instructions(&fields, &id, &mut found),
            description: None,
            default_publishes: None,
            timeout: None,
            max_activations: None,
            sandbox_required: fields.text("sandbox").is_some(),
            backend: None,
            sound: true,
            id,
        });
        let sound = !found.has_errors();
        diagnostics.append(found);
        hat.map(|hat| Self { sound, ..hat })
    }

    /// Returns the location of the id, for messages about the whole hat.
    pub(super) fn at(&self) -> &Location {
        &self.id.at
    }

    /// Returns true if it may end the run.
    pub(super) fn may_complete(&self, keyword: &str) -> bool {
        self.publishes.iter().any(|topic| topic.value == keyword)
    }

    /// Returns the topics it may publish, without the closing words.
    pub(super) fn topics<'a>(&'a self, flow: &'a HatFlow) -> impl Iterator<Item = &'a Located<String>> {
        self.publishes.iter().filter(move |topic| !flow.closes(&topic.value))
    }
}

/// H-13: an id may use any script, but no characters with a special meaning.
pub(super) fn check_id(id: &Located<String>, diagnostics: &mut Diagnostics) {
    let length = id.value.chars().count();
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '(' | ')');
    if length == 0 || length > LONGEST_ID || id.value.chars().any(odd) {
        let message = format!("{} cannot be the id of a hat", quoted(&id.value));
        let hint = format!(
            "1 to {LONGEST_ID} characters without blanks, control characters, `/`, `\\`, `(` and `)`; `name` may be anything"
        );
        diagnostics.push(id.error("bad-value", message).label("not allowed as an id").hint(hint));
    }
}

pub(super) fn read_name(fields: &Fields<'_>, id: &str, diagnostics: &mut Diagnostics) -> String {
    let Some(name) = fields.text("name") else { return id.to_owned() };
    if name.value.trim().is_empty() {
        let message = format!("{} must not be blank", quoted(&name.at.path.to_string()));
        let hint = "write its display name, such as `🧪 Tester`";
        diagnostics.push(name.error("bad-value", message).label("blank").hint(hint));
    }
    warn_of_variables(&name, diagnostics);
    name.value
}

/// Reads `triggers`. Only the `default` hat may have none (H-12, H-15).
pub(super) fn read_triggers(
    fields: &Fields<'_>,
    id: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Located<String>> {
    let Some(triggers) = fields.texts("triggers") else { return Vec::new() };
    if triggers.is_empty() && id != DEFAULT {
        let at = fields.any("triggers").map_or_else(|| fields.location(), |value| value.location());
        let message = format!("{} must not be empty", quoted(&at.path.to_string()));
        let hint = "only the hat `default` may have none: it is reached when no trigger matches";
        diagnostics.push(at.error("bad-value", message).label("no trigger").hint(hint));
    }
    for trigger in &triggers {
        if TopicPrecision::of(&trigger.value).is_none() {
            let message = format!(
                "{}: {} is neither a topic nor a pattern",
                place(&trigger.at),
                quoted(&trigger.value)
            );
            let hint = "a topic such as `tests.failing`; `*` matches one whole segment (`build.*`), or every topic if alone";
            diagnostics.push(trigger.error("bad-pattern", message).label("bad pattern").hint(hint));
        }
    }
    triggers
}

/// Formats the path of a value for messages (H-10).
pub(super) fn place(at: &Location) -> String {
    quoted(&at.path.to_string())
}

pub(super) fn read_topics(
    fields: &Fields<'_>,
    key: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Located<String>> {
    let topics = fields.texts(key).unwrap_or_default();
    for topic in &topics {
        check_topic(topic, diagnostics);
    }
    topics
}

/// Reports text that is not a topic. Returns true if it is one.
pub(super) fn check_topic(topic: &Located<String>, diagnostics: &mut Diagnostics) -> bool {
    if is_topic(&topic.value) {
        return true;
    }
    let message = format!("{}: {} is not a topic", place(&topic.at), quoted(&topic.value));
    let hint = if topic.value.contains('*') {
        "`*` is allowed in triggers only; list each topic"
    } else {
        "letters and digits of any script, joined by `.`, `_`, `-`, `:` or `/`, such as `tests.failing`"
    };
    diagnostics.push(topic.error("bad-topic", message).label("not a topic").hint(hint));
    false
}

fn read_instructions(
    fields: &Fields<'_>,
    id: &Located<String>,
    diagnostics: &mut Diagnostics,
) -> Located<String> {
    let Some(instructions) = fields.text("instructions") else {
        return Located::new(String::new(), id.at.clone());
    };
    check_instructions(&instructions, diagnostics);
    instructions
}

/// Warns about blank instructions, variables that Saihai does not fill in, and unsupported ways to report.
pub(super) fn check_instructions(instructions: &Located<String>, diagnostics: &mut Diagnostics) {
    let path = quoted(&instructions.at.path.to_string());
    if instructions.value.trim().is_empty() {
        let message = format!("{path} is blank: the hat changes nothing");
        diagnostics.push(instructions.warning("blank-instructions", message).label("blank"));
    }
    check_words(instructions, diagnostics);
}

/// Does the same, but allows blank text.
pub(super) fn check_words(instructions: &Located<String>, diagnostics: &mut Diagnostics) {
    let path = quoted(&instructions.at.path.to_string());
    warn_of_variables(instructions, diagnostics);
    if emits_elsewhere(&instructions.value) {
        let message = format!("{path} reports results in a way that is not read");
        let hint = "let the agent write a line such as `EVENT: tests.passing`; every prompt asks for it too";
        diagnostics.push(instructions.warning("foreign-emit", message).label("not read").hint(hint));
    }
}

/// H-13: `{{…}}` reaches the agent unchanged.
fn warn_of_variables(text: &Located<String>, diagnostics: &mut Diagnostics) {
    let variables = variables(&text.value);
    if !variables.is_empty() {
        let path = quoted(&text.at.path.to_string());
        let message = format!("{path} shows {} to the agent unchanged", list_of(variables, "and"));
        let hint = "variables are not replaced here; every prompt contains the task";
        diagnostics.push(text.warning("unexpanded-variable", message).label("not filled in").hint(hint));
    }
}

/// Returns true if instructions report by a command or tag that Saihai does not read (H-69).
pub(super) fn emits_elsewhere(instructions: &str) -> bool {
    instructions.contains("ralph emit") || instructions.contains("<event topic=")
}

/// Returns the first few `{{…}}` of a text, without duplicates.
fn variables(text: &str) -> Vec<&str> {
    const NAMED: usize = 5;
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("{{") {
        let Some(end) = behind.find("}}") else { break };
        let start = text.len() - behind.len() - 2;
        let variable = &text[start..start + end + 4];
        if !variable.contains('\n') && !found.contains(&variable) && found.len() < NAMED {
            found.push(variable);
        }
        rest = &behind[end + 2..];
    }
    found
}

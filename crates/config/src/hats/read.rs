//! Reader of `orch.yml`.

use indexmap::IndexMap;
use saihai_model::Millis;

use super::hat::{Hat, check_topic, read_topics};
use super::tables;
use super::topic::is_topic;
use super::written::{Bounds, Flow, Gates, Written};
use crate::delivery::Wishes;
use crate::{Diagnostics, Document, Fields, Located, Value, quoted};

/// Reads a document. It reports all errors, not only the first.
pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Option<Written> {
    let fields = Fields::read(&document.cursor(), &tables::ORCH, diagnostics)?;
    let inner = Inner::read(&fields, diagnostics);
    report_no_effect(&fields, &inner, diagnostics);
    let hats: IndexMap<String, Hat> = fields
        .map("hats")
        .into_iter()
        .filter_map(|(id, hat)| Hat::read(id, &hat, diagnostics))
        .map(|hat| (hat.id.value.clone(), hat))
        .collect();
    let (backend, model) = read_backend(&fields, inner.backend.as_ref(), diagnostics);
    Some(Written {
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
        ..Written::default()
    })
}

struct Inner<'d> {
    backend: Option<Fields<'d>>,
    looping: Option<Fields<'d>>,
    state: Option<Fields<'d>>,
    labels: Option<Fields<'d>>,
    session: Option<Fields<'d>>,
    worktree: Option<Fields<'d>>,
    dependency: Option<Fields<'d>>,
}

impl<'d> Inner<'d> {
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
        let message = format!("{one} and {other} are two places of one key and say different things");
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

fn read_flow(fields: &Fields<'_>, inner: &Inner<'_>, diagnostics: &mut Diagnostics) -> Flow {
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
    Flow {
        starting_event,
        keyword,
        cancellation: None,
        required_events: required_events.then(|| read_topics(fields, "required_events", diagnostics)),
        enforce_scope: fields.bool("enforce_hat_scope").map(|flag| flag.value),
        stall_after: fields.count("stall_after").map(|count| count.value),
        max_activations: fields.count("max_activations").map(|count| count.value),
    }
}

/// H-19: the keyword must be a valid topic, so that `EVENT: KEYWORD` works too.
pub(super) fn check_keyword(keyword: &Located<String>, diagnostics: &mut Diagnostics) {
    if !is_topic(&keyword.value) {
        let message =
            format!("{} must be one word of ASCII letters, digits, `_`, `-` and dots", path_of(keyword));
        let diagnostic = keyword.error("bad-value", message).label("not such a word");
        diagnostics.push(diagnostic.hint("such as `LOOP_COMPLETE` or `DONE`"));
    }
}

fn path_of<T>(value: &Located<T>) -> String {
    quoted(&value.at.path.to_string())
}

fn read_bounds(fields: &Fields<'_>, inner: &Inner<'_>, diagnostics: &mut Diagnostics) -> Bounds {
    let looping = inner.looping.as_ref();
    let iterations = looping.and_then(|looping| looping.count("max_iterations"));
    let idle = looping.and_then(|looping| looping.count("idle_timeout_secs"));
    let iterations = one_of(fields.count("max_iterations"), iterations, diagnostics);
    let idle = one_of(fields.count("idle_timeout_secs"), idle, diagnostics);
    Bounds {
        max_iterations: iterations.map(|count| count.value),
        failures: fields.count("max_consecutive_failures").map(|count| count.value),
        idle: idle.map(|seconds| Millis::seconds(seconds.value.into())),
        runtime: fields.count("max_runtime_seconds").map(|seconds| Millis::seconds(seconds.value.into())),
        cost_usd: fields.number("max_cost_usd").map(|cost| cost.value),
    }
}

fn read_gates(fields: &Fields<'_>) -> Gates {
    let is_list = fields.any("gates").is_some_and(|gates| matches!(gates.node().value, Value::List(_)));
    let auto = fields.bool("auto").map(|flag| flag.value);
    let mut gates = Gates { auto, is_list, given: fields.has("gates"), ..Gates::default() };
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
    inner: &Inner<'_>,
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
fn read_wishes(fields: &Fields<'_>, inner: &Inner<'_>) -> Wishes {
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

/// H-18: warns about each key without effect. Session managers are an error, because they need another
/// program.
fn report_no_effect(fields: &Fields<'_>, inner: &Inner<'_>, diagnostics: &mut Diagnostics) {
    let manager = inner.session.as_ref().and_then(|session| session.text("manager"));
    let is_idle = manager.as_ref().is_some_and(|name| matches!(name.value.as_str(), "auto" | "native"));
    if let Some(manager) = manager.filter(|name| matches!(name.value.as_str(), "tmux" | "zellij")) {
        let message = format!("`session.manager: {}` is not supported", manager.value);
        let hint = "runs are followed with `saihai log -f` or the dashboard; remove the key";
        diagnostics.push(manager.error("not-supported", message).label("not supported").hint(hint));
    }
    let keys = [
        (Some(fields), &["version"][..]),
        (inner.session.as_ref().filter(|_| is_idle), &["manager"]),
        (inner.session.as_ref(), &["prefix", "capture_interval", "native"]),
        (inner.state.as_ref(), &["use_scratchpad", "scratchpad_path"]),
    ];
    for (object, keys) in keys {
        let given = keys.iter().filter_map(|key| object?.key(key));
        given.for_each(|at| diagnostics.push(no_effect(at)));
    }
}

pub(super) fn no_effect(at: &crate::Location) -> crate::Diagnostic {
    let message = format!("{} has no effect here", quoted(&at.path.to_string()));
    at.warning("no-effect", message).label("changes nothing").hint("remove it")
}

//! Completion of an agent's work (S-60).

use std::collections::BTreeMap;

use saihai_model::Json;

use super::tables;
use crate::{Cursor, Diagnostics, Fields, Kind, Located, Location, Object, did_you_mean, list_of, quoted};

#[derive(Debug, Clone)]
pub(super) struct Completion {
    pub(super) condition: Condition,
    /// Names of its type, the current one first.
    pub(super) types: Vec<&'static str>,
    /// Maximum number of iterations; for `iterationBudget` its own number.
    pub(super) max_iterations: Option<Located<u32>>,
    pub(super) at: Location,
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Iterations(Located<u32>),
    /// A word in a reply.
    Keyword {
        word: String,
        whole_line: bool,
    },
    /// The issue of the run is closed.
    Issue,
    /// A file exists, or does not.
    File {
        path: String,
        absent: bool,
    },
    Checks(u32),
    Signal {
        kind: String,
        fields: BTreeMap<String, Option<Json>>,
    },
    Phase(Vec<String>),
    Flow {
        registry: Option<Located<String>>,
        entry: Option<Located<String>>,
    },
    Composite(Operator, Vec<Condition>),
    Custom(Located<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    First,
}

/// A completion type: its names, the keys of its configuration, and the reader.
struct Type {
    names: &'static [&'static str],
    table: &'static Object,
    read: fn(&Fields<'_>, &mut Diagnostics) -> Option<Condition>,
}

static TYPES: [Type; 9] = [
    Type {
        names: &["iterationBudget", "iterate", "count:iteration"],
        table: &tables::ITERATION_BUDGET,
        read: budget,
    },
    Type {
        names: &["keywordSignal", "manual", "detect:keyword"],
        table: &tables::KEYWORD_SIGNAL,
        read: keyword,
    },
    Type { names: &["externalState", "issue", "poll:state"], table: &tables::EXTERNAL_STATE, read: state },
    Type { names: &["checkBudget", "count:check"], table: &tables::CHECK_BUDGET, read: checks },
    Type {
        names: &["structuredSignal", "detect:structured"],
        table: &tables::STRUCTURED_SIGNAL,
        read: signal,
    },
    Type { names: &["phaseCompletion", "project"], table: &tables::PHASE_COMPLETION, read: phase },
    Type { names: &["stepMachine", "stepFlow", "detect:graph"], table: &tables::STEP_MACHINE, read: flow },
    Type {
        names: &["composite", "facilitator", "meta:composite"],
        table: &tables::COMPOSITE,
        read: composite,
    },
    Type { names: &["custom", "meta:custom"], table: &tables::CUSTOM, read: custom },
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().flat_map(|kind| kind.names.iter().copied())
}

impl Completion {
    /// Reads a type and its configuration.
    pub(super) fn read(
        name: &Located<String>,
        config: Option<&Cursor<'_>>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let kind = find(name, diagnostics)?;
        let (condition, max_iterations) = read(kind, name, config, diagnostics)?;
        Some(Self { condition, types: kind.names.to_vec(), max_iterations, at: name.at.clone() })
    }
}

impl Completion {
    /// Returns the iteration counts in parts of a composite.
    pub(super) fn composed_budgets(&self) -> Vec<&Located<u32>> {
        let parts = self.all().into_iter().skip(1);
        let budgets = parts.filter_map(|part| match part {
            Condition::Iterations(count) => Some(count),
            Condition::Keyword { .. }
            | Condition::Issue
            | Condition::File { .. }
            | Condition::Checks(_)
            | Condition::Signal { .. }
            | Condition::Phase(_)
            | Condition::Flow { .. }
            | Condition::Composite(..)
            | Condition::Custom(_) => None,
        });
        budgets.collect()
    }

    /// Returns every condition, including composites and their parts.
    pub(super) fn all(&self) -> Vec<&Condition> {
        let mut all = vec![&self.condition];
        let mut next = 0;
        while let Some(condition) = all.get(next) {
            if let Condition::Composite(_, parts) = condition {
                all.extend(parts);
            }
            next += 1;
        }
        all
    }
}

/// Finds a type by name. It adds a note for any name but the first.
fn find(name: &Located<String>, diagnostics: &mut Diagnostics) -> Option<&'static Type> {
    let found = TYPES.iter().find(|kind| kind.names.contains(&name.value.as_str()));
    match found {
        Some(kind) if kind.names[0] != name.value => {
            let message = format!("{} is another name of `{}`", quoted(&name.value), kind.names[0]);
            diagnostics.push(name.at.note("other-name", message));
        }
        Some(_) => {}
        None => {
            let message = format!("{} is no completion type", quoted(&name.value));
            let hint = did_you_mean(&name.value, names());
            let all = || format!("there is {}", list_of(TYPES.iter().map(|kind| kind.names[0]), "and"));
            diagnostics.push(name.error("completion-type", message).hint(hint.unwrap_or_else(all)));
        }
    }
    found
}

fn read(
    kind: &Type,
    name: &Located<String>,
    config: Option<&Cursor<'_>>,
    diagnostics: &mut Diagnostics,
) -> Option<(Condition, Option<Located<u32>>)> {
    let Some(config) = config else {
        let missing: Vec<&str> =
            kind.table.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        if !missing.is_empty() {
            let message =
                format!("{} needs {} in its configuration", quoted(&name.value), list_of(missing, "and"));
            diagnostics.push(name.error("missing-key", message).hint("add `completionConfig`"));
            return None;
        }
        return match kind.names[0] {
            "externalState" => Some((Condition::Issue, None)),
            "phaseCompletion" => Some((Condition::Phase(vec!["complete".to_owned()]), None)),
            _ => Some((Condition::Flow { registry: None, entry: None }, None)),
        };
    };
    let fields = Fields::read(config, kind.table, diagnostics)?;
    let most = kind.table.field("maxIterations").and_then(|_| fields.count("maxIterations"));
    Some(((kind.read)(&fields, diagnostics)?, most))
}

fn budget(fields: &Fields<'_>, _: &mut Diagnostics) -> Option<Condition> {
    fields.count("maxIterations").map(Condition::Iterations)
}

fn keyword(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Condition> {
    let word = fields.text("completionKeyword")?;
    if word.value.trim().is_empty() {
        diagnostics.push(word.error("bad-value", "an empty keyword would be found in every reply"));
    }
    let whole_line = fields.text("match").is_some_and(|how| how.value == "line");
    Some(Condition::Keyword { word: word.value, whole_line })
}

fn state(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Condition> {
    match fields.text("resourceType") {
        Some(resource) if resource.value == "file" => file_state(fields, diagnostics),
        Some(resource) if resource.value != "github-issue" => {
            let message = format!("the state of {} cannot be looked at", quoted(&resource.value));
            let hint = "there is `github-issue` and `file`; a program can look at others with `custom`";
            diagnostics.push(resource.error("not-supported", message).hint(hint));
            None
        }
        Some(_) => issue_state(fields, diagnostics),
        None if fields.has("resourceType") => None,
        None => issue_state(fields, diagnostics),
    }
}

fn issue_state(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Condition> {
    if let Some(state) = fields.text("targetState").filter(|state| state.value != "closed") {
        let message = format!("an issue is waited for to be `closed`, not {}", quoted(&state.value));
        diagnostics.push(state.error("bad-value", message).label("no state to wait for"));
    }
    if let Some(at) = fields.key("path") {
        let hint = "add `\"resourceType\": \"file\"`, or remove it";
        diagnostics.push(at.error("bad-value", "an issue has no `path`").hint(hint));
    }
    Some(Condition::Issue)
}

fn file_state(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Condition> {
    let absent = match fields.text("targetState") {
        Some(state) if state.value == "absent" => true,
        Some(state) if state.value != "exists" => {
            let message = format!("a file `exists` or is `absent`, not {}", quoted(&state.value));
            diagnostics.push(state.error("bad-value", message).label("no state of a file"));
            false
        }
        Some(_) | None => false,
    };
    let Some(path) = fields.text("path") else {
        if !fields.has("path") {
            let message = "the state of a file needs `path`";
            diagnostics.push(fields.location().error("missing-key", message).label("`path` is missing here"));
        }
        return None;
    };
    if path.value.starts_with('/')
        || path.value.contains('\\')
        || path.value.split('/').any(|part| part == "..")
    {
        let message = format!("{} leads out of where the agent works", quoted(&path.value));
        diagnostics.push(path.error("path-escape", message).hint("write a path below it"));
    }
    Some(Condition::File { path: path.value, absent })
}

fn checks(fields: &Fields<'_>, _: &mut Diagnostics) -> Option<Condition> {
    fields.count("maxChecks").map(|count| Condition::Checks(count.value))
}

fn signal(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Condition> {
    let kind = fields.text("signalType")?.value;
    let Some(wanted) = fields.any("requiredFields") else {
        return Some(Condition::Signal { kind, fields: BTreeMap::new() });
    };
    let forms = Kind::Either(&[Kind::List(&Kind::Text), Kind::Map(&Kind::Any)]);
    if !wanted.must_be(&forms, diagnostics) {
        return None;
    }
    let named = wanted.items().filter_map(|item| Some((item.text()?.value, None)));
    let valued = wanted.entries().map(|(key, value)| (key.value, Some(value.node().to_json())));
    Some(Condition::Signal { kind, fields: named.chain(valued).collect() })
}

fn phase(fields: &Fields<'_>, _: &mut Diagnostics) -> Option<Condition> {
    let phases = fields.texts("terminalPhases").unwrap_or_default();
    let phases: Vec<String> = phases.into_iter().map(|phase| phase.value).collect();
    Some(Condition::Phase(if phases.is_empty() { vec!["complete".to_owned()] } else { phases }))
}

fn flow(fields: &Fields<'_>, _: &mut Diagnostics) -> Option<Condition> {
    Some(Condition::Flow { registry: fields.text("registryPath"), entry: fields.text("entryStep") })
}

fn composite(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Condition> {
    let operator = match fields.text("operator")?.value.as_str() {
        "and" => Operator::And,
        "or" => Operator::Or,
        _ => Operator::First,
    };
    let mut conditions = Vec::new();
    for item in fields.list("conditions") {
        let Some(fields) = Fields::read(&item, &tables::CONDITION, diagnostics) else { continue };
        let Some(name) = fields.text("type") else { continue };
        let Some(kind) = find(&name, diagnostics) else { continue };
        let Some((condition, most)) = read(kind, &name, fields.any("config").as_ref(), diagnostics) else {
            continue;
        };
        if let (Some(most), false) = (most, matches!(condition, Condition::Iterations(_))) {
            let message = "a part of `composite` has no limit of its own";
            let hint = "write `maxIterations` beside `operator`: it holds for the whole run";
            diagnostics.push(most.error("bad-value", message).label("would stop nothing").hint(hint));
        }
        conditions.push(condition);
    }
    fields.is_right("conditions").then_some(Condition::Composite(operator, conditions))
}

fn custom(fields: &Fields<'_>, _: &mut Diagnostics) -> Option<Condition> {
    fields.text("handlerPath").map(Condition::Custom)
}

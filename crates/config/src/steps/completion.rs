//! Completion of an agent's work: its reader, and its lowering (S-60 to S-63).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_model::{
    Action, ActionSpec, CommandVerdict, Completion, Json, Keyword, LastBlock, Millis, Once, PhaseStep, Phases,
};
use serde_json::json;

use super::actions::SIGNALS;
use super::lower::AgentLowering;
use super::shape::{FileSection, checked_part};
use super::tables;
use crate::{Cursor, Diagnostics, Located, Location, Object, ValueKind, did_you_mean, list_of, quoted};

#[derive(Debug, Clone)]
pub(super) struct AgentCompletion {
    pub(super) condition: CompletionCondition,
    /// The agent's own condition, if the run's issue replaces it. Prompts still show its values.
    declared: Option<CompletionCondition>,
    /// Names of its type, the current one first.
    pub(super) types: Vec<&'static str>,
    /// Maximum number of iterations; for `iterationBudget` its own number.
    pub(super) max_iterations: Option<Located<u32>>,
    pub(super) at: Location,
}

#[derive(Debug, Clone)]
pub(super) enum CompletionCondition {
    Iterations(Located<u32>),
    Keyword(Keyword),
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
    Composite(CompositeOperator, Vec<CompletionCondition>),
    Custom(Located<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompositeOperator {
    And,
    Or,
    First,
}

/// A completion type: its names, the current one first, and the keys of its configuration.
struct CompletionType {
    names: &'static [&'static str],
    table: &'static Object,
}

static TYPES: [CompletionType; 9] = [
    completion_type(&["iterationBudget", "iterate", "count:iteration"], &tables::ITERATION_BUDGET),
    completion_type(&["keywordSignal", "manual", "detect:keyword"], &tables::KEYWORD_SIGNAL),
    completion_type(&["externalState", "issue", "poll:state"], &tables::EXTERNAL_STATE),
    completion_type(&["checkBudget", "count:check"], &tables::CHECK_BUDGET),
    completion_type(&["structuredSignal", "detect:structured"], &tables::STRUCTURED_SIGNAL),
    completion_type(&["phaseCompletion", "project"], &tables::PHASE_COMPLETION),
    completion_type(&["stepMachine", "stepFlow", "detect:graph"], &tables::STEP_MACHINE),
    completion_type(&["composite", "facilitator", "meta:composite"], &tables::COMPOSITE),
    completion_type(&["custom", "meta:custom"], &tables::CUSTOM),
];

const fn completion_type(names: &'static [&'static str], table: &'static Object) -> CompletionType {
    CompletionType { names, table }
}

fn completion_type_names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().flat_map(|kind| kind.names.iter().copied())
}

impl AgentCompletion {
    /// Reads a type and its configuration.
    pub(super) fn read(
        name: &Located<String>,
        config: Option<&Cursor<'_>>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let kind = find_type(name, diagnostics)?;
        let (condition, max_iterations) = read_condition(kind, name, config, diagnostics)?;
        let types = kind.names.to_vec();
        Some(Self { condition, declared: None, types, max_iterations, at: name.at.clone() })
    }

    /// Returns the completion of a run with an issue: it ends when the issue is closed. The iterations of the
    /// agent's own type stay the limit, and its names still select the first step if no entry names `issue`.
    pub(super) fn until_issue_is_closed(self) -> Self {
        let issue = TYPES.iter().filter(|kind| kind.names[0] == "externalState");
        let mut types: Vec<&'static str> = issue.flat_map(|kind| kind.names.iter().copied()).collect();
        types.extend(self.types);
        types.extend(self.condition.mode());
        Self { condition: CompletionCondition::Issue, declared: Some(self.condition), types, ..self }
    }

    /// Returns the iteration counts in parts of a composite.
    pub(super) fn composed_budgets(&self) -> Vec<&Located<u32>> {
        let parts = self.all().into_iter().skip(1);
        let budgets = parts.filter_map(|part| match part {
            CompletionCondition::Iterations(count) => Some(count),
            _ => None,
        });
        budgets.collect()
    }

    /// Returns the keywords of all conditions.
    pub(super) fn keywords(&self) -> Vec<Keyword> {
        let keywords = self.all().into_iter().filter_map(|condition| match condition {
            CompletionCondition::Keyword(keyword) => Some(keyword.clone()),
            _ => None,
        });
        keywords.collect()
    }

    /// Returns every condition in the agent's file, including composites and their parts.
    pub(super) fn all_declared(&self) -> Vec<&CompletionCondition> {
        self.declared.as_ref().unwrap_or(&self.condition).all()
    }

    /// Returns every condition, including composites and their parts.
    pub(super) fn all(&self) -> Vec<&CompletionCondition> {
        self.condition.all()
    }
}

/// Finds a type by name. It adds a note for any name but the first.
fn find_type(name: &Located<String>, diagnostics: &mut Diagnostics) -> Option<&'static CompletionType> {
    let found = TYPES.iter().find(|kind| kind.names.contains(&name.value.as_str()));
    match found {
        Some(kind) if kind.names[0] != name.value => {
            let message = format!("{} is another name of `{}`", quoted(&name.value), kind.names[0]);
            diagnostics.push(name.at.note("other-name", message));
        }
        Some(_) => {}
        None => {
            let message = format!("{} is not a completion type", quoted(&name.value));
            let hint = did_you_mean(&name.value, completion_type_names());
            let all = || format!("there is {}", list_of(TYPES.iter().map(|kind| kind.names[0]), "and"));
            diagnostics.push(name.error("completion-type", message).hint(hint.unwrap_or_else(all)));
        }
    }
    found
}

fn read_condition(
    kind: &CompletionType,
    name: &Located<String>,
    config: Option<&Cursor<'_>>,
    diagnostics: &mut Diagnostics,
) -> Option<(CompletionCondition, Option<Located<u32>>)> {
    let config = match config {
        Some(config) => checked_part(config, kind.table, diagnostics)?,
        None => {
            let required = kind.table.fields.iter().filter(|field| field.required);
            let missing: Vec<&str> = required.map(|field| field.name).collect();
            if !missing.is_empty() {
                let missing = list_of(missing, "and");
                let message = format!("{} needs {missing} in its configuration", quoted(&name.value));
                diagnostics.push(name.error("missing-key", message).hint("add `completionConfig`"));
                return None;
            }
            FileSection::absent(&name.at)
        }
    };
    let most = config.count("maxIterations");
    let condition = match kind.names[0] {
        "iterationBudget" => CompletionCondition::Iterations(most.clone()?),
        "keywordSignal" => keyword(&config, diagnostics)?,
        "externalState" => state(&config, diagnostics)?,
        "checkBudget" => CompletionCondition::Checks(config.count("maxChecks")?.value),
        "structuredSignal" => signal(&config, diagnostics)?,
        "phaseCompletion" => {
            let phases = config.words("terminalPhases");
            CompletionCondition::Phase(phases.unwrap_or_else(|| vec!["complete".to_owned()]))
        }
        "composite" => composite(&config, diagnostics)?,
        "custom" => CompletionCondition::Custom(config.text("handlerPath")?),
        _ => CompletionCondition::Flow {
            registry: config.text("registryPath"),
            entry: config.text("entryStep"),
        },
    };
    Some((condition, most))
}

fn keyword(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<CompletionCondition> {
    let word = fields.text("completionKeyword")?;
    if word.value.trim().is_empty() {
        diagnostics.push(word.error("bad-value", "an empty keyword would be found in every reply"));
    }
    let whole_line = fields.word("match").as_deref() == Some("line");
    Some(CompletionCondition::Keyword(Keyword { word: word.value, whole_line }))
}

fn state(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<CompletionCondition> {
    match fields.text("resourceType") {
        Some(resource) if resource.value == "file" => file_state(fields, diagnostics),
        Some(resource) if resource.value != "github-issue" => {
            let message = format!("the state of {} cannot be checked", quoted(&resource.value));
            let hint = "use `github-issue` or `file`; for other states, write a program for `custom`";
            diagnostics.push(resource.error("not-supported", message).hint(hint));
            None
        }
        Some(_) => issue_state(fields, diagnostics),
        None if fields.has("resourceType") => None,
        None => issue_state(fields, diagnostics),
    }
}

fn issue_state(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<CompletionCondition> {
    if let Some(state) = fields.text("targetState").filter(|state| state.value != "closed") {
        let message = format!("the state of an issue can only be `closed`, not {}", quoted(&state.value));
        diagnostics.push(state.error("bad-value", message).label("no state to wait for"));
    }
    if let Some(at) = fields.key("path") {
        let hint = "add `\"resourceType\": \"file\"`, or remove it";
        diagnostics.push(at.error("bad-value", "an issue has no `path`").hint(hint));
    }
    Some(CompletionCondition::Issue)
}

fn file_state(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<CompletionCondition> {
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
            diagnostics.push(fields.at().error("missing-key", message).label("`path` is missing here"));
        }
        return None;
    };
    if path.value.starts_with('/')
        || path.value.contains('\\')
        || path.value.split('/').any(|part| part == "..")
    {
        let message = format!("{} leads out of the agent's working directory", quoted(&path.value));
        diagnostics.push(path.error("path-escape", message).hint("write a path below it"));
    }
    Some(CompletionCondition::File { path: path.value, absent })
}

fn signal(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<CompletionCondition> {
    let kind = fields.word("signalType")?;
    let Some(wanted) = fields.any("requiredFields") else {
        return Some(CompletionCondition::Signal { kind, fields: BTreeMap::new() });
    };
    let forms = ValueKind::Either(&[ValueKind::List(&ValueKind::Text), ValueKind::Map(&ValueKind::Any)]);
    if !wanted.must_be(&forms, diagnostics) {
        return None;
    }
    let named = wanted.items().filter_map(|item| Some((item.text()?.value, None)));
    let valued = wanted.entries().map(|(key, value)| (key.value, Some(value.node().to_json())));
    Some(CompletionCondition::Signal { kind, fields: named.chain(valued).collect() })
}

fn composite(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<CompletionCondition> {
    let operator = match fields.word("operator")?.as_str() {
        "and" => CompositeOperator::And,
        "or" => CompositeOperator::Or,
        _ => CompositeOperator::First,
    };
    let mut conditions = Vec::new();
    for part in fields.parts("conditions") {
        let Some(name) = part.text("type") else { continue };
        let Some(kind) = find_type(&name, diagnostics) else { continue };
        let read = read_condition(kind, &name, part.any("config").as_ref(), diagnostics);
        let Some((condition, most)) = read else { continue };
        if let (Some(most), false) = (most, matches!(condition, CompletionCondition::Iterations(_))) {
            let message = "a part of `composite` has no limit of its own";
            let hint = "write `maxIterations` next to `operator`: it applies to the whole run";
            diagnostics.push(most.error("bad-value", message).label("would stop nothing").hint(hint));
        }
        conditions.push(condition);
    }
    fields.any("conditions").map(|_| CompletionCondition::Composite(operator, conditions))
}

/// Modes that are not names of completion types.
const MODES: [&str; 2] = ["check_budget", "structured_signal"];

impl CompletionCondition {
    /// Returns this condition and, of a composite, its parts.
    fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        let mut next = 0;
        while let Some(condition) = all.get(next) {
            if let CompletionCondition::Composite(_, parts) = condition {
                all.extend(parts);
            }
            next += 1;
        }
        all
    }

    /// Returns the mode, which is part of the prompt names in a catalogue.
    pub(super) fn mode(&self) -> Option<&'static str> {
        match self {
            Self::Iterations(_) => Some("iterate"),
            Self::Issue | Self::File { .. } => Some("issue"),
            Self::Keyword { .. } => Some("manual"),
            Self::Checks(_) => Some("check_budget"),
            Self::Signal { .. } => Some("structured_signal"),
            Self::Composite(..) => Some("composite"),
            Self::Phase(_) | Self::Flow { .. } | Self::Custom(_) => None,
        }
    }
}

/// Reports unknown names, because their entries would never apply.
pub(super) fn check_entry_modes(mapping: &[(Located<String>, Cursor<'_>)], diagnostics: &mut Diagnostics) {
    for (name, _) in mapping {
        let known = || completion_type_names().chain(MODES);
        if known().all(|one| one != name.value) {
            let message = format!("{} is neither a completion type nor a mode", quoted(&name.value));
            let diagnostic = name.error("unknown-key", message).label("no run starts with it");
            diagnostics.push(diagnostic.maybe_hint(did_you_mean(&name.value, known())));
        }
    }
}

/// Phases of the work, in order. `again` follows a review that did not pass.
pub(super) const PHASES: [&str; 4] = ["preparation", "processing", "review", "again"];

/// Time limit of a custom completion program (S-62).
const HANDLER_TIMEOUT: Millis = Millis(60_000);

pub(super) fn lower_completion(lowering: &AgentLowering<'_>) -> Completion {
    let own = lowering.meaning.agent.completion.as_ref();
    own.map_or(Completion::Flow, |own| lower_condition(&own.condition, lowering))
}

/// Returns the engine's messages about a run, which are always English.
pub(super) fn engine_messages() -> IndexMap<String, String> {
    let words = [
        ("stage", "step"),
        ("check-unreadable", "unreadable check reply"),
        ("completed-flow", "Flow completed at {}"),
        ("completed-rounds", "Reached {}"),
        ("completed-checks", "Reached {} checks"),
        ("completed-keyword", "Keyword found: {}"),
        ("completed-signal", "Signal received: {}"),
        ("completed-phase", "Phase reached: {}"),
        ("completed-outside", "State reached"),
    ];
    words.into_iter().map(|(key, word)| (key.to_owned(), word.to_owned())).collect()
}

fn lower_condition(condition: &CompletionCondition, lowering: &AgentLowering<'_>) -> Completion {
    let own = match condition {
        CompletionCondition::Flow { .. } => None,
        CompletionCondition::Iterations(count) => {
            Some(Completion::Rounds(lowering.options.max_iterations.unwrap_or(count.value)))
        }
        CompletionCondition::Keyword(keyword) => Some(Completion::Keyword(keyword.clone())),
        CompletionCondition::Checks(count) => Some(Completion::Checks(*count)),
        CompletionCondition::Signal { kind, fields } => {
            let (kind, fields) = (kind.clone(), fields.clone());
            Some(Completion::Signal { kind, fields, times: 1, reason: None })
        }
        CompletionCondition::Phase(terminal) => Some(Completion::Phase(lower_phases(terminal))),
        CompletionCondition::Custom(handler) => Some(custom_program(&handler.value, lowering)),
        CompletionCondition::File { path, absent } => {
            return outside_condition(Action::FileState { path: path.clone(), absent: *absent });
        }
        CompletionCondition::Issue => {
            let state = outside_condition(Action::IssueState);
            // The end of the flow does not close the issue, so it counts only if `closing` just sets labels
            // (S-61).
            return match &lowering.meaning.agent.closure {
                Some(closure) if !closure.close => Completion::First(vec![state, Completion::Flow]),
                _ => state,
            };
        }
        CompletionCondition::Composite(operator, parts) => {
            let parts = parts.iter().map(|part| lower_condition(part, lowering)).collect();
            return match operator {
                CompositeOperator::And => Completion::All(parts),
                CompositeOperator::Or => Completion::Any(parts),
                CompositeOperator::First => Completion::First(parts),
            };
        }
    };
    // The end of the flow and the signal `complete` complete the work too.
    let signal = lowering.meaning.agent.actions.signals("complete").then(|| Completion::Signal {
        kind: "complete".to_owned(),
        fields: Default::default(),
        times: 1,
        reason: Some("content".to_owned()),
    });
    let mut parts: Vec<Completion> = own.into_iter().chain(signal).collect();
    if parts.is_empty() {
        return Completion::Flow;
    }
    parts.push(Completion::Flow);
    Completion::First(parts)
}

fn outside_condition(does: Action) -> Completion {
    Completion::Outside(ActionSpec { does, inputs: Vec::new(), once: Once::ReadOnly, poll: None })
}

fn custom_program(handler: &str, lowering: &AgentLowering<'_>) -> Completion {
    let program = lowering.directory.join(handler).display().to_string();
    let input =
        json!({"agent": lowering.meaning.agent.name.value, "parameters": lowering.meaning.values.parameters});
    outside_condition(Action::Command {
        argv: vec![program],
        timeout: HANDLER_TIMEOUT,
        input,
        told: CommandVerdict::ByAnswer,
        written: None,
    })
}

/// S-63: preparation, processing, review, and again until a review passes.
fn lower_phases(terminal: &[String]) -> Phases {
    let step = |from: &str, kind: &str, to: &str| PhaseStep {
        from: from.to_owned(),
        kind: kind.to_owned(),
        fields: Default::default(),
        last: None,
        to: to.to_owned(),
    };
    let passed: BTreeMap<String, Option<Json>> = [("passed".to_owned(), Some(json!(true)))].into();
    let [plan, review, advance, _] = SIGNALS;
    Phases {
        start: "preparation".to_owned(),
        steps: vec![
            step("preparation", plan, "processing"),
            step("preparation", advance, "processing"),
            step("processing", advance, "review"),
            PhaseStep { fields: passed.clone(), ..step("review", review, "complete") },
            step("review", review, "again"),
            // A review may come before its phase, so the engine remembers the last result.
            PhaseStep {
                last: Some(LastBlock { kind: review.to_owned(), fields: passed }),
                ..step("review", advance, "complete")
            },
            step("review", advance, "again"),
            step("again", advance, "review"),
        ],
        terminal: terminal.to_vec(),
    }
}

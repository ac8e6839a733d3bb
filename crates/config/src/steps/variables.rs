//! Variables of prompts: inputs, outputs, parameters and Saihai's own (S-11, S-41, S-51, S-52).

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use saihai_model::{Json, Variable};

use super::agent::StepAgent;
use super::completion::{AgentCompletion, CompletionCondition};
use super::lower::gate_of;
use super::parameters::{ParameterValues, RunIssue, is_name, without_prefix};
use super::registry::{AgentStep, CustomVariable, StepRegistry};
use super::shape::{FileSection, checked_part};
use super::tables;
use crate::{Area, Cursor, Diagnostic, Diagnostics, Located, Location, ValueKind, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum VariableSupply {
    Text(String),
    /// A value of the run.
    Value(Variable),
    /// An output of a step.
    Output(StepOutputRef),
    /// No value in this agent, with the reason.
    Nothing(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepOutputRef {
    pub(super) step: String,
    pub(super) key: String,
    pub(super) missing: MissingInput,
}

/// A variable and its source.
#[derive(Debug, Clone)]
struct VariableSource {
    supply: VariableSupply,
    origin: VariableOrigin,
    /// Location of the source; `None` for Saihai's own variables.
    at: Option<Location>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariableOrigin {
    Saihai,
    Parameter,
    StepOutput,
    /// A value of `--set` for a variable that a step declares.
    Given,
}

/// All variables: those of every step, and those of single steps.
#[derive(Debug, Default)]
pub(super) struct AgentVariables {
    shared: IndexMap<String, VariableSource>,
    of_steps: IndexMap<String, IndexMap<String, VariableSource>>,
    /// True if title, body and labels of the issue are known at the start of the run.
    issue_texts: bool,
    /// Steps that no run reaches. A variable that only they lack stops no run.
    unreached: BTreeSet<String>,
}

impl VariableSource {
    fn own(supply: VariableSupply) -> Self {
        Self { supply, origin: VariableOrigin::Saihai, at: None }
    }

    fn output(output: StepOutputRef, at: &Location) -> Self {
        let supply = VariableSupply::Output(output);
        Self { supply, origin: VariableOrigin::StepOutput, at: Some(at.clone()) }
    }

    /// Describes the source of the variable `name`.
    fn describe(&self, name: &str) -> String {
        match (self.origin, &self.supply) {
            (VariableOrigin::Parameter, _) => format!("the parameter {}", quoted(name)),
            (VariableOrigin::Given, _) => "a value given with `--set`".to_owned(),
            (_, VariableSupply::Output(output)) => {
                format!("the output {} of step {}", quoted(&output.key), quoted(&output.step))
            }
            _ => "a variable of Saihai's own".to_owned(),
        }
    }

    fn is_same_output(&self, other: &Self) -> bool {
        match (&self.supply, &other.supply) {
            (VariableSupply::Output(one), VariableSupply::Output(other)) => {
                one.step == other.step && one.key == other.key
            }
            _ => false,
        }
    }
}

impl AgentVariables {
    /// Collects all variables. Two sources of one name are an error.
    pub(super) fn new(
        agent: &StepAgent,
        registry: &StepRegistry,
        values: &ParameterValues,
        unreached: BTreeSet<String>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let own = own_variables(agent, values.issue).into_iter();
        let own = own.map(|(name, supply)| (name.to_owned(), VariableSource::own(supply)));
        let (shared, of_steps) = (own.collect(), IndexMap::new());
        let mut all = Self { shared, of_steps, issue_texts: values.issue_texts, unreached };
        for parameter in &agent.parameters {
            let value = values.parameters.get(&parameter.key.value).map(shown_value).unwrap_or_default();
            let (supply, origin) = (VariableSupply::Text(value), VariableOrigin::Parameter);
            let at = Some(parameter.key.at.clone());
            all.add(&parameter.key.value, VariableSource { supply, origin, at }, diagnostics);
        }
        for step in &registry.steps {
            for key in step.keys() {
                let missing = if key.certain { MissingInput::Fails } else { MissingInput::Skipped };
                let output =
                    StepOutputRef { step: step.id.value.clone(), key: key.name.value.clone(), missing };
                let name = output_name(&output.step, &output.key);
                all.add(&name, VariableSource::output(output, &key.name.at), diagnostics);
            }
        }
        for step in &registry.steps {
            all.add_step(step, registry, diagnostics);
        }
        all.add_given(registry, values, diagnostics);
        all.refuse_given(agent, values, diagnostics);
        all
    }

    fn source(&self, step: &str, name: &str) -> Option<&VariableSource> {
        let own = self.of_steps.get(step).and_then(|own| own.get(name));
        own.or_else(|| self.shared.get(name))
    }

    pub(super) fn supply(&self, step: &str, name: &str) -> Option<&VariableSupply> {
        self.source(step, name).map(|source| &source.supply)
    }

    /// Returns the value of a variable with a declared source, or `None` if that source has no such name.
    pub(super) fn custom(&self, step: &str, custom: &CustomVariable) -> Option<VariableSupply> {
        let name = &custom.name.value;
        match custom.source.as_str() {
            "stdin" => Some(VariableSupply::Value(Variable::Task)),
            "github" => self.of_issue(name),
            "parameter" => {
                let source = self.shared.get(name)?;
                let is_from_person =
                    matches!(source.origin, VariableOrigin::Parameter | VariableOrigin::Given);
                is_from_person.then(|| source.supply.clone())
            }
            _ => self.supply(step, name).cloned(),
        }
    }

    /// Returns the value of a variable from the issue (S-8), or `None` if an issue has no such field.
    fn of_issue(&self, name: &str) -> Option<VariableSupply> {
        let key = match name.strip_prefix("issue_").unwrap_or(name) {
            "number" | "issue" => return self.shared.get("issue_number").map(|known| known.supply.clone()),
            "title" => "issue_title",
            "body" => "issue_body",
            "labels" => "issue_labels",
            _ => return None,
        };
        Some(match self.issue_texts {
            true => VariableSupply::Value(Variable::Subject(key.to_owned())),
            false => VariableSupply::Nothing("add `--issue N`"),
        })
    }

    /// Reports a variable without a value. It is a warning if no run reaches the step.
    pub(super) fn unknown(&self, step: &str, name: &Located<String>, message: String) -> Diagnostic {
        if self.unreached.contains(step) {
            return name
                .warning("unknown-variable", format!("{message}, and no step leads to {}", quoted(step)));
        }
        name.error("unknown-variable", message)
    }

    /// Returns the names of all variables that a step can use.
    pub(super) fn names<'a>(&'a self, step: &str) -> impl Iterator<Item = &'a str> {
        let own = self.of_steps.get(step).into_iter().flat_map(|own| own.keys());
        self.shared.keys().chain(own).map(String::as_str)
    }

    /// Describes the source of a variable.
    pub(super) fn origin(&self, step: &str, name: &str) -> Option<String> {
        self.source(step, name).map(|source| source.describe(name))
    }

    /// Returns output keys that a step must not use: their variables have other sources (S-11).
    pub(super) fn taken(&self, step: &str) -> BTreeMap<String, String> {
        let prefix = output_name(step, "");
        let is_own = |name: &str, source: &VariableSource| match &source.supply {
            VariableSupply::Output(output) => output.step == step && output_name(step, &output.key) == name,
            _ => false,
        };
        let all = self.shared.iter().chain(self.of_steps.values().flatten());
        let others = all.filter(|(name, source)| !is_own(name, source));
        let keys = others.filter_map(|(name, source)| {
            Some((name.strip_prefix(&prefix)?.to_owned(), source.describe(name)))
        });
        keys.collect()
    }

    fn add(&mut self, name: &str, source: VariableSource, diagnostics: &mut Diagnostics) {
        match self.shared.get(name) {
            Some(first) => collide(name, first, &source, diagnostics),
            None => {
                self.shared.insert(name.to_owned(), source);
            }
        }
    }

    /// Adds the variables of a single step: its id, its gate's answer, and its inputs.
    fn add_step(&mut self, step: &AgentStep, registry: &StepRegistry, diagnostics: &mut Diagnostics) {
        let id = &step.id.value;
        let own_id = VariableSource::own(VariableSupply::Text(id.clone()));
        let mut own = IndexMap::from([("step".to_owned(), own_id)]);
        if step.gate.is_some() {
            let answer = Variable::Output { stage: gate_of(id), key: "answer".to_owned(), otherwise: None };
            own.insert("answer".to_owned(), VariableSource::own(VariableSupply::Value(answer)));
        }
        for StepInput { output, alias, at } in &step.inputs {
            let source = VariableSource::output(output.clone(), at);
            // An input of the same output is not a second source, and collisions of declared outputs are
            // already reported.
            let is_other = |first: &&VariableSource| !first.is_same_output(&source);
            let from = registry.step(&output.step);
            let is_declared =
                from.is_some_and(|from| from.keys().iter().any(|key| key.name.value == output.key));
            let name = output_name(&output.step, &output.key);
            let shared = self.shared.get(&name).filter(is_other).filter(|_| !is_declared);
            match own.get(&name).filter(is_other).or(shared) {
                Some(first) => collide(&name, first, &source, diagnostics),
                None => {
                    own.insert(name, source.clone());
                }
            }
            let Some(alias) = alias else { continue };
            match own.get(alias).or_else(|| self.shared.get(alias)).filter(is_other) {
                Some(first) => collide(alias, first, &source, diagnostics),
                None => {
                    own.insert(alias.clone(), source);
                }
            }
        }
        self.of_steps.insert(id.clone(), own);
    }

    /// Refuses a `--set` value for a variable with another source, because it would have no effect.
    fn refuse_given(&self, agent: &StepAgent, values: &ParameterValues, diagnostics: &mut Diagnostics) {
        let is_parameter = |name: &str| agent.parameters.iter().any(|parameter| parameter.key.value == name);
        for name in values.given().filter(|name| !is_parameter(name)) {
            let source = self.shared.get(name).filter(|source| source.origin != VariableOrigin::Given);
            let Some(source) = source else { continue };
            let message = format!("{} cannot be given: it is {}", quoted(name), source.describe(name));
            diagnostics.push(Diagnostic::error(Area::Steps.code("unknown-parameter"), message));
        }
    }

    /// Adds variables that a step declares and only the user can supply.
    fn add_given(
        &mut self,
        registry: &StepRegistry,
        values: &ParameterValues,
        diagnostics: &mut Diagnostics,
    ) {
        // A step that runs reports a missing variable before one that does not.
        let (idle, running): (Vec<_>, Vec<_>) =
            registry.steps.iter().partition(|step| self.unreached.contains(&step.id.value));
        for step in running.into_iter().chain(idle) {
            for name in &step.variables {
                if self.supply(&step.id.value, &name.value).is_some() {
                    continue;
                }
                let value = values.of_variable(&name.value).unwrap_or_else(|| {
                    let message = format!("the variable {} has no value", quoted(&name.value));
                    let hint = diagnostics.suggest(&name.value, self.names(&step.id.value));
                    let set = format!("give it with `--set {}=VALUE`", name.value);
                    let diagnostic = self.unknown(&step.id.value, name, message).label("nothing supplies it");
                    diagnostics.push(diagnostic.hint(hint.unwrap_or(set)));
                    // An empty value prevents further errors at each use.
                    String::new()
                });
                let (supply, origin) = (VariableSupply::Text(value), VariableOrigin::Given);
                let source = VariableSource { supply, origin, at: Some(name.at.clone()) };
                self.shared.insert(name.value.clone(), source);
            }
        }
    }
}

pub(super) fn output_name(step: &str, key: &str) -> String {
    format!("{}_{key}", step.replace('.', "_"))
}

/// Formats a default value for a missing output.
pub(super) fn shown_value(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        _ => value.to_string(),
    }
}

fn collide(name: &str, first: &VariableSource, second: &VariableSource, diagnostics: &mut Diagnostics) {
    let Some(at) = second.at.as_ref().or(first.at.as_ref()) else { return };
    let sources = format!("{} and {}", first.describe(name), second.describe(name));
    let message = format!("{} would be {sources}", quoted(&format!("uv-{name}")));
    let diagnostic = at.error("variable-collision", message).label("a second source of one variable");
    let diagnostic = diagnostic.hint("rename one of them");
    diagnostics.push(match &first.at {
        Some(first) if second.at.is_some() => diagnostic.also(first, "the first source"),
        Some(_) | None => diagnostic,
    });
}

/// Returns Saihai's own variables. Names without a value in this agent are still reserved.
fn own_variables(agent: &StepAgent, issue: RunIssue) -> Vec<(&'static str, VariableSupply)> {
    use VariableSupply::{Nothing, Text, Value};
    let (mut checks, mut keyword, mut has_phases) = (None, None, false);
    for condition in agent.completion.iter().flat_map(AgentCompletion::all_declared) {
        match condition {
            CompletionCondition::Checks(count) => checks = Some(count.to_string()),
            CompletionCondition::Keyword(own) => keyword = Some(own.word.clone()),
            CompletionCondition::Phase(_) => has_phases = true,
            _ => {}
        }
    }
    let text = |value: Option<String>, why| value.map_or(Nothing(why), Text);
    let phase = match has_phases {
        true => Value(Variable::CurrentPhase),
        false => Nothing("only `phaseCompletion` has phases"),
    };
    let issue_number = match issue {
        RunIssue::Issue(number) => Text(number.get().to_string()),
        RunIssue::Open => Text("(the issue_number)".to_owned()),
        RunIssue::Nothing => Nothing("the run has no issue: add `--issue N`"),
    };
    vec![
        ("task", Value(Variable::Task)),
        ("agent_name", Text(agent.name.value.clone())),
        ("iteration", Value(Variable::Iteration)),
        ("completed_iterations", Value(Variable::CompletedIterations)),
        ("max_iterations", Value(Variable::MaxIterations)),
        ("remaining", Value(Variable::RemainingIterations)),
        ("previous_response", Value(Variable::Previous)),
        ("previous_summary", Value(Variable::Previous)),
        ("check_message", Value(Variable::CheckMessage)),
        ("check_count", Value(Variable::Checks)),
        ("max_checks", text(checks, "only `checkBudget` has a number of checks")),
        ("completion_keyword", text(keyword, "only `keywordSignal` has a keyword")),
        ("phase", phase),
        ("issue_number", issue_number),
        // Each step has its own values of these.
        ("step", Nothing("only a step with a `gate` has an answer")),
        ("answer", Nothing("only a step with a `gate` has an answer")),
    ]
}

/// Behavior for a missing input.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MissingInput {
    /// The run fails before the turn.
    Fails,
    Default(Json),
    Skipped,
}

/// An output of another step that a step uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepInput {
    pub(super) output: StepOutputRef,
    pub(super) alias: Option<String>,
    pub(super) at: Location,
}

impl StepInput {
    /// Reads all inputs, in any of the three forms.
    pub(super) fn read_all(value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Vec<Self> {
        if !value.must_be(&ValueKind::Map(&ValueKind::Any), diagnostics) {
            return Vec::new();
        }
        if value.get("from_step").is_some() || value.get("from_steps").is_some() {
            let wrapper = checked_part(value, &tables::INPUTS_OF_STEPS, diagnostics);
            return wrapper.map(|wrapper| read_wrapper(&wrapper)).unwrap_or_default();
        }
        let entries = value.entries();
        entries.filter_map(|(name, entry)| Self::read(name, &entry, diagnostics)).collect()
    }

    fn read(name: Located<String>, entry: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        match entry.node().as_bool() {
            Some(true) => return Self::new(name, None, MissingInput::Fails, diagnostics),
            Some(false) => {
                let message = format!("{} must be `true` or a mapping", quoted(&name.value));
                diagnostics.push(entry.error("bad-value", message).hint("remove it if it is not used"));
                return None;
            }
            None => {}
        }
        let input = checked_part(entry, &tables::STEP_INPUT, diagnostics)?;
        let missing = read_missing(&input, diagnostics);
        if !input.has("from") {
            return Self::new(name, None, missing, diagnostics);
        }
        let (from, alias) = (input.text("from")?, without_prefix(name.value.clone()));
        if !is_name(&alias) {
            let message = format!("{} cannot be the name of a variable", quoted(&name.value));
            diagnostics.push(name.error("bad-value", message).hint("use letters, digits, `_` and `-`"));
        }
        Self::new(from, Some(alias), missing, diagnostics)
    }

    /// Creates an input from `STEP.KEY`, which is split at the last dot.
    fn new(
        from: Located<String>,
        alias: Option<String>,
        missing: MissingInput,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let Some((step, key)) = split_output_name(&from.value) else {
            let message = format!("{} names no output of a step", quoted(&from.value));
            let diagnostic = from.error("bad-value", message).label("no dot in it");
            diagnostics.push(diagnostic.hint("write `STEP.KEY`, such as `measure.height`"));
            return None;
        };
        let output = StepOutputRef { step: step.to_owned(), key: key.to_owned(), missing };
        Some(Self { output, alias, at: from.at })
    }
}

fn split_output_name(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(step, key)| !step.is_empty() && !key.is_empty())
}

/// Reads `{from_step, variables}` or `{from_steps, variables}`: each variable of each step.
fn read_wrapper(wrapper: &FileSection<'_>) -> Vec<StepInput> {
    let steps = wrapper.words("from_steps").unwrap_or_default();
    let steps: Vec<String> = wrapper.word("from_step").into_iter().chain(steps).collect();
    let mut inputs = Vec::new();
    for Located { value, at } in wrapper.texts("variables") {
        let input = |step: &str, key: &str| {
            let (step, key, missing) = (step.to_owned(), key.to_owned(), MissingInput::Fails);
            StepInput { output: StepOutputRef { step, key, missing }, alias: None, at: at.clone() }
        };
        let bare = without_prefix(value);
        match bare.rsplit_once('.') {
            Some((step, key)) => inputs.push(input(step, key)),
            None => inputs.extend(steps.iter().map(|step| input(step, &bare))),
        }
    }
    inputs
}

fn read_missing(input: &FileSection<'_>, diagnostics: &mut Diagnostics) -> MissingInput {
    let default = input.any("default").map(|default| default.node().to_json());
    let required = input.flag("required").is_none_or(|flag| flag.value);
    match (input.word("onMissing").as_deref(), default) {
        (Some("error"), _) => MissingInput::Fails,
        (Some("skip"), _) => MissingInput::Skipped,
        (Some("default"), None) => {
            let message = "`\"onMissing\": \"default\"` needs a `default`";
            diagnostics.push(input.at().error("missing-key", message).label("`default` is missing here"));
            MissingInput::Skipped
        }
        (_, Some(default)) => MissingInput::Default(default),
        (_, None) if required => MissingInput::Fails,
        (_, None) => MissingInput::Skipped,
    }
}

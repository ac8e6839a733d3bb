//! Sources of variables (S-11, S-51, S-52).

use std::collections::{BTreeMap, HashSet};

use indexmap::IndexMap;
use saihai_model::{Json, Variable};

use super::about::About;
use super::agent::Agent;
use super::completion::{Completion, Condition};
use super::exit::gate_of;
use super::input::{Input, Missing};
use super::registry::Registry;
use super::step::{CustomVariable, Step};
use super::values::Values;
use crate::{Area, Diagnostic, Diagnostics, Location, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Supply {
    Text(String),
    /// A value of the run.
    Value(Variable),
    /// An output of a step.
    Output(Taken),
    /// No value in this agent, with the reason.
    Nothing(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Taken {
    pub(super) step: String,
    pub(super) key: String,
    pub(super) missing: Missing,
}

/// A variable and its source.
#[derive(Debug, Clone)]
struct Known {
    supply: Supply,
    from: String,
    /// Location of the source; `None` for Saihai's own variables.
    at: Option<Location>,
}

/// All variables: those of every step, and those of single steps.
#[derive(Debug, Default)]
pub(super) struct Variables {
    shared: IndexMap<String, Known>,
    of_steps: IndexMap<String, IndexMap<String, Known>>,
    /// Declared outputs of steps. Collisions among them are already reported.
    declared: HashSet<(String, String)>,
    /// True if title, body and labels of the issue are known at the start of the run.
    issue_texts: bool,
    /// Variables from the user: parameters, and values of `--set`.
    from_person: HashSet<String>,
}

/// Source text for variables that only the user can supply.
const GIVEN: &str = "a value given with `--set`";

/// Variables with a separate value in each step.
const OF_EACH_STEP: [&str; 2] = ["step", "answer"];

impl Variables {
    /// Collects all variables. Two sources of one name are an error.
    pub(super) fn new(
        agent: &Agent,
        registry: &Registry,
        values: &Values,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut all = Self { issue_texts: values.issue_texts, ..Self::default() };
        for (name, supply) in engine(agent, values.issue) {
            let known = Known { supply, from: "a variable of Saihai's own".to_owned(), at: None };
            all.shared.insert(name.to_owned(), known);
        }
        for parameter in &agent.parameters {
            let name = &parameter.key.value;
            let supply = Supply::Text(values.parameters.get(name).map(shown).unwrap_or_default());
            let from = format!("the parameter {}", quoted(name));
            all.from_person.insert(name.clone());
            all.add(name, Known { supply, from, at: Some(parameter.key.at.clone()) }, diagnostics);
        }
        for step in &registry.steps {
            for key in step.keys() {
                let missing = if key.certain { Missing::Fails } else { Missing::Skipped };
                let taken = Taken { step: step.id.value.clone(), key: key.name.value.clone(), missing };
                let from = format!("the output {} of step {}", quoted(&taken.key), quoted(&taken.step));
                let name = output_name(&taken.step, &taken.key);
                let at = Some(key.name.at.clone());
                all.declared.insert((taken.step.clone(), taken.key.clone()));
                all.add(&name, Known { supply: Supply::Output(taken), from, at }, diagnostics);
            }
        }
        for step in &registry.steps {
            all.add_step(step, diagnostics);
        }
        all.add_given(registry, values, diagnostics);
        all.refuse_given(agent, values, diagnostics);
        all
    }

    pub(super) fn supply(&self, step: &str, name: &str) -> Option<&Supply> {
        let own = self.of_steps.get(step).and_then(|own| own.get(name));
        own.or_else(|| self.shared.get(name)).map(|known| &known.supply)
    }

    /// Returns the value of a variable with a declared source, or `None` if that source has no such name.
    pub(super) fn custom(&self, step: &str, custom: &CustomVariable) -> Option<Supply> {
        let name = &custom.name.value;
        match custom.source.as_str() {
            "stdin" => Some(Supply::Value(Variable::Task)),
            "github" => self.of_issue(name),
            "parameter" if !self.from_person.contains(name) => None,
            _ => self.supply(step, name).cloned(),
        }
    }

    /// Returns the value of a variable from the issue (S-8), or `None` if an issue has no such field.
    fn of_issue(&self, name: &str) -> Option<Supply> {
        let key = match name.strip_prefix("issue_").unwrap_or(name) {
            "number" | "issue" => return self.shared.get("issue_number").map(|known| known.supply.clone()),
            "title" => "issue_title",
            "body" => "issue_body",
            "labels" => "issue_labels",
            _ => return None,
        };
        Some(match self.issue_texts {
            true => Supply::Value(Variable::Subject(key.to_owned())),
            false => Supply::Nothing("add `--issue N`"),
        })
    }

    /// Returns the names of all variables that a step can use.
    pub(super) fn names<'a>(&'a self, step: &str) -> impl Iterator<Item = &'a str> {
        let own = self.of_steps.get(step).into_iter().flat_map(|own| own.keys());
        self.shared.keys().chain(own).map(String::as_str)
    }

    /// Describes the source of a variable.
    pub(super) fn origin(&self, step: &str, name: &str) -> Option<&str> {
        let own = self.of_steps.get(step).and_then(|own| own.get(name));
        own.or_else(|| self.shared.get(name)).map(|known| known.from.as_str())
    }

    /// Returns the output keys that a step must not use, because their variable names have other sources
    /// (S-11).
    pub(super) fn taken(&self, step: &str) -> BTreeMap<String, String> {
        let prefix = output_name(step, "");
        let is_own = |name: &str, known: &Known| match &known.supply {
            Supply::Output(taken) => taken.step == step && output_name(step, &taken.key) == name,
            Supply::Text(_) | Supply::Value(_) | Supply::Nothing(_) => false,
        };
        let all = self.shared.iter().chain(self.of_steps.values().flatten());
        let others = all.filter(|(name, known)| !is_own(name, known));
        let keys = others
            .filter_map(|(name, known)| Some((name.strip_prefix(&prefix)?.to_owned(), known.from.clone())));
        keys.collect()
    }

    fn add(&mut self, name: &str, known: Known, diagnostics: &mut Diagnostics) {
        match self.shared.get(name) {
            Some(first) => collide(name, first, &known, diagnostics),
            None => {
                self.shared.insert(name.to_owned(), known);
            }
        }
    }

    /// Adds the variables of a single step: its id, its gate's answer, and its inputs.
    fn add_step(&mut self, step: &Step, diagnostics: &mut Diagnostics) {
        let id = &step.id.value;
        let own_word = |supply| Known { supply, from: "a variable of Saihai's own".to_owned(), at: None };
        let mut own = IndexMap::from([("step".to_owned(), own_word(Supply::Text(id.clone())))]);
        if step.gate.is_some() {
            let answer = Variable::Output { stage: gate_of(id), key: "answer".to_owned(), otherwise: None };
            own.insert("answer".to_owned(), own_word(Supply::Value(answer)));
        }
        for input in &step.inputs {
            let known = self.input(input);
            let name = output_name(&input.step, &input.key);
            // An input of the same output is not a second source.
            let same = |first: &Known| match (&first.supply, &known.supply) {
                (Supply::Output(first), Supply::Output(this)) => {
                    first.step == this.step && first.key == this.key
                }
                _ => false,
            };
            let declared = |first: &&Known| {
                !same(first) && !self.declared.contains(&(input.step.clone(), input.key.clone()))
            };
            let other = own.get(&name).filter(|first| !same(first));
            match other.or_else(|| self.shared.get(&name).filter(declared)) {
                Some(first) => collide(&name, first, &known, diagnostics),
                None => {
                    own.insert(name, known.clone());
                }
            }
            let Some(alias) = &input.alias else { continue };
            match own.get(alias).or_else(|| self.shared.get(alias)).filter(|first| !same(first)) {
                Some(first) => collide(alias, first, &known, diagnostics),
                None => {
                    own.insert(alias.clone(), known);
                }
            }
        }
        self.of_steps.insert(id.clone(), own);
    }

    fn input(&self, input: &Input) -> Known {
        let Input { step, key, missing, at, .. } = input;
        let taken = Taken { step: step.clone(), key: key.clone(), missing: missing.clone() };
        let from = format!("the output {} of step {}", quoted(key), quoted(step));
        Known { supply: Supply::Output(taken), from, at: Some(at.clone()) }
    }

    /// Refuses a `--set` value for a variable with another source, because it would have no effect.
    fn refuse_given(&self, agent: &Agent, values: &Values, diagnostics: &mut Diagnostics) {
        let is_parameter = |name: &str| agent.parameters.iter().any(|parameter| parameter.key.value == name);
        for name in values.given().filter(|name| !is_parameter(name)) {
            let Some(known) = self.shared.get(name).filter(|known| known.from != GIVEN) else { continue };
            let message = format!("{} cannot be given: it is {}", quoted(name), known.from);
            diagnostics.push(Diagnostic::error(Area::Steps.code("unknown-parameter"), message));
        }
    }

    /// Adds variables that a step declares and only the user can supply.
    fn add_given(&mut self, registry: &Registry, values: &Values, diagnostics: &mut Diagnostics) {
        for step in &registry.steps {
            for name in &step.variables {
                if self.supply(&step.id.value, &name.value).is_some() {
                    continue;
                }
                let value = values.of_variable(&name.value).unwrap_or_else(|| {
                    let message = format!("the variable {} has no value", quoted(&name.value));
                    let hint = diagnostics.suggest(&name.value, self.names(&step.id.value));
                    let set = format!("give it with `--set {}=VALUE`", name.value);
                    let diagnostic = name.error("unknown-variable", message).label("nothing supplies it");
                    diagnostics.push(diagnostic.hint(hint.unwrap_or(set)));
                    // An empty value prevents further errors at each use.
                    String::new()
                });
                let from = GIVEN.to_owned();
                self.from_person.insert(name.value.clone());
                let known = Known { supply: Supply::Text(value), from, at: Some(name.at.clone()) };
                self.shared.insert(name.value.clone(), known);
            }
        }
    }
}

pub(super) fn output_name(step: &str, key: &str) -> String {
    format!("{}_{key}", step.replace('.', "_"))
}

/// Formats a default value for a missing output.
pub(super) fn shown(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => value.to_string(),
    }
}

fn collide(name: &str, first: &Known, second: &Known, diagnostics: &mut Diagnostics) {
    let Some(at) = second.at.as_ref().or(first.at.as_ref()) else { return };
    let message = format!("{} would be {} and {}", quoted(&format!("uv-{name}")), first.from, second.from);
    let diagnostic = at.error("variable-collision", message).label("a second source of one variable");
    let diagnostic = diagnostic.hint("rename one of them");
    diagnostics.push(match &first.at {
        Some(first) if second.at.is_some() => diagnostic.also(first, "the first source"),
        Some(_) | None => diagnostic,
    });
}

/// Returns Saihai's own variables. Names without a value in this agent are still reserved.
fn engine(agent: &Agent, issue: About) -> Vec<(&'static str, Supply)> {
    let found = Own::of(agent.completion.as_ref());
    let text = |value: Option<String>, why| value.map_or(Supply::Nothing(why), Supply::Text);
    let phase = match found.phases {
        true => Supply::Value(Variable::CurrentPhase),
        false => Supply::Nothing("only `phaseCompletion` has phases"),
    };
    let issue_number = match issue {
        About::Issue(number) => Supply::Text(number.get().to_string()),
        About::Open => Supply::Text("(the issue_number)".to_owned()),
        About::Nothing => Supply::Nothing("the run is about no issue: add `--issue N`"),
    };
    let mut all = vec![
        ("task", Supply::Value(Variable::Task)),
        ("agent_name", Supply::Text(agent.name.value.clone())),
        ("iteration", Supply::Value(Variable::Iteration)),
        ("completed_iterations", Supply::Value(Variable::CompletedIterations)),
        ("max_iterations", Supply::Value(Variable::MaxIterations)),
        ("remaining", Supply::Value(Variable::RemainingIterations)),
        ("previous_response", Supply::Value(Variable::Previous)),
        ("previous_summary", Supply::Value(Variable::Previous)),
        ("check_message", Supply::Value(Variable::CheckMessage)),
        ("check_count", Supply::Value(Variable::Checks)),
        ("max_checks", text(found.checks, "only `checkBudget` has a number of checks")),
        ("completion_keyword", text(found.keyword, "only `keywordSignal` has a keyword")),
        ("phase", phase),
        ("issue_number", issue_number),
    ];
    all.extend(OF_EACH_STEP.map(|name| (name, Supply::Nothing("only a step with a `gate` has an answer"))));
    all
}

/// Variables that depend on the completion.
#[derive(Debug, Default)]
struct Own {
    checks: Option<String>,
    keyword: Option<String>,
    phases: bool,
}

impl Own {
    fn of(completion: Option<&Completion>) -> Self {
        let mut own = Self::default();
        for condition in completion.into_iter().flat_map(Completion::all) {
            match condition {
                Condition::Checks(count) => own.checks = Some(count.to_string()),
                Condition::Keyword { word, .. } => own.keyword = Some(word.clone()),
                Condition::Phase(_) => own.phases = true,
                Condition::Iterations(_)
                | Condition::Composite(..)
                | Condition::Issue
                | Condition::File { .. }
                | Condition::Signal { .. }
                | Condition::Flow { .. }
                | Condition::Custom(_) => {}
            }
        }
        own
    }
}

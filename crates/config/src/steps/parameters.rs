//! Parameters of an agent, the values a person gives, and the issue of the run (S-12, S-52, S-60).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use regex::Regex;
use saihai_model::{IssueNumber, Json};

use super::completion::{AgentCompletion, CompletionCondition};
use super::registry::StepRegistry;
use super::shape::{FileSection, checked};
use super::tables;
use super::variables::shown_value;
use crate::{Area, DefinitionFlag, Diagnostic, Diagnostics, Document, Located, Options, list_of, quoted};

#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) key: Located<String>,
    /// The flag with its dashes.
    pub(super) flag: Located<String>,
    pub(super) kind: ParameterKind,
    pub(super) required: bool,
    pub(super) default: Option<Json>,
    constraints: Vec<ParameterConstraint>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    String,
    Number,
    /// True or false; the bare flag means true.
    Boolean,
    Array,
}

/// Constraint on a value, in addition to its type.
#[derive(Debug, Clone)]
enum ParameterConstraint {
    Min(f64),
    Max(f64),
    Pattern(Box<Regex>),
    OneOf(Vec<Json>),
}

impl Parameter {
    pub(super) fn read(
        key: Located<String>,
        fields: &FileSection<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let key = key.map(without_prefix);
        if !is_name(&key.value) {
            let message = format!("{} cannot be the name of a parameter", quoted(&key.value));
            diagnostics.push(key.error("bad-value", message).hint("use letters, digits, `_` and `-`"));
        }
        if !fields.has("description") {
            let message = format!("the parameter {} has no description", quoted(&key.value));
            diagnostics.push(key.warning("no-description", message).hint("describe it"));
        }
        let kind = match fields.word("type")?.as_str() {
            "number" => ParameterKind::Number,
            "boolean" => ParameterKind::Boolean,
            "array" => ParameterKind::Array,
            _ => ParameterKind::String,
        };
        let required = fields.is_on("required");
        let constraints = read_constraints(&fields.part("validation"), kind, diagnostics);
        let mut parameter =
            Self { flag: read_flag(fields, diagnostics)?, key, kind, required, default: None, constraints };
        parameter.default = parameter.read_default(fields, diagnostics);
        Some(parameter)
    }

    /// Converts the values, or returns why they are invalid. `given` has one item per use of the flag.
    pub(super) fn value(&self, given: &[&str]) -> Result<Json, String> {
        let last = given.last().copied().unwrap_or_default();
        let value = match self.kind {
            ParameterKind::String => Json::from(last),
            ParameterKind::Boolean => match last {
                "true" => Json::from(true),
                "false" => Json::from(false),
                _ => return Err(format!("{} is neither `true` nor `false`", quoted(last))),
            },
            ParameterKind::Number => {
                let number = last
                    .parse::<serde_json::Number>()
                    .ok()
                    .filter(|number| number.as_f64().is_some_and(f64::is_finite));
                Json::from(number.ok_or_else(|| format!("{} is not a finite number", quoted(last)))?)
            }
            ParameterKind::Array => given.iter().flat_map(|items| items.split(',')).map(Json::from).collect(),
        };
        self.check(&value).map(|()| value)
    }

    /// Formats a value for a prompt.
    pub(super) fn shown(value: &Json) -> String {
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    fn read_default(&self, fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<Json> {
        let written = fields.any("default")?;
        let value = written.node().to_json();
        let fits = match self.kind {
            ParameterKind::String => value.is_string(),
            ParameterKind::Number => value.is_number(),
            ParameterKind::Boolean => value.is_boolean(),
            ParameterKind::Array => value.is_array(),
        };
        if !fits {
            let message = format!("the default of {} is not of its type", quoted(&self.key.value));
            diagnostics.push(written.error("bad-type", message).label(written.node().value.kind()));
            return None;
        }
        if let Err(why) = self.check(&value) {
            let message = format!("the default of {} is not allowed: {why}", quoted(&self.key.value));
            diagnostics.push(written.error("bad-value", message).label("fails its own `validation`"));
        }
        if self.required {
            let message = format!("{} is required, so its default is never used", quoted(&self.key.value));
            diagnostics.push(written.warning("shadowed", message).hint("remove `required` or `default`"));
        }
        Some(value)
    }

    fn check(&self, value: &Json) -> Result<(), String> {
        self.constraints.iter().try_for_each(|constraint| match value {
            Json::Array(items) => items.iter().try_for_each(|item| constraint.check(item)),
            _ => constraint.check(value),
        })
    }
}

impl ParameterConstraint {
    fn check(&self, value: &Json) -> Result<(), String> {
        let shown = Parameter::shown(value);
        match self {
            Self::Min(min) if value.as_f64().is_some_and(|number| number < *min) => {
                Err(format!("{} is less than {min}", quoted(&shown)))
            }
            Self::Max(max) if value.as_f64().is_some_and(|number| number > *max) => {
                Err(format!("{} is more than {max}", quoted(&shown)))
            }
            Self::Pattern(pattern) if !pattern.is_match(&shown) => {
                Err(format!("{} does not match {}", quoted(&shown), quoted(pattern.as_str())))
            }
            Self::OneOf(values) if !values.contains(value) => {
                let known: Vec<String> =
                    values.iter().map(|value| quoted(&Parameter::shown(value))).collect();
                Err(format!("{} is not one of {}", quoted(&shown), known.join(", ")))
            }
            Self::Min(_) | Self::Max(_) | Self::Pattern(_) | Self::OneOf(_) => Ok(()),
        }
    }
}

fn read_flag(fields: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<Located<String>> {
    let flag = fields.text("cli")?;
    let name = flag.value.strip_prefix("--").unwrap_or_default();
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        let message = format!("{} is not a flag", quoted(&flag.value));
        diagnostics
            .push(flag.error("bad-value", message).hint("write `--name`, in small letters, digits and `-`"));
    }
    Some(flag)
}

fn read_constraints(
    fields: &FileSection<'_>,
    kind: ParameterKind,
    diagnostics: &mut Diagnostics,
) -> Vec<ParameterConstraint> {
    let mut rules = Vec::new();
    let bounds = [
        ("min", ParameterConstraint::Min as fn(f64) -> ParameterConstraint),
        ("max", ParameterConstraint::Max),
    ];
    for (name, bound) in bounds {
        let Some(number) = fields.number(name) else { continue };
        if kind == ParameterKind::Number {
            rules.push(bound(number.value));
        } else {
            let message = format!("`{name}` is for numbers only");
            diagnostics.push(number.error("bad-value", message).label("this parameter is not a number"));
        }
    }
    if let Some(pattern) = fields.text("pattern") {
        match Regex::new(&pattern.value) {
            Ok(regex) => rules.push(ParameterConstraint::Pattern(Box::new(regex))),
            Err(error) => {
                let message = format!("{} is not a regular expression", quoted(&pattern.value));
                let last = error.to_string().lines().last().unwrap_or_default().to_owned();
                diagnostics.push(pattern.error("bad-value", message).hint(last));
            }
        }
    }
    let only: Vec<Json> = fields.list("enum").iter().map(|item| item.node().to_json()).collect();
    rules.extend((!only.is_empty()).then_some(ParameterConstraint::OneOf(only)));
    rules
}

/// Removes an optional `uv-` prefix (S-47).
pub(super) fn without_prefix(name: String) -> String {
    name.strip_prefix("uv-").map(str::to_owned).unwrap_or(name)
}

/// Returns true if a name is valid in `{uv-NAME}` (S-47).
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Returns the flags of an agent's parameters, and skips unreadable ones.
pub(crate) fn parameter_flags(document: &Document) -> Vec<DefinitionFlag> {
    let agent = checked(document, &tables::AGENT, &mut Diagnostics::new());
    let parameters = agent.map(|agent| agent.named_parts("parameters")).unwrap_or_default().into_iter();
    let flags = parameters.filter_map(|(key, parameter)| {
        let default =
            || Some(format!("(default: {})", Parameter::shown(&parameter.any("default")?.node().to_json())));
        let needed = if parameter.is_on("required") { Some("(required)".to_owned()) } else { default() };
        let about: Vec<String> = parameter.word("description").into_iter().chain(needed).collect();
        Some(DefinitionFlag {
            key: without_prefix(key.value),
            flag: parameter.word("cli").filter(|flag| flag.starts_with("--"))?,
            alone: parameter.word("type").as_deref() == Some("boolean"),
            about: about.join(" "),
        })
    });
    flags.collect()
}

/// Returns the value of one of Saihai's own flags. A parameter with the same flag uses it too.
fn value_of_flag(flag: &str, options: &Options) -> Option<String> {
    match flag {
        "--issue" => options.issue.map(|number| number.get().to_string()),
        "--model" => options.model.clone(),
        "--provider" => options.provider.as_ref().map(ToString::to_string),
        _ => None,
    }
}

/// Values of parameters, and of variables that only the user can supply.
#[derive(Debug, Default)]
pub(super) struct ParameterValues {
    pub(super) parameters: IndexMap<String, Json>,
    pub(super) issue: RunIssue,
    /// True if title, body and labels of the issue are known at the start of the run.
    pub(super) issue_texts: bool,
    given: BTreeMap<String, Vec<String>>,
    /// True if required values must be present.
    starts: bool,
}

impl ParameterValues {
    /// Reads the values. It refuses names that neither a parameter nor a step declares.
    pub(super) fn read(
        parameters: &[Parameter],
        registry: &StepRegistry,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &options.values {
            let name = name.strip_prefix("uv-").unwrap_or(name);
            given.entry(name.to_owned()).or_default().push(value.clone());
        }
        for parameter in parameters {
            if let Some(value) = value_of_flag(&parameter.flag.value, options) {
                given.entry(parameter.key.value.clone()).or_insert_with(|| vec![value]);
            }
        }
        let mut values = Self { given, starts: options.starts, ..Self::default() };
        for parameter in parameters {
            if let Some(value) = values.of_parameter(parameter, diagnostics) {
                values.parameters.insert(parameter.key.value.clone(), value);
            }
        }
        values.issue_texts = options.issue.is_some() || !options.starts;
        let named = values.parameters.get(ISSUE_PARAMETER).map(shown_value);
        values.issue = RunIssue::read(options, named.as_deref(), diagnostics);
        let declared = registry.steps.iter().flat_map(|step| &step.variables).map(|name| name.value.as_str());
        let known: Vec<&str> =
            parameters.iter().map(|parameter| parameter.key.value.as_str()).chain(declared).collect();
        for name in values.given.keys().filter(|name| !known.contains(&name.as_str())) {
            let message = format!("this agent has no parameter {}", quoted(name));
            let all = || match known.as_slice() {
                [] => "it has no parameters".to_owned(),
                known => format!("it has {}", list_of(known.iter().copied(), "and")),
            };
            let hint = diagnostics.suggest(name, known.iter().copied()).unwrap_or_else(all);
            diagnostics.push(Diagnostic::error(Area::Steps.code("unknown-parameter"), message).hint(hint));
        }
        values
    }

    /// Returns the names of all given values.
    pub(super) fn given(&self) -> impl Iterator<Item = &str> {
        self.given.keys().map(String::as_str)
    }

    /// Returns the value of a variable without another source. If no run starts, it is a placeholder.
    pub(super) fn of_variable(&self, name: &str) -> Option<String> {
        let given = self.given.get(name).and_then(|values| values.last()).cloned();
        given.or_else(|| (!self.starts).then(|| placeholder(name)))
    }

    fn of_parameter(&self, parameter: &Parameter, diagnostics: &mut Diagnostics) -> Option<Json> {
        let name = &parameter.key.value;
        if let Some(given) = self.given.get(name) {
            let given: Vec<&str> = given.iter().map(String::as_str).collect();
            return match parameter.value(&given) {
                Ok(value) => Some(value),
                Err(why) => {
                    let message = format!("the value of `{}` does not fit: {why}", parameter.flag.value);
                    let diagnostic = Diagnostic::error(Area::Steps.code("bad-parameter"), message);
                    diagnostics.push(diagnostic.at(&parameter.key.at));
                    None
                }
            };
        }
        match (&parameter.default, parameter.required) {
            (Some(default), false) => Some(default.clone()),
            (None, false) => Some(Json::Null),
            (_, true) if self.starts => {
                let message = format!("the parameter {} is not given", quoted(name));
                let hint = format!("add `{} VALUE`", parameter.flag.value);
                let diagnostic = Diagnostic::error(Area::Steps.code("missing-parameter"), message);
                diagnostics.push(diagnostic.at(&parameter.key.at).hint(hint));
                None
            }
            (_, true) => Some(Json::from(placeholder(name))),
        }
    }
}

/// Returns a placeholder for commands that only inspect the agent.
fn placeholder(name: &str) -> String {
    format!("(the {name})")
}

/// Parameter that names the issue if there is no `--issue`.
pub(super) const ISSUE_PARAMETER: &str = "issue";

/// The issue of a run, if known before the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunIssue {
    Issue(IssueNumber),
    #[default]
    Nothing,
    /// Unknown, because the command only inspects the agent.
    Open,
}

impl RunIssue {
    /// Reads the issue from `--issue`, or else from the parameter.
    pub(super) fn read(options: &Options, given: Option<&str>, diagnostics: &mut Diagnostics) -> Self {
        if let Some(number) = options.issue {
            return Self::Issue(number);
        }
        match given.filter(|given| !given.is_empty() && options.starts) {
            Some(given) => match IssueNumber::parse(given) {
                Some(number) => Self::Issue(number),
                None => {
                    let message = format!(
                        "the parameter `{ISSUE_PARAMETER}` is not an issue number: {}",
                        quoted(given)
                    );
                    diagnostics.push(Diagnostic::error(Area::Steps.code("bad-parameter"), message));
                    Self::Open
                }
            },
            None if options.starts => Self::Nothing,
            None => Self::Open,
        }
    }

    pub(super) fn number(self) -> Option<IssueNumber> {
        match self {
            Self::Issue(number) => Some(number),
            Self::Nothing | Self::Open => None,
        }
    }

    /// Reports a completion that waits for an issue in a run without one.
    pub(super) fn check(self, own: Option<&AgentCompletion>, diagnostics: &mut Diagnostics) {
        let waits =
            |own: &&AgentCompletion| own.all().iter().any(|one| matches!(one, CompletionCondition::Issue));
        if let (Self::Nothing, Some(own)) = (self, own.filter(waits)) {
            let message = "the run waits until an issue is closed, but has no issue";
            let diagnostic = own.at.error("missing-parameter", message).label("checks an issue");
            diagnostics
                .push(diagnostic.hint(format!("add `--issue N`, or give the parameter `{ISSUE_PARAMETER}`")));
        }
    }
}

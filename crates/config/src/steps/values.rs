//! Values from the command line, for parameters and variables (S-12).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_model::Json;

use super::about::{self, About};
use super::parameter::Parameter;
use super::registry::Registry;
use super::variables::shown;
use crate::{Area, Diagnostic, Diagnostics, Options, list_of, quoted};

/// Returns the value of one of Saihai's own flags. A parameter with the same flag uses it too.
fn said_by(flag: &str, options: &Options) -> Option<String> {
    match flag {
        "--issue" => options.issue.map(|number| number.get().to_string()),
        "--model" => options.model.clone(),
        "--provider" => options.provider.as_ref().map(ToString::to_string),
        _ => None,
    }
}

/// Values of parameters, and of variables that only the user can supply.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) parameters: IndexMap<String, Json>,
    pub(super) issue: About,
    /// True if title, body and labels of the issue are known at the start of the run.
    pub(super) issue_texts: bool,
    given: BTreeMap<String, Vec<String>>,
    /// True if required values must be present.
    starts: bool,
}

impl Values {
    /// Reads the values. It refuses names that neither a parameter nor a step declares.
    pub(super) fn read(
        parameters: &[Parameter],
        registry: &Registry,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &options.values {
            let name = name.strip_prefix("uv-").unwrap_or(name);
            given.entry(name.to_owned()).or_default().push(value.clone());
        }
        for parameter in parameters {
            if let Some(said) = said_by(&parameter.flag.value, options) {
                given.entry(parameter.key.value.clone()).or_insert_with(|| vec![said]);
            }
        }
        let mut values = Self { given, starts: options.starts, ..Self::default() };
        for parameter in parameters {
            if let Some(value) = values.of_parameter(parameter, diagnostics) {
                values.parameters.insert(parameter.key.value.clone(), value);
            }
        }
        values.issue_texts = options.issue.is_some() || !options.starts;
        let named = values.parameters.get(about::PARAMETER).map(shown);
        values.issue = About::read(options, named.as_deref(), diagnostics);
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

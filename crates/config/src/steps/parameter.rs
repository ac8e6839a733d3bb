//! Parameters of an agent (S-12).

use regex::Regex;
use saihai_model::Json;

use super::tables;
use crate::{Cursor, DefinitionFlag, Diagnostics, Fields, Located, Value, quoted};

#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) key: Located<String>,
    /// The flag with its dashes.
    pub(super) flag: Located<String>,
    pub(super) kind: ParameterKind,
    pub(super) required: bool,
    pub(super) default: Option<Json>,
    rules: Vec<Rule>,
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
enum Rule {
    Min(f64),
    Max(f64),
    Pattern(Box<Regex>),
    OneOf(Vec<Json>),
}

impl Parameter {
    pub(super) fn read(
        key: Located<String>,
        value: &Cursor<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(value, &tables::PARAMETER, diagnostics)?;
        let key = key.map(bare);
        if !is_name(&key.value) {
            let message = format!("{} cannot be the name of a parameter", quoted(&key.value));
            diagnostics.push(key.error("bad-value", message).hint("use letters, digits, `_` and `-`"));
        }
        if !fields.has("description") {
            let message = format!("the parameter {} has no description", quoted(&key.value));
            diagnostics.push(key.warning("no-description", message).hint("say what it is for"));
        }
        let kind = match fields.text("type")?.value.as_str() {
            "number" => ParameterKind::Number,
            "boolean" => ParameterKind::Boolean,
            "array" => ParameterKind::Array,
            _ => ParameterKind::String,
        };
        let required = fields.bool("required").is_some_and(|flag| flag.value);
        let rules = read_rules(&fields, kind, diagnostics);
        let mut parameter =
            Self { flag: read_flag(&fields, diagnostics)?, key, kind, required, default: None, rules };
        parameter.default = parameter.read_default(&fields, diagnostics);
        Some(parameter)
    }

    /// Converts the given values, or returns the reason why they are invalid. `given` has one item per use of
    /// the flag.
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
                Json::from(number.ok_or_else(|| format!("{} is no finite number", quoted(last)))?)
            }
            ParameterKind::Array => given.iter().flat_map(|items| items.split(',')).map(Json::from).collect(),
        };
        self.check(&value).map(|()| value)
    }

    /// Formats a value for a prompt.
    pub(super) fn shown(value: &Json) -> String {
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    fn read_default(&self, fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Json> {
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
        for rule in &self.rules {
            match value {
                Json::Array(items) => items.iter().try_for_each(|item| rule.check(item))?,
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
                    rule.check(value)?
                }
            }
        }
        Ok(())
    }
}

impl Rule {
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
                Err(format!("{} is none of {}", quoted(&shown), known.join(", ")))
            }
            Self::Min(_) | Self::Max(_) | Self::Pattern(_) | Self::OneOf(_) => Ok(()),
        }
    }
}

fn read_flag(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Located<String>> {
    let flag = fields.text("cli")?;
    let name = flag.value.strip_prefix("--").unwrap_or_default();
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        let message = format!("{} is no flag", quoted(&flag.value));
        diagnostics
            .push(flag.error("bad-value", message).hint("write `--name`, in small letters, digits and `-`"));
    }
    Some(flag)
}

fn read_rules(fields: &Fields<'_>, kind: ParameterKind, diagnostics: &mut Diagnostics) -> Vec<Rule> {
    let Some(fields) = fields.object("validation", &tables::VALIDATION, diagnostics) else {
        return Vec::new();
    };
    let mut rules = Vec::new();
    for (name, rule) in [("min", Rule::Min as fn(f64) -> Rule), ("max", Rule::Max)] {
        let Some(number) = fields.number(name) else { continue };
        if kind == ParameterKind::Number {
            rules.push(rule(number.value));
        } else {
            let message = format!("`{name}` is for numbers only");
            diagnostics.push(number.error("bad-value", message).label("this parameter is none"));
        }
    }
    if let Some(pattern) = fields.text("pattern") {
        match Regex::new(&pattern.value) {
            Ok(regex) => rules.push(Rule::Pattern(Box::new(regex))),
            Err(error) => {
                let message = format!("{} is no regular expression", quoted(&pattern.value));
                let last = error.to_string().lines().last().unwrap_or_default().to_owned();
                diagnostics.push(pattern.error("bad-value", message).hint(last));
            }
        }
    }
    let only: Vec<Json> = fields.list("enum").iter().map(|item| item.node().to_json()).collect();
    rules.extend((!only.is_empty()).then_some(Rule::OneOf(only)));
    rules
}

/// Removes an optional `uv-` prefix (S-47).
fn bare(name: String) -> String {
    name.strip_prefix("uv-").map(str::to_owned).unwrap_or(name)
}

/// Returns true if a name is valid in `{uv-NAME}` (S-47).
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Returns the flags of an agent's parameters, and skips unreadable ones.
pub(crate) fn flags(root: &Cursor<'_>) -> Vec<DefinitionFlag> {
    let Some(parameters) = root.get("parameters") else { return Vec::new() };
    let each = parameters.entries().filter_map(|(key, value)| {
        let flag = value.get("cli")?.text()?.value;
        let is = |name: &str, wanted: Value| value.get(name).is_some_and(|at| at.node().value == wanted);
        let required = is("required", Value::Bool(true)).then(|| "(required)".to_owned());
        let default =
            value.get("default").map(|at| format!("(default: {})", Parameter::shown(&at.node().to_json())));
        let about = value.get("description").and_then(|at| Some(at.text()?.value));
        let about: Vec<String> = about.into_iter().chain(required.or(default)).collect();
        let alone = is("type", Value::Text("boolean".into()));
        flag.starts_with("--").then(|| DefinitionFlag {
            key: bare(key.value),
            flag,
            alone,
            about: about.join(" "),
        })
    });
    each.collect()
}

//! Checks a value against a schema.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::compile::{count, target};
use crate::number::{canonical, compare, equal, is_integer, is_multiple};
use crate::{JsonSchema, JsonSchemaViolation, escaped};

pub(crate) fn accepts(schema: &JsonSchema, value: &Value) -> bool {
    Validation { schema, most: 0 }.accepts(&schema.root, value)
}

pub(crate) fn violations(schema: &JsonSchema, value: &Value, most: usize) -> Vec<JsonSchemaViolation> {
    let mut report = Report::Violations(Vec::new());
    Validation { schema, most }.schema(&schema.root, value, &ValuePath::Top, &mut report);
    match report {
        Report::Violations(found) => found,
        Report::Verdict(_) => Vec::new(),
    }
}

/// Position of the checked value in the whole one.
enum ValuePath<'a> {
    Top,
    Member(&'a ValuePath<'a>, &'a str),
    Item(&'a ValuePath<'a>, usize),
}

impl ValuePath<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Top => String::new(),
            Self::Member(above, name) => format!("{}/{}", above.pointer(), escaped(name)),
            Self::Item(above, at) => format!("{}/{at}", above.pointer()),
        }
    }
}

enum Report {
    /// Pass or fail only; no violations are recorded.
    Verdict(bool),
    Violations(Vec<JsonSchemaViolation>),
}

impl Report {
    fn add(&mut self, place: &ValuePath<'_>, message: impl FnOnce() -> String) {
        match self {
            Self::Verdict(fits) => *fits = false,
            Self::Violations(found) => {
                found.push(JsonSchemaViolation { pointer: place.pointer(), message: message() });
            }
        }
    }
}

struct Validation<'a> {
    schema: &'a JsonSchema,
    most: usize,
}

impl Validation<'_> {
    fn accepts(&self, schema: &Value, value: &Value) -> bool {
        let mut report = Report::Verdict(true);
        self.schema(schema, value, &ValuePath::Top, &mut report);
        matches!(report, Report::Verdict(true))
    }

    fn is_done(&self, report: &Report) -> bool {
        match report {
            Report::Verdict(fits) => !fits,
            Report::Violations(found) => found.len() >= self.most,
        }
    }

    fn schema(&self, schema: &Value, value: &Value, place: &ValuePath<'_>, report: &mut Report) {
        if self.is_done(report) {
            return;
        }
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                report.add(place, || format!("{} is not allowed here", shown(value)));
            }
            return;
        };
        self.kind(keywords, value, place, report);
        match value {
            Value::Object(members) => self.object(keywords, members, place, report),
            Value::Array(items) => self.array(keywords, items, place, report),
            Value::String(text) => self.string(keywords, text, place, report),
            Value::Number(found) => number(keywords, found, place, report),
            Value::Null | Value::Bool(_) => {}
        }
        self.combinations(keywords, value, place, report);
        if let Some((_, schema)) = text_of(keywords, "$ref").and_then(|to| target(&self.schema.root, to)) {
            self.schema(schema, value, place, report);
        }
    }

    fn kind(&self, keywords: &Map<String, Value>, value: &Value, place: &ValuePath<'_>, report: &mut Report) {
        match keywords.get("type") {
            Some(Value::String(one)) if !is_of(value, one) => {
                report.add(place, || format!("{} is not of type \"{one}\"", shown(value)));
            }
            Some(Value::Array(types))
                if !types.iter().filter_map(Value::as_str).any(|one| is_of(value, one)) =>
            {
                report.add(place, || format!("{} is not of types {}", shown(value), listed(types, ", ")));
            }
            Some(_) | None => {}
        }
        if let Some(Value::Array(values)) = keywords.get("enum")
            && !values.iter().any(|one| equal(one, value))
        {
            report.add(place, || format!("{} is not one of {}", shown(value), candidates(values)));
        }
        if let Some(expected) = keywords.get("const").filter(|expected| !equal(expected, value)) {
            report.add(place, || format!("{expected} was expected"));
        }
    }

    fn object(
        &self,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
        place: &ValuePath<'_>,
        report: &mut Report,
    ) {
        limits(keywords, ["minProperties", "maxProperties"], members.len(), |limit, is_over| {
            let (than, noun) =
                (if is_over { "more" } else { "less" }, plural(limit, "property", "properties"));
            report.add(place, || format!("value has {than} than {limit} {noun}"));
        });
        let mut require = |name: &Value| {
            if name.as_str().is_some_and(|name| !members.contains_key(name)) {
                report.add(place, || format!("{name} is a required property"));
            }
        };
        list_of(keywords, "required").iter().for_each(&mut require);
        for (name, names) in map_of(keywords, "dependentRequired") {
            if members.contains_key(name) {
                names.as_array().into_iter().flatten().for_each(&mut require);
            }
        }
        self.members(keywords, members, place, report);
    }

    /// Checks each member by its name: `properties`, `patternProperties`, and `additionalProperties` for the rest.
    fn members(
        &self,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
        place: &ValuePath<'_>,
        report: &mut Report,
    ) {
        let rest = keywords.get("additionalProperties");
        let mut unexpected = Vec::new();
        for (name, value) in members {
            let inner = ValuePath::Member(place, name);
            let own = keywords.get("properties").and_then(|named| named.get(name));
            let matching = map_of(keywords, "patternProperties").filter(|(one, _)| self.matches(one, name));
            let mut is_known = false;
            for schema in own.into_iter().chain(matching.map(|(_, schema)| schema)) {
                is_known = true;
                self.schema(schema, value, &inner, report);
            }
            match rest {
                Some(Value::Bool(false)) if !is_known => unexpected.push(name),
                Some(schema) if !is_known => self.schema(schema, value, &inner, report),
                Some(_) | None => {}
            }
            if let Some(names) = keywords.get("propertyNames")
                && !self.accepts(names, &Value::String(name.clone()))
            {
                report.add(place, || format!("the name {} is not allowed", shown(&name.as_str().into())));
            }
        }
        if !unexpected.is_empty() {
            let verb = plural(unexpected.len() as u64, "was", "were");
            let names: Vec<String> = unexpected.iter().map(|name| format!("'{name}'")).collect();
            report.add(place, || {
                format!("Additional properties are not allowed ({} {verb} unexpected)", names.join(", "))
            });
        }
    }

    fn array(
        &self,
        keywords: &Map<String, Value>,
        items: &[Value],
        place: &ValuePath<'_>,
        report: &mut Report,
    ) {
        limits(keywords, ["minItems", "maxItems"], items.len(), |limit, is_over| {
            let (than, noun) = (if is_over { "more" } else { "less" }, plural(limit, "item", "items"));
            report.add(place, || format!("value has {than} than {limit} {noun}"));
        });
        let first = list_of(keywords, "prefixItems");
        for (at, (schema, item)) in first.iter().zip(items).enumerate() {
            self.schema(schema, item, &ValuePath::Item(place, at), report);
        }
        if let Some(schema) = keywords.get("items") {
            for (at, item) in items.iter().enumerate().skip(first.len()) {
                self.schema(schema, item, &ValuePath::Item(place, at), report);
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let different: BTreeSet<String> = items.iter().map(canonical).collect();
            if different.len() < items.len() {
                report.add(place, || "value has non-unique elements".to_owned());
            }
        }
        if let Some(schema) = keywords.get("contains") {
            let fitting = items.iter().filter(|item| self.accepts(schema, item)).count() as u64;
            let least = keywords.get("minContains").and_then(count).unwrap_or(1);
            let most = keywords.get("maxContains").and_then(count).unwrap_or(u64::MAX);
            if fitting < least {
                report.add(place, || match least {
                    1 => "no item fits what the list must contain".to_owned(),
                    least => format!("{fitting} items fit what the list must contain; at least {least} must"),
                });
            } else if fitting > most {
                report.add(place, || {
                    format!("{fitting} items fit what the list must contain; at most {most} may")
                });
            }
        }
    }

    fn string(&self, keywords: &Map<String, Value>, text: &str, place: &ValuePath<'_>, report: &mut Report) {
        let value = || shown(&text.into());
        limits(keywords, ["minLength", "maxLength"], text.chars().count(), |limit, is_over| {
            let (than, noun) =
                (if is_over { "longer" } else { "shorter" }, plural(limit, "character", "characters"));
            report.add(place, || format!("{} is {than} than {limit} {noun}", value()));
        });
        if let Some(pattern) = text_of(keywords, "pattern").filter(|pattern| !self.matches(pattern, text)) {
            report.add(place, || format!("{} does not match \"{pattern}\"", value()));
        }
    }

    /// Returns true on a match. A pattern that runs out of steps does not match.
    fn matches(&self, pattern: &str, text: &str) -> bool {
        let regex = self.schema.patterns.get(pattern);
        regex.is_some_and(|regex| regex.is_match(text).unwrap_or(false))
    }

    /// Checks `allOf`, `dependentSchemas`, `anyOf`, `oneOf`, `not` and `if`.
    fn combinations(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        place: &ValuePath<'_>,
        report: &mut Report,
    ) {
        let dependent = map_of(keywords, "dependentSchemas").filter(|(name, _)| value.get(name).is_some());
        for schema in list_of(keywords, "allOf").iter().chain(dependent.map(|(_, schema)| schema)) {
            self.schema(schema, value, place, report);
        }
        let fitting = |schemas: &[Value]| schemas.iter().filter(|one| self.accepts(one, value)).count();
        let listed = |keyword: &str| format!("of the schemas listed in the '{keyword}' keyword");
        if let Some(Value::Array(schemas)) = keywords.get("anyOf")
            && !schemas.iter().any(|one| self.accepts(one, value))
        {
            report.add(place, || format!("{} is not valid under any {}", shown(value), listed("anyOf")));
        }
        if let Some(Value::Array(schemas)) = keywords.get("oneOf") {
            let how_many = match fitting(schemas) {
                1 => None,
                0 => Some("not valid under any"),
                _ => Some("valid under more than one"),
            };
            if let Some(how_many) = how_many {
                report.add(place, || format!("{} is {how_many} {}", shown(value), listed("oneOf")));
            }
        }
        if let Some(schema) = keywords.get("not").filter(|schema| self.accepts(schema, value)) {
            report.add(place, || format!("{schema} is not allowed for {}", shown(value)));
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.accepts(condition, value) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.schema(schema, value, place, report);
            }
        }
    }
}

fn number(keywords: &Map<String, Value>, found: &Number, place: &ValuePath<'_>, report: &mut Report) {
    for (keyword, is) in [
        ("minimum", "less than the minimum"),
        ("exclusiveMinimum", "less than or equal to the minimum"),
        ("maximum", "greater than the maximum"),
        ("exclusiveMaximum", "greater than or equal to the maximum"),
    ] {
        let Some(Value::Number(limit)) = keywords.get(keyword) else { continue };
        let is_wrong = match (keyword, compare(found, limit)) {
            ("minimum", order) => order.is_lt(),
            ("exclusiveMinimum", order) => order.is_le(),
            ("maximum", order) => order.is_gt(),
            (_, order) => order.is_ge(),
        };
        if is_wrong {
            report.add(place, || format!("{found} is {is} of {limit}"));
        }
    }
    if let Some(Value::Number(of)) = keywords.get("multipleOf")
        && !is_multiple(found, of)
    {
        report.add(place, || format!("{found} is not a multiple of {of}"));
    }
}

/// Calls `wrong` with each violated limit. The flag is true for the upper one.
fn limits(
    keywords: &Map<String, Value>,
    [least, most]: [&str; 2],
    size: usize,
    mut wrong: impl FnMut(u64, bool),
) {
    let limit = |keyword: &str| keywords.get(keyword).and_then(count);
    if let Some(limit) = limit(least).filter(|limit| (size as u64) < *limit) {
        wrong(limit, false);
    }
    if let Some(limit) = limit(most).filter(|limit| size as u64 > *limit) {
        wrong(limit, true);
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => is_integer(value),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        _ => value.is_string(),
    }
}

fn list_of<'a>(keywords: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    keywords.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map_of<'a>(
    keywords: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    keywords.get(keyword).and_then(Value::as_object).into_iter().flatten()
}

fn text_of<'a>(keywords: &'a Map<String, Value>, keyword: &str) -> Option<&'a str> {
    keywords.get(keyword).and_then(Value::as_str)
}

/// Formats a value for a message. Objects and lists are too long to repeat.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => "value".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn listed(values: &[Value], between: &str) -> String {
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    values.join(between)
}

/// Formats `"a", "b" or "c"`; of more than three values only the first two.
fn candidates(values: &[Value]) -> String {
    match values {
        [] => "no value".to_owned(),
        [one] => one.to_string(),
        [first @ .., last] if first.len() < 3 => format!("{} or {last}", listed(first, ", ")),
        [one, two, rest @ ..] => format!("{one}, {two} or {} other candidates", rest.len()),
    }
}

fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

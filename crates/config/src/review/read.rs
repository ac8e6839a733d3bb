//! Reads one agent file.

use saihai_model::Millis;

use super::glob::NamePattern;
use super::path_pattern::PathPattern;
use super::python::{BadPattern, PythonRegex, Room};
use super::tables::{AGENT, APPLICABILITY};
use super::{AgentDefinition, Applicability, OutputSchema, Phase, lint, tools};
use crate::diagnostic::{Diagnostic, Diagnostics, Located, Location, did_you_mean, list_of, quoted};
use crate::document::Document;
use crate::fields::Fields;

/// An agent and the position of its name in the file.
#[derive(Debug)]
pub(super) struct ReadAgent {
    pub(super) definition: AgentDefinition,
    pub(super) named: Location,
}

/// Reads an agent and charges its patterns to the memory budget. If it returns `None`, it has added
/// errors and charged nothing.
pub(super) fn read(document: &Document, room: &mut Room, diagnostics: &mut Diagnostics) -> Option<ReadAgent> {
    let mut found = Diagnostics::new();
    let mut left = room.clone();
    let agent = Fields::read_at_once(&document.cursor(), &AGENT, &mut found)
        .and_then(|fields| Reader { fields: &fields, room: &mut left, found: &mut found }.agent());
    let agent = agent.filter(|_| !found.has_errors());
    if agent.is_some() {
        *room = left;
    }
    diagnostics.append(found.into_iter().map(explained).collect());
    agent
}

/// Adds an explanation to an out-of-range error.
fn explained(diagnostic: Diagnostic) -> Diagnostic {
    let counts = match diagnostic.location.as_ref().and_then(|place| place.path.last_key()) {
        Some("timeout") => "seconds",
        Some("max_turns") => "model calls",
        Some(_) | None => return diagnostic,
    };
    if diagnostic.code.slug == "bad-value" {
        return diagnostic.hint(format!("it counts {counts}; left out, it is what `[review]` says"));
    }
    diagnostic
}

struct Reader<'r, 'd> {
    fields: &'r Fields<'d>,
    room: &'r mut Room,
    found: &'r mut Diagnostics,
}

impl Reader<'_, '_> {
    /// Reads every field even after an error, to report all errors at once.
    fn agent(mut self) -> Option<ReadAgent> {
        let name = self.name();
        let description = self.filled("description");
        let model = self.filled("model");
        let output_schema = self.output_schema();
        let system_prompt = self.filled("system_prompt");
        let (allowed_tools, tools) = self.tools();
        let applicability = self.applicability();
        let name = name?;
        let definition = AgentDefinition {
            name: name.value,
            description: description?,
            model: model?,
            output_schema: output_schema?,
            system_prompt: system_prompt?,
            allowed_tools,
            tools,
            phase: self.fields.text("phase").and_then(|phase| Phase::named(&phase.value)).unwrap_or_default(),
            applicability,
            timeout: self.fields.count("timeout").map(|seconds| Millis::seconds(seconds.value.into())),
            max_turns: self.fields.count("max_turns").map(|calls| calls.value),
        };
        Some(ReadAgent { definition, named: name.at })
    }

    fn name(&mut self) -> Option<Located<String>> {
        let name = self.fields.text("name")?;
        let bad = name.value.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-'));
        let message = match bad {
            Some(bad) => format!("the name {} holds {}", quoted(&name.value), quoted(&bad.to_string())),
            None if name.value.is_empty() => "the name is empty".to_owned(),
            None => return Some(name),
        };
        let error = name.error("name", message).label("not a name");
        self.found.push(error.hint("a name is made of `a`–`z`, `0`–`9` and `-`"));
        None
    }

    fn filled(&mut self, key: &str) -> Option<String> {
        let text = self.fields.text(key)?;
        if text.value.trim().is_empty() {
            let error = text.error("empty", format!("`{key}` says nothing")).label("empty");
            self.found.push(error.hint(match key {
                "model" => "`default` is the provider's own",
                _ => "write at least a word",
            }));
            return None;
        }
        Some(text.value)
    }

    fn output_schema(&mut self) -> Option<OutputSchema> {
        let name = self.fields.text("output_schema")?;
        let schema = OutputSchema::named(&name.value);
        if schema.is_none() {
            let known = || OutputSchema::ALL.into_iter().map(OutputSchema::name);
            let there_is = format!("there is {}", list_of(known(), "and"));
            let hint = match did_you_mean(&name.value, known()) {
                Some(guess) => format!("{guess} {there_is}"),
                None => there_is,
            };
            let message = format!("no output schema is named {}", quoted(&name.value));
            self.found.push(name.error("schema", message).label("not known").hint(hint));
        }
        schema
    }

    fn tools(&mut self) -> (Vec<String>, Vec<&'static str>) {
        let mut allowed = Vec::new();
        for name in self.fields.texts("allowed_tools").unwrap_or_default() {
            match tools::resolve(&name.value) {
                Ok(tools) => allowed.extend(tools),
                Err(no) => {
                    let message = format!("{} cannot be used: {}", quoted(&name.value), no.why);
                    self.found.push(name.error("tool", message).label("not allowed").hint(no.hint));
                }
            }
        }
        let written = self.fields.texts("allowed_tools").unwrap_or_default();
        let tools = tools::every().filter(|tool| allowed.contains(tool)).collect();
        (written.into_iter().map(|name| name.value).collect(), tools)
    }

    fn applicability(&mut self) -> Applicability {
        if !self.fields.has("applicability") {
            return Applicability::always();
        }
        let Some(fields) = self.fields.object("applicability", &APPLICABILITY, self.found) else {
            return Applicability::default();
        };
        let applicability = Applicability {
            always: fields.bool("always").is_some_and(|always| always.value),
            file_patterns: self
                .each(&fields, "file_patterns", |pattern, _| Some(NamePattern::new(&pattern.value))),
            content_patterns: self.content_patterns(&fields),
            path_patterns: self.each(&fields, "path_patterns", path_pattern),
            exclude_patterns: self.each(&fields, "exclude_patterns", path_pattern),
        };
        // The remaining entries of an invalid list do not show the author's intent.
        if !self.found.has_errors() {
            lint::patterns(&fields, &applicability, self.found);
        }
        applicability
    }

    /// Stops at the first pattern that exceeds the budget: the next ones would cost as much and
    /// fail the same way.
    fn content_patterns(&mut self, fields: &Fields<'_>) -> Vec<PythonRegex> {
        let mut patterns = Vec::new();
        for pattern in fields.texts("content_patterns").unwrap_or_default() {
            match PythonRegex::new(&pattern.value, self.room) {
                Ok(regex) => patterns.push(regex),
                Err(bad) => {
                    self.found.push(refused(&pattern, &bad));
                    if bad.is_full {
                        break;
                    }
                }
            }
        }
        patterns
    }

    fn each<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: fn(&Located<String>, &mut Diagnostics) -> Option<T>,
    ) -> Vec<T> {
        let patterns = fields.texts(key).unwrap_or_default();
        patterns.iter().filter_map(|pattern| read(pattern, self.found)).collect()
    }
}

fn refused(pattern: &Located<String>, bad: &BadPattern) -> Diagnostic {
    let what = if bad.is_full { "cannot be used" } else { "is no regular expression of Python" };
    let error = pattern.error("regex", format!("{} {what}: {bad}", quoted(&pattern.value))).label("refused");
    error.hint(bad.hint.unwrap_or("patterns are those of Python's `re` module, version 3.13"))
}

pub(super) fn path_pattern(pattern: &Located<String>, found: &mut Diagnostics) -> Option<PathPattern> {
    // Such a pattern would silently match nothing.
    if let Some(rest) = ["./", "/"].iter().find_map(|begin| pattern.value.strip_prefix(begin)) {
        let message =
            format!("{} takes no path: paths begin below the project's root", quoted(&pattern.value));
        let error = pattern.error("glob", message).label("refused");
        found.push(error.hint(format!("write {}", quoted(rest))));
        return None;
    }
    match PathPattern::new(&pattern.value) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            let message = format!("{} is no pattern of paths: {why}", quoted(&pattern.value));
            let error = pattern.error("glob", message).label("refused");
            found.push(error.hint("`*`, `?`, `**`, `[a-z]` and `{a,b}` have a meaning in it"));
            None
        }
    }
}

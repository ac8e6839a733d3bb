use saihai_model::Millis;

use super::patterns::{NamePattern, PathPattern};
use super::python::{BadPattern, BadPatternKind, PatternMemory, PythonRegex};
use super::reviewer::{all_tools, resolve_tools};
use super::{AgentDefinition, Applicability, OutputSchema, Phase};
use crate::diagnostic::{Diagnostic, Diagnostics, Located, Location, did_you_mean, list_of, quoted};
use crate::document::Document;
use crate::fields::{Field, Fields, Object, ValueKind};

/// An agent and the position of its name in the file.
#[derive(Debug)]
pub(super) struct ReadAgent {
    pub(super) definition: AgentDefinition,
    pub(super) named: Location,
}

/// Reads an agent and charges its patterns to the memory budget. `None`: errors added, nothing charged.
pub(super) fn read(
    document: &Document,
    room: &mut PatternMemory,
    diagnostics: &mut Diagnostics,
) -> Option<ReadAgent> {
    let mut found = Diagnostics::new();
    let mut left = room.clone();
    let agent = Fields::read_at_once(&document.cursor(), &AGENT, &mut found)
        .and_then(|fields| AgentFileReader { fields: &fields, room: &mut left, found: &mut found }.agent());
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
        return diagnostic.hint(format!("it counts {counts}; without it, `[review]` applies"));
    }
    diagnostic
}

struct AgentFileReader<'r, 'd> {
    fields: &'r Fields<'d>,
    room: &'r mut PatternMemory,
    found: &'r mut Diagnostics,
}

impl AgentFileReader<'_, '_> {
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
            Some(bad) => format!("the name {} contains {}", quoted(&name.value), quoted(&bad.to_string())),
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
            let error = text.error("empty", format!("`{key}` is blank")).label("empty");
            self.found.push(error.hint(match key {
                "model" => "write `default` for the provider's own model",
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
            match resolve_tools(&name.value) {
                Ok(tools) => allowed.extend(tools),
                Err(no) => {
                    let message = format!("{} cannot be used: {}", quoted(&name.value), no.why);
                    self.found.push(name.error("tool", message).label("not allowed").hint(no.hint));
                }
            }
        }
        let written = self.fields.texts("allowed_tools").unwrap_or_default();
        let tools = all_tools().filter(|tool| allowed.contains(tool)).collect();
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
            check_patterns(&fields, &applicability, self.found);
        }
        applicability
    }

    /// Stops at the first pattern that exceeds the budget: the next ones would fail the same way.
    fn content_patterns(&mut self, fields: &Fields<'_>) -> Vec<PythonRegex> {
        let mut patterns = Vec::new();
        for pattern in fields.texts("content_patterns").unwrap_or_default() {
            match PythonRegex::new(&pattern.value, self.room) {
                Ok(regex) => patterns.push(regex),
                Err(bad) => {
                    self.found.push(refused(&pattern, &bad));
                    if bad.kind == BadPatternKind::NoRoom {
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
    let what = match bad.kind {
        BadPatternKind::Invalid => "is not a Python regular expression",
        BadPatternKind::Unsupported => "is unsupported",
        BadPatternKind::NoRoom => "cannot be used",
    };
    let error = pattern.error("regex", format!("{} {what}: {bad}", quoted(&pattern.value))).label("refused");
    error.hint(bad.hint.unwrap_or("patterns are those of Python's `re` module, version 3.13"))
}

pub(super) fn path_pattern(pattern: &Located<String>, found: &mut Diagnostics) -> Option<PathPattern> {
    // Such a pattern would silently match nothing.
    if let Some(rest) = ["./", "/"].iter().find_map(|begin| pattern.value.strip_prefix(begin)) {
        let message =
            format!("{} matches no path: paths are relative to the project root", quoted(&pattern.value));
        let error = pattern.error("glob", message).label("refused");
        found.push(error.hint(format!("write {}", quoted(rest))));
        return None;
    }
    match PathPattern::new(&pattern.value) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            let message = format!("{} is not a path pattern: {why}", quoted(&pattern.value));
            let error = pattern.error("glob", message).label("refused");
            found.push(error.hint("`*`, `?`, `**`, `[a-z]` and `{a,b}` have a meaning in it"));
            None
        }
    }
}

/// Checks `[applicability]`. The caller has already rejected invalid patterns.
fn check_patterns(fields: &Fields<'_>, applicability: &Applicability, found: &mut Diagnostics) {
    if applicability.is_never() {
        let message = "nothing selects this agent: it has neither `always = true` nor patterns";
        let warning = fields.location().warning("never-selected", message);
        found.push(warning.hint("remove `[applicability]`, or set `always = true`"));
    }
    let texts = |key: &str| fields.texts(key).unwrap_or_default();
    for pattern in texts("file_patterns") {
        file_pattern(&pattern, applicability, found);
    }
    for (pattern, regex) in texts("content_patterns").iter().zip(&applicability.content_patterns) {
        let shown = quoted(&pattern.value);
        if regex.needs_line_mode() {
            let message = format!("in {shown}, `^` and `$` mean the beginning and the end of the whole text");
            let warning = pattern.warning("anchor", message).label("not of a line");
            found.push(warning.hint("start the pattern with `(?m)` to match lines"));
        }
        if pattern.value.contains(r"\s*\.+\s*") {
            let message = format!(r"in {shown}, `\.+` means dots themselves, not anything");
            let warning = pattern.warning("literal-dots", message).label("only dots");
            found.push(warning.hint(r"write `[\s\S]+?` for any text"));
        }
        if regex.backtracks() {
            let message = format!("{shown} cannot be searched for in linear time");
            let warning = pattern.warning("backtracking", message).label("needs backtracking");
            let hint = "if a search takes too long, Saihai selects the agent; without look-around, \
                        back-references and atomic groups, a search is always fast";
            found.push(warning.hint(hint));
        }
        if regex.matches_everything() && !applicability.always {
            found.push(matches_all(pattern));
        }
    }
    for pattern in texts("path_patterns").iter().filter(|pattern| is_everything(&pattern.value)) {
        if !applicability.always {
            found.push(matches_all(pattern));
        }
    }
}

fn file_pattern(pattern: &Located<String>, applicability: &Applicability, found: &mut Diagnostics) {
    if NamePattern::new(&pattern.value).needs_slash() {
        let message = format!("{} never matches: names of files have no directories", quoted(&pattern.value));
        let warning = pattern.warning("slash-in-pattern", message).label("contains a `/`");
        found.push(warning.hint("use `path_patterns` for whole paths"));
    } else if is_everything(&pattern.value) && !applicability.always {
        found.push(matches_all(pattern));
    }
}

fn is_everything(pattern: &str) -> bool {
    matches!(pattern, "*" | "**" | "**/*")
}

fn matches_all(pattern: &Located<String>) -> Diagnostic {
    let message = format!("{} matches every change", quoted(&pattern.value));
    let warning = pattern.warning("matches-all", message).label("selects the agent always");
    warning.hint("set `always = true` to select it for every change")
}

const TEXTS: ValueKind = ValueKind::List(&ValueKind::Text);

/// Keys of a review agent file.
pub static AGENT: Object = Object {
    title: "a review agent",
    fields: &[
        Field::required("name", ValueKind::Text).about("id: `a`–`z`, `0`–`9` and `-`"),
        Field::required("description", ValueKind::Text).about("one line for lists and reports"),
        Field::required("model", ValueKind::Text)
            .about("model as `PROVIDER:MODEL`, or `default` for the provider's own"),
        Field::required("output_schema", ValueKind::Text).about("name of the schema for its reply"),
        Field::required("system_prompt", ValueKind::Text).about("role, sent unchanged"),
        Field::new("allowed_tools", TEXTS)
            .default("[]")
            .about("allowed tools: `file_read`, `git_read`, `gh_read`, `web_fetch`, or single tools"),
        Field::new("phase", ValueKind::OneOf(&["early", "main", "final"]))
            .default("\"main\"")
            .about("phase of the review in which it runs"),
        Field::new("timeout", ValueKind::Integer { min: 1, max: 86_400 }).about("timeout in seconds"),
        Field::new("max_turns", ValueKind::Integer { min: 1, max: 1000 })
            .about("maximum model calls in its turn"),
        Field::new("applicability", ValueKind::Object(&APPLICABILITY))
            .about("changes that it reviews; absent: all"),
    ],
};

static APPLICABILITY: Object = Object {
    title: "`applicability`",
    fields: &[
        Field::new("always", ValueKind::Bool).default("false").about("review every change"),
        Field::new("file_patterns", TEXTS)
            .default("[]")
            .about("patterns of file names without directories: `*.py`, `test_?.rs`, `[!_]*`"),
        Field::new("content_patterns", TEXTS)
            .default("[]")
            .about("Python regular expressions, searched in the diff, or in whole files"),
        Field::new("path_patterns", TEXTS)
            .default("[]")
            .about("patterns of paths from the project's root, with `**` and `{a,b}`"),
        Field::new("exclude_patterns", TEXTS)
            .default("[]")
            .about("path patterns of files that it does not see and that do not select it"),
    ],
};

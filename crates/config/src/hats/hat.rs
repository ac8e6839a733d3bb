use saihai_model::Millis;

use super::tables;
use super::topic::{Precision, is_topic};
use super::written::Flow;
use crate::{Cursor, Diagnostics, Fields, Located, Location, list_of, quoted};

/// Hat for topics that no trigger matches (H-29).
pub(super) const DEFAULT: &str = "default";

/// Maximum length of a hat's id, in characters.
const LONGEST_ID: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hat {
    pub(super) id: Located<String>,
    pub(super) name: String,
    pub(super) triggers: Vec<Located<String>>,
    /// Topics it may publish, including the keyword.
    pub(super) publishes: Vec<Located<String>>,
    /// Prompt text for this role.
    pub(super) instructions: Located<String>,
    /// Description for people; not part of the prompt.
    pub(super) description: Option<String>,
    /// Topic that the engine publishes if a turn reports nothing even after a reminder.
    pub(super) default_publishes: Option<Located<String>>,
    pub(super) timeout: Option<Millis>,
    pub(super) max_activations: Option<u32>,
    /// False if the hat has errors.
    pub(super) sound: bool,
}

impl Hat {
    /// Reads one entry of `hats`. Returns `None` if it is not a mapping.
    pub(super) fn read(
        id: Located<String>,
        value: &Cursor<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let mut found = Diagnostics::new();
        check_id(&id, &mut found);
        let hat = Fields::read(value, &tables::HAT, &mut found).map(|fields| Self {
            name: read_name(&fields, &id.value, &mut found),
            triggers: read_triggers(&fields, &id.value, &mut found),
            publishes: read_topics(&fields, "publishes", &mut found),
            instructions: read_instructions(&fields, &id, &mut found),
            description: None,
            default_publishes: None,
            timeout: None,
            max_activations: None,
            sound: true,
            id,
        });
        let sound = !found.has_errors();
        diagnostics.append(found);
        hat.map(|hat| Self { sound, ..hat })
    }

    /// Returns the location of the id, for messages about the whole hat.
    pub(super) fn at(&self) -> &Location {
        &self.id.at
    }

    /// Returns true if it may end the run.
    pub(super) fn may_complete(&self, keyword: &str) -> bool {
        self.publishes.iter().any(|topic| topic.value == keyword)
    }

    /// Returns the topics it may publish, without the closing words.
    pub(super) fn topics<'a>(&'a self, flow: &'a Flow) -> impl Iterator<Item = &'a Located<String>> {
        self.publishes.iter().filter(move |topic| !flow.closes(&topic.value))
    }
}

/// H-13: an id may use any script, but no characters with a special meaning.
pub(super) fn check_id(id: &Located<String>, diagnostics: &mut Diagnostics) {
    let length = id.value.chars().count();
    let odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '(' | ')');
    if length == 0 || length > LONGEST_ID || id.value.chars().any(odd) {
        let message = format!("{} cannot be the id of a hat", quoted(&id.value));
        let hint = format!(
            "1 to {LONGEST_ID} characters without blanks, control characters, `/`, `\\`, `(` and `)`; `name` may be anything"
        );
        diagnostics.push(id.error("bad-value", message).label("not allowed as an id").hint(hint));
    }
}

pub(super) fn read_name(fields: &Fields<'_>, id: &str, diagnostics: &mut Diagnostics) -> String {
    let Some(name) = fields.text("name") else { return id.to_owned() };
    if name.value.trim().is_empty() {
        let message = format!("{} must not be blank", quoted(&name.at.path.to_string()));
        let hint = "write what people call it, such as `🧪 Tester`";
        diagnostics.push(name.error("bad-value", message).label("blank").hint(hint));
    }
    warn_of_variables(&name, diagnostics);
    name.value
}

/// Reads `triggers`. Only the `default` hat may have none (H-12, H-15).
pub(super) fn read_triggers(
    fields: &Fields<'_>,
    id: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Located<String>> {
    let Some(triggers) = fields.texts("triggers") else { return Vec::new() };
    if triggers.is_empty() && id != DEFAULT {
        let at = fields.any("triggers").map_or_else(|| fields.location(), |value| value.location());
        let message = format!("{} must not be empty", quoted(&at.path.to_string()));
        let hint = "only the hat `default` may have none: it is reached when no trigger matches";
        diagnostics.push(at.error("bad-value", message).label("no trigger").hint(hint));
    }
    for trigger in &triggers {
        if Precision::of(&trigger.value).is_none() {
            let message =
                format!("{}: {} is no topic and no pattern", place(&trigger.at), quoted(&trigger.value));
            let hint = "a topic such as `tests.failing`; a `*` stands for one whole segment (`build.*`) or alone for every topic";
            diagnostics.push(trigger.error("bad-pattern", message).label("bad pattern").hint(hint));
        }
    }
    triggers
}

/// Formats the path of a value for messages (H-10).
pub(super) fn place(at: &Location) -> String {
    quoted(&at.path.to_string())
}

pub(super) fn read_topics(
    fields: &Fields<'_>,
    key: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Located<String>> {
    let topics = fields.texts(key).unwrap_or_default();
    for topic in &topics {
        check_topic(topic, diagnostics);
    }
    topics
}

/// Reports text that is not a topic. Returns true if it is one.
pub(super) fn check_topic(topic: &Located<String>, diagnostics: &mut Diagnostics) -> bool {
    if is_topic(&topic.value) {
        return true;
    }
    let message = format!("{}: {} is no topic", place(&topic.at), quoted(&topic.value));
    let hint = if topic.value.contains('*') {
        "a `*` stands in triggers only; list each topic"
    } else {
        "ASCII letters, digits, `_` and `-` in segments joined by dots, such as `tests.failing`"
    };
    diagnostics.push(topic.error("bad-topic", message).label("not a topic").hint(hint));
    false
}

fn read_instructions(
    fields: &Fields<'_>,
    id: &Located<String>,
    diagnostics: &mut Diagnostics,
) -> Located<String> {
    let Some(instructions) = fields.text("instructions") else {
        return Located::new(String::new(), id.at.clone());
    };
    check_instructions(&instructions, diagnostics);
    instructions
}

/// Warns about blank instructions, variables that Saihai does not fill in, and unsupported ways to report.
pub(super) fn check_instructions(instructions: &Located<String>, diagnostics: &mut Diagnostics) {
    let path = quoted(&instructions.at.path.to_string());
    if instructions.value.trim().is_empty() {
        let message = format!("{path} is blank: the hat changes nothing");
        diagnostics.push(instructions.warning("blank-instructions", message).label("blank"));
    }
    check_words(instructions, diagnostics);
}

/// Does the same, but allows blank text.
pub(super) fn check_words(instructions: &Located<String>, diagnostics: &mut Diagnostics) {
    let path = quoted(&instructions.at.path.to_string());
    warn_of_variables(instructions, diagnostics);
    if emits_elsewhere(&instructions.value) {
        let message = format!("{path} reports results in a way that is not read");
        let hint = "let the agent write a line such as `EVENT: tests.passing`; every prompt asks for it too";
        diagnostics.push(instructions.warning("foreign-emit", message).label("not read").hint(hint));
    }
}

/// H-13: `{{…}}` reaches the agent unchanged.
fn warn_of_variables(text: &Located<String>, diagnostics: &mut Diagnostics) {
    let variables = variables(&text.value);
    if !variables.is_empty() {
        let path = quoted(&text.at.path.to_string());
        let message = format!("{path} shows {} to the agent as it stands", list_of(variables, "and"));
        let hint = "nothing is filled in here; the task stands in every prompt";
        diagnostics.push(text.warning("unexpanded-variable", message).label("not filled in").hint(hint));
    }
}

/// Returns true if instructions report by a command or tag that Saihai does not read (H-69).
pub(super) fn emits_elsewhere(instructions: &str) -> bool {
    instructions.contains("ralph emit") || instructions.contains("<event topic=")
}

/// Returns the first few `{{…}}` of a text, without duplicates.
fn variables(text: &str) -> Vec<&str> {
    const NAMED: usize = 5;
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("{{") {
        let Some(end) = behind.find("}}") else { break };
        let start = text.len() - behind.len() - 2;
        let variable = &text[start..start + end + 4];
        if !variable.contains('\n') && !found.contains(&variable) && found.len() < NAMED {
            found.push(variable);
        }
        rest = &behind[end + 2..];
    }
    found
}

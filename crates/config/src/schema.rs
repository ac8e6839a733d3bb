//! JSON Schemas, generated from the readers' own tables: an editor marks exactly what a reader
//! rejects. A schema covers keys and kinds only. Readers check relations between parts of a file.

mod table;

use serde_json::{Value as Json, json};

use crate::fields::{Kind, Object};
use crate::hats::ORCH;
use crate::issues;
use crate::piece::PIECE;
use crate::review::{self, OutputSchema};
use crate::script::{ENTRY, SCRIPT};
use crate::settings::SETTINGS;
use crate::steps::{AGENT, CATALOGUE, CONFIG, REGISTRY};
use table::Tables;

/// All schema names with descriptions.
pub const SCHEMAS: [(&str, &str); 9] = [
    ("piece", "a piece, as in `.saihai/pieces/NAME.yaml`"),
    ("hats", "hats, as in `orch.yml`"),
    ("agent", "a step agent, as in `.agent/NAME/agent.json`"),
    ("steps-registry", "the steps of an agent, as in `.agent/NAME/steps_registry.json`"),
    ("steps-config", "what differs on one machine, as in `.agent/NAME/config.json`"),
    ("review-agent", "a review agent, as in `.saihai/agents/NAME.toml`"),
    ("settings", "settings, as in `.saihai/config.toml`"),
    ("script", "a script file, or a mock scenario of TAKT"),
    ("issue", "the front matter of an issue, as in `.saihai/issues/7-login.md`"),
];

/// Returns a schema by name, in JSON Schema 2020-12.
pub fn schema(name: &str) -> Option<Json> {
    match name {
        "piece" => Some(of_table(name, &PIECE)),
        "agent" => Some(of_table(name, &AGENT)),
        "steps-registry" => Some(of_registry(name)),
        "steps-config" => Some(of_table(name, &CONFIG)),
        "hats" => Some(of_table(name, &ORCH)),
        "review-agent" => Some(of_table(name, &review::AGENT)),
        "settings" => Some(of_table(name, &SETTINGS)),
        "script" => Some(of_script()),
        "issue" => Some(of_table(name, &issues::ISSUE)),
        _ => name.strip_prefix("review/").and_then(OutputSchema::named).map(of_reply),
    }
}

/// Returns the reply schema of a review agent as providers receive it, plus `$schema` and a title.
fn of_reply(schema: OutputSchema) -> Json {
    let mut json = schema.json();
    json["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    json["title"] = json!(format!("Saihai: {}", schema.about()));
    json
}

fn of_table(name: &str, object: &'static Object) -> Json {
    let mut tables = Tables::default();
    let root = tables.kind(&Kind::Object(object));
    document(name, root, tables)
}

/// Accepts a mapping as a Saihai script and a list as a TAKT scenario. Like TAKT, it ignores
/// unknown keys of a scenario.
fn of_script() -> Json {
    let mut tables = Tables::default();
    let own = tables.kind(&Kind::Object(&SCRIPT));
    let scenario = json!({"type": "array", "items": tables.kind(&Kind::Object(&ENTRY))});
    let entry = tables.definition(&ENTRY);
    entry.remove("additionalProperties");
    entry.insert("required".to_owned(), json!(["content"]));
    document("script", json!({"anyOf": [own, scenario]}), tables)
}

/// Accepts steps with a flow, or only a list of prompts.
fn of_registry(name: &str) -> Json {
    let mut tables = Tables::default();
    let shapes = [&REGISTRY, &CATALOGUE].map(|object| tables.kind(&Kind::Object(object)));
    document(name, json!({"anyOf": shapes}), tables)
}

fn document(name: &str, mut root: Json, tables: Tables) -> Json {
    let about = SCHEMAS.iter().find(|(schema, _)| *schema == name).map(|(_, about)| *about);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!(format!("Saihai: {}", about.unwrap_or(name)));
    root["$defs"] = tables.into_definitions();
    root
}

#[cfg(test)]
mod tests;

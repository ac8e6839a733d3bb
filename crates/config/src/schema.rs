//! JSON Schemas of what this crate reads, made of the readers' own tables: what an editor underlines is what a reader
//! refuses. A schema knows keys and kinds only. What parts of a file say of each other is for the reader.

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

/// The schemas there are, each with what it describes.
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

/// The schema of that name, in JSON Schema 2020-12.
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

/// What a reviewer must reply, as it is sent to providers, with what a reader of the file wants to know.
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

/// A mapping is a script of ours, a list a scenario. TAKT reads over keys it does not know, and so do we.
fn of_script() -> Json {
    let mut tables = Tables::default();
    let own = tables.kind(&Kind::Object(&SCRIPT));
    let scenario = json!({"type": "array", "items": tables.kind(&Kind::Object(&ENTRY))});
    let entry = tables.definition(&ENTRY);
    entry.remove("additionalProperties");
    entry.insert("required".to_owned(), json!(["content"]));
    document("script", json!({"anyOf": [own, scenario]}), tables)
}

/// Steps with their flow, or only a list of prompts.
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

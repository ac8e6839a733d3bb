//! Settings of hachimoku in `pyproject.toml`, read as settings of reviews.

use std::sync::Arc;

use crate::diagnostic::{Area, Diagnostics};
use crate::document::{Document, Format, MapEntry, Node, Value};

/// File below the project root.
pub const PYPROJECT: &str = "pyproject.toml";

/// Keys with the same meaning: theirs, then ours.
const KEYS: [(&str, &str); 4] =
    [("base_branch", "base"), ("model", "model"), ("timeout", "timeout"), ("max_turns", "max_turns")];
const AGENT_KEYS: [&str; 4] = ["enabled", "model", "timeout", "max_turns"];

/// Returns true if the file may have settings of hachimoku. Other tools own the rest of the file, so its errors matter
/// only then.
pub fn names_hachimoku(content: &[u8]) -> bool {
    let name = b"hachimoku";
    content.windows(name.len()).any(|window| window == name)
}

/// Returns the table `[tool.hachimoku]` in the form of our settings file, with the places of its values.
pub(super) fn as_settings(content: &[u8], name: &str, diagnostics: &mut Diagnostics) -> Option<Document> {
    if !names_hachimoku(content) {
        return None;
    }
    let Document { file, root, .. } =
        Document::parse(content, Format::Toml, name, Area::Settings, diagnostics)?;
    let table = root.get("tool")?.get("hachimoku")?;
    let mut review: Vec<MapEntry> = Vec::new();
    for entry in entries(table) {
        let same = KEYS.iter().find(|(theirs, _)| *theirs == &*entry.key);
        match (&*entry.key, &entry.value.value) {
            ("parallel", Value::Bool(false)) => {
                let value = Node { value: Value::Integer(1), span: entry.value.span };
                review.push(renamed(entry, "concurrency", value));
            }
            ("agents", Value::Map(agents)) => {
                let agents = agents.iter().map(with_known_keys).collect();
                let value = Node { value: Value::Map(agents), span: entry.value.span };
                review.push(renamed(entry, "agents", value));
            }
            _ => review.extend(same.map(|(_, ours)| renamed(entry, ours, entry.value.clone()))),
        }
    }
    let span = table.span;
    let review = Node { value: Value::Map(review.into()), span };
    let review = MapEntry { key: Arc::from("review"), key_span: span, value: review };
    Some(Document { file, root: Node { value: Value::Map([review].into()), span }, others: Vec::new() })
}

/// Returns the keys of `[tool.hachimoku]` that Saihai does not have.
pub(crate) fn keys_without_effect(content: &[u8]) -> Vec<String> {
    if !names_hachimoku(content) {
        return Vec::new();
    }
    let document = Document::parse(content, Format::Toml, "", Area::Settings, &mut Diagnostics::new());
    let table = document.as_ref().and_then(|document| document.root.get("tool")?.get("hachimoku"));
    let mut without = Vec::new();
    for entry in table.into_iter().flat_map(entries) {
        match &*entry.key {
            "agents" => {
                for agent in entries(&entry.value) {
                    let unknown = entries(&agent.value).iter().filter(|one| !AGENT_KEYS.contains(&&*one.key));
                    without.extend(unknown.map(|one| format!("agents.{}.{}", agent.key, one.key)));
                }
            }
            "parallel" => {}
            key if KEYS.iter().any(|(theirs, _)| *theirs == key) => {}
            key => without.push(key.to_owned()),
        }
    }
    without
}

fn entries(node: &Node) -> &[MapEntry] {
    if let Value::Map(entries) = &node.value { entries } else { &[] }
}

fn renamed(entry: &MapEntry, key: &str, value: Node) -> MapEntry {
    MapEntry { key: Arc::from(key), key_span: entry.key_span, value }
}

fn with_known_keys(agent: &MapEntry) -> MapEntry {
    let Value::Map(keys) = &agent.value.value else { return agent.clone() };
    let known = keys.iter().filter(|entry| AGENT_KEYS.contains(&&*entry.key)).cloned().collect();
    renamed(agent, &agent.key, Node { value: Value::Map(known), span: agent.value.span })
}

//! Compares the published schemas with the manual: they accept every correct example.

use std::path::Path;

use saihai_config::{
    Area, Diagnostics, Dialect, DiskSource, Document, Format, Language, Origin, ProjectPaths, eject, list,
    schema,
};
use serde_json::Value as Json;

use crate::page::{Block, all_pages, blocks, examples, read};
use crate::{hats, pieces, reviews, scripts, settings};

/// Returns the violations of the schema `name` in a text.
fn complaints(name: &str, text: &str, format: Format) -> Vec<String> {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(text.as_bytes(), format, "example", Area::Piece, &mut diagnostics);
    let value: Json = document.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")).root.to_json();
    let schema = schema(name).expect("a schema of ours");
    let schema = saihai_json_schema::JsonSchema::compile(&schema).expect("a valid schema");
    schema.violations(&value, 10).iter().map(ToString::to_string).collect()
}

#[track_caller]
fn accepts_all(name: &str, format: Format, examples: &[&Block]) {
    assert!(examples.len() >= 5, "only {} examples of {name}", examples.len());
    for block in examples {
        let said = complaints(name, &block.text, format);
        assert!(said.is_empty(), "under {:?}: {said:#?}\n{}", block.heading, block.text);
    }
}

/// Codes about keys and kinds, which a schema can check. Some of the other codes are about unreadable texts.
const OF_KEYS: [&str; 4] = ["unknown-key", "missing-key", "bad-type", "duplicate-field"];

/// Checks that the schema rejects every example with wrong keys or kinds.
#[track_caller]
fn refuses_wrong_keys(name: &str, area: &str, format: Format, all: &[Block], info: &str) {
    let mut tried = 0;
    for slug in OF_KEYS {
        let code = format!("{area}/{slug}");
        for block in all.iter().filter(|block| block.heading == code && block.info == info) {
            tried += 1;
            assert!(!complaints(name, &block.text, format).is_empty(), "{code} is accepted:\n{}", block.text);
        }
    }
    assert!(tried >= 2, "only {tried} wrong examples of {name}");
}

fn of<'a>(blocks: &'a [Block], infos: &[&str]) -> Vec<&'a Block> {
    blocks.iter().filter(|block| infos.contains(&block.info.as_str())).collect()
}

#[test]
fn every_piece_of_the_manual_is_accepted_and_wrong_keys_are_not() {
    let reference = blocks(&read("docs/reference/piece.md"));
    accepts_all("piece", Format::Yaml, &of(&reference, &["yaml"]));
    let diagnostics = examples(&["piece", "workflow"]);
    accepts_all("piece", Format::Yaml, &of(&diagnostics, &["yaml right"]));
    refuses_wrong_keys("piece", "piece", Format::Yaml, &diagnostics, "yaml wrong");
}

// H-63
#[test]
fn every_hats_file_of_the_manual_is_accepted_and_wrong_keys_are_not() {
    let reference = blocks(&read("docs/reference/hats.md"));
    let diagnostics = examples(&["hats"]);
    // The schema does not cover the keys of ralph's files.
    let own = |block: &&Block| !block.text.contains("event_loop:") && !block.text.contains("cli:");
    let all = [of(&reference, &["yaml"]), of(&diagnostics, &["yaml right"])].concat();
    accepts_all("hats", Format::Yaml, &all.into_iter().filter(own).collect::<Vec<_>>());
    refuses_wrong_keys("hats", "hats", Format::Yaml, &diagnostics, "yaml wrong");
}

#[test]
fn every_settings_file_of_the_manual_is_accepted_and_wrong_keys_are_not() {
    let reference = blocks(&read("docs/reference/settings.md"));
    let diagnostics = examples(&["settings", "provider"]);
    let examples = [of(&reference, &["toml"]), of(&diagnostics, &["toml right"])].concat();
    accepts_all("settings", Format::Toml, &examples);
    refuses_wrong_keys("settings", "settings", Format::Toml, &diagnostics, "toml wrong");
}

#[test]
fn every_script_of_the_manual_is_accepted_and_wrong_keys_are_not() {
    for block in blocks(&read("docs/reference/script-files.md")) {
        let format = Format::of(Path::new("script").with_extension(&block.info).as_path());
        let said = complaints("script", &block.text, format);
        assert!(said.is_empty(), "under {:?}: {said:#?}", block.heading);
    }
    let diagnostics = examples(&["script"]);
    accepts_all("script", Format::Yaml, &of(&diagnostics, &["yaml right"]));
    refuses_wrong_keys("script", "script", Format::Yaml, &diagnostics, "yaml wrong");
}

#[test]
fn every_review_agent_of_the_manual_is_accepted_and_wrong_keys_are_not() {
    let diagnostics = examples(&["review"]);
    accepts_all("review-agent", Format::Toml, &of(&diagnostics, &["toml right"]));
    refuses_wrong_keys("review-agent", "review", Format::Toml, &diagnostics, "toml wrong");
}

/// Returns the schema for a file of the manual. Foreign files and dialects without a schema have none.
fn schema_of(path: &Path, text: &str) -> Option<&'static str> {
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    match path.extension()?.to_str()? {
        "toml" if path.ends_with(".saihai/config.toml") => Some("settings"),
        "toml" if path.parent().is_some_and(|parent| parent.ends_with("agents")) => Some("review-agent"),
        "yaml" | "yml" if has("script:") || text.starts_with(['-', '[']) => Some("script"),
        // The schema does not cover the keys of ralph's files.
        "yaml" | "yml" if has("event_loop:") || has("cli:") || has("core:") => None,
        "yaml" | "yml" if has("hats:") || path.ends_with("orch.yml") => Some("hats"),
        "yaml" | "yml" if has("movements:") || has("steps:") => Some("piece"),
        _ => None,
    }
}

/// Returns the reader's diagnostics about the keys of a file.
fn wrong_keys(name: &str, path: &Path, text: &str) -> Vec<String> {
    let found: Vec<String> = match name {
        "piece" => pieces::codes(&pieces::try_out(text, &[])),
        "hats" => pieces::codes(&hats::try_out("orch.yml", text, &[])),
        "settings" => settings::found(text),
        "review-agent" => reviews::found(text),
        _ => scripts::found(text, Format::of(path)),
    };
    // The reader refuses some keys by name; for the schema these are unknown keys.
    let slugs = || OF_KEYS.iter().chain(&["not-supported"]);
    found.into_iter().filter(|code| slugs().any(|slug| code.ends_with(&format!("/{slug}")))).collect()
}

// K-3: the schemas describe the files of the manual. If a guide shows a mistake, both schema and reader reject it.
#[test]
fn schema_and_reader_agree_on_every_file_of_the_manual() {
    let mut tried = [("piece", 0), ("hats", 0), ("settings", 0), ("script", 0), ("review-agent", 0)];
    for (page, text) in all_pages() {
        for block in blocks(&text) {
            let Some((_, path)) = block.info.split_once("file=") else { continue };
            let path = Path::new(path);
            let Some(name) = schema_of(path, &block.text) else { continue };
            let said = complaints(name, &block.text, Format::of(path));
            let found = wrong_keys(name, path, &block.text);
            assert_eq!(said.is_empty(), found.is_empty(), "{page}, {}: {said:#?} {found:?}", path.display());
            tried.iter_mut().filter(|(one, _)| *one == name).for_each(|(_, count)| *count += 1);
        }
    }
    assert!(tried.iter().all(|(_, count)| *count > 2), "{tried:?}");
}

#[test]
fn every_built_in_definition_is_accepted_and_a_misspelt_key_in_it_is_not() {
    let places = ProjectPaths { current: "/nowhere".into(), root: "/nowhere".into(), user: None, home: None };
    let all = list(&DiskSource, &places, Language::English);
    let built_in = all.iter().filter(|one| one.definition.origin == Origin::BuiltIn);
    let built_in: Vec<_> = built_in.filter(|one| one.definition.dialect != Dialect::Review).collect();
    assert!(!built_in.is_empty());
    for definition in built_in.iter().map(|one| &one.definition) {
        for language in [Language::English, Language::Japanese] {
            let text = eject(&DiskSource, &places, definition, language).unwrap().remove(0).text;
            let name = &definition.name;
            let (schema, key, misspelt) = match definition.dialect {
                Dialect::Hats => ("hats", "\nmax_iterations:", "\nmax_iteratons:"),
                Dialect::Steps => ("agent", "\"permissionMode\":", "\"permisionMode\":"),
                Dialect::Piece | Dialect::Review => ("piece", "\n    rules:", "\n    ruels:"),
            };
            assert_eq!(complaints(schema, &text, Format::Yaml), Vec::<String>::new(), "{name}");
            let misspelt = text.replacen(key, misspelt, 1);
            assert_ne!(misspelt, text);
            assert!(!complaints(schema, &misspelt, Format::Yaml).is_empty(), "{name}");
        }
    }
}

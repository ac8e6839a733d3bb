//! Loads the step agents of the manual: every wrong example gives its diagnostic.

use std::path::PathBuf;

use saihai_config::{
    Definition, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths, Settings, load,
};
use serde_json::{Map, Value as Json};

use crate::page::{blocks, read};
use crate::pieces::{check_definitions, codes};

const HOME: &str = "/p/.agent/tailor";

/// Returns the files of the reference's agent by name.
fn tailor() -> Map<String, Json> {
    let page = read("docs/reference/steps.md");
    let prefix = "file=.agent/tailor/";
    let files = blocks(&page).into_iter().filter_map(|block| {
        let name = block.info.split_once(' ')?.1.strip_prefix(prefix)?.to_owned();
        let is_json = name.ends_with(".json");
        let content =
            if is_json { serde_json::from_str(&block.text).expect("JSON") } else { block.text.into() };
        Some((name, content))
    });
    files.collect()
}

fn merge(into: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        into.clone_from(patch);
        return;
    };
    if !into.is_object() {
        *into = Json::Object(Map::new());
    }
    let Some(into) = into.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            into.remove(key);
        } else {
            merge(into.entry(key).or_insert(Json::Null), value);
        }
    }
}

fn try_out(example: &str) -> LoadedDefinition {
    let mut files = Json::Object(tailor());
    let mut example: Json =
        serde_json::from_str(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
    let values = example.as_object_mut().and_then(|example| example.remove("--set"));
    merge(&mut files, &example);
    let mut source = MemorySource::new([]);
    for (name, content) in files.as_object().expect("files") {
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        source.add(format!("{HOME}/{name}"), text);
    }
    let given = values.iter().flat_map(|values| values.as_array().expect("a list"));
    let given = given.map(|value| value.as_str().and_then(|text| text.split_once('=')).expect("NAME=VALUE"));
    let options = Options {
        values: given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        starts: values.is_some(),
        ..Options::default()
    };
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "tailor".to_owned(),
        dialect: Dialect::Steps,
        origin: Origin::Project,
        path: Some(PathBuf::from(format!("{HOME}/agent.json"))),
    };
    load(&source, &places, &definition, &options, &Settings::default())
}

// K-40
#[test]
fn the_examples_of_every_diagnostic_are_right_about_what_is_wrong() {
    check_definitions(&["steps"], "json", 60, try_out);
}

// S-8, section 8 of the format
#[test]
fn the_agent_of_the_reference_has_nothing_wrong_with_it() {
    let loaded = try_out("{}");
    assert_eq!(codes(&loaded), Vec::<String>::new());
    assert!(loaded.workflow.is_some());
}

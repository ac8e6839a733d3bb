//! Loads the examples of the settings reference.

use std::path::Path;

use saihai_config::{Diagnostics, MemorySource, SETTINGS, Settings, SettingsFrom, Severity, Variables};

use crate::page::{blocks, check_examples, read};

pub(crate) fn load(text: &str) -> Diagnostics {
    let source = MemorySource::new([("/u/config.toml", text)]);
    let variables = Variables::default();
    let from = SettingsFrom {
        root: Path::new("/p"),
        user: Some(Path::new("/u")),
        current: Path::new("/p"),
        variables: &variables,
        flags: &[],
        trust_project: false,
    };
    let mut diagnostics = Diagnostics::new();
    Settings::load(&source, &from, &mut diagnostics);
    diagnostics
}

pub(crate) fn found(text: &str) -> Vec<String> {
    load(text).iter().map(|diagnostic| diagnostic.code.to_string()).collect()
}

#[test]
fn every_example_of_the_reference_is_right() {
    let page = read("docs/reference/settings.md");
    let examples: Vec<_> = blocks(&page).into_iter().filter(|block| block.info == "toml").collect();
    assert!(examples.len() >= 3, "only {} examples", examples.len());
    for block in examples {
        let bad = load(&block.text).into_iter().find(|diagnostic| diagnostic.severity != Severity::Note);
        assert!(bad.is_none(), "under {:?}: {bad:?}", block.heading);
    }
}

// K-30
#[test]
fn every_setting_of_the_kernel_is_in_the_reference() {
    let page = read("docs/reference/settings.md");
    let mut missing = Vec::new();
    for field in
        SETTINGS.fields.iter().filter(|field| !["review", "work", "distributed"].contains(&field.name))
    {
        let inside = field.kind.object().or_else(|| field.kind.named_values().and_then(|kind| kind.object()));
        for name in
            inside.map_or(vec![field.name], |object| object.fields.iter().map(|inner| inner.name).collect())
        {
            if !page.contains(&format!("`{name}`")) && !page.contains(&format!(".{name}`")) {
                missing.push(format!("{}.{name}", field.name));
            }
        }
    }
    assert!(missing.is_empty(), "without a line: {missing:?}");
}

// K-40
#[test]
fn the_examples_of_every_diagnostic_are_right_about_what_is_wrong() {
    check_examples(&["settings", "provider"], "toml", 15, found);
}

//! The reference of settings, tried out.

use std::path::Path;

use saihai_config::{Diagnostics, MemorySource, SETTINGS, Settings, SettingsFrom, Severity, Variables};

use crate::page::{blocks, codes, read, slugs_of};

fn load(text: &str) -> Diagnostics {
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

fn found(text: &str) -> Vec<String> {
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

/// Codes whose cause is not the text of one settings file.
const OF_OTHERS: [&str; 6] = [
    "settings/too-large",
    "settings/missing-file",
    "settings/bad-file",
    "settings/untrusted",
    "provider/unknown-provider",
    "provider/no-price",
];

// K-40
#[test]
fn the_page_of_every_diagnostic_is_right_about_what_is_wrong() {
    let page = read("docs/reference/diagnostics.md");
    let blocks = blocks(&page);
    for code in codes(&page).into_iter().filter(|code| !code.starts_with("script/")) {
        let examples: Vec<_> = blocks.iter().filter(|block| block.heading == code).collect();
        let expected = if OF_OTHERS.contains(&code) { vec![] } else { vec!["toml wrong", "toml right"] };
        assert_eq!(examples.iter().map(|block| block.info.as_str()).collect::<Vec<_>>(), expected, "{code}");
        for block in examples {
            let found = found(&block.text);
            match block.info.as_str() {
                "toml wrong" => {
                    assert!(found.iter().all(|one| one == code) && !found.is_empty(), "{code}: {found:?}")
                }
                _ => assert!(found.is_empty(), "{code}: {found:?}"),
            }
        }
    }
}

// K-40: no code without its page
#[test]
fn every_code_of_settings_has_its_page() {
    let page = read("docs/reference/diagnostics.md");
    let pages = codes(&page);
    let used = slugs_of(&["settings"]);
    assert!(used.len() > 5, "only {used:?}");
    let known = |slug: &String| {
        ["settings", "provider"].iter().any(|area| pages.contains(format!("{area}/{slug}").as_str()))
    };
    let missing: Vec<&String> = used.iter().filter(|slug| !known(slug)).collect();
    assert!(missing.is_empty(), "without a page: {missing:?}");
}

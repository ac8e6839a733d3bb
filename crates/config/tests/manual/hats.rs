//! Loads the hats examples of the manual.

use std::path::Path;

use saihai_config::{
    Definition, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths, Settings, load,
};

use crate::page::{Block, blocks, read};
use crate::pieces::{check_definitions, codes};

/// Loads hats from a file called `name`.
pub(crate) fn try_out(name: &str, hats: &str, files: &[(&str, &str)]) -> LoadedDefinition {
    let path = Path::new("/p").join(name);
    let mut source = MemorySource::default();
    source.add(&path, hats);
    for (path, text) in files {
        source.add(Path::new("/p").join(path), *text);
    }
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "orch".to_owned(),
        dialect: Dialect::Hats,
        origin: Origin::Project,
        path: Some(path),
    };
    load(&source, &places, &definition, &Options::default(), &Settings::default())
}

#[test]
fn every_example_of_the_reference_of_hats_loads_without_errors_or_warnings() {
    let blocks = blocks(&read("docs/reference/hats.md"));
    let hats: Vec<&Block> = blocks.iter().filter(|block| block.info == "yaml").collect();
    assert!(hats.len() >= 3, "only {} examples", hats.len());
    for block in hats {
        let loaded = try_out("orch.yml", &block.text, &[]);
        assert_eq!(codes(&loaded), Vec::<String>::new(), "under {:?}", block.heading);
    }
}

/// Returns the keys in the first column of a section's table.
fn rows(section: &str) -> Vec<&str> {
    let page = read("docs/reference/hats.md");
    let page: &'static str = page.leak();
    let section = page.split(&format!("\n## {section}\n")).nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its end");
    let first = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    first.flat_map(|(cell, _)| cell.split(", ").map(|key| key.trim_matches('`'))).collect()
}

#[test]
fn the_reference_has_every_key_of_a_hats_file() {
    let own = |field: &&saihai_config::Field| !matches!(field.kind, saihai_config::ValueKind::Refused(_));
    let rows = rows("The file");
    // The reader warns about these keys, and the manual names them below the table.
    let idle = ["session", "version"];
    for field in saihai_config::ORCH.fields.iter().filter(own).filter(|field| !idle.contains(&field.name)) {
        assert!(rows.contains(&field.name), "`{}` is missing", field.name);
    }
    for key in rows {
        assert!(saihai_config::ORCH.find(key).is_some(), "`{key}` is no key");
    }
}

// H-63, H-64, K-40
#[test]
fn the_examples_of_every_diagnostic_of_hats_are_right_about_what_is_wrong() {
    check_definitions(&["hats"], "yaml", 50, |text| try_out("orch.yml", text, &[("notes.md/x", "")]));
}

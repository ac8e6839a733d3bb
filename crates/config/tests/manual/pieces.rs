//! Loads the piece examples of the manual. Every reference example loads, and every wrong example gives its diagnostic.

use std::path::{Path, PathBuf};

use saihai_config::{
    Definition, Dialect, LoadedDefinition, MemorySource, Options, Origin, ProjectPaths, Settings, Severity,
    load,
};

use crate::page::{Block, blocks, examples, read};

pub(crate) fn try_out(piece: &str, files: &[(&str, &str)]) -> LoadedDefinition {
    let mut source = MemorySource::new([("/p/.takt/pieces/example.yaml", piece)]);
    for (path, text) in files {
        source.add(Path::new("/p").join(path), *text);
    }
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "example".to_owned(),
        dialect: Dialect::Piece,
        origin: Origin::Project,
        path: Some(PathBuf::from("/p/.takt/pieces/example.yaml")),
    };
    load(&source, &places, &definition, &Options::default(), &Settings::default())
}

pub(crate) fn codes(loaded: &LoadedDefinition) -> Vec<String> {
    loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.to_string()).collect()
}

/// Checks the examples of definitions: a wrong one gives its diagnostic among others, a right one loads without it.
pub(crate) fn check_definitions(
    areas: &[&str],
    language: &str,
    more_than: usize,
    load: impl Fn(&str) -> LoadedDefinition,
) {
    let examples = examples(areas);
    assert!(examples.len() > more_than, "only {}", examples.len());
    for block in examples {
        let loaded = load(&block.text);
        let codes = codes(&loaded);
        let has = codes.contains(&block.heading);
        match block.info.strip_prefix(language) {
            Some(" wrong") => assert!(has, "{}: {codes:?}\n{}", block.heading, block.text),
            Some(" right") => {
                assert!(!has, "{} is still said\n{}", block.heading, block.text);
                assert!(loaded.workflow.is_some(), "{}: {codes:?}", block.heading);
            }
            Some(_) | None => panic!("an example is `wrong` or `right`, not {:?}", block.info),
        }
    }
}

#[test]
fn every_example_of_the_reference_loads_without_errors_or_warnings() {
    let blocks = blocks(&read("docs/reference/piece.md"));
    let files: Vec<(&str, &str)> = blocks
        .iter()
        .filter_map(|block| {
            let path = block.info.strip_prefix("markdown ").or(block.info.strip_prefix("yaml "))?;
            Some((path, block.text.as_str()))
        })
        .collect();
    let pieces: Vec<&Block> = blocks.iter().filter(|block| block.info == "yaml").collect();
    assert!(pieces.len() >= 5, "only {} examples", pieces.len());
    for block in pieces {
        let loaded = try_out(&block.text, &files);
        let bad = loaded.diagnostics.iter().find(|diagnostic| diagnostic.severity != Severity::Note);
        assert!(bad.is_none(), "under {:?}: {bad:?}\n{}", block.heading, block.text);
        assert!(loaded.workflow.is_some());
    }
}

// K-40
#[test]
fn the_examples_of_every_diagnostic_are_right_about_what_is_wrong() {
    let files = [(".takt/pieces/coder.md", "You write code.\n"), (".takt/pieces/blank.md", "\n")];
    check_definitions(&["piece", "workflow"], "yaml", 60, |text| try_out(text, &files));
}

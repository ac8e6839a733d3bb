//! Loads the examples of the script file reference.

use std::path::{Path, PathBuf};

use saihai_config::{
    Area, Definition, Diagnostics, Dialect, Document, Format, MemorySource, Options, Origin, ProjectPaths,
    Settings, load, read_script,
};
use saihai_model::Workflow;

use crate::page::{blocks, check_examples, read};

/// The workflow that the example scripts reply to.
const PIECE: &str = "name: example
movements:
  - name: plan
    rules:
      - {condition: done, next: implement}
      - {condition: unclear, next: plan, requires_user_input: true}
  - {name: implement, edit: true, rules: [{condition: done, next: reviewers}]}
  - name: reviewers
    parallel:
      - {name: security, rules: [{condition: ok}, {condition: bad}]}
      - {name: style, rules: [{condition: ok}, {condition: bad}]}
    rules: [{condition: 'all(\"ok\")', next: review}, {condition: 'any(\"bad\")', next: implement}]
  - {name: review, rules: [{condition: done, next: COMPLETE}]}
";

fn workflow() -> Workflow {
    let path = PathBuf::from("/p/.takt/pieces/example.yaml");
    let source = MemorySource::new([("/p/.takt/pieces/example.yaml", PIECE)]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "example".to_owned(),
        dialect: Dialect::Piece,
        origin: Origin::Project,
        path: Some(path),
    };
    let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
    loaded.workflow.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

pub(crate) fn found(text: &str, format: Format) -> Vec<String> {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(text.as_bytes(), format, "script", Area::Script, &mut diagnostics);
    if let Some(document) = document {
        diagnostics.append(read_script(&document, Some(&workflow())).1);
    }
    diagnostics.iter().map(|diagnostic| diagnostic.code.to_string()).collect()
}

#[test]
fn every_example_of_the_reference_is_right() {
    let page = read("docs/reference/script-files.md");
    let examples = blocks(&page);
    assert!(examples.len() >= 6, "only {} examples", examples.len());
    for block in examples {
        let format = Format::of(Path::new("script").with_extension(&block.info).as_path());
        let found = found(&block.text, format);
        assert!(found.is_empty(), "under {:?}: {found:?}", block.heading);
    }
}

// K-40
#[test]
fn the_examples_of_every_diagnostic_are_right_about_what_is_wrong() {
    check_examples(&["script"], "yaml", 20, |text| found(text, Format::Yaml));
}

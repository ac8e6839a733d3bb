//! The reference of script files, tried out.

use std::path::{Path, PathBuf};

use saihai_config::{
    Area, Definition, Diagnostics, Dialect, Document, Format, MemorySource, Options, Origin, Places,
    Settings, load, read_script,
};
use saihai_model::Workflow;

use crate::page::{blocks, codes, read, slugs_of};

/// The workflow the examples are for.
const PIECE: &str = "name: example
movements:
  - {name: plan, rules: [{condition: done, next: implement}]}
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
    let places = Places { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "example".to_owned(),
        dialect: Dialect::Piece,
        origin: Origin::Project,
        path: Some(path),
    };
    let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
    loaded.workflow.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn found(text: &str, format: Format) -> Vec<String> {
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

/// Codes whose cause is not the text of one script.
const OF_FILES: [&str; 3] = ["script/too-large", "script/missing-file", "script/bad-file"];

// K-40
#[test]
fn the_page_of_every_diagnostic_is_right_about_what_is_wrong() {
    let page = read("docs/reference/diagnostics.md");
    let blocks = blocks(&page);
    for code in codes(&page).into_iter().filter(|code| code.starts_with("script/")) {
        let examples: Vec<_> = blocks.iter().filter(|block| block.heading == code).collect();
        let expected = if OF_FILES.contains(&code) { vec![] } else { vec!["yaml wrong", "yaml right"] };
        assert_eq!(examples.iter().map(|block| block.info.as_str()).collect::<Vec<_>>(), expected, "{code}");
        for block in examples {
            let found = found(&block.text, Format::Yaml);
            match block.info.as_str() {
                "yaml wrong" => {
                    assert!(found.iter().all(|one| one == code) && !found.is_empty(), "{code}: {found:?}")
                }
                _ => assert!(found.is_empty(), "{code}: {found:?}"),
            }
        }
    }
}

// K-40: no code without its page
#[test]
fn every_code_of_scripts_has_its_page() {
    let page = read("docs/reference/diagnostics.md");
    let pages = codes(&page);
    let mut used = slugs_of(&["script"]);
    // What the readers of texts and tables say, they say of scripts too.
    used.extend(slugs_of(&["document", "fields"]));
    assert!(used.len() > 10, "only {used:?}");
    let missing: Vec<&String> =
        used.iter().filter(|slug| !pages.contains(format!("script/{slug}").as_str())).collect();
    assert!(missing.is_empty(), "without a page: {missing:?}");
}

//! Loads the examples of the issue reference.

use std::path::Path;

use saihai_config::issues::load_folder;
use saihai_config::{Diagnostics, MemorySource};

use crate::page::{blocks, check_examples, read};

const FOLDER: &str = "/p/.saihai/issues";

/// Returns the codes of all diagnostics for a folder.
///
/// In `text`, each file starts with `==> NAME`, and each link is `==> NAME -> TARGET`.
fn found(text: &str) -> Vec<String> {
    let mut source = MemorySource::new([("/home/me/notes.md", "# Notes\n")]);
    for file in text.split("==> ").skip(1) {
        let (head, content) = file.split_once('\n').expect("a line with a name");
        match head.split_once(" -> ") {
            Some((name, target)) => {
                source.link(format!("{FOLDER}/{name}"), target);
                source.add(format!("{FOLDER}/.keep"), "");
            }
            None => source.add(format!("{FOLDER}/{head}"), content),
        }
    }
    let mut diagnostics = Diagnostics::new();
    load_folder(&source, Path::new(FOLDER), ".saihai/issues", &mut diagnostics);
    diagnostics.iter().map(|diagnostic| diagnostic.code.to_string()).collect()
}

// K-40
#[test]
fn the_examples_of_every_diagnostic_are_right_about_what_is_wrong() {
    check_examples(&["work"], "text", 20, found);
}

#[test]
fn the_issue_of_the_reference_is_one() {
    let page = read("docs/reference/issues.md");
    let first = blocks(&page).into_iter().find(|block| block.info == "markdown").expect("an example");
    assert_eq!(found(&format!("==> 7-login.md\n{}", first.text)), Vec::<String>::new());
}

//! The manual's examples do what the manual says. `SAIHAI_MANUAL=update cargo test -p saihai-tests manual` writes what they
//! really do into the pages; read the difference before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use saihai_tests::{Page, Project, updated};

use crate::support::PROGRAM;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut pages = vec![root.join("README.md")];
    pages.extend(Some(root.join("README.ja.md")).filter(|page| page.exists()));
    let mut open = vec![root.join("docs")];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("the manual") {
            let path = entry.expect("a page").path();
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(extension) if extension == "md" => pages.push(path),
                _ => {}
            }
        }
    }
    pages
}

#[test]
fn every_tested_example_of_the_manual_is_true() {
    let mut commands = 0;
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if std::env::var_os("SAIHAI_MANUAL").is_some() {
            let real = updated(&text, &Project::new(PROGRAM)).unwrap_or_else(|what| panic!("{what}"));
            fs::write(&path, real).expect("a page of the manual");
            continue;
        }
        let page = Page::parse(&path.display().to_string(), &text);
        let project = Project::new(PROGRAM);
        page.run(&project).unwrap_or_else(|what| panic!("{what}"));
        commands += page.commands();
    }
    let updating = std::env::var_os("SAIHAI_MANUAL").is_some();
    assert!(commands > 0 || updating, "the manual has examples");
}

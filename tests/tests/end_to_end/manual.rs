//! Runs the manual's examples and compares their output with the pages.
//! `SAIHAI_MANUAL=update cargo test -p saihai-tests manual` writes the real output into the pages.
//! Review the difference before you commit.

use std::fs;
use std::path::{Path, PathBuf};

use saihai_config::Dialect;
use saihai_tests::{Example, Page, Project, updated};

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
fn no_page_holds_two_versions_of_itself() {
    let marks = ["<<<<<<< ", ">>>>>>> "];
    for path in pages() {
        let text = std::fs::read_to_string(&path).expect("a page");
        let left = text.lines().position(|line| marks.iter().any(|mark| line.starts_with(mark)));
        assert_eq!(left, None, "{}", path.display());
    }
}

// U-25
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

// K-40: diagnostics that need more than one file; the config crate's tests cover the others
#[test]
fn every_example_of_a_diagnostic_that_is_a_command_is_true() {
    let (mut tried, mut untrue) = (0, Vec::new());
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for example in Example::all(&path.display().to_string(), &text) {
            untrue.extend(example.run(&Project::new(PROGRAM)).err());
            tried += 1;
        }
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n\n"));
    assert!(tried >= 20, "only {tried}");
}

// U-24: one page, which recommends pieces, names every format, and is linked where people start.
#[test]
fn the_page_on_formats_recommends_pieces_and_its_example_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let read =
        |page: &str| fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let page = read("docs/guides/which-format.md");
    assert!(page.starts_with("# Which format?\n\n**Write a piece.** "), "{page}");
    assert!(page.lines().count() <= 100, "a page of {} lines", page.lines().count());
    for start in ["README.md", "docs/README.md", "docs/SUMMARY.md"] {
        assert!(read(start).contains("guides/which-format.md)"), "{start}");
    }
    let (_, rows) = page.split_once("| format | ").expect("the table of formats");
    for dialect in Dialect::ALL {
        let format = match dialect {
            Dialect::Piece => "piece",
            Dialect::Hats => "hats",
            Dialect::Steps => "step agent",
            Dialect::Review => "review agent",
        };
        assert!(rows.contains(&format!("\n| [{format}](")), "{format}");
    }
    let (_, example) = page.split_once("```yaml\n").expect("an example");
    let (example, _) = example.split_once("```").expect("the end of the example");
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/fix.yaml", example);
    project.saihai(["check", "fix"]).run().exits(0);
}

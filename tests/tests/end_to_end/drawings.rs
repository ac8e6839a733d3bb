//! The manual's drawings equal the output of `saihai graph`.
//! `SAIHAI_MANUAL=update cargo test -p saihai-tests drawings` redraws them; review them before you commit.

use std::fs;
use std::path::{Path, PathBuf};

use saihai_tests::Project;
use serde_json::Value as Json;

use crate::support::PROGRAM;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

fn draw(project: &Project, name: &str, language: &str) -> String {
    let graph = project.saihai(["graph", name, "--format", "svg"]).env("SAIHAI_LANGUAGE", language);
    graph.run().exits(0).stdout
}

fn check(file: &str, drawn: &str) {
    let path = root().join("docs/graphs").join(file);
    if std::env::var_os("SAIHAI_MANUAL").is_some() {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory for drawings");
        fs::write(&path, drawn).expect("a drawing of the manual");
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(kept == drawn, "docs/graphs/{file} is out of date: draw it anew with SAIHAI_MANUAL=update");
}

/// Returns the names of the built-in definitions of one dialect.
fn built_in(project: &Project, dialect: &str) -> Vec<String> {
    let listed = project.saihai(["list", "--json"]).run().exits(0).stdout;
    let names = listed.lines().map(|line| serde_json::from_str::<Json>(line).expect("it is JSON"));
    let names: Vec<String> = names
        .filter(|one| one["dialect"] == dialect)
        .map(|one| one["name"].as_str().expect("a name").to_owned())
        .collect();
    assert!(names.len() > 1, "{listed}");
    names
}

#[test]
fn every_built_in_piece_and_agent_is_drawn_in_the_manual() {
    let project = Project::new(PROGRAM);
    for (dialect, page) in [("piece", "built-in-pieces.md"), ("steps", "built-in-agents.md")] {
        let page = fs::read_to_string(root().join("docs/reference").join(page)).expect("the page");
        for name in built_in(&project, dialect) {
            check(&format!("{name}.svg"), &draw(&project, &name, "en"));
            assert!(page.contains(&format!("](../graphs/{name}.svg)")), "{name} is not shown");
        }
    }
}

// S-72: every path through a built-in definition ends.
#[test]
fn every_built_in_agent_is_rehearsed_on_all_its_paths() {
    let project = Project::new(PROGRAM);
    for name in built_in(&project, "steps") {
        for language in ["en", "ja"] {
            let rehearse = project.saihai(["rehearse", &name, "The issue."]).env("SAIHAI_LANGUAGE", language);
            let said = rehearse.run().exits(0).stdout;
            assert!(said.contains("every exit taken"), "{name}: {said}");
            assert!(said.contains("completed: Flow completed at"), "{name}: {said}");
        }
    }
}

#[test]
fn every_preset_of_hats_is_rehearsed_to_its_completion_on_all_its_paths() {
    let project = Project::new(PROGRAM);
    for name in ["hats:simple", "hats:tdd", "hats:spec-driven"] {
        for language in ["en", "ja"] {
            let rehearse = project.saihai(["rehearse", name, "The task."]).env("SAIHAI_LANGUAGE", language);
            let said = rehearse.run().exits(0).stdout;
            assert!(said.contains("every exit taken"), "{name}: {said}");
            let ends = said.lines().skip_while(|line| !line.contains("every exit taken")).skip(1);
            assert!(
                ends.clone().count() > 0 && ends.clone().all(|end| end.ends_with("completed: complete")),
                "{name}: {said}"
            );
        }
    }
}

#[test]
fn both_readmes_show_what_default_does() {
    let project = Project::new(PROGRAM);
    check("default.ja.svg", &draw(&project, "default", "ja"));
    for (page, drawing) in [("README.md", "default.svg"), ("README.ja.md", "default.ja.svg")] {
        let text = fs::read_to_string(root().join(page)).expect("a readme");
        assert!(text.contains(&format!("](docs/graphs/{drawing})")), "{page}");
        let first = text.lines().find(|line| line.starts_with("cargo ")).expect("a command");
        assert!(first.starts_with("cargo run --release -- demo"), "{page}: {first}");
    }
}

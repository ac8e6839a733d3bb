//! The manual's drawings equal the output of `saihai graph`.
//! `SAIHAI_MANUAL=update cargo test -p saihai-tests drawings` redraws them; review them before you commit.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use saihai_tests::{Project, StyledCharacter, Terminal, picture, styled_screen};
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
            // Each end has a line, and its path the next one.
            let ends = said.lines().skip_while(|line| !line.contains("every exit taken")).skip(1).step_by(2);
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

/// The run in the demo, as its terminal shows it, with names that do not change.
fn demo_picture() -> String {
    let project = Project::new(PROGRAM);
    let demo = project.saihai(["demo"]).without_env("NO_COLOR").env("TERM", "xterm-256color");
    let (code, text) = Terminal::start_with_columns(demo, 80).finish();
    assert_eq!(code, Some(0), "{text}");
    let steady = |pattern: &str, text: &str, with: &str| {
        Regex::new(pattern).expect("a pattern").replace_all(text, with).into_owned()
    };
    // Notifications are not on the screen.
    let text = steady("\u{1b}\\][^\u{7}\u{1b}]*(\u{7}|\u{1b}\\\\)|\u{7}", &text, "");
    let text = steady(r"\d{8}-\d{6}-demo", &text, "20260206-085600-demo");
    let text = steady(r"saihai-demo-\w{6}", &text, "saihai-demo-aBcDeF");
    let plain = |line: &[StyledCharacter]| line.iter().map(|(letter, _)| *letter).collect::<String>();
    let run: Vec<_> = styled_screen(&text)
        .into_iter()
        .skip_while(|line| !plain(line).starts_with("run "))
        .take_while(|line| !plain(line).starts_with("reports in"))
        .collect();
    assert!(run.len() > 30, "{text}");
    picture("saihai demo", 80, &run)
}

// U-22
#[test]
fn both_readmes_show_the_demo_as_it_is() {
    let drawn = demo_picture();
    let path = root().join("docs/graphs/demo.svg");
    if std::env::var_os("SAIHAI_MANUAL").is_some() {
        fs::write(&path, &drawn).expect("the picture");
    }
    let kept = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // How long a turn took differs from run to run, and so do the places after it.
    let times = Regex::new(r"\d+ m?s\b|\d+\.\d+").expect("a pattern");
    let steady = |svg: &str| times.replace_all(svg, "…").into_owned();
    assert!(
        steady(&kept) == steady(&drawn),
        "docs/graphs/demo.svg is out of date: run SAIHAI_MANUAL=update cargo test -p saihai-tests drawings"
    );
    for page in ["README.md", "README.ja.md"] {
        let text = fs::read_to_string(root().join(page)).expect("a readme");
        assert!(text.contains("](docs/graphs/demo.svg)"), "{page}");
    }
}

//! Applies the workspace's rules. The tests in `src/tidy/` show that each rule can fail.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use saihai_tests::tidy::{self, Metadata, assert_none};
use xtask::requirement::{self, Id};
use xtask::source::{self, Source};

static SOURCES: LazyLock<Vec<Source>> =
    LazyLock::new(|| source::read_all(&source::root()).expect("our own sources"));
static METADATA: LazyLock<Metadata> = LazyLock::new(|| Metadata::of_workspace().expect("cargo metadata"));

#[test]
fn the_sources_are_found() {
    assert!(SOURCES.iter().any(|source| source.path.ends_with("crates/engine/src/lib.rs")));
    assert!(SOURCES.iter().any(|source| source.path.ends_with("tests/tests/tidy.rs")));
}

// C-1, C-3; C-5: the provider layer does not depend on definitions
#[test]
fn crates_depend_on_each_other_as_drawn() {
    let architecture = std::fs::read_to_string(source::root().join("ARCHITECTURE.md")).unwrap();
    assert_none(&tidy::edges_are_as_drawn(&METADATA, &architecture));
}

// C-1
#[test]
fn pure_crates_build_without_tokio() {
    assert_none(&tidy::pure_crates_build_without_tokio(&METADATA));
}

// C-1, C-6, S-23
#[test]
fn pure_layers_touch_nothing_outside() {
    assert_none(&tidy::pure_layers_touch_nothing(&SOURCES));
}

#[test]
fn files_are_chapters() {
    assert_none(&tidy::files_are_chapters(&SOURCES));
}

#[test]
fn nothing_unfinished_is_left() {
    assert_none(&tidy::nothing_unfinished_is_left(&SOURCES));
}

#[test]
fn suites_left_out_are_linted() {
    let read = |path: &str| std::fs::read_to_string(source::root().join(path)).unwrap();
    assert_none(&tidy::suites_left_out_are_linted(&read("tests/Cargo.toml"), &read(".ci/run")));
}

#[test]
fn comments_are_plain() {
    assert_none(&tidy::comments_are_plain(&SOURCES));
}

#[test]
fn strings_are_plain() {
    assert_none(&tidy::strings_are_plain(&SOURCES));
}

#[test]
fn messages_are_not_parsed() {
    assert_none(&tidy::messages_are_not_parsed(&SOURCES));
}

#[test]
fn dialects_stay_in_configuration() {
    assert_none(&tidy::dialects_stay_in_configuration(&SOURCES));
}

// C-2: together with the edges above, by which the connection layer depends on the model only
#[test]
fn vendors_stay_in_their_modules() {
    assert_none(&tidy::vendors_stay_in_their_modules(&SOURCES));
}

// T-6
#[test]
fn tests_name_only_requirements_that_exist() {
    let areas = requirement::read_all(&source::root().join("docs/requirements")).unwrap();
    let known: BTreeSet<Id> = areas.iter().flat_map(|area| &area.requirements).map(|one| one.id).collect();
    let test_lines = SOURCES.iter().filter(|source| !source.path.starts_with("xtask")).flat_map(|source| {
        source.lines().into_iter().filter(|line| line.is_test).map(move |line| (source, line))
    });
    let strays: Vec<String> = test_lines
        .flat_map(|(source, line)| {
            xtask::mentions::in_line(line.text).into_iter().map(move |id| (source, line, id))
        })
        .filter(|(_, _, id)| !known.contains(id))
        .map(|(source, line, id)| format!("{}:{}: {id}", source.path.display(), line.number))
        .collect();
    assert_eq!(strays, [""; 0], "named by tests, but no requirement");
}

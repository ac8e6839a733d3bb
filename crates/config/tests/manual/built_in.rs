//! Compares the manual's page of built-in pieces with the built-in definitions.

use saihai_config::{Dialect, Language, MemorySource, Options, Origin, ProjectPaths, Settings, list, load};
use saihai_model::{Activity, Stage, Workflow};

use crate::page::read;

/// Returns the built-in pieces by name.
fn built_in() -> Vec<(String, Workflow)> {
    let source = MemorySource::new([("/p/README.md", "")]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definitions = list(&source, &places, Language::English).into_iter().map(|listed| listed.definition);
    definitions
        .filter(|definition| definition.origin == Origin::BuiltIn && definition.dialect == Dialect::Piece)
        .map(|definition| {
            let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
            (definition.name, loaded.workflow.expect("what is built in has no errors"))
        })
        .collect()
}

/// Splits a page into its sections, each with its title. Skips the text above the first section.
fn sections(page: &str) -> Vec<(&str, &str)> {
    page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n')).collect()
}

/// Returns the movements in the first column of a section's table.
fn rows(section: &str) -> Vec<&str> {
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

fn is_movement(stage: &Stage) -> bool {
    !stage.aside && matches!(stage.does, Activity::Turns { .. })
}

#[test]
fn every_built_in_piece_has_a_section_with_all_its_movements() {
    let page = read("docs/reference/built-in-pieces.md");
    let sections = sections(&page);
    for (name, workflow) in built_in() {
        let (_, section) =
            sections.iter().find(|(title, _)| *title == name).unwrap_or_else(|| panic!("no {name}"));
        let movements: Vec<&str> = workflow
            .stages
            .iter()
            .filter(|(_, stage)| is_movement(stage))
            .map(|(id, _)| id.as_str())
            .collect();
        assert_eq!(rows(section), movements, "{name}");
        let siblings = workflow.stages.values().map(Stage::turns).filter(|turns| turns.len() > 1).flatten();
        for turn in siblings {
            assert!(section.contains(&format!("`{}`", turn.id)), "{name} has `{}`", turn.id);
        }
        let limit = format!("At most {} iterations", workflow.limits.rounds.expect("a piece has a limit"));
        assert!(section.replace('\n', " ").contains(&limit), "{name}: {limit}");
    }
}

#[test]
fn the_page_tells_which_built_in_pieces_change_files() {
    let page = read("docs/reference/built-in-pieces.md");
    for (name, workflow) in built_in() {
        let mut turns = workflow.stages.values().flat_map(Stage::turns);
        let changes = if turns.any(|turn| turn.permission.name() != "readonly") { "yes" } else { "no" };
        let row = page.lines().find(|line| line.starts_with(&format!("| [`{name}`](#{name}) |")));
        let row = row.unwrap_or_else(|| panic!("no row of {name}"));
        assert!(row.ends_with(&format!("| {changes} |")), "{row}");
    }
}

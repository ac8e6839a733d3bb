//! The manual's tables of keys come from the readers' own tables.
//!
//! A line `<!-- keys of a movement -->` marks the table of the object with that title.
//! `SAIHAI_MANUAL=update cargo test -p saihai-config --test manual` rewrites all tables.

use std::collections::BTreeMap;
use std::path::Path;

use saihai_config::{
    AGENT, AGENT_CONFIG, CATALOGUE, Field, Object, PIECE, REGISTRY, SETTINGS, ValueKind, issues, review,
};

use crate::page::read;

/// Keys with their own section in the manual.
const SECTIONS: [(&str, &str); 13] = [
    ("movements", "movements"),
    ("progress", "progress"),
    ("loop_monitors", "loop-monitors"),
    ("instruction_template", "templates"),
    ("agent", "texts-and-files"),
    ("edit", "permission"),
    ("report", "reports"),
    ("rules", "rules"),
    ("parallel", "parallel-movements"),
    ("session", "sessions"),
    ("provider", "providers"),
    ("run", "programs"),
    ("shell", "checks-of-the-settings"),
];

/// Collects an object and all objects below it, by title.
fn tables(object: &'static Object, found: &mut BTreeMap<&'static str, &'static Object>) {
    if found.insert(object.title, object).is_none() {
        for field in object.fields {
            below(field.form.as_ref().unwrap_or(&field.kind), found);
        }
    }
}

fn below(kind: &ValueKind, found: &mut BTreeMap<&'static str, &'static Object>) {
    match kind {
        ValueKind::Object(object) => tables(object, found),
        ValueKind::List(kind) | ValueKind::Filled(kind) | ValueKind::Map(kind) | ValueKind::Single(kind) => {
            below(kind, found)
        }
        ValueKind::Either(kinds) => kinds.iter().for_each(|kind| below(kind, found)),
        ValueKind::Text
        | ValueKind::Path
        | ValueKind::Bool
        | ValueKind::Integer { .. }
        | ValueKind::Number { .. }
        | ValueKind::Duration { .. }
        | ValueKind::OneOf(_)
        | ValueKind::Any
        | ValueKind::Refused(_) => {}
    }
}

fn table(object: &Object) -> String {
    let rows = object.fields.iter().filter(|field| !field.is_refused()).map(row);
    format!("| key (newer spelling) | value | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
}

fn row(field: &Field) -> String {
    let aliases: Vec<String> = field.aliases.iter().map(|alias| format!("`{alias}`")).collect();
    let aliases = if aliases.is_empty() { String::new() } else { format!(" ({})", aliases.join(", ")) };
    let mut value = match field.name {
        // Variables are never files.
        "env" => "names with their texts".to_owned(),
        _ => words(field.form.as_ref().unwrap_or(&field.kind)),
    };
    if field.required {
        value.push_str(", required");
    }
    if let Some(default) = field.default {
        value.push_str(&format!(", default `{}`", default.trim_matches('"')));
    }
    let section = SECTIONS.iter().find(|(name, _)| *name == field.name);
    let section = section.map(|(_, section)| format!(" ([more](#{section}))")).unwrap_or_default();
    format!("| `{}`{aliases} | {value} | {}{section} |\n", field.name, field.about)
}

fn words(kind: &ValueKind) -> String {
    match kind {
        ValueKind::Integer { min, max } => format!("{min} – {max}"),
        ValueKind::List(ValueKind::Object(_)) => "list".to_owned(),
        ValueKind::Filled(ValueKind::Object(_)) => "list of at least one".to_owned(),
        ValueKind::Filled(_) => format!("{}, at least one", kind.describe()),
        ValueKind::Map(ValueKind::Object(_)) => "names with their values".to_owned(),
        ValueKind::Map(_) => "names with their texts or files".to_owned(),
        ValueKind::Either([ValueKind::Object(_), ..]) => "a mapping".to_owned(),
        ValueKind::Either([ValueKind::OneOf(["off"]), ValueKind::Object(_)]) => {
            "`off` or a mapping".to_owned()
        }
        ValueKind::Either(kinds) if kinds.iter().any(|kind| kind.object().is_some()) => {
            "a file name, `{name, format}`, or a list".to_owned()
        }
        ValueKind::Text
        | ValueKind::Path
        | ValueKind::Bool
        | ValueKind::Number { .. }
        | ValueKind::Duration { .. }
        | ValueKind::OneOf(_)
        | ValueKind::List(_)
        | ValueKind::Single(_)
        | ValueKind::Object(_)
        | ValueKind::Either(_)
        | ValueKind::Any
        | ValueKind::Refused(_) => kind.describe(),
    }
}

/// Returns the page with every marked table up to date, and the titles of these tables.
fn with_tables(page: &str, known: &BTreeMap<&'static str, &'static Object>) -> (String, Vec<String>) {
    let (mut text, mut shown) = (String::new(), Vec::new());
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let title = line.strip_prefix("<!-- keys of ").and_then(|rest| rest.strip_suffix(" -->"));
        let Some(title) = title else { continue };
        let object =
            known.get(title).unwrap_or_else(|| panic!("nothing is called {title:?}: {:?}", known.keys()));
        shown.push(title.to_owned());
        while lines.next_if(|line| line.starts_with('|') || line.is_empty()).is_some() {}
        text.push('\n');
        text.push_str(&table(object));
        text.push('\n');
    }
    (text, shown)
}

/// Compares a page with the tables of `roots`. The page must show each of `titles`.
fn check(path: &str, roots: &[&'static Object], titles: &[&str]) {
    let mut known = BTreeMap::new();
    roots.iter().for_each(|root| tables(root, &mut known));
    let page = read(path);
    let (right, shown) = with_tables(&page, &known);
    for title in titles {
        assert!(shown.iter().any(|one| one == title), "{title} has no table");
    }
    if std::env::var_os("SAIHAI_MANUAL").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        std::fs::write(file, right).expect("a page of the manual");
        return;
    }
    assert!(page == right, "{path} is out of date: SAIHAI_MANUAL=update writes its tables again");
}

// P-10, P-11
#[test]
fn the_keys_of_pieces_are_shown_as_they_are_read() {
    let titles =
        ["a piece", "a movement", "a rule", "a report", "a loop monitor", "a judge", "a judge's rule"];
    check("docs/reference/piece.md", &[&PIECE], &titles);
}

// S-7, S-8, S-18
#[test]
fn the_keys_of_step_agents_are_shown_as_they_are_read() {
    let titles = ["an agent", "`behavior`", "a parameter", "`actions`", "a registry", "a step", "a check"];
    check("docs/reference/steps.md", &[&AGENT, &REGISTRY, &CATALOGUE, &AGENT_CONFIG], &titles);
}

//
#[test]
fn the_keys_of_review_agents_are_shown_as_they_are_read() {
    let titles = ["a review agent", "`applicability`"];
    check("docs/guides/writing-a-reviewer.md", &[&review::AGENT], &titles);
}

#[test]
fn the_keys_of_issues_and_of_working_on_them_are_shown_as_they_are_read() {
    check("docs/reference/issues.md", &[&issues::ISSUE], &["an issue"]);
    check("docs/reference/settings.md", &[&SETTINGS], &["`work`"]);
}

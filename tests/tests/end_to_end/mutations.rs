//! Saihai never silently ignores a single mistake in an example definition.

use std::fs;
use std::path::PathBuf;

use saihai_config::LoadedDefinition;

use crate::support::{Chance, lowered};

/// Returns the built-in pieces and the piece of the oldest golden run.
fn examples() -> Vec<String> {
    let root = xtask::source::root();
    let built_in =
        fs::read_dir(root.join("crates/config/src/definition/builtin")).expect("built-in definitions");
    let paths = built_in.map(|entry| entry.expect("a definition").path());
    let golden = root.join("tests/golden/0.1.0/piece/definition.yaml");
    let is_definition = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "yaml");
    let mut paths: Vec<PathBuf> = paths.filter(is_definition).chain([golden]).collect();
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).expect("a definition"));
    texts.filter(|text| text.contains("\nmovements:")).collect()
}

/// Keys of pieces in the examples; any other word with a colon is text.
const KEYS: [&str; 20] = [
    "name",
    "description",
    "max_iterations",
    "movements",
    "personas",
    "loop_monitors",
    "agent",
    "edit",
    "report",
    "format",
    "instruction_template",
    "rules",
    "condition",
    "next",
    "appendix",
    "parallel",
    "cycle",
    "threshold",
    "judge",
    "requires_user_input",
];

/// A key and its position in a text.
#[derive(Debug, Clone, Copy)]
struct Key<'a> {
    start: usize,
    name: &'a str,
}

/// A change to a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
    Dropped,
    Misspelt,
    Doubled,
    Retyped,
    Broken,
}

const MUTATIONS: [Mutation; 5] =
    [Mutation::Dropped, Mutation::Misspelt, Mutation::Doubled, Mutation::Retyped, Mutation::Broken];

fn keys(text: &str) -> Vec<Key<'_>> {
    let starts_word = |at: usize| text[..at].chars().next_back().is_none_or(|before| " {\n".contains(before));
    let at_key = |at: usize| {
        let name = KEYS
            .iter()
            .find(|key| text[at..].strip_prefix(**key).is_some_and(|rest| rest.starts_with(':')))?;
        starts_word(at).then_some(Key { start: at, name })
    };
    text.char_indices().filter_map(|(at, _)| at_key(at)).collect()
}

/// Applies the mutation at a key; `None` if it makes no sense there.
fn mutated(text: &str, key: Key<'_>, mutation: Mutation) -> Option<String> {
    let (before, rest) = text.split_at(key.start);
    let after_name = &rest[key.name.len()..];
    let line = after_name.find('\n').unwrap_or(after_name.len());
    // In `{a: b, c: d}`, a value ends at the comma or the brace.
    let in_braces = before.rsplit('\n').next().is_some_and(|start| start.contains('{'));
    let value_end = if in_braces { after_name.find([',', '}'])? } else { line };
    let value = after_name[1..value_end].trim();
    let end = &after_name[value_end..];
    match mutation {
        Mutation::Dropped if in_braces => Some(format!("{before}{}", end.trim_start_matches([',', ' ']))),
        Mutation::Dropped => None,
        Mutation::Misspelt => Some(format!("{before}{}x{after_name}", key.name)),
        Mutation::Doubled if in_braces => Some(format!("{before}{0}: {value}, {0}: {value}{end}", key.name)),
        Mutation::Doubled => None,
        Mutation::Retyped if value.is_empty() || value == "|" => None,
        Mutation::Retyped => Some(format!("{before}{}: [[]]{end}", key.name)),
        Mutation::Broken if key.name == "next" => Some(format!("{before}next: {value}q{end}")),
        Mutation::Broken => None,
    }
}

/// Returns whether every diagnostic names the file and the position.
fn is_located(loaded: &LoadedDefinition) -> bool {
    loaded.diagnostics.iter().all(|one| one.location.as_ref().is_some_and(|at| at.start().is_some()))
}

#[test]
fn t95_a_definition_with_one_mistake_is_the_same_or_refused_with_its_place() {
    let mut chance = Chance::new(95);
    let mut tried = 0;
    for text in &examples() {
        let original = lowered(text);
        assert!(original.workflow.is_some(), "{text}\n{:?}", original.diagnostics);
        let keys = keys(text);
        for _ in 0..200 {
            let key = keys[chance.below(keys.len())];
            let mutation = MUTATIONS[chance.below(MUTATIONS.len())];
            let Some(text) = mutated(text, key, mutation) else { continue };
            let loaded = lowered(&text);
            let same = loaded.workflow == original.workflow;
            // A dropped key may have a default; every other mutation needs a diagnostic.
            let noticed = !loaded.diagnostics.is_empty() || mutation == Mutation::Dropped;
            assert!(same || noticed, "{mutation:?} `{}` at {}:\n{text}", key.name, key.start);
            assert!(loaded.workflow.is_some() != loaded.diagnostics.has_errors(), "{text}");
            assert!(is_located(&loaded), "{:?}\n{text}", loaded.diagnostics);
            tried += 1;
        }
    }
    assert!(tried > 1_000, "{tried} mutations");
}

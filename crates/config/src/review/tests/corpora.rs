//! Patterns against the answers of Python 3.13, kept as data. `tests/corpora/generate.py` writes it.

use serde_json::Value as Json;

use super::super::patterns::NamePattern;
use super::super::python::{BadPatternKind, PatternMemory, PythonMatch, PythonRegex};

const EXPRESSIONS: &str = include_str!("../../../../../tests/corpora/expressions.jsonl");
const NAMES: &str = include_str!("../../../../../tests/corpora/names.jsonl");

/// Returns the texts of the first line, and each pattern with its answers.
fn corpus(data: &str) -> (Vec<String>, Vec<(String, String)>) {
    let mut lines = data.lines().map(|line| {
        let items: Vec<String> = serde_json::from_str::<Json>(line)
            .expect("JSON")
            .as_array()
            .expect("an array")
            .iter()
            .map(|item| item.as_str().expect("a text").to_owned())
            .collect();
        items
    });
    let texts = lines.next().expect("a first line");
    let pairs = lines.map(|pair| {
        let [pattern, answers] = <[String; 2]>::try_from(pair).expect("a pattern and its answers");
        (pattern, answers)
    });
    (texts, pairs.collect())
}

/// Returns the answer in the form of the corpus: `-`, or the place of the match in characters.
fn answer(regex: &PythonRegex, text: &str) -> char {
    match regex.find(text) {
        PythonMatch::At(offset) => {
            let place = text[..offset].chars().count();
            char::from(b'0' + u8::try_from(place).expect("a short text"))
        }
        PythonMatch::Nowhere => '-',
        PythonMatch::Unknown => '!',
    }
}

// 4,000 expressions in 36 texts
#[test]
fn expressions_are_found_where_python_finds_them() {
    let (texts, patterns) = corpus(EXPRESSIONS);
    let (mut wrong, mut unsupported) = (Vec::new(), Vec::new());
    for (pattern, expected) in &patterns {
        match PythonRegex::new(pattern, &mut PatternMemory::default()) {
            Ok(regex) => {
                for (text, expected) in texts.iter().zip(expected.chars()) {
                    let found = answer(&regex, text);
                    if expected != '?' && found != expected {
                        wrong.push(format!("`{pattern}` in {text:?}: Python {expected}, here {found}"));
                    }
                }
            }
            Err(bad) if bad.kind == BadPatternKind::Invalid && expected == "!" => {}
            Err(bad) if bad.kind == BadPatternKind::Unsupported => {
                unsupported.push(format!("`{pattern}`: {bad}"))
            }
            Err(bad) => wrong.push(format!("`{pattern}`: {bad}")),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    // The manual lists what is not supported.
    let named = |reason: &str| unsupported.iter().filter(|one| one.contains(reason)).count();
    let all = named("{NAME} is not supported") + named("a condition on its own group is not supported");
    assert_eq!(all, unsupported.len(), "{unsupported:?}");
}

// 1,700 patterns on 36 names
#[test]
fn file_patterns_take_the_names_that_fnmatch_takes() {
    let (names, patterns) = corpus(NAMES);
    let mut wrong = Vec::new();
    for (pattern, expected) in &patterns {
        let compiled = NamePattern::new(pattern);
        for (name, expected) in names.iter().zip(expected.chars()) {
            if compiled.takes(name) != (expected == '1') {
                wrong.push(format!("{pattern:?} on {name:?}: Python {expected}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

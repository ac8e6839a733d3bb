//! Dialect words stay in the configuration crate: a dialect is a reader, never a second engine.

use xtask::code::Code;
use xtask::source::Source;

use super::{Violation, crate_of};

const BEHIND: [&str; 4] = ["engine", "judge", "connect", "driver"];

/// Words that only one dialect uses. `step` and `review` are also ordinary words, but not as whole
/// literals.
const WORDS: [&str; 8] = ["piece", "movement", "hat", "takt", "hachimoku", "ralph", "climpt", "orch"];
const NAMES: [&str; 4] = ["piece", "hats", "steps", "review"];

/// Finds dialect words outside configuration, as identifiers or as whole literals.
pub fn dialects_stay_in_configuration(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| BEHIND.contains(&crate_of(source))) {
        for line in source.lines().iter().filter(|line| !line.is_test) {
            let named = Code::words(line.code).find(|name| parts(name).iter().any(|part| is_word(part)));
            found.extend(named.map(|name| Violation::at(source, line, format!("`{name}` names a dialect"))));
            let literals = source.code.literals.iter().filter(|(number, _)| *number == line.number);
            let quoted = literals.map(|(_, text)| text.as_str()).find(|text| NAMES.contains(text));
            found.extend(
                quoted.map(|name| Violation::at(source, line, format!("\"{name}\" names a dialect"))),
            );
        }
    }
    found
}

fn is_word(part: &str) -> bool {
    WORDS.iter().any(|word| part.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest == "s"))
}

/// Splits `HatSystem` and `hat_system` into `hat`, `system`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if letter != '_' {
            parts.last_mut().expect("there is always one").extend(letter.to_lowercase());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(shown(&dialects_stay_in_configuration(&planted(path, text))), expected);
    }

    #[test]
    fn names_of_dialects_are_found() {
        let at = "crates/engine/src/run.rs";
        check(at, "struct HatSystem;", &["crates/engine/src/run.rs:1: `HatSystem` names a dialect"]);
        check(
            at,
            "\nlet last_movements = 1;",
            &["crates/engine/src/run.rs:2: `last_movements` names a dialect"],
        );
        check(at, "if dialect == \"steps\" {}", &["crates/engine/src/run.rs:1: \"steps\" names a dialect"]);
    }

    #[test]
    fn longer_words_prose_tests_and_configuration_are_free() {
        check(
            "crates/judge/src/a.rs",
            "// a piece of text\nlet what = that; // hats\nlet steps = \"steps left\";",
            &[],
        );
        check("crates/judge/src/tests.rs", "let piece = 1;", &[]);
        check("crates/config/src/a.rs", "struct Piece;", &[]);
    }
}

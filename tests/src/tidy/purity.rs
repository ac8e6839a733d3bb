//! Pure layers: model, judge, engine, view and telemetry use no file, process, clock or variable. Configuration
//! reads files in a single place.

use xtask::code::Code;
use xtask::source::{Line, Source};

use super::{Violation, crate_of};

const PURE: [&str; 6] = ["model", "json-schema", "judge", "engine", "view", "telemetry"];

/// Modules of `std` with side effects.
const OUTSIDE: [&str; 5] = ["fs", "process", "env", "net", "thread"];

/// Names with side effects, from any crate.
const CLOCKS: [&str; 3] = ["tokio", "SystemTime", "Instant"];

/// Finds every use of these names in the pure layers.
pub fn pure_layers_touch_nothing(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources {
        let layer = crate_of(source);
        for line in source.lines() {
            let bound = PURE.contains(&layer) || (layer == "config" && !line.is_test);
            let word = outside(&line).filter(|word| bound && !is_the_source_of_files(source, word));
            found.extend(word.map(|word| Violation::at(source, &line, format!("`{word}` in a pure layer"))));
        }
    }
    found
}

fn is_the_source_of_files(source: &Source, word: &str) -> bool {
    word == "std::fs" && source.path.ends_with("config/src/source.rs")
}

fn outside(line: &Line<'_>) -> Option<String> {
    let clock = Code::words(line.code).find(|word| CLOCKS.contains(word));
    clock.map(str::to_owned).or_else(|| standard(line.code))
}

/// Finds `std::fs`, or `fs` among the first names of `std::{…}`.
fn standard(code: &str) -> Option<String> {
    for (at, _) in code.match_indices("std::") {
        let rest = &code[at + "std::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group.split(',').filter_map(|part| Code::words(part).next()).collect(),
            None => Code::words(rest).take(1).collect(),
        };
        if let Some(name) = names.into_iter().find(|name| OUTSIDE.contains(name)) {
            return Some(format!("std::{name}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(shown(&pure_layers_touch_nothing(&planted(path, text))), expected, "{text}");
    }

    #[test]
    fn the_outside_is_found_in_a_pure_layer() {
        let at = "crates/engine/src/run.rs";
        check(at, "use std::fs;", &["crates/engine/src/run.rs:1: `std::fs` in a pure layer"]);
        check(at, "\nuse std::{fmt, env};", &["crates/engine/src/run.rs:2: `std::env` in a pure layer"]);
        check(
            at,
            "let x = std::process::id();",
            &["crates/engine/src/run.rs:1: `std::process` in a pure layer"],
        );
        check(at, "tokio::spawn(x);", &["crates/engine/src/run.rs:1: `tokio` in a pure layer"]);
        check(at, "Instant::now()", &["crates/engine/src/run.rs:1: `Instant` in a pure layer"]);
    }

    #[test]
    fn words_in_comments_and_strings_are_no_code() {
        check("crates/judge/src/a.rs", "// std::fs\nlet x = \"tokio\";\nuse std::fmt;", &[]);
    }

    #[test]
    fn configuration_reads_files_in_its_source_only() {
        check("crates/config/src/source.rs", "use std::fs;", &[]);
        check(
            "crates/config/src/a.rs",
            "use std::fs;",
            &["crates/config/src/a.rs:1: `std::fs` in a pure layer"],
        );
        check("crates/config/src/tests.rs", "use std::fs;", &[]);
        check("crates/driver/src/a.rs", "use std::fs;", &[]);
    }
}

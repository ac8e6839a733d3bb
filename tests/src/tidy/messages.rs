//! No code reads our own messages back: a reason is an enum until a screen shows it.

use xtask::source::Source;

use super::Violation;

/// Names of values that hold a message or a reason.
const RECEIVERS: [&str; 7] = ["reason", "reason()", "message", "message()", "why", "hold", "to_string()"];

/// Methods that take a text apart.
const METHODS: [&str; 10] = [
    "split_once",
    "rsplit_once",
    "starts_with",
    "ends_with",
    "contains",
    "strip_prefix",
    "strip_suffix",
    "replace",
    "replacen",
    "find",
];

/// Files and directories that read foreign text: messages of vendors, of git or of a parser, comments of an author.
const FOREIGN: [&str; 5] = [
    "crates/connect/src/agents",
    "crates/config/src/document/toml.rs",
    "crates/config/src/script/reply.rs",
    "crates/git/src/server.rs",
    "crates/review/src/suppression.rs",
];

/// Finds code that takes a message apart, and exceptions that are no longer needed.
pub fn messages_are_not_parsed(sources: &[Source]) -> Vec<Violation> {
    let mut unused = FOREIGN.to_vec();
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("crates")) {
        let exception = FOREIGN.iter().find(|path| source.path.starts_with(path));
        for line in source.lines().into_iter().filter(|line| !line.is_test) {
            let Some((receiver, method)) = call(line.code) else { continue };
            match exception {
                Some(path) => unused.retain(|one| one != path),
                None => found.push(Violation::at(
                    source,
                    &line,
                    format!("`{method}` reads `{receiver}`: match an enum instead"),
                )),
            }
        }
    }
    let stale = |path: &str| Violation {
        place: path.to_owned(),
        what: "reads no message: remove the exception".to_owned(),
    };
    found.extend(unused.into_iter().map(stale));
    found
}

/// Returns the first receiver on the list and the method that takes it apart.
fn call(code: &str) -> Option<(&'static str, &'static str)> {
    METHODS.into_iter().find_map(|method| {
        let calls = code.match_indices(method).filter(|(at, _)| code[at + method.len()..].starts_with('('));
        let mut before = calls.filter_map(|(at, _)| code[..at].strip_suffix('.'));
        before.find_map(|before| Some((receiver(before)?, method)))
    })
}

fn receiver(before: &str) -> Option<&'static str> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    RECEIVERS.into_iter().find(|name| before.strip_suffix(name).is_some_and(|rest| !rest.ends_with(is_name)))
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    /// Checks the violations of one file. Ignores the exceptions for other files.
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = messages_are_not_parsed(&planted(path, text));
        let here: Vec<Violation> = found.into_iter().filter(|one| one.place.starts_with(path)).collect();
        assert_eq!(shown(&here), expected, "{text}");
    }

    #[test]
    fn a_message_that_is_read_back_is_found() {
        for (text, method, receiver) in [
            ("match why.split_once(\": \") {", "split_once", "why"),
            ("if came.reason.ends_with(\"exists, not ours\") {", "ends_with", "reason"),
            ("hold.reason().starts_with(\"git\")", "starts_with", "reason()"),
            ("error.to_string().contains(\"locked\")", "contains", "to_string()"),
        ] {
            let expected =
                format!("crates/x/src/a.rs:1: `{method}` reads `{receiver}`: match an enum instead");
            check("crates/x/src/a.rs", text, &[expected.as_str()]);
        }
    }

    #[test]
    fn other_texts_tests_and_foreign_messages_are_free() {
        check(
            "crates/x/src/a.rs",
            "path.starts_with(\"/\"); reasons.contains(&one); every_reason.find(x)",
            &[],
        );
        check("crates/x/src/tests.rs", "assert!(message.contains(\"x\"));", &[]);
        check("tests/src/a.rs", "message.contains(\"x\")", &[]);
        check("crates/connect/src/agents/codex/failures.rs", "message.contains(\"rate limit\")", &[]);
    }

    #[test]
    fn an_exception_that_is_not_needed_is_found() {
        let stale = format!("{}: reads no message: remove the exception", FOREIGN[2]);
        check(FOREIGN[2], "let a = 1;", &[stale.as_str()]);
        check(FOREIGN[2], "message.contains(\"duplicate\")", &[]);
    }
}

//! No unfinished code, and no panic without a reason.

use xtask::source::{Line, Source};

use super::{Violation, crate_of};

const NOWHERE: [&str; 4] = ["todo!", "dbg!", "unimplemented!", "#[ignore"];
const ONLY_IN_TESTS: [&str; 1] = [".unwrap()"];

/// Finds marks of unfinished work.
pub fn nothing_unfinished_is_left(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in sources {
        // The tests package contains no product code, so all of it counts as test code.
        let for_tests = crate_of(source) == "tests";
        for line in source.lines() {
            found.extend(
                mark(&line, for_tests).map(|mark| Violation::at(source, &line, format!("`{mark}` is left"))),
            );
        }
    }
    found
}

fn mark(line: &Line<'_>, for_tests: bool) -> Option<&'static str> {
    let anywhere = NOWHERE.into_iter().find(|mark| contains_word(line.code, mark));
    let here = ONLY_IN_TESTS.into_iter().find(|mark| line.code.contains(mark) && !line.is_test && !for_tests);
    anywhere.or(here)
}

/// Matches the mark as a whole word, not as the end of a longer name.
fn contains_word(code: &str, mark: &str) -> bool {
    code.match_indices(mark)
        .any(|(at, _)| !code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(shown(&nothing_unfinished_is_left(&planted(path, text))), expected);
    }

    #[test]
    fn marks_of_unfinished_work_are_found_everywhere() {
        check("crates/x/src/tests.rs", "#[ignore]\n", &["crates/x/src/tests.rs:1: `#[ignore` is left"]);
        check("crates/x/src/a.rs", "x\n    todo!()", &["crates/x/src/a.rs:2: `todo!` is left"]);
        check("crates/x/src/a.rs", "dbg!(x)", &["crates/x/src/a.rs:1: `dbg!` is left"]);
        check("crates/x/src/a.rs", "unimplemented!()", &["crates/x/src/a.rs:1: `unimplemented!` is left"]);
    }

    #[test]
    fn unwrap_is_for_tests() {
        check("crates/x/src/a.rs", "a.unwrap()", &["crates/x/src/a.rs:1: `.unwrap()` is left"]);
        check("crates/x/src/a.rs", "#[cfg(test)]\nmod tests {\n    a.unwrap()\n}", &[]);
        check("crates/x/src/a/tests.rs", "a.unwrap()", &[]);
    }

    #[test]
    fn words_in_prose_and_longer_names_are_no_marks() {
        check("crates/x/src/a.rs", "// todo!() and .unwrap()\nlet a = \"dbg!\"; my_todo!()", &[]);
    }
}

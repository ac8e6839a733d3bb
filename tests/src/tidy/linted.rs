//! Suites that `cargo test` skips are linted too.

use super::Violation;

/// Checks that `.ci/run` names every suite with `test = false`, because `--all-targets` skips them.
pub fn suites_left_out_are_linted(manifest: &str, ci: &str) -> Vec<Violation> {
    let lint = ci.lines().filter(|line| line.contains("cargo clippy"));
    let linted: Vec<&str> = lint.flat_map(named_suites).collect();
    let left_out = manifest.split("[[test]]").skip(1).filter_map(left_out);
    let unseen = left_out.filter(|name| !linted.contains(name));
    unseen
        .map(|name| Violation {
            place: ".ci/run".to_owned(),
            what: format!("no `cargo clippy` sees the suite `{name}`"),
        })
        .collect()
}

/// Returns the name of a skipped suite.
fn left_out(rest: &str) -> Option<&str> {
    let table = rest.split("\n[").next().unwrap_or(rest);
    let value =
        |key: &str| table.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix("= "));
    (value("test") == Some("false")).then(|| value("name").unwrap_or_default().trim_matches('"'))
}

fn named_suites(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split_whitespace();
    words.clone().zip(words.skip(1)).filter(|(flag, _)| *flag == "--test").map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::super::shown;
    use super::*;

    #[test]
    fn a_suite_that_no_lint_sees_is_found() {
        let manifest = "[[bin]]\nname = \"x\"\ntest = false\n\n[[test]]\nname = \"real\"\ntest = false\n\n\
                        [[test]]\nname = \"usual\"\n\n[dependencies]\ntest = false\n";
        let unseen = [".ci/run: no `cargo clippy` sees the suite `real`"];
        assert_eq!(shown(&suites_left_out_are_linted(manifest, "cargo test --test real\n")), unseen);
        assert_eq!(shown(&suites_left_out_are_linted(manifest, "cargo clippy --all-targets\n")), unseen);
        let seen = "step cargo clippy --test other --test real -- -D warnings\n";
        assert!(suites_left_out_are_linted(manifest, seen).is_empty());
    }
}

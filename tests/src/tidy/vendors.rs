//! Vendor-specific words stay in the one module that talks to that vendor's program or service.

use std::path::Path;

use xtask::source::Source;

use super::Violation;

/// Module of each provider, and sample words that only it may use: flags, event names, messages.
const OWN: [(&str, &[&str]); 7] = [
    (
        "crates/connect/src/agents/claude",
        &[
            "--append-system-prompt-file",
            "--max-budget-usd",
            "error_max_budget_usd",
            "authentication_failed",
            "No conversation found with session ID",
        ],
    ),
    (
        "crates/connect/src/agents/codex",
        &["--skip-git-repo-check", "workspace-write", "thread.started", "turn.failed", "no rollout found"],
    ),
    (
        "crates/connect/src/agents/opencode",
        &["saihai-readonly", "step_finish", "Session not found", "Falling back to default agent"],
    ),
    (
        "crates/connect/src/agents/gemini",
        &["--skip-trust", "auto_edit", "policy_violation", "Error resuming session"],
    ),
    (
        "crates/connect/src/agents/copilot",
        &["--no-ask-user", "tool.execution_start", "session.error", "No session, task, or name matched"],
    ),
    (
        "crates/connect/src/agents/acp",
        &["session/prompt", "session/request_permission", "agent_message_chunk", "end_turn"],
    ),
    ("crates/connect/src/http", &["x-api-key", "anthropic-version", "stream_options", "chat/completions"]),
];

/// Exception: reserved arguments are rejected with their position in the file, before any
/// connection.
const REFUSED: &str = "crates/config/src/settings/providers.rs";

/// Finds vendor words outside their module, and listed words that their module no longer uses.
pub fn vendors_stay_in_their_modules(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (home, words) in OWN {
        for word in words {
            let uses = || sources.iter().flat_map(|source| literals_with(source, word));
            found.extend(uses().filter(|(source, _)| !may_use(&source.path, home)).map(|(source, line)| {
                let place = format!("{}:{line}", source.path.display());
                Violation { place, what: format!("\"{word}\" belongs into {home}") }
            }));
            if !uses().any(|(source, _)| is_below(&source.path, home)) {
                found.push(Violation {
                    place: home.to_owned(),
                    what: format!("\"{word}\" is not used there"),
                });
            }
        }
    }
    found
}

/// Returns file and line of the non-test literals that contain a word.
fn literals_with<'a>(source: &'a Source, word: &'a str) -> impl Iterator<Item = (&'a Source, usize)> {
    let is_ours = source.path.starts_with("crates");
    let tests: Vec<usize> = match is_ours {
        true => source.lines().iter().filter(|line| line.is_test).map(|line| line.number).collect(),
        false => Vec::new(),
    };
    let literals = source.code.literals.iter().filter(move |(_, text)| is_ours && text.contains(word));
    literals.map(|(line, _)| *line).filter(move |line| !tests.contains(line)).map(move |line| (source, line))
}

fn may_use(path: &Path, home: &str) -> bool {
    is_below(path, home) || path == Path::new(REFUSED)
}

/// Matches both `agents/claude.rs` and the files in `agents/claude/` for `agents/claude`.
fn is_below(path: &Path, home: &str) -> bool {
    path.starts_with(home) || path == Path::new(&format!("{home}.rs"))
}

#[cfg(test)]
mod tests {
    use super::super::{planted, shown};
    use super::*;

    /// Checks the violations of one file about one word. Ignores the unused words of other modules.
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = vendors_stay_in_their_modules(&planted(path, text));
        let of_word: Vec<Violation> =
            found.into_iter().filter(|one| one.what.contains("step_finish")).collect();
        assert_eq!(shown(&of_word), expected, "{path}");
    }

    #[test]
    fn a_word_of_one_vendor_is_found_elsewhere() {
        let unused = "crates/connect/src/agents/opencode: \"step_finish\" is not used there";
        let misplaced = |place: &str| {
            format!("{place}:1: \"step_finish\" belongs into crates/connect/src/agents/opencode")
        };
        let text = "if kind == \"step_finish\" {}";
        for path in ["crates/driver/src/a.rs", "crates/connect/src/agents/codex/event.rs"] {
            check(path, text, &[misplaced(path).as_str(), unused]);
        }
        check("crates/connect/src/agents/opencode.rs", text, &[]);
        check("crates/connect/src/agents/opencode/event.rs", text, &[]);
        check("crates/connect/src/agents/opencode.rs", "", &[unused]);
    }

    #[test]
    fn comments_tests_and_the_list_of_refused_arguments_are_free() {
        let unused = "crates/connect/src/agents/opencode: \"step_finish\" is not used there";
        check("crates/driver/src/a.rs", "// \"step_finish\"", &[unused]);
        check("crates/driver/src/tests.rs", "let a = \"step_finish\";", &[unused]);
        check(REFUSED, "let a = \"step_finish\";", &[unused]);
    }
}

//! Cases that depend on several rules.

use saihai_model::{Subject, SubjectFile, SubjectMode};

use super::agents::{agent, codes, errors, loaded, names};
use crate::select::{AgentFilter, select};
use saihai_config::review::Phase;
use saihai_config::{Colour, to_human};

/// Returns the selection of an agent with these lines, and its warnings.
fn selected(applies: &str, path: &str, text: &str) -> (bool, Vec<String>) {
    let result = loaded(&[("x.toml", &agent("x", &format!("[applicability]\n{applies}\n")))]);
    assert!(result.errors.is_empty(), "{}", errors(result));
    let file =
        SubjectFile { path: path.into(), previous: None, text: text.into(), left_out: None, lossy: false };
    let subject = Subject { mode: SubjectMode::Files, files: vec![file] };
    let selection = select(&result.agents, &subject, &AgentFilter::default());
    let names: Vec<&str> = selection.selected().map(|(agent, _)| agent.definition.name.as_str()).collect();
    (names.contains(&"x"), codes(&result.remarks))
}

// Case 9
#[test]
fn a_phase_is_one_of_three_words_and_main_where_none_is_said() {
    let phase = |further: &str| {
        let result = loaded(&[("x.toml", &agent("x", further))]);
        result.agents.iter().find(|agent| agent.definition.name == "x").map(|agent| agent.definition.phase)
    };
    assert_eq!(phase(""), Some(Phase::Main));
    assert_eq!(phase("phase = \"early\"\n"), Some(Phase::Early));
    assert_eq!(phase("phase = \"final\"\n"), Some(Phase::Final));
    let refused = |word: &str| {
        let result = loaded(&[("x.toml", &agent("x", &format!("phase = \"{word}\"\n")))]);
        assert!(!names(&result).contains(&"x"), "{word}");
        errors(result)
    };
    insta::assert_snapshot!(refused("Main") + &refused("late"), @r#"
    error[review/bad-value]: `phase` must be `early`, `main` or `final`, not `Main`
    --> .hachimoku/agents/x.toml:6:9
      |
    6 | phase = "Main"
      |         ^^^^^^ not one of them
      = help: did you mean `main`?
    error[review/bad-value]: `phase` must be `early`, `main` or `final`, not `late`
    --> .hachimoku/agents/x.toml:6:9
      |
    6 | phase = "late"
      |         ^^^^^^ not one of them
    "#);
}

// Case 11
#[test]
fn what_is_not_of_its_type_is_refused_with_its_place() {
    let wrong = loaded(&[(
        "x.toml",
        &agent("x", "[applicability]\nalways = \"yes\"\nfile_patterns = \"*.py\"\ncontent_patterns = [1]\n"),
    )]);
    assert!(!names(&wrong).contains(&"x"));
    insta::assert_snapshot!(errors(wrong), @r#"
    error[review/bad-type]: `always` must be `true` or `false`, not text
    --> .hachimoku/agents/x.toml:7:10
      |
    7 | always = "yes"
      |          ^^^^^ text
      = help: write `true`

    error[review/bad-type]: `file_patterns` must be a list of text, not text
    --> .hachimoku/agents/x.toml:8:17
      |
    8 | file_patterns = "*.py"
      |                 ^^^^^^ text
      = help: write `["*.py"]`

    error[review/bad-type]: `content_patterns[0]` must be text, not a whole number
    --> .hachimoku/agents/x.toml:9:21
      |
    9 | content_patterns = [1]
      |                     ^ a whole number
      = help: write it in quotes: `"1"`
    "#);
}

// Case 17
#[test]
fn a_file_pattern_is_held_against_the_last_name_of_a_path() {
    let check = |pattern: &str, path: &str, expected: bool, warned: &[&str]| {
        let told = selected(&format!("file_patterns = ['{pattern}']"), path, "");
        assert_eq!(
            told,
            (expected, warned.iter().map(|code| (*code).to_owned()).collect()),
            "{pattern} {path}"
        );
    };
    check("*.py", "src/deep/x.py", true, &[]);
    check("*.py", "x.pyc", false, &[]);
    check("src/*.py", "src/x.py", false, &["review/slash-in-pattern"]);
    let result = loaded(&[("x.toml", &agent("x", "[applicability]\nfile_patterns = ['src/*.py']\n"))]);
    insta::assert_snapshot!(to_human(&result.remarks, Colour::Never), @"
    warning[review/slash-in-pattern]: `src/*.py` never matches: names of files have no directories
    --> .hachimoku/agents/x.toml:7:18
      |
    7 | file_patterns = ['src/*.py']
      |                  ^^^^^^^^^^ contains a `/`
      = help: use `path_patterns` for whole paths
    ");
}

// Case 21
#[test]
fn dots_that_were_meant_as_anything_are_found_as_dots_and_warned_about() {
    let pattern = r"content_patterns = ['try:\s*\.+\s*except']";
    let dots = vec!["review/literal-dots".to_owned()];
    assert_eq!(selected(pattern, "a.py", "try: ... except"), (true, dots.clone()));
    let code = "try:\n    load(path)\nexcept OSError:\n    pass\n";
    assert_eq!(selected(pattern, "a.py", code), (false, dots));
}

//! Fields of an agent file.

use super::super::{AgentDefinition, OutputSchema, Phase, check_agent};
use super::*;
use saihai_model::Millis;

fn read(text: &str) -> AgentDefinition {
    let result = loaded(&[("x.toml", text)]);
    let agent = result.agents.iter().find(|agent| agent.definition.name == "x");
    agent.unwrap_or_else(|| panic!("{}", errors(result.clone()))).definition.clone()
}

/// Formats each error with its position and hint, one per line.
fn lines(result: &LoadResult) -> String {
    let all = result.errors.iter().flat_map(|error| &error.diagnostics);
    let line = |one: &crate::Diagnostic| {
        let start = one.location.as_ref().and_then(|at| at.start()).unwrap();
        let hint = one.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}:{} {} {}{hint}", start.line, start.column, one.code, one.message)
    };
    all.map(line).collect::<Vec<_>>().join("\n")
}

fn warned(further: &str) -> Vec<String> {
    let result = loaded(&[("x.toml", &agent("x", further))]);
    assert!(result.errors.is_empty(), "{}", errors(result));
    codes(&result.remarks)
}

// R-12
#[test]
fn every_field_is_kept_as_it_is_written() {
    let text = "\u{feff}name = \"x\"\r\ndescription = \" D \"\r\nmodel = \"claude:m\"\r\n\
                output_schema = \"test_gap_assessment\"\r\nsystem_prompt = \"\"\"\r\nOne {task}\n  two\n\"\"\"\r\n\
                allowed_tools = [\"git_blame\", \"file_read\", \"Read\"]\r\nphase = \"final\"\r\ntimeout = 90\r\n\
                max_turns = 7\r\n[applicability]\r\nfile_patterns = [\"*.py\"]\r\ncontent_patterns = ['a+']\r\n\
                path_patterns = [\"src/**\"]\r\nexclude_patterns = [\"src/gen/**\"]\r\n";
    let agent = read(text);
    assert_eq!(agent.description, " D ");
    assert_eq!(agent.model, "claude:m");
    assert_eq!(agent.output_schema, OutputSchema::TestGapAssessment);
    assert_eq!(agent.system_prompt, "One {task}\n  two\n");
    assert_eq!(agent.allowed_tools, ["git_blame", "file_read", "Read"]);
    assert_eq!(agent.tools, ["read_file", "list_files", "grep", "git_blame"]);
    assert_eq!(agent.phase, Phase::Final);
    assert_eq!((agent.timeout, agent.max_turns), (Some(Millis::seconds(90)), Some(7)));
    let applies = &agent.applicability;
    assert!(!applies.always);
    assert_eq!(
        applies.file_patterns.iter().map(super::super::patterns::NamePattern::source).collect::<Vec<_>>(),
        ["*.py"]
    );
    assert_eq!(
        applies.content_patterns.iter().map(super::super::python::PythonRegex::source).collect::<Vec<_>>(),
        ["a+"]
    );
    assert_eq!(
        applies.path_patterns.iter().map(super::super::patterns::PathPattern::source).collect::<Vec<_>>(),
        ["src/**"]
    );
    assert_eq!(applies.exclude_patterns().collect::<Vec<_>>(), ["src/gen/**"]);
}

// R-12, R-18: case 16
#[test]
fn what_is_left_out_has_its_default() {
    let plain = read(&agent("x", ""));
    assert_eq!((plain.phase, plain.timeout, plain.max_turns), (Phase::Main, None, None));
    assert!(plain.allowed_tools.is_empty() && plain.tools.is_empty());
    assert!(plain.applicability.always);
    let empty = read(&agent("x", "[applicability]\n"));
    assert!(empty.applicability.is_never());
    assert_eq!(warned("[applicability]\n"), ["review/never-selected"]);
}

// R-12, R-13, R-14: cases 7 and 12, all errors at once
#[test]
fn everything_wrong_with_a_file_is_told_at_once() {
    let missing = loaded(&[("x.toml", "name = \"x\"\n")]);
    insta::assert_snapshot!(lines(&missing), @"1:1 review/missing-key a review agent needs `description`, `model`, `output_schema` and `system_prompt`");
    let result = loaded(&[(
        "x.toml",
        "name = \"a b\"\ndescription = \"\"\nmodel = \" \"\noutput_schema = \"scored\"\nsytem_prompt = \"p\"\n\
         allowed_tools = [\"Bash\", \"git_raed\"]\nphase = \"Main\"\ntimeout = 0\nmax_turns = 1001\n[applicability]\nalways = \"yes\"\n\
         file_patterns = \"*.py\"\ncontent_patterns = [\"ok\", \"(\"]\npath_patterns = [\"a{b\"]\n",
    )]);
    insta::assert_snapshot!(lines(&result), @r#"
    1:8 review/name the name `a b` contains ` ` (a name is made of `a`–`z`, `0`–`9` and `-`)
    2:15 review/empty `description` is blank (write at least a word)
    3:9 review/empty `model` is blank (write `default` for the provider's own model)
    4:17 review/schema no output schema is named `scored` (there is `category_classification`, `improvement_suggestions`, `multi_dimensional_analysis`, `scored_issues`, `severity_classified` and `test_gap_assessment`)
    5:1 review/unknown-key unknown key `sytem_prompt` (did you mean `system_prompt`?)
    6:18 review/tool `Bash` cannot be used: a reviewer only reads (use the category `git_read`)
    6:26 review/tool `git_raed` cannot be used: no tool has this name (did you mean `git_read`?)
    7:9 review/bad-value `phase` must be `early`, `main` or `final`, not `Main` (did you mean `main`?)
    8:11 review/bad-value `timeout` must be between 1 and 86400, not `0` (it counts seconds; without it, `[review]` applies)
    9:13 review/bad-value `max_turns` must be between 1 and 1000, not `1001` (it counts model calls; without it, `[review]` applies)
    11:10 review/bad-type `always` must be `true` or `false`, not text (write `true`)
    12:17 review/bad-type `file_patterns` must be a list of text, not text (write `["*.py"]`)
    13:27 review/regex `(` is not a Python regular expression: missing ), unterminated subpattern at position 0 (patterns are those of Python's `re` module, version 3.13)
    14:18 review/glob `a{b` is not a path pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?) (`*`, `?`, `**`, `[a-z]` and `{a,b}` have a meaning in it)
    "#);
}

// R-13: case 4
#[test]
fn broken_toml_is_told_with_its_place() {
    insta::assert_snapshot!(errors(loaded(&[("x.toml", "name = \"x\"\nphase = early\n")])), @"
    error[review/syntax]: this is not valid TOML: string values must be quoted, expected literal string
    --> .hachimoku/agents/x.toml:2:9
      |
    2 | phase = early
      |         ^^^^^
    ");
}

// R-12: case 10
#[test]
fn names_are_small_letters_digits_and_hyphens() {
    for name in ["a", "0", "-x", "---"] {
        let result = loaded(&[("x.toml", &agent(name, ""))]);
        assert!(names(&result).contains(&name), "{name}");
    }
    for name in ["A", "a_b", "a b", "", "abc\\n", "１", "é"] {
        assert_eq!(wrong(&agent(name, "")), ["review/name"], "{name}");
    }
}

// R-12: cases 8, 9, 11, 13, 15
#[test]
fn wrong_values_have_their_codes() {
    let check = |further: &str, code: &str| {
        assert_eq!(wrong(&agent("x", further)), [format!("review/{code}")], "{further}");
    };
    check("phase = \"late\"\n", "bad-value");
    check("phase = 1\n", "bad-type");
    check("timeout = 86401\n", "bad-value");
    check("max_turns = 1001\n", "bad-value");
    check("max_turns = \"5\"\n", "bad-type");
    check("allowed_tools = \"file_read\"\n", "bad-type");
    check("allowed_tools = [\"git_raed\"]\n", "tool");
    check("applicability = true\n", "bad-type");
    check("[applicability]\nalways = 1\n", "bad-type");
    check("[applicability]\ncontent_patterns = [1]\n", "bad-type");
    check("[applicability]\ncontent_patterns = [\"ok\", \"(\"]\n", "regex");
    check("[applicability]\nexclude_patterns = [\"[\"]\n", "glob");
    check("[applicability]\nfiles = []\n", "unknown-key");
    for key in ["description", "model", "output_schema", "system_prompt"] {
        let line = agent("x", "").lines().find(|line| line.starts_with(key)).unwrap().to_owned();
        let text = agent("x", "").replace(&line, &format!("{key} = 1"));
        assert_eq!(wrong(&text), ["review/bad-type"], "{key}");
        let code = if key == "output_schema" { "review/schema" } else { "review/empty" };
        assert_eq!(wrong(&agent("x", "").replace(&line, &format!("{key} = \"\""))), [code], "{key}");
    }
}

// R-66: cases 17 and 21
#[test]
fn patterns_that_are_probably_not_meant_are_warned_about() {
    let check = |patterns: &str, expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(|slug| format!("review/{slug}")).collect();
        assert_eq!(warned(&format!("[applicability]\n{patterns}\n")), expected, "{patterns}");
    };
    check("file_patterns = ['src/*.py']", &["slash-in-pattern"]);
    check("file_patterns = ['**/*']", &["slash-in-pattern"]);
    check("file_patterns = ['[!/]*.py', '*[/.]py']", &[]);
    check("file_patterns = ['*']", &["matches-all"]);
    check("always = true\nfile_patterns = ['*']", &[]);
    check("path_patterns = ['**']", &["matches-all"]);
    check("content_patterns = ['']", &["matches-all"]);
    check("content_patterns = ['x*']", &["matches-all"]);
    check("content_patterns = ['^import', 'x$']", &["anchor", "anchor"]);
    check("content_patterns = ['(?m)^import', '[^x]', '\\$x']", &[]);
    check(r"content_patterns = ['try:\s*\.+\s*except']", &["literal-dots"]);
    check(r"content_patterns = ['(a+)+\1$']", &["anchor", "backtracking"]);
    check("exclude_patterns = ['a']", &["never-selected"]);
}

// R-66
#[test]
fn one_file_is_checked_with_everything_there_is_to_say_of_it() {
    let text = agent("code-reviewer", "[applicability]\n");
    let source = source(&[("x.toml", &text), ("bad.toml", "")]);
    let check = |file: &str| codes(&check_agent(&source, &places(), format!("{AGENTS}/{file}").as_ref()));
    assert_eq!(check("x.toml"), ["review/shadows-builtin", "review/never-selected"]);
    assert_eq!(check("bad.toml"), ["review/missing-key"]);
    assert_eq!(check("none.toml"), ["review/file"]);
}

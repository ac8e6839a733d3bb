//! Discovery of agent files and name conflicts.

use std::path::PathBuf;

use super::super::load::ALL;
use super::super::{AgentDefinition, AgentOrigin};
use super::*;
use crate::DiskSource;

const BUILT_IN: [&str; 11] = [
    "architecture-reviewer",
    "breaking-change-reviewer",
    "code-reviewer",
    "code-simplifier",
    "comment-analyzer",
    "dependency-reviewer",
    "performance-reviewer",
    "pr-test-analyzer",
    "security-reviewer",
    "silent-failure-hunter",
    "type-design-analyzer",
];

fn custom(path: &str, shadows: bool) -> AgentOrigin {
    AgentOrigin::Custom { path: path.into(), shadows }
}

fn definition<'a>(result: &'a LoadResult, name: &str) -> &'a AgentDefinition {
    &result.agents.iter().find(|agent| agent.definition.name == name).unwrap().definition
}

fn origin(result: &LoadResult, name: &str) -> AgentOrigin {
    result.agents.iter().find(|agent| agent.definition.name == name).unwrap().origin.clone()
}

// R-2, R-4: case 2
#[test]
fn files_ending_in_toml_directly_in_either_directory_take_part() {
    let (x, y, h) = (agent("x", ""), agent("y", ""), agent("h", ""));
    let result = loaded(&[
        ("x.toml", &x),
        (".saihai/agents/y.toml", &y),
        (".h.toml", &h),
        ("README.md", "# no agent"),
        ("A.TOML", "no agent"),
        (".hachimoku/agents/deep/z.toml", "no agent"),
    ]);
    let own: Vec<&str> = names(&result).into_iter().filter(|name| !BUILT_IN.contains(name)).collect();
    assert_eq!(own, ["h", "x", "y"]);
    assert_eq!(result.agents.len(), BUILT_IN.len() + 3);
    assert!(result.errors.is_empty() && result.remarks.is_empty());
    assert_eq!(origin(&result, "y"), custom("/p/.saihai/agents/y.toml", false));
}

// R-3
#[test]
fn a_missing_directory_is_no_error_and_a_file_in_its_place_is() {
    assert_eq!(names(&loaded(&[])), BUILT_IN);
    for directory in [".hachimoku/agents", ".saihai/agents"] {
        let refused = load(&source(&[(directory, "")]), &places(), Language::English).unwrap_err();
        let text = to_human(&refused, Colour::Never);
        assert_eq!(
            text,
            format!(
                "error[review/file]: `{directory}` is not a directory\n  = help: review agents are files in \
                 a directory of that name\n"
            )
        );
    }
}

// R-5: case 3
#[test]
fn an_agent_replaces_the_built_in_one_of_its_name_whole() {
    let text = agent("code-reviewer", "phase = \"early\"\n");
    let result = loaded(&[("zzz.toml", &text)]);
    assert_eq!(names(&result), BUILT_IN);
    let path = "/p/.hachimoku/agents/zzz.toml";
    assert_eq!(origin(&result, "code-reviewer"), custom(path, true));
    let own = definition(&result, "code-reviewer");
    assert_eq!((own.system_prompt.as_str(), own.tools.len(), own.phase.name()), ("p", 0, "early"));
    assert_eq!(codes(&result.remarks), ["review/shadows-builtin"]);
}

// R-6: case 4
#[test]
fn a_file_that_is_wrong_replaces_nothing() {
    let result = loaded(&[("code-reviewer.toml", "name = \"code-reviewer\"\ndescription = \n")]);
    assert_eq!(origin(&result, "code-reviewer"), AgentOrigin::BuiltIn);
    insta::assert_snapshot!(errors(result), @"
    error[review/syntax]: this is not valid TOML: string values must be quoted, expected literal string
    --> .hachimoku/agents/code-reviewer.toml:2:15
      |
    2 | description =
      |               ^
    ");
}

// R-17: loading resolves the tools
#[test]
fn a_file_with_a_misspelt_tool_overrides_nothing() {
    let text = agent("code-reviewer", "allowed_tools = [\"git_raed\"]\n");
    let result = loaded(&[("x.toml", &text)]);
    assert_eq!(origin(&result, "code-reviewer"), AgentOrigin::BuiltIn);
    assert_eq!(codes(&result.errors[0].diagnostics), ["review/tool"]);
}

// R-7: case 5
#[test]
fn two_files_of_one_name_are_both_refused_and_a_built_in_one_stays() {
    let (dup, built_in) = (agent("dup", ""), agent("code-reviewer", ""));
    let result = loaded(&[
        ("a.toml", &dup),
        (".saihai/agents/b.toml", &dup),
        ("c.toml", &built_in),
        ("d.toml", &built_in),
    ]);
    assert_eq!(names(&result), BUILT_IN);
    assert_eq!(origin(&result, "code-reviewer"), AgentOrigin::BuiltIn);
    let files: Vec<Vec<PathBuf>> = result.errors.iter().map(|error| error.files.clone()).collect();
    let file = |below: &str| PathBuf::from("/p").join(below);
    assert_eq!(
        files,
        [
            [file(".hachimoku/agents/a.toml"), file(".saihai/agents/b.toml")],
            [file(".hachimoku/agents/c.toml"), file(".hachimoku/agents/d.toml")]
        ]
    );
    insta::assert_snapshot!(errors(result), @r#"
    error[review/duplicate]: several agents have the name `dup`: `.hachimoku/agents/a.toml` and `.saihai/agents/b.toml`; Saihai uses none of them
    --> .hachimoku/agents/a.toml:1:8
      |
    1 | name = "dup"
      |        ^^^^^ given here
    ::: .saihai/agents/b.toml:1:8
      |
    1 | name = "dup"
      |        ----- and here
      = help: give each agent a different name

    error[review/duplicate]: several agents have the name `code-reviewer`: `.hachimoku/agents/c.toml` and `.hachimoku/agents/d.toml`; Saihai uses none of them
    --> .hachimoku/agents/c.toml:1:8
      |
    1 | name = "code-reviewer"
      |        ^^^^^^^^^^^^^^^ given here
    ::: .hachimoku/agents/d.toml:1:8
      |
    1 | name = "code-reviewer"
      |        --------------- and here
      = help: give each agent a different name
    "#);
}

// R-8: case 6
#[test]
fn copies_nobody_has_edited_override_nothing_and_edited_ones_do() {
    let copies: Vec<(String, String)> = ALL
        .iter()
        .map(|one| (format!(".saihai/agents/{}.toml", one.name), one.copy(Language::English)))
        .collect();
    let mut files: Vec<(&str, &str)> =
        copies.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let result = loaded(&files);
    assert_eq!(names(&result), BUILT_IN);
    for agent in &result.agents {
        assert!(matches!(agent.origin, AgentOrigin::UneditedCopy(_)), "{:?}", agent.origin);
    }
    // An English copy does not stop the agent from speaking Japanese.
    let japanese = load(&source(&files), &places(), Language::Japanese).unwrap();
    assert_eq!(japanese.agents[0].definition.language(), Language::Japanese);

    let copy = files.iter().position(|(path, _)| path.ends_with("/code-reviewer.toml")).unwrap();
    let edited = files[copy].1.replacen("careful", "careless", 1);
    files[copy].1 = &edited;
    let result = loaded(&files);
    let path = "/p/.saihai/agents/code-reviewer.toml";
    assert_eq!(origin(&result, "code-reviewer"), custom(path, true));
    assert!(definition(&result, "code-reviewer").system_prompt.contains("careless"));
}

// R-9
#[test]
fn what_another_tool_keeps_there_is_said_to_have_no_effect() {
    let result = loaded(&[
        ("selector.toml", "name = \"selector\"\nmodel = \"m\"\n"),
        ("aggregator.toml", "name = \"aggregator\"\n"),
        (".hachimoku/config.toml", "model = \"m\"\n"),
    ]);
    assert!(result.errors.is_empty());
    assert_eq!(names(&result), BUILT_IN);
    insta::assert_snapshot!(to_human(&result.remarks, Colour::Never), @"
    note[review/no-effect]: `.hachimoku/config.toml` has no effect
      = help: settings are `[review]` in `.saihai/config.toml`

    note[review/no-effect]: `.hachimoku/agents/aggregator.toml` has no effect: Saihai chooses and merges without an agent
    --> .hachimoku/agents/aggregator.toml

    note[review/no-effect]: `.hachimoku/agents/selector.toml` has no effect: Saihai chooses and merges without an agent
    --> .hachimoku/agents/selector.toml
    ");
    // With a schema it is an ordinary agent. Under a different file name it is an error.
    let own = agent("selector", "");
    assert!(names(&loaded(&[("selector.toml", &own)])).contains(&"selector"));
    assert_eq!(loaded(&[("other.toml", "name = \"selector\"\n")]).errors.len(), 1);
}

// Issue 25: `[tool.hachimoku]` is read as settings; a note names the keys that Saihai does not have
#[test]
fn keys_of_pyproject_without_an_effect_are_named() {
    let told = |text: &str| to_human(&loaded(&[("./pyproject.toml", text)]).remarks, Colour::Never);
    let text = "[tool.hachimoku]\nbase_branch = \"main\"\nparallel = true\nshow_cost = true\n\
                [tool.hachimoku.agents.code-reviewer]\nenabled = false\nretries = 2\n";
    insta::assert_snapshot!(told(text), @"
    note[review/no-effect]: of `[tool.hachimoku]` in `pyproject.toml`, `show_cost` and `agents.code-reviewer.retries` have no effect
      = help: settings are `[review]` in `.saihai/config.toml`
    ");
    assert_eq!(told("[tool.hachimoku]\nmodel = \"m\"\n"), "");
    // Nothing in the rest of the file is Saihai's business, not even its syntax.
    assert_eq!(told("[tool.other]\nkey =\n"), "");
}

// R-10, R-11: case 14
#[test]
fn whatever_a_file_is_its_neighbours_load() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let agents = root.join(".hachimoku/agents");
    std::fs::create_dir_all(agents.join("directory.toml")).unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(agents.join(name), text).unwrap();
    write("good.toml", agent("good", "").as_bytes());
    write("bytes.toml", b"name = \"\xff\"\n");
    write("large.toml", &vec![b'#'; (1 << 20) + 1]);
    write("empty.toml", b"");
    let applies = |pattern: &str| format!("[applicability]\ncontent_patterns = ['{pattern}']\n");
    let nested = format!("{}{}", "(".repeat(5000), ")".repeat(5000));
    write("nested.toml", agent("nested", &applies(&nested)).as_bytes());
    write("repeat.toml", agent("repeat", &applies("a{99999999999}")).as_bytes());
    write("deep.toml", format!("x = {}{}", "[".repeat(9000), "]".repeat(9000)).as_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        // The name inside the file counts; the file name may be anything.
        let named = |name: &[u8]| agents.join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(named(b"\xff.toml"), agent("of-any-file", "")).unwrap();
        std::fs::write(named(b"\xfe.toml"), "").unwrap();
        std::os::unix::fs::symlink(agents.join("nowhere"), agents.join("dangling.toml")).unwrap();
        let pipe = agents.join("pipe.toml");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let unreadable = agents.join("unreadable.toml");
        write("unreadable.toml", agent("unreadable", "").as_bytes());
        std::fs::set_permissions(&unreadable, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        // Root can read any file; no one can read this one.
        if std::fs::read(&unreadable).is_ok() {
            std::fs::remove_file(&unreadable).unwrap();
            std::os::unix::fs::symlink("/proc/self/mem", &unreadable).unwrap();
        }
    }
    let places = ProjectPaths { current: root.clone(), root, user: None, home: None };
    let result = load(&DiskSource, &places, Language::English).unwrap();
    assert!(names(&result).contains(&"good") && names(&result).contains(&"of-any-file"));
    assert_eq!(result.agents.len(), BUILT_IN.len() + 2);
    let shown: Vec<String> = result
        .errors
        .iter()
        .map(|error| {
            let file = error.files[0].file_name().unwrap().to_string_lossy().into_owned();
            let mut codes = codes(&error.diagnostics);
            codes.dedup();
            format!("{file}: {}", codes.join(", "))
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    bytes.toml: review/file
    dangling.toml: review/file
    deep.toml: review/too-large
    directory.toml: review/file
    empty.toml: review/missing-key
    large.toml: review/file
    nested.toml: review/regex
    pipe.toml: review/file
    repeat.toml: review/regex
    unreadable.toml: review/file
    �.toml: review/missing-key
    ");
}

// R-11, R-26: each pattern is small enough alone, but not all of them together
#[test]
fn patterns_that_are_too_large_together_cost_only_the_agent_that_brings_them() {
    let large: Vec<String> = (0..99).map(|count| format!(r"'\w{{180}}{count}'")).collect();
    let large = agent("large", &format!("[applicability]\ncontent_patterns = [{}]\n", large.join(", ")));
    let small = agent("small", "[applicability]\ncontent_patterns = ['\\w+']\n");
    let result = loaded(&[("large.toml", &large), ("small.toml", &small)]);
    assert!(names(&result).contains(&"small"), "what was refused takes no room");
    assert_eq!(result.errors.len(), 1);
    let told = errors(result);
    assert_eq!(told.matches("error[review/regex]").count(), 1, "the others are not even tried: {told}");
    let why =
        "cannot be used: too large together: compiled, the agents' patterns would take more than 128 MiB";
    assert!(told.contains(why), "{told}");
}

// Issue 25: 8moku looks for its directory from the working directory upwards.
#[test]
fn agents_of_hachimoku_are_the_nearest_from_the_working_directory_upwards() {
    let (x, y) = (agent("x", ""), agent("y", ""));
    let source = source(&[("x.toml", &x), ("app/.hachimoku/agents/y.toml", &y)]);
    let own = |current: &str| {
        let places = ProjectPaths { current: current.into(), ..places() };
        let result = load(&source, &places, Language::English).unwrap();
        names(&result)
            .into_iter()
            .filter(|name| !BUILT_IN.contains(name))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(own("/p"), ["x"]);
    assert_eq!(own("/p/app"), ["y"]);
    assert_eq!(own("/p/app/src"), ["y"]);
    assert_eq!(own("/p/other"), ["x"]);
}

// Issue 25: only what Python refuses is called invalid.
#[test]
fn a_valid_pattern_that_saihai_cannot_take_is_called_unsupported() {
    let said = |pattern: &str| {
        let further = format!("[applicability]\ncontent_patterns = ['{pattern}']\n");
        errors(loaded(&[("x.toml", &agent("x", &further))]))
    };
    let named = said(r"\N{DIGIT ONE}");
    assert!(named.starts_with(r"error[review/regex]: `\N{DIGIT ONE}` is unsupported: "), "{named}");
    assert!(said("(").starts_with("error[review/regex]: `(` is not a Python regular expression: "));
}

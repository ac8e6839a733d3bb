//! Selection of agents for a subject.

use std::sync::LazyLock;

use proptest::prelude::*;
use saihai_model::{Subject, SubjectFile, SubjectMode, SubjectOmission};

use saihai_config::review::{Agent, LoadResult};

use super::agents::{agent, errors, loaded};
use crate::select::{AgentFilter, SelectionReason, SkipReason, select};

fn file(path: &str, text: &str) -> SubjectFile {
    SubjectFile { path: path.into(), previous: None, text: text.into(), left_out: None, lossy: false }
}

fn subject(files: &[(&str, &str)]) -> Subject {
    let files = files.iter().map(|(path, text)| file(path, text)).collect();
    Subject { mode: SubjectMode::Files, files }
}

fn agents(own: &[(&str, &str)]) -> Vec<Agent> {
    let texts: Vec<(String, String)> =
        own.iter().map(|(name, further)| (format!("{name}.toml"), agent(name, further))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let result = loaded(&files);
    assert!(result.errors.is_empty(), "{}", errors(result));
    let is_own = |agent: &Agent| own.iter().any(|(name, _)| *name == agent.definition.name);
    result.agents.into_iter().filter(is_own).collect()
}

fn verdict(further: &str, files: &[(&str, &str)]) -> Result<SelectionReason, SkipReason> {
    let agents = agents(&[("x", further)]);
    select(&agents, &subject(files), &AgentFilter::default()).agents[0].verdict.clone()
}

fn words(further: &str, files: &[(&str, &str)]) -> String {
    verdict(further, files).map_or_else(|not| format!("not: {}", not.words()), |why| why.words())
}

// R-29, R-19, R-21: cases 17, 18, 19
#[test]
fn any_condition_is_enough() {
    let check = |patterns: &str, files: &[(&str, &str)], expected: &str| {
        assert_eq!(words(&format!("[applicability]\n{patterns}\n"), files), expected, "{patterns}");
    };
    let none = "not: none of its patterns matches";
    check("always = true\nfile_patterns = ['x']", &[], "always");
    check("file_patterns = ['*.py']", &[("src/deep/x.py", "")], "`*.py` takes src/deep/x.py");
    check("file_patterns = ['*.py']", &[("x.pyc", "")], none);
    check("file_patterns = ['src/*.py']", &[("src/x.py", "")], none);
    let both = "file_patterns = ['*.py']\ncontent_patterns = ['eval']";
    check(both, &[("a.py", "")], "`*.py` takes a.py");
    check(both, &[("a.js", "x\n eval(y)\n")], "`eval` is found at a.js:2: eval(y)");
    check(both, &[("a.js", "x")], none);
    check("path_patterns = ['src/**']", &[("src/a/b", "")], "`src/**` takes src/a/b");
    check("path_patterns = ['src/**']", &[("a", "")], none);
    check("", &[("a", "")], "not: it has no patterns and is not `always` for every change");
    check("content_patterns = ['']", &[("a", "")], "`` is found at a:1: ");
}

// R-68
#[test]
fn files_that_are_excluded_count_for_no_condition() {
    let patterns = "[applicability]\nexclude_patterns = ['gen/**']\nfile_patterns = ['*.py']\n\
                    path_patterns = ['gen/*']\ncontent_patterns = ['eval']\n";
    assert_eq!(verdict(patterns, &[("gen/x.py", "eval")]), Err(SkipReason::NothingMatches));
    let why = verdict(patterns, &[("gen/x.py", ""), ("y.py", "")]).unwrap();
    assert_eq!(why, SelectionReason::FileName { pattern: "*.py".into(), file: "y.py".into() });
}

// R-22: case 26
#[test]
fn each_file_is_searched_by_itself() {
    let patterns = "[applicability]\ncontent_patterns = ['one\\ntwo']\n";
    assert_eq!(verdict(patterns, &[("a", "one\n"), ("b", "two\n")]), Err(SkipReason::NothingMatches));
    assert!(verdict(patterns, &[("a", "zero\none\ntwo\n")]).is_ok());
}

// R-33
#[test]
fn a_file_whose_content_is_left_out_counts_by_its_name_alone() {
    let binary = SubjectFile { left_out: Some(SubjectOmission::Binary), ..file("logo.png", "") };
    let subject = Subject { mode: SubjectMode::Files, files: vec![binary] };
    let agents = agents(&[
        ("a", "[applicability]\ncontent_patterns = ['']\n"),
        ("b", "[applicability]\nfile_patterns = ['*.png']\n"),
    ]);
    let selection = select(&agents, &subject, &AgentFilter::default());
    assert_eq!(selection.agents[0].verdict, Err(SkipReason::NothingMatches));
    assert!(selection.agents[1].verdict.is_ok());
}

// R-32
#[test]
fn who_would_be_shown_no_text_is_not_asked() {
    let left_out = |why| SubjectFile { left_out: Some(why), ..file("logo.png", "") };
    let subject = |files: Vec<SubjectFile>| Subject { mode: SubjectMode::Files, files };
    let binary = subject(vec![left_out(SubjectOmission::Binary)]);
    let large = subject(vec![left_out(SubjectOmission::TooLarge)]);
    let text = subject(vec![file("a.py", "x")]);
    let asked = AgentFilter { only: vec!["x".into()], ..AgentFilter::default() };
    let check = |further: &str,
                 subject: &Subject,
                 wish: &AgentFilter,
                 expected: Result<SelectionReason, SkipReason>| {
        let agents = agents(&[("x", further)]);
        assert_eq!(select(&agents, subject, wish).agents[0].verdict, expected, "{further}");
    };
    let usual = AgentFilter::default();
    check("", &binary, &usual, Err(SkipReason::NothingToRead));
    check("", &binary, &asked, Err(SkipReason::NothingToRead));
    check(
        "[applicability]\nalways = true\nfile_patterns = ['*']\n",
        &binary,
        &usual,
        Err(SkipReason::NothingToRead),
    );
    check("[applicability]\nfile_patterns = ['*.png']\n", &binary, &asked, Ok(SelectionReason::Asked));
    check("", &large, &usual, Ok(SelectionReason::Always));
    check("", &text, &usual, Ok(SelectionReason::Always));
    let excluded = "[applicability]\nalways = true\nexclude_patterns = ['**']\n";
    check(excluded, &text, &usual, Err(SkipReason::NothingToRead));
    check(excluded, &text, &asked, Err(SkipReason::NothingToRead));
    check(excluded, &subject(vec![]), &usual, Ok(SelectionReason::Always));
}

// R-25: case 25
#[test]
fn a_search_that_takes_too_long_selects_the_agent_and_says_so() {
    let patterns = "[applicability]\ncontent_patterns = ['(a+)+\\1$']\n";
    let long = format!("{}!", "a".repeat(5000));
    let expected = SelectionReason::Limit { pattern: "(a+)+\\1$".into(), file: "long".into() };
    assert_eq!(verdict(patterns, &[("long", &long), ("short", "b")]), Ok(expected));
    assert!(matches!(
        verdict(patterns, &[("long", &long), ("short", "aa")]),
        Ok(SelectionReason::Content { .. })
    ));
    let agents = agents(&[("careful", patterns)]);
    let selection = select(&agents, &subject(&[("long", &long)]), &AgentFilter::default());
    let warnings: Vec<String> = selection.warnings().collect();
    assert_eq!(
        warnings,
        ["`careful` is asked as a precaution: `(a+)+\\1$` took too long to search for in long"]
    );
}

// The limit applies to the pattern, not to each file.
#[test]
fn only_so_much_text_is_searched_back_and_forth_all_files_together() {
    let text = "b".repeat(64 << 10);
    let names: Vec<String> = (0..65).map(|number| format!("f{number:02}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let backtracking = "[applicability]\ncontent_patterns = ['(a)\\1']\n";
    let expected = SelectionReason::Limit { pattern: "(a)\\1".into(), file: "f64".into() };
    assert_eq!(verdict(backtracking, &files), Ok(expected));
    assert_eq!(verdict(backtracking, &files[..64]), Err(SkipReason::NothingMatches));
    assert_eq!(
        verdict("[applicability]\ncontent_patterns = ['aa']\n", &files),
        Err(SkipReason::NothingMatches)
    );
}

#[test]
fn the_reason_is_the_first_pattern_that_decides_whichever_file_it_is_found_in() {
    let patterns = r"[applicability]
content_patterns = ['one', '(a+)+\1$', 'two']
";
    let long = format!("{}!", "a".repeat(5_000));
    let check = |files: &[(&str, &str)], pattern: &str, file: &str| {
        let (found, place) = match verdict(patterns, files).unwrap() {
            SelectionReason::Content { pattern, file, .. } => (pattern, file),
            SelectionReason::Limit { pattern, file } => (format!("{pattern} given up"), file),
            other @ (SelectionReason::Asked
            | SelectionReason::Always
            | SelectionReason::FileName { .. }
            | SelectionReason::Path { .. }) => {
                panic!("{other:?}")
            }
        };
        assert_eq!((found.as_str(), place.as_str()), (pattern, file));
    };
    check(&[("x", "two"), ("y", "two one"), ("z", "one")], "one", "y");
    check(&[("x", "two"), ("y", &long), ("z", &long)], r"(a+)+\1$ given up", "y");
    check(&[("x", &long), ("y", "two"), ("z", "aa")], r"(a+)+\1$", "z");
    check(&[("x", &long), ("y", "one")], "one", "y");
    check(&[("x", "two"), ("y", "two")], "two", "x");
}

// R-30: case 20
#[test]
fn agents_come_by_phase_and_then_by_name() {
    let own = [("b", "phase = \"final\"\n"), ("a1", ""), ("a-1", ""), ("z", "phase = \"early\"\n")];
    let agents = agents(&own);
    let selection = select(&agents, &subject(&[]), &AgentFilter::default());
    let names: Vec<&str> = selection.selected().map(|(agent, _)| agent.definition.name.as_str()).collect();
    assert_eq!(names, ["z", "a-1", "a1", "b"]);
}

// R-31
#[test]
fn flags_and_settings_choose_by_name() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let agents = agents(&[("a", ""), ("b", "[applicability]\n"), ("c", ""), ("d", "")]);
    let check = |wish: AgentFilter, expected: &str| {
        let selection = select(&agents, &subject(&[]), &wish);
        let shown = selection.agents.iter().map(|one| match &one.verdict {
            Ok(why) => why.words(),
            Err(not) => format!("not: {}", not.words()),
        });
        assert_eq!(shown.collect::<Vec<_>>().join("; "), expected);
    };
    let only = AgentFilter { only: names(&["b", "c"]), disabled: names(&["c"]), ..AgentFilter::default() };
    check(
        only,
        "not: only other agents were asked for; asked for by name; asked for by name; not: only other agents were asked for",
    );
    let without = AgentFilter { skip: names(&["a"]), disabled: names(&["d"]), ..AgentFilter::default() };
    check(
        without,
        "not: `--skip` names it; not: it has no patterns and is not `always` for every change; always; not: the settings disable it",
    );
    let loaded = LoadResult { agents, ..LoadResult::default() };
    let unknown =
        AgentFilter { skip: names(&["a", "aa"]), ..AgentFilter::default() }.check(&loaded).unwrap_err();
    assert_eq!((unknown.name.as_str(), unknown.hint.as_str()), ("aa", "there is `a`, `b`, `c` and `d`"));
    assert_eq!(AgentFilter::default().check(&loaded), Ok(()));
}

// Issue 25: some built-in agents cost more than most changes are worth
#[test]
fn agents_that_are_off_take_part_if_a_flag_or_a_setting_names_them() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let subject = subject(&[("a.py", "@@ -1 +1 @@\n+import b\n+for x in y:\n")]);
    let verdict = |wish: &AgentFilter, agent: &str| {
        let selection = select(&BUILT_IN, &subject, wish);
        let decision = selection.agents.iter().find(|one| one.agent.definition.name == agent);
        decision.unwrap().verdict.clone()
    };
    let usual = AgentFilter::default();
    let enabled = AgentFilter { enabled: names(&["architecture-reviewer"]), ..AgentFilter::default() };
    let asked = AgentFilter { only: names(&["performance-reviewer"]), ..AgentFilter::default() };
    for agent in ["architecture-reviewer", "performance-reviewer"] {
        assert_eq!(verdict(&usual, agent), Err(SkipReason::Optional));
    }
    assert!(matches!(verdict(&enabled, "architecture-reviewer"), Ok(SelectionReason::Content { .. })));
    assert_eq!(verdict(&asked, "performance-reviewer"), Ok(SelectionReason::Asked));
}

// Issue 25: a specialist costs nothing where it has nothing to say
#[test]
fn specialists_are_selected_by_what_the_change_touches() {
    let selected = |path: &str, text: &str| -> Vec<String> {
        let subject = subject(&[(path, text)]);
        let selection = select(&BUILT_IN, &subject, &AgentFilter::default());
        let names = selection.selected().map(|(agent, _)| agent.definition.name.clone());
        names.filter(|name| name.ends_with("-reviewer") && name != "code-reviewer").collect()
    };
    let check =
        |path: &str, text: &str, expected: &[&str]| assert_eq!(selected(path, text), expected, "{text}");
    check("a.py", "@@ -1 +1 @@\n-x = 1\n+x = 2\n", &[]);
    check("a.py", "@@ -1 +1 @@\n+subprocess.run(command, shell=True)\n", &["security-reviewer"]);
    check("a.js", "@@ -1 +1 @@\n+node.innerHTML = name\n", &["security-reviewer"]);
    check(
        "a.rs",
        "@@ -1 +1 @@\n-pub fn open() {\n+pub fn open(path: &Path) {\n",
        &["breaking-change-reviewer"],
    );
    check("a.go", "@@ -1 +1 @@\n-func Open() {\n+func open() {\n", &["breaking-change-reviewer"]);
    check("a.py", "@@ -1 +1 @@\n-def _inner():\n+def _core():\n", &[]);
    check("app/Cargo.toml", "@@ -1 +1 @@\n+serde = 1\n", &["dependency-reviewer"]);
}

// R-27: the headers that git writes above every change contain neither error handling nor comments
#[test]
fn the_headers_of_a_diff_alone_select_no_built_in_agent() {
    let text = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n";
    let subject = subject(&[("x", text)]);
    let selection = select(&BUILT_IN, &subject, &AgentFilter::default());
    let why: Vec<&SelectionReason> = selection.selected().map(|(_, why)| why).collect();
    assert_eq!(why, [&SelectionReason::Always, &SelectionReason::Always]);
}

/// Loaded once, because compiling the patterns takes time.
static BUILT_IN: LazyLock<Vec<Agent>> = LazyLock::new(|| loaded(&[]).agents);

proptest! {
    // R-30, SC-005, SC-006
    #[test]
    fn the_order_of_agents_and_files_changes_nothing(
        order in Just((0..BUILT_IN.len()).collect::<Vec<usize>>()).prop_shuffle(),
        files in Just(vec![("a.py", "try:"), ("b.rs", "x"), ("c.md", "# y")]).prop_shuffle(),
    ) {
        let all = &*BUILT_IN;
        let shuffled: Vec<Agent> = order.iter().map(|index| all[*index].clone()).collect();
        let names = |agents: &[Agent], files: &[(&str, &str)]| -> Vec<String> {
            let selection = select(agents, &subject(files), &AgentFilter::default());
            selection.selected().map(|(agent, _)| agent.definition.name.clone()).collect()
        };
        let expected = names(all, &[("a.py", "try:"), ("b.rs", "x"), ("c.md", "# y")]);
        prop_assert_eq!(names(&shuffled, &files), expected.clone());
        for always in ["code-reviewer", "code-simplifier"] {
            prop_assert!(expected.iter().any(|name| name == always));
            prop_assert!(names(&shuffled, &[]).iter().any(|name| name == always));
        }
    }
}

// The intended content selects each agent
#[test]
fn each_construct_that_an_agent_is_for_selects_it() {
    let handling = [
        "try:",
        "    except OSError:",
        "} catch (error) {",
        "rescue Timeout",
        "fetch(url).catch(() => null)",
        "if err != nil {",
        "let text = read().unwrap_or_default();",
        "let file = open(path).ok();",
        "let _ = send();",
        "rm -r build || true",
        "make > /dev/null",
    ];
    let types = [
        "class Order:",
        "pub struct Order {",
        "enum State {",
        "interface Shape {",
        "pub trait Draw {",
        "protocol Drawable {",
        "type Id = u64;",
    ];
    let comments = [
        "\"\"\"Loads it.",
        "// why",
        "/* why */",
        "# why",
        "<!-- why -->",
        "x = 1  # TODO later",
        "call() // FIXME",
    ];
    let agents = loaded(&[]).agents;
    for (name, lines) in [
        ("silent-failure-hunter", &handling[..]),
        ("type-design-analyzer", &types),
        ("comment-analyzer", &comments),
    ] {
        let agent: Vec<Agent> =
            agents.iter().filter(|agent| agent.definition.name == name).cloned().collect();
        for line in lines {
            // No name pattern matches this name.
            let text = format!("diff --git a/x b/x\n@@ -1 +1 @@\n+{line}\n");
            let file = SubjectFile { path: "x".into(), previous: None, text, left_out: None, lossy: false };
            let mode = SubjectMode::Changes {
                base: "main".into(),
                merge_base: None,
                head: None,
                pull_request: None,
            };
            let subject = Subject { mode, files: vec![file] };
            let verdict = select(&agent, &subject, &AgentFilter::default()).agents[0].verdict.clone();
            assert!(
                matches!(verdict, Ok(SelectionReason::Content { .. })),
                "{name} is not selected by {line:?}: {verdict:?}"
            );
        }
    }
}

// An invalid file still defines an agent name that settings may use
#[test]
fn an_agent_whose_file_is_wrong_is_known_by_name_but_cannot_be_asked() {
    let result = loaded(&[
        ("one.toml", "name = \"given\"\n"),
        ("broken.toml", "name = \n"),
        ("code-reviewer.toml", "name = \"code-reviewer\"\nphase = 1\n"),
    ]);
    let only = |name: &str| AgentFilter { only: vec![name.to_owned()], ..AgentFilter::default() };
    let without = |name: &str| AgentFilter { disabled: vec![name.to_owned()], ..AgentFilter::default() };
    for name in ["given", "broken", "code-reviewer"] {
        assert_eq!(without(name).check(&result), Ok(()), "{name}");
    }
    assert_eq!(only("code-reviewer").check(&result), Ok(()), "the built-in one stays");
    let refused = only("given").check(&result).unwrap_err();
    assert!(refused.is_refused && refused.hint.contains("fix its file"), "{refused:?}");
    let unknown = without("one").check(&result).unwrap_err();
    assert!(!unknown.is_refused && unknown.hint.contains("`given`"), "{unknown:?}");
}

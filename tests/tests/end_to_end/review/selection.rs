//! Selection of the review agents for a change.

use super::*;

// A search that hits its limit is a separate reason, with its pattern and file
#[test]
fn a_search_that_was_given_up_is_told_to_programs() {
    let project = reviewed_by(&[("careful", "[applicability]\ncontent_patterns = ['(a+)+\\1$']\n")]);
    project.write("long.txt", format!("{}!\n", "a".repeat(5_000)));
    let outcome = explain(&project, &["--json"]).exits(0);
    let agents = outcome.json()[0]["agents"].as_array().expect("agents").clone();
    let own = agents.iter().find(|agent| agent["name"] == "careful").expect("the agent");
    assert_eq!(own["selected"], true);
    let why = serde_json::json!({"reason": "limit", "pattern": "(a+)+\\1$", "file": "long.txt"});
    assert_eq!(own["why"], why);
    assert!(outcome.stderr.contains("`careful` is asked as a precaution"), "{outcome}");
}

// R-65, R-30, R-2: people and programs get the same information
#[test]
fn each_agent_is_told_with_its_reason() {
    let project = repository();
    let applies = "[applicability]\nfile_patterns = [\"*.sql\"]\ncontent_patterns = ['execute\\(']\n";
    project.write(".hachimoku/agents/sql.toml", agent("sql-guard", &format!("phase = \"early\"\n{applies}")));
    commit(&project);
    project.write("store.py", "def run(query):\n    return db.execute(query)\n");
    insta::assert_snapshot!(seen(&explain(&project, &[])), @r"
    PHASE  AGENT                     ORIGIN    SELECTED  WHY
    early  sql-guard                 project   yes       `execute\(` is found at store.py:2: +    return db.execute(query)
    main   architecture-reviewer     built-in  no        it is off unless named or enabled in the settings
    main   breaking-change-reviewer  built-in  no        none of its patterns matches
    main   code-reviewer             built-in  yes       always
    main   dependency-reviewer       built-in  no        none of its patterns matches
    main   performance-reviewer      built-in  no        it is off unless named or enabled in the settings
    main   pr-test-analyzer          built-in  yes       `*.py` takes store.py
    main   security-reviewer         built-in  no        none of its patterns matches
    main   silent-failure-hunter     built-in  no        none of its patterns matches
    main   type-design-analyzer      built-in  no        none of its patterns matches
    final  code-simplifier           built-in  yes       always
    final  comment-analyzer          built-in  no        none of its patterns matches
    ? 0
    ");
    let objects = explain(&project, &["--json"]).exits(0).json();
    assert_eq!(explain(&project, &["--format", "json"]).exits(0).json(), objects, "the same, written out");
    assert_eq!(objects.len(), 1);
    assert_eq!(
        objects[0]["agents"][0],
        serde_json::json!({
            "name": "sql-guard", "phase": "early", "origin": "project",
            "path": ".hachimoku/agents/sql.toml", "selected": true,
            "why": {"reason": "content-pattern", "pattern": "execute\\(", "file": "store.py", "line": 2,
                    "text": "+    return db.execute(query)"},
        })
    );
    assert!(project.begun().is_empty(), "no run is begun");
}

// R-31
#[test]
fn agents_are_chosen_and_left_out_by_name() {
    let project = repository();
    project.write("a.md", "text\n");
    project.write(".saihai/config.toml", "[review.agents.code-simplifier]\nenabled = false\n");
    let chosen = |arguments: &[&str]| {
        let outcome = explain(&project, &[arguments, &["--json"]].concat()).exits(0);
        let agents = outcome.json()[0]["agents"].as_array().expect("agents").clone();
        let selected = agents.iter().filter(|agent| agent["selected"] == true);
        selected.map(|agent| agent["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(chosen(&[]), ["code-reviewer"]);
    assert_eq!(chosen(&["--skip", "code-reviewer"]), Vec::<String>::new());
    let both = ["--agent", "type-design-analyzer", "--agent", "code-simplifier"];
    assert_eq!(chosen(&both), ["type-design-analyzer", "code-simplifier"]);
    insta::assert_snapshot!(seen(&explain(&project, &["--agent", "code-reviewr"])), @"
    error: no review agent is named `code-reviewr`
      = help: did you mean `code-reviewer`?
    ? 2
    ");
    project.write(".saihai/config.toml", "[review.agents.simplifier]\nenabled = false\n");
    insta::assert_snapshot!(seen(&explain(&project, &[])), @"
    error[settings/unknown-agent]: no review agent is named `simplifier`
    --> .saihai/config.toml:2:11
      |
    2 | enabled = false
      |           ^^^^^ has no effect
      = help: there is `architecture-reviewer`, `breaking-change-reviewer`, `code-reviewer`, `code-simplifier`, `comment-analyzer`, `dependency-reviewer`, `performance-reviewer`, `pr-test-analyzer`, `security-reviewer`, `silent-failure-hunter` and `type-design-analyzer`
    ? 2
    ");
}

// R-10, R-11
#[test]
fn files_that_are_wrong_are_told_and_stop_nobody() {
    let project = repository();
    project.write(".saihai/agents/bad.toml", "name = \"bad\"\nphase = \"late\"\n");
    project.write(".saihai/agents/bytes.toml", b"\xff\xfe");
    project.write(".saihai/agents/good.toml", agent("good", ""));
    project.write(".gitignore", ".saihai\n");
    let outcome = explain(&project, &["--agent", "good"]).exits(0);
    assert!(
        outcome.stdout.contains("good                      project   yes       asked for by name"),
        "{outcome}"
    );
    for code in ["review/missing-key", "review/bad-value", "review/file"] {
        assert!(outcome.stderr.contains(&format!("error[{code}]")), "{outcome}");
    }
    project.saihai(["check"]).run().exits(2);
}

// An error in one file does not affect the others, even if the settings mention its agent
#[test]
fn settings_may_speak_of_an_agent_whose_file_is_wrong() {
    let project = reviewed_by(&[("good", "")]);
    project.write(".saihai/agents/file.toml", "name = \"bad\"\n");
    project.write(".saihai/agents/torn.toml", "name = \n");
    let settings = project.read(".saihai/config.toml");
    let further = "[review.agents.bad]\ntimeout = 60\n[review.agents.torn]\nenabled = false\n";
    project.write(".saihai/config.toml", format!("{settings}{further}"));
    let told = report(&review(&project, &none("main/good"), &["--json"]).exits(0));
    assert_eq!(statuses(&told), ["good success"]);
    assert_eq!(told["load_errors"].as_array().map(Vec::len), Some(2));
    explain(&project, &["--skip", "torn"]).exits(0);
    let refused = explain(&project, &["--agent", "bad"]).exits(2);
    assert!(refused.stderr.contains("error: the review agent `bad` cannot be used"), "{refused}");
}

// R-9
#[test]
fn what_another_tool_left_is_said_to_have_no_effect_and_is_no_reason_to_stop() {
    let project = reviewed_by(&[("a", "")]);
    project.write(".hachimoku/config.toml", "model = 1\n");
    for name in ["selector", "aggregator"] {
        project.write(&format!(".hachimoku/agents/{name}.toml"), format!("name = \"{name}\"\n"));
    }
    let outcome = review(&project, &none("main/a"), &["--strict"]).exits(0);
    for note in [
        "note[review/no-effect]: `.hachimoku/config.toml` has no effect\n  = help: settings are `[review]` in",
        "note[review/no-effect]: `.hachimoku/agents/aggregator.toml` has no effect",
        "note[review/no-effect]: `.hachimoku/agents/selector.toml` has no effect",
    ] {
        assert_eq!(outcome.stderr.matches(note).count(), 1, "{note}\n{outcome}");
    }
}

#[test]
fn warnings_about_agents_are_told_and_count_as_errors_where_that_is_wanted() {
    let project = reviewed_by(&[("a", ""), ("never", "[applicability]\n")]);
    let warning = "warning[review/never-selected]";
    let outcome = review(&project, &none("main/a"), &[]).exits(0);
    assert_eq!(outcome.stderr.matches(warning).count(), 1, "{outcome}");
    let strict = review(&project, &none("main/a"), &["--strict"]).exits(2);
    assert!(
        strict.stderr.contains(warning) && strict.stderr.contains("warnings count as errors"),
        "{strict}"
    );
    project.saihai(["run", ".saihai/agents/a.toml", "--strict", "--script", "script.yaml"]).run().exits(2);
}

// case 25
#[test]
fn a_search_that_is_given_up_is_a_warning_in_the_report_and_outside() {
    let project = reviewed_by(&[("a", "[applicability]\ncontent_patterns = ['(a+)+\\1$']\n")]);
    project.write("long.txt", format!("{}!\n", "a".repeat(5_000)));
    let outcome = review(&project, &none("main/a"), &["--json"]).exits(0);
    let warning = "`a` is asked as a precaution: `(a+)+\\1$` took too long to search for in long.txt";
    assert!(outcome.stderr.contains(&format!("warning: {warning}")), "{outcome}");
    assert_eq!(report(&outcome)["warnings"], serde_json::json!([warning]));
}

// R-3
#[test]
fn a_file_where_agents_should_lie_is_refused() {
    let project = repository();
    project.write(".hachimoku/agents", "");
    insta::assert_snapshot!(seen(&explain(&project, &[])), @"
    error[review/file]: `.hachimoku/agents` is not a directory
      = help: review agents are files in a directory of that name
    ? 2
    ");
}

// R-8, K-11
#[test]
fn copies_of_built_in_agents_have_no_effect_until_they_are_edited() {
    let project = repository();
    let written = project.saihai(["init", "--review"]).run().exits(0);
    assert_eq!(written.stdout.lines().count(), 11, "{written}");
    let listed = |name: &str| {
        let lines = project.saihai(["list"]).run().exits(0).stdout;
        lines.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(listed("code-reviewer"), @"code-reviewer             review   built-in  .saihai/agents/code-reviewer.toml             builtin, unedited copy; Reviews code for bugs and departures from good practice");
    let file = ".saihai/agents/code-reviewer.toml";
    project.write(file, project.read(file).replacen("careful", "careless", 1));
    insta::assert_snapshot!(listed("code-reviewer"), @"
    code-reviewer             review   project   .saihai/agents/code-reviewer.toml             shadows built-in; Reviews code for bugs and departures from good practice
    code-reviewer             review   built-in  -                                             shadowed by .saihai/agents/code-reviewer.toml
    ");
    project.saihai(["init", "--review"]).run().exits(2);
    assert!(project.read(file).contains("careless"));
    project.saihai(["eject", "code-reviewer", "--force"]).run().exits(0);
    assert!(!project.read(file).contains("careless"));
}

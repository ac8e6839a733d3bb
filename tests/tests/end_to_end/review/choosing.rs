//! Which agents a change needs.

use super::*;

// R-65, R-30, R-2: people and programs are told the same
#[test]
fn each_agent_is_told_with_its_reason() {
    let project = repository();
    let applies = "[applicability]\nfile_patterns = [\"*.sql\"]\ncontent_patterns = ['execute\\(']\n";
    project.write(".hachimoku/agents/sql.toml", agent("sql-guard", &format!("phase = \"early\"\n{applies}")));
    commit(&project);
    project.write("store.py", "def run(query):\n    return db.execute(query)\n");
    insta::assert_snapshot!(seen(&explain(&project, &[])), @r"
    PHASE  AGENT                  ORIGIN    SELECTED  WHY
    early  sql-guard              project   yes       `execute\(` is found at store.py:2: +    return db.execute(query)
    main   code-reviewer          built-in  yes       always
    main   pr-test-analyzer       built-in  yes       `*.py` takes store.py
    main   silent-failure-hunter  built-in  no        none of its patterns matches
    main   type-design-analyzer   built-in  no        none of its patterns matches
    final  code-simplifier        built-in  yes       always
    final  comment-analyzer       built-in  no        none of its patterns matches
    ? 0
    ");
    let objects = explain(&project, &["--json"]).exits(0).json();
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
      = help: there is `code-reviewer`, `code-simplifier`, `comment-analyzer`, `pr-test-analyzer`, `silent-failure-hunter` and `type-design-analyzer`
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
        outcome.stdout.contains("good                   project   yes       asked for by name"),
        "{outcome}"
    );
    for code in ["review/missing-key", "review/bad-value", "review/file"] {
        assert!(outcome.stderr.contains(&format!("error[{code}]")), "{outcome}");
    }
    project.saihai(["check"]).run().exits(2);
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
    assert_eq!(written.stdout.lines().count(), 6, "{written}");
    let listed = |name: &str| {
        let lines = project.saihai(["list"]).run().exits(0).stdout;
        lines.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(listed("code-reviewer"), @"code-reviewer          review   built-in  .saihai/agents/code-reviewer.toml          unedited copy; Reviews code for bugs and departures from good practice");
    let file = ".saihai/agents/code-reviewer.toml";
    project.write(file, project.read(file).replacen("careful", "careless", 1));
    insta::assert_snapshot!(listed("code-reviewer"), @"
    code-reviewer          review   project   .saihai/agents/code-reviewer.toml          shadows built-in; Reviews code for bugs and departures from good practice
    code-reviewer          review   built-in  -                                          shadowed by .saihai/agents/code-reviewer.toml
    ");
    project.saihai(["init", "--review"]).run().exits(2);
    assert!(project.read(file).contains("careless"));
    project.saihai(["eject", "code-reviewer", "--force"]).run().exits(0);
    assert!(!project.read(file).contains("careless"));
}

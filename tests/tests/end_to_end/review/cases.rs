//! Cases that combine several rules, one test per case.

use std::fs;
use std::path::Path;

use saihai_tests::{Answer, ApiServer, FakeAgent};
use serde_json::json;

use super::read_only_access::FAKE_AGENT;
use super::*;

/// Creates a project with one agent with these tools, behind a fake API.
fn served(tools: &str, answers: Vec<Answer>) -> (Project, ApiServer) {
    let project = reviewed_by(&[("a", &format!("allowed_tools = {tools}\n"))]);
    let server = ApiServer::start(|_| answers);
    let model = format!("model = \"m\"\nbase_url = \"{}/v1\"\n", server.url());
    let settings = format!("provider = \"openai\"\n[providers.openai]\n{model}");
    project.write("../home/.config/saihai/config.toml", settings);
    (project, server)
}

const NOTHING_FOUND: &str = r#"{"issues": [], "overall_score": 9}"#;

// Case 6
#[test]
fn copies_of_the_built_in_agents_are_theirs_until_a_byte_is_edited() {
    let project = repository();
    project.saihai(["init", "--review"]).run().exits(0);
    let listed = |what: &str| {
        let all = project.saihai(["list"]).run().exits(0).stdout;
        all.lines().filter(|line| line.contains(what)).count()
    };
    assert_eq!(listed("builtin, unedited copy"), 11);
    let path = ".saihai/agents/code-reviewer.toml";
    let text = project.read(path);
    let (head, prompt) = text.split_once("system_prompt = \"\"\"\n").expect("a prompt");
    project.write(path, format!("{head}system_prompt = \"\"\"\n!{prompt}"));
    assert_eq!(listed("builtin, unedited copy"), 10);
    project.write("new.py", "print(2)\n");
    let told = explain(&project, &["--json"]).exits(0).json();
    let origins: Vec<String> = told[0]["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .map(|one| format!("{} {}", one["name"].as_str().unwrap_or_default(), one["origin"]))
        .collect();
    insta::assert_snapshot!(origins.join("\n"), @r#"
    architecture-reviewer "built-in"
    breaking-change-reviewer "built-in"
    code-reviewer "project"
    dependency-reviewer "built-in"
    performance-reviewer "built-in"
    pr-test-analyzer "built-in"
    security-reviewer "built-in"
    silent-failure-hunter "built-in"
    type-design-analyzer "built-in"
    code-simplifier "built-in"
    comment-analyzer "built-in"
    "#);
}

// Case 15
#[test]
fn no_tools_are_a_valid_list_and_what_is_misspelt_or_writes_is_refused() {
    let (project, server) = served("[]", vec![Answer::text(NOTHING_FOUND)]);
    project.saihai(["review"]).env("OPENAI_API_KEY", "sk-of-the-test").run().exits(0);
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].body["tools"].as_array().is_none_or(Vec::is_empty), "{}", asked[0].body);
    for (list, expected) in [
        ("[\"git_raed\"]", ["no tool has this name", "did you mean `git_read`?"]),
        ("[\"Bash\"]", ["a reviewer only reads", "use the category `git_read`"]),
    ] {
        let project = reviewed_by(&[("a", &format!("allowed_tools = {list}\n"))]);
        let outcome = project.saihai(["check", ".saihai/agents/a.toml"]).run().exits(2);
        assert!(expected.iter().all(|words| outcome.stdout.contains(words)), "{outcome}");
    }
}

// Case 29
#[test]
fn a_clean_tree_is_nothing_to_review_and_a_shallow_clone_is_told_what_it_lacks() {
    let project = reviewed_by(&[("a", "")]);
    commit(&project);
    insta::assert_snapshot!(seen(&review(&project, &none("main/a"), &[])), @"
    nothing to review against `main`
    ? 0
    ");
    assert_eq!(project.begun(), [""; 0]);

    // Two branches diverge before their last commits, and the shallow clone has only those commits.
    git(&project, &["switch", "--quiet", "--create", "topic"]);
    project.write("new.py", "print(2)\n");
    commit(&project);
    git(&project, &["switch", "--quiet", "main"]);
    project.write("kept.py", "print(3)\n");
    commit(&project);
    let from = format!("file://{}", project.root().display());
    git(
        &project,
        &["clone", "--quiet", "--depth", "1", "--no-single-branch", "--branch", "topic", &from, "../shallow"],
    );
    let shallow = project.root().join("../shallow");
    fs::write(shallow.join("script.yaml"), format!("script: 1\nreplies:\n{}", none("main/a")))
        .expect("a script");
    let outcome =
        project.saihai(["review", "--script", "script.yaml", "origin/main"]).directory(&shallow).run();
    insta::assert_snapshot!(seen(&outcome), @"
    error: `origin/main` and the current commit have no common history here
      = help: a shallow clone lacks it: `git fetch --unshallow` downloads the history
    ? 2
    ");
}

// Case 30
#[test]
fn new_files_are_reviewed_and_ignored_ones_are_neither_sent_nor_read() {
    let read = |path: &str| Answer::tool("read_file", json!({ "path": path }));
    let answers = vec![read("new.py"), read("secret.env"), Answer::text(NOTHING_FOUND)];
    let (project, server) = served("[\"file_read\"]", answers);
    project.write(".gitignore", "secret.env\n");
    project.write("new.py", "answer = 42\n").write("secret.env", "KEY=canary\n");
    project.saihai(["review"]).env("OPENAI_API_KEY", "sk-of-the-test").run().exits(0);
    let prompt = project.journal().prompt("main");
    assert!(prompt.contains("+answer = 42\n"), "{prompt}");
    let heard = server.asked().pop().expect("a request").body.to_string();
    assert!(heard.contains("1\\tanswer = 42"), "{heard}");
    assert!(heard.contains("`secret.env` is ignored by git and stays unread"), "{heard}");
    assert!(!heard.contains("canary") && !prompt.contains("secret.env:"), "{heard}");
}

/// Returns the order in which the journal records questions and replies of the agents.
fn order(project: &Project) -> String {
    let journal = project.journal();
    let lines = journal.lines.iter().filter(|line| ["asked", "replied"].contains(&line.name.as_str()));
    let word = |line: &saihai_tests::Line| {
        let call = &line.body["call"];
        format!("{} {} {}\n", call["stage"].as_str().unwrap_or_default(), call["n"], line.name)
    };
    lines.map(word).collect()
}

// Case 35
#[test]
fn the_last_phase_waits_for_every_turn_before_it_and_one_job_overlaps_with_none() {
    let agents = [("c", "phase = \"final\"\n"), ("b", ""), ("a", "")];
    let slow = none("main/a").replace("for:", "delay: 1s, for:");
    let replies = slow + &none("main/b") + &none("final/c");
    let together = reviewed_by(&agents);
    review(&together, &replies, &[]).exits(0);
    insta::assert_snapshot!(order(&together), @"
    main 1 asked
    main 2 asked
    main 2 replied
    main 1 replied
    final 1 asked
    final 1 replied
    ");
    let alone = reviewed_by(&agents);
    review(&alone, &replies, &["--jobs", "1"]).exits(0);
    insta::assert_snapshot!(order(&alone), @"
    main 1 asked
    main 1 replied
    main 2 asked
    main 2 replied
    final 1 asked
    final 1 replied
    ");
}

// Case 36
#[test]
fn a_wrapped_answer_is_taken_and_a_wrong_one_is_asked_for_once_more() {
    let valid = r#"{"issues":[{"severity":"nitpick","description":"d"}],"overall_score":9}"#;
    let told = |texts: &[&str]| {
        let replies: String =
            texts.iter().map(|text| format!("  - {{for: main/a, text: '{text}'}}\n")).collect();
        let project = reviewed_by(&[("a", "")]);
        let told = report(&review(&project, &replies, &["--json"]).exits(0));
        let result = &told["results"][0];
        let found = told["findings"].as_array().map_or(0, Vec::len);
        format!(
            "{} {} {found} found, asked {} times",
            result["status"],
            result["reason"],
            project.journal().prompts().len()
        )
    };
    let wrong = valid.replace(":9}", ":10.1}");
    assert_eq!(told(&[&format!("{{\"data\": {valid}}}")]), r#""success" null 1 found, asked 1 times"#);
    assert_eq!(told(&[&wrong, valid]), r#""success" null 1 found, asked 2 times"#);
    assert_eq!(told(&[&wrong, &wrong]), r#""truncated" "invalid_output" 1 found, asked 2 times"#);
}

// Case 37
#[test]
fn a_severity_is_read_in_any_case_known_by_its_word_and_decided_by_its_list() {
    let lists = |critical: &str| {
        let others = ["important_issues", "suggestion_issues", "nitpick_issues"];
        let others: String = others.iter().map(|list| format!(", {list}: []")).collect();
        format!("{{critical_issues: [{critical}]{others}}}")
    };
    let reviewed = |schema: &str, reply: &str, code: i32| {
        let project = reviewed_by(&[("a", "")]);
        let path = ".saihai/agents/a.toml";
        project.write(path, project.read(path).replace("scored_issues", schema));
        let replies = format!("  - {{for: main/a, times: 2, structured: {reply}}}\n");
        project.write("script.yaml", format!("script: 1\nstrict: false\nreplies:\n{replies}"));
        let told = report(&project.saihai(["review", "--script", "script.yaml", "--json"]).run().exits(code));
        format!("{} {}", told["results"][0]["status"], told["findings"][0]["severity"])
    };
    let issue = |severity: &str| format!("{{severity: {severity}, description: d}}");
    let scored = |severity: &str| format!("{{issues: [{}], overall_score: 5}}", issue(severity));
    assert_eq!(reviewed("scored_issues", &scored("CRITICAL"), 1), r#""success" "critical""#);
    assert_eq!(reviewed("scored_issues", &scored("Blocker"), 4), r#""error" null"#);
    assert_eq!(reviewed("severity_classified", &lists(&issue("nitpick")), 1), r#""success" "critical""#);
}

// Case 41
#[test]
fn a_finding_that_points_nowhere_is_kept_without_its_place() {
    let issue = |file: &str, line: u32| {
        format!(
            "{{severity: important, description: \"{file} leaks\", location: {{file_path: {file}, line_number: {line}}}}}"
        )
    };
    let issues = format!("{}, {}", issue("store.py", 9_999), issue("../../x", 1));
    let replies = format!("  - {{for: main/a, structured: {{issues: [{issues}], overall_score: 5}}}}\n");
    let told = report(&review(&reviewed_by(&[("a", "")]), &replies, &["--json"]).exits(1));
    let found: Vec<String> = told["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|one| format!("{} {} {} {}", one["message"], one["anchor"], one["file"], one["start_line"]))
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    "../../x leaks" "unverified" null null
    "store.py leaks" "unverified" null null
    "#);
}

// Case 43
#[test]
fn a_suppression_needs_a_reason_ends_with_its_day_and_is_told_of_when_nobody_needs_it() {
    let reviewed = |ignores: &str, replies: &str, code: i32| {
        let project = reviewed_by(&[("a", "")]);
        project.write(".saihai/review-ignore.toml", ignores);
        commit(&project);
        project.write("store.py", "def run(query):\n    return db.execute(query, 1)\n");
        review(&project, replies, &["--json"]).exits(code)
    };
    let found = one("main/a", "important");
    let entry = "[[ignore]]\nagent = \"a\"\npath = \"*.py\"\n";
    let outcome = reviewed(entry, &found, 2);
    assert!(
        outcome.stderr.contains("error[review/missing-key]: an entry of `ignore` needs `reason`"),
        "{outcome}"
    );
    let expired = report(&reviewed(&format!("{entry}reason = \"r\"\nexpires = \"2001-01-01\"\n"), &found, 1));
    assert_eq!((expired["findings"].as_array().map(Vec::len), &expired["suppressed"]), (Some(1), &json!([])));
    let unused = report(&reviewed(&format!("{entry}reason = \"r\"\n"), &none("main/a"), 0));
    insta::assert_snapshot!(format!("{:#}\n{:#}", expired["notices"], unused["notices"]), @r#"
    [
      {
        "file": ".saihai/review-ignore.toml",
        "level": "warning",
        "line": 1,
        "message": "the suppression expired on 2001-01-01"
      }
    ]
    [
      {
        "file": ".saihai/review-ignore.toml",
        "level": "note",
        "line": 1,
        "message": "the suppression is not needed: it matches no finding"
      }
    ]
    "#);
}

// Case 44
#[test]
fn what_an_agent_writes_is_text_in_every_form() {
    let message = "first\\n::error::x\\n##[error]y\\e[31mred\\e[0m";
    let issue = format!(
        "{{severity: important, description: \"{message}\", location: {{file_path: store.py, line_number: 2}}}}"
    );
    let replies = format!("  - {{for: main/a, structured: {{issues: [{issue}], overall_score: 5}}}}\n");
    for form in ["md", "json", "sarif", "github"] {
        let project = reviewed_by(&[("a", "")]);
        let summary = project.home().join("summary.md");
        project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
        let asked = project.saihai(["review", "--script", "script.yaml", "--format", form]);
        let outcome = asked.env("GITHUB_STEP_SUMMARY", &summary).run().exits(1);
        let mut told = format!("{}{}", outcome.stdout, outcome.stderr);
        if form == "github" {
            told += &fs::read_to_string(&summary).expect("a summary");
        }
        assert!(told.contains("error::x") && told.contains("red"), "{form}: {told}");
        assert!(!told.contains('\u{1b}'), "{form}: {told}");
        let commands = told.lines().filter(|line| line.starts_with("::") || line.starts_with("##["));
        let expected = usize::from(form == "github");
        let foreign = commands.filter(|line| !line.starts_with("::notice")).collect::<Vec<_>>();
        assert_eq!(foreign.len(), expected, "{form}: {foreign:?}");
        assert!(
            foreign.iter().all(|line| line.starts_with("::warning file=store.py,line=2,")),
            "{form}: {foreign:?}"
        );
    }
    let project = reviewed_by(&[("a", "")]);
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    let terminal = saihai_tests::Terminal::start(project.saihai(["review", "--script", "script.yaml"]));
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(1), "{screen}");
    assert!(!screen.contains("\u{1b}[31mred"), "{screen}");
}

// Case 45
#[test]
fn a_model_that_is_typed_is_sent_the_default_is_not_and_settings_of_nobody_are_refused() {
    let named = |model: Option<&str>| {
        let project = reviewed_by(&[("a", ""), ("b", "")]);
        let path = ".saihai/agents/b.toml";
        project.write(path, project.read(path).replace("\"default\"", "\"of-the-file\""));
        let answer = json!({"structured": {"issues": [], "overall_score": 9}});
        let fake = FakeAgent::install(&project, Path::new(FAKE_AGENT), &["claude"], &json!([answer, answer]));
        match model {
            None => fake.saihai(["review", "--provider", "claude", "--jobs", "1"]),
            Some(model) => fake.saihai(["review", "--provider", "claude", "--jobs", "1", "--model", model]),
        }
        .run()
        .exits(0);
        fake.calls().iter().map(|call| call.after("--model")).collect::<Vec<_>>()
    };
    assert_eq!(named(None), [None, Some("of-the-file".to_owned())]);
    assert_eq!(named(Some("m")), [Some("m".to_owned()), Some("m".to_owned())]);
    let project = reviewed_by(&[("a", "")]);
    project.write(".saihai/config.toml", "[review.agents.x]\nmodel = \"m\"\n");
    let outcome = review(&project, &none("main/a"), &[]).exits(2);
    assert!(
        outcome.stderr.contains("error[settings/unknown-agent]: no review agent is named `x`"),
        "{outcome}"
    );
}

// A review has no worktree. Saihai rejects flags of `run` by name.
#[test]
fn an_agent_that_is_run_by_its_file_takes_nothing_of_what_a_run_takes() {
    let project = reviewed_by(&[("x", "")]);
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", none("main/x")));
    let refused = |arguments: &[&str]| {
        let all = [&["run", ".saihai/agents/x.toml", "--script", "script.yaml"], arguments].concat();
        let outcome = project.saihai(all).run();
        assert_eq!(outcome.code, Some(2), "{outcome}");
        outcome.stderr
    };
    insta::assert_snapshot!(refused(&["--worktree"]), @"
    error: `.saihai/agents/x.toml` is a review agent and takes no `--worktree`
      = help: it reviews changes: see `saihai review --help`
    ");
    for (arguments, what) in [
        (&["--issue", "7"][..], "`--issue`"),
        (&["--max-iterations", "3"], "`--max-iterations`"),
        (&["--auto"], "`--auto`"),
        (&["--set", "a=b"], "`--set`"),
    ] {
        let told = refused(arguments);
        assert!(
            told.starts_with(&format!(
                "error: `.saihai/agents/x.toml` is a review agent and takes no {what}\n"
            )),
            "{told}"
        );
    }
    assert_eq!(project.runs(), [""; 0]);
    project
        .saihai(["run", ".saihai/agents/x.toml", "--script", "script.yaml", "--no-worktree"])
        .run()
        .exits(0);
}

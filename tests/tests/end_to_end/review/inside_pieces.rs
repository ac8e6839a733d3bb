//! Review agents inside pieces, tested through the program.

use super::*;

const PIECE: &str = r#"
name: until-clean
movements:
  - name: work
    edit: true
    rules: [{condition: Done, next: look}]
  - name: look
    reviewer: guard
    rules:
      - {condition: 'findings("critical")', next: ABORT}
      - {condition: 'findings("important")', next: work}
      - {condition: 'no_findings("important")', next: COMPLETE}
"#;

fn guarded() -> Project {
    let project = repository();
    project
        .write(".saihai/agents/guard.toml", agent("guard", ""))
        .write(".takt/pieces/until-clean.yaml", PIECE);
    project.write(".gitignore", "script.yaml\n");
    commit(&project);
    project.write("store.py", "def run(query):\n    return db.execute(query)\n");
    project
}

fn run(project: &Project, replies: &str) -> Outcome {
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project.saihai(["run", "until-clean", "task", "--script", "script.yaml"]).run()
}

/// Returns the journal facts of that name.
fn facts(project: &Project, name: &str) -> Vec<serde_json::Value> {
    let journal = std::fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
    let lines = journal.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    lines.map(|line| line["fact"][name].clone()).filter(|fact| !fact.is_null()).collect()
}

#[test]
fn a_review_agent_sees_the_change_of_the_moment_and_its_findings_decide_what_follows() {
    let project = guarded();
    let better = r"def run(query):\n    return db.bound(query)\n";
    let replies = [
        "  - {for: work, text: 'done [STEP:0]'}\n".to_owned(),
        one("look", "important"),
        format!("  - {{for: work, text: '[STEP:0]', writes: [{{path: store.py, content: \"{better}\"}}]}}\n"),
        none("look"),
    ];
    let replies = replies.concat();
    run(&project, &replies).exits(0);
    let asked = facts(&project, "asked");
    let prompts: Vec<&str> = asked.iter().filter_map(|fact| fact["prompt"]["inline"].as_str()).collect();
    let [_, seen, told, again] = prompts.as_slice() else { panic!("{prompts:#?}") };
    assert!(seen.contains("base: main") && seen.contains("+    return db.execute(query)"), "{seen}");
    assert!(told.contains("- **important** · `store.py:2`\n\n  look found it"), "{told}");
    assert!(again.contains("+    return db.bound(query)") && !again.contains("db.execute"), "{again}");
    let explained = project.saihai(["explain", "last", "-v"]).run().exits(0).stdout;
    assert!(explained.contains("by findings"), "{explained}");
}

#[test]
fn a_reply_that_stays_wrong_is_never_taken_for_nothing_found() {
    let project = guarded();
    let replies = "  - {for: work, text: '[STEP:0]'}\n  - {for: look, text: 'All is well.', times: \"*\"}\n";
    let outcome = run(&project, replies).exits(1);
    assert!(outcome.stderr.contains("no rule of `look` matched the reply"), "{outcome}");
    assert_eq!(facts(&project, "asked").len(), 3, "it was asked for a correction once");
}

#[test]
fn where_nothing_can_be_compared_the_run_waits_and_says_why() {
    let project = Project::new(PROGRAM);
    project
        .write(".saihai/agents/guard.toml", agent("guard", ""))
        .write(".takt/pieces/until-clean.yaml", PIECE);
    let outcome = run(&project, "  - {for: work, text: '[STEP:0]'}\n").exits(4);
    assert!(outcome.stderr.contains("cannot determine the changes"), "{outcome}");
    let shown = project.saihai(["prompt", "until-clean", "look"]).run().exits(0).stdout;
    assert!(shown.contains("(what has changed: "), "{shown}");
}

#[test]
fn the_built_in_piece_with_review_agents_is_rehearsed_on_all_paths_in_both_languages() {
    for language in ["en", "ja"] {
        let project = repository();
        project.write(".saihai/config.toml", format!("language = \"{language}\"\n"));
        let outcome = project.saihai(["rehearse", "specialists"]).run().exits(0);
        assert!(outcome.stdout.contains("every exit taken"), "{outcome}");
    }
}

// P-61: after a commit onto the base itself, nothing differs from the base
#[test]
fn a_review_agent_sees_what_was_committed_since_the_run_began() {
    let project = guarded();
    project.write(".takt/pieces/until-clean.yaml", PIECE.replace("edit: true", "permission_mode: full"));
    commit(&project);
    let git = "argv: [git, -c, user.name=T, -c, user.email=t@example.com";
    let saves = format!("runs: [{{{git}, add, late.py]}}, {{{git}, commit, --quiet, --message, late]}}]");
    let writes = r#"writes: [{path: late.py, content: "late = 1\n"}]"#;
    let replies = format!("  - {{for: work, text: '[STEP:0]', {writes}, {saves}}}\n{}", none("look"));
    run(&project, &replies).exits(0);
    let asked = facts(&project, "asked");
    let seen = asked[1]["prompt"]["inline"].as_str().expect("a prompt");
    assert!(seen.contains("base: main") && seen.contains("+late = 1"), "{seen}");
    assert!(!seen.contains("db.execute"), "what was there before the run is no change of it: {seen}");
}

// P-61
#[test]
fn a_change_that_is_too_large_for_a_review_agent_is_told_of() {
    let project = guarded();
    project.write(".saihai/config.toml", "[review]\nmax_diff_bytes = 10000\n");
    project.write("large.py", "x = 1\n".repeat(9_000));
    let replies = format!("  - {{for: work, text: '[STEP:0]'}}\n{}", none("look"));
    let outcome = run(&project, &replies).exits(0);
    let told = "a review agent sees only 10000 bytes of the changes; omitted or cut: \
                `large.py`";
    assert!(outcome.stderr.contains(told), "{outcome}");
}

/// Returns replies of the three agents of the built-in piece, each with a finding of this severity.
fn all_three(severity: &str) -> String {
    let place = "location: {file_path: store.py, line_number: 2}";
    let issue = |what: &str| format!("{{severity: {severity}, description: \"{what}\", {place}}}");
    let lists = ["critical", "important", "suggestion", "nitpick"].map(|list| {
        let held = if list == severity { issue("an error is lost") } else { String::new() };
        format!("{list}_issues: [{held}]")
    });
    let gap = format!("{{file_path: store.py, line_number: 2, description: no test, priority: {severity}}}");
    format!(
        "  - {{for: review/code, structured: {{issues: [{}], overall_score: 5}}}}\n\
         \x20 - {{for: review/failures, structured: {{{}}}}}\n\
         \x20 - {{for: review/tests, structured: {{issues: [], coverage_gaps: [{gap}], risk_level: nitpick}}}}\n",
        issue("it leaks"),
        lists.join(", ")
    )
}

/// Describes the three review agents as they are in the frozen workflow of a run.
fn reviewers(project: &Project) -> Vec<String> {
    let frozen = std::fs::read_to_string(project.run_directory().join("workflow.json")).expect("a workflow");
    let workflow: serde_json::Value = serde_json::from_str(&frozen).expect("JSON");
    let turns = workflow["stages"]["review"]["does"]["turns"]["turns"].as_array().expect("turns").clone();
    let agents = ["code-reviewer", "silent-failure-hunter", "pr-test-analyzer"];
    let told = turns.iter().zip(agents).map(|(turn, agent)| {
        project.saihai(["eject", agent]).run().exits(0);
        let file = project.read(&format!(".saihai/agents/{agent}.toml"));
        let prompt =
            file.split("system_prompt = \"\"\"\n").nth(1).and_then(|rest| rest.split("\"\"\"").next());
        let prompt = serde_json::to_string(prompt.expect("a prompt").trim_end()).expect("JSON");
        let persona = turn["persona"].to_string();
        assert!(prompt.len() > 200 && persona.contains(prompt.trim_matches('"')), "{agent}: {persona}");
        format!("{} {} {}", turn["id"], turn["permission"], turn["tools"])
    });
    told.collect()
}

// P-61, see also the refusals in `piece/tests/reviewers.rs`
#[test]
fn the_built_in_piece_goes_on_by_what_its_review_agents_find() {
    let implements = "  - {for: implement, text: 'Done. [STEP:0]', writes: [{path: store.py, content: \"def run(query):\\n    return db.execute(query)\\n\"}]}\n";
    let fixes = "  - {for: fix, text: '# Fixes [STEP:0]', writes: [{path: store.py, content: \"def run(query):\\n    return db.bound(query)\\n\"}]}\n";
    let run = |replies: &[&str]| {
        let project = repository();
        project.write(".gitignore", "script.yaml\n");
        commit(&project);
        project.write("script.yaml", format!("script: 1\nreplies:\n{}", replies.concat()));
        project.saihai(["run", "specialists", "task", "--script", "script.yaml"]).run().exits(0);
        project
    };
    // Without an important finding, the run ends.
    let project = run(&[implements, &all_three("suggestion")]);
    assert_eq!(project.journal().path_taken(), ["implement", "review"]);
    insta::assert_snapshot!(reviewers(&project).join("\n"), @r#"
    "code" "read_only" ["read_file","list_files","grep","git_diff","git_log","git_show","git_blame"]
    "failures" "read_only" ["read_file","list_files","grep","git_diff","git_log","git_show","git_blame"]
    "tests" "read_only" ["read_file","list_files","grep","git_diff","git_log","git_show","git_blame"]
    "#);

    // An important or critical finding is fixed and reviewed again.
    for severity in ["important", "critical"] {
        let project = run(&[implements, &all_three(severity), fixes, &all_three("nitpick")]);
        let journal = project.journal();
        assert_eq!(journal.path_taken(), ["implement", "review", "fix", "review"], "{severity}");
        let seen: Vec<String> = journal
            .prompts()
            .into_iter()
            .filter(|(call, _)| call.starts_with("review."))
            .map(|(_, text)| text)
            .collect();
        assert_eq!(seen.len(), 6);
        let shows = |text: &String, line: &str| text.contains("base: main (") && text.contains(line);
        assert!(seen[..3].iter().all(|text| shows(text, "+    return db.execute(query)\n")), "{}", seen[0]);
        assert!(seen[3..].iter().all(|text| shows(text, "+    return db.bound(query)\n")), "{}", seen[3]);
        let told = journal.prompt("fix");
        for found in ["it leaks", "an error is lost", "no test"] {
            let line = format!("- **{severity}** · `store.py:2`");
            assert!(told.contains(&line) && told.contains(found), "{found}: {told}");
        }
        let explained = project.saihai(["explain", "last"]).run().exits(0).stdout;
        assert!(explained.contains("findings"), "{explained}");
    }
}

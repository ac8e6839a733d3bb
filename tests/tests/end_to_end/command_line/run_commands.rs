//! Commands about runs: names of runs, texts of stages, changes, answers, deleting.

use std::fs;

use saihai_tests::{Project, Terminal, screen};
use serde_json::json;

use super::support::{ASK, ONE, PROGRAM, REVIEWED, normal, project, run, seen};

const REPLIES: &str = "  \
  - {for: plan, text: \"調べた\\n```markdown\\n# 計画\\n一つ\\n```\\n[STEP:0]\", tools_used: [{name: Bash, input: {command: ls}, output: a.txt}]}
  - {for: verify/tests, text: \"全て通った\\n[STEP:0]\"}
  - {for: verify/レビュー, text: 良さそうだ}
  - {for: 'verify#judge', text: '[STEP:0]'}
";

const ASKING: &str = "  - {for: plan, visit: 1, text: \"Left or right?\\n[STEP:1]\"}
  - {for: plan, visit: 2, prompt: to the left, text: \"left\\n[STEP:0]\"}";

// U-2
#[test]
fn the_texts_of_a_stage_are_printed_as_they_were() {
    let project = project(REVIEWED, REPLIES);
    run(&project, &[]).exits(0);
    let show = |arguments: &[&str]| project.saihai(["show"].iter().chain(arguments)).run();
    assert_eq!(show(&["verify/tests", "--reply"]).exits(0).stdout, "全て通った\n[STEP:0]\n");
    assert_eq!(show(&["plan", "--report"]).exits(0).stdout, "# 計画\n一つ\n");
    let prompt = show(&["last", "plan", "--prompt"]).exits(0).stdout;
    assert!(prompt.contains("The task."), "{prompt}");
    let tools = normal(&project, &show(&["plan", "--tools"]).exits(0).stdout);
    assert_eq!(tools, "input: {\"command\":\"ls\"}\noutput: a.txt\n");
    let both = show(&["plan"]).exits(0).stdout;
    assert!(
        both.starts_with("== plan, visit 1, round 1: script, ") && both.contains("-- prompt\n"),
        "{both}"
    );
    // Several texts have headings, the question to the judge too.
    let replies = normal(&project, &show(&["verify", "--reply"]).exits(0).stdout);
    let headings: Vec<&str> = replies.lines().filter_map(|line| line.strip_prefix("== ")).collect();
    assert_eq!(headings.len(), 3, "{replies}");
    assert!(headings[2].starts_with("verify/レビュー (question), visit 1"), "{replies}");
    // Without a stage, the last stage that asked an agent.
    assert_eq!(show(&["--reply"]).exits(0).stdout, show(&["verify", "--reply"]).stdout);
    let objects = show(&["plan", "--json"]).exits(0).json();
    assert_eq!(objects[0]["reply"], "調べた\n```markdown\n# 計画\n一つ\n```\n[STEP:0]");
    assert_eq!(objects[0]["reports"], json!([{"file": "01-plan.md", "text": "# 計画\n一つ\n"}]));
}

// U-2, U-3
#[test]
fn a_stage_that_is_not_there_is_refused_with_the_nearest_one() {
    let project = project(REVIEWED, REPLIES);
    run(&project, &[]).exits(0);
    let refused = |arguments: &[&str]| {
        let outcome = project.saihai(["show"].iter().chain(arguments)).run().exits(2);
        normal(&project, &outcome.stderr)
    };
    insta::assert_snapshot!(refused(&["plam"]), @"
    error: run `RUN` has no stage `plam`
      = help: did you mean `plan`?
    ");
    insta::assert_snapshot!(refused(&["verify/test"]), @"
    error: stage `verify` has no turn `test`
      = help: did you mean `tests`?
    ");
    insta::assert_snapshot!(refused(&["plan", "--visit", "2"]), @"
    error: `plan` has no visit 2
      = help: it has 1 visit
    ");
}

// U-3
#[test]
fn a_run_is_the_last_one_or_named_by_a_beginning() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    let none = project.saihai(["show"]).run().exits(2);
    assert!(none.stderr.contains("there are no runs yet"), "{none}");
    for task in ["first task", "second task"] {
        project.saihai(["run", "it", task, "--script", "script.yaml"]).run().exits(0);
    }
    let runs = project.runs();
    let first = runs.iter().find(|run| run.ends_with("first-task")).expect("the first run").clone();
    let shown = |arguments: &[&str]| {
        let outcome = project.saihai(arguments.iter().chain(&["--json"])).run().exits(0);
        outcome.json()[0]["result"]["run"].as_str().expect("a run").to_owned()
    };
    assert!(shown(&["show"]).ends_with("second-task"));
    // By the beginning of the id, of the name behind the time, and by the whole id.
    let beginning = &first[..first.len() - 4];
    assert_eq!(shown(&["show", beginning]), first);
    assert_eq!(shown(&["show", &first]), first);
    let log = |name: &str| project.saihai(["log", name]).run();
    assert!(log("first").exits(0).stdout.contains("first task"));
    let ambiguous = log(&first[..8]).exits(2);
    assert!(ambiguous.stderr.contains("is ambiguous: it matches"), "{ambiguous}");
    for command in ["log", "explain", "graph", "record", "fork"] {
        project.saihai([command]).run().exits(0);
    }
}

// U-3: hints name a run as briefly as it can be typed
#[test]
fn hints_name_the_last_run_and_older_ones_by_their_beginning() {
    let project = project(ASK, ASKING);
    let parked = run(&project, &[]).exits(6);
    assert!(parked.stderr.ends_with("note: answer with `saihai answer last TEXT`\n"), "{parked}");
    // Another run becomes the last one.
    project.saihai(["run", "it", "other", "--script", "script.yaml"]).run().exits(6);
    let older = project.runs().into_iter().find(|run| run.contains("the-task")).expect("the first run");
    let shown = project.saihai(["show", &older]).run().exits(0);
    let hint = shown.stderr.split('`').nth(1).expect("a command").to_owned();
    let name = hint.split(' ').nth(2).expect("a name").to_owned();
    assert!(older.starts_with(&name) && name.len() < older.len(), "{hint}");
    project.saihai(["answer", &name, "to the left"]).run().exits(0);
}

// U-4
#[test]
fn an_answer_continues_the_run() {
    let project = project(ASK, ASKING);
    run(&project, &[]).exits(6);
    let missing = project.saihai(["answer"]).run().exits(2);
    assert!(missing.stderr.contains("Left or right?"), "{missing}");
    insta::assert_snapshot!(seen(&project, &project.saihai(["answer", "to the left"]).run()), @r#"
    `plan/input[1]` of run `RUN` is answered: to the left
    completed at plan: "done" — left
    run RUN: SOME TIME, 2 iterations, 2 turns

    left
    -- stderr
    run RUN
      resumed
    iteration 2 of 10: plan
      plan replied in SOME TIME
      plan → completed: "done" — left
    ? 0
    "#);
    let again = project.saihai(["answer", "to the right"]).run().exits(2);
    assert!(again.stderr.contains("it is completed"), "{again}");
}

// U-4: programs read the answer and then the events
#[test]
fn an_answer_in_json_is_followed_by_the_events() {
    let project = project(ASK, ASKING);
    run(&project, &[]).exits(6);
    let outcome = project.saihai(["answer", "last", "to the left", "--json"]).run().exits(0);
    let types: Vec<String> =
        outcome.json().iter().map(|object| object["type"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        (types.first().map(String::as_str), types.last().map(String::as_str)),
        (Some("answered"), Some("result"))
    );
}

// U-4: Ctrl-C at a question of a resumed run leaves it open, and `answer` without a text asks again
#[test]
fn a_question_that_was_left_can_be_asked_again() {
    let project = project(ASK, ASKING);
    run(&project, &[]).exits(6);
    let terminal = |arguments: &[&str]| {
        Terminal::start(project.saihai(arguments).without_env("NO_COLOR").env("TERM", "xterm"))
    };
    for arguments in [["resume", "last"], ["answer", "last"]] {
        let mut asked = terminal(&arguments);
        asked.wait_for("your answer in one line");
        asked.signal(rustix::process::Signal::INT);
        assert_eq!(asked.finish().0, Some(6));
    }
    let mut asked = terminal(&["answer"]);
    asked.wait_for("your answer in one line");
    asked.press("to the left\n");
    let (code, text) = asked.finish();
    assert_eq!(code, Some(0), "{text}");
}

/// Creates a repository with a definition that edits, and one committed file.
fn repository(replies: &str) -> Project {
    let editing = ONE.replace("- name: plan", "- name: plan\n    edit: true");
    let project = project(&editing, replies);
    project.write("old.txt", "one\ntwo\n");
    project.git(["init", "-q"]).run().exits(0);
    project.git(["add", "."]).run().exits(0);
    project.git(["commit", "-qm", "all"]).run().exits(0);
    project
}

// U-2
#[test]
fn the_changes_of_a_run_are_those_since_its_start() {
    let project = repository(
        "  - {for: plan, text: '[STEP:0]', writes: [{path: new.txt, content: \"made\\n\"}], edits: [{path: old.txt, find: two, replace: three}]}",
    );
    project.write("mine.txt", "written before\n");
    run(&project, &[]).exits(0);
    let whole = project.saihai(["diff"]).run().exits(0);
    insta::assert_snapshot!(whole.stdout, @"
    diff --git a/new.txt b/new.txt
    new file mode 100644
    --- /dev/null
    +++ b/new.txt
    @@ -0,0 +1,1 @@
    +made
    diff --git a/old.txt b/old.txt
    index 814f4a4..4c7442b 100644
    --- a/old.txt
    +++ b/old.txt
    @@ -1,2 +1,2 @@
     one
    -two
    +three
    ");
    // A pipe gets a patch that git understands.
    fs::write(project.root().join("p.patch"), &whole.stdout).expect("a patch");
    project.git(["apply", "--check", "-R", "p.patch"]).run().exits(0);
    insta::assert_snapshot!(project.saihai(["diff", "plan"]).run().exits(0).stdout, @"
    +++ new.txt (written whole)
    +made
    --- old.txt
    +++ old.txt
    @@ @@
    -two
    +three
    ");
    let objects = project.saihai(["diff", "--json"]).run().exits(0).json();
    let paths: Vec<&str> = objects.iter().filter_map(|object| object["path"].as_str()).collect();
    assert!(
        paths.contains(&"new.txt") && paths.contains(&"old.txt") && !paths.contains(&"mine.txt"),
        "{paths:?}"
    );
}

// U-2: what cannot be known is said
#[test]
fn a_run_outside_a_repository_has_no_diff_but_the_edits_of_its_stages() {
    let editing = ONE.replace("- name: plan", "- name: plan\n    edit: true");
    let project =
        project(&editing, "  - {for: plan, text: '[STEP:0]', writes: [{path: new.txt, content: x}]}");
    run(&project, &[]).exits(0);
    let refused = project.saihai(["diff"]).run().exits(2);
    assert!(refused.stderr.contains("did not record the commit it started from"), "{refused}");
    let stage = project.saihai(["diff", "plan"]).run().exits(0);
    assert_eq!(stage.stdout, "+++ new.txt (written whole)\n+x\n");
}

// U-2: a worktree of its own is compared with the commit it started from
#[test]
fn the_changes_of_a_worktree_are_compared_with_its_commit() {
    let project =
        repository("  - {for: plan, text: '[STEP:0]', writes: [{path: new.txt, content: \"made\\n\"}]}");
    project.write("old.txt", "changed here only\n");
    run(&project, &["--worktree"]).exits(0);
    let whole = project.saihai(["diff", "--json"]).run().exits(0).json();
    let paths: Vec<&str> = whole.iter().filter_map(|object| object["path"].as_str()).collect();
    assert_eq!(paths, ["new.txt"]);
}

// U-18
#[test]
fn runs_are_deleted_by_name_and_unfinished_ones_only_by_force() {
    let project = project(ASK, ASKING);
    run(&project, &[]).exits(6);
    let parked = project.runs()[0].clone();
    let refused = project.saihai(["runs", "rm", "last"]).run().exits(2);
    assert!(refused.stderr.contains("is not finished") && refused.stderr.contains("--force"), "{refused}");
    assert_eq!(project.runs(), std::slice::from_ref(&parked));
    project.saihai(["answer", "to the left"]).run().exits(0);
    let reports = project.root().join(".takt/reports").join(&parked);
    assert!(reports.is_dir());
    let removed = project.saihai(["runs", "rm", &parked]).run().exits(0);
    assert_eq!(removed.stdout, format!("{parked}\n"));
    assert!(project.runs().is_empty() && !reports.exists());
    project.saihai(["runs", "rm", "last"]).run().exits(2);
    run(&project, &[]).exits(6);
    project.saihai(["runs", "rm", "last", "--force"]).run().exits(0);
    assert!(project.runs().is_empty());
}

// U-18
#[test]
fn old_runs_are_pruned_and_unfinished_ones_are_kept() {
    let done = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    done.write(".takt/pieces/ask.yaml", ASK);
    done.write("ask.yaml", format!("script: 1\nreplies:\n{ASKING}"));
    run(&done, &[]).exits(0);
    done.saihai(["run", "ask", "Ask.", "--script", "ask.yaml"]).run().exits(6);
    let prune = |more: &[&str]| done.saihai(["runs", "--prune"].iter().chain(more)).run().exits(0);
    assert_eq!(prune(&["30d"]).stderr, "note: 0 runs deleted\n");
    assert_eq!(
        prune(&["0h", "--dry-run"]).stderr,
        "note: 1 run would be deleted; 1 run kept: unfinished or not merged\n"
    );
    assert_eq!(done.runs().len(), 2);
    prune(&["0h"]);
    assert_eq!(done.runs().len(), 1);
    let listed = done.saihai(["runs", "--json"]).run().exits(0).json();
    assert_eq!(listed[0]["state"], "parked");
    assert_eq!(prune(&["0h", "--force"]).stderr, "note: 1 run deleted\n");
    assert!(done.runs().is_empty());
}

// U-18: a run that a process drives is never deleted
#[test]
fn a_live_run_is_not_deleted() {
    let project = project(ONE, "  - {for: plan, hang: true}");
    let mut live = project.saihai(["run", "it", "x", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    let refused = project.saihai(["runs", "rm", "last", "--force"]).run().exits(2);
    assert!(refused.stderr.contains("is running"), "{refused}");
    project.saihai(["runs", "--prune", "0h", "--force"]).run().exits(0);
    assert_eq!(project.runs().len(), 1);
    // The message names the owner, and no internal word.
    let owned = project.saihai(["resume"]).run().exits(2);
    assert!(owned.stderr.starts_with("error: run `") && !owned.stderr.contains("AlreadyStarted"), "{owned}");
    live.signal(rustix::process::Signal::INT);
    live.finish().exits(3);
}

// U-14
#[test]
fn the_list_of_runs_can_be_short() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    for _ in 0..3 {
        run(&project, &[]).exits(0);
    }
    assert_eq!(project.saihai(["runs", "-n", "2", "--json"]).run().exits(0).json().len(), 2);
}

// U-6
#[test]
fn without_a_provider_and_a_terminal_nothing_is_pretended() {
    let project = project(ONE, "");
    let refused = project.saihai(["run", "it", "The task."]).run().exits(2);
    insta::assert_snapshot!(refused.stderr, @"
    error: no provider configured
      = help: pass `--provider claude`, or set `provider` in `.saihai/config.toml`
      = help: `--rehearse` runs the definition with generated replies; `saihai doctor` lists providers
    ");
    assert!(project.runs().is_empty());
    let rehearsed = project.saihai(["run", "it", "The task.", "--rehearse"]).run().exits(0);
    assert!(rehearsed.stdout.starts_with("rehearsed at plan"), "{rehearsed}");
    // Also if the settings name a provider.
    project.write(".saihai/config.toml", "provider = \"claude\"\n");
    project.saihai(["run", "it", "The task.", "--rehearse"]).run().exits(0);
}

// U-6
#[test]
fn on_a_terminal_a_rehearsal_that_was_not_asked_for_is_not_a_success() {
    let project = project(ONE, "");
    let start = |arguments: &[&str]| {
        let call = project.saihai(["run", "it", "The task."].iter().chain(arguments));
        Terminal::start(call.without_env("NO_COLOR").env("TERM", "xterm")).finish()
    };
    let (code, text) = start(&[]);
    assert_eq!(code, Some(4), "{text}");
    let shown = screen(&text).join("\n");
    assert!(shown.contains("rehearsed at plan") && !shown.contains("completed at"), "{shown}");
    assert_eq!(start(&["--rehearse"]).0, Some(0));
}

// U-18
#[test]
fn a_rehearsal_leaves_no_run_behind() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    run(&project, &[]).exits(0);
    let before = project.snapshot();
    let outcome = project.saihai(["rehearse", "it", "--script", "script.yaml"]).run().exits(0);
    assert!(outcome.stdout.starts_with("rehearsed at plan"), "{outcome}");
    assert!(!outcome.stderr.contains("saihai resume"), "{outcome}");
    assert_eq!(project.snapshot(), before);
}

// U-8
#[test]
fn a_fresh_project_keeps_its_reports_with_saihai_and_says_once_what_git_ignores() {
    let project = Project::new(PROGRAM);
    let piece = "name: it\nmovements:\n  - name: plan\n    report: {name: a.md}\n    rules: [{condition: done, next: COMPLETE}]\n";
    project.write(".saihai/pieces/it.yaml", piece);
    project.write("script.yaml", "script: 1\nreplies: [{for: plan, text: \"done\\n[STEP:0]\"}]\n");
    project.git(["init", "-q"]).run().exits(0);
    let first = run(&project, &[]).exits(0);
    assert!(first.stdout.contains("report .saihai/reports/"), "{first}");
    assert!(first.stderr.contains("to `.git/info/exclude`"), "{first}");
    assert!(!project.root().join(".takt").exists());
    let second = run(&project, &[]).exits(0);
    assert!(!second.stderr.contains(".git/info/exclude"), "{second}");
    let listed = project.git(["status", "--porcelain", "-uall"]).run().exits(0);
    assert!(!listed.stdout.contains("reports"), "{listed}");
    let config = project.saihai(["config", "reports_dir"]).run().exits(0);
    assert_eq!(config.stdout, "reports_dir = \".saihai/reports\"\n");
}

// U-14
#[test]
fn quiet_color_and_directory_hold_for_every_command() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    project.write("sub/empty", "");
    let quiet = run(&project, &["-q"]).exits(0);
    assert_eq!(quiet.stderr, "");
    assert!(quiet.stdout.starts_with("completed"), "{quiet}");
    let coloured = project.saihai(["--color", "always", "show"]).run().exits(0);
    assert!(coloured.stdout.contains("\u{1b}["), "{coloured}");
    let elsewhere = project.saihai(["-C", "sub", "runs", "--json"]).run().exits(0);
    assert_eq!(elsewhere.json().len(), 1);
    let gone = project.saihai(["-C", "nowhere", "runs"]).run().exits(2);
    assert!(gone.stderr.contains("cannot change to `nowhere`"), "{gone}");
}

// U-21: the message names the next turn's price and a command that raises the budget
#[test]
fn a_budget_that_does_not_allow_the_next_turn_says_so() {
    let looping = ONE.replace("max_iterations: 3", "max_iterations: 9");
    let project = project(
        &looping,
        "  - {for: plan, text: '[STEP:1]', cost: 0.04, times: 2}\n  - {for: plan, text: '[STEP:0]', cost: 0.04}",
    );
    let parked = run(&project, &["--budget", "usd=0.1"]).exits(5);
    let headline = parked.stdout.lines().next().unwrap_or_default();
    assert_eq!(
        headline,
        "parked: the budget does not allow another turn: it may cost up to $0.0400; $0.0200 left"
    );
    assert!(
        parked.stderr.ends_with("note: continue with `saihai resume last --budget usd=0.20`\n"),
        "{parked}"
    );
    project.saihai(["resume", "last", "--budget", "usd=0.20"]).run().exits(0);
}

// `run --issue` has neither `--from` nor `--repo`
#[test]
fn an_issue_without_a_tracker_names_only_settings() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    project.git(["init", "-q"]).run().exits(0);
    let refused = project.saihai(["run", "it", "--issue", "3", "--script", "script.yaml"]).run().exits(2);
    assert!(refused.stderr.contains("set `from` or `repo` in `[work]`"), "{refused}");
    assert!(!refused.stderr.contains("--from") && !refused.stderr.contains("--repo"), "{refused}");
}

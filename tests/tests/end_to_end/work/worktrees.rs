//! Working directory of a run: the user's checkout, the worktree of its issue, or a worktree of its own.

use saihai_tests::Project;

use super::github::Scene;
use super::{branches, commit, git, git_in, repository, writes};

const HATS: &str = "hats:\n  coder:\n    name: Coder\n    triggers: [task.start]\n    publishes: [LOOP_COMPLETE]\n    instructions: Work.\n";

/// Creates a project whose definition has these worktree keys.
fn saying(said: &str) -> Project {
    let project = repository("  - {text: 'Done. LOOP_COMPLETE', writes: [{path: f, content: x}]}\n");
    project.write("orch.yml", format!("{said}{HATS}"));
    project.write(".saihai/issues/7.md", "# Seven\n");
    commit(&project);
    project
}

/// Returns a name for the directory in which the agent wrote its file.
fn place(said: &str, flags: &[&str]) -> String {
    let project = saying(said);
    let about = if flags.contains(&"--issue") { &[][..] } else { &["a task"] };
    let arguments = [&["run", "orch"], about, flags, &["--auto", "--script", "script.yaml"]].concat();
    project.saihai(arguments).run().exits(0);
    let run = project.runs()[0].clone();
    let places = [
        ("here", "f".to_owned()),
        ("issue", ".worktrees/issue-7/f".to_owned()),
        ("own", format!(".worktrees/{run}/f")),
        ("trees", format!("trees/{run}/f")),
    ];
    let found = places.iter().filter(|(_, file)| project.root().join(file).exists());
    let names: Vec<&str> = found.map(|(name, _)| *name).collect();
    names.join(" and ")
}

// K-23: a run with an issue uses a worktree unless disabled; a run without one only if enabled. A flag
// overrides the definition.
#[test]
fn where_a_run_works_is_said_by_flags_then_by_the_definition_then_by_the_issue() {
    const ON: &str = "worktree: {enabled: true}\n";
    const OFF: &str = "worktree: {enabled: false}\n";
    let check = |said: &str, flags: &[&str], expected: &str| {
        assert_eq!(place(said, flags), expected, "{said:?} {flags:?}");
    };
    check("", &[], "here");
    check("", &["--worktree"], "own");
    check(ON, &[], "own");
    check(ON, &["--no-worktree"], "here");
    check(OFF, &["--worktree"], "own");
    check("worktree: {enabled: true, base_dir: trees}\n", &[], "trees");
    check("", &["--issue", "7"], "issue");
    check("", &["--issue", "7", "--no-worktree"], "here");
    check(OFF, &["--issue", "7"], "here");
    check(OFF, &["--issue", "7", "--worktree"], "issue");
}

// K-23
#[test]
fn a_worktree_of_its_own_begins_with_what_is_checked_out_and_stays() {
    let project = repository(&writes("fixed.txt"));
    commit(&project);
    project.write(".env", "KEY=1\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ncopy_files = [\".env\"]\n");
    project.write("kept.txt", "not committed\n");
    git(&project, &["checkout", "--quiet", "--detach"]);
    let before = git(&project, &["status", "--porcelain"]);
    let call = ["run", "it", "a task", "--worktree", "--script", "script.yaml"];
    let untrusted = project.saihai(call).run().exits(2);
    assert!(
        untrusted.stderr.contains("copy_files"),
        "a project may not have files copied unasked: {untrusted}"
    );
    let outcome = project.saihai([&call[..], &["--trust-project"]].concat()).run().exits(0);
    let run = project.runs()[0].clone();
    let said = format!("note: working in `.worktrees/{run}` on branch `saihai/{run}`; both stay\n");
    assert!(outcome.stderr.contains(&said), "{outcome}");
    let own = |file: &str| project.read(&format!(".worktrees/{run}/{file}"));
    assert_eq!(
        (own("fixed.txt"), own("kept.txt"), own(".env")),
        ("fixed.txt\n".into(), "kept\n".into(), "KEY=1\n".into())
    );
    let branch = format!("saihai/{run}");
    assert_eq!(git(&project, &["rev-parse", &branch]), git(&project, &["rev-parse", "main"]));
    // The user's checkout is unchanged, and git does not list Saihai's files in it.
    assert!(!project.root().join("fixed.txt").exists());
    assert_eq!(git(&project, &["status", "--porcelain"]), before);
}

// A parked run may lose its worktree; the branch is enough to continue.
#[test]
fn a_run_goes_on_in_its_own_worktree_also_where_that_was_removed() {
    let reply = |file: &str, tag: u8| {
        format!("  - {{text: 'Done. [STEP:{tag}]', writes: [{{path: {file}, content: x}}]}}\n")
    };
    let project = repository(&format!("{}{}", reply("first", 1), reply("second", 0)));
    let rules =
        "[{condition: done, next: COMPLETE}, {condition: unclear, requires_user_input: true, next: fix}]";
    project.write(
        ".saihai/pieces/it.yaml",
        format!("name: it\nmovements: [{{name: fix, edit: true, rules: {rules}}}]\n"),
    );
    commit(&project);
    project.saihai(["run", "it", "a task", "--worktree", "--script", "script.yaml"]).run().exits(6);
    let run = project.runs()[0].clone();
    let worktree = format!(".worktrees/{run}");
    assert!(project.root().join(&worktree).join("first").exists());
    git(&project, &["worktree", "remove", "--force", &worktree]);
    project.saihai(["answer", &run, "go on"]).run().exits(0);
    project.saihai(["resume", &run]).run().exits(0);
    assert!(project.root().join(&worktree).join("second").exists());
    assert!(!project.root().join("second").exists());
    assert_eq!(branches(&project), ["main".to_owned(), format!("saihai/{run}")]);
}

#[test]
fn where_there_can_be_no_worktree_the_run_is_refused_before_it_begins() {
    let run = |project: &Project| {
        project.saihai(["run", "it", "a task", "--worktree", "--script", "script.yaml"]).run().exits(2).stderr
    };
    let unborn = repository(&writes("fixed.txt"));
    insta::assert_snapshot!(run(&unborn), @r"
    error: the repository has no commit yet
      = help: commit something first: `git commit --allow-empty -m start`
    ");
    let outside = repository(&writes("fixed.txt"));
    std::fs::remove_dir_all(outside.root().join(".git")).expect("the repository");
    let said = run(&outside);
    assert!(said.contains("is not in a git repository"), "{said}");
    assert!(said.contains("help: `--no-worktree` works in this directory"), "{said}");
    for project in [&unborn, &outside] {
        assert_eq!(project.runs(), [""; 0]);
        assert!(!project.root().join(".worktrees").exists());
    }
    let both = outside.saihai(["run", "it", "x", "--worktree", "--no-worktree"]).run().exits(2);
    assert!(both.stderr.contains("exclude each other"), "{both}");
}

// Saihai detects a missing program before it creates anything; under `work` also before it sets a label
// (H-54, HC-33).
#[test]
fn a_missing_program_leaves_no_run_no_branch_no_worktree_and_no_label() {
    let project = repository("");
    project.write(".saihai/issues/7.md", "# Seven\n");
    commit(&project);
    for about in [&["a task", "--worktree"][..], &["--issue", "7"]] {
        let outcome = project.saihai([&["run", "it", "--provider", "claude"], about].concat()).run().exits(4);
        assert!(outcome.stderr.contains("claude"), "{outcome}");
        assert_eq!(project.runs(), [""; 0], "{about:?}");
        assert_eq!(branches(&project), ["main"], "{about:?}");
        assert!(!project.root().join(".worktrees").exists(), "{about:?}");
    }
    let scene = Scene::new("", |state| {
        state.issue(7, "Seven", &["saihai"]);
    });
    let arguments = ["work", "--repo", "me/tool", "--auto", "--label", "saihai", "--provider", "claude"];
    let call = scene.project.saihai(arguments).env("GITHUB_API_URL", scene.server.url());
    let outcome = call.env("GITHUB_TOKEN", "t").run().exits(4);
    assert_eq!(outcome.stderr.matches("error").count(), 1, "{outcome}");
    assert_eq!(scene.server.writes(), [""; 0]);
    assert_eq!(scene.project.runs(), [""; 0]);
    assert_eq!(branches(&scene.project), ["main"]);
}

// I-35: the first command, whichever it is, hides Saihai's files from git once, without touching a
// `.gitignore`.
#[test]
fn git_does_not_see_what_saihai_keeps_whichever_command_makes_it() {
    let rules =
        ["/.saihai/batches/", "/.saihai/cache/", "/.saihai/reports/", "/.saihai/runs/", "/.worktrees/"];
    let calls: [&[&str]; 5] = [
        &["run", "it", "a task", "--script", "script.yaml"],
        &["run", "it", "a task", "--worktree", "--script", "script.yaml"],
        &["run", "it", "--issue", "7", "--script", "script.yaml"],
        &["work", "--auto", "--script", "script.yaml"],
        &["review", "./kept.txt", "--agent", "code-reviewer", "--script", "review.yaml"],
    ];
    for call in calls {
        let project = repository(&writes("fixed.txt"));
        project.write(".saihai/issues/7.md", "# Seven\n");
        project.write(".gitignore", "/fixed.txt\n");
        let found = "{structured: {issues: [], overall_score: 9, summary: fine}}";
        project.write("review.yaml", format!("script: 1\nreplies:\n  - {found}\n  - {found}\n"));
        commit(&project);
        for _ in 0..2 {
            project.saihai(call).run();
            let text = project.read(".git/info/exclude");
            let mut said: Vec<&str> = text.lines().filter(|line| line.starts_with('/')).collect();
            said.sort_unstable();
            assert_eq!(said, rules, "{call:?}");
        }
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{call:?}");
        assert_eq!(project.read(".gitignore"), "/fixed.txt\n");
    }
}

/// Returns the manual's commands that undo everything.
fn undoing() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/concepts/repository.md");
    let page = std::fs::read_to_string(page).expect("a page of the manual");
    let (_, all) = page.split_once("\nAll of it, ").expect("how to undo all of it");
    let (_, all) = all.split_once("```sh\n").expect("commands");
    all.split_once("```").expect("an end").0.to_owned()
}

#[test]
fn what_the_manual_says_undoes_everything_and_nothing_else() {
    let project = repository(&writes("a.txt"));
    project.write(".saihai/issues/7.md", "# Seven\n");
    commit(&project);
    let root = project.root().parent().expect("a parent").join("it's \"here\"");
    git(&project, &["clone", "--quiet", &project.root().display().to_string(), &root.display().to_string()]);
    let own = [("mine", ".worktrees/mine"), ("issue-8", ".worktrees/issue-8x")];
    for (branch, path) in own {
        git_in(&root, &["worktree", "add", "--quiet", "-b", branch, path]);
    }
    let before = (git_in(&root, &["for-each-ref"]), git_in(&root, &["worktree", "list"]));
    let saihai = |arguments: &[&str]| {
        let arguments = [arguments, &["--script", "script.yaml"]].concat();
        project.saihai(arguments).directory(&root).run().exits(0);
    };
    saihai(&["run", "it", "a task", "--worktree"]);
    saihai(&["work", "--issues", "7", "--auto", "--keep", "--merge"]);
    let made = git_in(&root, &["worktree", "list"]);
    assert_eq!(made.lines().count(), 5, "{made}");
    let undone = std::process::Command::new("sh").args(["-ec", &undoing()]).current_dir(&root).output();
    let undone = undone.expect("a shell");
    assert!(undone.status.success() && undone.stderr.is_empty(), "{undone:?}");
    assert_eq!((git_in(&root, &["for-each-ref"]), git_in(&root, &["worktree", "list"])), before);
    let left = |path: &str| root.join(path).exists();
    assert_eq!(
        [".git/saihai", ".saihai/runs", ".saihai/batches", ".saihai/pieces"].map(left),
        [false, false, false, true]
    );
}

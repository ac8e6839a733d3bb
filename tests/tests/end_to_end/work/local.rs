//! Work without a forge.

use super::github::Scene;
use super::{auto, branches, commit, git, git_in, outcomes, repository, work, writes};

// I-2, case 1
#[test]
fn an_issue_has_one_branch_one_worktree_and_one_run_however_often_it_is_asked_for() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/123-login.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &["--keep"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#123 branch-ready"]);
    assert_eq!(branches(&project), ["feature/issue-123", "main"]);
    assert_eq!(project.read(".worktrees/issue-123/fixed.txt"), "fixed.txt\n");
    assert_eq!(
        project.journal().facts("started").next().expect("a start")["delivery"]["instance"],
        "agent-123"
    );
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "nothing of ours is seen by git");

    let again = auto(&project, &["--keep"]).exits(0);
    assert_eq!(outcomes(&again), ["#123 branch-ready"]);
    assert_eq!(branches(&project), ["feature/issue-123", "main"]);
    assert_eq!(project.runs().len(), 1);
}

// I-61: Saihai reads issues from the forge but writes nothing there: no label, comment or branch.
#[test]
fn with_a_local_forge_nothing_leaves_the_machine_also_where_issues_are_read_from_one() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Login fails", &["saihai", "saihai:failed"]);
        state.issue(8, "Needs it", &["saihai"]).body = "Depends on #404".to_owned();
    });
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nforge = \"local\"\n");
    let outcome = scene.work(&["--label", "saihai"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready", "#8 blocked"]);
    let merged = scene.work(&["--issues", "7", "--merge"]).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
    assert_eq!(scene.server.writes(), Vec::<String>::new());
    assert_eq!(scene.remote(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

// I-61: see also the test above
#[test]
fn what_an_agent_left_is_committed_by_the_user_and_summed_up_in_a_file() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n\nFor `a+b`.\n");
    commit(&project);
    auto(&project, &[]).exits(0);
    let run = project.runs()[0].clone();
    let message = git(&project, &["log", "-1", "--format=%an <%ae>%n%B", "feature/issue-7"]);
    let expected =
        format!("U Ser <user@example.com>\nLogin fails (issue-7)\n\nSaihai-Issue: 7\nSaihai-Run: {run}");
    assert_eq!(message.trim_end(), expected);
    let batches: Vec<_> = std::fs::read_dir(project.root().join(".saihai/batches")).expect("it").collect();
    let batch = batches[0].as_ref().expect("one").file_name().into_string().expect("a name");
    let page = project.read(&format!(".saihai/batches/{batch}/issue-7.md"));
    assert!(
        page.starts_with("# #7 Login fails\n\nbranch-ready: branch `feature/issue-7` from `main`"),
        "{page}"
    );
    assert!(page.contains(&format!(", run `{run}`, 1 turn, ")), "{page}");
    assert!(!project.root().join(".worktrees/issue-7").exists(), "what is delivered is cleaned up");
}

// I-8: deleting the record of an invocation loses only history.
#[test]
fn nothing_depends_on_the_summaries_of_invocations() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &[]).exits(0);
    std::fs::remove_dir_all(project.root().join(".saihai/batches")).expect("it is there");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(project.runs().len(), 1);
}

// I-62, case 33
#[test]
fn a_base_that_is_checked_out_and_dirty_is_not_touched_by_a_merge() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project.write("kept.txt", "changed and not committed\n");
    let before = (git(&project, &["rev-parse", "main"]), git(&project, &["status", "--porcelain"]));
    let outcome = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"]);
    assert!(outcome.stdout.ends_with("git merge --ff-only saihai/merge/main\n"), "{outcome}");
    let after = (git(&project, &["rev-parse", "main"]), git(&project, &["status", "--porcelain"]));
    assert_eq!(before, after);
    assert_eq!(project.read("kept.txt"), "changed and not committed\n");
    assert_eq!(branches(&project), ["main", "saihai/merge/main"]);
    assert_eq!(git(&project, &["show", "saihai/merge/main:fixed.txt"]), "fixed.txt");
    // The separate merge branch is deleted once a person has merged it.
    git(&project, &["checkout", "--quiet", "--", "kept.txt"]);
    git(&project, &["merge", "--quiet", "--ff-only", "saihai/merge/main"]);
    project.write(".saihai/issues/8.md", "# Another\n");
    auto(&project, &["--merge"]);
    assert_eq!(branches(&project), ["main"], "8 changed nothing, and 7 is in");
}

// case 6
#[test]
fn what_is_depended_on_comes_first_and_is_in_what_depends_on_it() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/1.md", "# One\n\nDepends on #2\n");
    project.write(".saihai/issues/2.md", "# Two\n\nBlocked by: #3\n");
    project.write(".saihai/issues/3.md", "# Three\n");
    commit(&project);
    let outcome = auto(&project, &["--merge"]).exits(0);
    // The agents of 2 and 1 find the file of 3 already in place.
    assert_eq!(outcomes(&outcome), ["#3 merged", "#2 no-changes", "#1 no-changes"]);
    // Their branches have no commits of their own and start from the separate merge branch (I-65).
    assert_eq!(branches(&project), ["main", "saihai/merge/main"]);
    let diamond = repository(&writes("fixed.txt"));
    for (number, after) in [(1, "2, #3"), (2, "4"), (3, "4")] {
        diamond.write(&format!(".saihai/issues/{number}.md"), format!("# N\n\nDepends on #{after}\n"));
    }
    diamond.write(".saihai/issues/4.md", "# N\n");
    commit(&diamond);
    let outcome = auto(&diamond, &["--merge"]).exits(0);
    assert_eq!(outcomes(&outcome).len(), 4, "{outcome}");
    assert_eq!(outcomes(&outcome)[0], "#4 merged");
    assert_eq!(diamond.runs().len(), 4);
}

// Case 2
#[test]
fn one_that_fails_keeps_its_files_and_no_success_is_claimed() {
    let project =
        repository("  - {text: 'No. [STEP:1]', for: fix, writes: [{path: half.txt, content: x}]}\n");
    project.write(".saihai/issues/1.md", "# One\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#1 failed"]);
    assert!(!outcome.stdout.contains("all done"), "{outcome}");
    assert!(outcome.stdout.contains("its files are in `"), "{outcome}");
    assert_eq!(project.read(".worktrees/issue-1/half.txt"), "x");
    // A second call only reports the failure. `--retry` starts another run on the same branch.
    auto(&project, &[]).exits(1);
    assert_eq!(project.runs().len(), 1);
    // The base may move meanwhile; the branch keeps its start.
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("fixed.txt")));
    commit(&project);
    let retried = auto(&project, &["--retry"]).exits(0);
    assert_eq!(outcomes(&retried), ["#1 branch-ready"]);
    assert_eq!(project.runs().len(), 2);
    assert_eq!(git(&project, &["show", "feature/issue-1:half.txt"]), "x");
}

// case 14: a failed dependency stops only its dependants.
#[test]
fn a_dependency_that_fails_blocks_its_dependants_and_nobody_else() {
    let project = repository(
        "  - {text: 'No. [STEP:1]', prompt: 'Bad', for: fix}\n  - {text: 'Done. [STEP:0]', for: fix}\n",
    );
    project.write(".saihai/issues/1.md", "# Good\n");
    project.write(".saihai/issues/2.md", "# Bad\n");
    project.write(".saihai/issues/3.md", "# Needs it\n\nDepends on #2\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    let mut all = outcomes(&outcome);
    all.sort();
    assert_eq!(all, ["#1 no-changes", "#2 failed", "#3 blocked"], "{outcome}");
}

// I-64, case 34
#[test]
fn a_conflict_leaves_base_checkout_and_branch_as_they_are_and_is_tried_again_when_something_moved() {
    let project = repository(&writes("kept.txt"));
    project.write(".saihai/issues/7.md", "# Change it\n");
    commit(&project);
    // The branch starts from main. Then main changes the same line.
    auto(&project, &[]).exits(0);
    let project = repository(&writes("kept.txt"));
    project.write(".saihai/issues/7.md", "# Change it\n");
    commit(&project);
    git(&project, &["branch", "base"]);
    let parked = work(&project, &["--base", "base", "--merge"]).run().exits(6);
    assert_eq!(outcomes(&parked), ["#7 waiting"]);
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    work(&project, &["--base", "base", "--merge"]).run();
    git(&project, &["checkout", "--quiet", "base"]);
    project.write("kept.txt", "another line\n");
    git(&project, &["commit", "--quiet", "--all", "--message", "theirs"]);
    let base = git(&project, &["rev-parse", "base"]);
    git(&project, &["checkout", "--quiet", "main"]);
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    let outcome = work(&project, &["--base", "base", "--merge"]).run().exits(1);
    assert_eq!(outcomes(&outcome), ["#7 conflict"]);
    assert!(outcome.stdout.contains("`kept.txt`"), "{outcome}");
    assert_eq!(git(&project, &["rev-parse", "base"]), base);
    assert!(branches(&project).contains(&"feature/issue-7".to_owned()));
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    let events = |project: &saihai_tests::Project| project.journal().facts("resumed").count();
    let before = events(&project);
    work(&project, &["--base", "base", "--merge"]).run().exits(1);
    assert_eq!(events(&project), before, "nothing has moved, so nothing is tried");
    // The base drops the conflicting line.
    git(&project, &["branch", "--force", "base", "main"]);
    assert_eq!(outcomes(&work(&project, &["--base", "base", "--merge"]).run().exits(0)), ["#7 merged"]);
}

// case 35
#[test]
fn what_breaks_together_does_not_land() {
    let project = repository(
        "  - {text: 'Done. [STEP:0]', prompt: 'One', for: fix, writes: [{path: one, content: x}]}\n  - {text: 'Done. [STEP:0]', for: fix, writes: [{path: two, content: x}]}\n",
    );
    project.write(
        ".saihai/config.toml",
        "[work]\ndefinition = \"it\"\nverify = [\"sh\", \"-c\", \"! { test -e one && test -e two; }\"]\n",
    );
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n");
    commit(&project);
    git(&project, &["checkout", "--quiet", "-b", "mine"]);
    let outcome = auto(&project, &["--merge", "--base", "main", "--trust-project"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#1 merged", "#2 failed"]);
    assert!(outcome.stdout.contains("verify"), "{outcome}");
    assert_eq!(git(&project, &["ls-tree", "--name-only", "main", "one", "two"]), "one");
}

// I-49, case 25, case 26
#[test]
fn commits_of_the_agent_are_handed_over_and_nothing_is_nothing() {
    let project = repository(
        "  - {text: 'Done. [STEP:0]', for: fix, runs: [{argv: [sh, -c, 'echo x > own && git add own && git commit -qm own']}]}\n",
    );
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["log", "-1", "--format=%s", "feature/issue-7"]), "own");
    let project = repository("  - {text: 'Nothing to do. [STEP:0]'}\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 no-changes"]);
    assert_eq!(branches(&project), ["main"]);
}

#[test]
fn several_issues_are_worked_on_at_the_same_time() {
    let project = repository(&writes("fixed.txt"));
    for number in 1..=6 {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# Issue {number}\n"));
    }
    commit(&project);
    let outcome = auto(&project, &["--jobs", "3", "--json"]).exits(0);
    let items: Vec<serde_json::Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(items.len(), 7);
    assert!(items[..6].iter().all(|item| item["outcome"] == "branch-ready"), "{outcome}");
    assert_eq!(items[6]["items"], 6);
    assert_eq!(branches(&project).len(), 7);
}

#[test]
fn no_more_agents_work_at_the_same_time_than_jobs_say() {
    let project = repository("");
    let there = project.home().join("there");
    std::fs::create_dir(&there).expect("a directory");
    let counts = project.home().join("counts");
    let (there, counts_file) = (there.display().to_string(), counts.display().to_string());
    let count = format!(
        "mkdir {there}/$(basename $PWD); ls {there} | wc -l >> {counts_file}; sleep 0.5; rmdir {there}/$(basename $PWD); echo x > f"
    );
    project.write(
        "script.yaml",
        format!(
            "script: 1\nreplies:\n  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, -c, '{count}']}}]}}\n"
        ),
    );
    for number in 1..=6 {
        project.write(&format!(".saihai/issues/{number}.md"), format!("# Issue {number}\n"));
    }
    commit(&project);
    auto(&project, &["--jobs", "2"]).exits(0);
    let seen = std::fs::read_to_string(counts).expect("counts");
    let seen: Vec<u32> = seen.lines().map(|line| line.trim().parse().expect("a number")).collect();
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert!(seen.iter().all(|count| *count <= 2), "{seen:?}");
}

// `run` uses the branch, worktree and lock of its issue, but delivers nothing.
#[test]
fn a_run_on_an_issue_works_in_the_worktree_of_the_issue_and_delivers_nothing() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let run = || project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]).run();
    let outcome = run().exits(0);
    assert!(outcome.stderr.contains("working in `.worktrees/issue-7`"), "{outcome}");
    assert_eq!(project.read(".worktrees/issue-7/fixed.txt"), "fixed.txt\n");
    assert!(!project.root().join("fixed.txt").exists());
    let at = |name: &str| git(&project, &["rev-parse", name]);
    assert_eq!(at("feature/issue-7"), at("main"), "nothing is committed");
    let (cleaned, run) = (project.saihai(["work", "--clean"]).run().exits(0), &project.runs()[0]);
    let kept = format!("kept: run `{run}` delivers nothing, so the files are yours");
    assert!(cleaned.stdout.contains(&kept), "{cleaned}");
    // `work` continues from the existing branch.
    let outcome = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["show", "feature/issue-7:fixed.txt"]), "fixed.txt");
}

// A run of `work` is an ordinary run: `resume` continues and delivers it.
#[test]
fn resume_goes_on_with_a_run_of_work_and_delivers_it() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    work(&project, &["--merge"]).run().exits(6);
    let run = project.runs()[0].clone();
    for _ in 0..2 {
        project.saihai(["answer", &run, "yes"]).run().exits(0);
        project.saihai(["resume", &run]).run();
    }
    let told = project.saihai(["resume", &run]).run().exits(0);
    assert!(told.stdout.contains("merged"), "{told}");
    assert_eq!(git(&project, &["show", "saihai/merge/main:fixed.txt"]), "fixed.txt");
}

#[test]
fn leftovers_are_listed_and_those_that_are_handed_over_are_removed() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &["--keep"]).exits(0);
    let worktree = project.root().join(".worktrees/issue-7");
    std::fs::write(worktree.join("later.txt"), "not committed\n").expect("a file");
    let outcome = project.saihai(["work", "--clean"]).run().exits(0);
    assert!(outcome.stdout.contains("removed; files on no branch are saved"), "{outcome}");
    assert!(!worktree.exists());
    assert_eq!(git(&project, &["show", "refs/saihai/rescue/issue-7/1:later.txt"]), "not committed");
    let again = project.saihai(["work", "--clean"]).run().exits(0);
    assert_eq!(again.stderr, "note: no leftover worktrees or branches\n");
}

// The list of I-66: covers every worktree directory, but only the requested worktrees.
#[test]
fn leftovers_are_found_wherever_worktrees_were_put_and_only_those_that_are_meant_are_touched() {
    let reply = "  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let project = repository(reply);
    for number in [7, 8] {
        project.write(&format!(".saihai/issues/{number}.md"), "# Something\n");
    }
    commit(&project);
    let settings = "[work]\ndefinition = \"it\"\n";
    project.write(
        ".saihai/config.toml",
        format!("{settings}worktree_root = \"../trees\"\nbranch_prefix = \"topic/\"\n"),
    );
    auto(&project, &["--keep"]).exits(0);
    // The current settings no longer name the old worktree directory.
    project.write(".saihai/config.toml", settings);
    let mine = project.root().parent().expect("a parent").join("mine");
    git(
        &project,
        &["worktree", "add", "--quiet", mine.join("issue-9").to_str().expect("a path"), "-b", "mine"],
    );
    let tree = |number: u32| project.root().parent().expect("a parent").join(format!("trees/issue-{number}"));
    let clean = |flags: &[&str]| project.saihai([&["work", "--clean"], flags].concat()).run().exits(0).stdout;
    assert_eq!(clean(&["--issues", "7"]), format!("#7 {}: removed\n", tree(7).display()));
    assert_eq!((tree(7).exists(), tree(8).exists()), (false, true));
    assert_eq!(clean(&["--issues", "7,9"]), "");
    assert_eq!(clean(&[]), format!("#8 {}: removed\n", tree(8).display()));
    assert!(mine.join("issue-9").exists(), "a person's own");
    project.saihai(["work", "--clean", "--label", "bug"]).run().exits(2);
}

// I-4: prompts and decisions are the same as under `run`.
#[test]
fn an_agent_is_told_the_same_under_work_as_under_run() {
    let told = |arguments: &[&str]| {
        let project = repository(&writes("fixed.txt"));
        project.write(".saihai/issues/7.md", "# Login fails\n\nFor `a+b`.\n");
        commit(&project);
        project.saihai([arguments, &["--script", "script.yaml", "--auto"]].concat()).run().exits(0);
        let journal = project.journal();
        let place = project.root().display().to_string();
        let own: Vec<String> = journal
            .path_taken()
            .into_iter()
            .filter(|stage| !stage.contains('/'))
            .map(str::to_owned)
            .collect();
        (journal.prompt("fix").replace(&place, "."), own)
    };
    assert_eq!(told(&["work"]), told(&["run", "it", "--issue", "7"]));
}

// case 7: a closed issue is done, and so are the dependencies that only it needs. A label proves nothing.
#[test]
fn a_dependency_that_is_closed_is_done_and_one_that_only_says_so_is_not() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/1.md", "# One\n\nDepends on #2\n");
    project.write(".saihai/issues/2.md", "---\nstate: closed\n---\n# Two\n\nDepends on #3\n");
    project.write(".saihai/issues/3.md", "---\nlabels: [other]\n---\n# Three\n");
    project.write(".saihai/issues/4.md", "# Four\n\nDepends on #5\n");
    project.write(".saihai/issues/5.md", "---\nlabels: ['saihai:completed']\n---\n# Five\n");
    commit(&project);
    let outcome = auto(&project, &["--issues", "1"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#1 branch-ready"]);
    let outcome = auto(&project, &["--issues", "4"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#4 blocked"]);
    assert!(outcome.stdout.contains("--resolve-deps"), "{outcome}");
    // After a manual merge of the branch, its dependants can start.
    auto(&project, &["--issues", "5"]).exits(0);
    assert_eq!(outcomes(&auto(&project, &["--issues", "4"]).exits(6)), ["#4 waiting"], "it is not merged");
    git(&project, &["merge", "--quiet", "feature/issue-5"]);
    assert_eq!(outcomes(&auto(&project, &["--issues", "4"]).exits(0)), ["#4 no-changes"]);
}

// I-29: the author of the merge does not matter; see also the tests of the forge, of other clones, and of
// labels, which prove nothing.
#[test]
fn failed_work_that_was_merged_by_hand_is_done_and_its_dependants_continue() {
    let failing = "  - {text: 'No. [STEP:1]', writes: [{path: half.txt, content: x}]}\n";
    let project = repository(&format!("{failing}{}", writes("two.txt")));
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n\nDepends on #1\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &[]).exits(1)), ["#1 failed", "#2 blocked"]);
    assert_eq!(outcomes(&auto(&project, &[]).exits(1)), ["#1 failed", "#2 blocked"], "nothing was merged");
    let tree = project.root().join(".worktrees/issue-1");
    git_in(&tree, &["add", "half.txt"]);
    git_in(&tree, &["commit", "--quiet", "--message", "by hand"]);
    assert_eq!(outcomes(&auto(&project, &[]).exits(1)), ["#1 failed", "#2 blocked"], "it is committed only");
    git(&project, &["merge", "--quiet", "--no-edit", "feature/issue-1"]);
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("two.txt")));
    let after = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&after), ["#2 branch-ready", "#1 merged"], "{after}");
    let files = git(&project, &["ls-tree", "--name-only", "feature/issue-2"]);
    assert!(files.contains("half.txt") && files.contains("two.txt"), "{files}");
}

// I-31: see also the tests of dependencies that failed, conflicted or were declined
#[test]
fn a_dependant_begins_only_where_everything_it_depends_on_is_part_of_its_base() {
    let reply = "  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], times: '*'}\n";
    let project = repository(reply);
    project.write(".saihai/issues/1.md", "---\nbase: other\n---\n# One\n");
    project.write(".saihai/issues/2.md", "# Two\n\nDepends on #1\n");
    commit(&project);
    git(&project, &["branch", "other"]);
    // Issue 1 is delivered but not merged. The dependant names its branch, whether this call selects 1 or
    // not.
    let waits = auto(&project, &[]).exits(6);
    assert_eq!(outcomes(&waits), ["#1 branch-ready", "#2 waiting"]);
    assert!(waits.stdout.contains("dependency: #1 is branch-ready (feature/issue-1)"), "{waits}");
    let alone = auto(&project, &["--issues", "2"]).exits(6);
    assert!(alone.stdout.contains("dependency: #1 is not merged yet (feature/issue-1)"), "{alone}");
    // The merge goes to a branch that is not part of the dependant's base.
    let apart = auto(&project, &["--merge"]).exits(6);
    assert_eq!(outcomes(&apart), ["#1 merged", "#2 waiting"]);
    let why = "dependency: #1 is merged into `other`, which is not part of `main`";
    assert!(apart.stdout.contains(why), "{apart}");
    assert!(!branches(&project).contains(&"feature/issue-2".to_owned()));
    git(&project, &["merge", "--quiet", "--no-edit", "other"]);
    let after = auto(&project, &["--issues", "2"]).exits(0);
    assert!(outcomes(&after)[0].starts_with("#2 "), "{after}");
    assert!(
        branches(&project).contains(&"feature/issue-2".to_owned()) || after.stdout.contains("no-changes")
    );
}

// `--from`: a missing folder is an error, an empty folder is not.
#[test]
fn a_folder_that_is_missing_is_refused_and_an_empty_one_is_nothing_to_do() {
    let project = repository(&writes("f"));
    commit(&project);
    let missing = auto(&project, &["--from", "nowhere"]).exits(2);
    assert!(missing.stderr.contains("`nowhere`"), "{missing}");
    assert!(missing.stderr.contains("create the folder, or set `from`"), "{missing}");
    std::fs::create_dir(project.root().join("empty")).expect("a folder");
    let empty = auto(&project, &["--from", "empty"]).exits(0);
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", "note: nothing to do\n"));
    let list = work(&project, &["--from", "empty", "--list"]).run().exits(0);
    assert_eq!(list.stdout, "nothing to do\n");
    assert_eq!((branches(&project), project.runs().len()), (vec!["main".to_owned()], 0));
}

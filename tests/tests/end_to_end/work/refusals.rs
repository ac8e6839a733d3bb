//! Errors that Saihai reports before it changes anything.

use super::{auto, branches, commit, git, outcomes, repository, work, writes};

#[track_caller]
fn untouched(project: &saihai_tests::Project) {
    assert_eq!(branches(project), ["main"]);
    assert_eq!(project.runs(), [""; 0]);
    assert!(!project.root().join(".worktrees").exists());
}

// cases 8 and 12
#[test]
fn circles_and_endless_rows_of_dependencies_are_refused() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/1.md", "# One\n\nDepends on #2\n");
    project.write(".saihai/issues/2.md", "# Two\n\nDepends on #1\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(2);
    assert!(outcome.stderr.contains("#1 -> #2 -> #1"), "{outcome}");
    project.write(".saihai/issues/1.md", "# One\n\nDepends on #1\n");
    let own = auto(&project, &["--issues", "1"]).exits(2);
    assert!(own.stderr.contains("#1 -> #1"), "{own}");
    for number in 1..=21 {
        let text = format!("# N\n\nDepends on #{}\n", number + 1);
        project.write(&format!(".saihai/issues/{number}.md"), text);
    }
    project.write(".saihai/issues/22.md", "# N\n");
    let long = auto(&project, &["--issues", "1", "--resolve-deps"]).exits(2);
    assert!(long.stderr.contains("more than 20 issues"), "{long}");
    untouched(&project);
}

// I-10, case 17
#[test]
fn nothing_is_run_that_nobody_named() {
    let project = repository(&writes("f"));
    project.write(".saihai/config.toml", "");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(2);
    assert!(outcome.stderr.contains("no definition for #7 (`Login fails`)"), "{outcome}");
    untouched(&project);
}

// Saihai starts nothing if it cannot create a worktree.
#[test]
fn a_file_in_the_place_of_the_directory_of_worktrees_is_refused() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nworktree_root = \"notes/mine\"\n");
    commit(&project);
    project.write("notes", "read\n");
    for flags in [&[][..], &["--list"]] {
        let outcome = auto(&project, flags).exits(2);
        let why = format!(
            "error: cannot create worktrees in `{}`: it is not a directory",
            project.root().join("notes").display()
        );
        assert!(outcome.stderr.contains(&why), "{outcome}");
        assert!(outcome.stderr.contains("help: set another `worktree_root` in `[work]`"), "{outcome}");
    }
    untouched(&project);
    assert_eq!(project.read("notes"), "read\n");
}

// A foreign branch blocks the issue until the person allows it with one flag.
#[test]
fn what_was_refused_as_not_ours_is_taken_over_by_one_flag() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    git(&project, &["branch", "feature/issue-7"]);
    let blocked = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&blocked), ["#7 blocked"]);
    assert!(blocked.stdout.contains("#7: `saihai work --adopt` takes it over"), "{blocked}");
    assert_eq!(outcomes(&auto(&project, &[]).exits(1)), ["#7 blocked"]);
    assert_eq!(outcomes(&auto(&project, &["--adopt"]).exits(0)), ["#7 branch-ready"]);
    // Saihai cannot adopt an object that is not a branch.
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project.write(".worktrees/issue-7/file", "mine\n");
    let blocked = auto(&project, &["--adopt"]).exits(1);
    assert!(!blocked.stdout.contains("takes it over"), "{blocked}");
    assert_eq!(project.read(".worktrees/issue-7/file"), "mine\n");
}

// This version does not coordinate machines, so it rejects the flags for it.
#[test]
fn what_would_keep_machines_apart_is_refused_by_name() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    for flag in ["--server", "--namespace", "--on-busy"] {
        let refused = auto(&project, &[flag, "x"]).exits(2);
        assert_eq!(refused.stderr, format!("error: `{flag}` is not part of this version yet\n"));
    }
    untouched(&project);
    let set = work(&project, &["--list"]).env("SAIHAI_DISTRIBUTED__SERVER", "127.0.0.1:7233").run().exits(0);
    assert!(set.stderr.contains("warning: `saihai work` does not use `distributed.server` yet"), "{set}");
}

// One script serves all definitions; the error names the definition that it does not fit.
#[test]
fn a_script_that_does_not_fit_a_definition_says_which() {
    let project = repository("  - {text: 'Done. [STEP:0]', for: fix}\n");
    let other = "name: other\nmovements: [{name: mend, rules: [{condition: done, next: COMPLETE}]}]\n";
    project.write(".saihai/pieces/other.yaml", other);
    project.write(".saihai/issues/7.md", "# Seven\n");
    project.write(".saihai/issues/8.md", "---\ndefinition: other\n---\n# Eight\n");
    commit(&project);
    let outcome = auto(&project, &["--strict"]).exits(2);
    let said = "note: one script serves all definitions of a call; these errors are for `other`, the definition of #8";
    assert!(outcome.stderr.contains(said), "{outcome}");
    untouched(&project);
}

// Case 16, and invalid selections.
#[test]
fn flags_that_mean_nothing_are_refused() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &["--resolve-deps", "--ignore-deps"]).exits(2);
    for bad in ["0", "-1", "1.5", "9-7", "../1"] {
        auto(&project, &[&format!("--issues={bad}")]).exits(2);
    }
    for bad in ["0", "many", "257"] {
        auto(&project, &["--jobs", bad]).exits(2);
    }
    auto(&project, &["--watch", "--every", "1s"]).exits(2);
    let missing = auto(&project, &["--issues", "9"]).exits(2);
    assert!(missing.stderr.contains("no issue #9"), "{missing}");
    untouched(&project);
}

// I-13: the plan reports it, both with `--list` and before a real run.
#[test]
fn a_base_that_is_no_branch_and_a_name_that_git_does_not_take_are_refused_before_anything() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    git(&project, &["tag", "v1"]);
    let refused = |flags: &[&str]| {
        let said = |flags: &[&str]| super::without_exclude_note(&work(&project, flags).run().exits(2).stderr);
        let listed = said(&[&["--list"], flags].concat());
        assert_eq!(said(flags), listed, "{flags:?}");
        untouched(&project);
        listed
    };
    for none in ["nowhere", "main~1", "HEAD", "v1"] {
        let expected = format!(
            "error: there is no branch `{none}`\n  = help: name a branch that exists: `git branch --list`\n  = help: the base branch comes from: `--base`\n"
        );
        assert_eq!(refused(&["--base", none]), expected);
    }
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nbase = \"nowhere\"\n");
    assert!(refused(&[]).contains("comes from: `work.base`"), "{}", refused(&[]));
    project.write(".saihai/issues/7.md", "---\nbase: gone\n---\n# Login fails\n");
    assert!(refused(&[]).contains("no branch `gone`"), "{}", refused(&[]));
    assert!(refused(&[]).contains("comes from: the issue"), "{}", refused(&[]));
    assert!(refused(&["--base", "nope"]).contains("no branch `nope`"));
    git(&project, &["checkout", "--quiet", "--detach"]);
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    assert!(refused(&[]).contains("help: pass `--base`, or set `base` in `[work]`"));
}

// `branch_prefix` is the fix if git cannot create a branch of that name.
#[test]
fn a_branch_in_the_way_of_all_others_is_said_with_the_key_to_change() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    git(&project, &["branch", "feature"]);
    for flags in [&["--list"][..], &[]] {
        let refused = work(&project, flags).run().exits(2);
        let expected = "error: branch `feature` exists, so git cannot create `feature/issue-7`\n  = help: set another `branch_prefix` in `[work]`, or rename that branch\n";
        assert_eq!(super::without_exclude_note(&refused.stderr), expected);
    }
    assert_eq!(project.runs(), [""; 0]);
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nbranch_prefix = \"topic/\"\n");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(branches(&project), ["feature", "main", "topic/issue-7"]);
}

// Saihai rejects a setting without effect by its key, even if no key names the forge.
#[test]
fn a_way_to_merge_that_there_is_not_is_refused_by_its_key() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nmerge_method = \"squash\"\n");
    commit(&project);
    let refused = auto(&project, &["--merge"]).exits(2);
    let expected = "error: `work.merge_method` cannot be `squash`: the forge `local` supports only `merge`\n";
    assert!(refused.stderr.starts_with(expected), "{refused}");
    untouched(&project);
}

// case 45
#[test]
fn everything_wrong_with_all_files_is_told_at_once() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/1.md", "---\nlables: [bug]\n---\n# One\n");
    project.write(".saihai/issues/2.md", "---\nlabels: [bug]\n# Two\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(2);
    for expected in ["error[work/unknown-key]", "did you mean `labels`?", "error[work/syntax]"] {
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome}");
    }
    untouched(&project);
}

// Each error has a hint.
#[test]
fn a_repository_that_cannot_be_worked_in_is_refused() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    let empty = auto(&project, &[]).exits(2);
    assert!(empty.stderr.contains("the repository has no commit yet"), "{empty}");
    commit(&project);
    std::fs::write(project.home().join(".gitconfig"), "").expect("a configuration");
    let nobody = auto(&project, &[]).exits(2);
    assert!(nobody.stderr.contains("git config --global user.name"), "{nobody}");
    git(&project, &["checkout", "--quiet", "--detach"]);
    std::fs::write(project.home().join(".gitconfig"), "[user]\n\tname = U\n\temail = u@example.com\n")
        .expect("one");
    let detached = auto(&project, &[]).exits(2);
    assert!(detached.stderr.contains("pass `--base`"), "{detached}");
    git(&project, &["checkout", "--quiet", "main"]);
    untouched(&project);
}

// case 39
#[test]
fn what_is_not_ours_stays_as_it_is() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/issues/8.md", "# Another\n");
    commit(&project);
    project.write(".worktrees/issue-7/precious.txt", "mine\n");
    git(&project, &["branch", "feature/issue-8"]);
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 blocked", "#8 blocked"]);
    assert_eq!(project.read(".worktrees/issue-7/precious.txt"), "mine\n");
    assert!(outcome.stdout.contains("exists, but Saihai did not create it"), "{outcome}");
    assert_eq!(git(&project, &["rev-parse", "feature/issue-8"]), git(&project, &["rev-parse", "main"]));
    // `--retry` alone does not adopt the branch; `--adopt` does.
    assert_eq!(outcomes(&auto(&project, &["--issues", "8", "--retry"]).exits(1)), ["#8 blocked"]);
    let adopted = auto(&project, &["--issues", "8", "--adopt", "--retry"]).exits(0);
    assert_eq!(outcomes(&adopted), ["#8 branch-ready"]);
}

// I-9, see also the plan of forge issues and the runs on an issue
#[test]
fn a_plan_is_printed_and_nothing_is_done() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "---\nlabels: [bug]\n---\n# Login fails\n\nDepends on #8\n");
    project.write(".saihai/issues/8.md", "---\ndefinition: it\n---\n# Another\n");
    commit(&project);
    let before = project.snapshot();
    let outcome = work(&project, &["--list"]).run().exits(0);
    insta::assert_snapshot!(outcome.stdout, @"
    ISSUE  TITLE        DEFINITION  BASE  AFTER  TURNS  LABELS
    #8     Another      it          main         ≤ 20   saihai:queued
    #7     Login fails  it          main  #8     ≤ 20   saihai:queued
    ");
    assert_eq!(project.snapshot(), before);
    untouched(&project);
    // The plan shows the cost if prices are known.
    let own = project.home().join(".config/saihai");
    std::fs::create_dir_all(&own).expect("a directory");
    let priced = "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"true\"\nhonours = [\"readonly\", \"edit\"]\nprice = {turn = 0.5}\n";
    std::fs::write(own.join("config.toml"), priced).expect("settings");
    let list = |flags: &[&str]| project.saihai([&["work", "--list"], flags].concat()).run().exits(0);
    assert!(list(&[]).stdout.contains("≤ 20, ≤ $10.0000"), "{}", list(&[]));
    assert_eq!(list(&["--json"]).json()[0]["most_usd"], 10.0);
}

// A review agent changes nothing, whether a name or a file selects it
#[test]
fn a_review_agent_is_no_definition_to_work_with() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.saihai(["eject", "code-reviewer"]).run().exits(0);
    commit(&project);
    let check = |asked: &str, named: &str| {
        let outcome = auto(&project, &["--definition", asked]).exits(2);
        let hint = format!("`saihai review --agent {named}` reviews the changes with it");
        let told = format!("error: `{asked}` is a review agent\n  = help: {hint}\n");
        assert!(outcome.stderr.contains(&told), "{outcome}");
        untouched(&project);
    };
    check("code-reviewer", "code-reviewer");
    check("type-design-analyzer", "type-design-analyzer");
    check(".saihai/agents/code-reviewer.toml", "NAME");
}

// Saihai reports all of them at once before the start, and mentions missing files.
#[test]
fn files_that_cannot_be_copied_are_refused_before_anything_is_begun() {
    let project = repository(&writes("f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    let copied = |files: &str| {
        let text = format!("[work]\ndefinition = \"it\"\ncopy_files = [{files}]\n");
        project.write(".saihai/config.toml", text);
    };
    copied(r#""../x", "/etc/passwd", "kept.txt", ".saihai", ".env""#);
    commit(&project);
    let expected = "error: `../x` cannot be copied into a worktree: it is not inside the repository; \
                    `/etc/passwd` cannot be copied into a worktree: it is not inside the repository; \
                    `kept.txt` cannot be copied into a worktree: git tracks it, so it is there already; \
                    `.saihai` cannot be copied into a worktree: it is not a file\n\
                    \x20 = help: correct `copy_files`\n";
    for arguments in [&["--list", "--trust-project"][..], &["--auto", "--trust-project"]] {
        let refused = work(&project, arguments).run().exits(2);
        assert_eq!(super::without_exclude_note(&refused.stderr), expected);
    }
    let run = ["run", "it", "--issue", "7", "--script", "script.yaml", "--trust-project"];
    assert_eq!(super::without_exclude_note(&project.saihai(run).run().exits(2).stderr), expected);
    let own = ["run", "it", "Do it.", "--worktree", "--script", "script.yaml", "--trust-project"];
    assert_eq!(project.saihai(own).run().exits(2).stderr, expected);
    untouched(&project);
    copied(r#"".env""#);
    let outcome = auto(&project, &["--trust-project"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    let warning = "warning: `.env` in `copy_files` does not exist, so worktrees lack it\n";
    assert_eq!(outcome.stderr.matches(warning).count(), 1, "{outcome}");
}

#[test]
fn a_branch_that_an_agent_removed_is_said_to_be_gone() {
    let removes = "git update-ref -d refs/heads/feature/issue-7";
    let project = repository(&format!(
        "  - {{text: 'Done. [STEP:0]', writes: [{{path: f, content: x}}], runs: [{{argv: [sh, -c, '{removes}']}}]}}\n"
    ));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    assert!(outcome.stdout.contains("branch-changed: branch `feature/issue-7` is gone"), "{outcome}");
}

//! Rescue refs: Saihai loses no state of a worktree.

use std::fs;

use saihai_tests::Project;

use super::{auto, commit, git, git_in, outcomes, repository, writes};

/// Sets the reply of the next call.
fn plays(project: &Project, text: &str, commands: &str) {
    let reply = format!("  - {{text: '{text}', runs: [{{argv: [sh, -c, '{commands}']}}]}}\n");
    project.write("script.yaml", format!("script: 1\nreplies:\n{reply}"));
}

fn kept(project: &Project) -> Vec<String> {
    let said = git(project, &["for-each-ref", "--format=%(refname)", "refs/saihai/rescue"]);
    said.lines().map(str::to_owned).collect()
}

// I-66
#[test]
fn the_full_state_of_a_worktree_is_kept_before_anything_is_done_to_it() {
    let project = repository("");
    project.write(".saihai/issues/7.md", "# Login fails\n").write(".gitignore", "script.yaml\n");
    commit(&project);
    let reference = |k: u32| format!("refs/saihai/rescue/issue-7/{k}");
    // The agent leaves a commit, a staged file, an edit, a deletion and a new file, and then fails.
    let leaves = "echo own > own.txt; git add own.txt; git commit -qm own; echo staged > staged.txt; \
                  git add staged.txt; echo edited > own.txt; rm kept.txt; echo half > half.txt";
    plays(&project, "No. [STEP:1]", leaves);
    auto(&project, &[]).exits(1);
    assert_eq!(kept(&project), [""; 0], "it stands as it is");

    // A retry reuses the worktree, and its agent discards everything.
    plays(&project, "No. [STEP:1]", "git reset -q --hard main; git clean -qfd; echo second > second.txt");
    let retried = auto(&project, &["--retry"]).exits(1);
    assert!(retried.stdout.contains(&format!("`git worktree add DIR {}`", reference(1))), "{retried}");
    git(&project, &["worktree", "add", "--quiet", "../rescued", &reference(1)]);
    let rescued = project.root().join("../rescued");
    let names = fs::read_dir(&rescued).expect("it").map(|entry| entry.expect("it").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, [".git", ".gitignore", ".saihai", "half.txt", "own.txt", "staged.txt"]);
    let read = |name: &str| fs::read_to_string(rescued.join(name)).expect("a file");
    assert_eq!(["half.txt", "own.txt", "staged.txt"].map(read), ["half\n", "edited\n", "staged\n"]);
    assert_eq!(git_in(&rescued, &["log", "-1", "--format=%s", "HEAD^"]), "own");

    // Each further rescue ref has its own number.
    plays(&project, "Done. [STEP:0]", "echo third > third.txt");
    let retried = auto(&project, &["--retry", "--keep"]).exits(0);
    assert_eq!(outcomes(&retried), ["#7 branch-ready"], "{retried}");
    assert!(retried.stdout.contains(&format!("`git worktree add DIR {}`", reference(2))), "{retried}");
    assert_eq!(git(&project, &["show", &format!("{}:second.txt", reference(2))]), "second");

    // Cleanup skips a worktree in use, also if the forge is unreachable.
    let worktree = project.root().join(".worktrees/issue-7");
    fs::write(worktree.join("later.txt"), "later\n").expect("a file");
    let settings = "[work]\ndefinition = \"it\"\nsource = \"github\"\nrepo = \"me/tool\"\n";
    project.write(".saihai/config.toml", settings);
    let clean =
        || project.saihai(["work", "--clean"]).env("GITHUB_API_URL", "http://127.0.0.1:9").run().exits(0);
    let lock = fs::File::open(project.root().join(".git/saihai/issue-7.lock")).expect("its lock");
    lock.lock().expect("it is free");
    let skipped = clean().stdout;
    assert!(skipped.starts_with("#7 ") && skipped.contains("another process works on it"), "{skipped}");
    assert!(worktree.join("later.txt").exists());
    lock.unlock().expect("it is ours");
    let removed = clean().stdout;
    assert!(removed.contains(&format!("`git worktree add DIR {}`", reference(3))), "{removed}");
    assert!(!worktree.exists());
    assert_eq!(git(&project, &["show", &format!("{}:later.txt", reference(3))]), "later");
    assert_eq!(kept(&project), [reference(1), reference(2), reference(3)], "none is ever removed");
    assert_eq!(clean().stderr, "note: no leftover worktrees or branches\n");
    assert_eq!(kept(&project).len(), 3);
}

// I-66: the files belong to the last run, regardless of earlier deliveries.
#[test]
fn what_a_later_run_by_hand_left_is_not_cleaned_up() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &[]).exits(0);
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("mine.txt")));
    project.saihai(["run", "it", "--issue", "7", "--script", "script.yaml"]).run().exits(0);
    let run = project.runs().pop().expect("a run");
    let cleaned = project.saihai(["work", "--clean"]).run().exits(0);
    let kept = format!("kept: run `{run}` delivers nothing, so the files are yours");
    assert!(cleaned.stdout.contains(&kept), "{cleaned}");
    assert_eq!(project.read(".worktrees/issue-7/mine.txt"), "mine.txt\n");
}

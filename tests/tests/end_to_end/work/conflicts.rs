//! Merge conflicts.

use saihai_tests::Project;

use super::{auto, branches, commit, git, git_in, outcomes, repository};

/// Counts the times that Saihai resumed the run.
fn tries(project: &Project) -> usize {
    project.journal().facts("resumed").count()
}

// I-64
#[test]
fn a_conflict_names_its_files_moves_nothing_and_is_tried_again_only_once_something_moved() {
    let own = "git -c user.name=T -c user.email=t@example.com";
    let theirs = format!(
        "cd ../.. && echo theirs > one.txt && echo theirs > two.txt && git add . && {own} commit --quiet -m theirs"
    );
    let writes = "writes: [{path: one.txt, content: ours}, {path: two.txt, content: ours}, {path: three.txt, content: ours}]";
    let project = repository(&format!(
        "  - {{text: 'Done. [STEP:0]', {writes}, runs: [{{argv: [sh, -c, '{theirs}']}}]}}\n"
    ));
    project.write(".saihai/issues/7.md", "# Login fails\n").write(".gitignore", "mine.txt\n.worktrees\n");
    commit(&project);
    project.write("mine.txt", "mine\n");
    let conflict = auto(&project, &["--merge"]).exits(1);
    assert_eq!(outcomes(&conflict), ["#7 conflict"]);
    assert!(
        conflict.stdout.contains("`one.txt`, `two.txt`") && !conflict.stdout.contains("three.txt"),
        "{conflict}"
    );
    let standing = || {
        let state = ["rev-parse main feature/issue-7 HEAD", "status --porcelain", "stash list"];
        let said = state.map(|command| git(&project, &command.split(' ').collect::<Vec<_>>()));
        (said, branches(&project), project.read("one.txt"), project.read("mine.txt"))
    };
    let before = standing();
    assert_eq!(before.1, ["feature/issue-7", "main"], "the branch is kept, and no other is made");
    assert_eq!((before.2.as_str(), before.0[1].as_str()), ("theirs\n", ""));
    assert_eq!(git(&project, &["show", "feature/issue-7:one.txt"]), "ours", "nobody's side was taken");
    assert_eq!(git(&project, &["log", "--format=%s", "main"]), "theirs\nfirst");
    let begun = tries(&project);
    let again = auto(&project, &["--merge"]).exits(1);
    assert_eq!((outcomes(&again), tries(&project)), (vec!["#7 conflict".to_owned()], begun));
    assert!(again.stdout.contains("`one.txt`, `two.txt`"), "{again}");
    assert_eq!(standing(), before);

    // The branch moved and still conflicts in one file.
    let worktree = project.root().join(".worktrees/issue-7");
    std::fs::write(worktree.join("two.txt"), "theirs\n").expect("a file");
    git_in(&worktree, &["commit", "--quiet", "--all", "--message", "more"]);
    let conflict = auto(&project, &["--merge"]).exits(1);
    assert_eq!(outcomes(&conflict), ["#7 conflict"]);
    assert!(conflict.stdout.contains("`one.txt`") && !conflict.stdout.contains("`two.txt`"), "{conflict}");
    let moved = tries(&project);
    assert!(moved > begun, "{conflict}");
    auto(&project, &["--merge"]).exits(1);
    assert_eq!(tries(&project), moved, "nothing has moved since");

    // The base moved and the conflict is gone.
    project.write("one.txt", "ours");
    git(&project, &["commit", "--quiet", "--all", "--message", "theirs is taken back"]);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#7 merged"]);
    let merged = git(&project, &["show", "saihai/merge/main:three.txt"]);
    assert_eq!(merged, "ours");
}

// I-64, I-72: a retry from the old base would only conflict again.
#[test]
fn a_retry_after_a_conflict_starts_at_the_current_base() {
    let own = "git -c user.name=T -c user.email=t@example.com";
    let theirs = format!("cd ../.. && echo theirs > one.txt && git add . && {own} commit --quiet -m theirs");
    let writes = "writes: [{path: one.txt, content: ours}]";
    let project = repository(&format!(
        "  - {{text: 'Done. [STEP:0]', {writes}, runs: [{{argv: [sh, -c, '{theirs}']}}]}}\n"
    ));
    project.write(".saihai/issues/7.md", "# Login fails\n").write(".gitignore", ".worktrees\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(1)), ["#7 conflict"]);
    let tip = git(&project, &["rev-parse", "feature/issue-7"]);
    project.write("script.yaml", format!("script: 1\nreplies:\n  - {{text: 'Done. [STEP:0]', {writes}}}\n"));
    let retried = auto(&project, &["--merge", "--retry"]).exits(0);
    assert_eq!(outcomes(&retried), ["#7 merged"], "{retried}");
    let note = "#7 starts again at `main`; the conflicting work is kept: `git worktree add DIR refs/saihai/rescue/issue-7/1`\n";
    assert!(retried.stderr.contains(note), "{retried}");
    assert_eq!(git(&project, &["rev-parse", "refs/saihai/rescue/issue-7/1"]), tip);
    assert_eq!(git(&project, &["show", "saihai/merge/main:one.txt"]), "ours");

    // A file that git cannot store stays in place, and Saihai pays for no turn.
    let project = repository(&format!(
        "  - {{text: 'Done. [STEP:0]', {writes}, runs: [{{argv: [sh, -c, '{theirs}']}}]}}\n"
    ));
    project.write(".saihai/issues/7.md", "# Login fails\n").write(".gitignore", ".worktrees\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(1)), ["#7 conflict"]);
    git(&project, &["worktree", "lock", ".worktrees/issue-7"]);
    let blocked = auto(&project, &["--merge", "--retry"]).exits(1);
    assert_eq!((outcomes(&blocked), project.runs().len()), (vec!["#7 blocked".to_owned()], 1), "{blocked}");
    assert!(blocked.stdout.contains("`git worktree unlock` unlocks it"), "{blocked}");
    git(&project, &["worktree", "unlock", ".worktrees/issue-7"]);
    project.write("script.yaml", format!("script: 1\nreplies:\n  - {{text: 'Done. [STEP:0]', {writes}}}\n"));
    assert_eq!(outcomes(&auto(&project, &["--merge", "--retry"]).exits(0)), ["#7 merged"]);
}

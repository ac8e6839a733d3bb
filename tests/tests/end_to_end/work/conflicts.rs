//! Merges that cannot be.

use saihai_tests::Project;

use super::{auto, branches, commit, git, git_in, outcomes, repository};

/// How often its run was gone on with.
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

    // Its branch has moved, and still conflicts in one of the files.
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

    // The base has moved, and there is no conflict any more.
    project.write("one.txt", "ours");
    git(&project, &["commit", "--quiet", "--all", "--message", "theirs is taken back"]);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#7 merged"]);
    let merged = git(&project, &["show", "saihai/merge/main:three.txt"]);
    assert_eq!(merged, "ours");
}

//! Attempts to lose work.

use std::os::unix::fs::PermissionsExt as _;

use crate::tests::*;

impl Work {
    fn clean_up(&self, merged_into: Option<&str>) -> CleanUpOutcome {
        let merged_into: Vec<String> = merged_into.map(str::to_owned).into_iter().collect();
        let (worktree, base, copied) = (&self.worktree, &self.base, &self.copied);
        let cleaning = CleanUpRequest { worktree, base, copied, merged_into: &merged_into };
        self.repository.clean_up(cleaning, &self.lock).unwrap()
    }

    /// Cleans up a worktree with leftovers and returns the content of a name in the rescue ref.
    #[track_caller]
    fn rescued(&self, name: &str) -> String {
        let cleaned = self.clean_up(None);
        let CleanUpOutcome::Removed { rescued: Some(reference), branch: BranchRemoval::Kept } = cleaned
        else {
            panic!("{cleaned:?}")
        };
        assert!(!self.worktree.path().exists());
        self.scene.git(&["show", &format!("{reference}{name}")])
    }
}

const GONE: CleanUpOutcome = CleanUpOutcome::Removed { rescued: None, branch: BranchRemoval::Removed };

// I-65
#[test]
fn a_merged_item_leaves_nothing() {
    let work = Work::new();
    work.write("a.txt", "two\n");
    work.ready();
    work.scene.git(&["merge", "--quiet", "--no-ff", "-m", "merged", "feature/issue-7"]);
    assert_eq!(work.clean_up(Some("refs/heads/main")), GONE);
    assert!(!work.worktree.path().exists());
    assert_eq!(work.scene.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(work.scene.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(fs::read_dir(work.scene.made.root().join(".worktrees")).unwrap().count(), 0);
}

// I-65
#[test]
fn a_branch_that_is_not_merged_stays() {
    let work = Work::new();
    work.write("a.txt", "two\n");
    let commit = work.ready().commit;
    let kept = CleanUpOutcome::Removed { rescued: None, branch: BranchRemoval::Kept };
    assert_eq!(work.clean_up(Some("refs/heads/main")), kept);
    assert_eq!(work.scene.git(&["rev-parse", "feature/issue-7"]), commit);
}

// I-65
#[test]
fn files_of_every_kind_are_rescued() {
    let changed = Work::new();
    assert_eq!(changed.write("a.txt", "two\n").rescued(":a.txt"), "two");
    let untracked = Work::new();
    assert_eq!(untracked.write("deep/new", "new\n").rescued(":deep/new"), "new");
    let marked = Work::new();
    marked.git(&["update-index", "--assume-unchanged", "a.txt"]);
    assert_eq!(marked.write("a.txt", "marked\n").rescued(":a.txt"), "marked");
    // Staged, then deleted or changed.
    let staged = Work::new();
    staged.write("s.txt", "staged\n").git(&["add", "s.txt"]);
    fs::remove_file(staged.worktree.path().join("s.txt")).unwrap();
    assert_eq!(staged.rescued("^2:s.txt"), "staged");
}

#[test]
fn commits_that_no_branch_holds_are_rescued() {
    let detached = Work::new();
    detached.git(&["switch", "--quiet", "--detach"]);
    detached.git(&["commit", "--quiet", "--allow-empty", "-m", "away"]);
    assert!(detached.rescued("^1").ends_with("    away"));
    let dropped = Work::new();
    dropped.write("a.txt", "dropped\n").git(&["commit", "--quiet", "--all", "-m", "dropped"]);
    dropped.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    assert_eq!(dropped.rescued("^2:a.txt"), "dropped");
    let stashed = Work::new();
    stashed.write("a.txt", "stashed\n").git(&["stash", "--quiet"]);
    stashed.clean_up(None);
    assert_eq!(stashed.scene.git(&["show", "refs/stash:a.txt"]), "stashed");
}

// I-65
#[test]
fn what_an_agent_hid_by_rules_of_its_own_is_rescued_and_what_the_base_ignores_is_not() {
    let scene = Scene::new();
    scene.made.write(".gitignore", "target/\n*.log\n!keep.log\n").commit("rules");
    let work = Work::on(scene);
    work.write(".gitignore", "target/\n*.log\nnotes/\n").write("notes/thoughts", "mine\n");
    work.write("target/big", "x\n").write("x.log", "x\n").write("keep.log", "kept\n");
    work.scene.write("repository/.git/info/exclude", "secretly\n");
    work.write("secretly", "hidden\n");
    let ready = work.ready();
    assert!(!ready.files.iter().any(|path| path.starts_with("notes")), "{ready:?}");
    work.rescued(":notes/thoughts");
    let listed = work.scene.git(&["ls-tree", "-r", "--name-only", "refs/saihai/rescue/issue-7/1"]);
    insta::assert_snapshot!(listed, @r"
    .gitignore
    a.txt
    keep.log
    notes/thoughts
    secretly
    ");
}

/// Creates a scene whose user ignores `*.own`.
fn with_own_rules() -> Scene {
    let scene = Scene::new();
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    scene.write("home/.gitconfig", &format!("{own}[core]\n\texcludesFile = ~/own-rules\n"));
    scene.write("home/own-rules", "*.own\n");
    scene
}

// I-65: an agent of an earlier call may have written the repository's ignore rules outside the commit.
#[test]
fn what_only_rules_outside_the_base_hide_is_rescued_and_what_is_ours_is_not() {
    let scene = with_own_rules();
    scene.write("repository/.git/info/exclude", "docs/plan.md\n/.saihai/runs/\n");
    let work = Work::on(scene);
    work.write("docs/plan.md", "paid for\n").write("x.own", "x\n").write(".saihai/runs/x/y", "ours\n");
    assert_eq!(work.finalize(), CommitWorkOutcome::NoChanges);
    assert_eq!(work.rescued(":docs/plan.md"), "paid for");
    let listed = work.scene.git(&["ls-tree", "-r", "--name-only", "refs/saihai/rescue/issue-7/1"]);
    assert_eq!(listed, "a.txt\ndocs/plan.md");
    // Our own files alone cannot be lost.
    let nested = Work::new();
    nested.write(".saihai/runs/x/y", "ours\n").write(".saihai/runs/.gitignore", "*\n");
    assert_eq!(nested.clean_up(Some("refs/heads/main")), GONE);
}

// I-65
#[test]
fn what_the_users_own_rules_hide_goes_with_the_worktree() {
    let work = Work::on(with_own_rules());
    work.write("x.own", "x\n");
    assert_eq!(work.clean_up(Some("refs/heads/main")), GONE);
}

// With reftable, the reflog of HEAD is in tables too.
#[test]
fn commits_that_no_branch_holds_are_rescued_also_where_refs_are_in_tables() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.beside("repository/.git")).unwrap();
    scene.git(&["init", "--quiet", "--initial-branch=main", "--ref-format=reftable"]);
    scene.made.commit("first");
    let work = Work::on(scene);
    work.write("a.txt", "dropped\n").git(&["commit", "--quiet", "--all", "-m", "dropped"]);
    work.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    assert_eq!(work.rescued("^2:a.txt"), "dropped");
}

#[test]
fn each_rescue_has_a_number_of_its_own() {
    let work = Work::new();
    let rescue = || {
        let rescued =
            work.repository.rescue(&work.worktree, &work.base.commit, &[], RescueCondition::WhatNothingHolds);
        rescued.unwrap().reference
    };
    assert_eq!(rescue(), None);
    work.write("a.txt", "two\n");
    assert_eq!(rescue().as_deref(), Some("refs/saihai/rescue/issue-7/1"));
    work.write("a.txt", "three\n");
    assert_eq!(rescue().as_deref(), Some("refs/saihai/rescue/issue-7/2"));
    // As the hint says.
    work.scene.git(&["worktree", "add", "--quiet", "../again", "refs/saihai/rescue/issue-7/1"]);
    assert_eq!(fs::read_to_string(work.scene.beside("again/a.txt")).unwrap(), "two\n");
}

#[test]
fn another_repository_among_the_files_keeps_the_worktree() {
    let work = Work::new();
    work.git(&["init", "--quiet", "inner"]);
    work.write("inner/x", "x\n");
    let path = PathBuf::from("inner/");
    assert_eq!(work.clean_up(None), CleanUpOutcome::Kept(KeptWorktreeReason::EmbeddedRepository { path }));
    assert!(work.worktree.path().join("inner/x").exists());
}

// I-65
#[test]
fn another_repository_keeps_the_worktree_also_where_the_base_ignores_it() {
    let scene = Scene::new();
    scene.made.write(".gitignore", "vendor/\n").commit("rules");
    let work = Work::on(scene);
    work.write("a.txt", "two\n").write("vendor/plain/file", "may go\n").write("vendor/deep/lib/x", "x\n");
    let lib = work.worktree.path().join("vendor/deep/lib");
    git(&lib, &["init", "--quiet"]);
    git(&lib, &["add", "--all"]);
    git(&lib, &["commit", "--quiet", "-m", "only here"]);
    work.ready();
    let path = "vendor/deep/lib/".into();
    assert_eq!(work.clean_up(None), CleanUpOutcome::Kept(KeptWorktreeReason::EmbeddedRepository { path }));
    assert!(lib.join("x").exists());
    fs::remove_dir_all(&lib).unwrap();
    assert_eq!(work.clean_up(None), CleanUpOutcome::Removed { rescued: None, branch: BranchRemoval::Kept });
}

#[test]
fn a_submodule_that_the_agent_filled_keeps_the_worktree() {
    let scene = Scene::new();
    let inner = Scene::new();
    scene.git(&["submodule", "--quiet", "add", &inner.made.root().display().to_string(), "sub"]);
    scene.made.commit("with a submodule");
    let work = Work::on(scene);
    work.git(&["submodule", "--quiet", "update", "--init"]);
    work.write("sub/a.txt", "changed\n").write("b.txt", "b\n");
    // Its content is not our business, but it is not lost either.
    assert_eq!(work.ready().files, [Path::new("b.txt")]);
    let path = PathBuf::from("sub");
    assert_eq!(work.clean_up(None), CleanUpOutcome::Kept(KeptWorktreeReason::EmbeddedRepository { path }));
}

#[test]
fn a_copied_file_that_was_changed_keeps_the_worktree_and_another_goes_with_it() {
    let scene = Scene::new();
    scene.made.write(".env", "KEY=1\n");
    let work = Work::with_copies(scene, &[".env"]);
    work.write(".env", "KEY=2\n");
    let kept = KeptWorktreeReason::CopyChanged { path: ".env".to_owned() };
    assert_eq!(work.clean_up(None), CleanUpOutcome::Kept(kept));
    work.write(".env", "KEY=1\n");
    assert_eq!(work.clean_up(Some("refs/heads/main")), GONE);
    // The repository does not even contain its content.
    let blob = work.scene.git(&["hash-object", ".env"]);
    let known =
        Command::new("git").args(["cat-file", "-e", &blob]).current_dir(work.scene.made.root()).status();
    assert!(!known.unwrap().success());
}

#[test]
fn directories_that_nobody_may_write_are_removed_too() {
    let scene = Scene::new();
    scene.made.write(".gitignore", "cache/\n").commit("rules");
    let work = Work::on(scene);
    work.write("cache/deep/x", "x\n");
    for directory in ["cache/deep", "cache"] {
        let mode = fs::Permissions::from_mode(0o555);
        fs::set_permissions(work.worktree.path().join(directory), mode).unwrap();
    }
    assert_eq!(work.clean_up(Some("refs/heads/main")), GONE);
}

// After a kill between two steps, the next call finishes the removal.
#[test]
fn what_was_half_removed_is_not_taken_for_what_an_agent_left() {
    let work = Work::new();
    let aside = work.worktree.path().with_file_name(".saihai-removed-issue-7");
    fs::rename(work.worktree.path(), &aside).unwrap();
    fs::remove_file(aside.join("a.txt")).unwrap();
    assert_eq!(work.clean_up(Some("refs/heads/main")), GONE);
    assert!(!aside.exists());
}

#[test]
fn without_its_lock_nothing_is_removed() {
    let work = Work::new();
    work.write("a.txt", "two\n");
    fs::remove_file(work.scene.beside("repository/.git/saihai/issue-7.lock")).unwrap();
    let (worktree, base) = (&work.worktree, &work.base);
    let cleaning = CleanUpRequest { worktree, base, copied: &[], merged_into: &[] };
    let cleaned = work.repository.clean_up(cleaning, &work.lock);
    assert!(matches!(cleaned, Err(RepositoryError::LockLost { .. })), "{cleaned:?}");
    assert_eq!(fs::read_to_string(work.worktree.path().join("a.txt")).unwrap(), "two\n");
}

#[test]
fn a_repository_in_the_place_of_the_worktrees_own_keeps_the_worktree() {
    let work = Work::new();
    fs::remove_file(work.worktree.path().join(".git")).unwrap();
    work.git(&["init", "--quiet"]);
    let path = PathBuf::from(".git");
    assert_eq!(work.clean_up(None), CleanUpOutcome::Kept(KeptWorktreeReason::EmbeddedRepository { path }));
    assert!(work.worktree.path().join(".git/HEAD").exists());
}

// A pipe has no content to lose, and it does not prevent the rescue of other files.
#[test]
fn a_pipe_in_the_place_of_a_file_is_no_hindrance() {
    let work = Work::new();
    fs::remove_file(work.worktree.path().join("a.txt")).unwrap();
    assert!(Command::new("mkfifo").arg(work.worktree.path().join("a.txt")).status().unwrap().success());
    assert_eq!(work.write("new.txt", "new\n").rescued(":new.txt"), "new");
    assert_eq!(work.scene.git(&["show", "refs/saihai/rescue/issue-7/1:a.txt"]), "one");
}

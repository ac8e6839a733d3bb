//! Entries of a worktree that git cannot store.

use crate::tests::commit_work::*;
use crate::tests::*;

// I-50: if the agent replaced the worktree's `.git` by a repository, its commits exist nowhere else.
#[test]
fn a_repository_in_the_place_of_the_worktrees_own_is_not_delivered_and_stays() {
    let work = Work::new();
    let at = work.worktree.path();
    fs::remove_file(at.join(".git")).unwrap();
    work.git(&["init", "--quiet"]);
    work.write("a.txt", "two\n").git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "-m", "own"]);
    let own = work.git(&["rev-parse", "HEAD"]);
    let path = at.display();
    let expected = format!(
        "embedded-repository: `.git` of the worktree is now another repository, and its commits exist nowhere else; keep it and repair the worktree: `mv {path}/.git DIR && git worktree repair`, then `saihai work --retry`"
    );
    assert_eq!(problem(&work), (expected, None));
    assert_eq!(work.scene.git(&["rev-parse", "feature/issue-7"]), work.base.commit);
    assert_eq!(work.git(&["rev-parse", "HEAD"]), own);
    // As the message says.
    let kept = work.scene.beside("kept");
    fs::rename(at.join(".git"), &kept).unwrap();
    work.scene.git(&["worktree", "repair"]);
    assert_eq!(git(&kept, &["--git-dir", ".", "rev-parse", "HEAD"]), own);
    assert_eq!(work.ready().files, [Path::new("a.txt")]);
}

// Git stores neither pipes nor sockets. A person decides, and nothing blocks on the other end.
#[test]
fn a_pipe_in_the_place_of_a_file_waits_for_a_person() {
    let scene = Scene::new();
    scene.made.write("b.txt", "b\n").commit("more");
    let work = Work::on(scene);
    let path = |name: &str| work.worktree.path().join(name);
    fs::remove_file(path("a.txt")).unwrap();
    assert!(Command::new("mkfifo").arg(path("a.txt")).status().unwrap().success());
    fs::remove_file(path("b.txt")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("b.txt")).unwrap();
    // Git tracks no file of that name, so the pipe does not matter.
    assert!(Command::new("mkfifo").arg(path("new")).status().unwrap().success());
    work.write("c.txt", "c\n");
    let paths = vec![PathBuf::from("a.txt"), PathBuf::from("b.txt")];
    assert_eq!(work.finalize(), CommitWorkOutcome::Special { paths });
    assert_eq!(work.git(&["rev-parse", "HEAD"]), work.base.commit);
    fs::remove_file(path("a.txt")).unwrap();
    fs::remove_file(path("b.txt")).unwrap();
    work.write("b.txt", "again\n");
    assert_eq!(work.ready().files, [Path::new("a.txt"), Path::new("b.txt"), Path::new("c.txt")]);
    assert_eq!(work.git(&["ls-tree", "--name-only", "HEAD"]), "b.txt\nc.txt");
}

// Git only warns about these, if at all, and the delivery would lack them.
#[test]
fn what_git_passes_over_waits_for_a_person_unless_it_is_ignored() {
    let scene = Scene::new();
    scene.made.write(".gitignore", "cache/\n").commit("rules");
    let work = Work::on(scene);
    work.write("b.txt", "b\n").write("s/.git/w", "w\n").write("s/.git/x", "x\n").write("s/y", "y\n");
    work.write("t/.git", "w\n").write(".GIT/w", "w\n").write("git~1", "w\n");
    // It is empty, or its rules allow its removal.
    fs::create_dir_all(work.worktree.path().join("u/.git")).unwrap();
    work.write("cache/.git/w", "w\n").write("cache/GIT~1", "w\n");
    let paths = [".GIT", "git~1", "s/.git", "t/.git"].map(PathBuf::from).to_vec();
    assert_eq!(work.finalize(), CommitWorkOutcome::Untaken { paths });
    assert_eq!(work.git(&["rev-parse", "HEAD"]), work.base.commit);
    let path = |name: &str| work.worktree.path().join(name);
    fs::rename(path(".GIT"), path("other")).unwrap();
    fs::remove_file(path("git~1")).unwrap();
    fs::remove_file(path("t/.git")).unwrap();
    // An agent's ignore rule keeps it off the branch, but does not allow its removal with the worktree.
    work.write(".gitignore", "cache/\ns/\n");
    let files = [".gitignore", "b.txt", "other/w"].map(PathBuf::from);
    assert_eq!(work.ready().files, files);
    let cleaning =
        CleanUpRequest { worktree: &work.worktree, base: &work.base, copied: &[], merged_into: &[] };
    let kept = KeptWorktreeReason::Untaken { path: PathBuf::from("s/.git") };
    assert_eq!(work.repository.clean_up(cleaning, &work.lock).unwrap(), CleanUpOutcome::Kept(kept));
    assert!(path("s/.git/w").exists());
    fs::remove_dir_all(path("s/.git")).unwrap();
    let cleaned = work.repository.clean_up(cleaning, &work.lock).unwrap();
    assert!(matches!(cleaned, CleanUpOutcome::Removed { rescued: Some(_), .. }), "{cleaned:?}");
    assert_eq!(work.scene.git(&["show", "refs/saihai/rescue/issue-7/2:s/y"]), "y");
}

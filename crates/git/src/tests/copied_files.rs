//! Files copied into a worktree are not delivered.

use crate::tests::commit_work::problem;
use crate::tests::*;

#[test]
fn a_copied_file_that_the_agent_committed_is_not_delivered() {
    let scene = Scene::new();
    scene.made.write(".env", "KEY=1\n");
    let work = Work::with_copies(scene, &[".env"]);
    work.git(&["add", "--force", ".env"]);
    work.git(&["commit", "--quiet", "-m", "all of it"]);
    work.git(&["rm", "--quiet", "--cached", ".env"]);
    work.git(&["commit", "--quiet", "-m", "not it"]);
    let (said, _) = problem(&work);
    assert!(said.starts_with("secret: found a secret in `.env`, a copied file, in commit "), "{said}");
}

// A rule of the agent takes precedence over all our rules.
#[test]
fn a_copied_file_that_the_agent_has_git_see_is_not_committed() {
    let scene = Scene::new();
    scene.made.write(".gitignore", ".env\n").commit("rules");
    scene.made.write(".env", "KEY=1\n").write("conf/local.env", "KEY=2\n");
    let work = Work::with_copies(scene, &[".env", "conf/local.env"]);
    work.write(".gitignore", "!.env\n").write("conf/.gitignore", "!local.env\n").write("n", "1\n");
    let ready = work.ready();
    assert_eq!(ready.files, [".gitignore", "conf/.gitignore", "n"].map(Path::new));
    assert_eq!(fs::read_to_string(work.worktree.path().join(".env")).unwrap(), "KEY=1\n");
    // The rescue does not contain it either.
    let rescued =
        work.repository.rescue(&work.worktree, &work.base.commit, &work.copied, RescueCondition::Everything);
    let listed = work.git(&["ls-tree", "-r", "--name-only", &rescued.unwrap().reference.unwrap()]);
    assert_eq!(listed, ".gitignore\na.txt\nconf/.gitignore\nn");
}

// As on a case-insensitive file system.
#[test]
fn a_copied_file_is_known_in_capitals_where_git_does_not_tell_them_apart() {
    let scene = Scene::new();
    scene.git(&["config", "core.ignorecase", "true"]);
    scene.made.write("[x]/.env", "KEY=1\n");
    let work = Work::with_copies(scene, &["[x]/.env"]);
    work.write("[X]/.ENV", "KEY=1\n").write("n", "1\n");
    assert_eq!(work.ready().files, [Path::new("n")]);
    work.git(&["add", "--force", "[X]/.ENV"]);
    work.git(&["commit", "--quiet", "-m", "all of it"]);
    let (said, _) = problem(&work);
    assert_eq!(said, "secret: found a secret in `[X]/.ENV`, a copied file");
    work.git(&["rm", "--quiet", "--cached", "[X]/.ENV"]);
    work.git(&["commit", "--quiet", "-m", "not it"]);
    let (said, _) = problem(&work);
    assert!(said.starts_with("secret: found a secret in `[x]/.env`, a copied file, in commit "), "{said}");
}

// Older runs may have such spellings, which are refused now.
#[test]
fn a_copied_file_is_known_however_it_is_spelled() {
    let scene = Scene::new();
    scene.made.write("conf/local.env", "KEY=1\n");
    let mut work = Work::with_copies(scene, &["conf/local.env"]);
    work.copied = vec!["./conf//./local.env".to_owned()];
    work.write("n", "1\n");
    assert_eq!(work.ready().files, [Path::new("n")]);
}

// The pushed history contains the side that a merge discarded.
#[test]
fn a_copied_file_on_a_side_that_a_merge_dropped_is_not_delivered() {
    let scene = Scene::new();
    scene.made.write(".env", "KEY=1\n");
    let work = Work::with_copies(scene, &[".env"]);
    work.write("a.txt", "two\n").git(&["commit", "--quiet", "--all", "-m", "work"]);
    work.git(&["switch", "--quiet", "-c", "side", "HEAD^"]);
    work.git(&["add", "--force", ".env"]);
    work.git(&["commit", "--quiet", "-m", "all of it"]);
    work.git(&["rm", "--quiet", "--cached", ".env"]);
    work.git(&["commit", "--quiet", "-m", "not it"]);
    work.git(&["switch", "--quiet", "feature/issue-7"]);
    work.git(&["merge", "--quiet", "-m", "both", "side"]);
    let (said, _) = problem(&work);
    assert!(said.starts_with("secret: found a secret in `.env`, a copied file, in commit "), "{said}");
}

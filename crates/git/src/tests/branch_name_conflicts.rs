//! Obstacles to changing a ref, other than a moved ref.

use crate::tests::*;

/// Merges an item's branch with one new file into `main`. Also returns the number of verifications.
fn merge(scene: &Scene) -> (Result<GitMergeOutcome, RepositoryError>, usize) {
    scene.repository().exclude(&[Path::new(".worktrees")]).unwrap();
    let worktree = scene.place(7);
    write(&worktree.path().join("b.txt"), "b\n");
    git(worktree.path(), &["add", "--all"]);
    git(worktree.path(), &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    let commit = git(worktree.path(), &["rev-parse", "HEAD"]);
    let (repository, item) = (scene.repository(), item(7));
    let merging =
        GitMergeRequest { item: &item, base: "main", commit: &commit, title: "Make it so", run: "a-run" };
    let mut verified = 0;
    let mut verify = |_: &Path| {
        verified += 1;
        true
    };
    for _ in 0..1_000 {
        let merged = repository.merge(merging, Some(&mut verify), &lock(&repository, 7));
        // Another test may be between fork and exec and hold every lock for that moment.
        if !matches!(merged, Ok(GitMergeOutcome::Busy { .. })) {
            return (merged, verified);
        }
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    panic!("somebody merges for ever");
}

#[track_caller]
fn told(error: &RepositoryError, scene: &Scene) -> String {
    let told = format!("{error}; {}", error.remedy().unwrap());
    assert_eq!(error.lasts(), RepositoryErrorDuration::UntilFixed, "{told}");
    told.replace(scene.made.root().to_str().unwrap(), "REPOSITORY")
}

#[test]
fn a_branch_in_the_place_of_all_merges_is_said_before_anything_is_verified() {
    let scene = Scene::new();
    scene.git(&["branch", "saihai"]);
    let (merged, verified) = merge(&scene);
    let expected = "branch `saihai` exists, so git cannot create `saihai/merge/main`; rename that branch: `git branch -m saihai NAME`";
    assert_eq!((told(&merged.unwrap_err(), &scene).as_str(), verified), (expected, 0));
    // The base is not checked out, so the merge goes to the base itself.
    scene.git(&["switch", "--quiet", "--detach"]);
    assert!(matches!(merge(&scene).0.unwrap(), GitMergeOutcome::Done { onto: MergeTarget::Base, .. }));
}

#[test]
fn a_leftover_lock_file_is_named_and_stays() {
    for (reference, is_beside) in [("refs/heads/saihai/merge/main", true), ("refs/heads/main", false)] {
        let scene = Scene::new();
        if !is_beside {
            scene.git(&["switch", "--quiet", "--detach"]);
        }
        let left = format!("repository/.git/{reference}.lock");
        scene.write(&left, "");
        let main = scene.git(&["rev-parse", "main"]);
        let (merged, verified) = merge(&scene);
        let expected = format!(
            "git cannot change `{reference}`: the lock file `REPOSITORY/.git/{reference}.lock` exists; wait until it ends; if no git is running, remove that file"
        );
        assert_eq!((told(&merged.unwrap_err(), &scene), verified), (expected, 1));
        assert!(scene.beside(&left).exists());
        assert_eq!(scene.git(&["rev-parse", "main"]), main);
        fs::remove_file(scene.beside(&left)).unwrap();
        assert!(matches!(merge(&scene).0.unwrap(), GitMergeOutcome::Done { .. }));
    }
}

#[test]
fn a_lock_file_of_a_git_that_is_at_work_is_waited_for() {
    let work = Work::new();
    work.write("a.txt", "two\n");
    let left = work.scene.beside("repository/.git/refs/heads/feature/issue-7.lock");
    write(&left, "");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(400));
            fs::remove_file(&left).unwrap();
        });
        work.ready();
    });
}

/// Checks that the error names a lock file and the fix.
#[track_caller]
fn names_lock(error: &RepositoryError, scene: &Scene, name: &str) {
    let todo = "wait until it ends; if no git is running, remove that file";
    let expected = format!("the lock file `REPOSITORY/.git/{name}` exists; {todo}");
    let told = told(error, scene);
    assert!(told.ends_with(&expected), "{told}");
}

#[test]
fn what_keeps_a_branch_from_being_made_moved_or_removed_is_named() {
    let scene = Scene::new();
    let name = "refs/heads/feature/issue-7.lock";
    let left = format!("repository/.git/{name}");
    scene.write(&left, "");
    names_lock(&scene.try_place(7, BranchOwnership::ByJournal).unwrap_err(), &scene, name);
    fs::remove_file(scene.beside(&left)).unwrap();
    let work = Work::on(scene);
    work.write("a.txt", "two\n");
    work.scene.write(&left, "");
    names_lock(&work.try_finalize(&[]).unwrap_err(), &work.scene, name);
    fs::remove_file(work.scene.beside(&left)).unwrap();
    let commit = work.ready().commit;
    work.scene.git(&["pack-refs", "--all"]);
    work.scene.write("repository/.git/packed-refs.lock", "");
    let refused = work.repository.remove_ref("refs/heads/feature/issue-7", &commit).unwrap_err();
    names_lock(&refused, &work.scene, "packed-refs.lock");
}

#[test]
fn a_ref_in_the_place_of_all_rescues_is_said_before_anything_is_made() {
    let scene = Scene::new();
    scene.git(&["update-ref", "refs/saihai", "HEAD"]);
    let refused = scene.try_place(7, BranchOwnership::ByJournal).unwrap_err();
    let expected = "`refs/saihai` exists, so git cannot create `refs/saihai/rescue/issue-7/1`; give it another name: `git update-ref refs/kept/NAME refs/saihai && git update-ref -d refs/saihai`";
    assert_eq!(told(&refused, &scene), expected);
    assert_eq!(scene.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\nrefs/saihai");
    // A ref that an agent creates later is named as well.
    let work = Work::new();
    work.write("a.txt", "two\n").git(&["update-ref", "refs/saihai", "HEAD"]);
    let refused = work.repository.rescue(&work.worktree, &work.base.commit, &[], RescueCondition::Everything);
    assert_eq!(told(&refused.unwrap_err(), &work.scene), expected);
}

#[test]
fn another_name_of_a_branch_is_refused_as_a_base_and_stays() {
    let scene = Scene::new();
    scene.git(&["symbolic-ref", "refs/heads/trunk", "refs/heads/main"]);
    let refused = scene.repository().base("trunk").unwrap_err();
    let expected = "branch `trunk` is another name of `main`: a symbolic ref; name `main` itself";
    assert_eq!(told(&refused, &scene), expected);
    // The same for a branch that becomes symbolic later.
    scene.git(&["branch", "other"]);
    scene.git(&["symbolic-ref", "refs/heads/saihai/merge/main", "refs/heads/other"]);
    let (merged, verified) = merge(&scene);
    let expected =
        "branch `saihai/merge/main` is another name of `other`: a symbolic ref; name `other` itself";
    assert_eq!((told(&merged.unwrap_err(), &scene).as_str(), verified), (expected, 0));
    assert_eq!(scene.git(&["symbolic-ref", "refs/heads/saihai/merge/main"]), "refs/heads/other");
}

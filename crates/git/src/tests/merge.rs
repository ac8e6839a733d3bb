//! Merges on this machine.

use std::collections::BTreeMap;

use crate::tests::*;

/// Creates an item's branch with one file that differs from main.
fn branch(scene: &Scene, number: u32, path: &str, text: &str) -> String {
    scene.repository().exclude(&[Path::new(".worktrees")]).unwrap();
    let worktree = scene.place(number);
    write(&worktree.path().join(path), text);
    git(worktree.path(), &["add", "--all"]);
    git(worktree.path(), &["commit", "--quiet", "-m", "work"]);
    git(worktree.path(), &["rev-parse", "HEAD"])
}

/// Merges and retries while the lock is busy. Another test may be between fork and exec and hold every lock
/// for that moment.
fn merge(scene: &Scene, number: u32, commit: &str, mut verify: Option<MergeVerifier<'_>>) -> GitMergeOutcome {
    for _ in 0..1_000 {
        let verify = verify.as_mut().map(|verify| &mut **verify as MergeVerifier<'_>);
        let merged = merge_now(scene, number, commit, verify);
        if !matches!(merged, GitMergeOutcome::Busy { .. }) {
            return merged;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    panic!("somebody merges for ever");
}

fn merge_now(scene: &Scene, number: u32, commit: &str, verify: Option<MergeVerifier<'_>>) -> GitMergeOutcome {
    let repository = scene.repository();
    let item = item(number);
    let merging = GitMergeRequest { item: &item, base: "main", commit, title: "Make it so", run: "a-run" };
    repository.merge(merging, verify, &lock(&repository, number)).unwrap()
}

/// Returns every byte of the user's checkout, its index and its HEAD.
fn checkout(scene: &Scene) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut left = vec![scene.made.root().to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(scene.made.root()).unwrap().to_owned();
            if name.starts_with(".git") && !matches!(name.to_str(), Some(".git" | ".git/index" | ".git/HEAD"))
            {
                continue;
            }
            if path.is_dir() {
                left.push(path);
            } else {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[track_caller]
fn done(merged: GitMergeOutcome) -> (String, MergeTarget) {
    let GitMergeOutcome::Done { commit, onto } = merged else { panic!("{merged:?}") };
    (commit, onto)
}

// I-64 reports the files of a conflict that another process has met
#[test]
fn the_files_in_which_two_commits_conflict_are_named_and_nothing_moves() {
    let scene = Scene::new();
    let base = scene.git(&["rev-parse", "main"]);
    let commit = branch(&scene, 7, "a.txt", "ours\n");
    scene.made.write("a.txt", "theirs\n");
    scene.git(&["commit", "--quiet", "--all", "-m", "theirs"]);
    let theirs = scene.git(&["rev-parse", "main"]);
    let repository = scene.repository();
    assert_eq!(repository.conflicts(&theirs, &commit).unwrap(), [Path::new("a.txt")]);
    assert_eq!(repository.conflicts(&base, &commit).unwrap(), [] as [PathBuf; 0]);
    assert_eq!(scene.git(&["rev-parse", "main"]), theirs);
}

// I-62
#[test]
fn a_base_that_nobody_has_checked_out_moves() {
    let scene = Scene::new();
    let commit = branch(&scene, 7, "b.txt", "b\n");
    scene.git(&["switch", "--quiet", "-c", "other"]);
    let before = checkout(&scene);
    let base = scene.git(&["rev-parse", "main"]);
    let (merge_commit, onto) = done(merge(&scene, 7, &commit, None));
    assert_eq!(onto, MergeTarget::Base);
    assert_eq!(
        scene.git(&["rev-parse", "main", "main^1", "main^2"]),
        format!("{merge_commit}\n{base}\n{commit}")
    );
    insta::assert_snapshot!(scene.git(&["log", "-1", "--format=%an%n%B", "main"]), @r"
    U Ser
    Merge feature/issue-7 into main

    Make it so

    Saihai-Issue: 7
    Saihai-Run: a-run
    ");
    assert_eq!(checkout(&scene), before);
    assert_eq!(merge(&scene, 7, &commit, None), GitMergeOutcome::Already { onto: MergeTarget::Base });
    assert_eq!(scene.git(&["rev-parse", "main"]), merge_commit);
}

// I-62
#[test]
fn a_base_that_is_checked_out_and_dirty_stays_byte_for_byte() {
    let scene = Scene::new();
    let (first, second) = (branch(&scene, 7, "b.txt", "b\n"), branch(&scene, 8, "c.txt", "c\n"));
    scene.made.write("a.txt", "dirty\n").write("untracked", "x\n");
    let (before, main) = (checkout(&scene), scene.git(&["rev-parse", "main"]));
    let (_, onto) = done(merge(&scene, 7, &first, None));
    insta::assert_snapshot!(onto.hint().unwrap(), @"git merge --ff-only saihai/merge/main");
    let (commit, _) = done(merge(&scene, 8, &second, None));
    assert_eq!(merge(&scene, 7, &first, None), GitMergeOutcome::Already { onto });
    assert_eq!((checkout(&scene), scene.git(&["rev-parse", "main"])), (before, main));
    assert_eq!(scene.git(&["ls-tree", "--name-only", "saihai/merge/main"]), "a.txt\nb.txt\nc.txt");
    // The user follows the hint. The next merge removes the merge branch.
    scene.git(&["checkout", "--quiet", "--", "a.txt"]);
    scene.git(&["merge", "--quiet", "--ff-only", "saihai/merge/main"]);
    assert_eq!(scene.git(&["rev-parse", "main"]), commit);
    assert!(matches!(merge(&scene, 7, &first, None), GitMergeOutcome::Already { .. }));
    assert_eq!(scene.git(&["branch", "--list", "saihai/*"]), "");
}

#[test]
fn a_merge_branch_of_a_base_that_moved_can_still_be_merged() {
    let scene = Scene::new();
    let (first, second) = (branch(&scene, 7, "b.txt", "b\n"), branch(&scene, 8, "c.txt", "c\n"));
    done(merge(&scene, 7, &first, None));
    scene.made.write("d.txt", "d\n").commit("the person went on");
    done(merge(&scene, 8, &second, None));
    scene.git(&["merge", "--quiet", "--ff-only", "saihai/merge/main"]);
    assert_eq!(scene.git(&["ls-tree", "--name-only", "main"]), "a.txt\nb.txt\nc.txt\nd.txt");
}

#[test]
fn several_that_begin_at_once_where_merges_were_taken_in_all_begin_there() {
    for _ in 0..5 {
        let scene = Scene::new();
        let work = branch(&scene, 7, "b.txt", "b\n");
        done(merge(&scene, 7, &work, None));
        scene.git(&["merge", "--quiet", "--ff-only", "saihai/merge/main"]);
        let (repository, main) = (scene.repository(), scene.git(&["rev-parse", "main"]));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(repository.beginning("main").unwrap().commit, main));
            }
        });
        assert_eq!(scene.git(&["branch", "--list", "saihai/*"]), "");
    }
}

// I-62
#[test]
fn a_merge_branch_lands_once_its_base_is_not_checked_out() {
    let scene = Scene::new();
    let (first, second) = (branch(&scene, 7, "b.txt", "b\n"), branch(&scene, 8, "c.txt", "c\n"));
    done(merge(&scene, 7, &first, None));
    scene.git(&["switch", "--quiet", "--detach"]);
    let (_, onto) = done(merge(&scene, 8, &second, None));
    assert_eq!(onto, MergeTarget::Base);
    assert_eq!(scene.git(&["ls-tree", "--name-only", "main"]), "a.txt\nb.txt\nc.txt");
    assert_eq!(scene.git(&["branch", "--list", "saihai/*"]), "");
}

#[test]
fn a_base_in_the_middle_of_a_rebase_counts_as_checked_out() {
    let scene = Scene::new();
    let commit = branch(&scene, 7, "b.txt", "b\n");
    scene.git(&["switch", "--quiet", "--detach"]);
    scene.write("repository/.git/rebase-merge/head-name", "refs/heads/main\n");
    let (_, onto) = done(merge(&scene, 7, &commit, None));
    assert_eq!(onto, MergeTarget::Beside { branch: "saihai/merge/main".to_owned() });
}

#[test]
fn a_merge_branch_that_is_checked_out_does_not_move_either() {
    let scene = Scene::new();
    let (first, second) = (branch(&scene, 7, "b.txt", "b\n"), branch(&scene, 8, "c.txt", "c\n"));
    let (commit, _) = done(merge(&scene, 7, &first, None));
    scene.git(&["worktree", "add", "--quiet", "../looking", "saihai/merge/main"]);
    let merged = merge(&scene, 8, &second, None);
    let path = scene.beside("looking");
    assert_eq!(merged, GitMergeOutcome::CheckedOut { branch: "saihai/merge/main".to_owned(), path });
    assert_eq!(scene.git(&["rev-parse", "saihai/merge/main"]), commit);
}

#[test]
fn a_conflict_lists_its_files_and_moves_nothing() {
    let scene = Scene::new();
    let commit = branch(&scene, 7, "a.txt", "theirs\n");
    scene.made.write("a.txt", "ours\n").commit("ours");
    let (before, refs) = (checkout(&scene), scene.git(&["for-each-ref"]));
    let into = scene.git(&["rev-parse", "main"]);
    assert_eq!(
        merge(&scene, 7, &commit, None),
        GitMergeOutcome::Conflict { files: vec!["a.txt".into()], into }
    );
    assert_eq!((checkout(&scene), scene.git(&["for-each-ref"])), (before, refs));
}

// I-63
#[test]
fn two_branches_that_break_together_do_not_both_land() {
    let scene = Scene::new();
    let (first, second) = (branch(&scene, 7, "b.txt", "b\n"), branch(&scene, 8, "c.txt", "c\n"));
    scene.git(&["switch", "--quiet", "--detach"]);
    let mut places = Vec::new();
    let mut verify = |directory: &Path| {
        places.push(directory.to_owned());
        assert_eq!(git(directory, &["status", "--porcelain"]), "");
        !(directory.join("b.txt").exists() && directory.join("c.txt").exists())
    };
    done(merge(&scene, 7, &first, Some(&mut verify)));
    let main = scene.git(&["rev-parse", "main"]);
    assert_eq!(merge(&scene, 8, &second, Some(&mut verify)), GitMergeOutcome::NotVerified);
    assert_eq!(scene.git(&["rev-parse", "main"]), main);
    assert_eq!(places.len(), 2);
    assert!(
        places.iter().all(|place| !place.starts_with(scene.made.root()) && !place.exists()),
        "{places:?}"
    );
    // The worktrees of the user and of the two items.
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 3);
}

#[test]
fn a_base_that_moves_while_a_merge_is_verified_is_not_overwritten() {
    let scene = Scene::new();
    let commit = branch(&scene, 7, "b.txt", "b\n");
    scene.git(&["switch", "--quiet", "--detach"]);
    let later = scene.git(&["commit-tree", "main^{tree}", "-p", "main", "-m", "meanwhile"]);
    let mut verify = |_: &Path| {
        scene.git(&["update-ref", "refs/heads/main", &later]);
        true
    };
    assert_eq!(merge(&scene, 7, &commit, Some(&mut verify)), GitMergeOutcome::Moved);
    assert_eq!(scene.git(&["rev-parse", "main"]), later);
}

// I-63
#[test]
fn one_merge_at_a_time_goes_into_a_base() {
    let scene = Scene::new();
    let (first, second) = (branch(&scene, 7, "b.txt", "b\n"), branch(&scene, 8, "c.txt", "c\n"));
    let mut meanwhile = None;
    let mut verify = |_: &Path| {
        meanwhile = Some(merge_now(&scene, 8, &second, None));
        true
    };
    done(merge(&scene, 7, &first, Some(&mut verify)));
    let lock = scene.made.root().join(".git/saihai/merge-6d61696e.lock");
    assert_eq!(meanwhile, Some(GitMergeOutcome::Busy { lock }));
    done(merge(&scene, 8, &second, None));
}

// I-29
#[test]
fn a_merge_that_an_agent_made_says_nothing_about_what_has_landed() {
    let scene = Scene::new();
    let work = branch(&scene, 7, "b.txt", "new\n");
    // The agent forges our merge message on its own branch.
    let forged = "Merge feature/issue-9 into main\n\nAll\n\nSaihai-Issue: 9\nSaihai-Run: a-run\n";
    let tree = format!("{work}^{{tree}}");
    let forged = scene.git(&["commit-tree", &tree, "-p", &work, "-p", "main", "-m", forged]);
    scene.git(&["update-ref", "refs/heads/feature/issue-7", &forged]);
    let landed = |scene: &Scene| {
        let landed = scene.repository().landed("main").unwrap();
        [7, 9].map(|number| scene.repository().has_landed(&item(number), &landed).unwrap())
    };
    assert_eq!(landed(&scene), [false, false]);
    done(merge(&scene, 7, &forged, None));
    assert_eq!(landed(&scene), [true, false], "beside the base");
    scene.made.write("mine.txt", "mine\n").commit("meanwhile");
    scene.git(&["merge", "--quiet", "--no-edit", "saihai/merge/main"]);
    scene.git(&["branch", "--quiet", "-D", "saihai/merge/main"]);
    assert_eq!(landed(&scene), [true, false], "taken in by a merge of the person's own");
}

//! Branches and worktrees of items: created, found or refused.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::tests::*;

#[track_caller]
fn refusal(scene: &Scene, ours: BranchOwnership) -> String {
    match scene.try_place(7, ours).unwrap() {
        PlaceItemOutcome::Refused(refusal) => {
            refusal.to_string().replace(&scene.made.root().display().to_string(), "ROOT")
        }
        placed @ (PlaceItemOutcome::Created(_)
        | PlaceItemOutcome::Continued(_)
        | PlaceItemOutcome::Recreated(_)) => panic!("{placed:?}"),
    }
}

#[test]
fn an_item_gets_one_branch_and_one_worktree_however_often_it_is_asked_for() {
    let scene = Scene::new();
    let PlaceItemOutcome::Created(worktree) = scene.try_place(123, BranchOwnership::ByTrailers).unwrap()
    else {
        panic!()
    };
    assert_eq!(worktree.path(), scene.made.root().join(".worktrees/issue-123"));
    assert_eq!(fs::read_to_string(worktree.path().join("a.txt")).unwrap(), "one\n");
    assert_eq!(git(worktree.path(), &["status", "--porcelain", "--branch"]), "## feature/issue-123");
    for _ in 0..2 {
        let placed = scene.try_place(123, BranchOwnership::ByJournal).unwrap();
        assert_eq!(placed, PlaceItemOutcome::Continued(worktree.clone()));
    }
    assert_eq!(
        scene.git(&["for-each-ref", "--format=%(refname)"]),
        "refs/heads/feature/issue-123\nrefs/heads/main"
    );
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 2);
}

#[test]
fn a_branch_that_is_not_ours_is_refused_and_can_be_adopted() {
    let scene = Scene::new();
    scene.git(&["branch", "feature/issue-7"]);
    insta::assert_snapshot!(refusal(&scene, BranchOwnership::ByTrailers), @"branch `feature/issue-7` exists, but Saihai did not create it");
    assert!(!scene.made.root().join(".worktrees/issue-7").exists());
    let placed = scene.try_place(7, BranchOwnership::Adopted).unwrap();
    assert!(matches!(placed, PlaceItemOutcome::Recreated(_)), "{placed:?}");
}

#[test]
fn a_branch_is_ours_by_the_last_lines_of_its_commits() {
    let scene = Scene::new();
    let message = |item: &WorkItem| item.message("a title", "a-run");
    for (item, expected) in [
        (item(7), None),
        (of(7, WorkItemSource::Folder), Some("belongs to another issue of that number")),
        (item(70), Some("exists, but Saihai did not create it")),
    ] {
        scene.git(&["switch", "--quiet", "-c", "feature/issue-7"]);
        scene.git(&["commit", "--quiet", "--allow-empty", "-m", &message(&item)]);
        scene.git(&["switch", "--quiet", "main"]);
        match (scene.try_place(7, BranchOwnership::ByTrailers).unwrap(), expected) {
            (PlaceItemOutcome::Recreated(worktree), None) => {
                scene.git(&["worktree", "remove", &worktree.path().display().to_string()]);
            }
            (PlaceItemOutcome::Refused(refusal), Some(expected)) => {
                assert!(refusal.to_string().ends_with(expected), "{refusal}");
            }
            other => panic!("{other:?}"),
        }
        scene.git(&["branch", "-D", "feature/issue-7"]);
    }
}

#[test]
fn whatever_is_where_the_worktree_would_be_stays() {
    let scene = Scene::new();
    let path = scene.made.root().join(".worktrees/issue-7");
    write(&path.join("file"), "mine");
    insta::assert_snapshot!(refusal(&scene, BranchOwnership::Adopted), @"`ROOT/.worktrees/issue-7` exists and is not a worktree of Saihai; move it away");
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "mine");
    fs::remove_dir_all(&path).unwrap();

    write(&path, "a file");
    insta::assert_snapshot!(refusal(&scene, BranchOwnership::Adopted), @"`ROOT/.worktrees/issue-7` exists and is not a worktree of Saihai; move it away");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file");
    fs::remove_file(&path).unwrap();

    symlink(scene.beside("home"), &path).unwrap();
    insta::assert_snapshot!(refusal(&scene, BranchOwnership::Adopted), @"`ROOT/.worktrees/issue-7` exists and is not a worktree of Saihai; move it away");
    assert!(path.is_symlink());
    fs::remove_file(&path).unwrap();

    scene.git(&["worktree", "add", "--quiet", "-b", "mine", ".worktrees/issue-7"]);
    insta::assert_snapshot!(refusal(&scene, BranchOwnership::ByTrailers), @"`ROOT/.worktrees/issue-7` exists and is not a worktree of Saihai; move it away");
    assert_eq!(git(&path, &["branch", "--show-current"]), "mine");
    assert_eq!(scene.git(&["branch", "--list", "feature/*"]), "");
}

#[test]
fn a_file_in_the_place_of_the_directory_of_worktrees_is_named() {
    let scene = Scene::new();
    scene.write("repository/README", "read\n");
    let repository = scene.repository();
    let said = |root: &str| {
        let error = repository.check_worktree_root(Path::new(root)).unwrap_err();
        assert_eq!(error.lasts(), RepositoryErrorDuration::UntilFixed);
        format!("{error}; {}", error.remedy().unwrap())
    };
    let expected = format!(
        "cannot create worktrees in `{}`: it is not a directory; set another `worktree_root` in `[work]`, or move the existing file away",
        repository.root().join("README").display()
    );
    assert_eq!((said("README"), said("README/below")), (expected.clone(), expected));
    repository.check_worktree_root(Path::new("nowhere/yet")).unwrap();
    assert_eq!(fs::read_to_string(scene.beside("repository/README")).unwrap(), "read\n");
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_said() {
    let scene = Scene::new();
    scene.git(&["switch", "--quiet", "-c", "feature/issue-7"]);
    insta::assert_snapshot!(refusal(&scene, BranchOwnership::ByJournal), @"branch `feature/issue-7` is checked out in `ROOT`");
}

// The setting `branch_prefix`: a valid name with no ref in the way
#[test]
fn a_branch_that_git_could_not_make_is_said_with_the_key_to_change() {
    let said = |scene: &Scene, prefix: &str| {
        let item =
            WorkItem::Issue { number: 7, source: WorkItemSource::Forge, branch_prefix: prefix.to_owned() };
        match scene.repository().check_branch(&item) {
            Ok(()) => "fine".to_owned(),
            Err(error) => format!("{error}; {}", error.remedy().unwrap()),
        }
    };
    let scene = Scene::new();
    for fine in ["feature/", "", "a/b/", "saihai-"] {
        assert_eq!(said(&scene, fine), "fine", "{fine}");
    }
    for bad in ["a b/", "/", "a//", "../", "x~1/", "-x/", ".x/", "x.lock/", "@{-1}/"] {
        let expected = format!(
            "`{bad}issue-7` is not a valid name of a branch; set another `branch_prefix` in `[work]`"
        );
        assert_eq!(said(&scene, bad), expected);
    }
    let remedy = "set another `branch_prefix` in `[work]`, or rename that branch";
    scene.git(&["branch", "feature"]);
    let above = format!("branch `feature` exists, so git cannot create `feature/issue-7`; {remedy}");
    assert_eq!(said(&scene, "feature/"), above);
    scene.git(&["branch", "-m", "feature", "feature/issue-7/more"]);
    let below =
        format!("branch `feature/issue-7/more` exists, so git cannot create `feature/issue-7`; {remedy}");
    assert_eq!(said(&scene, "feature/"), below);
    scene.git(&["branch", "-m", "feature/issue-7/more", "feature/issue-70"]);
    assert_eq!(said(&scene, "feature/"), "fine");
}

#[test]
fn a_worktree_whose_files_are_gone_is_made_again_and_its_lost_commits_are_kept() {
    let scene = Scene::new();
    let worktree = scene.place(7);
    git(worktree.path(), &["commit", "--quiet", "--allow-empty", "-m", "one"]);
    let lost = git(worktree.path(), &["rev-parse", "HEAD"]);
    git(worktree.path(), &["commit", "--quiet", "--allow-empty", "--amend", "-m", "two"]);
    let tip = git(worktree.path(), &["rev-parse", "HEAD"]);
    fs::remove_dir_all(worktree.path()).unwrap();
    let PlaceItemOutcome::Recreated(again) = scene.try_place(7, BranchOwnership::ByJournal).unwrap() else {
        panic!()
    };
    assert_eq!(git(again.path(), &["rev-parse", "HEAD"]), tip);
    assert_eq!(git(again.path(), &["status", "--porcelain"]), "");
    scene.git(&["merge-base", "--is-ancestor", &lost, "refs/saihai/rescue/issue-7/1"]);
}

#[test]
fn a_worktree_that_was_taken_away_comes_back_as_it_was_rescued() {
    let work = Work::new();
    work.write("a.txt", "two\n").write("new/b.txt", "b\n");
    let (worktree, base) = (&work.worktree, &work.base);
    let cleaning = CleanUpRequest { worktree, base, copied: &[], merged_into: &[] };
    work.repository.clean_up(cleaning, &work.lock).unwrap();
    let again = work.scene.place(7);
    assert_eq!(git(again.path(), &["status", "--porcelain"]), " M a.txt\n?? new/");
    assert_eq!(fs::read_to_string(again.path().join("new/b.txt")).unwrap(), "b\n");
    // Later commits take precedence.
    work.ready();
    fs::remove_dir_all(again.path()).unwrap();
    let again = work.scene.place(7);
    assert_eq!(git(again.path(), &["status", "--porcelain"]), "");
}

// I-36
#[test]
fn what_could_not_be_made_leaves_neither_branch_nor_directory() {
    let scene = Scene::new();
    // A required filter of the user fails.
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    scene.write("home/.gitconfig", &format!("{own}[filter \"own\"]\n\tsmudge = false\n\trequired\n"));
    scene.made.write(".gitattributes", "*.txt filter=own\n").commit("with a filter");
    let error = scene.try_place(7, BranchOwnership::ByJournal).unwrap_err();
    assert!(error.to_string().starts_with("`git read-tree` failed"), "{error}");
    assert!(!scene.made.root().join(".worktrees/issue-7").exists());
    assert_eq!(scene.git(&["branch", "--list", "feature/*"]), "");
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

// I-36: also if git itself fails to add it.
#[test]
fn a_worktree_that_git_does_not_add_leaves_neither_branch_nor_directory() {
    let scene = Scene::new();
    // Another git is about to create a branch of that name.
    scene.write("repository/.git/refs/heads/feature/issue-7.lock", "");
    let error = scene.try_place(7, BranchOwnership::ByJournal).unwrap_err();
    assert!(
        error.to_string().starts_with("git cannot change `refs/heads/feature/issue-7`: the lock file"),
        "{error}"
    );
    assert!(!scene.made.root().join(".worktrees/issue-7").exists());
    assert_eq!(scene.git(&["branch", "--list", "feature/*"]), "");
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    assert!(scene.beside("repository/.git/refs/heads/feature/issue-7.lock").exists());
}

// I-36: independent of the user's settings for new branches.
#[test]
fn a_branch_of_ours_follows_no_other() {
    let scene = Scene::new();
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    scene.write("home/.gitconfig", &format!("{own}[branch]\n\tautoSetupMerge = always\n"));
    scene.git(&["config", "branch.autoSetupMerge", "always"]);
    scene.git(&["branch", "--quiet", "like-any"]);
    assert_eq!(scene.git(&["config", "--get", "branch.like-any.merge"]), "refs/heads/main", "the control");
    let worktree = scene.place(7);
    assert_eq!(git(worktree.path(), &["branch", "--show-current"]), "feature/issue-7");
    assert_eq!(scene.git(&["for-each-ref", "--format=%(upstream)", "refs/heads/feature/issue-7"]), "");
}

// Runs record their paths as text.
#[test]
fn a_repository_at_a_path_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let scene = Scene::new();
    let path = scene.beside("x").with_file_name(std::ffi::OsStr::from_bytes(b"x\xff"));
    fs::create_dir(&path).unwrap();
    git(&path, &["init", "--quiet"]);
    let error = Repository::open(&path, &scene.environment()).unwrap_err();
    assert!(error.to_string().ends_with("is not UTF-8") && error.remedy().is_some(), "{error}");
}

// I-39
#[test]
fn names_of_every_kind_and_a_shallow_clone_work() {
    let scene = Scene::new();
    use std::os::unix::ffi::OsStrExt as _;
    let odd = [&b"with space"[..], b"line\nbreak", b"\xff\xfe", b"--option", b"'q\"uote"];
    for name in odd {
        fs::write(scene.made.root().join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
    }
    scene.made.commit("odd names");
    let from = format!("file://{}", scene.made.root().display());
    scene.git(&["clone", "--quiet", "--depth=1", &from, "../a shallow\nclone"]);
    let repository = Repository::open(&scene.beside("a shallow\nclone"), &scene.environment()).unwrap();
    let base = repository.base("main").unwrap();
    let placed = repository.place(PlaceItemRequest {
        item: &item(7),
        base: &base,
        worktree_root: Path::new("of mine"),
        copy_files: &[],
        ours: BranchOwnership::ByTrailers,
        refill: WorktreeContent::Rescue,
    });
    let PlaceItemOutcome::Created(worktree) = placed.unwrap() else { panic!() };
    for name in odd {
        assert_eq!(fs::read(worktree.path().join(std::ffi::OsStr::from_bytes(name))).unwrap(), name);
    }
    assert_eq!(git(worktree.path(), &["status", "--porcelain"]), "");
}

// I-39
#[test]
fn submodules_are_left_alone() {
    let scene = Scene::new();
    let inner = Scene::new();
    let from = inner.made.root().display().to_string();
    scene.git(&["submodule", "--quiet", "add", &from, "sub"]);
    scene.made.commit("with a submodule");
    let worktree = scene.place(7);
    assert_eq!(fs::read_dir(worktree.path().join("sub")).unwrap().count(), 0);
    assert_eq!(git(worktree.path(), &["status", "--porcelain"]), "");
}

fn place_with(scene: &Scene, copy_files: &[&str]) -> Result<PlaceItemOutcome, RepositoryError> {
    let repository = scene.repository();
    let copy_files: Vec<String> = copy_files.iter().map(|&path| path.to_owned()).collect();
    let base = repository.base("main").unwrap();
    repository.place(PlaceItemRequest {
        item: &item(7),
        base: &base,
        worktree_root: Path::new(".worktrees"),
        copy_files: &copy_files,
        ours: BranchOwnership::ByTrailers,
        refill: WorktreeContent::Rescue,
    })
}

#[test]
fn files_are_copied_into_a_new_worktree_for_its_owner_alone() {
    let scene = Scene::new();
    scene.made.write(".env", "KEY=1\n").write("conf/local.toml", "x = 1\n");
    let PlaceItemOutcome::Created(worktree) =
        place_with(&scene, &[".env", "conf/local.toml", "absent"]).unwrap()
    else {
        panic!()
    };
    for (path, text) in [(".env", "KEY=1\n"), ("conf/local.toml", "x = 1\n")] {
        let path = worktree.path().join(path);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(!worktree.path().join("absent").exists());
}

#[test]
fn files_that_may_not_be_copied_are_named_and_nothing_is_left() {
    let scene = Scene::new();
    scene.made.write("conf/x", "").write("conf/local.env", "");
    symlink("a.txt", scene.made.root().join("link")).unwrap();
    let check = |path: &str| {
        let error = place_with(&scene, &[path]).unwrap_err();
        assert!(!scene.made.root().join(".worktrees/issue-7").exists());
        error.to_string()
    };
    let spelled = ["conf//local.env", "conf/./local.env", "./conf/local.env", "conf/local.env/"];
    let wrong = ["a.txt", "../x", "/etc/passwd", ".git/config", "conf", "link", ""];
    let shown = wrong.into_iter().chain(spelled).map(check).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @r"
    `a.txt` cannot be copied into a worktree: git tracks it, so it is there already
    `../x` cannot be copied into a worktree: it is not inside the repository
    `/etc/passwd` cannot be copied into a worktree: it is not inside the repository
    `.git/config` cannot be copied into a worktree: it is the repository's own
    `conf` cannot be copied into a worktree: it is not a file
    `link` cannot be copied into a worktree: it is not a file
    `` cannot be copied into a worktree: it is empty
    `conf//local.env` cannot be copied into a worktree: git writes it without `.`, `//` and a `/` at the end
    `conf/./local.env` cannot be copied into a worktree: git writes it without `.`, `//` and a `/` at the end
    `./conf/local.env` cannot be copied into a worktree: git writes it without `.`, `//` and a `/` at the end
    `conf/local.env/` cannot be copied into a worktree: git writes it without `.`, `//` and a `/` at the end
    ");
}

#[test]
fn everything_that_is_wrong_with_files_to_copy_is_told_before_there_is_anything_to_copy_them_into() {
    let scene = Scene::new();
    scene.made.write(".env", "KEY=1\n");
    let repository = scene.repository();
    let commit = repository.base("main").unwrap().commit;
    let check = |paths: &[&str], commit: Option<&str>| {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        repository.check_copies(&paths, commit).map_err(|error| error.to_string())
    };
    assert_eq!(
        check(&[".env", "absent", "conf/absent"], Some(&commit)),
        Ok(vec!["absent".to_owned(), "conf/absent".to_owned()])
    );
    insta::assert_snapshot!(check(&["../x", ".env", "a.txt", "absent"], Some(&commit)).unwrap_err(), @"`../x` cannot be copied into a worktree: it is not inside the repository; `a.txt` cannot be copied into a worktree: git tracks it, so it is there already");
    // If the tracked files are unknown, a later check finds it.
    assert_eq!(check(&["a.txt"], None), Ok(Vec::new()));
}

// I-36, case 38: git fails if worktrees are added at the same time.
#[test]
fn twenty_worktrees_at_once_are_all_made_twenty_times() {
    for _ in 0..20 {
        let scene = Scene::new();
        let repository = scene.repository();
        let base = repository.base("main").unwrap();
        std::thread::scope(|scope| {
            for number in 1..=20 {
                let (repository, base) = (&repository, &base);
                scope.spawn(move || {
                    let placed = repository.place(PlaceItemRequest {
                        item: &item(number),
                        base,
                        worktree_root: Path::new(".worktrees"),
                        copy_files: &[],
                        ours: BranchOwnership::ByTrailers,
                        refill: WorktreeContent::Rescue,
                    });
                    let placed = placed.unwrap();
                    assert!(matches!(placed, PlaceItemOutcome::Created(_)), "{placed:?}");
                });
            }
        });
        assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 21);
        assert_eq!(scene.git(&["branch", "--list", "feature/*"]).lines().count(), 20);
    }
}

// I-47: work there would cost money and never be delivered.
#[test]
fn a_worktree_that_was_left_on_another_branch_says_so_and_how_to_put_it_right() {
    let work = Work::new();
    let off = || {
        let refusal = work.repository.off_its_branch(&work.worktree).unwrap();
        let root = work.scene.made.root().display().to_string();
        refusal.map(|refusal| refusal.to_string().replace(&root, "ROOT"))
    };
    assert_eq!(off(), None);
    work.git(&["switch", "--quiet", "--create", "mine"]);
    insta::assert_snapshot!(off().unwrap(), @"the worktree `ROOT/.worktrees/issue-7` is on `mine`, not on `feature/issue-7`; `git -C ROOT/.worktrees/issue-7 switch feature/issue-7` fixes it");
    work.git(&["switch", "--quiet", "--detach"]);
    insta::assert_snapshot!(off().unwrap(), @"the worktree `ROOT/.worktrees/issue-7` is on no branch, not on `feature/issue-7`; `git -C ROOT/.worktrees/issue-7 switch feature/issue-7` fixes it");
    // As the message says.
    work.git(&["switch", "--quiet", "feature/issue-7"]);
    assert_eq!(off(), None);
}

//! Locks of items, and files hidden from git.

use crate::tests::*;

fn take(scene: &Scene, number: u32) -> ItemLockAttempt {
    let clock = testing::BEGINNING;
    ItemLock::take(&scene.repository(), &item(number), "a-run", clock).unwrap()
}

#[test]
fn an_item_is_worked_on_by_one_process_which_says_who_it_is() {
    let scene = Scene::new();
    let held = lock(&scene.repository(), 4);
    match take(&scene, 4) {
        ItemLockAttempt::Ours(_) => panic!("two have it"),
        ItemLockAttempt::Elsewhere { process, run } => {
            assert_eq!((process, run.as_deref()), (Some(std::process::id()), Some("a-run")));
        }
    }
    // Another number is another item, even with the same first digits.
    lock(&scene.repository(), 42);
    held.check().unwrap();
    drop(held);
    lock(&scene.repository(), 4);
}

// I-32: an item is taken before the run exists, and its lock names the run afterwards.
#[test]
fn who_is_refused_is_told_of_the_run_and_who_only_looks_keeps_nobody_away() {
    let scene = Scene::new();
    let (repository, clock) = (scene.repository(), testing::BEGINNING);
    assert!(!ItemLock::is_taken(&repository, &item(4)).unwrap());
    let ItemLockAttempt::Ours(held) = ItemLock::take(&repository, &item(4), "", clock).unwrap() else {
        panic!()
    };
    assert!(ItemLock::is_taken(&repository, &item(4)).unwrap());
    assert!(!ItemLock::is_taken(&repository, &item(42)).unwrap());
    let run = || match take(&scene, 4) {
        ItemLockAttempt::Ours(_) => panic!("two have it"),
        ItemLockAttempt::Elsewhere { process, run } => (process == Some(std::process::id()), run),
    };
    assert_eq!(run(), (true, None));
    held.name_run("20260301-120000-issue-4", clock).unwrap();
    assert_eq!(run(), (true, Some("20260301-120000-issue-4".to_owned())));
    held.check().unwrap();
}

#[test]
fn who_stands_on_the_branch_of_an_issue_takes_its_lock() {
    let scene = Scene::new();
    let root = scene.beside("repository");
    let clock = testing::BEGINNING;
    let standing = |root: &Path| CheckedOutIssue::at(root, &scene.environment(), "feature/").unwrap();
    assert_eq!((standing(&root), standing(&scene.beside("home"))), (None, None));
    for other in ["feature/issue-07x", "feature/issue-0", "issue-4", "feature/issue-4/more"] {
        scene.git(&["switch", "--quiet", "-c", other]);
        assert_eq!(standing(&root), None, "{other}");
        scene.git(&["switch", "--quiet", "main"]);
        scene.git(&["branch", "--quiet", "-D", other]);
    }
    let elsewhere = scene.beside("else\nwhere");
    scene.git(&["worktree", "add", "--quiet", "-b", "feature/issue-4", elsewhere.to_str().unwrap()]);
    fs::create_dir(elsewhere.join("below")).unwrap();
    let found = standing(&elsewhere.join("below")).expect("one stands on it");
    assert_eq!(found.number().get(), 4);
    let held = lock(&scene.repository(), 4);
    assert!(matches!(found.take("another", clock).unwrap(), ItemLockAttempt::Elsewhere { .. }));
    drop(held);
    let held = found.take("another", clock).unwrap();
    assert!(matches!(take(&scene, 4), ItemLockAttempt::Elsewhere { run: Some(run), .. } if run == "another"));
    drop(held);
    scene.git(&["-C", elsewhere.to_str().unwrap(), "switch", "--quiet", "--detach"]);
    assert_eq!(standing(&elsewhere), None);
}

// An agent that outlives us does not hold the lock.
#[test]
fn a_program_that_is_started_meanwhile_does_not_hold_an_item() {
    let scene = Scene::new();
    let held = lock(&scene.repository(), 4);
    let mut program = Command::new("sleep").arg("600").spawn().unwrap();
    drop(held);
    let taken = take(&scene, 4);
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(matches!(taken, ItemLockAttempt::Ours(_)), "{taken:?}");
}

#[test]
fn an_item_is_one_in_every_checkout_of_its_repository() {
    let scene = Scene::new();
    scene.git(&["worktree", "add", "--quiet", "../other"]);
    let _lock = lock(&scene.repository(), 7);
    let other = Repository::open(&scene.beside("other"), &scene.environment()).unwrap();
    let clock = testing::BEGINNING;
    let taken = ItemLock::take(&other, &item(7), "other-run", clock).unwrap();
    assert!(matches!(taken, ItemLockAttempt::Elsewhere { .. }), "{taken:?}");
}

#[test]
fn a_lock_that_was_replaced_is_lost() {
    let scene = Scene::new();
    let held = lock(&scene.repository(), 7);
    let path = scene.beside("repository/.git/saihai/issue-7.lock");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    let shown = held.check().unwrap_err().to_string().replace(&path.display().to_string(), "LOCK");
    insta::assert_snapshot!(shown, @"lock-lost: `LOCK` was removed or replaced during the work on the item");
    lock(&scene.repository(), 7).check().unwrap();
}

#[test]
fn directories_of_ours_are_excluded_once_and_nothing_else_is_touched() {
    let scene = Scene::new();
    scene.write("repository/.git/info/exclude", "mine");
    let repository = scene.repository();
    let outside = scene.beside("elsewhere");
    let directories = [Path::new(".worktrees"), Path::new("odd [name]/"), &outside, Path::new("")];
    for _ in 0..2 {
        repository.exclude(&directories).unwrap();
    }
    let text = fs::read_to_string(scene.beside("repository/.git/info/exclude")).unwrap();
    insta::assert_snapshot!(text, @r"
    mine
    # Made by Saihai, which never looks at these itself:
    /.worktrees/
    /odd\ \[name\]/
    ");
    scene.write("repository/odd [name]/x", "").write("repository/.worktrees/issue-1/x", "");
    scene.write("repository/odd n/x", "");
    assert_eq!(scene.git(&["status", "--porcelain"]), "?? \"odd n/\"");
}

#[test]
fn fifty_who_exclude_at_once_write_one_rule() {
    let scene = Scene::new();
    let repository = scene.repository();
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| repository.exclude(&[Path::new(".worktrees")]).unwrap());
        }
    });
    let text = fs::read_to_string(scene.beside("repository/.git/info/exclude")).unwrap();
    assert_eq!(text.matches("/.worktrees/\n").count(), 1, "{text}");
}

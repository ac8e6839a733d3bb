//! Repositories that were moved or copied while their items were worked on.

use super::*;

/// Copies a repository with all that is in it, worktrees too.
fn copy(scene: &Scene) -> PathBuf {
    let copy = scene.beside("copy");
    let copied = Command::new("cp").arg("-a").arg(scene.made.root()).arg(&copy).status();
    assert!(copied.unwrap().success());
    copy
}

fn place_in(scene: &Scene, root: &Path, worktree_root: &Path) -> (Repository, Placed) {
    let repository = Repository::open(root, &scene.environment()).unwrap();
    let base = repository.base("main").unwrap();
    let placing = Placing {
        item: &item(7),
        base: &base,
        worktree_root,
        copy_files: &[],
        ours: Ours::ByJournal,
        refill: Refill::Rescue,
    };
    let placed = repository.place(placing).unwrap();
    (repository, placed)
}

/// Everything below a directory, with its content.
fn all_below(directory: &Path) -> Vec<u8> {
    let tar = Command::new("tar")
        .args(["--create", "--sort=name", "--file=-", "."])
        .current_dir(directory)
        .output();
    tar.unwrap().stdout
}

#[test]
fn a_copied_repository_works_in_the_worktree_that_was_copied_with_it() {
    let scene = Scene::new();
    write(&scene.place(7).path().join("new"), "new\n");
    let copy = copy(&scene);
    let before = all_below(scene.made.root());
    let (repository, placed) = place_in(&scene, &copy, Path::new(".worktrees"));
    let Placed::Continued(worktree) = placed else { panic!("{placed:?}") };
    assert_eq!(worktree.path(), copy.join(".worktrees/issue-7"));
    assert_eq!(fs::read_to_string(worktree.path().join("new")).unwrap(), "new\n");
    let common = git(worktree.path(), &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    assert_eq!(Path::new(&common), copy.join(".git"));
    assert_eq!(git(worktree.path(), &["status", "--porcelain", "--branch"]), "## feature/issue-7\n?? new");
    // What was begun at the first place and is asked for there is not ours, and nothing is removed there.
    assert_eq!(repository.worktree(&item(7), &scene.made.root().join(".worktrees")).unwrap(), None);
    assert_eq!(repository.linked().unwrap(), [worktree.path()]);
    assert_eq!(all_below(scene.made.root()), before);
}

#[test]
fn a_repository_that_was_copied_without_its_worktrees_makes_them_again() {
    let scene = Scene::new();
    let first = scene.place(7);
    write(&first.path().join("s"), "staged\n");
    git(first.path(), &["add", "s"]);
    let copy = copy(&scene);
    fs::remove_dir_all(copy.join(".worktrees")).unwrap();
    let before = all_below(scene.made.root());
    let (_, placed) = place_in(&scene, &copy, Path::new(".worktrees"));
    let Placed::Recreated(worktree) = placed else { panic!("{placed:?}") };
    assert_eq!(worktree.path(), copy.join(".worktrees/issue-7"));
    assert_eq!(git(&copy, &["worktree", "list"]).lines().count(), 2);
    // What its own list knew of is not lost.
    assert_eq!(git(&copy, &["show", "refs/saihai/rescue/issue-7/1^2:s"]), "staged");
    assert_eq!(all_below(scene.made.root()), before);
}

#[test]
fn a_copy_refuses_to_work_where_it_was_copied_from() {
    let scene = Scene::new();
    let first = scene.place(7);
    let copy = copy(&scene);
    let before = all_below(scene.made.root());
    let (repository, placed) = place_in(&scene, &copy, &scene.made.root().join(".worktrees"));
    assert_eq!(placed, Placed::Refused(Refusal::Occupied { path: first.path().to_owned() }));
    let elsewhere = |root: &Path, now: &Path| repository.begun_elsewhere(&item(7), root, now).unwrap();
    let (then, now) = (scene.made.root().join(".worktrees"), copy.join(".worktrees"));
    let refusal = Refusal::BegunElsewhere { path: first.path().to_owned() };
    assert_eq!(elsewhere(&then, &now), Some(refusal));
    assert_eq!(elsewhere(&now, &now), None);
    // By other settings, but in this repository; or by those of now.
    assert_eq!(elsewhere(&copy.join("others"), &now), None);
    assert_eq!(elsewhere(&scene.beside("trees"), &scene.beside("trees")), None);
    assert_eq!(all_below(scene.made.root()), before);
}

#[test]
fn a_moved_repository_finds_its_worktrees_again() {
    let scene = Scene::new();
    write(&scene.place(7).path().join("new"), "new\n");
    let (root, moved) = (scene.made.root().to_owned(), scene.beside("moved"));
    fs::rename(&root, &moved).unwrap();
    let (repository, placed) = place_in(&scene, &moved, Path::new(".worktrees"));
    let Placed::Continued(worktree) = placed else { panic!("{placed:?}") };
    assert_eq!(worktree.path(), moved.join(".worktrees/issue-7"));
    assert_eq!(git(worktree.path(), &["status", "--porcelain", "--branch"]), "## feature/issue-7\n?? new");
    let elsewhere = repository.begun_elsewhere(&item(7), &root.join(".worktrees"), Path::new(".worktrees"));
    assert!(matches!(elsewhere.unwrap(), Some(Refusal::BegunElsewhere { .. })));
    assert!(!root.exists());
}

// An agent can write any of these; nothing of another worktree comes to it by that.
#[test]
fn what_names_the_place_of_another_worktree_is_not_taken_for_it() {
    let scene = Scene::new();
    let (mine, other) = (scene.place(7), scene.place(8));
    let named = fs::read_to_string(other.path().join(".git")).unwrap();
    fs::write(mine.path().join(".git"), &named).unwrap();
    let listed = || fs::read_to_string(scene.beside("repository/.git/worktrees/issue-8/gitdir")).unwrap();
    let before = listed();
    scene.repository().take_back(mine.path()).unwrap();
    assert_eq!(listed(), before);
    fs::remove_dir_all(other.path()).unwrap();
    scene.repository().take_back(mine.path()).unwrap();
    assert_eq!(listed(), before);
}

//! Repositories that were moved or copied with the worktrees of their items.

use crate::tests::*;

fn place_in(scene: &Scene, root: &Path) -> (Repository, PlaceItemOutcome) {
    let repository = Repository::open(root, &scene.environment()).unwrap();
    let base = repository.base("main").unwrap();
    let placing = PlaceItemRequest {
        item: &item(7),
        base: &base,
        worktree_root: Path::new(".worktrees"),
        copy_files: &[],
        ours: BranchOwnership::ByJournal,
        refill: WorktreeContent::Rescue,
    };
    let placed = repository.place(placing).unwrap();
    (repository, placed)
}

#[test]
fn a_moved_repository_finds_its_worktrees_again() {
    let scene = Scene::new();
    write(&scene.place(7).path().join("new"), "new\n");
    let (root, moved) = (scene.made.root().to_owned(), scene.beside("moved"));
    fs::rename(&root, &moved).unwrap();
    let (repository, placed) = place_in(&scene, &moved);
    let PlaceItemOutcome::Continued(worktree) = placed else { panic!("{placed:?}") };
    assert_eq!(worktree.path(), moved.join(".worktrees/issue-7"));
    assert_eq!(git(worktree.path(), &["status", "--porcelain", "--branch"]), "## feature/issue-7\n?? new");
    let elsewhere = |root: &Path| {
        repository.begun_elsewhere(&item(7), &root.join(".worktrees"), Path::new(".worktrees")).unwrap()
    };
    assert!(matches!(elsewhere(&root), Some(PlaceItemRefusal::BegunElsewhere { .. })));
    assert_eq!(elsewhere(&moved), None);
    assert!(!root.exists());
}

// The copied list still names the worktrees of the original, which another run may use.
#[test]
fn a_copied_repository_leaves_the_worktrees_of_the_original_alone() {
    for copies_worktrees in [true, false] {
        let scene = Scene::new();
        let original = scene.place(7);
        write(&original.path().join("new"), "new\n");
        let copy = scene.beside("copy");
        assert!(Command::new("cp").arg("-a").arg(scene.made.root()).arg(&copy).status().unwrap().success());
        if !copies_worktrees {
            fs::remove_dir_all(copy.join(".worktrees")).unwrap();
        }
        let (repository, placed) = place_in(&scene, &copy);
        let worktree = placed.worktree().unwrap();
        assert_eq!(worktree.path(), copy.join(".worktrees/issue-7"));
        assert_eq!(worktree.path().join("new").exists(), copies_worktrees);
        assert_eq!(repository.linked().unwrap(), [worktree.path()]);
        assert_eq!(repository.worktree(&item(7), &scene.made.root().join(".worktrees")).unwrap(), None);
        let status = git(original.path(), &["status", "--porcelain", "--branch"]);
        assert_eq!(status, "## feature/issue-7\n?? new");
    }
}

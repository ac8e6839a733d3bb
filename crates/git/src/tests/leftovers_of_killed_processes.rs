//! Leftovers of killed processes and their removal.

use std::os::unix::fs::PermissionsExt as _;

use crate::private_git::TemporaryWorktree;
use crate::private_git::{TemporaryDirectory, TemporaryDirectoryKind};
use crate::tests::*;

/// Creates a directory as a killed process leaves it: its owner file is unlocked.
fn orphan(repository: &Repository, prefix: &str) -> PathBuf {
    let directory = tempfile::Builder::new().prefix(prefix).tempdir().unwrap().keep();
    write(&directory.join("saihai-owner"), &repository.common.display().to_string());
    write(&directory.join("objects/x"), "x");
    directory
}

#[test]
fn the_next_process_removes_the_leftovers_of_a_dead_one_in_the_same_repository() {
    let (scene, other) = (Scene::new(), Scene::new());
    let (repository, elsewhere) = (scene.repository(), other.repository());
    let (dead, foreign) = (orphan(&repository, "saihai-git-"), orphan(&elsewhere, "saihai-git-"));
    let merge = orphan(&repository, "saihai-merge-");
    let path = merge.canonicalize().unwrap().join("issue-7");
    scene.git(&["worktree", "add", "--quiet", "--detach", &path.display().to_string()]);
    // Only the list entry is left, as after a reboot.
    let gone = orphan(&repository, "saihai-merge-").canonicalize().unwrap();
    scene.git(&["worktree", "add", "--quiet", "--detach", &gone.join("issue-8").display().to_string()]);
    fs::remove_dir_all(&gone).unwrap();
    let unmarked = tempfile::Builder::new().prefix("saihai-git-").tempdir().unwrap();
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 3);
    scene.repository();
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!dead.exists() && !merge.exists());
    assert!(foreign.exists() && unmarked.path().exists(), "they are somebody else's");
    other.repository();
    assert!(!foreign.exists());
}

#[test]
fn what_a_living_process_holds_stays() {
    let scene = Scene::new();
    let repository = scene.repository();
    let commit = repository.base("main").unwrap().commit;
    let held = TemporaryDirectory::make(&repository, TemporaryDirectoryKind::Git).unwrap();
    let scratch = TemporaryWorktree::make(&repository, &item(7), &commit).unwrap();
    let worktree = scene.place(8);
    scene.repository();
    assert!(held.path().exists() && scratch.path().join("a.txt").exists() && worktree.path().exists());
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 3);
    let (held_at, scratch_at) = (held.path().to_owned(), scratch.path().to_owned());
    drop(held);
    scratch.remove().unwrap();
    assert!(!held_at.exists() && !scratch_at.exists());
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 2);
}

// The process was killed between creating and signing a directory, or before the last step of its removal.
#[test]
fn what_a_dead_process_has_not_signed_is_taken_away_at_once() {
    let scene = Scene::new();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    let dead = ended.id();
    ended.wait().unwrap();
    let make = |maker: &str| {
        let prefix = format!("saihai-git-{maker}-");
        let made =
            tempfile::Builder::new().prefix(&prefix).permissions(fs::Permissions::from_mode(0o700)).tempdir();
        made.unwrap().keep()
    };
    let orphan = make(&dead.to_string());
    let kept = [make(&std::process::id().to_string()), make("x"), make("0")];
    scene.repository();
    assert!(!orphan.exists());
    for kept in kept {
        assert!(kept.exists(), "{}", kept.display());
        fs::remove_dir_all(kept).unwrap();
    }
}

#[test]
fn what_has_no_mark_is_taken_away_once_nobody_can_be_at_it_any_more() {
    let scene = Scene::new();
    let make = |prefix: &str, name: &str, mode: u32, seconds: u64| {
        let mut made = tempfile::Builder::new();
        made.prefix(prefix).permissions(fs::Permissions::from_mode(mode));
        let made = if name.is_empty() { made.tempdir() } else { made.rand_bytes(0).suffix(name).tempdir() };
        let path = made.unwrap().keep();
        write(&path.join("objects/x"), "x");
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        fs::File::open(&path).unwrap().set_modified(then).unwrap();
        path
    };
    let own = format!("by-hand-{}", std::process::id());
    let (old, new) = (make("saihai-git-", "", 0o700, 7_200), make("saihai-git-", "", 0o700, 60));
    let merge = make("saihai-merge-", "", 0o700, 7_200);
    let persons = [make("saihai-git-", "", 0o755, 7_200), make("saihai-git-", &own, 0o700, 7_200)];
    scene.repository();
    assert!(!old.exists() && !merge.exists());
    for kept in persons.iter().chain([&new]) {
        assert!(kept.join("objects/x").exists(), "{}", kept.display());
        fs::remove_dir_all(kept).unwrap();
    }
}

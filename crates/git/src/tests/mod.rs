//! Repositories, users and agents for the tests.

mod agent_work_is_never_lost;
mod branch_name_conflicts;
mod clean_up;
mod commit_work;
mod copied_files;
mod follow_server_branch;
mod item_locks;
mod leftovers_of_killed_processes;
mod merge;
mod moved_repository;
mod open_repository;
mod place_worktree;
mod push;
mod reader_runs_no_code;
mod repository_runs_no_code;
mod sparse_checkout;
mod special_files;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::testing;
use crate::*;

/// A repository with a file and a commit, and a user with a name.
struct Scene {
    made: testing::Repository,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { made: testing::Repository::new() };
        scene.write("home/.gitconfig", "[user]\n\tname = U Ser\n\temail = user@example.com\n");
        scene.made.write("a.txt", "one\n").commit("first");
        scene
    }

    /// Returns a path next to the repository.
    fn beside(&self, path: &str) -> PathBuf {
        self.made.root().parent().unwrap().join(path)
    }

    /// Writes a file next to the repository. `repository/a.txt` is inside it.
    fn write(&self, path: &str, text: &str) -> &Self {
        write(&self.beside(path), text);
        self
    }

    fn environment(&self) -> GitEnvironment {
        self.environment_with(None)
    }

    fn environment_with(&self, more: Option<(&str, &str)>) -> GitEnvironment {
        let home = self.beside("home");
        let all = [
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("GIT_CONFIG_GLOBAL".into(), home.join(".gitconfig").into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            ("HOME".into(), home.into()),
        ];
        GitEnvironment::of(all.into_iter().chain(more.map(|(name, value)| (name.into(), value.into()))))
    }

    fn open(&self) -> Result<Repository, RepositoryError> {
        Repository::open(self.made.root(), &self.environment())
    }

    fn repository(&self) -> Repository {
        self.open().unwrap()
    }

    /// Runs git in the repository and returns its output.
    fn git(&self, arguments: &[&str]) -> String {
        git(self.made.root(), arguments)
    }

    fn place(&self, number: u32) -> Worktree {
        match self.try_place(number, BranchOwnership::ByJournal).unwrap() {
            PlaceItemOutcome::Created(worktree)
            | PlaceItemOutcome::Continued(worktree)
            | PlaceItemOutcome::Recreated(worktree) => worktree,
            PlaceItemOutcome::Refused(refusal) => panic!("{refusal}"),
        }
    }

    fn try_place(&self, number: u32, ours: BranchOwnership) -> Result<PlaceItemOutcome, RepositoryError> {
        let repository = self.repository();
        let base = repository.base("main")?;
        repository.place(PlaceItemRequest {
            item: &item(number),
            base: &base,
            worktree_root: Path::new(".worktrees"),
            copy_files: &[],
            ours,
            refill: WorktreeContent::Rescue,
        })
    }
}

/// An item with its worktree, locked by us.
struct Work {
    scene: Scene,
    repository: Repository,
    base: BaseCommit,
    worktree: Worktree,
    lock: ItemLock,
    copied: Vec<String>,
}

impl Work {
    fn new() -> Self {
        Self::on(Scene::new())
    }

    fn on(scene: Scene) -> Self {
        Self::with_copies(scene, &[])
    }

    fn with_copies(scene: Scene, copied: &[&str]) -> Self {
        let repository = scene.repository();
        let base = repository.base("main").unwrap();
        let copied: Vec<String> = copied.iter().map(|&path| path.to_owned()).collect();
        let placing = PlaceItemRequest {
            item: &item(7),
            base: &base,
            worktree_root: Path::new(".worktrees"),
            copy_files: &copied,
            ours: BranchOwnership::ByTrailers,
            refill: WorktreeContent::Rescue,
        };
        let PlaceItemOutcome::Created(worktree) = repository.place(placing).unwrap() else {
            panic!("it was there")
        };
        let lock = lock(&repository, 7);
        Self { scene, repository, base, worktree, lock, copied }
    }

    fn write(&self, path: &str, text: &str) -> &Self {
        write(&self.worktree.path().join(path), text);
        self
    }

    /// Runs git in the worktree and returns its output.
    fn git(&self, arguments: &[&str]) -> String {
        git(self.worktree.path(), arguments)
    }

    fn finalize(&self) -> CommitWorkOutcome {
        self.finalize_without(&[])
    }

    fn finalize_without(&self, secrets: &[&str]) -> CommitWorkOutcome {
        self.try_finalize(secrets).unwrap()
    }

    fn try_finalize(&self, secrets: &[&str]) -> Result<CommitWorkOutcome, RepositoryError> {
        let secrets: Vec<Vec<u8>> = secrets.iter().map(|secret| secret.as_bytes().to_vec()).collect();
        let finalizing = CommitWorkRequest {
            worktree: &self.worktree,
            base: &self.base,
            title: "Make it so",
            run: "a-run",
            copied: &self.copied,
            secrets: &secrets,
        };
        self.repository.finalize(finalizing, &self.lock)
    }

    #[track_caller]
    fn ready(&self) -> CommittedWork {
        match self.finalize() {
            CommitWorkOutcome::Ready(ready) => ready,
            other @ (CommitWorkOutcome::NoChanges
            | CommitWorkOutcome::Special { .. }
            | CommitWorkOutcome::Untaken { .. }
            | CommitWorkOutcome::Failed { .. }) => {
                panic!("{other:?}")
            }
        }
    }
}

/// Takes an item. Another test may be between fork and exec and hold every lock for that moment.
#[track_caller]
fn lock(repository: &Repository, number: u32) -> ItemLock {
    lock_of(repository, &item(number))
}

#[track_caller]
fn lock_of(repository: &Repository, item: &WorkItem) -> ItemLock {
    let clock = testing::BEGINNING;
    for _ in 0..1_000 {
        match ItemLock::take(repository, item, "a-run", clock).unwrap() {
            ItemLockAttempt::Ours(lock) => return lock,
            ItemLockAttempt::Elsewhere { .. } => {
                std::thread::park_timeout(std::time::Duration::from_millis(5))
            }
        }
    }
    panic!("somebody has {item:?}");
}

fn item(number: u32) -> WorkItem {
    of(number, WorkItemSource::Forge)
}

fn of(number: u32, source: WorkItemSource) -> WorkItem {
    WorkItem::Issue { number, source, branch_prefix: "feature/".to_owned() }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs git as a person or an agent would, and returns its output.
#[track_caller]
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

//! Continues a branch from another clone, in a shallow clone that starts after the branch.

use crate::tests::*;

/// A server, and a clone of it as in a CI job.
struct Jobs {
    scene: Scene,
    url: String,
}

impl Jobs {
    /// The first job has pushed the branch of issue 7. Then a commit was pushed to `main`.
    fn new() -> Self {
        let scene = Scene::new();
        scene.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../remote.git"]);
        let url = format!("file://{}", scene.beside("remote.git").display());
        scene.git(&["remote", "add", "origin", &url]);
        scene.git(&["commit", "--quiet", "--allow-empty", "-m", "second"]);
        let jobs = Self { scene, url };
        jobs.git(&["switch", "--quiet", "-c", "feature/issue-7"]);
        jobs.git(&["commit", "--quiet", "--allow-empty", "-m", &item(7).message("It", "a-run")]);
        jobs.git(&["switch", "--quiet", "main"]);
        jobs.git(&["commit", "--quiet", "--allow-empty", "-m", "meanwhile"]);
        jobs.git(&["push", "--quiet", "origin", "main", "feature/issue-7"]);
        jobs
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.scene.git(arguments)
    }

    /// Starts another job in a new clone.
    fn clone(&self, name: &str, flags: &[&str]) -> (Repository, PathBuf) {
        let path = self.scene.beside(name);
        let to = path.display().to_string();
        self.git(&[&["clone", "--quiet"][..], flags, &[&self.url, &to]].concat());
        (Repository::open(&path, &self.scene.environment()).unwrap(), path)
    }

    fn follow(&self, repository: &Repository) -> (BaseCommit, Option<PlaceItemRefusal>) {
        let base = repository.fetch(&self.url, "main", None).unwrap();
        let (item, url) = (item(7), self.url.as_str());
        let following = ServerBranchRequest {
            item: &item,
            base: &base,
            url,
            token: None,
            ours: BranchOwnership::ByTrailers,
        };
        let refusal = repository.follow(following).unwrap();
        (base, refusal)
    }
}

// I-34, I-39: a turn costs money only if the work can be handed over
#[test]
fn a_shallow_clone_is_completed_where_the_branch_began_before_it() {
    let jobs = Jobs::new();
    let (repository, clone) = jobs.clone("shallow", &["--depth=1"]);
    let is_shallow = || git(&clone, &["rev-parse", "--is-shallow-repository"]);
    assert_eq!(is_shallow(), "true");
    let (base, refusal) = jobs.follow(&repository);
    assert_eq!(refusal, None);
    assert_eq!(base.commit, jobs.git(&["rev-parse", "main"]));
    let forked = repository.forked(base, "feature/issue-7").unwrap();
    assert_eq!(forked.commit, jobs.git(&["rev-parse", "main~1"]), "where the branch began");
    assert_eq!(is_shallow(), "false");
    assert_eq!(git(&clone, &["log", "--format=%s"]), "meanwhile\nsecond\nfirst");
    git(&clone, &["fsck", "--strict"]);
}

#[test]
fn a_shallow_clone_that_has_no_use_for_more_stays_as_it_is() {
    let jobs = Jobs::new();
    let (repository, clone) = jobs.clone("deeper", &["--depth=2"]);
    let before = std::fs::read(clone.join(".git/shallow")).unwrap();
    assert_eq!(jobs.follow(&repository).1, None);
    assert_eq!(std::fs::read(clone.join(".git/shallow")).unwrap(), before);
    // The first job of an issue fetches nothing more.
    git(&jobs.scene.beside("remote.git"), &["update-ref", "-d", "refs/heads/feature/issue-7"]);
    let (repository, clone) = jobs.clone("first", &["--depth=1"]);
    let before = std::fs::read(clone.join(".git/shallow")).unwrap();
    assert_eq!(jobs.follow(&repository).1, None);
    assert_eq!(std::fs::read(clone.join(".git/shallow")).unwrap(), before);
}

#[test]
fn where_another_git_writes_it_the_clone_is_completed_later() {
    let jobs = Jobs::new();
    let (repository, clone) = jobs.clone("busy", &["--depth=1"]);
    let lock = clone.canonicalize().unwrap().join(".git/shallow.lock");
    write(&lock, "");
    let base = repository.fetch(&jobs.url, "main", None).unwrap();
    let (item, url) = (item(7), jobs.url.as_str());
    let following =
        ServerBranchRequest { item: &item, base: &base, url, token: None, ours: BranchOwnership::ByTrailers };
    let error = repository.follow(following).unwrap_err();
    let said = format!("another git process is working in this repository: `{}` exists", lock.display());
    assert_eq!((error.to_string(), error.lasts()), (said, RepositoryErrorDuration::AWhile));
    fs::remove_file(&lock).unwrap();
    assert_eq!(jobs.follow(&repository).1, None);
    assert!(!lock.exists());
}

impl Jobs {
    fn following<'a>(
        &'a self,
        item: &'a WorkItem,
        base: &'a BaseCommit,
        ours: BranchOwnership,
    ) -> ServerBranchRequest<'a> {
        ServerBranchRequest { item, base, url: &self.url, token: None, ours }
    }

    /// Squashes the branch into one commit on the server's `main`.
    fn squash(&self) {
        self.git(&["merge", "--quiet", "--squash", "feature/issue-7"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "squashed"]);
        self.git(&["push", "--quiet", "origin", "main"]);
    }

    fn remove_there(&self) {
        self.git(&["push", "--quiet", "origin", "--delete", "feature/issue-7"]);
    }
}

// I-72: work that starts at the base can be pushed only onto commits of the base.
#[test]
fn a_branch_that_was_squashed_is_set_aside_once_the_server_has_it_no_more() {
    let jobs = Jobs::new();
    jobs.squash();
    let (repository, item) = (jobs.scene.repository(), item(7));
    let base = repository.fetch(&jobs.url, "main", None).unwrap();
    let set_aside =
        || repository.set_aside(jobs.following(&item, &base, BranchOwnership::ByJournal)).unwrap();
    let old = jobs.git(&["rev-parse", "feature/issue-7"]);
    let (branch, url) = ("feature/issue-7".to_owned(), jobs.url.clone());
    assert_eq!(
        set_aside(),
        Some(PlaceItemRefusal::NotInBase { branch: branch.clone(), base: "main".to_owned(), url })
    );
    assert_eq!(jobs.git(&["rev-parse", "feature/issue-7"]), old, "nothing has happened");
    jobs.remove_there();
    // The branch is checked out in another worktree.
    let path = jobs.scene.beside("look");
    jobs.git(&["worktree", "add", "--quiet", &path.display().to_string(), &branch]);
    assert_eq!(
        set_aside(),
        Some(PlaceItemRefusal::CheckedOut { branch, path: path.canonicalize().unwrap() })
    );
    jobs.git(&["worktree", "remove", &path.display().to_string()]);
    assert_eq!(set_aside(), None);
    assert_eq!(repository.tip("refs/heads/feature/issue-7").unwrap(), None);
    assert_eq!(jobs.git(&["rev-parse", "refs/saihai/rescue/issue-7/1^1"]), old);
}

#[test]
fn a_merged_branch_starts_again_even_if_the_server_still_has_it() {
    let jobs = Jobs::new();
    jobs.git(&["merge", "--quiet", "--no-edit", "feature/issue-7"]);
    jobs.git(&["push", "--quiet", "origin", "main"]);
    let (repository, _) = jobs.clone("new", &["--depth=1"]);
    let (item, base) = (item(7), repository.fetch(&jobs.url, "main", None).unwrap());
    assert_eq!(
        repository.set_aside(jobs.following(&item, &base, BranchOwnership::ByTrailers)).unwrap(),
        None
    );
    let own = jobs.scene.repository();
    assert_eq!(own.set_aside(jobs.following(&item, &base, BranchOwnership::ByJournal)).unwrap(), None);
    assert_eq!(own.tip("refs/heads/feature/issue-7").unwrap(), None);
    assert_eq!(jobs.git(&["for-each-ref", "refs/saihai"]), "", "the base holds it");
}

// I-34: the user decides about a rewritten branch and gets the command to continue.
#[test]
fn a_branch_that_was_rewritten_elsewhere_is_refused_with_a_command() {
    let jobs = Jobs::new();
    let (_, clone) = jobs.clone("reviewer", &[]);
    git(&clone, &["switch", "--quiet", "feature/issue-7"]);
    git(&clone, &["commit", "--quiet", "--amend", "--allow-empty", "-m", "theirs"]);
    git(&clone, &["push", "--quiet", "--force", "origin", "feature/issue-7"]);
    let repository = jobs.scene.repository();
    let base = repository.fetch(&jobs.url, "main", None).unwrap();
    let item = item(7);
    let said = || {
        let refusal = repository.follow(jobs.following(&item, &base, BranchOwnership::ByJournal)).unwrap();
        refusal.unwrap().to_string().replace(&jobs.url, "URL")
    };
    insta::assert_snapshot!(said(), @"branch `feature/issue-7` has different commits here and on the server; to continue with the server's commits: `git fetch URL +feature/issue-7:feature/issue-7`; the commits here stay in `git reflog feature/issue-7`");
    jobs.git(&["switch", "--quiet", "feature/issue-7"]);
    let root = jobs.scene.made.root().canonicalize().unwrap().display().to_string();
    insta::assert_snapshot!(said().replace(&root, "ROOT"), @"branch `feature/issue-7` has different commits here and on the server; to continue with the server's commits: `git -C ROOT fetch URL feature/issue-7 && git -C ROOT reset --keep FETCH_HEAD`; the commits here stay in `git reflog feature/issue-7`");
}

// I-72: only finished work is pushed.
#[test]
fn a_branch_is_left_to_hand_over_where_it_ends_with_a_commit_of_ours_here_and_there() {
    let jobs = Jobs::new();
    let (repository, item) = (jobs.scene.repository(), item(7));
    let base = repository.fetch(&jobs.url, "main", None).unwrap();
    let check = |base: &BaseCommit, expected: bool| {
        assert_eq!(repository.is_pushed_by_us(&item, base, &jobs.url, None).unwrap(), expected);
    };
    check(&base, true);
    let tip = jobs.git(&["rev-parse", "feature/issue-7"]);
    check(&BaseCommit { commit: tip, ..base.clone() }, false);
    jobs.git(&["switch", "--quiet", "feature/issue-7"]);
    jobs.git(&["commit", "--quiet", "--allow-empty", "-m", "by somebody"]);
    jobs.git(&["push", "--quiet", "origin", "feature/issue-7"]);
    check(&base, false);
    jobs.git(&["commit", "--quiet", "--allow-empty", "-m", &item.message("It", "another-run")]);
    check(&base, false);
}

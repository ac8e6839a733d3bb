//! Going on with a branch that another clone pushed, from a clone that begins later than the branch does.

use super::*;

/// A server, and a clone of it as a job of a CI makes one.
struct Jobs {
    scene: Scene,
    url: String,
}

impl Jobs {
    /// The first job has pushed the branch of issue 7; then somebody has pushed to `main`.
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

    /// Another job, in a new clone.
    fn clone(&self, name: &str, flags: &[&str]) -> (Repository, PathBuf) {
        let path = self.scene.beside(name);
        let to = path.display().to_string();
        self.git(&[&["clone", "--quiet"][..], flags, &[&self.url, &to]].concat());
        (Repository::open(&path, &self.scene.environment()).unwrap(), path)
    }

    fn follow(&self, repository: &Repository) -> (Base, Option<Refusal>) {
        let base = repository.fetch(&self.url, "main", None).unwrap();
        let (item, url) = (item(7), self.url.as_str());
        let following = Following { item: &item, base: &base, url, token: None, ours: Ours::ByTrailers };
        let refusal = repository.follow(following).unwrap();
        (base, refusal)
    }
}

// I-34, I-39: a turn is paid for only where the work can be handed over
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
    // Nor does the first job of an issue ask for anything.
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
    let following = Following { item: &item, base: &base, url, token: None, ours: Ours::ByTrailers };
    let error = repository.follow(following).unwrap_err();
    let said = format!("another git process is working in this repository: `{}` exists", lock.display());
    assert_eq!((error.to_string(), error.lasts()), (said, Lasts::AWhile));
    fs::remove_file(&lock).unwrap();
    assert_eq!(jobs.follow(&repository).1, None);
    assert!(!lock.exists());
}

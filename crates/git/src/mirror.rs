//! The repositories of a worker: one bare mirror per address, worktrees of runs, and their work under way as commits.
//!
//! Work under way moves between machines as a ref, `refs/saihai/wip/RUN`. Each value contains the one before it. A push
//! names the value that it replaces, so of two machines that hold the same run one is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::git_program::{GitEnvironment, GitError, GitTerminalAccess, judge, output, run};

/// A bare repository with the commits of one address. Its configuration is written again before each use, because the
/// agents of its worktrees can change it.
#[derive(Debug, Clone)]
pub struct Mirror {
    directory: PathBuf,
    url: String,
    environment: GitEnvironment,
}

/// Work under way: the last commit of the branch, and a commit with all files on top of it. Without uncommitted files,
/// both are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRevision {
    /// The value of the ref.
    pub files: String,
    /// The commit that the agents see as HEAD.
    pub head: String,
}

/// A worktree of a mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorTree {
    path: PathBuf,
    /// The git directory that the mirror keeps for it.
    own: PathBuf,
}

/// The result of a push that names the value it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FencedPush {
    Done,
    /// The ref has another value: another machine holds the run.
    Refused {
        said: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot write `{}`: {source}", .path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// Git stores another repository as a bare commit name, so its files would be lost on the next machine.
    #[error("`{}` is a repository of its own; its files cannot move to another machine", .path.display())]
    Embedded { path: PathBuf },
}

/// The configuration of a mirror.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
/// Protocols that git may use.
const PROTOCOLS: &str = "https:ssh:file";
/// The author of commits that hold work under way. They never become part of a branch.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Saihai"),
    ("GIT_AUTHOR_EMAIL", "saihai@localhost"),
    ("GIT_COMMITTER_NAME", "Saihai"),
    ("GIT_COMMITTER_EMAIL", "saihai@localhost"),
];

/// Returns the ref with the work of a run that several machines work on.
pub fn work_reference(run: &str) -> String {
    format!("refs/saihai/wip/{run}")
}

impl Mirror {
    /// Opens the mirror of an address, and creates it if it is missing.
    pub fn open(directory: &Path, url: &str, environment: &GitEnvironment) -> Result<Self, MirrorError> {
        let mirror =
            Self { directory: directory.to_owned(), url: url.to_owned(), environment: environment.clone() };
        if !directory.join("HEAD").exists() {
            std::fs::create_dir_all(directory).map_err(file(directory))?;
            let mut git = environment.git();
            output(git.args(["init", "--quiet", "--bare", "--"]).arg(directory), "init")?;
        }
        Ok(mirror)
    }

    /// Fetches a ref of the address, unless the commit is here.
    pub fn fetch(&self, reference: &str, commit: &str) -> Result<(), MirrorError> {
        if self.has(commit)? {
            return Ok(());
        }
        let flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--"];
        let mut git = self.remote("fetch")?;
        output(git.args(flags).args([self.url.as_str(), reference]), "fetch")?;
        match self.has(commit)? {
            true => Ok(()),
            false => {
                let said = format!("`{reference}` does not contain {commit}");
                Err(GitError::refused("fetch", Some(&said)).into())
            }
        }
    }

    /// Makes a directory a worktree with the files of a revision. Ignored files of earlier work stay.
    pub fn tree_at(&self, path: &Path, revision: &WorkRevision) -> Result<MirrorTree, MirrorError> {
        let name = path.file_name().unwrap_or_default();
        let tree = MirrorTree { path: path.to_owned(), own: self.directory.join("worktrees").join(name) };
        // An agent can replace or remove either side; then both are made again.
        let is_linked = std::fs::read_to_string(path.join(".git"))
            .is_ok_and(|link| link.trim_end() == format!("gitdir: {}", tree.own.display()));
        if !(is_linked && tree.own.join("HEAD").is_file()) {
            for left in [path, &tree.own] {
                if left.symlink_metadata().is_ok() {
                    std::fs::remove_dir_all(left).map_err(file(left))?;
                }
            }
            let mut git = self.command("worktree")?;
            let flags = ["add", "--quiet", "--detach", "--force", "--"];
            output(git.args(flags).arg(path).arg(&revision.head), "worktree")?;
        }
        let lock = tree.own.join("index.lock");
        if lock.exists() {
            std::fs::remove_file(&lock).map_err(file(&lock))?;
        }
        let run = |command: &str, arguments: &[&str]| -> Result<(), MirrorError> {
            output(self.in_tree(&tree, command)?.args(arguments), command)?;
            Ok(())
        };
        run("checkout", &["--quiet", "--force", "--detach", &revision.files])?;
        run("clean", &["--quiet", "-ffd"])?;
        if revision.files != revision.head {
            run("reset", &["--quiet", "--mixed", &revision.head])?;
        }
        Ok(tree)
    }

    /// Stores the files of a worktree as a commit on top of its HEAD and the revision it began with. Returns that
    /// revision if nothing has changed.
    pub fn keep(
        &self,
        tree: &MirrorTree,
        began: &WorkRevision,
        run: &str,
    ) -> Result<WorkRevision, MirrorError> {
        let index = tree.own.join("saihai-index");
        let in_index = |command: &str| -> Result<Command, MirrorError> {
            let mut git = self.in_tree(tree, command)?;
            git.env("GIT_INDEX_FILE", &index);
            Ok(git)
        };
        let head = line(&output(self.in_tree(tree, "rev-parse")?.arg("HEAD^{commit}"), "rev-parse")?);
        output(in_index("read-tree")?.arg(&head), "read-tree")?;
        let before = self.links(&mut in_index("ls-files")?)?;
        output(in_index("add")?.args(["--all", "--", "."]), "add")?;
        if let Some(embedded) = self.links(&mut in_index("ls-files")?)?.difference(&before).next() {
            return Err(MirrorError::Embedded { path: embedded.into() });
        }
        let files = line(&output(&mut in_index("write-tree")?, "write-tree")?);
        let stored = |commit: &str| -> Result<String, MirrorError> {
            let named = format!("{commit}^{{tree}}");
            Ok(line(&output(self.command("rev-parse")?.arg(named), "rev-parse")?))
        };
        if head == began.head && files == stored(&began.files)? {
            return Ok(began.clone());
        }
        let said = format!("work under way of run {run}");
        let mut git = self.command("commit-tree")?;
        git.envs(AUTHOR).args(["-p", &head]);
        if began.files != head {
            git.args(["-p", &began.files]);
        }
        let commit = line(&output(git.args(["-m", &said, &files]), "commit-tree")?);
        Ok(WorkRevision { files: commit, head })
    }

    /// Pushes work under way, if the ref still has the value it began with.
    pub fn push(&self, reference: &str, commit: &str, began: &str) -> Result<FencedPush, MirrorError> {
        let mut git = self.remote("push")?;
        fenced_push(&mut git, &self.url, reference, commit, began)
    }

    /// Makes the ref a new commit with the files of a revision, whatever value it has. A machine that still holds an
    /// earlier value can no longer push.
    pub fn claim(&self, reference: &str, revision: &WorkRevision, run: &str) -> Result<String, MirrorError> {
        loop {
            let mut git = self.remote("ls-remote")?;
            let said = output(git.args(["--quiet", "--", self.url.as_str(), reference]), "ls-remote")?;
            let said = line(&said);
            let present = said.split('\t').next().unwrap_or_default().to_owned();
            let mut parents = vec![revision.files.clone()];
            if present != revision.files && !present.is_empty() {
                self.fetch(reference, &present)?;
                parents.push(present.clone());
            }
            let said = format!("run {run} continues here");
            let mut git = self.command("commit-tree")?;
            git.envs(AUTHOR);
            for parent in &parents {
                git.args(["-p", parent]);
            }
            git.args(["-m", &said, &format!("{}^{{tree}}", revision.files)]);
            let commit = line(&output(&mut git, "commit-tree")?);
            // The lost machine can push in between, once.
            if self.push(reference, &commit, &present)? == FencedPush::Done {
                return Ok(commit);
            }
        }
    }

    fn has(&self, commit: &str) -> Result<bool, MirrorError> {
        let mut git = self.command("cat-file")?;
        git.args(["-e", &format!("{commit}^{{commit}}")]);
        Ok(run(&mut git, "cat-file", None, GitTerminalAccess::Apart)?.status.success())
    }

    fn links(&self, git: &mut Command) -> Result<BTreeSet<String>, MirrorError> {
        let staged = output(git.args(["-z", "--stage"]), "ls-files")?;
        let staged = String::from_utf8_lossy(&staged).into_owned();
        let links = staged.split('\0').filter(|entry| entry.starts_with("160000 "));
        Ok(links.filter_map(|entry| entry.split_once('\t')).map(|(_, path)| path.to_owned()).collect())
    }

    fn command(&self, command: &str) -> Result<Command, MirrorError> {
        let config = self.directory.join("config");
        std::fs::write(&config, CONFIG).map_err(file(&config))?;
        let mut git = self.environment.git();
        git.current_dir(&self.directory).arg("--git-dir").arg(&self.directory).arg(command);
        Ok(git)
    }

    fn remote(&self, command: &str) -> Result<Command, MirrorError> {
        let mut git = self.command(command)?;
        git.env("GIT_ALLOW_PROTOCOL", PROTOCOLS).env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        Ok(git)
    }

    fn in_tree(&self, tree: &MirrorTree, command: &str) -> Result<Command, MirrorError> {
        let config = self.directory.join("config");
        std::fs::write(&config, CONFIG).map_err(file(&config))?;
        let mut git = self.environment.git();
        git.current_dir(&tree.path).env_remove("GIT_LITERAL_PATHSPECS");
        git.arg("--git-dir").arg(&tree.own).arg("--work-tree").arg(&tree.path).arg(command);
        Ok(git)
    }
}

impl MirrorTree {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Pushes a commit of a checkout to a new ref of an address, for machines that continue from it.
pub fn publish(
    checkout: &Path,
    url: &str,
    reference: &str,
    commit: &str,
    environment: &GitEnvironment,
) -> Result<FencedPush, MirrorError> {
    let mut git = environment.git();
    git.current_dir(checkout)
        .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
        .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    git.arg("push");
    fenced_push(&mut git, url, reference, commit, "")
}

/// Removes a ref of an address. Used for a run that was refused after its commit was published.
pub fn unpublish(
    checkout: &Path,
    url: &str,
    reference: &str,
    environment: &GitEnvironment,
) -> Result<(), MirrorError> {
    let mut git = environment.git();
    git.current_dir(checkout)
        .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
        .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    git.args(["push", "--quiet", "--no-verify", "--", url]).arg(format!(":{reference}"));
    output(&mut git, "push")?;
    Ok(())
}

fn fenced_push(
    git: &mut Command,
    url: &str,
    reference: &str,
    commit: &str,
    began: &str,
) -> Result<FencedPush, MirrorError> {
    let lease = format!("--force-with-lease={reference}:{began}");
    let refspec = format!("{commit}:{reference}");
    let flags = ["--porcelain", "--no-verify", "--no-signed", &lease, "--", url, &refspec];
    let pushed = run(git.args(flags), "push", None, GitTerminalAccess::Apart)?;
    // With `--porcelain`, git reports the fate of each ref as a line that begins with a mark.
    let report = String::from_utf8_lossy(&pushed.stdout).into_owned();
    if let Some(refused) = report.lines().find(|line| line.starts_with('!')) {
        return Ok(FencedPush::Refused { said: refused.trim_start_matches('!').trim().replace('\t', " ") });
    }
    judge(pushed, "push")?;
    Ok(FencedPush::Done)
}

fn line(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}

fn file(path: &Path) -> impl FnOnce(std::io::Error) -> MirrorError {
    let path = path.to_owned();
    move |source| MirrorError::File { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A repository of a person, the address that it publishes to, and a directory for the mirrors of workers.
    struct Setting {
        directory: tempfile::TempDir,
        person: crate::testing::Repository,
    }

    impl Setting {
        fn new() -> (Self, WorkRevision) {
            let setting =
                Self { directory: tempfile::tempdir().unwrap(), person: crate::testing::Repository::new() };
            let mut init = GitEnvironment::of_process().git();
            output(init.args(["init", "--quiet", "--bare"]).arg(setting.url()), "init").unwrap();
            setting.person.write("kept.txt", "kept\n").write(".gitignore", "cache/\n").commit("begin");
            let git = crate::Git::open(setting.person.root()).unwrap().unwrap();
            let base = git.commit("HEAD").unwrap().unwrap();
            let environment = GitEnvironment::of_process();
            let pushed =
                publish(setting.person.root(), &setting.url(), &work_reference("r"), &base, &environment);
            assert_eq!(pushed.unwrap(), FencedPush::Done);
            (setting, WorkRevision { files: base.clone(), head: base })
        }

        fn url(&self) -> String {
            self.directory.path().join("server.git").display().to_string()
        }

        fn worker(&self, name: &str, revision: &WorkRevision) -> (Mirror, MirrorTree) {
            let directory = self.directory.path().join(name);
            let mirror =
                Mirror::open(&directory.join("mirror"), &self.url(), &GitEnvironment::of_process()).unwrap();
            mirror.fetch(&work_reference("r"), &revision.files).unwrap();
            let tree = mirror.tree_at(&directory.join("r.1"), revision).unwrap();
            (mirror, tree)
        }
    }

    // D-8: any machine continues with the files of the one before it
    #[test]
    fn work_under_way_moves_to_another_machine_with_commits_and_uncommitted_files() {
        let (setting, base) = Setting::new();
        let (first, tree) = setting.worker("first", &base);
        fs::write(tree.path().join("new.txt"), "not committed\n").unwrap();
        fs::remove_file(tree.path().join("kept.txt")).unwrap();
        fs::create_dir(tree.path().join("cache")).unwrap();
        fs::write(tree.path().join("cache/large"), "ignored\n").unwrap();
        let kept = first.keep(&tree, &base, "r").unwrap();
        assert_eq!(kept.head, base.head);
        assert_eq!(first.push(&work_reference("r"), &kept.files, &base.files).unwrap(), FencedPush::Done);

        let (second, tree) = setting.worker("second", &kept);
        assert_eq!(fs::read_to_string(tree.path().join("new.txt")).unwrap(), "not committed\n");
        assert!(!tree.path().join("kept.txt").exists());
        assert!(!tree.path().join("cache").exists());
        let git = crate::Git::open(tree.path()).unwrap().unwrap();
        assert_eq!(git.commit("HEAD").unwrap(), Some(base.head.clone()));
        assert_eq!(git.uncommitted().unwrap(), ["kept.txt", "new.txt"]);
        assert_eq!(second.keep(&tree, &kept, "r").unwrap(), kept, "nothing has changed");
    }

    // D-T4: of two machines that hold the same revision, one push is refused
    #[test]
    fn a_push_over_the_work_of_another_machine_is_refused() {
        let (setting, base) = Setting::new();
        let (frozen, frozen_tree) = setting.worker("frozen", &base);
        let (other, other_tree) = setting.worker("other", &base);
        fs::write(frozen_tree.path().join("a"), "frozen\n").unwrap();
        fs::write(other_tree.path().join("a"), "other\n").unwrap();
        let reference = work_reference("r");
        let kept = other.keep(&other_tree, &base, "r").unwrap();
        assert_eq!(other.push(&reference, &kept.files, &base.files).unwrap(), FencedPush::Done);
        let late = frozen.keep(&frozen_tree, &base, "r").unwrap();
        let pushed = frozen.push(&reference, &late.files, &base.files).unwrap();
        assert!(matches!(&pushed, FencedPush::Refused { said } if said.contains("stale info")), "{pushed:?}");
    }

    // D-T4: the machine that claims the work wins, even over a push that came first
    #[test]
    fn a_claim_ends_the_rights_of_a_lost_machine() {
        let (setting, base) = Setting::new();
        let reference = work_reference("r");
        let (lost, lost_tree) = setting.worker("lost", &base);
        let (other, _) = setting.worker("other", &base);
        fs::write(lost_tree.path().join("a"), "lost\n").unwrap();
        let kept = lost.keep(&lost_tree, &base, "r").unwrap();
        lost.push(&reference, &kept.files, &base.files).unwrap();
        let claimed = other.claim(&reference, &base, "r").unwrap();
        let claimed = WorkRevision { files: claimed, head: base.head.clone() };
        let tree = other.tree_at(&setting.directory.path().join("other/r.2"), &claimed).unwrap();
        assert!(!tree.path().join("a").exists());
        assert_eq!(other.keep(&tree, &claimed, "r").unwrap(), claimed, "nothing has changed");
        fs::write(lost_tree.path().join("a"), "later\n").unwrap();
        let late = lost.keep(&lost_tree, &kept, "r").unwrap();
        let pushed = lost.push(&reference, &late.files, &kept.files).unwrap();
        assert!(matches!(pushed, FencedPush::Refused { .. }), "{pushed:?}");
    }

    #[test]
    fn a_worktree_that_an_agent_broke_is_made_again() {
        let (setting, base) = Setting::new();
        let (mirror, tree) = setting.worker("first", &base);
        fs::remove_file(tree.path().join(".git")).unwrap();
        fs::write(tree.path().join("left"), "left\n").unwrap();
        let tree = mirror.tree_at(tree.path(), &base).unwrap();
        assert!(!tree.path().join("left").exists());
        assert_eq!(fs::read_to_string(tree.path().join("kept.txt")).unwrap(), "kept\n");
    }

    #[test]
    fn a_repository_inside_the_files_is_refused_by_name() {
        let (setting, base) = Setting::new();
        let (mirror, tree) = setting.worker("first", &base);
        let inner = tree.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let mut init = GitEnvironment::of_process().git();
        output(init.args(["init", "--quiet"]).arg(&inner), "init").unwrap();
        fs::write(inner.join("a"), "a\n").unwrap();
        for arguments in [vec!["add", "a"], vec!["commit", "--quiet", "-m", "inner"]] {
            let mut git = GitEnvironment::of_process().git();
            output(git.current_dir(&inner).args(&arguments).envs(AUTHOR), "git").unwrap();
        }
        let refused = mirror.keep(&tree, &base, "r").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`inner` is a repository of its own; its files cannot move to another machine"
        );
    }
}

//! The files of a worktree as a git tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::checkout::Copied;
use super::exclude::OWN_RULES;
use super::momentary::{Kind, Momentary};
use super::private::Private;
use super::{Error, Repository, Worktree, lists};
use crate::git;
use crate::git::command::{Seat, judge, run};

/// The files of a worktree as a git tree. It ignores the index of the worktree, because an agent may have
/// marked files there as unchanged or skipped.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    pub(super) private: Private<'a>,
    pub(super) tree: String,
    /// Other repositories among the files. The tree does not contain them.
    pub(super) embedded: Vec<PathBuf>,
    /// Filled submodules. The tree does not contain their files.
    pub(super) filled: Vec<PathBuf>,
    /// Pipes, sockets and devices in place of files. Git cannot store them, so the tree still has the files.
    pub(super) special: Vec<PathBuf>,
    /// Files that git skipped silently. The tree does not contain them.
    pub(super) untaken: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Files<'a> {
    /// All files that git does not ignore.
    Visible,
    /// Also ignored files, unless the `.gitignore` files of this commit or the user's own rules ignore them.
    Hidden(&'a str),
}

impl Repository {
    /// Stores the files of a worktree as objects, on top of a commit.
    pub(super) fn snapshot(
        &self,
        worktree: &Worktree,
        over: &str,
        copied: &[String],
        files: Files<'_>,
    ) -> Result<Snapshot<'_>, Error> {
        let private = Private::make(self, Some(worktree.path()))?;
        let copied = Copied::new(copied, &self.frozen);
        private.run("read-tree", [over])?;
        // A non-zero exit status only means that files differ.
        private.holds("update-index", ["-q", "--refresh"])?;
        let gitlinks = gitlinks(&private)?;
        let changed = private.run("ls-files", ["-z", "--modified", "--deleted"])?;
        let left_out = self.left_out(&private, worktree)?;
        let others = private.run("ls-files", ["-z", "--others", "--exclude-standard"])?;
        let hidden = match files {
            Files::Visible => Vec::new(),
            Files::Hidden(commit) => self.hidden(&private, commit, &copied)?,
        };
        let is_gitlink = |path: &[u8]| gitlinks.contains(path);
        // A tracked file was not copied, or an agent committed it. The check before delivery finds it.
        let others = lists::split(&others).filter(|path| !copied.holds(path));
        let paths: BTreeSet<&[u8]> = lists::split(&changed)
            .filter(|path| !left_out.contains(*path))
            .chain(others)
            .chain(lists::split(&hidden))
            .collect();
        let (embedded, paths): (Vec<&[u8]>, Vec<&[u8]>) =
            paths.into_iter().filter(|path| !is_gitlink(path)).partition(|path| path.ends_with(b"/"));
        let (special, paths): (Vec<&[u8]>, Vec<&[u8]>) =
            paths.into_iter().partition(|path| is_special(&worktree.path().join(lists::path(path))));
        let flags = ["--add", "--remove", "--replace", "-z", "--stdin"];
        private.feed("update-index", flags, &lists::join(paths)).map_err(Error::taking)?;
        // The worktree receives this index, so keep the marks for the next time.
        let marked = lists::join(left_out.iter().map(Vec::as_slice));
        private.feed("update-index", ["--skip-worktree", "-z", "--stdin"], &marked)?;
        let untaken = self.untaken(&private, worktree, &copied, files, &embedded)?;
        let tree = private.line("write-tree", [""; 0])?;
        let embedded = embedded.into_iter().map(|path| lists::path(path).to_owned()).collect();
        let special = special.into_iter().map(|path| lists::path(path).to_owned()).collect();
        let filled = gitlinks.iter().map(|path| lists::path(path).to_owned()).filter(|path| {
            std::fs::read_dir(worktree.path().join(path)).is_ok_and(|mut inner| inner.next().is_some())
        });
        Ok(Snapshot { embedded, filled: filled.collect(), special, untaken, private, tree })
    }

    /// Returns files that a sparse checkout leaves out according to the worktree's own index. They are
    /// missing, but not deleted.
    fn left_out(&self, private: &Private<'_>, worktree: &Worktree) -> Result<BTreeSet<Vec<u8>>, Error> {
        let missing = private.run("ls-files", ["-z", "--deleted"])?;
        if missing.is_empty() {
            return Ok(BTreeSet::new());
        }
        let marked = match self.own_index(worktree)?.run("ls-files", ["-z", "-t"]) {
            Ok(marked) => marked,
            // An unreadable index marks nothing.
            Err(Error::Git(git::Error::Refused { .. })) => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        let marked: BTreeSet<&[u8]> =
            lists::split(&marked).filter_map(|entry| entry.strip_prefix(b"S ")).collect();
        Ok(lists::split(&missing).filter(|path| marked.contains(path)).map(<[u8]>::to_vec).collect())
    }

    /// Returns ignored files that the rules of a commit would not ignore, and all ignored repositories.
    fn hidden(&self, private: &Private<'_>, commit: &str, copied: &Copied) -> Result<Vec<u8>, Error> {
        let ignored = private.run("ls-files", ["-z", "--others", "--ignored", "--exclude-standard"])?;
        let ignored: Vec<&[u8]> = lists::split(&ignored).filter(|path| !copied.holds(path)).collect();
        if ignored.is_empty() {
            return Ok(Vec::new());
        }
        let may_go = self.ignored_by(commit, &ignored)?;
        // The commits of an embedded repository may exist nowhere else, so ignore rules do not matter.
        let stays = |path: &&[u8]| path.ends_with(b"/") || !may_go.contains(*path);
        Ok(lists::join(ignored.into_iter().filter(stays)))
    }

    /// Returns the paths that the rules of a commit, the user's rules or our own rules ignore.
    pub(super) fn ignored_by(&self, commit: &str, paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, Error> {
        let scratch = Momentary::make(self, Kind::Git)?;
        let files = scratch.path().join("files");
        std::fs::create_dir(&files).map_err(Error::file("make", &files))?;
        let private = Private::make(self, Some(&files))?;
        // An agent may have added rules to `info/exclude`. Files that only they hide are rescued.
        private.write("info/exclude", OWN_RULES.as_bytes())?;
        private.run("read-tree", [commit])?;
        let tracked = private.run("ls-files", ["-z"])?;
        let is_rules = |path: &&[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(b".gitignore");
        let files = lists::join(lists::split(&tracked).filter(is_rules));
        private.feed("checkout-index", ["-z", "--stdin"], &files)?;
        private.ignored(paths)
    }
}

impl Private<'_> {
    /// Returns the paths that the rules among the files and the global rules ignore.
    pub(super) fn ignored(&self, paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, Error> {
        // Ask about a path inside an embedded repository, because git does not accept its trailing slash. The
        // leading `./` makes git read every argument as a path.
        let inside = |path: &[u8]| if path.ends_with(b"/") { &b"x"[..] } else { b"" };
        let asked: Vec<Vec<u8>> = paths.iter().map(|path| [b"./", *path, inside(path)].concat()).collect();
        let input = lists::join(asked.iter().map(Vec::as_slice));
        let mut git = self.command("check-ignore");
        // `check-ignore` refuses literal pathspecs, unlike other commands.
        git.env_remove("GIT_LITERAL_PATHSPECS").args(["-z", "--no-index", "--stdin"]);
        let output = run(&mut git, "check-ignore", Some(&input), Seat::Apart)?;
        // No path is ignored.
        if output.status.code() == Some(1) {
            return Ok(BTreeSet::new());
        }
        let said = judge(output, "check-ignore")?;
        let said: BTreeSet<&[u8]> = lists::split(&said).collect();
        let pairs = paths.iter().zip(&asked);
        Ok(pairs
            .filter(|(_, asked)| said.contains(asked.as_slice()))
            .map(|(path, _)| path.to_vec())
            .collect())
    }
}

fn is_special(path: &Path) -> bool {
    let is_known = |kind: std::fs::FileType| kind.is_file() || kind.is_dir() || kind.is_symlink();
    path.symlink_metadata().is_ok_and(|found| !is_known(found.file_type()))
}

fn gitlinks(private: &Private<'_>) -> Result<BTreeSet<Vec<u8>>, Error> {
    let staged = private.run("ls-files", ["-z", "--stage"])?;
    let gitlinks = lists::split(&staged).filter(|entry| entry.starts_with(b"160000 "));
    Ok(gitlinks
        .filter_map(|entry| entry.iter().position(|byte| *byte == b'\t').map(|tab| entry[tab + 1..].to_vec()))
        .collect())
}

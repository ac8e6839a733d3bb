//! Merging a branch into its base on this machine, without touching anybody's checkout, and which merges of ours a branch holds.

use std::path::{Path, PathBuf};

use super::momentary::Scratch;
use super::private::Private;
use super::refs::Seen;
use super::turnstile::Turnstile;
use super::{Base, Error, Item, ItemLock, Repository, lists};
use crate::git::command::{Seat, judge, run};

/// What is merged into what.
#[derive(Debug, Clone, Copy)]
pub struct Merging<'a> {
    pub item: &'a Item,
    /// The branch it began at.
    pub base: &'a str,
    /// The commit that a person or a setting has agreed to.
    pub commit: &'a str,
    /// The title of the issue, in one line.
    pub title: &'a str,
    pub run: &'a str,
}

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Done {
        commit: String,
        onto: Onto,
    },
    Already {
        onto: Onto,
    },
    /// It does not merge. Nothing was moved.
    Conflict {
        /// Files that differ on both sides.
        files: Vec<PathBuf>,
        /// What it was merged into: worth trying again once this or the branch has moved.
        into: String,
    },
    /// It merges, and does not work together. Nothing was moved.
    NotVerified,
    /// Somebody else merges into that branch just now.
    Busy {
        /// The lock that they have.
        lock: PathBuf,
    },
    /// The branch moved meanwhile. Nothing else was moved.
    Moved,
    /// The branch for merges is checked out, and does not move under its owner's feet either.
    CheckedOut {
        branch: String,
        path: PathBuf,
    },
}

/// Which branch holds a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Onto {
    Base,
    /// A branch beside it, because the base is checked out.
    Beside {
        branch: String,
    },
}

impl Onto {
    /// What is left for the person to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Base => None,
            Self::Beside { branch } => Some(format!("git merge --ff-only {branch}")),
        }
    }
}

/// Asked whether a merge works, in a directory with its files.
pub type Verify<'a> = &'a mut dyn FnMut(&Path) -> bool;

/// The branches a merge is about, as they were seen.
struct Targets {
    base: String,
    base_tip: String,
    beside: String,
    beside_tip: Option<String>,
}

enum Together {
    Tree(String),
    Conflict(Vec<PathBuf>),
}

impl Repository {
    /// Merges a commit into its base; if that is checked out, into a branch beside it.
    pub fn merge(
        &self,
        merging: Merging<'_>,
        verify: Option<Verify<'_>>,
        lock: &ItemLock,
    ) -> Result<Merged, Error> {
        let _one_at_a_time = match Turnstile::of_merging(self, merging.base)? {
            Ok(turnstile) => turnstile,
            Err(lock) => return Ok(Merged::Busy { lock }),
        };
        // What is verified may take an hour; what nobody can take in then is said before.
        self.check_merging(merging.base)?;
        let private = Private::make(self, None)?;
        let targets = match self.targets(&private, merging.base)? {
            Ok(targets) => targets,
            Err(checked_out) => return Ok(checked_out),
        };
        let start = match self.start(&private, &targets)? {
            Ok(start) => start,
            Err(files) => return Ok(Merged::Conflict { files, into: targets.base_tip }),
        };
        if self.contains(&private, &start, merging.commit)? {
            return Ok(Merged::Already { onto: targets.onto(self)? });
        }
        let tree = match self.together(&private, &start, merging.commit)? {
            Together::Tree(tree) => tree,
            Together::Conflict(files) => return Ok(Merged::Conflict { files, into: start }),
        };
        let commit = self.commit(&private, &tree, &[&start, merging.commit], &message(merging))?;
        if let Some(verify) = verify {
            let scratch = Scratch::make(self, merging.item, &commit)?;
            let works = verify(scratch.path());
            scratch.remove()?;
            if !works {
                return Ok(Merged::NotVerified);
            }
        }
        lock.check()?;
        self.land(&targets, commit)
    }

    /// What new work on a branch begins with: what it holds, and what was merged beside it because it is checked out (I-62).
    pub fn beginning(&self, branch: &str) -> Result<Base, Error> {
        let base = self.base(branch)?;
        let beside = Self::beside(branch);
        let beside_tip = self.tip_beside(branch)?;
        if beside_tip.is_none() {
            return Ok(base);
        }
        let private = Private::make(self, None)?;
        if let Some(tip) = &beside_tip
            && self.contains(&private, &base.commit, tip)?
        {
            // The person has taken it in: it has served its purpose, unless somebody stands on it.
            if self.checked_out(&beside)?.is_none() {
                self.remove_taken_in(&beside, tip)?;
            }
            return Ok(base);
        }
        let targets = Targets { base: branch.to_owned(), base_tip: base.commit.clone(), beside, beside_tip };
        match self.start(&private, &targets)? {
            Ok(commit) => Ok(Base { branch: base.branch, commit }),
            // Without what waits beside it, work could begin without what it depends on.
            Err(files) => Err(Error::Unmerged { branch: targets.base, beside: targets.beside, files }),
        }
    }

    /// The files in which two commits conflict.
    pub fn conflicts(&self, into: &str, commit: &str) -> Result<Vec<PathBuf>, Error> {
        match self.together(&Private::make(self, None)?, into, commit)? {
            Together::Tree(_) => Ok(Vec::new()),
            Together::Conflict(files) => Ok(files),
        }
    }

    /// Whether a branch, or what was merged beside it, holds a commit.
    pub fn has_merged(&self, branch: &str, commit: &str) -> Result<bool, Error> {
        let private = Private::make(self, None)?;
        for tip in
            [self.tip(&format!("refs/heads/{branch}"))?, self.tip_beside(branch)?].into_iter().flatten()
        {
            if self.contains(&private, &tip, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The branch beside a base that is checked out: it holds what was merged meanwhile, until a person takes it in.
    pub(super) fn beside(base: &str) -> String {
        format!("saihai/merge/{base}")
    }

    pub(super) fn tip_beside(&self, base: &str) -> Result<Option<String>, Error> {
        self.tip(&format!("refs/heads/{}", Self::beside(base)))
    }

    /// Whether the branch beside a base holds something that the base does not hold yet.
    pub fn waits_beside(&self, base: &str) -> Result<bool, Error> {
        let Some(beside) = self.tip_beside(base)? else { return Ok(false) };
        match self.tip(&format!("refs/heads/{base}"))? {
            Some(base) => Ok(!self.contains(&Private::make(self, None)?, &base, &beside)?),
            None => Ok(true),
        }
    }

    /// The base and the branch beside it, which is removed once the base has it.
    fn targets(&self, private: &Private<'_>, base: &str) -> Result<Result<Targets, Merged>, Error> {
        let base_tip = self.tip(&format!("refs/heads/{base}"))?;
        let base_tip = base_tip.ok_or_else(|| Error::NoBranch { branch: base.to_owned() })?;
        let beside = Self::beside(base);
        self.refuse_symbolic(base)?;
        self.refuse_symbolic(&beside)?;
        let mut beside_tip = self.tip_beside(base)?;
        if let Some(tip) = &beside_tip {
            if let Some(path) = self.checked_out(&beside)? {
                return Ok(Err(Merged::CheckedOut { branch: beside, path }));
            }
            if self.contains(private, &base_tip, tip)? {
                match self.remove_ref(&format!("refs/heads/{beside}"), tip) {
                    Ok(()) => beside_tip = None,
                    Err(Error::Moved { .. }) => return Ok(Err(Merged::Moved)),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Ok(Targets { base: base.to_owned(), base_tip, beside, beside_tip }))
    }

    /// Removes the branch beside a base that holds it. Whoever works on another issue may just have done that, and whatever else is in the
    /// way, the next one removes it.
    fn remove_taken_in(&self, beside: &str, tip: &str) -> Result<(), Error> {
        match self.remove_ref(&format!("refs/heads/{beside}"), tip) {
            Ok(())
            | Err(
                Error::Moved { .. } | Error::RefLocked { .. } | Error::Git(crate::git::Error::Refused { .. }),
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What is merged into: the base with everything that waits beside it; or the files in which those two conflict.
    fn start(&self, private: &Private<'_>, targets: &Targets) -> Result<Result<String, Vec<PathBuf>>, Error> {
        let Some(beside) = &targets.beside_tip else { return Ok(Ok(targets.base_tip.clone())) };
        if self.contains(private, beside, &targets.base_tip)? {
            return Ok(Ok(beside.clone()));
        }
        match self.together(private, beside, &targets.base_tip)? {
            Together::Tree(tree) => {
                let said = format!("Merge {} into {}\n", targets.base, targets.beside);
                self.commit(private, &tree, &[beside, &targets.base_tip], &said).map(Ok)
            }
            Together::Conflict(files) => Ok(Err(files)),
        }
    }

    fn together(&self, private: &Private<'_>, into: &str, commit: &str) -> Result<Together, Error> {
        let mut git = private.command("merge-tree");
        git.args(["--write-tree", "-z", "--name-only", "--no-messages", into, commit]);
        // How files of a kind are merged is what the branch says that they are merged into.
        git.envs([("GIT_ATTR_SOURCE", into)]);
        let output = run(&mut git, "merge-tree", None, Seat::Apart)?;
        if output.status.code() == Some(1) {
            let files = lists::split(&output.stdout).skip(1).map(|path| lists::path(path).to_owned());
            return Ok(Together::Conflict(files.collect()));
        }
        let said = judge(output, "merge-tree")?;
        let tree = lists::split(&said).next().unwrap_or_default();
        Ok(Together::Tree(String::from_utf8_lossy(tree).trim_end().to_owned()))
    }

    fn land(&self, targets: &Targets, commit: String) -> Result<Merged, Error> {
        let onto = targets.onto(self)?;
        let beside = format!("refs/heads/{}", targets.beside);
        let moved = match (&onto, &targets.beside_tip) {
            (Onto::Base, _) => {
                let base = format!("refs/heads/{}", targets.base);
                self.move_ref(&base, &commit, Seen::At(&targets.base_tip))
            }
            (Onto::Beside { .. }, Some(tip)) => self.move_ref(&beside, &commit, Seen::At(tip)),
            (Onto::Beside { .. }, None) => self.move_ref(&beside, &commit, Seen::Absent),
        };
        match moved {
            Ok(()) => {}
            Err(Error::Moved { .. }) => return Ok(Merged::Moved),
            Err(error) => return Err(error),
        }
        if let (Onto::Base, Some(tip)) = (&onto, &targets.beside_tip) {
            self.remove_taken_in(&targets.beside, tip)?;
        }
        Ok(Merged::Done { commit, onto })
    }
}

impl Targets {
    /// A branch that is checked out must not move under its owner's feet.
    fn onto(&self, repository: &Repository) -> Result<Onto, Error> {
        Ok(match repository.checked_out(&self.base)? {
            Some(_) => Onto::Beside { branch: self.beside.clone() },
            None => Onto::Base,
        })
    }
}

fn message(merging: Merging<'_>) -> String {
    let Merging { item, base, title, run, .. } = merging;
    format!("Merge {} into {base}\n\n{title}\n\n{}", item.branch(), item.trailers(run))
}

/// The merges of ours that a branch holds, or what waits beside it. For whoever has no journal of them: another checkout, or one
/// whose runs are gone.
#[derive(Debug, Clone, Default)]
pub struct Landed(Vec<Merge>);

#[derive(Debug, Clone)]
struct Merge {
    message: String,
    /// What the commits say that it brought.
    brought: String,
}

impl Repository {
    /// The merges of ours in a branch; none where there is no such branch. An agent can make a merge on its own branch and have it
    /// say whatever ours say. So only those count that continue the branch itself, or the one beside it that a person took in: what
    /// they brought is the agents'.
    pub fn landed(&self, branch: &str) -> Result<Landed, Error> {
        let beside = Self::beside(branch);
        let mut lines = Vec::new();
        for tip in [self.tip(&format!("refs/heads/{branch}"))?, self.tip_beside(branch)?] {
            lines.extend(tip.map(|tip| vec![tip]));
        }
        let mut merges = Vec::new();
        if lines.is_empty() {
            return Ok(Landed(merges));
        }
        let private = Private::make(self, None)?;
        while let Some(line) = lines.pop() {
            // The messages of a long history are many; only those that can matter are read.
            let matter = ["--grep=^Saihai-Issue: ", "--grep=saihai/merge/"];
            let only = ["-z", "--merges", "--first-parent", "--format=%H %B"].into_iter().chain(matter);
            let said = private.run("log", only.chain(line.iter().map(String::as_str)))?;
            let said = String::from_utf8_lossy(&said);
            for (commit, message) in said.split('\0').filter_map(|one| one.split_once(' ')) {
                let (theirs, before) = (format!("{commit}^2"), format!("{commit}^1"));
                if says_whose(message) {
                    let brought = private.run("log", ["-z", "--format=%B", &theirs, "--not", &before])?;
                    let brought = String::from_utf8_lossy(&brought).into_owned();
                    merges.push(Merge { message: message.to_owned(), brought });
                } else if message.lines().next().is_some_and(|subject| subject.contains(&beside)) {
                    lines.push(vec![theirs, format!("^{before}")]);
                }
            }
        }
        Ok(Landed(merges))
    }
}

fn says_whose(message: &str) -> bool {
    message.lines().any(|line| line.starts_with("Saihai-Issue: "))
}

impl Landed {
    /// Whether the work on an item is among it. An issue of the same number from elsewhere is another one, and where its number comes
    /// from is said by the commit that was made for it; an agent that commits everything itself leaves none.
    pub fn holds(&self, item: &Item) -> bool {
        let ours = self.0.iter().filter(|merge| item.made_for(&merge.message).is_some());
        let mut sources =
            ours.map(|merge| merge.brought.split('\0').find_map(|message| item.made_for(message)));
        sources.any(|source| source.is_none() || source == item.source())
    }
}

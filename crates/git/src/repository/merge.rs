//! Merges a branch into its base on this machine without touching a checkout, and finds our merges in a
//! branch.

use std::path::{Path, PathBuf};

use super::momentary::Scratch;
use super::private::Private;
use super::refs::Seen;
use super::turnstile::Turnstile;
use super::{Base, Error, Item, ItemLock, Repository, lists};
use crate::git::command::{Seat, judge, run};

#[derive(Debug, Clone, Copy)]
pub struct Merging<'a> {
    pub item: &'a Item,
    pub base: &'a str,
    pub commit: &'a str,
    /// The title of the issue, on one line.
    pub title: &'a str,
    pub run: &'a str,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Done {
        commit: String,
        onto: Onto,
    },
    Already {
        onto: Onto,
    },
    /// The merge has conflicts. Nothing has moved.
    Conflict {
        /// Files that differ on both sides.
        files: Vec<PathBuf>,
        /// The commit of the target. A retry makes sense once this or the branch has moved.
        into: String,
    },
    /// The verify command failed on the merged files. Nothing has moved.
    NotVerified,
    /// Another process merges into this branch now.
    Busy {
        /// The lock of that process.
        lock: PathBuf,
    },
    /// The branch moved in the meantime. Nothing else has moved.
    Moved,
    /// The merge branch is checked out, so it must not move either.
    CheckedOut {
        branch: String,
        path: PathBuf,
    },
}

/// The branch that holds a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Onto {
    Base,
    /// The merge branch, because the base is checked out.
    Beside {
        branch: String,
    },
}

impl Onto {
    /// Returns the remaining command for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Base => None,
            Self::Beside { branch } => Some(format!("git merge --ff-only {branch}")),
        }
    }
}

/// Verifies a merge in a directory with its files.
pub type Verify<'a> = &'a mut dyn FnMut(&Path) -> bool;

/// The branches of a merge and their commits when read.
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
    /// Merges a commit into its base. If the base is checked out, merges into the merge branch instead.
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
        // Verifying may take an hour, so report an impossible merge before it.
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

    /// Returns the start of new work on a branch: its commit and the merges that wait on its merge branch
    /// (I-62).
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
            // The user has merged the merge branch. Remove it unless it is checked out.
            if self.checked_out(&beside)?.is_none() {
                self.remove_taken_in(&beside, tip)?;
            }
            return Ok(base);
        }
        let targets = Targets { base: branch.to_owned(), base_tip: base.commit.clone(), beside, beside_tip };
        match self.start(&private, &targets)? {
            Ok(commit) => Ok(Base { branch: base.branch, commit }),
            // Without the waiting merges, new work could lack its dependencies.
            Err(files) => Err(Error::Unmerged { branch: targets.base, beside: targets.beside, files }),
        }
    }

    /// Returns the files in which two commits conflict.
    pub fn conflicts(&self, into: &str, commit: &str) -> Result<Vec<PathBuf>, Error> {
        match self.together(&Private::make(self, None)?, into, commit)? {
            Together::Tree(_) => Ok(Vec::new()),
            Together::Conflict(files) => Ok(files),
        }
    }

    /// Returns true if a branch or its merge branch contains a commit.
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

    /// Returns the name of the merge branch of a base. It holds our merges while the base is checked out,
    /// until the user merges it.
    pub(super) fn beside(base: &str) -> String {
        format!("saihai/merge/{base}")
    }

    pub(super) fn tip_beside(&self, base: &str) -> Result<Option<String>, Error> {
        self.tip(&format!("refs/heads/{}", Self::beside(base)))
    }

    /// Returns true if the merge branch has commits that the base lacks.
    pub fn waits_beside(&self, base: &str) -> Result<bool, Error> {
        let Some(beside) = self.tip_beside(base)? else { return Ok(false) };
        match self.tip(&format!("refs/heads/{base}"))? {
            Some(base) => Ok(!self.contains(&Private::make(self, None)?, &base, &beside)?),
            None => Ok(true),
        }
    }

    /// Reads the base and its merge branch. Removes the merge branch once the base contains it.
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

    /// Removes a merge branch that its base contains. Another process may have removed it just now. On any
    /// other obstacle, the next merge removes it.
    fn remove_taken_in(&self, beside: &str, tip: &str) -> Result<(), Error> {
        match self.remove_ref(&format!("refs/heads/{beside}"), tip) {
            Ok(())
            | Err(
                Error::Moved { .. } | Error::RefLocked { .. } | Error::Git(crate::git::Error::Refused { .. }),
            ) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the commit to merge into: the base with all waiting merges. Returns the conflicting files if
    /// those two conflict.
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
        // The target's attributes select the merge driver of a file.
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
    /// Selects the target. A checked-out branch must not move.
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

/// Our merges in a branch and its merge branch. For callers without a journal of them: another checkout, or
/// one whose runs are gone.
#[derive(Debug, Clone, Default)]
pub struct Landed(Vec<Merge>);

#[derive(Debug, Clone)]
struct Merge {
    message: String,
    /// The messages of the merged commits.
    brought: String,
}

impl Repository {
    /// Returns our merges in a branch, none if the branch is missing.
    ///
    /// An agent can create a merge on its own branch with a message like ours. So only merges on the
    /// first-parent line of the branch count, or of a merge branch that the user merged. The merged side
    /// belongs to the agents.
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
            // A long history has many messages, so read only the relevant ones.
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
    /// Returns true if the work on an item is among the merges. An issue with the same number from another
    /// source is another issue. Our own commit names the source; an agent that commits everything itself
    /// leaves no such commit.
    pub fn holds(&self, item: &Item) -> bool {
        let ours = self.0.iter().filter(|merge| item.made_for(&merge.message).is_some());
        let mut sources =
            ours.map(|merge| merge.brought.split('\0').find_map(|message| item.made_for(message)));
        sources.any(|source| source.is_none() || source == item.source())
    }
}

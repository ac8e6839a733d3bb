//! What all worktrees of a repository share and agents can change: configuration, hooks, attributes, and rules of what is ignored.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Error, Repository, regular};
use crate::git;
use crate::git::command::output;

/// What all worktrees share, as it is at some moment. Values are kept as hashes: they may be secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shared(BTreeMap<String, Entry>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    hash: String,
    executes: bool,
}

/// Something that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `config core.fsmonitor`, `hooks/pre-commit`, `info/attributes`
    pub name: String,
    /// Whether git may start a program because of it, or hide work from now on: then a person decides.
    pub executes: bool,
}

/// The rules of what is ignored in every worktree.
const EXCLUDE: &str = "info/exclude";
/// Sections whose keys start nothing.
const INERT_SECTIONS: [&str; 14] = [
    "user.",
    "author.",
    "committer.",
    "branch.",
    "color.",
    "advice.",
    "push.",
    "pull.",
    "fetch.",
    "rebase.",
    "status.",
    "log.",
    "apply.",
    "index.",
];
/// Keys of other sections that start nothing.
const INERT_KEYS: [&str; 19] = [
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.untrackedcache",
    "extensions.objectformat",
    "init.defaultbranch",
    "commit.gpgsign",
];

impl Repository {
    /// What all worktrees share now.
    pub fn shared(&self) -> Result<Shared, Error> {
        self.refuse_pipes(None)?;
        let mut shared = Shared::default();
        let mut files = vec![("config".to_owned(), self.common.join("config"))];
        files.push(("config.worktree".to_owned(), self.common.join("config.worktree")));
        for one in self.registered()? {
            if let Some(directory) = one.directory {
                let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
                files.push((format!("worktrees/{name}/config.worktree"), directory.join("config.worktree")));
                // That it is there: what its configuration says came or went with it.
                shared.add(format!("worktrees/{name}"), b"", false);
            }
        }
        for (name, path) in files {
            self.add_configuration(&mut shared, &name, &path)?;
        }
        add_hooks(&mut shared, &self.common.join("hooks"))?;
        if let Ok(attributes) = regular::read(&self.common.join("info/attributes")) {
            shared.add("info/attributes".to_owned(), &attributes, false);
        }
        // What it names would be committed for no issue any more. None says the same as an empty one.
        let exclude = regular::read(&self.common.join(EXCLUDE)).unwrap_or_default();
        shared.add(EXCLUDE.to_owned(), &exclude, true);
        Ok(shared)
    }

    fn add_configuration(&self, shared: &mut Shared, name: &str, path: &Path) -> Result<(), Error> {
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let mut git = self.registry("config");
        git.arg("--file").arg(path).args(["--no-includes", "--null", "--list"]);
        let said = match output(&mut git, "config") {
            Ok(said) => said,
            Err(git::Error::Refused { said, .. }) => {
                shared.add(format!("{name} (unreadable)"), said.as_bytes(), true);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let mut values: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
        for entry in super::lists::split(&said) {
            let end = entry.iter().position(|byte| *byte == b'\n').unwrap_or(entry.len());
            let all = values.entry(&entry[..end]).or_default();
            all.extend_from_slice(&entry[end..]);
        }
        for (key, all) in values {
            let key = String::from_utf8_lossy(key);
            shared.add(format!("{name} {key}"), &all, executes(&key));
        }
        Ok(())
    }
}

impl Shared {
    /// What is not as it was.
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let is_new = |name: &&String| !self.0.contains_key(*name);
        // It is always written down, but for what was begun before it was looked at.
        let names = self.0.keys().chain(later.0.keys().filter(is_new).filter(|name| *name != EXCLUDE));
        let differs = names
            .filter(|name| self.0.get(*name) != later.0.get(*name))
            .filter(|name| !is_worktree(name) && !self.is_of_a_worktree(later, name));
        let mut changes: Vec<Change> = differs
            .map(|name| {
                // What is gone may have kept something else from being started.
                let executes = later.0.get(name).or(self.0.get(name)).is_some_and(|entry| entry.executes);
                Change { name: name.clone(), executes }
            })
            .collect();
        changes.sort_by(|one, other| one.name.cmp(&other.name));
        changes
    }

    /// Whether something came with a worktree that was made, or went with one that was removed. Git gives a new one what
    /// `config.worktree` of the repository says.
    fn is_of_a_worktree(&self, later: &Self, name: &str) -> bool {
        let Some((worktree, key)) = name.split_once("/config.worktree ").filter(|(of, _)| is_worktree(of))
        else {
            return false;
        };
        match (self.0.contains_key(worktree), later.0.contains_key(worktree)) {
            (_, false) => true,
            (false, true) => later.0.get(name) == self.0.get(&format!("config.worktree {key}")),
            (true, true) => false,
        }
    }

    fn add(&mut self, name: String, bytes: &[u8], executes: bool) {
        let hash = Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.0.insert(name, Entry { hash, executes });
    }
}

/// Whether a name is that of a worktree, and not of something in it.
fn is_worktree(name: &str) -> bool {
    name.strip_prefix("worktrees/").is_some_and(|inner| !inner.contains('/'))
}

/// Whether git may start a program because of a key. What is not known to be harmless may.
fn executes(key: &str) -> bool {
    if let Some((_, name)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.')) {
        return match name {
            "fetch" | "push" | "tagopt" | "prune" | "mirror" => false,
            // Where everything is sent from now on is for a person to say, whoever it is.
            _ => true,
        };
    }
    // A description of a branch is text, as is everything else about one.
    !INERT_KEYS.contains(&key) && !INERT_SECTIONS.iter().any(|section| key.starts_with(section))
}

fn add_hooks(shared: &mut Shared, directory: &Path) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(Error::file("read", directory))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".sample") {
            continue;
        }
        let content = regular::read(&path).unwrap_or_default();
        let is_program = std::fs::metadata(&path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
        shared.add(format!("hooks/{name}"), &[&content[..], &[u8::from(is_program)]].concat(), is_program);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_can_start_a_program_are_told_from_those_that_cannot() {
        for key in ["user.name", "branch.main.merge", "core.autocrlf", "remote.origin.fetch"] {
            assert!(!executes(key), "{key}");
        }
        for key in [
            "core.fsmonitor",
            "core.hookspath",
            "core.sshcommand",
            "filter.x.clean",
            "diff.external",
            "diff.x.textconv",
            "merge.x.driver",
            "alias.st",
            "include.path",
            "includeif.gitdir:x.path",
            "credential.helper",
            "gpg.program",
            "submodule.x.update",
            "remote.origin.uploadpack",
            "remote.origin.url",
            "remote.origin.pushurl",
            "url.ext::x.insteadof",
            "something.new",
        ] {
            assert!(executes(key), "{key}");
        }
    }
}

//! What all worktrees of a repository share and agents can change: configuration, hooks, attributes, rules of what is ignored, what stands
//! in the place of other objects, and the repositories of submodules.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::frozen::at_home;
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
    /// Whether git may start a program because of it, hide work from now on, or show something else than there is: then a person decides.
    pub executes: bool,
}

/// The rules of what is ignored in every worktree.
const EXCLUDE: &str = "info/exclude";
/// Other parents for commits.
const GRAFTS: &str = "info/grafts";
/// What says that more was looked at than configuration, hooks and rules of the repository itself.
const REACHED: &str = "reached";
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
        shared.add(REACHED.to_owned(), b"", false);
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
        add_hooks(&mut shared, "hooks", &self.common.join("hooks"))?;
        if let Some(hooks) = self.frozen.hooks.as_ref().filter(|named| **named != self.common.join("hooks")) {
            add_hooks(&mut shared, &named(&self.root, hooks), hooks)?;
        }
        for (name, directory) in modules(&self.common) {
            add_hooks(&mut shared, &format!("{name}/hooks"), &directory.join("hooks"))?;
            files.push((format!("{name}/config"), directory.join("config")));
        }
        let mut seen = BTreeSet::new();
        while let Some((name, path)) = files.pop() {
            let included = self.add_configuration(&mut shared, &name, &path)?;
            let new = included.into_iter().filter(|path| seen.insert(path.clone()));
            files.extend(new.map(|path| (named(&self.common, &path), path)));
        }
        // With the next merge the base would hold it.
        for (name, tip) in self.strange_besides()? {
            shared.add(name, tip.as_bytes(), true);
        }
        // A person who looks at a commit would be shown another one.
        for (name, by) in self.refs_below("refs/replace/")? {
            shared.add(name, by.as_bytes(), true);
        }
        if let Ok(grafts) = regular::read(&self.common.join(GRAFTS)) {
            shared.add(GRAFTS.to_owned(), &grafts, true);
        }
        if let Ok(attributes) = regular::read(&self.common.join("info/attributes")) {
            shared.add("info/attributes".to_owned(), &attributes, false);
        }
        // What it names would be committed for no issue any more. None says the same as an empty one.
        let exclude = regular::read(&self.common.join(EXCLUDE)).unwrap_or_default();
        shared.add(EXCLUDE.to_owned(), &exclude, true);
        Ok(shared)
    }

    /// Adds what a file says, and returns which others it has git read, on whatever condition.
    fn add_configuration(&self, shared: &mut Shared, name: &str, path: &Path) -> Result<Vec<PathBuf>, Error> {
        match regular::open(path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                shared.add(format!("{name} (unreadable)"), error.to_string().as_bytes(), true);
                return Ok(Vec::new());
            }
        }
        let mut git = self.registry("config");
        git.arg("--file").arg(path).args(["--no-includes", "--null", "--list"]);
        let said = match output(&mut git, "config") {
            Ok(said) => said,
            Err(git::Error::Refused { said, .. }) => {
                shared.add(format!("{name} (unreadable)"), said.as_bytes(), true);
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.into()),
        };
        let mut values: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
        let mut included = Vec::new();
        for entry in super::lists::split(&said) {
            let end = entry.iter().position(|byte| *byte == b'\n').unwrap_or(entry.len());
            if includes(&entry[..end]) {
                let said = String::from_utf8_lossy(entry.get(end + 1..).unwrap_or_default());
                let beside = path.parent().unwrap_or(path);
                included.push(beside.join(at_home(&self.environment, &said)));
            }
            let all = values.entry(&entry[..end]).or_default();
            all.extend_from_slice(&entry[end..]);
        }
        for (key, all) in values {
            let key = String::from_utf8_lossy(key);
            shared.add(format!("{name} {key}"), &all, executes(&key));
        }
        Ok(included)
    }
}

impl Shared {
    /// What is not as it was.
    pub fn changes(&self, later: &Self) -> Vec<Change> {
        let is_new = |name: &&String| !self.0.contains_key(*name);
        // These are always written down, but for what was begun before they were looked at.
        let reached = self.0.contains_key(REACHED);
        let looked_at = |name: &&String| *name != EXCLUDE && (reached || is_own(name));
        let names = self.0.keys().chain(later.0.keys().filter(is_new).filter(looked_at));
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

/// Whether something is of the repository itself, and was looked at from the beginning.
fn is_own(name: &str) -> bool {
    let own = ["config ", "config.worktree ", "worktrees/", "hooks/", "info/attributes"];
    own.iter().any(|own| name.starts_with(own))
}

/// Whether a key names another file of configuration.
fn includes(key: &[u8]) -> bool {
    key == b"include.path" || (key.starts_with(b"includeif.") && key.ends_with(b".path"))
}

/// How a file is called: by its way from here, where it lies below.
fn named(from: &Path, path: &Path) -> String {
    path.strip_prefix(from).unwrap_or(path).display().to_string()
}

/// The repositories of the submodules that are checked out beside the user's files, by name, and of theirs. Those of other worktrees lie elsewhere.
fn modules(common: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut directories = vec![common.join("modules")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if path.join("HEAD").symlink_metadata().is_ok() {
                found.push((named(common, &path), path.clone()));
                directories.push(path.join("modules"));
            } else {
                directories.push(path);
            }
        }
    }
    found
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

fn add_hooks(shared: &mut Shared, of: &str, directory: &Path) -> Result<(), Error> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(Error::file("read", directory))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".sample") {
            continue;
        }
        let content = regular::read(&path).unwrap_or_default();
        let is_program = std::fs::metadata(&path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
        shared.add(format!("{of}/{name}"), &[&content[..], &[u8::from(is_program)]].concat(), is_program);
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

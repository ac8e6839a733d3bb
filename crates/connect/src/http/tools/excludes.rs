//! Ignore rules outside of the tree's `.gitignore` files: the user's list, the repository's list, and the
//! tracked files.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::page::LONGEST;
use super::{Reach, git};

/// Maximum length of a list.
pub(super) const LONGEST_LIST: u64 = 1024 * 1024;

/// Answers of git that hold for all paths of one tool call.
#[derive(Debug, Default)]
pub(super) struct Excludes {
    /// Lists in rising priority, each with its directory from the top of the repository.
    pub(super) lists: Vec<(String, String)>,
    /// Path of the working directory from the top of its repository; usually empty.
    pub(super) prefix: String,
    pub(super) ignores_case: bool,
    /// Tracked files that a list names: git does not ignore them.
    tracked: BTreeSet<String>,
}

impl Excludes {
    /// Asks git. Without a repository, the lists that are known without git still apply.
    pub(super) fn of(reach: &Reach) -> Self {
        let mut excludes = Self::default();
        excludes.add("", &user_list(reach));
        // A linked worktree uses the list of its repository, which is elsewhere.
        let Some(own) = line(reach, &["rev-parse", "--git-path", "info/exclude"]) else {
            excludes.add("", &reach.root.join(".git/info/exclude"));
            return excludes;
        };
        excludes.add("", &reach.root.join(own));
        let prefix = line(reach, &["rev-parse", "--show-prefix"]).unwrap_or_default();
        prefix.to_string_lossy().trim_end_matches('/').clone_into(&mut excludes.prefix);
        excludes.add_above(&reach.root);
        let ignores_case = line(reach, &["config", "--type=bool", "--get", "core.ignoreCase"]);
        excludes.ignores_case = ignores_case.is_some_and(|said| said == "true");
        excludes.tracked = tracked(reach);
        excludes
    }

    /// Adds the `.gitignore` files above the working directory, up to the top of its repository.
    fn add_above(&mut self, root: &Path) {
        let prefix = self.prefix.clone();
        let names: Vec<&str> = prefix.split('/').filter(|name| !name.is_empty()).collect();
        for depth in 0..names.len() {
            let up = "../".repeat(names.len() - depth);
            self.add(&names[..depth].join("/"), &root.join(up).join(".gitignore"));
        }
    }

    fn add(&mut self, directory: &str, file: &Path) {
        self.lists.extend(read(file).map(|list| (directory.to_owned(), list)));
    }

    /// Returns true if git tracks this file, or a file below this directory, although a list names it.
    pub(super) fn tracks(&self, path: &str) -> bool {
        let below = format!("{path}/");
        self.tracked.contains(path)
            || self.tracked.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    }
}

/// Returns the user's own list: from the configuration, or git's default location.
fn user_list(reach: &Reach) -> PathBuf {
    let named = line(reach, &["config", "--type=path", "--get", "core.excludesFile"]);
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let settings = || variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    let usual = || settings().unwrap_or_default().join("git/ignore");
    named.map_or_else(usual, |named| reach.root.join(named))
}

fn tracked(reach: &Reach) -> BTreeSet<String> {
    let asked = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
    let Ok(said) = git::said(reach, &asked) else { return BTreeSet::new() };
    // The output limit drops the rest, and the name that it cut.
    let whole =
        if said.len() > LONGEST { said.iter().rposition(|byte| *byte == 0).unwrap_or(0) } else { said.len() };
    let paths = said[..whole].split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
    paths.filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// Returns an answer of one line, if git gives one.
fn line(reach: &Reach, arguments: &[&str]) -> Option<OsString> {
    let mut said = git::said(reach, arguments).ok()?;
    if said.ends_with(b"\n") {
        said.pop();
    }
    (!said.is_empty()).then(|| OsString::from_vec(said))
}

fn read(path: &Path) -> Option<String> {
    // Other kinds, such as pipes, may have no end.
    let file =
        fs::metadata(path).ok().filter(fs::Metadata::is_file).and_then(|_| fs::File::open(path).ok())?;
    let mut bytes = Vec::new();
    file.take(LONGEST_LIST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use insta::assert_snapshot;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::http::tools::{Halt, list_files, read_file};

    fn git(directory: &Path, arguments: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn write(path: &Path, content: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Creates a repository with a list of each kind, and files that they name.
    fn repository() -> TempDir {
        let place = tempfile::tempdir().unwrap();
        let main = place.path().join("main");
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "--quiet", "--initial-branch=main"]);
        write(&place.path().join("mine"), "*.key\n*.swp\n");
        git(&main, &["config", "core.excludesFile", &place.path().join("mine").display().to_string()]);
        write(&main.join(".git/info/exclude"), "*.secret\n");
        write(&main.join(".gitignore"), "/vendor/\n!spare.swp\n/inner/*.local\n");
        for path in ["a.rs", "vendor/kept.rs", "inner/b.rs", "tracked.key"] {
            write(&main.join(path), "committed\n");
        }
        git(&main, &["add", "--force", "--all"]);
        git(&main, &["commit", "--quiet", "--message", "all"]);
        git(&main, &["worktree", "add", "--quiet", "../linked"]);
        for tree in [&main, &place.path().join("linked")] {
            for path in [
                "new.rs",
                "id.key",
                "db.secret",
                "spare.swp",
                "vendor/new.rs",
                "inner/x.local",
                "inner/y.key",
            ] {
                write(&tree.join(path), "not committed\n");
            }
        }
        place
    }

    /// Returns all files that a model sees, with the tool's result for each existing file.
    fn shown(directory: &Path) -> String {
        let tool = |tool: &crate::http::tools::Tool, input| {
            let (halt, _guard) = Halt::after_a_while();
            let reach = Reach::open(&directory.display().to_string(), "", halt).unwrap();
            tool.run(&reach, &input)
        };
        let mut listed: Vec<String> =
            tool(&list_files::TOOL, json!({})).unwrap().lines().map(str::to_owned).collect();
        let there = ignore::WalkBuilder::new(directory)
            .standard_filters(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        let files =
            there.filter_map(Result::ok).filter(|file| file.file_type().is_some_and(|kind| kind.is_file()));
        for file in files {
            let path = file.path().strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            let is_read = tool(&read_file::TOOL, json!({ "path": path })).is_ok();
            assert_eq!(is_read, listed.contains(&path), "`{path}` is read exactly where it is listed");
        }
        listed.sort();
        listed.join("\n")
    }

    #[test]
    fn every_list_that_git_goes_by_holds_also_in_a_linked_worktree() {
        let place = repository();
        let main = shown(&place.path().join("main"));
        assert_snapshot!(main, @"
        .gitignore
        a.rs
        inner/b.rs
        new.rs
        spare.swp
        tracked.key
        vendor/kept.rs
        ");
        assert_eq!(shown(&place.path().join("linked")), main);
    }

    #[test]
    fn the_lists_above_a_directory_hold_in_it() {
        let place = repository();
        assert_snapshot!(shown(&place.path().join("main/inner")), @"b.rs");
    }

    #[test]
    fn a_name_in_capitals_is_the_same_where_git_takes_it_for_the_same() {
        let place = repository();
        let main = place.path().join("main");
        write(&main.join("inner/ID.KEY"), "not committed\n");
        assert!(shown(&main).contains("ID.KEY"));
        git(&main, &["config", "core.ignoreCase", "true"]);
        assert!(!shown(&main).contains("ID.KEY"));
    }
}

//! `read_file`, `list_files` and `grep`, and the files that a model may see.
//!
//! Ignored files often contain secrets, so git decides: a model sees the files that git tracks or does not
//! ignore (R-38). Each repository below the working directory, such as a submodule, has its own rules.
//! Outside of a repository the `.gitignore` files count. Files of the run itself, such as reports, are always
//! visible.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use regex::{Regex, RegexBuilder};
use saihai_git::{GitEnvironment, GitTerminalAccess, git_output, run_git};
use serde_json::{Value, json};

use super::{ModelTool, ToolInput, ToolPage, ToolStop, cut};
use crate::forge::ForgeViewer;
use crate::tree::{self, ConfinedTree, TreeError};

/// The working directory, as the tools see it.
pub(in crate::http) struct ToolContext {
    tree: ConfinedTree,
    root: PathBuf,
    /// Id of the run, whose own files stay visible to its agents.
    run: String,
    pub(super) stop: ToolStop,
    /// Reads the repository on the forge, if there is one.
    pub(super) viewer: Option<ForgeViewer>,
}

/// Maximum depth of a tree.
const DEEPEST: usize = 64;

impl ToolContext {
    pub(in crate::http) fn open(directory: &str, run: &str, stop: ToolStop) -> Result<Self, String> {
        let tree = ConfinedTree::open(Path::new(directory)).map_err(|error| error.to_string())?;
        Ok(Self { tree, root: directory.into(), run: run.to_owned(), stop, viewer: None })
    }

    pub(in crate::http) fn viewing(self, viewer: Option<ForgeViewer>) -> Self {
        Self { viewer, ..self }
    }

    /// Normalizes a path that a model may see: without `.` and double slashes.
    pub(super) fn allowed(&self, path: &str) -> Result<String, String> {
        let names = tree::components(path.trim_end_matches('/')).map_err(|error| error.to_string())?;
        if path.starts_with('/') {
            return Err(TreeError::Outside { path: path.to_owned() }.to_string());
        }
        if names.contains(&".git") {
            return Err(format!("`{path}` belongs to git"));
        }
        let whole = names.join("/");
        if names.is_empty() || self.is_of_this_run(&whole) {
            return Ok(whole);
        }
        if let Some(link) = self.link_above(&names) {
            return Err(TreeError::Link { path: whole, link }.to_string());
        }
        // git ignores a directory although it tracks files in it.
        if self.hidden(vec![whole.clone()])?.is_empty() || self.tracks_below(&whole) {
            return Ok(whole);
        }
        Err(format!("`{path}` is ignored by git and stays unread"))
    }

    /// Returns the paths that a model may not see. Paths need not exist.
    pub(super) fn hidden(&self, paths: Vec<String>) -> Result<BTreeSet<String>, String> {
        self.stop.check()?;
        let mut asked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (repository, path) in paths.iter().flat_map(|path| self.levels(path)) {
            asked.entry(repository).or_default().insert(path);
        }
        let ignored: BTreeMap<String, BTreeSet<String>> = asked
            .into_iter()
            .map(|(repository, paths)| {
                let ignored = self.ignored_in(&repository, &paths);
                (repository, ignored)
            })
            .collect();
        let is_ignored = |path: &String| {
            let mut levels = self.levels(path).into_iter();
            levels.any(|(repository, path)| ignored.get(&repository).is_some_and(|all| all.contains(&path)))
        };
        let is_hidden = |path: &String| {
            let names: Vec<&str> = path.split('/').collect();
            names.contains(&".git")
                || (!self.is_of_this_run(path) && (self.link_above(&names).is_some() || is_ignored(path)))
        };
        Ok(paths.into_iter().filter(is_hidden).collect())
    }

    /// Returns true for files of this run. Git often ignores their directories, which have the run's name.
    fn is_of_this_run(&self, path: &str) -> bool {
        !self.run.is_empty() && path.split('/').any(|name| name == self.run)
    }

    /// Returns the first directory of a path that is a symbolic link. git refuses to look behind one.
    fn link_above(&self, names: &[&str]) -> Option<String> {
        let above = (1..names.len()).map(|depth| names[..depth].join("/"));
        let is_link = |path: &String| {
            self.root.join(path).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
        };
        above.into_iter().find(is_link).map(|path| path.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// Splits a path at the repositories on its way: each level is a repository and a path inside it. The
    /// last level is the path itself, the others are the inner repositories.
    fn levels(&self, path: &str) -> Vec<(String, String)> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut levels = Vec::new();
        let mut from = 0;
        for depth in 1..names.len() {
            let directory = names[..depth].join("/");
            if self.root.join(&directory).join(".git").symlink_metadata().is_ok() {
                levels.push((names[..from].join("/"), names[from..depth].join("/")));
                from = depth;
            }
        }
        levels.push((names[..from].join("/"), names[from..].join("/")));
        levels
    }

    /// Returns the paths that a repository ignores. git does not ignore a file that it tracks.
    fn ignored_in(&self, repository: &str, paths: &BTreeSet<String>) -> BTreeSet<String> {
        // This command refuses literal paths, and the prefix hides a leading colon, which would have a
        // meaning.
        let input: Vec<u8> = paths.iter().flat_map(|path| format!("./{path}\0").into_bytes()).collect();
        let mut git = self.git_in(repository);
        git.env_remove("GIT_LITERAL_PATHSPECS").args(["check-ignore", "-z", "--stdin"]);
        let output = run_git(&mut git, "check-ignore", Some(&input), GitTerminalAccess::Apart).ok();
        // The exit code is 1 if nothing is ignored.
        match output.filter(|output| matches!(output.status.code(), Some(0 | 1))) {
            Some(output) => texts(&output.stdout).map(|path| path[2..].to_owned()).collect(),
            None => paths.iter().filter(|path| self.is_ignored_without_git(path)).cloned().collect(),
        }
    }

    fn is_ignored_without_git(&self, path: &str) -> bool {
        let target = self.root.join(path);
        let on_the_way = target.clone();
        let mut walk = self.walk_builder("", true);
        walk.filter_entry(move |entry| on_the_way.starts_with(entry.path()));
        target.symlink_metadata().is_ok() && !walk.build().flatten().any(|entry| entry.path() == target)
    }

    fn tracks_below(&self, directory: &str) -> bool {
        let Some((repository, path)) = self.levels(directory).pop() else { return false };
        self.listed(&repository, &["--cached"], &path).is_some_and(|paths| !paths.is_empty())
    }

    /// Returns the files below a directory that a model may see, in order. Some may be gone or irregular.
    fn files(&self, from: &str) -> Result<BTreeSet<String>, String> {
        let from = self.allowed(from)?;
        drop(self.tree.directory(&from).map_err(|error| error.to_string())?);
        self.stop.check()?;
        if self.is_of_this_run(&from) {
            return Ok(self.walked(&from, false));
        }
        let is_repository = !from.is_empty() && self.root.join(&from).join(".git").symlink_metadata().is_ok();
        let (repository, path) = match self.levels(&from).pop() {
            Some(level) if !is_repository => level,
            Some(_) | None => (from.clone(), String::new()),
        };
        let mut files = BTreeSet::new();
        if !self.collect(&repository, &path, 0, &mut files) {
            files = self.walked(&from, true);
        }
        Ok(files)
    }

    /// Adds the visible files of a repository and its nested ones. Returns false if git cannot list them.
    fn collect(&self, repository: &str, below: &str, depth: usize, files: &mut BTreeSet<String>) -> bool {
        let Some(paths) = self.listed(repository, &["--cached", "--others"], below) else { return false };
        for path in paths {
            let path = join(repository, path.trim_end_matches('/'));
            if depth < DEEPEST && self.root.join(&path).join(".git").symlink_metadata().is_ok() {
                self.collect(&path, "", depth + 1, files);
            } else {
                files.insert(path);
            }
        }
        true
    }

    fn listed(&self, repository: &str, which: &[&str], below: &str) -> Option<Vec<String>> {
        let mut git = self.git_in(repository);
        git.args(["ls-files", "-z", "--exclude-standard"]).args(which).arg("--");
        if !below.is_empty() {
            git.arg(below);
        }
        git_output(&mut git, "ls-files").ok().map(|said| texts(&said).collect())
    }

    /// Returns the files below a directory without git, which may not know them.
    fn walked(&self, from: &str, by_rules: bool) -> BTreeSet<String> {
        let entries = self.walk_builder(from, by_rules).build().flatten();
        let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let path =
            |entry: ignore::DirEntry| entry.path().strip_prefix(&self.root).ok()?.to_str().map(str::to_owned);
        files.filter_map(path).collect()
    }

    fn walk_builder(&self, from: &str, by_rules: bool) -> WalkBuilder {
        let mut walk = WalkBuilder::new(self.root.join(from));
        walk.standard_filters(by_rules)
            .ignore(false)
            .hidden(false)
            .require_git(false)
            .max_depth(Some(DEEPEST));
        walk.filter_entry(|entry| entry.file_name() != ".git");
        walk
    }

    pub(super) fn git(&self) -> Command {
        self.git_in("")
    }

    fn git_in(&self, repository: &str) -> Command {
        let mut git = GitEnvironment::of_process().git();
        git.env("GIT_OPTIONAL_LOCKS", "0").current_dir(self.root.join(repository));
        git
    }
}

/// Returns the names in a list of git. A model could not request a name that is not UTF-8.
fn texts(said: &[u8]) -> impl Iterator<Item = String> {
    let names = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.filter_map(|name| std::str::from_utf8(name).ok()).map(str::to_owned)
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

pub(super) static READ_FILE: ModelTool = ModelTool {
    name: "read_file",
    description: "Reads lines of a text file in the working directory. Each line is preceded by its number and a tab.",
    schema: read_file_schema,
    run: read_file,
};

/// Maximum number of lines in one answer (R-37).
const LINES: u64 = 2_000;
/// Maximum length of a line.
const LONGEST_READ_LINE: usize = 4 * 1024;
/// Maximum number of bytes to skip before the first requested line.
const READ_LIMIT: u64 = 256 * 1024 * 1024;

fn read_file_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "relative to the working directory" },
            "start_line": { "type": "integer", "minimum": 1, "description": "the first line; 1 if absent" },
            "lines": { "type": "integer", "minimum": 1, "maximum": LINES, "description": "how many; 2000 if absent" },
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

fn read_file(reach: &ToolContext, input: &ToolInput<'_>) -> Result<String, String> {
    let path = reach.allowed(input.required("path")?)?;
    let first = input.number("start_line", u64::MAX)?.unwrap_or(1);
    let lines = input.number("lines", LINES)?.unwrap_or(LINES);
    let file = reach.tree.file(&path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    let mut reader = BufReader::new(file.take(READ_LIMIT));
    if is_binary(&mut reader)? {
        return Err(format!("`{path}` is not text ({bytes} bytes)"));
    }
    let mut page = ToolPage::default();
    let mut number = 0;
    while let Some(line) = next_line(&mut reader, LONGEST_READ_LINE)? {
        reach.stop.check()?;
        number += 1;
        if number < first {
            continue;
        }
        if number - first == lines || !page.line(&format!("{number}\t{line}")) {
            return Ok(page.with_note(&format!("cut; continue with start_line {number}")));
        }
    }
    if reader.get_ref().limit() == 0 {
        return Ok(page.with_note(&format!("cut after {} MiB", READ_LIMIT / (1024 * 1024))));
    }
    match (page.is_empty(), number) {
        (true, 0) => Ok(page.with_note("the file is empty")),
        (true, _) => Err(format!("`{path}` has only {number} lines")),
        (false, _) => Ok(page.finish()),
    }
}

/// Returns true if the file is not text: it has a zero byte near its start.
fn is_binary(reader: &mut impl BufRead) -> Result<bool, String> {
    let beginning = reader.fill_buf().map_err(|error| error.to_string())?;
    Ok(beginning.contains(&0))
}

/// Returns the next line as text, without its line end. A longer line is cut and marked.
fn next_line(reader: &mut impl BufRead, most: usize) -> Result<Option<String>, String> {
    let mut line = Vec::new();
    let mut length = 0_usize;
    loop {
        let bytes = reader.fill_buf().map_err(|error| error.to_string())?;
        if bytes.is_empty() {
            break;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        // Keep more bytes than are displayed, to see that the line was cut.
        let room = (most + 4).saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        length += part.len() + usize::from(end.is_some());
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            break;
        }
    }
    if length == 0 {
        return Ok(None);
    }
    let line = line.strip_suffix(b"\r").unwrap_or(&line);
    let text = String::from_utf8_lossy(line);
    let shown = cut(&text, most);
    Ok(Some(if shown.len() < text.len() { format!("{shown} […]") } else { shown.to_owned() }))
}

pub(super) static LIST_FILES: ModelTool = ModelTool {
    name: "list_files",
    description: "Lists the files below a directory, one path a line, relative to the working directory. Files that \
                  git ignores are left out.",
    schema: list_files_schema,
    run: list_files,
};

fn list_files_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "dir": { "type": "string", "description": "relative to the working directory, which it is if absent" },
            "glob": { "type": "string", "description": "only paths like this: `src/**/*.rs`; `*.md` means anywhere" },
        },
        "additionalProperties": false,
    })
}

fn list_files(reach: &ToolContext, input: &ToolInput<'_>) -> Result<String, String> {
    let glob = input.text("glob")?.map(glob).transpose()?;
    let mut page = ToolPage::default();
    let mut left_out = 0_u64;
    for path in reach.files(input.text("dir")?.unwrap_or_default())? {
        reach.stop.check()?;
        let is_meant = glob.as_ref().is_none_or(|glob| glob.is_match(&path));
        if is_meant && reach.tree.file(&path).is_ok() && !page.line(&path) {
            left_out += 1;
        }
    }
    Ok(match (left_out, page.is_empty()) {
        (0, true) => page.with_note("no files"),
        (0, false) => page.finish(),
        (more, _) => page.with_note(&format!("cut; {more} more files: ask for a directory or a glob")),
    })
}

/// Parses a glob over paths from the root. A glob without a slash matches file names in any directory.
fn glob(text: &str) -> Result<GlobMatcher, String> {
    let anywhere =
        if text.contains('/') { text.trim_start_matches("./").to_owned() } else { format!("**/{text}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("`glob` is not one: {}", error.kind()))
}

pub(super) static GREP: ModelTool = ModelTool {
    name: "grep",
    description: "Finds lines that match a regular expression (no look-around, no back-references) and gives them as \
                  `path:line:text`. Files that git ignores and files that are not text are left out.",
    schema: grep_schema,
    run: grep,
};

/// Maximum length of a line; the rest is neither displayed nor searched.
const LONGEST_GREP_LINE: usize = 1024;
/// Maximum searched length of a file.
const SEARCH_LIMIT: u64 = 16 * 1024 * 1024;

fn grep_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "description": "a regular expression; `(?i)` at its head ignores case" },
            "path": { "type": "string", "description": "a file or directory; the working directory if absent" },
            "glob": { "type": "string", "description": "only files like this: `src/**/*.rs`; `*.md` means anywhere" },
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

fn grep(reach: &ToolContext, input: &ToolInput<'_>) -> Result<String, String> {
    let pattern = RegexBuilder::new(input.required("pattern")?).size_limit(4 * 1024 * 1024).build();
    let pattern = pattern.map_err(|error| format!("`pattern` is not a regular expression: {error}"))?;
    let glob = input.text("glob")?.map(glob).transpose()?;
    let from = reach.allowed(input.text("path")?.unwrap_or_default())?;
    let is_file = !from.is_empty() && reach.tree.file(&from).is_ok();
    let files = if is_file { BTreeSet::from([from]) } else { reach.files(&from)? };
    let mut page = ToolPage::default();
    for path in files {
        reach.stop.check()?;
        if !is_file && glob.as_ref().is_some_and(|glob| !glob.is_match(&path)) {
            continue;
        }
        if let Ok(file) = reach.tree.file(&path)
            && !search(&pattern, &path, file, &mut page, &reach.stop)?
        {
            return Ok(page.with_note("cut; there is more: narrow the pattern, path or glob"));
        }
    }
    Ok(if page.is_empty() { page.with_note("no line matches") } else { page.finish() })
}

/// Adds the matching lines of a file, if it is readable. Returns false once the page is full.
fn search(
    pattern: &Regex,
    path: &str,
    file: File,
    page: &mut ToolPage,
    stop: &ToolStop,
) -> Result<bool, String> {
    let mut reader = BufReader::new(file.take(SEARCH_LIMIT));
    if is_binary(&mut reader).unwrap_or(true) {
        return Ok(true);
    }
    let mut number = 0_u64;
    while let Ok(Some(line)) = next_line(&mut reader, LONGEST_GREP_LINE) {
        stop.check()?;
        number += 1;
        if pattern.is_match(&line) && !page.line(&format!("{path}:{number}:{line}")) {
            return Ok(false);
        }
    }
    Ok(true)
}

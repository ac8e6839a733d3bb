//! Whole files, as they are; a repository is not needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use globset::GlobBuilder;
use ignore::WalkBuilder;
use saihai_model::{LeftOut, Subject, SubjectFile, SubjectMode};

use super::Error;
use super::text::{Content, content, of_bytes, without_content};
use crate::git::{Git, is_own};

/// The files that were named: files themselves, all files of directories that git does not ignore, and those that
/// patterns take. Names are relative to `current`; all must lie below `root`. Other repositories among them are left out,
/// and one that is named itself is refused.
pub fn whole_files(root: &Path, current: &Path, names: &[String]) -> Result<Subject, Error> {
    let canonical =
        |path: &Path| fs::canonicalize(path).map_err(|source| Error::Io { path: path.to_owned(), source });
    let root = canonical(root)?;
    let (mut found, mut missing, mut repositories) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    for name in names {
        let path = current.join(name);
        let files = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => below(&root, &canonical(&path)?, name)?,
            Ok(metadata) if metadata.is_file() => Below { files: vec![path], ..Below::default() },
            // Opening a pipe nobody writes to would wait for ever.
            Ok(_) => return Err(Error::Io { path, source: io::Error::other("it is not an ordinary file") }),
            Err(_) if name.contains(['*', '?', '[', '{']) => taken(&root, &canonical(current)?, name)?,
            Err(_) => Below::default(),
        };
        let Below { files, repositories: others } = files;
        repositories.extend(others);
        if files.is_empty() && !current.join(name).is_dir() {
            missing.push(name.clone());
        }
        for file in files {
            let real = canonical(&file)?;
            let inside = real.strip_prefix(&root).map_err(|_| Error::Outside(name.clone()))?;
            found.insert(slashed(inside), real.clone());
        }
    }
    if !missing.is_empty() {
        return Err(Error::Missing(missing));
    }
    let files = found.into_iter().map(|(path, file)| read(path, &file));
    let mut files = files.collect::<Result<Vec<SubjectFile>, _>>()?;
    files.extend(repositories.into_iter().map(|path| without_content(path, None, LeftOut::Submodule)));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Subject { mode: SubjectMode::Files, files })
}

/// What lies below a directory.
#[derive(Default)]
struct Below {
    files: Vec<PathBuf>,
    /// Other repositories, by their paths from the root: what is in them is not this project's.
    repositories: Vec<String>,
}

fn read(path: String, file: &Path) -> Result<SubjectFile, Error> {
    let content = content(file).map_err(|source| Error::Io { path: file.to_owned(), source })?;
    Ok(match content {
        Content::Bytes(bytes) => of_bytes(path, None, bytes),
        Content::LeftOut(why) => without_content(path, None, why),
    })
}

/// The ordinary files below a directory that git does not ignore. Links are not followed: they could lead anywhere.
fn below(root: &Path, directory: &Path, name: &str) -> Result<Below, Error> {
    let inside = directory.strip_prefix(root).map_err(|_| Error::Outside(name.to_owned()))?;
    // Without git, or where it refuses, files are found all the same.
    let Ok(Some(git)) = Git::open(root) else {
        return Ok(Below { files: walked(directory), ..Below::default() });
    };
    let mut above = inside.ancestors().filter(|part| !part.as_os_str().is_empty());
    if let Some(repository) = above.find(|part| root.join(part).join(".git").exists()) {
        return Err(Error::AnotherRepository(slashed(repository)));
    }
    let inside = if inside.as_os_str().is_empty() { ".".to_owned() } else { slashed(inside) };
    let mut below = Below::default();
    for path in git.below(&inside)?.into_iter().filter(|path| !is_own(&path.to_string_lossy())) {
        match root.join(&path).symlink_metadata() {
            Ok(metadata) if metadata.is_file() => below.files.push(root.join(path)),
            // Git lists no directories but those that it does not enter.
            Ok(metadata) if metadata.is_dir() => below.repositories.push(slashed(&path)),
            Ok(_) | Err(_) => {}
        }
    }
    if below.repositories == [inside.as_str()] {
        return Err(Error::AnotherRepository(inside));
    }
    Ok(below)
}

/// The same where there is no repository: what files of ignored names say is heeded all the same.
fn walked(directory: &Path) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(directory);
    walk.hidden(false).ignore(false).require_git(false).filter_entry(|entry| entry.file_name() != ".git");
    let entries = walk.build().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.into_path())
        .collect()
}

/// The files below where the command was called that a pattern takes.
fn taken(root: &Path, current: &Path, pattern: &str) -> Result<Below, Error> {
    let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
    let glob = glob
        .map_err(|error| Error::BadPattern { pattern: pattern.to_owned(), why: error.kind().to_string() })?;
    let matcher = glob.compile_matcher();
    let takes = |file: &PathBuf| file.strip_prefix(current).is_ok_and(|inside| matcher.is_match(inside));
    let mut below = below(root, current, pattern)?;
    below.files.retain(takes);
    // What could be in another repository is not known, only that such a pattern would look for it there.
    below.repositories.retain(|path| pattern.contains("**") || takes(&root.join(path)));
    Ok(below)
}

/// A path as every system shows it.
fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

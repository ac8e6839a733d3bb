//! Whole files as a subject. No repository is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use globset::GlobBuilder;
use ignore::WalkBuilder;
use saihai_model::{LeftOut, Subject, SubjectFile, SubjectMode};

use super::Error;
use super::text::{Content, content, of_bytes, without_content};
use crate::git::{Git, is_own};

/// Collects the named files: files, unignored files of directories, and matches of patterns. Names are
/// relative to `current`, and all files must lie below `root`. Embedded repositories are skipped, and naming
/// one is an error.
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
            // Opening a pipe without a writer would block forever.
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

/// The files below a directory.
#[derive(Default)]
struct Below {
    files: Vec<PathBuf>,
    /// Embedded repositories, by path from the root. Their files do not belong to this project.
    repositories: Vec<String>,
}

fn read(path: String, file: &Path) -> Result<SubjectFile, Error> {
    let content = content(file).map_err(|source| Error::Io { path: file.to_owned(), source })?;
    Ok(match content {
        Content::Bytes(bytes) => of_bytes(path, None, bytes),
        Content::LeftOut(why) => without_content(path, None, why),
    })
}

/// Returns the regular, unignored files below a directory. It follows no links, because they could lead
/// anywhere.
fn below(root: &Path, directory: &Path, name: &str) -> Result<Below, Error> {
    let inside = directory.strip_prefix(root).map_err(|_| Error::Outside(name.to_owned()))?;
    // Without git, or if it refuses, walk the directory.
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
            // Git lists a directory only if it does not enter it.
            Ok(metadata) if metadata.is_dir() => below.repositories.push(slashed(&path)),
            Ok(_) | Err(_) => {}
        }
    }
    if below.repositories == [inside.as_str()] {
        return Err(Error::AnotherRepository(inside));
    }
    Ok(below)
}

/// Walks a directory without a repository. Ignore files still apply.
fn walked(directory: &Path) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(directory);
    walk.hidden(false).ignore(false).require_git(false).filter_entry(|entry| entry.file_name() != ".git");
    let entries = walk.build().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.into_path())
        .collect()
}

/// Returns the files below the current directory that match a pattern.
fn taken(root: &Path, current: &Path, pattern: &str) -> Result<Below, Error> {
    let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
    let glob = glob
        .map_err(|error| Error::BadPattern { pattern: pattern.to_owned(), why: error.kind().to_string() })?;
    let matcher = glob.compile_matcher();
    let takes = |file: &PathBuf| file.strip_prefix(current).is_ok_and(|inside| matcher.is_match(inside));
    let mut below = below(root, current, pattern)?;
    below.files.retain(takes);
    // The content of an embedded repository is unknown. Keep it only if the pattern could match inside.
    below.repositories.retain(|path| pattern.contains("**") || takes(&root.join(path)));
    Ok(below)
}

/// Formats a path with slashes.
fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

//! Whole files, as they are; a repository is not needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use globset::GlobBuilder;
use ignore::WalkBuilder;
use saihai_model::{Subject, SubjectFile, SubjectMode};

use super::Error;
use super::text::{Content, content, of_bytes, without_content};
use crate::git::{Git, is_own};

/// The files that were named: files themselves, all files of directories that git does not ignore, and those that
/// patterns take. Names are relative to `current`; all must lie below `root`.
pub fn whole_files(root: &Path, current: &Path, names: &[String]) -> Result<Subject, Error> {
    let canonical =
        |path: &Path| fs::canonicalize(path).map_err(|source| Error::Io { path: path.to_owned(), source });
    let root = canonical(root)?;
    let (mut found, mut missing) = (BTreeMap::new(), Vec::new());
    for name in names {
        let path = current.join(name);
        let files = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => below(&root, &canonical(&path)?, name)?,
            Ok(metadata) if metadata.is_file() => vec![path],
            // Opening a pipe nobody writes to would wait for ever.
            Ok(_) => return Err(Error::Io { path, source: io::Error::other("it is not an ordinary file") }),
            Err(_) if name.contains(['*', '?', '[', '{']) => taken(&root, &canonical(current)?, name)?,
            Err(_) => Vec::new(),
        };
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
    let files = found.into_iter().map(|(path, file)| read(path, &file)).collect::<Result<_, _>>()?;
    Ok(Subject { mode: SubjectMode::Files, files })
}

fn read(path: String, file: &Path) -> Result<SubjectFile, Error> {
    let content = content(file).map_err(|source| Error::Io { path: file.to_owned(), source })?;
    Ok(match content {
        Content::Bytes(bytes) => of_bytes(path, None, bytes),
        Content::LeftOut(why) => without_content(path, None, why),
    })
}

/// The ordinary files below a directory that git does not ignore. Links are not followed: they could lead anywhere.
fn below(root: &Path, directory: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
    let inside = directory.strip_prefix(root).map_err(|_| Error::Outside(name.to_owned()))?;
    // Without git, or where it refuses, files are found all the same.
    let Ok(Some(git)) = Git::open(root) else { return Ok(walked(directory)) };
    let inside = if inside.as_os_str().is_empty() { ".".to_owned() } else { slashed(inside) };
    let files = git.below(&inside)?.into_iter().filter(|path| !is_own(&path.to_string_lossy()));
    let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    Ok(files.map(|path| root.join(path)).filter(is_file).collect())
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
fn taken(root: &Path, current: &Path, pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
    let glob = glob
        .map_err(|error| Error::BadPattern { pattern: pattern.to_owned(), why: error.kind().to_string() })?;
    let matcher = glob.compile_matcher();
    let takes = |file: &PathBuf| file.strip_prefix(current).is_ok_and(|inside| matcher.is_match(inside));
    Ok(below(root, current, pattern)?.into_iter().filter(takes).collect())
}

/// A path as every system shows it.
fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

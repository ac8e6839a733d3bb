//! Issue files in a folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use saihai_model::{Issue, IssueNumber};

use super::read::{self, ReadIssue};
use crate::diagnostic::{Area, Diagnostics, Location, SourceFile, quoted};
use crate::document::{LARGEST_FILE, cannot_read};
use crate::source::{ReadError, Source};

/// Default issue folder below the project root.
pub const FOLDER: &str = ".saihai/issues";

/// Reads every issue of a folder, in file order. Reports all errors at once and skips invalid
/// files. `name` is the display name of the folder. Never writes to the folder.
pub fn load_folder(
    source: &dyn Source,
    folder: &Path,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<Issue> {
    let names = match source.list(folder) {
        Ok(names) => names,
        Err(error) => {
            diagnostics.push(
                cannot_read(&error, name, Area::Work)
                    .hint("make the folder, or say where issues come from with `--from` or `work.source`"),
            );
            return Vec::new();
        }
    };
    let mut issues: Vec<ReadIssue> = Vec::new();
    for file in names.iter().filter(|file| is_issue(file)) {
        let shown = format!("{}/{}", name.trim_end_matches('/'), file.display());
        let Some(file) = file.to_str() else {
            let at = Location::whole(&SourceFile::new(Area::Work, shown.as_str(), "").into());
            let error = at.error("bad-file", format!("the name of {} is not UTF-8", quoted(&shown)));
            diagnostics.push(error.hint("give the file another name"));
            continue;
        };
        issues.extend(load(source, folder, file, &shown, diagnostics));
    }
    refuse_doubles(&issues, diagnostics);
    issues.into_iter().map(|read| read.issue).collect()
}

/// Returns true if the file name is that of an issue.
fn is_issue(file: &OsStr) -> bool {
    let name = file.as_encoded_bytes();
    name.ends_with(b".md") && !name.starts_with(b".") && !name.starts_with(b"_")
}

fn load(
    source: &dyn Source,
    folder: &Path,
    file: &str,
    shown: &str,
    diagnostics: &mut Diagnostics,
) -> Option<ReadIssue> {
    let path = folder.join(file);
    if is_link(source, folder, file) {
        let at = Location::whole(&SourceFile::new(Area::Work, shown, "").into());
        let message = format!("{} is a symbolic link", quoted(shown));
        let hint = "an issue is an instruction to an agent; put the file itself into the folder";
        diagnostics.push(at.error("bad-file", message).hint(hint));
        return None;
    }
    match source.read(&path, LARGEST_FILE) {
        // Subfolders hold private notes, not issues.
        Err(ReadError::Directory) => None,
        Ok(bytes) => read::read(&bytes, file, shown, diagnostics),
        Err(error) => {
            diagnostics.push(cannot_read(&error, shown, Area::Work));
            None
        }
    }
}

/// Returns true if the file is a symbolic link, even a broken one.
fn is_link(source: &dyn Source, folder: &Path, file: &str) -> bool {
    let own = source.canonical(folder).map(|folder| folder.join(file));
    match (source.canonical(&folder.join(file)), own) {
        (Ok(real), Ok(own)) => real != own,
        // The directory listing contains it, so a missing target means a broken link.
        (Err(ReadError::Missing), _) => true,
        (Err(_), _) | (_, Err(_)) => false,
    }
}

fn refuse_doubles(issues: &[ReadIssue], diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<IssueNumber, &ReadIssue> = BTreeMap::new();
    for read in issues {
        let number = read.issue.number;
        let Some(other) = first.get(&number) else {
            first.insert(number, read);
            continue;
        };
        let names = [&other.number_at, &read.number_at].map(|at| quoted(at.file.name()));
        let message = format!("{} and {} are both issue {}", names[0], names[1], number.get());
        let diagnostic = read.number_at.error("duplicate-id", message).label("the second");
        diagnostics
            .push(diagnostic.also(&other.number_at, "the first").hint("give one of them another `id`"));
    }
}

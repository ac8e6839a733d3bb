//! Writing files for a person to edit: all or none, and existing files only on request.

use std::io;
use std::path::Path;

use saihai_config::{NewFile, Places};

use crate::error::Error;

/// Permission to replace an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    Never,
    Yes,
}

/// Writes files and returns their display names. Writes nothing at all if one of them exists and must not be
/// replaced.
pub(crate) fn write(files: &[NewFile], places: &Places, overwrite: Overwrite) -> Result<Vec<String>, Error> {
    let shown = |file: &NewFile| places.shown(&file.path);
    // A dangling link also counts as existing.
    let there = |file: &&NewFile| std::fs::symlink_metadata(&file.path).is_ok();
    let existing: Vec<&NewFile> = files.iter().filter(there).collect();
    if let Some(directory) = existing.iter().find(|file| file.path.is_dir()) {
        return Err(Error::usage(format!("`{}` is a directory", shown(directory))).hint("move it away"));
    }
    if overwrite == Overwrite::Never && !existing.is_empty() {
        let names: Vec<String> = existing.iter().map(|file| format!("`{}`", shown(file))).collect();
        let verb = if names.len() == 1 { "exists" } else { "exist" };
        let error = Error::usage(format!("{} already {verb}; nothing was written", names.join(", ")));
        return Err(error.hint("`--force` replaces what is there"));
    }
    for file in files {
        place(&file.path, &file.text)
            .map_err(|error| Error::unavailable(format!("cannot write `{}`: {error}", shown(file))))?;
    }
    Ok(files.iter().map(shown).collect())
}

/// Writes a file atomically. A link is replaced, not followed.
fn place(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = directory.join(format!(".{name}.{}", std::process::id()));
    let placed = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, path));
    if placed.is_err() {
        // Delete the temporary file. A failure here does not matter.
        let _ = std::fs::remove_file(&fresh);
    }
    placed
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::terminal::streams::captured;

    fn places(root: &Path) -> Places {
        Places { current: root.to_owned(), root: root.to_owned(), user: None, home: None }
    }

    fn files(root: &Path) -> Vec<NewFile> {
        ["a/one", "a/two", "three"]
            .map(|path| NewFile { path: root.join(path), text: format!("new {path}") })
            .to_vec()
    }

    fn said(error: Error) -> String {
        let (mut streams, _, err) = captured::streams();
        let code = error.say(&mut streams);
        format!("{}exit {code}", err.text())
    }

    #[test]
    fn files_are_written_with_their_directories() {
        let root = tempfile::tempdir().unwrap();
        let written = write(&files(root.path()), &places(root.path()), Overwrite::Never).unwrap();
        assert_eq!(written, ["a/one", "a/two", "three"]);
        assert_eq!(fs::read_to_string(root.path().join("a/two")).unwrap(), "new a/two");
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 2, "nothing else is left behind");
    }

    #[test]
    fn where_something_exists_nothing_is_written() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/two"), "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", root.path().join("three")).unwrap();
        let refused = write(&files(root.path()), &places(root.path()), Overwrite::Never).unwrap_err();
        insta::assert_snapshot!(said(refused), @r"
        error: `a/two`, `three` already exist; nothing was written
          = help: `--force` replaces what is there
        exit 2
        ");
        assert_eq!(fs::read_to_string(root.path().join("a/two")).unwrap(), "mine");
        assert!(!root.path().join("a/one").exists());
    }

    #[test]
    fn what_exists_is_replaced_when_asked_and_links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("elsewhere"), "mine").unwrap();
        std::os::unix::fs::symlink("elsewhere", root.path().join("three")).unwrap();
        write(&files(root.path()), &places(root.path()), Overwrite::Yes).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("three")).unwrap(), "new three");
        assert_eq!(fs::read_to_string(root.path().join("elsewhere")).unwrap(), "mine");
    }

    #[test]
    fn a_directory_in_the_way_is_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("three")).unwrap();
        for overwrite in [Overwrite::Never, Overwrite::Yes] {
            let refused = write(&files(root.path()), &places(root.path()), overwrite).unwrap_err();
            insta::allow_duplicates! {
                insta::assert_snapshot!(said(refused), @r"
                error: `three` is a directory
                  = help: move it away
                exit 2
                ");
            }
            assert!(!root.path().join("a").exists());
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "a file where a directory should be").unwrap();
        let refused = said(write(&files(root.path()), &places(root.path()), Overwrite::Never).unwrap_err());
        assert!(
            refused.starts_with("error: cannot write `a/one`: ") && refused.ends_with("exit 4"),
            "{refused}"
        );
    }
}

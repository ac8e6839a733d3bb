//! Paths without detours.

use std::path::{Component, Path, PathBuf};

/// The path without `.` and `..`, by its letters alone: a symbolic link before `..` would make it another one.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

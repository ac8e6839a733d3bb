//! A check for write access before anything is written.

use std::io;
use std::path::Path;

/// Checks that a directory can be created, or exists and is writable. Changes nothing.
pub fn can_create_directory(path: &Path) -> io::Result<()> {
    let there = path.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok());
    let there = there.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    if !there.metadata()?.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            format!("`{}` is no directory", there.display()),
        ));
    }
    rustix::fs::access(there, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::can_create_directory;

    #[test]
    fn a_directory_can_be_made_below_one_and_not_below_a_file() {
        // P-54
        let scratch = tempfile::tempdir().unwrap();
        assert!(can_create_directory(scratch.path()).is_ok());
        assert!(can_create_directory(&scratch.path().join("a/b/c")).is_ok());
        let file = scratch.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let error = can_create_directory(&file.join("reports")).unwrap_err();
        assert_eq!(error.to_string(), format!("`{}` is no directory", file.display()));
        assert!(!scratch.path().join("a").exists(), "it only looks");
    }
}

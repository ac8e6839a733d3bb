//! The Rust sources of the workspace, and which of their lines are test code.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A source file.
pub(crate) struct Source {
    /// Relative to the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Every Rust file of ours, in order of its path.
pub(crate) fn read_all(root: &Path) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    for directory in ["crates", "tests", "xtask"] {
        collect(&root.join(directory), &mut paths)?;
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let path = path.strip_prefix(root).map(Path::to_owned).unwrap_or(path);
            Ok(Source { path, text })
        })
        .collect()
}

fn collect(directory: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

impl Source {
    /// The lines that are test code: all of a test file, or what stands below `#[cfg(test)]`.
    pub(crate) fn test_lines(&self) -> impl Iterator<Item = &str> {
        let whole = self.is_test_file();
        let mut inside = whole;
        self.text.lines().filter(move |line| {
            let shown = inside;
            match line.trim_end() {
                "#[cfg(test)]" => inside = true,
                // The end of an inline module; items at the top level begin and end in the first column.
                "}" => inside = whole,
                _ => {}
            }
            shown
        })
    }

    fn is_test_file(&self) -> bool {
        let is_tests = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
        self.path.iter().any(is_tests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: PathBuf::from(path), text: text.to_owned() };
        source.test_lines().map(str::to_owned).collect()
    }

    #[test]
    fn all_of_a_test_file_is_test_code() {
        assert_eq!(lines("crates/x/src/y/tests.rs", "a\n}\nb"), ["a", "}", "b"]);
        assert_eq!(lines("tests/tests/crash.rs", "a"), ["a"]);
    }

    #[test]
    fn of_other_files_only_the_test_module_is() {
        let text = "// P-1\nfn a() {\n}\n#[cfg(test)]\nmod tests {\n    // P-2\n}\n// P-3\n";
        assert_eq!(lines("crates/x/src/y.rs", text), ["mod tests {", "    // P-2", "}"]);
    }
}

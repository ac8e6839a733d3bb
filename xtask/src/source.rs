//! Rust sources of the workspace, with their test code marked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::code::Code;

#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    pub text: String,
    pub code: Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
    pub code: &'a str,
    /// True for test code: a test file, or a module below `#[cfg(test)]`.
    pub is_test: bool,
}

pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies directly below the workspace").to_owned()
}

/// Reads every Rust file of the workspace, sorted by path.
pub fn read_all(root: &Path) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    for directory in ["crates", "tests", "xtask"] {
        collect(&root.join(directory), &mut paths)?;
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            Ok(Source::new(path.strip_prefix(root).unwrap_or(&path), text))
        })
        .collect()
}

fn collect(directory: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        // A workspace of its own builds next to its sources.
        if path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

impl Source {
    pub fn new(path: &Path, text: String) -> Self {
        Self { path: path.to_owned(), code: Code::of(&text), text }
    }

    pub fn lines(&self) -> Vec<Line<'_>> {
        let whole = self.is_test_file();
        let mut inside = whole;
        let pairs = self.text.lines().zip(self.code.text.lines());
        pairs
            .zip(1..)
            .map(|((text, code), number)| {
                inside |= text.trim_end() == "#[cfg(test)]";
                let line = Line { number, text, code, is_test: inside };
                // Top-level items start and end in the first column.
                if code.trim_end() == "}" || code.starts_with("mod ") && code.trim_end().ends_with(';') {
                    inside = whole;
                }
                line
            })
            .collect()
    }

    /// Returns true if the whole file is test code: `tests`, or `testing` for shared code.
    pub fn is_test_file(&self) -> bool {
        let names = ["tests", "tests.rs", "testing", "testing.rs"];
        self.path.iter().any(|part| names.iter().any(|name| part == *name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_lines(path: &str, text: &str) -> Vec<usize> {
        let source = Source::new(Path::new(path), text.to_owned());
        source.lines().iter().filter(|line| line.is_test).map(|line| line.number).collect()
    }

    #[test]
    fn all_of_a_test_file_is_test_code() {
        assert_eq!(test_lines("crates/x/src/y/tests.rs", "a\n}\nb"), [1, 2, 3]);
        assert_eq!(test_lines("tests/tests/crash.rs", "a"), [1]);
        assert_eq!(test_lines("crates/x/src/testing.rs", "a"), [1]);
        assert_eq!(test_lines("crates/x/src/latest.rs", "a"), [0; 0]);
    }

    #[test]
    fn of_other_files_only_the_test_module_is() {
        let text = "// P-1\nfn a() {\n}\n#[cfg(test)]\nmod tests {\n    // P-2\n}\n// P-3\n";
        assert_eq!(test_lines("crates/x/src/y.rs", text), [4, 5, 6, 7]);
        assert_eq!(test_lines("crates/x/src/lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\nmod b;\n"), [2, 3]);
    }
}

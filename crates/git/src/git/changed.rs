//! Parses the output of `git diff --raw --patch -z`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The path. For a deleted file, the former path.
    pub path: String,
    /// The path before a rename.
    pub previous: Option<String>,
    pub section: Section,
    /// The raw names, which need not be UTF-8. After a rename, the new name comes last.
    pub(super) names: Vec<OsString>,
    /// The object names before and after. Zeros mean no file, or a file that exists only in the directory.
    pub(super) objects: [String; 2],
}

/// The difference in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// The bytes of its section of the patch.
    Text(Vec<u8>),
    Binary,
    /// A submodule at another commit.
    Submodule,
}

struct Raw {
    modes: [String; 2],
    objects: [String; 2],
    status: char,
    names: Vec<OsString>,
}

/// Parses the output. Returns `None` if it is malformed.
pub(super) fn read(said: &[u8]) -> Option<Vec<Changed>> {
    if said.is_empty() {
        return Some(Vec::new());
    }
    let (raws, patch) = raws(said)?;
    let mut sections = sections(patch).into_iter();
    let mut changed = Vec::new();
    for raw in raws {
        // A change of type has two sections, a deletion and a creation. An unmerged file has none.
        let count = match raw.status {
            'U' => 0,
            'T' => 2,
            _ => 1,
        };
        let own: Vec<Vec<u8>> = sections.by_ref().take(count).collect();
        if own.len() < count {
            return None;
        }
        if count == 0 {
            continue;
        }
        let text = own.concat();
        let mut paths = raw.names.iter().rev().map(|name| name.to_string_lossy().into_owned());
        let (path, previous) = (paths.next()?, paths.next());
        let section = if raw.modes.iter().any(|mode| mode == "160000") {
            Section::Submodule
        } else if text.split(|byte| *byte == b'\n').any(is_binary_mark) {
            Section::Binary
        } else {
            Section::Text(text)
        };
        changed.push(Changed { path, previous, section, names: raw.names, objects: raw.objects });
    }
    sections.next().is_none().then_some(changed)
}

/// Returns true for git's note about a binary file. A line of content starts with a space, `+`, `-` or `\`.
fn is_binary_mark(line: &[u8]) -> bool {
    line.starts_with(b"Binary files ") && line.ends_with(b" differ")
}

/// Parses the `--raw` records up to the empty one, and returns the rest.
fn raws(said: &[u8]) -> Option<(Vec<Raw>, &[u8])> {
    let (mut raws, mut rest) = (Vec::new(), said);
    while rest.first() == Some(&b':') {
        let head = take(&mut rest)?.to_str()?;
        let fields: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old, new, before, after, status] = fields.as_slice() else { return None };
        let status = status.chars().next()?;
        let count = if matches!(status, 'R' | 'C') { 2 } else { 1 };
        let names = (0..count).map(|_| take(&mut rest).map(OsStr::to_owned)).collect::<Option<Vec<_>>>()?;
        let (modes, objects) = ([old, new], [before, after]);
        let [modes, objects] = [modes, objects].map(|both| both.map(|one| (*one).to_owned()));
        raws.push(Raw { modes, objects, status, names });
    }
    Some((raws, rest.strip_prefix(b"\0").unwrap_or(rest)))
}

/// Takes the bytes before the next NUL.
fn take<'s>(rest: &mut &'s [u8]) -> Option<&'s OsStr> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let taken = OsStr::from_bytes(&rest[..end]);
    *rest = &rest[end + 1..];
    Some(taken)
}

/// Splits a patch before each line that starts a file.
fn sections(patch: &[u8]) -> Vec<Vec<u8>> {
    let mut sections: Vec<Vec<u8>> = Vec::new();
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            sections.push(Vec::new());
        }
        if !line.starts_with(b"* Unmerged path ")
            && let Some(section) = sections.last_mut()
        {
            section.extend_from_slice(line);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str, expected: &[(&str, Option<&str>, &str)]) {
        let changed = read(said.as_bytes()).unwrap();
        let shown: Vec<(&str, Option<&str>, String)> = changed
            .iter()
            .map(|one| {
                let section = match &one.section {
                    Section::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    other @ (Section::Binary | Section::Submodule) => format!("{other:?}"),
                };
                (one.path.as_str(), one.previous.as_deref(), section)
            })
            .collect();
        let shown: Vec<_> = shown.iter().map(|(path, old, text)| (*path, *old, text.as_str())).collect();
        assert_eq!(shown, expected);
    }

    //
    #[test]
    fn paths_come_from_the_raw_lines_and_texts_from_the_patch() {
        check("", &[]);
        check(
            ":100644 100644 a b M\0x\n.py\0:100644 100644 a b R090\0old\0new\0:100644 120000 a b T\0t\0\
             :000000 000000 a b U\0u\0:160000 160000 a b M\0sub\0:100644 100644 a b M\0logo\0\0\
             diff --git \"a/x\\n.py\" \"b/x\\n.py\"\n+diff --git in text\n\
             diff --git a/old b/new\n-1\ndiff --git a/t b/t\n-2\ndiff --git a/t b/t\n+2\n* Unmerged path u\n\
             diff --git a/sub b/sub\n-Subproject commit a\ndiff --git a/logo b/logo\nBinary files a/logo and b/logo differ\n",
            &[
                ("x\n.py", None, "diff --git \"a/x\\n.py\" \"b/x\\n.py\"\n+diff --git in text\n"),
                ("new", Some("old"), "diff --git a/old b/new\n-1\n"),
                ("t", None, "diff --git a/t b/t\n-2\ndiff --git a/t b/t\n+2\n"),
                ("sub", None, "Submodule"),
                ("logo", None, "Binary"),
            ],
        );
    }

    #[test]
    fn what_does_not_fit_together_is_not_guessed_at() {
        assert_eq!(read(b":100644 100644 a b M\0x\0\0diff --git a b\ndiff --git c d\n"), None);
        assert_eq!(read(b":100644 100644 a b M\0x\0\0"), None);
        assert_eq!(read(b":100644 100644 a M\0x\0\0"), None);
        assert_eq!(read(b":100644 100644 a b M"), None);
    }
}

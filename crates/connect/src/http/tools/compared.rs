//! Diffs between revisions, limited to the files that a model may see.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::page::LONGEST;
use super::{Reach, git};

pub(super) struct Comparison<'a> {
    pub(super) command: &'a str,
    /// Flags for the output only.
    pub(super) how: &'a [&'a str],
    pub(super) of: &'a [&'a str],
}

/// Flags of every diff, which override the configuration. git never runs inside a submodule, which has a
/// configuration of its own.
const HELD: [&str; 5] = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--relative"];

impl Comparison<'_> {
    /// Returns the diff of the files below these paths. It first lists the changed files: an ignored file may
    /// have been committed once, and a visible directory may contain a hidden file.
    pub(super) fn told(&self, reach: &Reach, paths: &[String]) -> Result<String, String> {
        let named = self.named(reach, paths)?;
        let hidden = match named.hidden {
            0 => String::new(),
            1 => "[1 file is left out: it is ignored by git or belongs to it]\n".to_owned(),
            several => format!("[{several} files are left out: they are ignored by git or belong to it]\n"),
        };
        let mut arguments = self.arguments(self.how);
        match named.seen.as_slice() {
            [] if self.command == "diff" && !hidden.is_empty() => return Ok(hidden),
            // Without a path git would show all files.
            [] => arguments.insert(1, "--no-patch".into()),
            seen => arguments.extend(seen.iter().cloned()),
        }
        let cut = if named.is_cut { "[cut; ask for less]\n" } else { "" };
        Ok(git::run_by_content(reach, &arguments)? + &hidden + cut)
    }

    /// Lists the changed files. A renamed file has both names, because either may be the name of a secret
    /// file.
    fn named(&self, reach: &Reach, paths: &[String]) -> Result<Named, String> {
        let mut arguments = self.arguments(&["--name-only", "-z", "--no-renames"]);
        if self.command == "show" {
            arguments.insert(1, "--format=".into());
        }
        arguments.extend(paths.iter().map(OsString::from));
        let said = git::said(reach, &arguments)?;
        // The last name may be incomplete.
        let whole =
            if said.len() > LONGEST { said.rsplitn(2, |byte| *byte == 0).nth(1) } else { Some(&said[..]) };
        let mut named = Named { is_cut: said.len() > LONGEST, ..Named::default() };
        let mut length = 0;
        for name in whole.unwrap_or_default().split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            reach.halt.check()?;
            if reach.allowed(&String::from_utf8_lossy(name)).is_err() {
                named.hidden += 1;
            } else if length <= ROOM {
                length += name.len();
                named.seen.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(named)
    }

    fn arguments(&self, how: &[&str]) -> Vec<OsString> {
        let options = ["--end-of-options"];
        let words = [&[self.command], &HELD[..], how, &options, self.of, &["--"]].concat();
        words.into_iter().map(OsString::from).collect()
    }
}

/// Maximum length of all names. Each file's header contains its name twice, so more names would be cut
/// anyway.
const ROOM: usize = LONGEST / 2;

#[derive(Default)]
struct Named {
    /// Files that a model may see, from the working directory.
    seen: Vec<OsString>,
    /// Number of files that it may not see.
    hidden: usize,
    is_cut: bool,
}

//! What differs between revisions, in the files that a model may see.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::page::LONGEST;
use super::{Reach, git};

pub(super) struct Comparison<'a> {
    pub(super) command: &'a str,
    /// Flags that only matter where it is shown.
    pub(super) how: &'a [&'a str],
    pub(super) of: &'a [&'a str],
}

/// What holds in every comparison, whatever the configuration says. No git is started inside a submodule: that one has a
/// configuration of its own.
const HELD: [&str; 5] = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--relative"];

impl Comparison<'_> {
    /// Tells it, of the files below these paths. Which files differ is asked first: one that is ignored now may have been
    /// committed once, and a directory that may be seen can hold one that may not.
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
            // Without a path git would show all of them.
            [] => arguments.insert(1, "--no-patch".into()),
            seen => arguments.extend(seen.iter().cloned()),
        }
        let cut = if named.is_cut { "[cut; ask for less]\n" } else { "" };
        Ok(git::run_by_content(reach, &arguments)? + &hidden + cut)
    }

    /// The files that differ. A renamed one is named twice, since either name may be that of a secret.
    fn named(&self, reach: &Reach, paths: &[String]) -> Result<Named, String> {
        let mut arguments = self.arguments(&["--name-only", "-z", "--no-renames"]);
        if self.command == "show" {
            arguments.insert(1, "--format=".into());
        }
        arguments.extend(paths.iter().map(OsString::from));
        let said = git::said(reach, &arguments)?;
        // The last name may be half of one.
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

/// What stands above each file holds its name twice, so more of them than this would be cut anyway.
const ROOM: usize = LONGEST / 2;

#[derive(Default)]
struct Named {
    /// Those that a model may see, from the working directory.
    seen: Vec<OsString>,
    /// How many it may not.
    hidden: usize,
    /// There are more of both.
    is_cut: bool,
}

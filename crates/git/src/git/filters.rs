//! Filters: programs that git runs on file content when it compares files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use super::{Error, Git};

/// The keys of a filter that name programs.
const PROGRAMS: [&str; 3] = ["clean", "smudge", "process"];

/// A key and its value. Neither need be UTF-8, and a key may contain anything.
pub(super) type Setting = (OsString, OsString);

/// Returns settings that reset every filter of the repository to the user's own configuration, which mostly
/// has none.
pub(super) fn held(git: &Git) -> Result<Vec<Setting>, Error> {
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    match git.run("config", &["--null", "--show-scope", "--includes", "--get-regexp", pattern]) {
        Ok(said) => Ok(settings(&said)),
        // There are none.
        Err(Error::Refused { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Parses the scope and `key\nvalue`, each ended by NUL.
fn settings(said: &[u8]) -> Vec<Setting> {
    let mut parts = said.split(|byte| *byte == 0);
    let (mut own, mut foreign) = (BTreeMap::new(), Vec::new());
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) =
            parted(entry, entry.iter().position(|byte| *byte == b'\n')).unwrap_or((entry, b"true"));
        let Some(rest) = key.strip_prefix(b"filter.") else { continue };
        let Some((name, kind)) = parted(rest, rest.iter().rposition(|byte| *byte == b'.')) else { continue };
        match scope {
            b"global" | b"system" => {
                own.insert((name, kind), value);
            }
            _ => foreign.push(name),
        }
    }
    foreign.sort_unstable();
    foreign.dedup();
    let mut held = Vec::new();
    for name in foreign {
        for (kind, usual) in PROGRAMS.into_iter().map(|kind| (kind, "")).chain([("required", "false")]) {
            let value = own.get(&(name, kind.as_bytes())).copied().unwrap_or(usual.as_bytes());
            let key = [b"filter.", name, b".", kind.as_bytes()].concat();
            held.push((OsString::from_vec(key), OsString::from_vec(value.to_vec())));
        }
    }
    held
}

/// Splits bytes before and after a position.
fn parted(bytes: &[u8], at: Option<usize>) -> Option<(&[u8], &[u8])> {
    at.map(|at| (&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_the_repository_is_what_the_user_says_of_it() {
        let said = "global\0filter.lfs.clean\ngit-lfs clean\0global\0filter.lfs.required\ntrue\0\
                    local\0filter.evil.clean\nrm -rf\0worktree\0filter.lfs.process\nevil\0local\0filter.a=b.clean\nx\0";
        let held = settings(said.as_bytes());
        let shown = held.iter().map(|(key, value)| format!("{} is {:?}", key.display(), value));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                r#"filter.a=b.clean is """#,
                r#"filter.a=b.smudge is """#,
                r#"filter.a=b.process is """#,
                r#"filter.a=b.required is "false""#,
                r#"filter.evil.clean is """#,
                r#"filter.evil.smudge is """#,
                r#"filter.evil.process is """#,
                r#"filter.evil.required is "false""#,
                r#"filter.lfs.clean is "git-lfs clean""#,
                r#"filter.lfs.smudge is """#,
                r#"filter.lfs.process is """#,
                r#"filter.lfs.required is "true""#,
            ]
        );
        assert!(settings(b"global\0filter.lfs.clean\ngit-lfs clean\0").is_empty());
        assert!(settings(b"").is_empty());
    }
}

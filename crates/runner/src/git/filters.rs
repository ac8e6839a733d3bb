//! Filters: programs that git runs over the content of files whenever it compares them.

use std::collections::BTreeMap;

use super::{Error, Git};

/// The keys of a filter that name programs.
const PROGRAMS: [&str; 3] = ["clean", "smudge", "process"];

/// Settings by which every filter that a repository itself describes is what the user's own configuration says of it:
/// nothing, mostly.
pub(super) fn held(git: &Git) -> Result<Vec<String>, Error> {
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    let said = match git.run("config", &["--null", "--show-scope", "--includes", "--get-regexp", pattern]) {
        Ok(said) => said,
        // There are none.
        Err(Error::Refused { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&said);
    Ok(settings(&text))
}

/// Scope and `key\nvalue`, each ended by a NUL.
fn settings(said: &str) -> Vec<String> {
    let mut parts = said.split('\0');
    let (mut own, mut foreign) = (BTreeMap::new(), Vec::new());
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let Some((name, kind)) = key.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')) else {
            continue;
        };
        match scope {
            "global" | "system" => {
                own.insert((name.to_owned(), kind.to_owned()), value.to_owned());
            }
            _ => foreign.push(name.to_owned()),
        }
    }
    foreign.sort();
    foreign.dedup();
    let mut held = Vec::new();
    for name in foreign {
        let said = |kind: &str| own.get(&(name.clone(), kind.to_owned())).cloned();
        held.extend(
            PROGRAMS.iter().map(|kind| format!("filter.{name}.{kind}={}", said(kind).unwrap_or_default())),
        );
        held.push(format!("filter.{name}.required={}", said("required").unwrap_or("false".to_owned())));
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_the_repository_is_what_the_user_says_of_it() {
        let said = "global\0filter.lfs.clean\ngit-lfs clean\0global\0filter.lfs.required\ntrue\0\
                    local\0filter.evil.clean\nrm -rf\0worktree\0filter.lfs.process\nevil\0";
        assert_eq!(
            settings(said),
            [
                "filter.evil.clean=",
                "filter.evil.smudge=",
                "filter.evil.process=",
                "filter.evil.required=false",
                "filter.lfs.clean=git-lfs clean",
                "filter.lfs.smudge=",
                "filter.lfs.process=",
                "filter.lfs.required=true",
            ]
        );
        assert!(settings("global\0filter.lfs.clean\ngit-lfs clean\0").is_empty());
        assert!(settings("").is_empty());
    }
}

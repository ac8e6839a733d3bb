//! Where the history of a shallow clone ends.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::regular;
use crate::git;
use crate::git::command::{Environment, feed};

/// The commits at which history ends, one in each line. Anybody can write that file, and whoever names a commit there hides all that came
/// before it: so it counts only of those with a parent that is not here.
pub(super) fn ends(common: &Path, environment: &Environment) -> Result<String, git::Error> {
    let Ok(said) = regular::read(&common.join("shallow")) else { return Ok(String::new()) };
    let said = String::from_utf8_lossy(&said);
    let named: Vec<&str> = said.lines().filter(|line| is_id(line)).collect();
    let found = ask(common, environment, "--batch", &named)?;
    let mut rest = found.as_slice();
    let parents: Vec<Vec<String>> = named.iter().map(|_| next(&mut rest).unwrap_or_default()).collect();
    let all: Vec<&str> = parents.iter().flatten().map(String::as_str).collect();
    let here = ask(common, environment, "--batch-check", &all)?;
    let here = String::from_utf8_lossy(&here);
    let missing: BTreeSet<&str> = here.lines().filter_map(|line| line.strip_suffix(" missing")).collect();
    let is_end = |parents: &[String]| parents.iter().any(|parent| missing.contains(parent.as_str()));
    let ends = named.iter().zip(&parents).filter(|(_, parents)| is_end(parents));
    Ok(ends.map(|(commit, _)| format!("{commit}\n")).collect())
}

fn is_id(line: &str) -> bool {
    line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The parents of the next commit that git tells of; nothing of what is none.
fn next(rest: &mut &[u8]) -> Option<Vec<String>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (head, behind) = rest.split_at(end);
    *rest = &behind[1..];
    let head = String::from_utf8_lossy(head).into_owned();
    let (kind, size) = head.split_once(' ')?.1.split_once(' ')?;
    let size: usize = size.parse().ok()?;
    let content = rest.get(..size)?;
    // A line break is put behind each.
    *rest = rest.get(size + 1..).unwrap_or_default();
    let content = String::from_utf8_lossy(content);
    let header = content.lines().take_while(|line| !line.is_empty());
    let parents = header.filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned);
    (kind == "commit").then(|| parents.collect())
}

/// What git tells of these objects. Of the repository only the objects are asked: its own idea of where history ends is what is in question.
fn ask(common: &Path, environment: &Environment, how: &str, objects: &[&str]) -> Result<Vec<u8>, git::Error> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let mut git: Command = environment.git();
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").current_dir(common);
    git.arg("--git-dir").arg(common).args(["cat-file", how]);
    feed(&mut git, "cat-file", format!("{}\n", objects.join("\n")).as_bytes())
}

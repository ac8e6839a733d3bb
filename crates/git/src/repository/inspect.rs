//! Inspects everything that would be delivered.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};

use memchr::memmem;

use super::checkout::Copied;
use super::private::Private;
use super::{Base, Error, Problem, Repository, lists};
use crate::git;
use crate::git::command::{output, stream};

/// Size limit for a file. Forges warn about larger files, and a history never loses them.
const LARGEST: u64 = 50_000_000;
/// Buffer size for reading objects.
const AT_ONCE: usize = 64 * 1024;

/// The content to deliver: a tree on top of the commits of a branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) base: &'a Base,
    pub(super) tip: &'a str,
    pub(super) tree: &'a str,
}

struct Object {
    id: String,
    kind: String,
}

impl Repository {
    /// Returns the first problem that prevents delivery.
    pub(super) fn inspect(
        &self,
        private: &Private<'_>,
        outgoing: Outgoing<'_>,
        copied: &[String],
        secrets: &[Vec<u8>],
    ) -> Result<Option<Problem>, Error> {
        if let Some(problem) = new_pointers(private, outgoing)? {
            return Ok(Some(problem));
        }
        if let Some(found) = committed_copy(private, outgoing, &Copied::new(copied, &self.frozen))? {
            return Ok(Some(Problem::Secret { found }));
        }
        let Outgoing { base, tip, tree } = outgoing;
        // Exclude the commit and its tree. With the commit alone, git may list objects of that tree again.
        let (before, files) = (format!("^{}", base.commit), format!("^{}^{{tree}}", base.commit));
        let objects = private.run("rev-list", ["--objects", tip, tree, &before, &files])?;
        let objects = String::from_utf8_lossy(&objects).into_owned();
        let objects: BTreeMap<&str, &str> =
            objects.lines().map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
        let sizes = sizes(private, &objects)?;
        let sizes: Vec<(&str, u64)> = sizes.iter().map(|(id, size)| (id.as_str(), *size)).collect();
        if let Some(problem) = large_file(&sizes, &objects) {
            return Ok(Some(problem));
        }
        let secrets: Vec<memmem::Finder<'_>> =
            secrets.iter().filter(|secret| !secret.is_empty()).map(memmem::Finder::new).collect();
        if secrets.is_empty() {
            return Ok(None);
        }
        let found = first_with(private, objects.keys().copied(), &secrets)?;
        let named = found.map(|Object { id, kind }| {
            let path = objects.get(id.as_str()).copied().unwrap_or_default();
            match kind.as_str() {
                "blob" => format!("`{path}`"),
                "tree" => format!("the name of a file in `{path}/`"),
                _ => format!("the message of commit {id}"),
            }
        });
        Ok(named.map(|found| Problem::Secret { found }))
    }
}

/// Returns pointers to other repositories that the base lacks. It is unknown whether a server has their
/// commits, and an address in `.gitmodules` proves nothing. A pointer is allowed only if the base already has
/// the same one at another path.
pub(super) fn new_pointers(private: &Private<'_>, outgoing: Outgoing<'_>) -> Result<Option<Problem>, Error> {
    let flags =
        ["-r", "-z", "--raw", "--no-renames", "--end-of-options", &outgoing.base.commit, outgoing.tree];
    let said = private.run("diff-tree", flags)?;
    let mut parts = said.split(|byte| *byte == 0);
    let mut pointers = Vec::new();
    while let (Some(entry), Some(path)) = (parts.next(), parts.next()) {
        let is_pointer = |mode: Option<&[u8]>| mode == Some(b"160000");
        // The columns: mode before, mode after, object before, object after.
        let mut columns = entry.strip_prefix(b":").unwrap_or(entry).split(|byte| *byte == b' ');
        if !is_pointer(columns.next()) && is_pointer(columns.next()) {
            let to = columns.nth(1).unwrap_or_default();
            pointers.push((path.to_vec(), to.to_vec()));
        }
    }
    if pointers.is_empty() {
        return Ok(None);
    }
    let base = private.run("ls-tree", ["-r", "-z", "--end-of-options", &outgoing.base.commit])?;
    let known = |to: &[u8]| {
        lists::split(&base)
            .any(|entry| entry.strip_prefix(b"160000 commit ").is_some_and(|at| at.starts_with(to)))
    };
    let new: Vec<Vec<u8>> = pointers.into_iter().filter(|(_, to)| !known(to)).map(|(path, _)| path).collect();
    if new.is_empty() {
        return Ok(None);
    }
    let (called, bare): (Vec<Vec<u8>>, Vec<Vec<u8>>) = {
        let called = submodules(private, outgoing.tree)?;
        new.into_iter().partition(|path| called.contains(path))
    };
    let paths = |all: Vec<Vec<u8>>| all.iter().map(|path| lists::path(path).to_owned()).collect();
    Ok(Some(if bare.is_empty() {
        Problem::NewSubmodule { paths: paths(called) }
    } else {
        Problem::EmbeddedRepository { paths: paths(bare) }
    }))
}

/// Returns the submodule paths in the `.gitmodules` of a tree.
fn submodules(private: &Private<'_>, tree: &str) -> Result<Vec<Vec<u8>>, Error> {
    let modules = format!("{tree}:.gitmodules");
    let arguments = ["--blob", &modules, "--null", "--get-regexp", r"^submodule\..*\.path$"];
    let said = match private.run("config", arguments) {
        Ok(said) => said,
        // The file does not exist.
        Err(Error::Git(git::Error::Refused { .. })) => Vec::new(),
        Err(error) => return Err(error),
    };
    let value = |entry: &[u8]| Some(entry[entry.iter().position(|byte| *byte == b'\n')? + 1..].to_vec());
    Ok(lists::split(&said).filter_map(value).collect())
}

/// Returns a copied file that an agent's commit or the new commit contains.
fn committed_copy(
    private: &Private<'_>,
    outgoing: Outgoing<'_>,
    copied: &Copied,
) -> Result<Option<String>, Error> {
    let Outgoing { base, tip, tree } = outgoing;
    let flags = ["-r", "-z", "--name-only", "--no-renames", "--end-of-options", &base.commit, tree];
    let changed = private.run("diff-tree", flags)?;
    if let Some(path) = lists::split(&changed).find(|path| copied.holds(path)) {
        return Ok(Some(format!("`{}`, a copied file", lists::path(path).display())));
    }
    let before = format!("^{}", base.commit);
    for (path, specified) in copied.specified() {
        let mut git = private.command("rev-list");
        // A case-insensitive pathspec is not literal.
        git.env_remove("GIT_LITERAL_PATHSPECS");
        // Include a side that a merge discarded: its commits are delivered too.
        git.args(["--max-count=1", "--full-history", tip, &before, "--", &specified]);
        let commit = output(&mut git, "rev-list")?;
        if !commit.is_empty() {
            let commit = String::from_utf8_lossy(&commit);
            return Ok(Some(format!("`{path}`, a copied file, in commit {}", commit.trim_end())));
        }
    }
    Ok(None)
}

fn sizes(private: &Private<'_>, objects: &BTreeMap<&str, &str>) -> Result<Vec<(String, u64)>, Error> {
    let input: String = objects.keys().map(|id| format!("{id}\n")).collect();
    let said = private.feed("cat-file", ["--batch-check=%(objectname) %(objectsize)"], input.as_bytes())?;
    let said = String::from_utf8_lossy(&said);
    let sizes = said.lines().filter_map(|line| line.split_once(' '));
    Ok(sizes.filter_map(|(id, size)| Some((id.to_owned(), size.parse().ok()?))).collect())
}

fn large_file(sizes: &[(&str, u64)], objects: &BTreeMap<&str, &str>) -> Option<Problem> {
    let largest = sizes.iter().max_by_key(|(_, size)| *size).filter(|(_, size)| *size > LARGEST);
    largest.map(|(id, size)| {
        let path = objects.get(id).copied().unwrap_or_default();
        Problem::LargeFile { path: path.to_owned(), size: *size }
    })
}

/// Returns the first object that contains one of the texts: file content, file names or commit messages.
fn first_with<'a>(
    private: &Private<'_>,
    objects: impl Iterator<Item = &'a str>,
    texts: &[memmem::Finder<'_>],
) -> Result<Option<Object>, Error> {
    let mut git = private.command("cat-file");
    git.arg("--batch");
    let input: String = objects.map(|id| format!("{id}\n")).collect();
    let read = |said| search(BufReader::new(said), texts);
    Ok(stream(&mut git, "cat-file", input.as_bytes(), read)?)
}

fn search(
    mut output: impl std::io::BufRead,
    texts: &[memmem::Finder<'_>],
) -> std::io::Result<Option<Object>> {
    let overlap = texts.iter().map(|text| text.needle().len()).max().unwrap_or(1) - 1;
    let mut header = String::new();
    loop {
        header.clear();
        if output.read_line(&mut header)? == 0 {
            return Ok(None);
        }
        let mut words = header.split_whitespace();
        let (Some(id), Some(kind), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(std::io::ErrorKind::InvalidData.into());
        };
        let size = size.parse::<u64>().map_err(|_| std::io::ErrorKind::InvalidData)?;
        if holds(output.by_ref().take(size), texts, overlap)? {
            return Ok(Some(Object { id: id.to_owned(), kind: kind.to_owned() }));
        }
        // The line break after an object.
        output.read_exact(&mut [0])?;
    }
}

/// Searches a stream for texts without loading it whole.
fn holds(mut object: impl Read, texts: &[memmem::Finder<'_>], overlap: usize) -> std::io::Result<bool> {
    let mut window = Vec::with_capacity(AT_ONCE + overlap);
    loop {
        let kept = window.len().saturating_sub(overlap);
        window.drain(..kept);
        if object.by_ref().take(AT_ONCE as u64).read_to_end(&mut window)? == 0 {
            return Ok(false);
        }
        if texts.iter().any(|text| text.find(&window).is_some()) {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_found_wherever_it_lies(before in 0..3 * AT_ONCE, length in 1..40_usize, is_there: bool) {
            let text = vec![b'x'; length];
            let mut object = vec![b'.'; before];
            if is_there {
                object.extend(&text);
            }
            object.extend([b'.'; 100]);
            let found = holds(object.as_slice(), &[memmem::Finder::new(&text)], length - 1).unwrap();
            prop_assert_eq!(found, is_there);
        }
    }
}

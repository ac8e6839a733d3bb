//! Reads the files of a commit without checking it out.

use super::{Error, Git, command};

/// The kind of an entry in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    File,
    Link,
    /// A commit of another repository.
    Submodule,
}

/// The target of a path in a commit. Links are followed inside the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// The content of a file.
    File(Vec<u8>),
    Missing,
    /// A link that leaves the commit, dangles or loops, or an entry other than a file.
    Elsewhere,
}

impl Git {
    /// Lists the entries of a commit except directories: at a path, or below it.
    pub fn committed(
        &self,
        commit: &str,
        paths: &[&str],
        below: Below,
    ) -> Result<Vec<(String, Committed)>, Error> {
        let flags: &[&str] = match below {
            Below::Too => &["-r", "-z", "--full-tree", "--end-of-options", commit, "--"],
            Below::Not => &["-z", "--full-tree", "--end-of-options", commit, "--"],
        };
        let said = self.run("ls-tree", &[flags, paths].concat())?;
        let mut found = Vec::new();
        for entry in said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry).into_owned();
            let (about, path) = entry.split_once('\t').ok_or(Error::Unreadable { command: "ls-tree" })?;
            let kind = match about.split(' ').next() {
                Some("120000") => Committed::Link,
                Some("160000") => Committed::Submodule,
                Some("040000") => continue,
                Some(_) | None => Committed::File,
            };
            found.push((path.to_owned(), kind));
        }
        Ok(found)
    }

    pub fn followed(&self, commit: &str, path: &str) -> Result<Followed, Error> {
        // A line is one query.
        if path.contains('\n') {
            return Ok(Followed::Elsewhere);
        }
        let mut git = self.command("cat-file");
        let input = format!("{commit}:{path}\n");
        let said = command::feed(git.args(["--batch", "--follow-symlinks"]), "cat-file", input.as_bytes())?;
        let unreadable = || Error::Unreadable { command: "cat-file" };
        let end = said.iter().position(|byte| *byte == b'\n').ok_or_else(unreadable)?;
        let head = String::from_utf8_lossy(&said[..end]).into_owned();
        if head.ends_with(" missing") {
            return Ok(Followed::Missing);
        }
        let mut about = head.split(' ').skip(1);
        let (kind, size) = (about.next(), about.next().and_then(|size| size.parse::<usize>().ok()));
        match (kind, size) {
            (Some("blob"), Some(size)) => {
                let content = said.get(end + 1..end + 1 + size).ok_or_else(unreadable)?;
                Ok(Followed::File(content.to_vec()))
            }
            _ => Ok(Followed::Elsewhere),
        }
    }
}

/// Selects whether entries below a path count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Too,
    Not,
}

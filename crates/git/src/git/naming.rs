//! Resolves the name of a revision.
//!
//! Git prefers a tag to a branch of the same name and only warns. Tags arrive with every fetch, so a tag
//! `main` at the commit under review would leave nothing to review. An ambiguous name is therefore an error.

use super::{Error, Git};

const BRANCHES: &str = "refs/heads/";
const REMOTES: &str = "refs/remotes/";

/// A branch, by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch(String);

impl Branch {
    pub fn local(name: &str) -> Self {
        Self(format!("{BRANCHES}{name}"))
    }

    pub fn full(&self) -> &str {
        &self.0
    }

    /// Returns the short name: `main`, `origin/main`.
    pub fn short(&self) -> &str {
        let name = self.0.strip_prefix(BRANCHES).or_else(|| self.0.strip_prefix(REMOTES));
        name.unwrap_or(&self.0)
    }
}

impl Git {
    /// Returns the commit of a revision.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, Error> {
        if revision.is_empty() || revision.starts_with('-') {
            return Ok(None);
        }
        let meanings = self.meanings(revision)?;
        if meanings.len() > 1 {
            return Err(Error::Ambiguous { name: revision.to_owned(), meanings });
        }
        let commit = format!("{revision}^{{commit}}");
        self.ask("rev-parse", &["--verify", "--quiet", "--end-of-options", &commit])
    }

    /// Returns every ref that the name in a revision could mean. Returns none for a full ref name or HEAD.
    fn meanings(&self, revision: &str) -> Result<Vec<String>, Error> {
        let end = revision.find(['~', '^', ':']).into_iter().chain(revision.find("@{")).min();
        let name = &revision[..end.unwrap_or(revision.len())];
        if name.is_empty() || name == "HEAD" || name.starts_with("refs/") {
            return Ok(Vec::new());
        }
        let possible = [
            format!("refs/{name}"),
            format!("{BRANCHES}{name}"),
            format!("{REMOTES}{name}"),
            format!("{REMOTES}{name}/HEAD"),
            format!("refs/tags/{name}"),
        ];
        let asked: Vec<&str> = possible.iter().map(String::as_str).collect();
        let said = self.say("for-each-ref", &[&["--format=%(refname)", "--"], &asked[..]].concat())?;
        // Git also lists refs below the name.
        let there: Vec<&str> = said.lines().collect();
        Ok(possible.into_iter().filter(|reference| there.contains(&reference.as_str())).collect())
    }

    /// Returns the default branch of a remote.
    pub fn remote_default(&self, remote: &str) -> Result<Option<Branch>, Error> {
        let reference = format!("{REMOTES}{remote}/HEAD");
        Ok(self.ask("symbolic-ref", &["--quiet", &reference])?.map(Branch))
    }

    /// Returns the branch that is checked out, or `None` for a detached HEAD.
    pub fn branch(&self) -> Result<Option<String>, Error> {
        let branch = self.ask("symbolic-ref", &["--quiet", "HEAD"])?.map(Branch);
        Ok(branch.map(|branch| branch.short().to_owned()))
    }
}

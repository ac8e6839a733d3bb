//! The project's remote repository, determined without contacting it.

use std::path::Path;

use saihai_connect::{Connections, program, remote};

/// A repository on a forge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The host name in lower case.
    pub(crate) host: String,
    pub(crate) name: String,
}

const GITHUB: &str = "github.com";
/// The environment variable that names a GitHub Enterprise server for `gh`.
pub(crate) const OWN_HOST: &str = "GH_HOST";

impl Repository {
    /// Returns the remote with this name, or otherwise any remote. Returns nothing without git or without a remote.
    pub(crate) async fn of_project(root: &Path, name: &str, with: &Connections) -> Option<Self> {
        let (git, _) = program("git", with).await?;
        Self::of(&remote(&git, root, name, with).await?)
    }

    /// Returns true for GitHub and for the server in `GH_HOST`.
    pub(crate) fn is_on_github(&self, with: &Connections) -> bool {
        let own =
            with.environment.iter().find(|(name, _)| name == OWN_HOST).and_then(|(_, value)| value.to_str());
        self.host == GITHUB || own.is_some_and(|own| own.eq_ignore_ascii_case(&self.host))
    }

    /// Parses the address of a remote. Always drops a user or a password.
    pub(crate) fn of(address: &str) -> Option<Self> {
        let (place, path) = match address.split_once("://") {
            Some(("https" | "http" | "ssh" | "git", rest)) => rest.split_once('/')?,
            Some(_) => return None,
            // The `scp` form. A local path has a slash before any colon.
            None => address.split_once(':').filter(|(place, _)| !place.contains('/'))?,
        };
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        let host = host.split_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
        let name = path.trim_matches('/');
        let name = name.strip_suffix(".git").unwrap_or(name);
        let parts: Vec<&str> = name.split('/').collect();
        let is_whole = parts.len() >= 2 && parts.iter().all(|part| !part.is_empty()) && !host.is_empty();
        is_whole.then(|| Self { host, name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-86
    #[test]
    fn a_repository_is_known_by_its_address_and_no_secret_in_it_is_kept() {
        let check = |address: &str, expected: Option<(&str, &str)>| {
            let found = Repository::of(address);
            let found = found.as_ref().map(|found| (found.host.as_str(), found.name.as_str()));
            assert_eq!(found, expected, "{address}");
        };
        let ours = Some(("github.com", "me/tool"));
        check("https://github.com/me/tool.git", ours);
        check("https://me:secret@GitHub.com/me/tool", ours);
        check("git@github.com:me/tool.git", ours);
        check("ssh://git@github.com:22/me/tool/", ours);
        check("https://gitlab.com/a/b/c.git", Some(("gitlab.com", "a/b/c")));
        check("/srv/git/tool.git", None);
        check("../tool", None);
        check("file:///srv/git/tool.git", None);
        check("https://github.com/tool", None);
        check("", None);
    }
}

//! The forge of the project, as far as it can be known without asking it.

use std::path::Path;

use saihai_connect::{Connections, program, remote};
use serde::Serialize;

use crate::terminal::visible_line;

/// What is known of the forge.
pub(super) struct Forge {
    repository: Option<Repository>,
    /// Whether it is on GitHub, or on a server of one's own that is known to be like it.
    is_github: bool,
    /// Whether the variable with a token for it holds something.
    has_token: bool,
    /// Whether there is a program that can be asked for one.
    has_gh: bool,
}

/// A repository of a forge.
#[derive(Debug, PartialEq, Eq)]
struct Repository {
    host: String,
    /// `owner/name`.
    name: String,
}

/// The variable in which a token is looked for.
const TOKEN: &str = "GITHUB_TOKEN";
const GITHUB: &str = "github.com";
/// The variable in which `gh` is told of a server of one's own.
const OWN_HOST: &str = "GH_HOST";

impl Forge {
    pub(super) async fn of(git: Option<&Path>, directory: &Path, with: &Connections) -> Self {
        let address = match git {
            Some(git) => remote(git, directory, with).await,
            None => None,
        };
        let is_filled =
            |name: &str| with.environment.iter().any(|(this, value)| this == name && !value.is_empty());
        let repository = address.as_deref().and_then(Repository::of);
        Self {
            is_github: repository.as_ref().is_some_and(|repository| is_github(&repository.host, with)),
            repository,
            has_token: is_filled(TOKEN),
            has_gh: program("gh", with).await.is_some(),
        }
    }

    pub(super) fn line(&self) -> String {
        let Some(Repository { host, name }) = &self.repository else {
            return "there is no remote repository here to take issues from".to_owned();
        };
        let shown = format!("`{}` at `{}`", visible_line(name), visible_line(host));
        let token = match (self.has_token, self.has_gh) {
            _ if !self.is_github => {
                return format!(
                    "the remote repository {shown} is not on GitHub; if `{}` is a GitHub of your own, set `{OWN_HOST}`",
                    visible_line(host)
                );
            }
            (true, _) => format!("`{TOKEN}` is set"),
            (false, true) => format!("`{TOKEN}` is not set, and `gh` can be asked for a token"),
            (false, false) => format!("neither is `{TOKEN}` set nor `gh` there to be asked for a token"),
        };
        format!("the remote repository is {shown}; {token}")
    }

    pub(super) fn object(&self) -> ForgeObject<'_> {
        let repository = self.repository.as_ref();
        ForgeObject {
            host: repository.map(|repository| repository.host.as_str()),
            repository: repository.map(|repository| repository.name.as_str()),
            github: self.is_github,
            token: self.has_token.then_some(TOKEN),
            gh: self.has_gh,
        }
    }
}

/// Whether a host is GitHub's, or the one that `gh` is told of.
fn is_github(host: &str, with: &Connections) -> bool {
    let own =
        with.environment.iter().find(|(name, _)| name == OWN_HOST).and_then(|(_, value)| value.to_str());
    host == GITHUB || own.is_some_and(|own| own.eq_ignore_ascii_case(host))
}

impl Repository {
    /// Reads the address of a remote. A user or a password in it is left out, whatever else is wrong with it.
    fn of(address: &str) -> Option<Self> {
        let (place, path) = match address.split_once("://") {
            Some(("https" | "http" | "ssh" | "git", rest)) => rest.split_once('/')?,
            Some(_) => return None,
            // As `scp` has it; a path of this machine has a slash before any colon.
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

#[derive(Serialize)]
pub(super) struct ForgeObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<&'a str>,
    github: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    gh: bool,
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

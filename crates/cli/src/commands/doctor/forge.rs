//! The project's forge, determined without contacting it.

use std::path::Path;

use saihai_connect::{Connections, program, remote};
use serde::Serialize;

use crate::repository::{OWN_HOST, Repository};
use crate::terminal::visible_line;

pub(super) struct Forge {
    repository: Option<Repository>,
    /// True for GitHub and for a known GitHub Enterprise server.
    is_github: bool,
    /// True if the token variable is not empty.
    has_token: bool,
    /// True if the `gh` program exists, which can supply a token.
    has_gh: bool,
}

/// The environment variable with the token.
const TOKEN: &str = "GITHUB_TOKEN";

impl Forge {
    pub(super) async fn of(git: Option<&Path>, directory: &Path, with: &Connections) -> Self {
        let address = match git {
            Some(git) => remote(git, directory, "origin", with).await,
            None => None,
        };
        let is_filled =
            |name: &str| with.environment.iter().any(|(this, value)| this == name && !value.is_empty());
        let repository = address.as_deref().and_then(Repository::of);
        Self {
            is_github: repository.as_ref().is_some_and(|repository| repository.is_on_github(with)),
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

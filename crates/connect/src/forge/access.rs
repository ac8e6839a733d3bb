//! Access to a forge: its address, a repository there, and our token.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use reqwest::Url;
use saihai_model::{Millis, RepositoryName};

use super::transport::AnswerCache;
use crate::doctor::probe;
use crate::http::client::{is_loopback, same_origin};
use crate::process::{self, allowed_variables};
use crate::{Clock, RealTime};

/// Everything needed to talk to one repository. Clones share the answer cache.
#[derive(Clone)]
pub struct ForgeAccess {
    pub address: ForgeAddress,
    pub repository: RepositoryName,
    pub token: ForgeToken,
    /// Time limit for one request, including its redirects.
    pub deadline: Millis,
    /// Measures the pauses between attempts.
    pub clock: Arc<dyn Clock>,
    pub(super) answers: Arc<AnswerCache>,
}

impl ForgeAccess {
    /// Returns access with the usual deadline and the real clock.
    pub fn new(address: ForgeAddress, repository: RepositoryName, token: ForgeToken) -> Self {
        let (clock, answers) = (Arc::new(RealTime), Arc::default());
        Self { address, repository, token, deadline: Millis::seconds(60), clock, answers }
    }

    /// Returns the same access for another repository of the forge.
    #[must_use]
    pub fn to(self, repository: RepositoryName) -> Self {
        Self { repository, ..self }
    }
}

/// The base URL of a forge's API. It is encrypted or on this machine, so a token can be sent there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeAddress(Url);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeAddressError {
    #[error("`{0}` is not the address of a server")]
    NotAnAddress(String),
    #[error("`{0}` is not encrypted; `http:` is for this machine alone")]
    NotEncrypted(String),
}

impl ForgeAddress {
    /// Parses an address such as `https://api.github.com`.
    pub fn parse(text: &str) -> Result<Self, ForgeAddressError> {
        let wrong = || ForgeAddressError::NotAnAddress(text.to_owned());
        let url = Url::parse(text.trim_end_matches('/')).map_err(|_| wrong())?;
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_plain || url.host_str().is_none() || !matches!(url.scheme(), "http" | "https") {
            return Err(wrong());
        }
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(ForgeAddressError::NotEncrypted(text.to_owned()));
        }
        Ok(Self(url))
    }

    /// Returns the host under which programs keep their logins: the host of the web pages, not of the API.
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        if host == "api.github.com" { "github.com" } else { host }
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the URL of an API path.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_str().trim_end_matches('/'))
    }

    /// Returns the URL of the GraphQL API. On servers with a versioned API it is next to the version.
    pub(super) fn graphql(&self) -> String {
        let base = self.0.as_str().trim_end_matches('/');
        format!("{}/graphql", base.strip_suffix("/v3").unwrap_or(base))
    }

    pub(super) fn has_origin_of(&self, other: &Url) -> bool {
        same_origin(&self.0, other)
    }
}

/// The variable with the highest priority for a token.
const TOKEN_VARIABLE: &str = "GITHUB_TOKEN";

/// Variables that `gh` needs to find its logins, in addition to the common ones.
const VARIABLES_OF_GH: [&str; 2] = ["GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// A secret. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct ForgeToken(String);

impl ForgeToken {
    /// Returns none if the text cannot be a token.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned()))
    }

    /// Returns the secret itself, for the request header and for redaction.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ForgeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeTokenError {
    #[error(
        "no token for `{host}`; set `{TOKEN_VARIABLE}`, or log in with `gh auth login --hostname {host}`"
    )]
    Missing { host: String },
    #[error("the token in `{TOKEN_VARIABLE}` has characters that no token has")]
    Malformed,
}

/// Finds the token for a host: in the variable, or from `gh`.
pub async fn find_token(host: &str, ours: &[(OsString, OsString)]) -> Result<ForgeToken, ForgeTokenError> {
    let value =
        |wanted: &str| ours.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str());
    if let Some(text) = value(TOKEN_VARIABLE).filter(|value| !value.is_empty()) {
        return text.to_str().and_then(ForgeToken::new).ok_or(ForgeTokenError::Malformed);
    }
    let missing = || ForgeTokenError::Missing { host: host.to_owned() };
    let program = process::find("gh", value("PATH")).map_err(|_| missing())?;
    let given = allowed_variables(ours, &VARIABLES_OF_GH.map(str::to_owned));
    let said = probe(&program, &["auth", "token", "--hostname", host], given).await.ok_or_else(missing)?;
    let first = said.output.lines().next().filter(|_| said.code == Some(0));
    first.and_then(ForgeToken::new).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_encrypted_or_on_this_machine() {
        let check = |text: &str, expected: &str| {
            let read = ForgeAddress::parse(text).map(|address| address.at("/user"));
            assert_eq!(read.unwrap_or_else(|error| error.to_string()), expected);
        };
        check("https://api.github.com", "https://api.github.com/user");
        check("https://ghe.example/api/v3/", "https://ghe.example/api/v3/user");
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/user");
        check("http://[::1]:8080", "http://[::1]:8080/user");
        check("http://localhost", "http://localhost/user");
        check(
            "http://example.org",
            "`http://example.org` is not encrypted; `http:` is for this machine alone",
        );
        check(
            "http://127.0.0.1.example.org",
            "`http://127.0.0.1.example.org` is not encrypted; `http:` is for this machine alone",
        );
        for none in ["api.github.com", "ftp://127.0.0.1", "https://me:pw@x.org", "https://x.org/?a", ""] {
            check(none, &format!("`{none}` is not the address of a server"));
        }
    }

    #[test]
    fn logins_and_graphql_have_addresses_of_their_own() {
        let parse = |text| ForgeAddress::parse(text).expect("an address");
        assert_eq!(parse("https://api.github.com").host(), "github.com");
        assert_eq!(parse("https://ghe.example/api/v3").host(), "ghe.example");
        assert_eq!(parse("https://ghe.example/api/v3").graphql(), "https://ghe.example/api/graphql");
        assert_eq!(parse("https://api.github.com").graphql(), "https://api.github.com/graphql");
    }
}

//! Who we are to a forge.

use std::ffi::OsString;
use std::fmt;

use crate::doctor::probe;
use crate::{environment, process};

/// The variable in which a token is looked for.
const VARIABLE: &str = "GITHUB_TOKEN";

/// What a program that keeps logins needs beside what every program is given.
const FOR_GH: [&str; 2] = ["GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// A secret that says who we are. It is shown nowhere, not even to whoever looks for a mistake.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token, if the text can be one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned()))
    }

    /// The secret itself: for the one header it is sent in, and for those who keep it out of everything else.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// There is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// Nobody has one.
    #[error(
        "there is no token for `{host}`; set `{VARIABLE}`, or log in with `gh auth login --hostname {host}`"
    )]
    Missing {
        /// For which host.
        host: String,
    },
    /// What was found cannot be one.
    #[error("the token in `{VARIABLE}` has characters that no token has")]
    Bad,
}

/// The token for a host: that of the variable, else the one `gh` keeps for it.
///
/// # Errors
/// There is none.
pub async fn find_token(host: &str, ours: &[(OsString, OsString)]) -> Result<Token, NoToken> {
    let value =
        |wanted: &str| ours.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str());
    if let Some(text) = value(VARIABLE).filter(|value| !value.is_empty()) {
        return text.to_str().and_then(Token::new).ok_or(NoToken::Bad);
    }
    let missing = || NoToken::Missing { host: host.to_owned() };
    let program = process::find("gh", value("PATH")).map_err(|_| missing())?;
    let given = environment::allowed(ours, &FOR_GH.map(str::to_owned));
    let said = probe(&program, &["auth", "token", "--hostname", host], given).await.ok_or_else(missing)?;
    let first = said.output.lines().next().filter(|_| said.code == Some(0));
    first.and_then(Token::new).ok_or_else(missing)
}

//! Pushes a branch.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use super::private::Private;
use super::{Error, ItemLock, Repository};
use crate::git;
use crate::git::command::{configure, judge, output};
use crate::git::running::{Seat, run};

#[derive(Debug, Clone, Copy)]
pub struct Pushing<'a> {
    /// The address, read before the first agent starts.
    pub url: &'a str,
    pub branch: &'a str,
    pub commit: &'a str,
    /// The token for the forge at this address. It replaces the user's credential helpers.
    pub token: Option<&'a Token>,
}

/// A token for a forge. Git receives it through its environment, never on a command line, and no helper
/// stores it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    secret: String,
    host: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

impl Token {
    pub fn new(text: impl Into<String>, host: impl Into<String>) -> Self {
        Self { secret: text.into(), host: host.into() }
    }

    /// Gives the token to git for an `https` address on its own host only. Agents can change the address of a
    /// remote (I-12).
    pub fn lend(&self, git: &mut Command, url: &str) {
        let Some(rest) = url.strip_prefix("https://") else { return };
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or(host);
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        if !name.eq_ignore_ascii_case(&self.host) {
            return;
        }
        let key = format!("credential.https://{host}.helper");
        // The empty value makes git drop all other helpers.
        configure(git, &key, "");
        configure(git, &key, ANSWER);
        git.env(VARIABLE, &self.secret);
    }
}

/// The environment variable with the token.
const VARIABLE: &str = "SAIHAI_PUSH_TOKEN";
/// A credential helper: prints the password for `get` and ignores other requests.
const ANSWER: &str = "!f() { test \"$1\" = get || exit 0; echo username=x-access-token; \
                      printf 'password=%s\\n' \"$SAIHAI_PUSH_TOKEN\"; }; f";

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has the commit now.
    Done,
    Already,
    /// The remote has other commits, or refuses the push. Nothing was forced.
    Rejected {
        said: String,
    },
    /// The state of the remote is unreadable, and nothing was pushed.
    Unread {
        said: String,
    },
    /// The remote did not answer and does not have the commit.
    Unanswered {
        said: String,
    },
    /// The push went out, and it is unknown whether the remote has the commit.
    Unknown {
        said: String,
    },
}

impl Repository {
    /// Pushes a commit, forward only, from the value that the remote has just reported.
    pub fn push(&self, pushing: Pushing<'_>, lock: &ItemLock) -> Result<Pushed, Error> {
        let private = Private::make(self, None)?;
        let reference = format!("refs/heads/{}", pushing.branch);
        let server = Remote { url: pushing.url, token: pushing.token };
        let remote = match server.tip(&private, &reference)? {
            Ok(remote) => remote,
            Err(said) => return Ok(Pushed::Unread { said }),
        };
        match &remote {
            Some(remote) if remote == pushing.commit => return Ok(Pushed::Already),
            Some(remote) if !self.is_before(&private, remote, pushing.commit)? => {
                let said = format!("`{}` is at {remote} there, which is not part of it", pushing.branch);
                return Ok(Pushed::Rejected { said });
            }
            Some(_) | None => {}
        }
        lock.check()?;
        // The lease makes the push fail if the remote has moved. The check above ensures that it goes
        // forward.
        let seen = format!("--force-with-lease={reference}:{}", remote.unwrap_or_default());
        let refspec = format!("{}:{reference}", pushing.commit);
        let flags = ["--porcelain", "--no-verify", "--no-signed", &seen, "--", pushing.url, &refspec];
        let pushed = run(&mut server.command(&private, "push", &flags), "push", None, Seat::Apart)?;
        let refusal = refusal(&pushed);
        let Err(git::Error::Refused { said, .. }) = judge(pushed, "push") else { return Ok(Pushed::Done) };
        // The commit may have arrived without a confirmation.
        Ok(match (server.tip(&private, &reference)?, refusal) {
            (Ok(Some(remote)), _) if remote == pushing.commit => Pushed::Done,
            (Ok(_), Some(said)) => Pushed::Rejected { said },
            (Ok(_), None) => Pushed::Unanswered { said },
            (Err(said), _) => Pushed::Unknown { said },
        })
    }

    /// Returns true if `earlier` is here and equals `later` or is an ancestor of it.
    pub fn holds(&self, later: &str, earlier: &str) -> Result<bool, Error> {
        self.is_before(&Private::make(self, None)?, earlier, later)
    }

    fn is_before(&self, private: &Private<'_>, earlier: &str, later: &str) -> Result<bool, Error> {
        // A commit that is not here cannot be an ancestor of one that is.
        match private.run("cat-file", ["-e", earlier]) {
            Ok(_) => self.contains(private, later, earlier),
            Err(Error::Git(git::Error::Refused { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the reason for a refused push in the words of the remote. Returns `None` if the connection ended
/// before an answer.
fn refusal(pushed: &Output) -> Option<String> {
    let (said, beside) = (String::from_utf8_lossy(&pushed.stdout), String::from_utf8_lossy(&pushed.stderr));
    // The format: `!`, the refspec, and `[rejected] (why)`.
    let line = said.lines().find_map(|line| line.strip_prefix("!\t"))?;
    let why = line.split_once('\t').map_or(line, |(_, why)| why);
    if why.starts_with("[remote failure]") {
        return None;
    }
    let words = beside.lines().filter_map(|line| line.strip_prefix("remote: ")).map(str::trim);
    let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
    Some(if words.is_empty() { why.to_owned() } else { format!("{why}: {}", words.join(" ")) })
}

/// A server and its token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remote<'a> {
    pub(super) url: &'a str,
    pub(super) token: Option<&'a Token>,
}

impl Remote<'_> {
    /// Runs a command that contacts the server.
    pub(super) fn speak(
        self,
        private: &Private<'_>,
        command: &str,
        arguments: &[&str],
    ) -> Result<Vec<u8>, git::Error> {
        output(&mut self.command(private, command, arguments), command)
    }

    fn command(self, private: &Private<'_>, command: &str, arguments: &[&str]) -> Command {
        let mut git = private.command(command);
        if let Some(token) = self.token {
            token.lend(&mut git, self.url);
        }
        git.args(arguments);
        git
    }

    /// Returns the commit of a ref on the server, or the reason why it is unknown.
    pub(super) fn tip(
        self,
        private: &Private<'_>,
        reference: &str,
    ) -> Result<Result<Option<String>, String>, Error> {
        let found = self.tips(private, &[reference.to_owned()])?;
        Ok(found.map(|mut found| found.remove(reference)))
    }

    /// Returns the commits of several refs, without missing ones.
    pub(super) fn tips(
        self,
        private: &Private<'_>,
        references: &[String],
    ) -> Result<Result<BTreeMap<String, String>, String>, Error> {
        let names = references.iter().map(String::as_str);
        let arguments: Vec<&str> = ["--quiet", "--", self.url].into_iter().chain(names).collect();
        match self.speak(private, "ls-remote", &arguments) {
            Ok(said) => {
                let said = String::from_utf8_lossy(&said);
                let lines = said.lines().filter_map(|line| line.split_once('\t'));
                let pairs = lines.map(|(commit, name)| (name.to_owned(), commit.to_owned()));
                // Git also lists refs whose names only end the same.
                Ok(Ok(pairs.filter(|(name, _)| references.contains(name)).collect()))
            }
            Err(git::Error::Refused { said, .. }) => Ok(Err(said)),
            Err(error) => Err(error.into()),
        }
    }
}

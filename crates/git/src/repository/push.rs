//! Pushing a branch.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use super::private::Private;
use super::{Error, ItemLock, Repository};
use crate::git;
use crate::git::command::{configure, judge, output};
use crate::git::running::{Seat, run};

/// What is pushed, and where.
#[derive(Debug, Clone, Copy)]
pub struct Pushing<'a> {
    /// The address as it was before the first agent.
    pub url: &'a str,
    pub branch: &'a str,
    pub commit: &'a str,
    /// What the forge at that address is to be shown, instead of what the user's own helpers know.
    pub token: Option<&'a Token>,
}

/// A key to a forge. It is told to git in its environment, never on a command line, and not kept by any helper.
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
    /// Of this text, for this host.
    pub fn new(text: impl Into<String>, host: impl Into<String>) -> Self {
        Self { secret: text.into(), host: host.into() }
    }

    /// Has git show it to the server of an address, if that is its own and is spoken to in secret, and to no other:
    /// what a remote is called is written where agents can write (I-12).
    pub fn lend(&self, git: &mut Command, url: &str) {
        let Some(rest) = url.strip_prefix("https://") else { return };
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or(host);
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        if !name.eq_ignore_ascii_case(&self.host) {
            return;
        }
        let key = format!("credential.https://{host}.helper");
        // The first, being empty, has git forget all others.
        configure(git, &key, "");
        configure(git, &key, ANSWER);
        git.env(VARIABLE, &self.secret);
    }
}

/// Where the token is for the moment.
const VARIABLE: &str = "SAIHAI_PUSH_TOKEN";
/// A helper in the manner of git: asked for a password it prints one, asked to keep one it does nothing.
const ANSWER: &str = "!f() { test \"$1\" = get || exit 0; echo username=x-access-token; \
                      printf 'password=%s\\n' \"$SAIHAI_PUSH_TOKEN\"; }; f";

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has the commit now.
    Done,
    Already,
    /// The remote has something else, or does not take it. Nothing was forced.
    Rejected {
        said: String,
    },
    /// The remote could not be asked what it has, and nothing was pushed now.
    Unread {
        said: String,
    },
    /// The remote said nothing of it, and has it not.
    Unanswered {
        said: String,
    },
    /// It was pushed, and nobody can say whether the remote has it.
    Unknown {
        said: String,
    },
}

impl Repository {
    /// Pushes a commit, forward only, from the value that the remote has just told.
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
        // Git's word for "only if it still is there"; that it goes forward was seen above.
        let seen = format!("--force-with-lease={reference}:{}", remote.unwrap_or_default());
        let refspec = format!("{}:{reference}", pushing.commit);
        let flags = ["--porcelain", "--no-verify", "--no-signed", &seen, "--", pushing.url, &refspec];
        let pushed = run(&mut server.command(&private, "push", &flags), "push", None, Seat::Apart)?;
        let refusal = refusal(&pushed);
        let Err(git::Error::Refused { said, .. }) = judge(pushed, "push") else { return Ok(Pushed::Done) };
        // It may have arrived, though nobody could say so.
        Ok(match (server.tip(&private, &reference)?, refusal) {
            (Ok(Some(remote)), _) if remote == pushing.commit => Pushed::Done,
            (Ok(_), Some(said)) => Pushed::Rejected { said },
            (Ok(_), None) => Pushed::Unanswered { said },
            (Err(said), _) => Pushed::Unknown { said },
        })
    }

    /// Whether a commit is here, and another one or before it.
    pub fn holds(&self, later: &str, earlier: &str) -> Result<bool, Error> {
        self.is_before(&Private::make(self, None)?, earlier, later)
    }

    fn is_before(&self, private: &Private<'_>, earlier: &str, later: &str) -> Result<bool, Error> {
        // A commit that we have not got cannot be part of one that we have.
        match private.run("cat-file", ["-e", earlier]) {
            Ok(_) => self.contains(private, later, earlier),
            Err(Error::Git(git::Error::Refused { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Why the branch was not taken, in the words of whoever did not take it; nothing where the other side went away before it said.
fn refusal(pushed: &Output) -> Option<String> {
    let (said, beside) = (String::from_utf8_lossy(&pushed.stdout), String::from_utf8_lossy(&pushed.stderr));
    // `!`, what was to go where, and `[rejected] (why)`.
    let line = said.lines().find_map(|line| line.strip_prefix("!\t"))?;
    let why = line.split_once('\t').map_or(line, |(_, why)| why);
    if why.starts_with("[remote failure]") {
        return None;
    }
    let words = beside.lines().filter_map(|line| line.strip_prefix("remote: ")).map(str::trim);
    let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
    Some(if words.is_empty() { why.to_owned() } else { format!("{why}: {}", words.join(" ")) })
}

/// A server, and what it is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remote<'a> {
    pub(super) url: &'a str,
    pub(super) token: Option<&'a Token>,
}

impl Remote<'_> {
    /// Runs a command that talks to it.
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

    /// Where a ref is there, or why that cannot be told.
    pub(super) fn tip(
        self,
        private: &Private<'_>,
        reference: &str,
    ) -> Result<Result<Option<String>, String>, Error> {
        let found = self.tips(private, &[reference.to_owned()])?;
        Ok(found.map(|mut found| found.remove(reference)))
    }

    /// The same for several, without those that are not there.
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
                // It also lists refs that only end alike.
                Ok(Ok(pairs.filter(|(name, _)| references.contains(name)).collect()))
            }
            Err(git::Error::Refused { said, .. }) => Ok(Err(said)),
            Err(error) => Err(error.into()),
        }
    }
}

//! Fetches objects of a remote, and nothing else.

use super::{Error, Git};
use crate::repository::Token;

/// Protocols that git may use.
const PROTOCOLS: &str = "https:ssh:file";

impl Git {
    pub fn remote_url(&self, remote: &str) -> Result<Option<String>, Error> {
        self.ask("config", &["--get", &format!("remote.{remote}.url")])
    }

    /// Fetches refs of a remote and returns their commits. Creates and moves no ref.
    pub fn fetch(&self, url: &str, references: &[String], token: &Token) -> Result<Vec<String>, Error> {
        let names: Vec<&str> = references.iter().map(String::as_str).collect();
        let said = self.speak("ls-remote", &[&["--quiet", "--", url], &names[..]].concat(), url, token)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let tip = |name: &&str| {
            let mut lines = said.lines().filter_map(|line| line.split_once('\t'));
            let found = lines.find(|(_, known)| known == name).map(|(commit, _)| commit.to_owned());
            let missing = format!("the remote has no `{name}`");
            found.ok_or(Error::Refused { command: "ls-remote".to_owned(), said: missing })
        };
        let tips = names.iter().map(tip).collect::<Result<Vec<String>, Error>>()?;
        let flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", url];
        self.speak("fetch", &[&flags[..], &names[..]].concat(), url, token)?;
        Ok(tips)
    }

    fn speak(&self, command: &str, arguments: &[&str], url: &str, token: &Token) -> Result<Vec<u8>, Error> {
        let mut git = self.command(command);
        // The repository's own configuration could name another command.
        git.env("GIT_ALLOW_PROTOCOL", PROTOCOLS).env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        token.lend(&mut git, url);
        super::command::output(git.args(arguments), command)
    }
}

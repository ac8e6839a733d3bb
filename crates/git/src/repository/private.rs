//! A private git directory over the objects of a repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::momentary::{Kind, Momentary};
use super::{Error, Repository};
use crate::git::command::{Seat, feed, judge, output, run};

/// A git directory for one operation that other programs cannot write to. Git sees the repository's objects
/// and the files of one directory through it. It sees nothing of the repository's configuration, hooks, refs
/// and index.
#[derive(Debug)]
pub(super) struct Private<'a> {
    repository: &'a Repository,
    directory: Momentary,
    files: Option<PathBuf>,
}

/// Protocols that git may use.
const PROTOCOLS: &str = "https:ssh:file";

impl<'a> Private<'a> {
    /// Creates a directory over the files at `files`, or over none.
    pub(super) fn make(repository: &'a Repository, files: Option<&Path>) -> Result<Self, Error> {
        let directory = Momentary::make(repository, Kind::Git)?;
        let private = Self { repository, directory, files: files.map(Path::to_owned) };
        private.furnish()?;
        Ok(private)
    }

    fn furnish(&self) -> Result<(), Error> {
        for inner in ["objects", "refs", "info"] {
            let inner = self.path(inner);
            std::fs::create_dir(&inner).map_err(Error::file("make", &inner))?;
        }
        let frozen = &self.repository.frozen;
        self.write("HEAD", b"ref: refs/heads/none\n")?;
        self.write("config", self.configuration().as_bytes())?;
        self.write("info/exclude", &frozen.excludes[0])?;
        self.write("own-exclude", &frozen.excludes[1])?;
        self.write("info/attributes", &frozen.attributes[0])?;
        self.write("own-attributes", &frozen.attributes[1])?;
        // The file lists the ends of a shallow history.
        match std::fs::read(self.repository.common.join("shallow")) {
            Ok(ends) => self.write("shallow", &ends),
            Err(_) => Ok(()),
        }
    }

    fn configuration(&self) -> String {
        let frozen = &self.repository.frozen;
        let mut text = String::new();
        // The user's LFS filter stores large files in the git directory. Point it to the repository, because
        // this directory is temporary.
        let large_files = self.repository.common.join("lfs");
        append(&mut text, "lfs.storage", Some(&large_files.to_string_lossy()));
        for (key, value) in &frozen.settings {
            append(&mut text, key, value.as_deref());
        }
        let path = |name: &str| self.path(name).to_string_lossy().into_owned();
        let held = [
            ("core.repositoryformatversion", "1"),
            ("extensions.objectformat", &frozen.object_format),
            ("core.bare", if self.files.is_some() { "false" } else { "true" }),
            ("core.excludesfile", &path("own-exclude")),
            ("core.attributesfile", &path("own-attributes")),
            ("user.useconfigonly", "true"),
            ("submodule.recurse", "false"),
            ("push.recursesubmodules", "no"),
            ("push.gpgsign", "false"),
            ("protocol.ext.allow", "never"),
        ];
        for (key, value) in held {
            append(&mut text, key, Some(value));
        }
        text
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path(name);
        std::fs::write(&path, bytes).map_err(Error::file("write", &path))
    }

    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, Error> {
        Ok(output(self.command(command).args(arguments), command)?)
    }

    /// Runs git with input and returns its output.
    pub(super) fn feed<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, Error> {
        Ok(feed(self.command(command).args(arguments), command, input)?)
    }

    /// Runs git and returns one line of output.
    pub(super) fn line<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.run(command, arguments)?).trim_end().to_owned())
    }

    /// Runs a git command that answers yes or no by its exit status.
    pub(super) fn holds<S: AsRef<OsStr>>(
        &self,
        command: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<bool, Error> {
        let output = run(self.command(command).args(arguments), command, None, Seat::Apart)?;
        if output.status.code() == Some(1) {
            return Ok(false);
        }
        judge(output, command)?;
        Ok(true)
    }

    pub(super) fn command(&self, command: &str) -> Command {
        let repository = self.repository;
        let mut git = repository.environment.git();
        git.env("GIT_DIR", self.directory.path())
            .env("GIT_OBJECT_DIRECTORY", repository.common.join("objects"))
            .env("GIT_INDEX_FILE", self.path("index"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_ALLOW_PROTOCOL", PROTOCOLS)
            .envs(repository.frozen.identity.iter().map(|(name, value)| (name, value)));
        match &self.files {
            Some(files) => git.env("GIT_WORK_TREE", files).current_dir(files),
            None => git.current_dir(self.directory.path()),
        };
        git.arg(command);
        git
    }
}

/// Appends a key in the format of git's configuration.
fn append(text: &mut String, key: &str, value: Option<&str>) {
    let Some((section, rest)) = key.split_once('.') else { return };
    let quote = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"");
    let name = match rest.rsplit_once('.') {
        Some((subsection, name)) => {
            text.push_str(&format!("[{section} \"{}\"]\n", quote(subsection)));
            name
        }
        None => {
            text.push_str(&format!("[{section}]\n"));
            rest
        }
    };
    match value {
        Some(value) => {
            let value = quote(value).replace('\n', "\\n").replace('\t', "\\t");
            text.push_str(&format!("\t{name} = \"{value}\"\n"));
        }
        None => text.push_str(&format!("\t{name}\n")),
    }
}

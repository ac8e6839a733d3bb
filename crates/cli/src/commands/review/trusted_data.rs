//! Earlier data that a review may use: the baseline and cached replies. Neither is trusted if it
//! is under version control, because a change could bring data in its own favour.

use std::path::Path;
use std::time::SystemTime;

use saihai_git::Git;
use saihai_model::Json;
use saihai_review::{Baseline, CachePolicy, ReviewCache, file_at_revision, last_report, saved_report};

use super::flags::ReportFlags;
use super::subject::{inside, refusal};
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::Streams;

/// Possible sources of the baseline.
#[derive(Clone, Copy)]
pub(super) struct BaselineSource<'a> {
    pub(super) project: &'a Project,
    pub(super) flags: &'a ReportFlags,
    pub(super) branch: Option<&'a str>,
    /// The revision whose configuration applies, if it is not the change itself.
    pub(super) revision: Option<&'a str>,
}

impl BaselineSource<'_> {
    /// Reads the baseline from a file, a run, or the last review of the branch.
    pub(super) fn read(self, streams: &mut Streams) -> Result<Option<Json>, CommandError> {
        if self.flags.since_last {
            return self.last(streams);
        }
        let Some(named) = self.flags.baseline.as_deref() else { return Ok(None) };
        let value = self.named(named)?;
        match Baseline::read(&value) {
            Ok(_) => Ok(Some(value)),
            Err(why) => Err(CommandError::usage(format!("`{named}` is not a baseline: it is {why}"))),
        }
    }

    fn last(self, streams: &mut Streams) -> Result<Option<Json>, CommandError> {
        if let Some(why) = self.why_no_run() {
            streams.warning(&format!("{why}: Saihai ignores its runs, and every finding counts"));
            return Ok(None);
        }
        let last = last_report(&self.project.runs(), self.branch)?;
        if last.is_none() {
            streams.note(match self.branch {
                Some(_) => "this branch has no finished review yet: every finding counts",
                None => "no branch is checked out, so there is no earlier review: every finding counts",
            });
        }
        Ok(last.map(|report| serde_json::to_value(report).expect("a report has text keys only")))
    }

    fn named(self, named: &str) -> Result<Json, CommandError> {
        let json = |text: &[u8]| {
            serde_json::from_slice(text).map_err(|error| {
                CommandError::usage(format!("`{named}` is not a baseline: it is not JSON: {error}"))
            })
        };
        if let Some(text) = self.decided(named)? {
            return json(&text);
        }
        let path = self.project.places.current.join(named);
        if path.is_file() {
            let text = std::fs::read(&path);
            let text =
                text.map_err(|error| CommandError::usage(format!("cannot read `{named}`: {error}")))?;
            return json(&text);
        }
        if let (true, Ok(metadata)) = (looks_like_a_file(named), path.metadata()) {
            let what = if metadata.is_dir() { "a directory" } else { "not an ordinary file" };
            return Err(CommandError::usage(format!("`{named}` is not a baseline: it is {what}")));
        }
        if looks_like_a_file(named) {
            return Err(CommandError::usage(format!("the file `{named}` does not exist"))
                .hint("`--write-baseline FILE` creates one"));
        }
        if let Some(why) = self.why_no_run() {
            return Err(CommandError::usage(format!("the run `{named}` is not a baseline: {why}"))
                .hint("a change could bring forged runs with its files"));
        }
        let report = saved_report(&self.project.runs().find(named)?)?;
        match report {
            Some(report) => Ok(serde_json::to_value(report).expect("a report has text keys only")),
            None => Err(CommandError::usage(format!("the run `{named}` is not a finished review"))),
        }
    }

    /// reads a project file from the revision whose configuration applies. Returns nothing if that is the
    /// change itself, or if the file is outside the project.
    fn decided(self, named: &str) -> Result<Option<Vec<u8>>, CommandError> {
        let Some(revision) = self.revision else { return Ok(None) };
        let places = &self.project.places;
        let Some(path) = inside(places, Path::new(named)).into_iter().next() else { return Ok(None) };
        let found = file_at_revision(&places.root, revision, &path).map_err(refusal)?;
        let is_file = looks_like_a_file(named) || places.current.join(named).is_file();
        if found.is_none() && is_file {
            let error = CommandError::usage(format!("the file `{path}` does not exist in `{revision}`"));
            return Err(error
                .hint("with `--definitions-from`, Saihai reads a baseline in the project from that revision too")
                .hint("pass a file outside the project, or commit this one there"));
        }
        Ok(found)
    }

    /// Explains why the project's runs are not trusted: a change could add fake earlier findings.
    fn why_no_run(self) -> Option<String> {
        let root = &self.project.places.root;
        match Git::open(root) {
            Ok(git) => why_not(&git?, root, &[".saihai", ".saihai/runs"]),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn looks_like_a_file(named: &str) -> bool {
    named.contains(['/', '.'])
}

/// Cache directory, relative to the project root.
const DIRECTORY: &str = ".saihai/cache";

/// Returns the cache state, which depends on the files that agents see. For a review of a commit, these are the
/// commit's files. Files written by the review itself do not count. Replies under version control are not trusted: a
/// change could include replies about itself.
pub(super) fn cache_policy(
    root: &Path,
    head: Option<&str>,
    written: &[String],
    streams: &mut Streams,
) -> CachePolicy {
    let git = match Git::open(root) {
        Ok(git) => git,
        Err(_) => return CachePolicy::Never,
    };
    let Some(git) = git else {
        ReviewCache::of_project(root).sweep(SystemTime::now());
        return CachePolicy::Blind;
    };
    if let Some(why) = why_not(&git, root, &[".saihai", ".saihai/cache/review", DIRECTORY]) {
        streams.warning(&format!("{why}: Saihai ignores the answers in `{DIRECTORY}`"));
        return CachePolicy::Never;
    }
    ReviewCache::of_project(root).sweep(SystemTime::now());
    let seen = match head {
        Some(commit) => git.tree_of(commit),
        None => git.standing(written),
    };
    seen.ok().flatten().map_or(CachePolicy::Blind, CachePolicy::Seeing)
}

/// Explains why these directories are not trusted: a change could add data in its own favour. The first directory
/// contains the others. Returns nothing if they are trusted.
fn why_not(git: &Git, root: &Path, ways: &[&str]) -> Option<String> {
    // The target of a link may be under version control with another name.
    if let Some(link) = ways.iter().find(|way| root.join(way).is_symlink()) {
        return Some(format!("`{link}` is a link"));
    }
    let directory = ways.last()?;
    git.tracks(directory).unwrap_or(true).then(|| format!("`{directory}` is under version control"))
}

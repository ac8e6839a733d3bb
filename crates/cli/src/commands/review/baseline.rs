//! The baseline: earlier findings that do not count again.

use std::path::Path;

use saihai::review::{Baseline, last_report, saved_report};
use saihai::{Git, RevisionSource};
use saihai_model::Json;

use super::committed;
use super::flags::ReportFlags;
use super::subject::{inside, refusal};
use crate::error::Error;
use crate::project::Project;
use crate::terminal::Streams;

/// Possible sources of the baseline.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) project: &'a Project,
    pub(super) flags: &'a ReportFlags,
    pub(super) branch: Option<&'a str>,
    /// The revision whose configuration applies, if it is not the change itself.
    pub(super) revision: Option<&'a str>,
}

impl Before<'_> {
    /// Reads the baseline from a file, a run, or the last review of the branch.
    pub(super) fn read(self, streams: &mut Streams) -> Result<Option<Json>, Error> {
        if self.flags.since_last {
            return self.last(streams);
        }
        let Some(named) = self.flags.baseline.as_deref() else { return Ok(None) };
        let value = self.named(named)?;
        match Baseline::read(&value) {
            Ok(_) => Ok(Some(value)),
            Err(why) => Err(Error::usage(format!("`{named}` is no baseline: it is {why}"))),
        }
    }

    fn last(self, streams: &mut Streams) -> Result<Option<Json>, Error> {
        if let Some(why) = self.why_no_run() {
            streams.warning(&format!("{why}: no run in it is believed, and everything counts"));
            return Ok(None);
        }
        let last = last_report(&self.project.runs(), self.branch)?;
        if last.is_none() {
            streams.note(match self.branch {
                Some(_) => "no review of this branch has come to its end yet: everything counts",
                None => "no branch is checked out, so that no earlier review belongs here: everything counts",
            });
        }
        Ok(last.map(|report| serde_json::to_value(report).expect("a report has text keys only")))
    }

    fn named(self, named: &str) -> Result<Json, Error> {
        let json = |text: &[u8]| {
            serde_json::from_slice(text)
                .map_err(|error| Error::usage(format!("`{named}` is no baseline: it is no JSON: {error}")))
        };
        if let Some(text) = self.decided(named)? {
            return json(&text);
        }
        let path = self.project.places.current.join(named);
        if path.is_file() {
            let text = std::fs::read(&path);
            let text = text.map_err(|error| Error::usage(format!("cannot read `{named}`: {error}")))?;
            return json(&text);
        }
        if let (true, Ok(metadata)) = (looks_like_a_file(named), path.metadata()) {
            let what = if metadata.is_dir() { "a directory" } else { "no ordinary file" };
            return Err(Error::usage(format!("`{named}` is no baseline: it is {what}")));
        }
        if looks_like_a_file(named) {
            return Err(Error::usage(format!("the file `{named}` does not exist"))
                .hint("`--write-baseline FILE` makes one"));
        }
        if let Some(why) = self.why_no_run() {
            return Err(Error::usage(format!("the run `{named}` is no baseline: {why}"))
                .hint("runs that came with the files of a change could say anything about it"));
        }
        let report = saved_report(&self.project.runs().find(named)?)?;
        match report {
            Some(report) => Ok(serde_json::to_value(report).expect("a report has text keys only")),
            None => Err(Error::usage(format!("the run `{named}` is no review that came to its end"))),
        }
    }

    /// reads a project file from the revision whose configuration applies. Returns nothing if that is the
    /// change itself, or if the file is outside the project.
    fn decided(self, named: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(revision) = self.revision else { return Ok(None) };
        let places = &self.project.places;
        let Some(path) = inside(places, Path::new(named)).into_iter().next() else { return Ok(None) };
        let found = RevisionSource::file(&places.root, revision, &path).map_err(refusal)?;
        let is_file = looks_like_a_file(named) || places.current.join(named).is_file();
        if found.is_none() && is_file {
            let error = Error::usage(format!("the file `{path}` does not exist in `{revision}`"));
            return Err(error
                .hint("with `--definitions-from` a baseline in the project is read from there as well")
                .hint("name a file outside of the project, or commit this one there"));
        }
        Ok(found)
    }

    /// Explains why the project's runs are not trusted: a change could add fake earlier findings.
    fn why_no_run(self) -> Option<String> {
        let root = &self.project.places.root;
        match Git::open(root) {
            Ok(git) => committed::why_not(&git?, root, &[".saihai", ".saihai/runs"]),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn looks_like_a_file(named: &str) -> bool {
    named.contains(['/', '.'])
}

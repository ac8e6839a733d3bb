//! What was found before, and therefore does not count again.

use saihai::review::{Baseline, last_report, saved_report};
use saihai_model::Json;

use super::flags::ReportFlags;
use crate::error::Error;
use crate::project::Project;
use crate::terminal::Streams;

/// What was found before, if anything says so: a file, a run, or the last review of the branch.
pub(super) fn read(
    project: &Project,
    flags: &ReportFlags,
    branch: Option<&str>,
    streams: &mut Streams,
) -> Result<Option<Json>, Error> {
    if flags.since_last {
        let last = last_report(&project.runs(), branch)?;
        if last.is_none() {
            streams.note(match branch {
                Some(_) => "no review of this branch has come to its end yet: everything counts",
                None => "no branch is checked out, so that no earlier review belongs here: everything counts",
            });
        }
        return Ok(last.map(|report| serde_json::to_value(report).expect("a report has text keys only")));
    }
    let Some(named) = flags.baseline.as_deref() else { return Ok(None) };
    let value = of(project, named)?;
    match Baseline::read(&value) {
        Ok(_) => Ok(Some(value)),
        Err(why) => Err(Error::usage(format!("`{named}` is no baseline: it is {why}"))),
    }
}

fn of(project: &Project, named: &str) -> Result<Json, Error> {
    let path = project.places.current.join(named);
    if path.is_file() {
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| Error::usage(format!("cannot read `{named}`: {error}")))?;
        return serde_json::from_str(&text)
            .map_err(|error| Error::usage(format!("`{named}` is no baseline: it is no JSON: {error}")));
    }
    let looks_like_a_file = named.contains(['/', '.']);
    if looks_like_a_file {
        return Err(Error::usage(format!("the file `{named}` does not exist"))
            .hint("`--write-baseline FILE` makes one"));
    }
    let report = saved_report(&project.runs().find(named)?)?;
    match report {
        Some(report) => Ok(serde_json::to_value(report).expect("a report has text keys only")),
        None => Err(Error::usage(format!("the run `{named}` is no review that came to its end"))),
    }
}

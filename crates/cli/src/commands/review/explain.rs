//! `--explain-selection`: the agents selected for a change, and the reasons.

use saihai_config::review::{AgentOrigin, Considered, Selection, Why, WhyNot};
use serde::Serialize;

use crate::error::Error;
use crate::json;
use crate::project::Project;
use crate::terminal::{Streams, Table, visible_line};

#[derive(Serialize)]
struct SelectionObject<'a> {
    agents: Vec<AgentObject<'a>>,
}

#[derive(Serialize)]
struct AgentObject<'a> {
    name: &'a str,
    phase: &'static str,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    selected: bool,
    why: WhyObject<'a>,
}

#[derive(Default, Serialize)]
struct WhyObject<'a> {
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// Prints the selection: a table for people, one object for programs.
pub(super) fn say(
    selection: &Selection<'_>,
    project: &Project,
    json: bool,
    streams: &mut Streams,
) -> Result<(), Error> {
    if json {
        let agents = selection.agents.iter().map(|one| object(one, project)).collect();
        return Ok(json::line(&mut streams.out, "selection", SelectionObject { agents })?);
    }
    let mut table = Table::new(&["PHASE", "AGENT", "ORIGIN", "SELECTED", "WHY"]);
    for one in &selection.agents {
        let definition = &one.agent.definition;
        let (selected, why) = match &one.verdict {
            Ok(why) => ("yes", why.words()),
            Err(not) => ("no", not.words().to_owned()),
        };
        let cells = [definition.phase.name(), &definition.name, origin(&one.agent.origin), selected, &why];
        table.row(cells.iter().map(|cell| visible_line(cell).into_owned()).collect());
    }
    for line in table.lines() {
        streams.out.data(&line)?;
    }
    Ok(())
}

fn origin(origin: &AgentOrigin) -> &'static str {
    match origin {
        AgentOrigin::BuiltIn | AgentOrigin::UneditedCopy(_) => "built-in",
        AgentOrigin::Custom { .. } => "project",
    }
}

fn object<'a>(one: &'a Considered<'_>, project: &Project) -> AgentObject<'a> {
    let definition = &one.agent.definition;
    let path = match &one.agent.origin {
        AgentOrigin::BuiltIn => None,
        AgentOrigin::UneditedCopy(path) | AgentOrigin::Custom { path, .. } => Some(project.shown(path)),
    };
    AgentObject {
        name: &definition.name,
        phase: definition.phase.name(),
        origin: origin(&one.agent.origin),
        path,
        selected: one.verdict.is_ok(),
        why: match &one.verdict {
            Ok(why) => selected(why),
            Err(not) => WhyObject { reason: not_selected(*not), ..WhyObject::default() },
        },
    }
}

fn selected(why: &Why) -> WhyObject<'_> {
    let reason = |reason| WhyObject { reason, ..WhyObject::default() };
    let found = |word, pattern, file| WhyObject { pattern: Some(pattern), file: Some(file), ..reason(word) };
    match why {
        Why::Asked => reason("asked"),
        Why::Always => reason("always"),
        Why::FileName { pattern, file } => found("file-pattern", pattern, file),
        Why::Path { pattern, file } => found("path-pattern", pattern, file),
        Why::Limit { pattern, file } => found("limit", pattern, file),
        Why::Content { pattern, file, line, text } => {
            WhyObject { line: *line, text: Some(text), ..found("content-pattern", pattern, file) }
        }
    }
}

fn not_selected(not: WhyNot) -> &'static str {
    match not {
        WhyNot::NothingMatches => "nothing-matches",
        WhyNot::NoPatterns => "no-patterns",
        WhyNot::NothingToRead => "nothing-to-read",
        WhyNot::NotAsked => "not-asked",
        WhyNot::Skipped => "skipped",
        WhyNot::Disabled => "disabled",
    }
}

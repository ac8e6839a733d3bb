//! Review agents at the command line: one used as a definition, and `--explain-selection`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai_config::review::{Agent, AgentOrigin, LoadResult, check_agent, load};
use saihai_config::{Definition, Dialect, LoadedDefinition, Origin, find};
use saihai_model::{Json, Subject, SubjectFile, SubjectMode};
use saihai_review::subject::{SUBJECT, frozen};
use saihai_review::{
    AgentDecision, AgentFilter, AgentSelection, LoweredReview, ReviewOptions, ReviewRequest, SelectionReason,
    SkipReason, lower, select,
};
use serde::Serialize;

use super::subject;
use crate::definitions::DefinitionRequest;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, Table, visible_line};

pub(crate) struct ReviewAgentDefinition {
    pub(crate) definition: Definition,
    pub(crate) loaded: LoadedDefinition,
    /// The subject of the review, by prompt variable.
    pub(crate) subject: BTreeMap<String, Json>,
}

impl ReviewAgentDefinition {
    /// Finds the review agent by its file, or by its name if no definition has that name (K-11).
    pub(crate) fn find(
        project: &Project,
        wanted: DefinitionRequest<'_>,
        streams: &mut Streams,
    ) -> Result<Option<Self>, CommandError> {
        let found = find(&project.source, &project.places, wanted.definition);
        let file = match found {
            Ok(definition) if definition.dialect == Dialect::Review => definition.path,
            Ok(_) => return Ok(None),
            Err(_) => None,
        };
        if let Some(file) = &file {
            let found = check_agent(&project.source, &project.places, file);
            streams.diagnose(&found, wanted.strict || wanted.settings.strict)?;
        }
        let loaded = load(&project.source, &project.places, wanted.settings.language).unwrap_or_default();
        let agent = match &file {
            Some(file) => Some(agent_of(&loaded, file, project)?),
            None => loaded.agents.iter().find(|agent| agent.definition.name == wanted.definition),
        };
        agent.map(|agent| Self::of(agent, &loaded, project, wanted, streams)).transpose()
    }

    /// Returns true if a review agent has this name.
    pub(crate) fn is_named(project: &Project, wanted: DefinitionRequest<'_>) -> bool {
        let loaded = load(&project.source, &project.places, wanted.settings.language).unwrap_or_default();
        loaded.names().contains(&wanted.definition)
    }

    fn of(
        agent: &Agent,
        loaded: &LoadResult,
        project: &Project,
        wanted: DefinitionRequest<'_>,
        streams: &mut Streams,
    ) -> Result<Self, CommandError> {
        let name = agent.definition.name.clone();
        let wish = AgentFilter { only: vec![name.clone()], ..AgentFilter::default() };
        let subject = changed(project, wanted, streams);
        let options = ReviewOptions {
            provider: wanted.options.provider.clone(),
            model: wanted.options.model.clone(),
            ..ReviewOptions::default()
        };
        let LoweredReview { loaded, texts, warnings, .. } = lower(ReviewRequest {
            loaded,
            selection: &select(&loaded.agents, &subject, &wish),
            subject: &subject,
            options: &options,
            settings: wanted.settings,
            places: &project.places,
        });
        warnings.iter().for_each(|warning| streams.warning(warning));
        let mut subject: BTreeMap<String, Json> =
            [(SUBJECT.to_owned(), frozen(&project.places.root, &subject))].into();
        subject.extend(texts);
        let (origin, path) = place(&agent.origin);
        let description = Some(agent.definition.description.clone());
        let definition = Definition { name, dialect: Dialect::Review, origin, path };
        Ok(Self { definition, loaded: LoadedDefinition { description, ..loaded }, subject })
    }
}

/// Returns the agent defined by a project file.
pub(super) fn agent_of<'a>(
    loaded: &'a LoadResult,
    file: &Path,
    project: &Project,
) -> Result<&'a Agent, CommandError> {
    let is_it = |agent: &&Agent| place(&agent.origin).1.is_some_and(|path| path == file);
    loaded.agents.iter().find(is_it).ok_or_else(|| {
        let error =
            CommandError::usage(format!("`{}` is not a review agent of this project", project.shown(file)));
        error.hint("agents are files in `.saihai/agents/` or `.hachimoku/agents/`")
    })
}

fn place(origin: &AgentOrigin) -> (Origin, Option<PathBuf>) {
    match origin {
        AgentOrigin::BuiltIn => (Origin::BuiltIn, None),
        AgentOrigin::UneditedCopy(path) => (Origin::BuiltIn, Some(path.clone())),
        AgentOrigin::Custom { path, .. } => (Origin::Project, Some(path.clone())),
    }
}

/// Returns the changes as `review` sees them, or a placeholder if there are none or git fails.
fn changed(project: &Project, wanted: DefinitionRequest<'_>, streams: &mut Streams) -> Subject {
    let usual = wanted.settings.review.base.as_deref();
    let taken =
        subject::SubjectRequest { what: &[], base: None, usual, no_untracked: false }.take(&project.places);
    let why = match taken {
        Ok(subject) if !subject.files.is_empty() => return subject,
        Ok(_) => "nothing has changed".to_owned(),
        Err(CommandError::Refused(refusal)) => refusal.message,
        Err(CommandError::ClosedPipe | CommandError::Said(_)) => "the change cannot be read".to_owned(),
    };
    streams.note(&format!("{why}: the prompt shows a placeholder instead of the change"));
    let (path, text) = ("FILE".to_owned(), "(what has changed)\n".to_owned());
    let file = SubjectFile { path, previous: None, text, left_out: None, lossy: false };
    let mode =
        SubjectMode::Changes { base: "BASE".to_owned(), merge_base: None, head: None, pull_request: None };
    Subject { mode, files: vec![file] }
}

#[derive(Serialize)]
struct SelectionJson<'a> {
    agents: Vec<ConsideredAgentJson<'a>>,
}

#[derive(Serialize)]
struct ConsideredAgentJson<'a> {
    name: &'a str,
    phase: &'static str,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    selected: bool,
    why: SelectionReasonJson<'a>,
}

#[derive(Default, Serialize)]
struct SelectionReasonJson<'a> {
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
pub(super) fn explain_selection(
    selection: &AgentSelection<'_>,
    project: &Project,
    json: bool,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    if json {
        let agents = selection.agents.iter().map(|one| object(one, project)).collect();
        return Ok(streams.out.json("selection", SelectionJson { agents })?);
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
    for line in table.lines_for(&streams.out) {
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

fn object<'a>(one: &'a AgentDecision<'_>, project: &Project) -> ConsideredAgentJson<'a> {
    let definition = &one.agent.definition;
    let path = match &one.agent.origin {
        AgentOrigin::BuiltIn => None,
        AgentOrigin::UneditedCopy(path) | AgentOrigin::Custom { path, .. } => Some(project.shown(path)),
    };
    ConsideredAgentJson {
        name: &definition.name,
        phase: definition.phase.name(),
        origin: origin(&one.agent.origin),
        path,
        selected: one.verdict.is_ok(),
        why: match &one.verdict {
            Ok(why) => selected(why),
            Err(not) => SelectionReasonJson { reason: not_selected(*not), ..SelectionReasonJson::default() },
        },
    }
}

fn selected(why: &SelectionReason) -> SelectionReasonJson<'_> {
    let reason = |reason| SelectionReasonJson { reason, ..SelectionReasonJson::default() };
    let found = |word, pattern, file| SelectionReasonJson {
        pattern: Some(pattern),
        file: Some(file),
        ..reason(word)
    };
    match why {
        SelectionReason::Asked => reason("asked"),
        SelectionReason::Always => reason("always"),
        SelectionReason::FileName { pattern, file } => found("file-pattern", pattern, file),
        SelectionReason::Path { pattern, file } => found("path-pattern", pattern, file),
        SelectionReason::Limit { pattern, file } => found("limit", pattern, file),
        SelectionReason::Content { pattern, file, line, text } => {
            SelectionReasonJson { line: *line, text: Some(text), ..found("content-pattern", pattern, file) }
        }
    }
}

fn not_selected(not: SkipReason) -> &'static str {
    match not {
        SkipReason::NothingMatches => "nothing-matches",
        SkipReason::NoPatterns => "no-patterns",
        SkipReason::NothingToRead => "nothing-to-read",
        SkipReason::NotAsked => "not-asked",
        SkipReason::Skipped => "skipped",
        SkipReason::Disabled => "disabled",
        SkipReason::Optional => "optional",
    }
}

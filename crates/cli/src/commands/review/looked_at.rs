//! A review agent used as a definition: a review of the current changes by this agent only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai::{SUBJECT, frozen};
use saihai_config::review::{
    Agent, AgentOrigin, LoadResult, LoweredReview, ReviewOptions, Reviewing, Wish, check_agent, load, lower,
    select,
};
use saihai_config::{Definition, Dialect, Loaded, Origin, find};
use saihai_model::{Json, Subject, SubjectFile, SubjectMode};

use super::subject;
use crate::diagnostics;
use crate::error::Error;
use crate::prepared::Wanted;
use crate::project::Project;
use crate::terminal::Streams;

pub(crate) struct LookedAt {
    pub(crate) definition: Definition,
    pub(crate) loaded: Loaded,
    /// The subject of the review, by prompt variable.
    pub(crate) subject: BTreeMap<String, Json>,
}

impl LookedAt {
    /// Finds the review agent by its file, or by its name if no definition has that name (K-11).
    pub(crate) fn find(
        project: &Project,
        wanted: Wanted<'_>,
        streams: &mut Streams,
    ) -> Result<Option<Self>, Error> {
        let found = find(&project.source, &project.places, wanted.definition);
        let file = match found {
            Ok(definition) if definition.dialect == Dialect::Review => definition.path,
            Ok(_) => return Ok(None),
            Err(_) => None,
        };
        if let Some(file) = &file {
            let found = check_agent(&project.source, &project.places, file);
            diagnostics::insist(&found, wanted.strict || wanted.settings.strict, streams)?;
        }
        let loaded = load(&project.source, &project.places, wanted.settings.language).unwrap_or_default();
        let agent = match &file {
            Some(file) => Some(agent_of(&loaded, file, project)?),
            None => loaded.agents.iter().find(|agent| agent.definition.name == wanted.definition),
        };
        agent.map(|agent| Self::of(agent, &loaded, project, wanted, streams)).transpose()
    }

    /// Returns true if a review agent has this name.
    pub(crate) fn is_named(project: &Project, wanted: Wanted<'_>) -> bool {
        let loaded = load(&project.source, &project.places, wanted.settings.language).unwrap_or_default();
        loaded.names().contains(&wanted.definition)
    }

    fn of(
        agent: &Agent,
        loaded: &LoadResult,
        project: &Project,
        wanted: Wanted<'_>,
        streams: &mut Streams,
    ) -> Result<Self, Error> {
        let name = agent.definition.name.clone();
        let wish = Wish { only: vec![name.clone()], ..Wish::default() };
        let subject = changed(project, wanted, streams);
        let options = ReviewOptions {
            provider: wanted.options.provider.clone(),
            model: wanted.options.model.clone(),
            ..ReviewOptions::default()
        };
        let LoweredReview { loaded, texts, warnings, .. } = lower(Reviewing {
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
        Ok(Self { definition, loaded: Loaded { description, ..loaded }, subject })
    }
}

/// Returns the agent defined by a project file.
pub(super) fn agent_of<'a>(
    loaded: &'a LoadResult,
    file: &Path,
    project: &Project,
) -> Result<&'a Agent, Error> {
    let is_it = |agent: &&Agent| place(&agent.origin).1.is_some_and(|path| path == file);
    loaded.agents.iter().find(is_it).ok_or_else(|| {
        let error = Error::usage(format!("`{}` is no review agent of this project", project.shown(file)));
        error.hint("agents lie in `.saihai/agents/` or `.hachimoku/agents/`")
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
fn changed(project: &Project, wanted: Wanted<'_>, streams: &mut Streams) -> Subject {
    let usual = wanted.settings.review.base.as_deref();
    let taken = subject::Wanted { what: &[], base: None, usual, no_untracked: false }.take(&project.places);
    let why = match taken {
        Ok(subject) if !subject.files.is_empty() => return subject,
        Ok(_) => "nothing has changed".to_owned(),
        Err(Error::Refused(refusal)) => refusal.message,
        Err(Error::ClosedPipe | Error::Said(_)) => "nobody can say what has changed".to_owned(),
    };
    streams.note(&format!("{why}: a placeholder stands for the change"));
    let (path, text) = ("FILE".to_owned(), "(what has changed)\n".to_owned());
    let file = SubjectFile { path, previous: None, text, left_out: None, lossy: false };
    let mode =
        SubjectMode::Changes { base: "BASE".to_owned(), merge_base: None, head: None, pull_request: None };
    Subject { mode, files: vec![file] }
}

//! A requested definition, ready to run, rehearse or inspect.

use std::collections::{BTreeMap, BTreeSet};

use saihai_config::delivery::Wishes;
use saihai_config::{
    Area, Definition, Diagnostic, Diagnostics, Dialect, Language, Loaded, Options, Settings, Source, Use,
    ValidatedDefinition, find, load,
};
use saihai_connect::{Connections, Providers, launcher};
use saihai_model::{Json, ProviderName, Stage, StageId, TextFile, TurnId, Workflow};

use crate::commands::review::LookedAt;
use crate::diagnostics;
use crate::error::Error;
use crate::project::Project;
use crate::terminal::Streams;

/// A definition that was found, parsed and lowered.
pub(crate) struct Prepared {
    pub(crate) definition: Definition,
    pub(crate) workflow: ValidatedDefinition,
    /// True if no provider is configured, so that replies are generated.
    pub(crate) rehearsal: bool,
    /// True if a run requires a task.
    pub(crate) needs_task: bool,
    pub(crate) description: Option<String>,
    /// The task that the definition contains.
    pub(crate) task: Option<String>,
    /// The source files of its texts.
    pub(crate) texts: Vec<TextFile>,
    /// The language of the prompts.
    pub(crate) language: Language,
    /// Its settings for the work on an issue.
    pub(crate) wishes: Wishes,
    /// Its subject, by prompt variable.
    pub(crate) subject: BTreeMap<String, Json>,
    added_tokens: Vec<(StageId, TurnId, u64)>,
}

/// Creates the error for running a review agent, which needs a subject to review.
fn review_agent(asked: &str, name: &str) -> Error {
    let error = Error::usage(format!("`{asked}` is a review agent"));
    error.hint(format!("`saihai review --agent {name}` asks it about what has changed")).hint(
        "`saihai review --explain-selection` says whether a change needs it, `saihai check` what is wrong \
         with it",
    )
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The definition's name or path.
    pub(crate) definition: &'a str,
    pub(crate) options: &'a Options,
    pub(crate) settings: &'a Settings,
    /// True if warnings count as errors.
    pub(crate) strict: bool,
}

impl Prepared {
    /// Finds, parses and lowers a definition. Prints all diagnostics at once; errors end the command.
    pub(crate) fn new(project: &Project, wanted: Wanted<'_>, streams: &mut Streams) -> Result<Self, Error> {
        Self::of_files(&project.source, project, wanted, streams)
    }

    /// Does the same with the given files.
    pub(crate) fn of_files(
        files: &dyn Source,
        project: &Project,
        wanted: Wanted<'_>,
        streams: &mut Streams,
    ) -> Result<Self, Error> {
        let strict = wanted.strict || wanted.settings.strict;
        let definition = find(files, &project.places, wanted.definition);
        let definition = match definition {
            Ok(definition) => definition,
            Err(_) if LookedAt::is_named(project, wanted) => {
                return Err(review_agent(wanted.definition, wanted.definition));
            }
            Err(found) => {
                diagnostics::insist(&found, strict, streams)?;
                return Err(Error::usage(format!("`{}` cannot be found", wanted.definition)));
            }
        };
        if definition.dialect == Dialect::Review {
            return Err(review_agent(wanted.definition, "NAME"));
        }
        let loaded = load(files, &project.places, &definition, wanted.options, wanted.settings);
        Self::of(definition, loaded, wanted, streams)
    }

    /// Does the same for inspection or a rehearsal. A review agent then becomes a review of the current changes by
    /// that agent only.
    pub(crate) fn to_look_at(
        project: &Project,
        wanted: Wanted<'_>,
        streams: &mut Streams,
    ) -> Result<Self, Error> {
        match LookedAt::find(project, wanted, streams)? {
            Some(LookedAt { definition, loaded, subject }) => {
                let prepared = Self::of(definition, loaded, wanted, streams)?;
                Ok(Self { subject, ..prepared })
            }
            None => Self::new(project, wanted, streams),
        }
    }

    fn of(
        definition: Definition,
        mut loaded: Loaded,
        wanted: Wanted<'_>,
        streams: &mut Streams,
    ) -> Result<Self, Error> {
        let strict = wanted.strict || wanted.settings.strict;
        let found = std::mem::take(&mut loaded.diagnostics);
        // S-20: warnings do not stop a run.
        if found.forbids(true) && !found.forbids(strict) {
            streams.err.send("Configuration warnings:\n");
        }
        diagnostics::insist(&found, strict, streams)?;
        for note in &loaded.notes {
            streams.note(note);
        }
        let Some(workflow) = loaded.workflow.take() else {
            return Err(Error::usage(format!("`{}` cannot be run", wanted.definition)));
        };
        let workflow = ValidatedDefinition::validate(workflow).map_err(saihai::Error::from)?;
        let Loaded {
            rehearsal, needs_task, description, added_tokens, task, texts, language, wishes, ..
        } = loaded;
        let texts = texts.into_iter().map(|used| used.text).collect();
        Ok(Self {
            definition,
            workflow,
            rehearsal,
            needs_task,
            description,
            task,
            texts,
            language,
            wishes,
            subject: BTreeMap::new(),
            added_tokens,
        })
    }

    /// Counts the tokens that Saihai adds to a turn's first prompt.
    pub(crate) fn added_tokens(&self, stage: &StageId, turn: &TurnId) -> u64 {
        let of_turn = self.added_tokens.iter().find(|(of, this, _)| of == stage && this == turn);
        of_turn.map_or(0, |(_, _, tokens)| *tokens)
    }
}

/// Lists the obstacles to a run: untrusted files (K-39), unknown prices with a budget (K-35), and an unwritable
/// reports directory (P-54). Inspection ignores them.
pub(crate) fn unready(workflow: &Workflow, settings: &Settings) -> Diagnostics {
    let mut found = unusable(workflow, settings);
    found.append(unsaved_reports(settings));
    found
}

/// Lists the obstacles to using the workflow's providers.
pub(crate) fn unusable(workflow: &Workflow, settings: &Settings) -> Diagnostics {
    let settings = settings.describing(workflow.provider.as_ref());
    let providers = providers(workflow);
    let uses: Vec<Use<'_>> = providers.iter().map(|name| Use::Provider(name.as_str())).collect();
    let mut found = settings.check_trust(&uses);
    found.append(settings.check_budget(&workflow.limits.budget, providers));
    // Untrusted settings do not apply, so they cannot be checked.
    if found.is_empty() {
        found.append(settings.check_enforcement(workflow));
    }
    found
}

/// Fails if a provider of the workflow is missing, before any request to a forge and before the run exists.
pub(crate) fn insist_on_providers(workflow: &Workflow, with: &Connections) -> Result<(), Error> {
    let missing = Providers::missing(workflow, with);
    if missing.is_empty() { Ok(()) } else { Err(saihai::Error::Unavailable(missing).into()) }
}

/// Reports an unwritable reports directory before the run exists.
pub(crate) fn unsaved_reports(settings: &Settings) -> Diagnostics {
    let mut found = Diagnostics::new();
    if let Err(why) = saihai::can_create_directory(&settings.reports_dir) {
        let directory = settings.reports_dir.display();
        let code = Area::Piece.code("bad-reports-dir");
        let unwritable = Diagnostic::error(code, format!("reports cannot be saved in `{directory}`: {why}"));
        found.push(unwritable.hint("the setting `reports_dir` says where they go"));
    }
    found
}

/// Returns all providers that a workflow can ask.
pub(crate) fn providers(workflow: &Workflow) -> BTreeSet<&ProviderName> {
    let turns = workflow.stages.values().flat_map(Stage::turns);
    let asked = turns.flat_map(|turn| {
        let judge = turn.reads.choice.as_ref().and_then(|choice| choice.question()?.provider.as_ref());
        std::iter::once(&turn.provider).chain(judge)
    });
    let exits =
        workflow.stages.values().filter_map(|stage| stage.exit.question()?.question()?.provider.as_ref());
    let mut all: BTreeSet<&ProviderName> = asked.chain(exits).collect();
    // Add the fallback providers. The loop ends, because each pass adds new names only.
    loop {
        let more =
            workflow.retry.fallback.iter().filter(|(from, to)| all.contains(from) && !all.contains(to));
        let more: Vec<&ProviderName> = more.map(|(_, to)| to).collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// Returns the connections to the providers. The workflow freezes everything that decides the course of a run.
/// Programs, addresses and variables belong to the machine and are read each time. So a corrected path helps a
/// waiting run.
pub(crate) fn connections(settings: &Settings) -> Connections {
    let set = settings.providers.iter().map(|(name, provider)| (name.clone(), provider.clone()));
    Connections {
        settings: set.collect(),
        web: settings.review.web,
        launcher: Some(launcher::this_program()),
        ..Connections::default()
    }
}

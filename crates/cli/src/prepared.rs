//! A definition that was asked for, ready to be run, rehearsed or looked at.

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

/// A definition, found, read and lowered.
pub(crate) struct Prepared {
    pub(crate) definition: Definition,
    pub(crate) workflow: ValidatedDefinition,
    /// Whether nothing names a provider, so that replies are made up.
    pub(crate) rehearsal: bool,
    /// Whether a run makes no sense without a task.
    pub(crate) needs_task: bool,
    /// What it is for, in its author's words.
    pub(crate) description: Option<String>,
    /// The task it brings along.
    pub(crate) task: Option<String>,
    /// The files its texts came from.
    pub(crate) texts: Vec<TextFile>,
    /// The language agents are spoken to in.
    pub(crate) language: Language,
    /// What it says about the work on an issue.
    pub(crate) wishes: Wishes,
    /// What it is about, by the names that prompts have for it.
    pub(crate) subject: BTreeMap<String, Json>,
    added_tokens: Vec<(StageId, TurnId, u64)>,
}

/// Why a review agent is not run: without what it reviews it is nothing that can be.
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
    /// Whether warnings count as errors.
    pub(crate) strict: bool,
}

impl Prepared {
    /// Finds, reads and lowers what is wanted. Everything wrong is said at once; errors end the command.
    pub(crate) fn new(project: &Project, wanted: Wanted<'_>, streams: &mut Streams) -> Result<Self, Error> {
        Self::of_files(&project.source, project, wanted, streams)
    }

    /// The same where its files are these.
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

    /// The same for whoever only looks at it or tries it on made-up replies. There, a review agent is a review of what has
    /// changed by it alone.
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

    /// How many tokens of a turn's first prompt are ours.
    pub(crate) fn added_tokens(&self, stage: &StageId, turn: &TurnId) -> u64 {
        let of_turn = self.added_tokens.iter().find(|(of, this, _)| of == stage && this == turn);
        of_turn.map_or(0, |(_, _, tokens)| *tokens)
    }
}

/// What forbids to run a workflow here: files nobody trusts (K-39), money that cannot be counted (K-35), reports that
/// could not be saved (P-54). Whoever only looks at it does not care.
pub(crate) fn unready(workflow: &Workflow, settings: &Settings) -> Diagnostics {
    let mut found = unusable(workflow, settings);
    found.append(unsaved_reports(settings));
    found
}

/// What forbids to use the providers of a workflow.
pub(crate) fn unusable(workflow: &Workflow, settings: &Settings) -> Diagnostics {
    let settings = settings.describing(workflow.provider.as_ref());
    let providers = providers(workflow);
    let uses: Vec<Use<'_>> = providers.iter().map(|name| Use::Provider(name.as_str())).collect();
    let mut found = settings.check_trust(&uses);
    found.append(settings.check_budget(&workflow.limits.budget, providers));
    // What is not honoured cannot be judged.
    if found.is_empty() {
        found.append(settings.check_enforcement(workflow));
    }
    found
}

/// Fails where somebody a workflow asks is not there: before a forge is asked for anything, and before there is a run.
pub(crate) fn insist_on_providers(workflow: &Workflow, with: &Connections) -> Result<(), Error> {
    let missing = Providers::missing(workflow, with);
    if missing.is_empty() { Ok(()) } else { Err(saihai::Error::Unavailable(missing).into()) }
}

/// Says that the reports of a run could not be saved, before there is one.
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

/// Everybody a workflow can ask.
pub(crate) fn providers(workflow: &Workflow) -> BTreeSet<&ProviderName> {
    let turns = workflow.stages.values().flat_map(Stage::turns);
    let asked = turns.flat_map(|turn| {
        let judge = turn.reads.choice.as_ref().and_then(|choice| choice.question()?.provider.as_ref());
        std::iter::once(&turn.provider).chain(judge)
    });
    let exits =
        workflow.stages.values().filter_map(|stage| stage.exit.question()?.question()?.provider.as_ref());
    let mut all: BTreeSet<&ProviderName> = asked.chain(exits).collect();
    // Whoever they fall back on can be asked too; the list holds no cycle that could add names for ever.
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

/// How the providers of a run are reached. What decides its course is frozen in the workflow; programs, addresses and
/// variables belong to the machine and are looked up each time, so that a corrected path helps a run that waits for it.
pub(crate) fn connections(settings: &Settings) -> Connections {
    let set = settings.providers.iter().map(|(name, provider)| (name.clone(), provider.clone()));
    Connections {
        settings: set.collect(),
        web: settings.review.web,
        launcher: Some(launcher::this_program()),
        ..Connections::default()
    }
}

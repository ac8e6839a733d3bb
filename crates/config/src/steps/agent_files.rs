//! Files of an agent: where they may be, loading, then validation (S-3, S-19, S-20).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use saihai_model::{LogFiles, Workflow};

use super::agent::{AgentOverrides, StepAgent, registry_path};
use super::catalogue::{is_catalogue, read_catalogue};
use super::completion::{AgentCompletion, CompletionCondition};
use super::flow::StepFlow;
use super::lower::{AgentLowering, StepPassages};
use super::outputs::SchemaFiles;
use super::parameters::ParameterValues;
use super::prompt_files::{PromptLibrary, PromptReference};
use super::prompt_texts::PromptPhrases;
use super::registry::{AgentStep, PromptBase, StepRegistry};
use super::variables::AgentVariables;
use crate::breaker::add_breakers;
use crate::check::{self, FindingProblem};
use crate::lowering::{ProviderResolver, Spots};
use crate::{
    Area, Diagnostic, Diagnostics, Document, Language, LoadedDefinition, Located, Options, ProjectPaths,
    Settings, Source, quoted, quoted_path,
};

/// Files of an agent with valid syntax, not yet validated.
#[derive(Debug)]
pub(super) struct AgentFiles {
    path: PathBuf,
    agent: Document,
    registry: Option<Document>,
    steps: Option<PathBuf>,
    config: Option<Document>,
    read: Vec<PathBuf>,
}

/// Validated content of an agent's files.
pub(super) struct AgentMeaning {
    pub(super) agent: StepAgent,
    pub(super) registry: StepRegistry,
    pub(super) entry: Located<String>,
    pub(super) variables: AgentVariables,
    pub(super) values: ParameterValues,
    pub(super) texts: IndexMap<String, StepPassages>,
    language: Language,
    log: Option<LogFiles>,
    uses: Vec<PathBuf>,
}

impl AgentFiles {
    /// Loads the files. Returns `None` without a readable `agent.json`.
    pub(super) fn load(
        source: &dyn Source,
        places: &ProjectPaths,
        path: &Path,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let agent = Document::load(source, path, &places.shown(path), Area::Steps, diagnostics)?;
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut read = vec![path.to_owned()];
        let mut open = |path: PathBuf, diagnostics: &mut Diagnostics| {
            let document = Document::load(source, &path, &places.shown(&path), Area::Steps, diagnostics);
            read.push(path);
            document
        };
        let paths = AgentPaths { source, places, directory: directory.clone() };
        let steps = registry_path(&agent).and_then(|written| paths.below(&written, diagnostics));
        let registry = steps.clone().and_then(|path| open(path, diagnostics));
        let config = directory.join("config.json");
        let config = source.kind(&config).and_then(|_| open(config, diagnostics));
        Some(Self { path: path.to_owned(), agent, registry, steps, config, read })
    }

    /// Validates the files, and lowers the agent unless there are errors.
    pub(super) fn validate(
        &self,
        source: &dyn Source,
        places: &ProjectPaths,
        options: &Options,
        settings: &Settings,
        mut diagnostics: Diagnostics,
    ) -> LoadedDefinition {
        let Some(meaning) = self.meaning(source, places, options, &mut diagnostics) else {
            return LoadedDefinition::refused(diagnostics.sorted());
        };
        let mut lowering = AgentLowering {
            meaning: &meaning,
            flow: &StepFlow::new(&meaning.registry, &meaning.entry.value),
            file: self.steps.as_deref().unwrap_or(&self.path),
            directory: self.path.parent().unwrap_or(Path::new("")),
            phrases: PromptPhrases::of(meaning.language),
            options,
            settings,
            providers: ProviderResolver::new(options, settings, &mut diagnostics),
            spots: Spots::default(),
            added_tokens: Vec::new(),
            text_uses: Vec::new(),
            roles: HashMap::new(),
            uses_task: false,
        };
        let (log, issue) = (meaning.log.clone(), meaning.values.issue.number());
        let mut workflow = Workflow { log, issue, ..lowering.workflow(&mut diagnostics) };
        add_breakers(&mut workflow, &meaning.agent.progress, meaning.language);
        let rehearsal = lowering.providers.rehearsal(&mut diagnostics);
        let needs_default_provider = lowering.providers.needs_default_provider();
        if !diagnostics.has_errors() {
            for finding in check::check(&workflow) {
                // Other completion conditions can end a run whose flow has no end.
                let spot =
                    lowering.spots.get(&finding.spot).filter(|_| finding.problem != FindingProblem::NoEnd);
                diagnostics.extend(spot.map(|at| finding.diagnostic("step").at(at)));
            }
        }
        LoadedDefinition {
            workflow: (!diagnostics.has_errors()).then_some(workflow),
            diagnostics: diagnostics.sorted(),
            notes: lowering.providers.notes,
            added_tokens: lowering.added_tokens,
            texts: lowering.text_uses,
            uses: meaning.uses,
            language: meaning.language,
            description: meaning.agent.description.or(meaning.agent.display_name),
            task: None,
            rehearsal,
            needs_default_provider,
            wishes: meaning.agent.wishes,
            needs_task: meaning.registry.steps.iter().any(AgentStep::needs_task),
        }
    }

    fn meaning(
        &self,
        source: &dyn Source,
        places: &ProjectPaths,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> Option<AgentMeaning> {
        let overrides = self.config.as_ref().map(|config| AgentOverrides::read(config, diagnostics));
        let agent = StepAgent::read(&self.agent, overrides.unwrap_or_default(), diagnostics);
        let directory = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let paths = AgentPaths { source, places, directory };
        let base = agent.as_ref().and_then(|agent| agent.schemas.as_ref());
        let mut schemas = SchemaFiles::new(&paths, base, diagnostics);
        let registry = self.registry.as_ref().and_then(|registry| match is_catalogue(registry) {
            true => {
                let about_issue = options.issue.is_some();
                read_catalogue(registry, agent.as_ref(), about_issue, &mut schemas, diagnostics)
            }
            false => StepRegistry::read(registry, diagnostics),
        });
        let (mut agent, registry) = (agent?, registry?);
        self.check_name(&agent, &paths.directory, diagnostics);
        check_completion(&agent, &registry, &paths, diagnostics);
        if options.issue.is_some() {
            agent.completion = agent.completion.map(AgentCompletion::until_issue_is_closed);
        }
        let own = agent.completion.as_ref();
        let types = own.into_iter().flat_map(|own| own.types.iter().copied().chain(own.condition.mode()));
        let entry = match self.registry.as_ref().is_some_and(is_catalogue) {
            // The reader of a catalogue has chosen it, or reported that it is missing.
            true => registry.entry.clone(),
            false => registry.entry(&types.collect::<Vec<_>>(), diagnostics),
        };
        check_agreement(&agent, entry.as_ref(), diagnostics);
        let values = ParameterValues::read(&agent.parameters, &registry, options, diagnostics);
        values.issue.check(agent.completion.as_ref(), diagnostics);
        let known_entry = entry.as_ref().filter(|entry| registry.step(&entry.value).is_some());
        let unreached = known_entry.map(|entry| StepFlow::new(&registry, &entry.value).unreached());
        let unreached = unreached.unwrap_or_default();
        let variables = AgentVariables::new(&agent, &registry, &values, unreached, diagnostics);
        let (texts, mut uses, language) = read_texts(&paths, &agent, &registry, diagnostics)?;
        let entry = entry.filter(|entry| registry.step(&entry.value).is_some())?;
        let flow = StepFlow::new(&registry, &entry.value);
        // After errors, an unreachable end may be only a consequence.
        if !diagnostics.has_errors() {
            flow.check_end(agent.completion.as_ref().map(|own| &own.condition), &entry, diagnostics);
        }
        flow.check_inputs(diagnostics);
        let log = log_files(&paths, &agent, diagnostics);
        let mut all = self.read.clone();
        all.extend(schemas.files().cloned());
        all.append(&mut uses);
        Some(AgentMeaning { language, entry, variables, values, texts, log, uses: all, agent, registry })
    }

    fn check_name(&self, agent: &StepAgent, directory: &Path, diagnostics: &mut Diagnostics) {
        let folder = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !agent.name.value.is_empty() && !folder.is_empty() && agent.name.value != folder {
            let message =
                format!("the agent {} is in the directory {}", quoted(&agent.name.value), quoted(folder));
            let diagnostic = agent.name.warning("name-differs", message).label("not the directory's name");
            diagnostics.push(diagnostic.hint("use the directory's name to run it"));
        }
    }
}

/// S-60: values that `stepMachine` repeats must match the original ones.
fn check_agreement(agent: &StepAgent, begins: Option<&Located<String>>, diagnostics: &mut Diagnostics) {
    let conditions = agent.completion.iter().flat_map(|own| own.all());
    let said = conditions.filter_map(|condition| {
        let CompletionCondition::Flow { registry: path, entry } = condition else { return None };
        Some([(path, agent.registry.as_ref()), (entry, begins)])
    });
    for (again, first) in said.flatten() {
        let (Some(again), Some(first)) = (again, first) else { continue };
        if again.value != first.value {
            let message = format!("{} is not {}", quoted(&again.value), quoted(&first.value));
            let diagnostic = again.error("bad-value", message).label("differs from the other value");
            diagnostics.push(diagnostic.hint("remove it").also(&first.at, "what holds"));
        }
    }
}

/// Checks the parts of the agent that its completion depends on.
fn check_completion(
    agent: &StepAgent,
    registry: &StepRegistry,
    paths: &AgentPaths<'_>,
    diagnostics: &mut Diagnostics,
) {
    let Some(own) = &agent.completion else { return };
    let has_check = registry.steps.iter().any(|step| step.check().is_some());
    for condition in own.all() {
        match condition {
            CompletionCondition::Checks(_) if !has_check => {
                let message = "checks are counted, and no step has a `check`";
                diagnostics.push(own.at.error("never-complete", message).label("can never be reached"));
            }
            CompletionCondition::Phase(_) if !agent.actions.signals_phase() => {
                let message = "no action can lead from one phase to the next";
                let hint = "enable `actions` with the type `phase-advance`";
                diagnostics
                    .push(own.at.error("never-complete", message).label("phases never change").hint(hint));
            }
            CompletionCondition::Custom(handler) => {
                let program = paths.below(handler, diagnostics);
                if program.is_some_and(|program| !paths.source.is_executable(&program)) {
                    let message = format!("{} is not a program that can run", quoted(&handler.value));
                    let hint = "it must be a file below the agent's directory, and executable";
                    diagnostics.push(handler.error("bad-handler", message).hint(hint));
                }
            }
            _ => {}
        }
    }
}

/// Returns the files of the agent's own log.
fn log_files(paths: &AgentPaths<'_>, agent: &StepAgent, diagnostics: &mut Diagnostics) -> Option<LogFiles> {
    let logging = agent.logging.as_ref()?;
    let directory = paths.inside(&paths.places.root, &logging.directory, diagnostics)?;
    Some(LogFiles {
        name: agent.name.value.clone(),
        directory: directory.display().to_string(),
        format: logging.format,
        keep: logging.keep,
        brief: logging.brief,
    })
}

type AgentTexts = (IndexMap<String, StepPassages>, Vec<PathBuf>, Language);

fn read_texts(
    paths: &AgentPaths<'_>,
    agent: &StepAgent,
    registry: &StepRegistry,
    diagnostics: &mut Diagnostics,
) -> Option<AgentTexts> {
    let base = match registry.base.as_ref()? {
        PromptBase::Agent(written) => paths.below(written, diagnostics)?,
        PromptBase::Project(written) => paths.inside(&paths.places.root, written, diagnostics)?,
    };
    let fallback = match &agent.fallback {
        Some(written) => Some(paths.below(written, diagnostics)?),
        None => None,
    };
    let mut prompts = PromptLibrary::new(paths, base, fallback);
    let shared = agent.system_prompt.as_ref().and_then(|path| prompts.file(path, diagnostics));
    let mut texts = IndexMap::new();
    for step in &registry.steps {
        let role = match &step.system_prompt {
            Some(own) => prompts.file(own, diagnostics),
            None => shared.clone(),
        };
        let mut resolve =
            |reference: &Option<PromptReference>| prompts.resolve(reference.as_ref()?, diagnostics);
        let work = resolve(&step.prompt);
        let check = step.check().and_then(|check| resolve(&check.prompt));
        let validators = step.gate().into_iter().flat_map(|gate| &gate.validators);
        let retries = validators.map(|validator| resolve(&validator.retry)).collect();
        texts.insert(step.id.value.clone(), StepPassages { role, work, check, retries });
    }
    let declared = agent.language.as_deref().and_then(Language::named);
    let language = declared.unwrap_or_else(|| {
        let own = registry.steps.iter().filter_map(|step| step.gate.as_deref());
        let described = agent.description.as_deref().into_iter();
        Language::of(prompts.files().map(|(_, text)| text).chain(own).chain(described))
    });
    let uses = prompts.files().map(|(path, _)| path.to_owned()).collect();
    Some((texts, uses, language))
}

pub(super) struct AgentPaths<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) places: &'a ProjectPaths,
    pub(super) directory: PathBuf,
}

impl AgentPaths<'_> {
    /// Resolves a path in the agent's directory, and reports one that leaves it.
    pub(super) fn below(&self, written: &Located<String>, diagnostics: &mut Diagnostics) -> Option<PathBuf> {
        self.inside(&self.directory, written, diagnostics)
    }

    /// Resolves a path in a directory, and reports one that leaves the project.
    pub(super) fn inside(
        &self,
        directory: &Path,
        written: &Located<String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<PathBuf> {
        self.resolve(directory, written).map_err(|escape| diagnostics.push(*escape)).ok()
    }

    pub(super) fn resolve(
        &self,
        directory: &Path,
        written: &Located<String>,
    ) -> Result<PathBuf, Box<Diagnostic>> {
        if let Some(why) = leaves(&written.value) {
            let message = format!("{} {why}", quoted(&written.value));
            let diagnostic = written.error("path-escape", message).label("not allowed in a path here");
            return Err(Box::new(diagnostic.hint("write a path below the agent's own directory, with `/`")));
        }
        let path = directory.join(&written.value);
        if self.is_outside(&path) {
            let message =
                format!("{} leads out of the project by a link", quoted_path(&self.places.shown(&path)));
            return Err(Box::new(written.error("path-escape", message).label("leads out of the project")));
        }
        Ok(path)
    }

    /// Returns true if links lead out of the project, for a missing file by its last existing directory.
    pub(super) fn is_outside(&self, path: &Path) -> bool {
        let real = path.ancestors().find_map(|existing| self.source.canonical(existing).ok());
        let Some(real) = real else { return false };
        let within = |root: &Path| self.source.canonical(root).is_ok_and(|root| real.starts_with(root));
        // An agent named by its path may be outside the project as a whole.
        let elsewhere = !self.directory.starts_with(&self.places.root);
        !(within(&self.places.root) || elsewhere && within(&self.directory))
    }
}

/// Returns the reason why a path is not allowed.
fn leaves(written: &str) -> Option<&'static str> {
    if written.contains('\0') {
        return Some("holds a NUL character");
    }
    if written.contains('\\') {
        return Some("holds a `\\`");
    }
    let drive =
        written.as_bytes().get(1) == Some(&b':') && written.starts_with(|c: char| c.is_ascii_alphabetic());
    if written.starts_with(['/', '~']) || drive {
        return Some("is not a relative path");
    }
    written.split('/').any(|part| part == "..").then_some("leads upwards with `..`")
}

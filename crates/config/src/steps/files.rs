//! Files of an agent: loading, then validation (S-19, S-20).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use saihai_model::{LogFiles, Workflow};

use super::agent::{Agent, registry_path};
use super::catalogue;
use super::completion::Condition;
use super::config::Overrides;
use super::flow::Flow;
use super::lower::{Lowering, Spoke};
use super::paths::Paths;
use super::prompts::Prompts;
use super::registry::{Base, Registry};
use super::schemas::Schemas;
use super::step::Step;
use super::values::Values;
use super::variables::Variables;
use super::words::Words;
use crate::check::{self, Problem};
use crate::lowering::{Providers, Spots};
use crate::{
    Area, Diagnostics, Document, Language, Loaded, Located, Options, Places, Settings, Source, quoted,
};

/// Files of an agent with valid syntax, not yet validated.
#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    agent: Document,
    registry: Option<Document>,
    steps: Option<PathBuf>,
    config: Option<Document>,
    read: Vec<PathBuf>,
}

/// Validated content of an agent's files.
struct Meaning {
    agent: Agent,
    registry: Registry,
    entry: Located<String>,
    variables: Variables,
    values: Values,
    texts: IndexMap<String, Spoke>,
    language: Language,
    log: Option<LogFiles>,
    uses: Vec<PathBuf>,
}

impl Files {
    /// Loads the files. Returns `None` without a readable `agent.json`.
    pub(super) fn load(
        source: &dyn Source,
        places: &Places,
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
        let paths = Paths { source, places, directory: directory.clone() };
        let steps = registry_path(&agent)
            .and_then(|written| paths.below(&written).map_err(|escape| diagnostics.push(*escape)).ok());
        let registry = steps.clone().and_then(|path| open(path, diagnostics));
        let config = directory.join("config.json");
        let config = source.kind(&config).and_then(|_| open(config, diagnostics));
        Some(Self { path: path.to_owned(), agent, registry, steps, config, read })
    }

    /// Validates the files, and lowers the agent unless there are errors.
    pub(super) fn validate(
        &self,
        source: &dyn Source,
        places: &Places,
        options: &Options,
        settings: &Settings,
        mut diagnostics: Diagnostics,
    ) -> Loaded {
        let Some(meaning) = self.meaning(source, places, options, &mut diagnostics) else {
            return Loaded::refused(diagnostics.sorted());
        };
        let mut lowering = Lowering {
            agent: &meaning.agent,
            registry: &meaning.registry,
            entry: &meaning.entry,
            flow: &Flow::new(&meaning.registry, &meaning.entry.value),
            texts: &meaning.texts,
            variables: &meaning.variables,
            parameters: &meaning.values.parameters,
            issue: meaning.values.issue,
            file: self.steps.as_deref().unwrap_or(&self.path),
            directory: self.path.parent().unwrap_or(Path::new("")),
            words: Words::of(meaning.language),
            options,
            settings,
            providers: Providers::new(options, settings, &mut diagnostics),
            spots: Spots::default(),
            added_tokens: Vec::new(),
            said: Vec::new(),
            roles: HashMap::new(),
            uses_task: false,
        };
        let (log, issue) = (meaning.log, meaning.values.issue.number());
        let workflow = Workflow { log, issue, ..lowering.workflow(&mut diagnostics) };
        let rehearsal = lowering.providers.rehearsal(&mut diagnostics);
        if !diagnostics.has_errors() {
            for finding in check::check(&workflow) {
                // Other completion conditions can end a run whose flow has no end.
                let spot = lowering.spots.get(&finding.spot).filter(|_| finding.problem != Problem::NoEnd);
                diagnostics.extend(spot.map(|at| finding.diagnostic("step").at(at)));
            }
        }
        Loaded {
            workflow: (!diagnostics.has_errors()).then_some(workflow),
            diagnostics: diagnostics.sorted(),
            notes: lowering.providers.notes,
            uses: meaning.uses,
            language: meaning.language,
            added_tokens: lowering.added_tokens,
            description: meaning.agent.description.clone().or_else(|| meaning.agent.display_name.clone()),
            task: None,
            rehearsal,
            wishes: meaning.agent.worktree.wishes(),
            texts: lowering.said,
            needs_task: meaning.registry.steps.iter().any(Step::needs_task),
        }
    }

    fn meaning(
        &self,
        source: &dyn Source,
        places: &Places,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> Option<Meaning> {
        let overrides = self.config.as_ref().map(|config| Overrides::read(config, diagnostics));
        let agent = Agent::read(&self.agent, &overrides.unwrap_or_default(), diagnostics);
        let directory = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let paths = Paths { source, places, directory };
        let base = agent.as_ref().and_then(|agent| agent.schemas.as_ref());
        let mut schemas = Schemas::new(&paths, base, diagnostics);
        let registry = self.registry.as_ref().and_then(|registry| match catalogue::is_one(registry) {
            true => {
                let about_issue = options.issue.is_some();
                catalogue::read(registry, agent.as_ref(), about_issue, &mut schemas, diagnostics)
            }
            false => Registry::read(registry, diagnostics),
        });
        let (agent, registry) = (agent?, registry?);
        self.check_name(&agent, &paths.directory, diagnostics);
        check_completion(&agent, &registry, &paths, diagnostics);
        let own = agent.completion.as_ref();
        let types = own.into_iter().flat_map(|own| own.types.iter().copied().chain(own.condition.mode()));
        let entry = registry.entry(&types.collect::<Vec<_>>(), diagnostics);
        check_agreement(&agent, entry.as_ref(), diagnostics);
        let values = Values::read(&agent.parameters, &registry, options, diagnostics);
        values.issue.check(agent.completion.as_ref(), diagnostics);
        let variables = Variables::new(&agent, &registry, &values, diagnostics);
        let (texts, mut uses, language) = read_texts(&paths, &agent, &registry, diagnostics)?;
        let entry = entry.filter(|entry| registry.step(&entry.value).is_some())?;
        let flow = Flow::new(&registry, &entry.value);
        // After errors, an unreachable end may be only a consequence.
        let sound = !diagnostics.has_errors();
        if sound {
            flow.check_end(agent.completion.as_ref().map(|own| &own.condition), &entry, diagnostics);
        }
        flow.check_inputs(diagnostics);
        let log = log_files(&paths, &agent, diagnostics);
        let mut all = self.read.clone();
        all.extend(schemas.files().cloned());
        all.append(&mut uses);
        Some(Meaning { language, entry, variables, values, texts, log, uses: all, agent, registry })
    }

    fn check_name(&self, agent: &Agent, directory: &Path, diagnostics: &mut Diagnostics) {
        let folder = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !agent.name.value.is_empty() && !folder.is_empty() && agent.name.value != folder {
            let message =
                format!("the agent {} stands in the directory {}", quoted(&agent.name.value), quoted(folder));
            let diagnostic = agent.name.warning("name-differs", message).label("not the directory's name");
            diagnostics.push(diagnostic.hint("it is asked for by the directory's name"));
        }
    }
}

/// S-60: values that `stepMachine` repeats must match the original ones.
fn check_agreement(agent: &Agent, begins: Option<&Located<String>>, diagnostics: &mut Diagnostics) {
    let conditions = agent.completion.iter().flat_map(|own| own.all());
    let said = conditions.filter_map(|condition| {
        let Condition::Flow { registry: path, entry } = condition else { return None };
        Some([(path, agent.registry.as_ref()), (entry, begins)])
    });
    for (again, first) in said.flatten() {
        let (Some(again), Some(first)) = (again, first) else { continue };
        if again.value != first.value {
            let message = format!("{} is not {}", quoted(&again.value), quoted(&first.value));
            let diagnostic = again.error("bad-value", message).label("differs from what stands elsewhere");
            diagnostics.push(diagnostic.hint("remove it").also(&first.at, "what holds"));
        }
    }
}

/// Checks the parts of the agent that its completion depends on.
fn check_completion(agent: &Agent, registry: &Registry, paths: &Paths<'_>, diagnostics: &mut Diagnostics) {
    let Some(own) = &agent.completion else { return };
    let has_check = registry.steps.iter().any(|step| step.check().is_some());
    for condition in own.all() {
        match condition {
            Condition::Checks(_) if !has_check => {
                let message = "checks are counted, and no step has a `check`";
                diagnostics.push(own.at.error("never-complete", message).label("can never be reached"));
            }
            Condition::Phase(_) if !PHASE_SIGNALS.iter().any(|signal| agent.actions.signals(signal)) => {
                let message = "no action can lead from one phase to the next";
                let hint = "enable `actions` with the type `phase-advance`";
                diagnostics
                    .push(own.at.error("never-complete", message).label("phases never change").hint(hint));
            }
            Condition::Custom(handler) => match paths.below(handler) {
                Ok(program) if paths.source.is_executable(&program) => {}
                Ok(_) => {
                    let message = format!("{} is no program that can be run", quoted(&handler.value));
                    let hint = "it must be a file below the agent's directory, and executable";
                    diagnostics.push(handler.error("bad-handler", message).hint(hint));
                }
                Err(escape) => diagnostics.push(*escape),
            },
            Condition::Checks(_)
            | Condition::Phase(_)
            | Condition::Iterations(_)
            | Condition::Keyword { .. }
            | Condition::Issue
            | Condition::File { .. }
            | Condition::Signal { .. }
            | Condition::Flow { .. }
            | Condition::Composite(..) => {}
        }
    }
}

/// Returns the files of the agent's own log.
fn log_files(paths: &Paths<'_>, agent: &Agent, diagnostics: &mut Diagnostics) -> Option<LogFiles> {
    let logging = agent.logging.as_ref()?;
    let directory = paths.inside(&paths.places.root, &logging.directory);
    let directory = directory.map_err(|escape| diagnostics.push(*escape)).ok()?;
    Some(LogFiles {
        name: agent.name.value.clone(),
        directory: directory.display().to_string(),
        format: logging.format,
        keep: logging.keep,
        brief: logging.brief,
    })
}

/// Blocks that change the phase.
const PHASE_SIGNALS: [&str; 3] = ["project-plan", "review-result", "phase-advance"];

type Texts = (IndexMap<String, Spoke>, Vec<PathBuf>, Language);

fn read_texts(
    paths: &Paths<'_>,
    agent: &Agent,
    registry: &Registry,
    diagnostics: &mut Diagnostics,
) -> Option<Texts> {
    let mut inside = |directory: &Path, written: &Located<String>| {
        paths.inside(directory, written).map_err(|escape| diagnostics.push(*escape)).ok()
    };
    let base = match registry.base.as_ref()? {
        Base::Agent(written) => inside(&paths.directory, written)?,
        Base::Project(written) => inside(&paths.places.root, written)?,
    };
    let fallback = match &agent.fallback {
        Some(written) => Some(inside(&paths.directory, written)?),
        None => None,
    };
    let mut prompts = Prompts::new(paths, base, fallback);
    let shared = agent.system_prompt.as_ref().and_then(|path| prompts.file(path, diagnostics));
    let mut texts = IndexMap::new();
    for step in &registry.steps {
        let role = match &step.system_prompt {
            Some(own) => prompts.file(own, diagnostics),
            None => shared.clone(),
        };
        let mut resolve = |reference: Option<&super::reference::Reference>| {
            let reference = reference?;
            prompts.check_splits(reference, diagnostics);
            prompts.resolve(reference, diagnostics)
        };
        let work = resolve(step.prompt.as_ref());
        let check = resolve(step.check().and_then(|check| check.prompt.as_ref()));
        let validation = step.gate().and_then(|gate| gate.validation.as_ref());
        let validators = validation.map(|validation| validation.validators.as_slice()).unwrap_or_default();
        let retries = validators.iter().map(|validator| resolve(validator.retry.as_ref())).collect();
        texts.insert(step.id.value.clone(), Spoke { role, work, check, retries });
    }
    let said = agent.language.as_deref().and_then(Language::named);
    let language = said.unwrap_or_else(|| {
        let own = registry.steps.iter().filter_map(|step: &Step| step.gate.as_deref());
        let described = agent.description.as_deref().into_iter();
        Language::of(prompts.files().map(|(_, text)| text).chain(own).chain(described))
    });
    let uses = prompts.files().map(|(path, _)| path.to_owned()).collect();
    Some((texts, uses, language))
}

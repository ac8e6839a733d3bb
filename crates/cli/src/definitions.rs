//! A requested definition, ready to run, rehearse or inspect: with its script, its task and the programs it may run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use saihai_config::delivery::Wishes;
use saihai_config::{
    Area, Definition, Diagnostic, Diagnostics, Dialect, DiskSource, Language, LoadedDefinition, Options,
    Settings, Source, Trust, Use, ValidatedDefinition, find, list_of, load, load_script,
};
use saihai_connect::{Connections, Providers, launcher};
use saihai_model::{
    Json, ProviderKind, ProviderName, SandboxChoice, Script, Stage, StageId, TextFile, TurnId, Workflow,
};

use crate::commands::review::ReviewAgentDefinition;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::Streams;

/// A definition that was found, parsed and lowered.
pub(crate) struct PreparedDefinition {
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
fn review_agent(asked: &str, name: &str) -> CommandError {
    let error = CommandError::usage(format!("`{asked}` is a review agent"));
    error.hint(format!("`saihai review --agent {name}` reviews the changes with it")).hint(
        "`saihai review --explain-selection` shows if a change selects it, `saihai check` reports its errors",
    )
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct DefinitionRequest<'a> {
    /// The definition's name or path.
    pub(crate) definition: &'a str,
    pub(crate) options: &'a Options,
    pub(crate) settings: &'a Settings,
    /// True if warnings count as errors.
    pub(crate) strict: bool,
}

impl PreparedDefinition {
    /// Finds, parses and lowers a definition. Prints all diagnostics at once; errors end the command.
    pub(crate) fn new(
        project: &Project,
        wanted: DefinitionRequest<'_>,
        streams: &mut Streams,
    ) -> Result<Self, CommandError> {
        Self::of_files(&project.source, project, wanted, streams)
    }

    /// Does the same with the given files.
    pub(crate) fn of_files(
        files: &dyn Source,
        project: &Project,
        wanted: DefinitionRequest<'_>,
        streams: &mut Streams,
    ) -> Result<Self, CommandError> {
        let strict = wanted.strict || wanted.settings.strict;
        let definition = find(files, &project.places, wanted.definition);
        let definition = match definition {
            Ok(definition) => definition,
            Err(_) if ReviewAgentDefinition::is_named(project, wanted) => {
                return Err(review_agent(wanted.definition, wanted.definition));
            }
            Err(found) => {
                streams.diagnose(&found, strict)?;
                return Err(CommandError::usage(format!("`{}` cannot be found", wanted.definition)));
            }
        };
        if definition.dialect == Dialect::Review {
            return Err(review_agent(wanted.definition, "NAME"));
        }
        let loaded = load(files, &project.places, &definition, wanted.options, wanted.settings);
        Self::of(definition, loaded, wanted, streams)
    }

    /// Does the same for inspection or a rehearsal. A review agent alone then reviews the current changes.
    pub(crate) fn to_look_at(
        project: &Project,
        wanted: DefinitionRequest<'_>,
        streams: &mut Streams,
    ) -> Result<Self, CommandError> {
        match ReviewAgentDefinition::find(project, wanted, streams)? {
            Some(ReviewAgentDefinition { definition, loaded, subject }) => {
                let prepared = Self::of(definition, loaded, wanted, streams)?;
                Ok(Self { subject, ..prepared })
            }
            None => Self::new(project, wanted, streams),
        }
    }

    fn of(
        definition: Definition,
        mut loaded: LoadedDefinition,
        wanted: DefinitionRequest<'_>,
        streams: &mut Streams,
    ) -> Result<Self, CommandError> {
        let strict = wanted.strict || wanted.settings.strict;
        let found = std::mem::take(&mut loaded.diagnostics);
        // S-20: warnings do not stop a run.
        if found.forbids(true) && !found.forbids(strict) {
            streams.err.send("Configuration warnings:\n");
        }
        streams.diagnose(&found, strict)?;
        for note in &loaded.notes {
            streams.note(note);
        }
        let Some(workflow) = loaded.workflow.take() else {
            return Err(CommandError::usage(format!("`{}` cannot be run", wanted.definition)));
        };
        let workflow = ValidatedDefinition::validate(workflow).map_err(saihai::DriverError::from)?;
        let LoadedDefinition {
            rehearsal,
            needs_task,
            description,
            added_tokens,
            task,
            texts,
            language,
            wishes,
            ..
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
    let providers_used = providers.iter().map(|name| Use::Provider(name.as_str()));
    let uses: Vec<Use<'_>> = providers_used.chain([Use::Notify]).collect();
    let mut found = settings.check_trust(&uses);
    found.append(settings.check_budget(&workflow.limits.budget, providers));
    // Untrusted settings do not apply, so they cannot be checked.
    if found.is_empty() {
        found.append(settings.check_enforcement(workflow));
    }
    found
}

/// Fails if a provider of the workflow is missing, before any request to a forge and before the run exists.
pub(crate) fn insist_on_providers(workflow: &Workflow, with: &Connections) -> Result<(), CommandError> {
    let missing = Providers::missing(workflow, with);
    if missing.is_empty() { Ok(()) } else { Err(saihai::DriverError::Unavailable(missing).into()) }
}

/// Reports an unwritable reports directory before the run exists.
pub(crate) fn unsaved_reports(settings: &Settings) -> Diagnostics {
    let mut found = Diagnostics::new();
    if let Err(why) = saihai::can_create_directory(&settings.reports_dir) {
        let directory = settings.reports_dir.display();
        let code = Area::Piece.code("bad-reports-dir");
        let unwritable = Diagnostic::error(code, format!("reports cannot be saved in `{directory}`: {why}"));
        found.push(unwritable.hint("the setting `reports_dir` names the directory"));
    }
    found
}

/// Recommends a sandbox to agent programs that read text of other people, such as issues and pull requests (B-1).
pub(crate) fn recommend_sandbox(workflow: &Workflow, settings: &Settings, streams: &mut Streams) {
    let is_open = |name: &&ProviderName| {
        let Some(provider) = settings.provider(name.as_str()) else { return false };
        let starts_program =
            !matches!(provider.kind, ProviderKind::Script | ProviderKind::Anthropic | ProviderKind::Openai);
        let choice = settings.sandbox.effective(provider.sandbox.as_ref(), false);
        starts_program && choice == SandboxChoice::Off
    };
    if providers(workflow).iter().any(is_open) {
        streams.note("agents read text of other people here; `--sandbox auto` limits what they can reach");
    }
}

/// Returns all providers that a workflow can ask.
pub(crate) fn providers(workflow: &Workflow) -> BTreeSet<&ProviderName> {
    let turns = workflow.stages.values().flat_map(Stage::agent_turns);
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
        sandbox: settings.sandbox.clone(),
        launcher: Some(launcher::this_program()),
        ..Connections::default()
    }
}

/// Returns the script file: from the flag, the settings, or TAKT's own variable (C-75, C-76).
pub(crate) fn script_path(project: &Project, typed: Option<&Path>, settings: &Settings) -> Option<PathBuf> {
    let typed = typed.map(|file| project.places.current.join(file));
    let scenario =
        || project.variables.get("TAKT_MOCK_SCENARIO").map(|file| project.places.current.join(file));
    typed.or_else(|| settings.script_file()).or_else(scenario)
}

/// Returns the script's setting for an interactive terminal. Its errors are reported when it is read.
pub(crate) fn script_is_interactive(project: &Project, file: &Path) -> Option<bool> {
    let name = project.shown(file);
    load_script(&project.source, file, &name, None, &mut Diagnostics::new())?.interactive
}

/// Checks a script without using it. Errors end the command.
pub(crate) fn check_script(
    project: &Project,
    file: &Path,
    strict: bool,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    let mut found = Diagnostics::new();
    load_script(&project.source, file, &project.shown(file), None, &mut found);
    streams.diagnose(&found, strict)
}

/// Reads a script for a workflow. Errors end the command.
pub(crate) fn read_script_file(
    project: &Project,
    file: &Path,
    workflow: &Workflow,
    strict: bool,
    streams: &mut Streams,
) -> Result<Script, CommandError> {
    let name = project.shown(file);
    let mut found = Diagnostics::new();
    let script = load_script(&project.source, file, &name, Some(workflow), &mut found);
    streams.diagnose(&found, strict)?;
    script.ok_or_else(|| CommandError::usage(format!("`{name}` cannot be played")))
}

/// Replaces the task if no real work is done.
pub(crate) const TASK_PLACEHOLDER: &str = "(the task)";

/// Limit for an endless input; no real task is this long.
const MOST_BYTES: u64 = 16 << 20;

/// Reads the task from the arguments or from stdin. Returns nothing if there is none.
pub(crate) fn read_task(given: Option<String>) -> Result<Option<String>, CommandError> {
    let task = match given.as_deref() {
        Some("-") => Some(read_stdin("the task")?),
        Some(_) | None => given,
    };
    Ok(task.filter(|task| !task.trim().is_empty()))
}

/// Reads stdin as text, without the trailing newline that a shell adds.
pub(crate) fn read_stdin(what: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| CommandError::usage(format!("cannot read {what} from stdin: {error}")))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(CommandError::usage(format!("{what} on stdin is longer than {MOST_BYTES} bytes")));
    }
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// Maximum size of a checked program.
pub(crate) const LARGEST_PROGRAM: u64 = 16 << 20;

/// Rejects programs of a definition whose current content the user has not trusted, as in a fresh clone.
pub(crate) fn untrusted_programs(project: &Project, workflow: &Workflow, trust_project: bool) -> Diagnostics {
    let mut found = Diagnostics::new();
    let by_variable =
        project.variables.get("SAIHAI_TRUST_PROJECT").is_some_and(|value| matches!(value, "1" | "true"));
    let commands = workflow.commands();
    if trust_project || by_variable || commands.is_empty() {
        return found;
    }
    let trust = Trust::load(&project.source, project.places.user.as_deref(), &mut found);
    // One file may name several programs, and is trusted as a whole.
    let mut files: Vec<(&Path, Vec<String>)> = Vec::new();
    for command in &commands {
        let Some(file) = command.written.or(command.argv.first().map(String::as_str)).map(Path::new) else {
            continue;
        };
        let typed = command.written.map(|_| command.typed());
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, runs)) => runs.extend(typed.filter(|typed| !runs.contains(typed))),
            None => files.push((file, typed.into_iter().collect())),
        }
    }
    for (program, runs) in files {
        // Links are followed, because nothing is displayed and programs are often links: `node_modules/.bin`,
        // `.venv/bin`.
        let content = DiskSource.read(program, LARGEST_PROGRAM).ok();
        let canonical = DiskSource.canonical(program).ok();
        let trusted = canonical.zip(content).is_some_and(|(path, content)| trust.trusts(&path, &content));
        let own = program.starts_with(&project.places.root);
        if trusted && own {
            continue;
        }
        let shown = project.shown(program);
        let would = match runs.is_empty() {
            true => "the definition would run it".to_owned(),
            false => format!("it runs {}", list_of(runs.iter().map(String::as_str), "and")),
        };
        let message = format!("`{shown}` is not trusted, and {would}");
        let hint = if own {
            format!("review it, then run `saihai trust {shown}`; `--trust-project` trusts it for one call")
        } else {
            "review the definition; `--trust-project` trusts it for one call".to_owned()
        };
        found.push(Diagnostic::error(Area::Settings.code("untrusted"), message).hint(hint));
    }
    found
}

//! Completion of arguments in the shell: definitions, runs, stages, providers, review agents and issues.
//!
//! The script that `saihai completions SHELL` prints calls this program with [`VARIABLE`] set. The program then
//! prints the candidates for the word at the cursor, and does nothing else. A completion opens no connection: the
//! issues of a forge are known only as far as runs have worked on them.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use saihai::{RunDirectory, names_run};
use saihai_config::issues::load_folder;
use saihai_config::{Diagnostics, Dialect, ListedDefinition, Options, find, list, load};
use saihai_model::{ProviderKind, Workflow};

use crate::commands::Arguments;
use crate::project::Project;
use crate::terminal::visible_line;

/// The environment variable that asks for candidates. Its value is the name of the shell.
pub(crate) const VARIABLE: &str = "SAIHAI_COMPLETE";

/// Prints the candidates if a shell asks for them. Returns `None` if this call is a normal one.
pub(crate) fn answer_shell(arguments: &[OsString]) -> Option<Result<(), clap::Error>> {
    let current = std::env::current_dir().ok();
    let completed = CompleteEnv::with_factory(Arguments::command)
        .var(VARIABLE)
        .try_complete(arguments.iter().cloned(), current.as_deref());
    match completed {
        Ok(false) => None,
        Ok(true) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    }
}

/// Wraps a function that lists candidates and descriptions. Offers those that start with the typed text.
pub(crate) fn completer(all: fn(&Project) -> Vec<(String, String)>) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let (Some(typed), Ok(project)) = (typed.to_str(), Project::find()) else { return Vec::new() };
        let fitting = all(&project).into_iter().filter(|(value, _)| value.starts_with(typed));
        fitting
            .map(|(value, about)| {
                let about = visible_line(about.lines().next().unwrap_or_default()).into_owned();
                CompletionCandidate::new(value).help((!about.is_empty()).then(|| about.into()))
            })
            .collect()
    })
}

pub(crate) fn complete_definitions(project: &Project) -> Vec<(String, String)> {
    listed(project, |dialect| dialect != Dialect::Review)
}

pub(crate) fn complete_review_agents(project: &Project) -> Vec<(String, String)> {
    listed(project, |dialect| dialect == Dialect::Review)
}

/// Lists definitions and review agents: `run` takes both.
pub(crate) fn complete_all_definitions(project: &Project) -> Vec<(String, String)> {
    listed(project, |_| true)
}

fn listed(project: &Project, wants: impl Fn(Dialect) -> bool) -> Vec<(String, String)> {
    let all = list(&project.source, &project.places, project.language());
    let wanted = all.into_iter().filter(|one| wants(one.definition.dialect));
    let named = |one: ListedDefinition| (one.definition.name, one.description.unwrap_or_default());
    let mut names: Vec<(String, String)> = wanted.map(named).collect();
    names.sort();
    names.dedup_by(|one, other| one.0 == other.0);
    names
}

pub(crate) fn complete_runs(project: &Project) -> Vec<(String, String)> {
    let runs = project.runs().list().unwrap_or_default();
    let newest = runs.first().map(|run| ("last".to_owned(), run.id().to_owned()));
    let about = |run: &RunDirectory| run.start().map(|start| start.definition.clone()).unwrap_or_default();
    newest.into_iter().chain(runs.iter().map(|run| (run.id().to_owned(), about(run)))).collect()
}

/// Lists definitions and runs, for `graph`.
pub(crate) fn complete_graphs(project: &Project) -> Vec<(String, String)> {
    let mut all = complete_definitions(project);
    all.extend(complete_runs(project));
    all
}

/// Lists runs, and the stages of the last run.
pub(crate) fn complete_runs_and_stages(project: &Project) -> Vec<(String, String)> {
    let mut all = stages_of_run(project, "last");
    all.extend(complete_runs(project));
    all
}

/// Lists the stages of the run that was typed before.
pub(crate) fn complete_run_stages(project: &Project) -> Vec<(String, String)> {
    let typed = typed_words().into_iter().find(|word| names_run(word));
    stages_of_run(project, typed.as_deref().unwrap_or("last"))
}

fn stages_of_run(project: &Project, run: &str) -> Vec<(String, String)> {
    let workflow = project.runs().find(run).and_then(|directory| directory.workflow());
    workflow.map(|workflow| stages_and_turns(&workflow)).unwrap_or_default()
}

/// Lists the stages of the definition that was typed before.
pub(crate) fn complete_definition_stages(project: &Project) -> Vec<(String, String)> {
    let words = typed_words();
    let is_definition = |word: &&String| find(&project.source, &project.places, word).is_ok();
    let Some(word) = words.iter().skip(2).filter(|word| !word.starts_with('-')).find(is_definition) else {
        return Vec::new();
    };
    let Ok(definition) = find(&project.source, &project.places, word) else { return Vec::new() };
    let settings = project.load_settings(false, &mut Diagnostics::new());
    let options = Options { interactive: true, ..Options::default() };
    let loaded = load(&project.source, &project.places, &definition, &options, &settings);
    loaded.workflow.map(|workflow| stages_and_turns(&workflow)).unwrap_or_default()
}

/// Lists the stages that ask agents, and the turns of those with several.
fn stages_and_turns(workflow: &Workflow) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (id, stage) in workflow.stages.iter().filter(|(_, stage)| !stage.turns().is_empty()) {
        names.push((id.to_string(), String::new()));
        if stage.turns().len() > 1 {
            names.extend(stage.turns().iter().map(|turn| (format!("{id}/{}", turn.id), String::new())));
        }
    }
    names
}

pub(crate) fn complete_providers(project: &Project) -> Vec<(String, String)> {
    let settings = project.load_settings(false, &mut Diagnostics::new());
    let mut names: Vec<String> = ProviderKind::ALL.iter().map(|kind| kind.name().to_owned()).collect();
    names.extend(settings.providers.keys().map(ToString::to_string));
    names.sort();
    names.dedup();
    names.into_iter().map(|name| (name, String::new())).collect()
}

/// Lists the issues of the project's folder, else those that runs have worked on.
pub(crate) fn complete_issues(project: &Project) -> Vec<(String, String)> {
    let settings = project.load_settings(false, &mut Diagnostics::new());
    let folder = &settings.work.from;
    if folder.is_dir() {
        let shown = project.shown(folder);
        let issues = load_folder(&project.source, folder, &shown, &mut Diagnostics::new());
        return issues.into_iter().map(|issue| (issue.number.get().to_string(), issue.title)).collect();
    }
    let mut numbers: Vec<u64> = Vec::new();
    for run in project.runs().list().unwrap_or_default() {
        let start = run.start().ok();
        if let Some(saihai_delivery::Placement::Issue(assignment)) =
            start.and_then(saihai_delivery::Placement::of)
        {
            numbers.push(u64::from(assignment.issue.get()));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().map(|number| (number.to_string(), String::new())).collect()
}

/// Returns the words on the command line that is completed. The shell passes them after `--`.
fn typed_words() -> Vec<String> {
    let mut arguments = std::env::args_os().skip_while(|argument| argument != "--");
    arguments.next();
    arguments.filter_map(|word| word.into_string().ok()).collect()
}

/// Returns the program's own path for the registration script, unless the shell finds it by its name.
pub(crate) fn registered_program(arguments: &[OsString]) -> String {
    let typed = arguments.first().map(|program| Path::new(program).to_owned()).unwrap_or_default();
    if typed.components().count() < 2 {
        return "saihai".to_owned();
    }
    std::env::current_dir().map_or_else(|_| typed.clone(), |here| here.join(&typed)).display().to_string()
}

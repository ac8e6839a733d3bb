use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use saihai::{ActionExecutor, Clock, Driver, RunDirectory, RunSpec};
use saihai_config::check::most_calls;
use saihai_config::{Dialect, Options, Settings, Use, ValidatedDefinition, find};
use saihai_connect::Connections;
use saihai_delivery::{OwnTree, Placement};
use saihai_engine::rehearse::way_to_completion;
use saihai_git::ItemLock;
use saihai_model::{Action, ExitStatus, Issue, IssueNumber, ProviderKind, RunOrigin, Script, Workflow, slug};

use crate::checkout::{
    hide_directories_if_possible, is_first_run, lock_checked_out_issue, own_worktree, worktree_planter,
};
use crate::commands::flags::{RunFlags, SubmitFlags, parse_issue};
use crate::commands::review::Review;
use crate::commands::top::run_on_screen;
use crate::commands::work::single_run as one;
use crate::completion::{complete_all_definitions, complete_issues, completer};
use crate::definitions::{
    DefinitionRequest, PreparedDefinition, connections, insist_on_providers, read_script_file, read_task,
    script_is_interactive, script_path, unready, untrusted_programs,
};
use crate::driving::{DisplayOptions, RunKeeping, block_on, drive};
use crate::error::CommandError;
use crate::issue_actions::{issue_executor, with_executor};
use crate::issue_tracker::{ClosedIssue, IssueTask, issue_task, issue_variables, with_forge};
use crate::project::Project;
use crate::quantities::{budget_words, count};
use crate::run_origin::{SharedBudget, origin_of_new_run};
use crate::server_runs::{PreparedServerRun, submit};
use crate::terminal::Streams;

/// Run a definition on a task
#[derive(Debug, Args)]
#[command(after_help = "\
Prints the outcome, the report files and the last output.
`--rehearse` runs the definition with generated replies; no agent does any work.
On a terminal, a run without a provider is rehearsed too, and exits with 4. Elsewhere it is refused.

Examples:
  saihai run default \"fix the login\" --provider claude
  saihai run default - --worktree --budget usd=5 < task.md
  saihai run first \"try it\" --rehearse")]
pub(crate) struct RunCommand {
    /// Definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION", add = completer(complete_all_definitions))]
    definition: String,

    /// Task for the agents, or `-` to read it from stdin
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Work on this issue: its title, text and labels are the task
    #[arg(long, value_name = "N", value_parser = parse_issue, conflicts_with = "task")]
    #[arg(add = completer(complete_issues))]
    issue: Option<IssueNumber>,

    /// Work in a new worktree, on a new branch from the current commit
    #[arg(long, conflicts_with = "no_worktree")]
    worktree: bool,

    /// Work in this directory, overriding the issue and the definition
    #[arg(long)]
    no_worktree: bool,

    /// Use generated replies instead of an agent; no work is done
    #[arg(long, conflicts_with_all = ["provider", "script", "issue"], help_heading = "Agents")]
    rehearse: bool,

    /// Show the run on the screen of `saihai top`; gates are answered there
    #[arg(long, conflicts_with_all = ["json", "auto"])]
    tui: bool,

    #[command(flatten)]
    server: SubmitFlags,

    #[command(flatten)]
    flags: RunFlags,
}

impl RunCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        if self.tui {
            return run_on_screen(&project, streams);
        }
        if let Some(agent) = self.review_agent(&project)? {
            return Review::by(&agent, &self.flags, streams)?.execute(streams);
        }
        let mut settings = project.settings(self.flags.trust_project, streams)?;
        self.flags.sandbox.apply(&mut settings);
        let showing = self.display(&settings, streams);
        // A recorded script stores its mode, so a replay uses the same one.
        let typed = self.flags.script.as_deref().map(|file| project.places.current.join(file));
        let interactive = typed.and_then(|file| script_is_interactive(&project, &file));
        let interactive = interactive.unwrap_or(showing.interactive);
        let mut options = Options { issue: self.issue, ..self.flags.options(interactive)? };
        if self.rehearse {
            options.provider = Some(ProviderKind::Script.name().into());
        }
        let strict = self.flags.strict || settings.strict;
        let wanted = DefinitionRequest {
            definition: &self.definition,
            options: &options,
            settings: &settings,
            strict,
        };
        let mut prepared = PreparedDefinition::new(&project, wanted, streams)?;
        let file = script_path(&project, self.flags.script.as_deref(), &settings);
        let file = file.filter(|_| !self.rehearse);
        let is_unasked = prepared.rehearsal && !self.rehearse && file.is_none();
        if is_unasked && !showing.interactive {
            return Err(self.not_rehearsed(&prepared));
        }
        prepared.rehearsal |= self.rehearse;
        // A rehearsal that the user did not ask for is not a success.
        let completed = if is_unasked { ExitStatus::Unavailable } else { ExitStatus::Done };
        if is_unasked {
            streams.warning(
                "no provider is configured, so this run is only rehearsed; pass `--provider claude`",
            );
        }
        let showing = DisplayOptions { completed, ..showing };
        let mut found = unready(&prepared.workflow, &settings);
        if !prepared.rehearsal {
            found.append(untrusted_programs(&project, &prepared.workflow, self.flags.trust_project));
        }
        streams.diagnose(&found, strict)?;
        let with = connections(&settings);
        let (task, issue) = match self.issue {
            None => (read_task(self.task.clone())?.or_else(|| prepared.task.clone()), None),
            Some(number) => match self.task_of(number, &prepared, &project, &settings, streams)? {
                None => return Ok(ExitStatus::Done),
                Some((task, issue)) => (Some(task), Some(issue)),
            },
        };
        if prepared.needs_task && task.is_none() && file.is_none() {
            return Err(self.needs_task());
        }
        let script = Self::script(&project, &prepared, file.as_deref(), strict, streams)?;
        let recorded = || script.as_ref().and_then(|script| script.task.clone());
        let task = task.or_else(recorded);
        if prepared.needs_task && task.is_none() {
            return Err(self.needs_task());
        }
        let rehearsal = prepared.rehearsal;
        if self.server.place.server.is_some() {
            let mut spec = self.beginning(&project, prepared, &settings, task, script, false);
            spec.subject = issue.as_ref().map(issue_variables).unwrap_or_default();
            let auto = self.flags.presence.auto;
            let run =
                PreparedServerRun { flags: &self.server, issue: self.issue, auto, spec, connections: with };
            return submit(run, &project, &settings, streams);
        }
        let placement = self.placement(issue.as_ref(), &prepared, &project, &settings, &with, streams)?;
        let origin = origin_of_new_run(self.flags.mcp_request.as_deref())?;
        let shared = SharedBudget::of(&origin, &prepared.workflow.limits.budget, rehearsal)?;
        let mut beginning = self.beginning(&project, prepared, &settings, task, script, interactive);
        beginning.origin = origin;
        beginning.subject = issue.as_ref().map(issue_variables).unwrap_or_default();
        let beginning = placed(beginning, placement.as_ref())?;
        let workflow = beginning.workflow.clone();
        let beyond =
            RunResources { project: &project, settings: &settings, with: with.clone(), rehearsal, shared };
        let is_first = is_first_run(&project, &settings);
        block_on(async {
            // Check the providers first, then the forge, the issue and the branch (S-21, H-54).
            let with = with_forge(with, &workflow, &project, &settings, streams).await?;
            let driver = Driver::start(&project.runs(), beginning, with, Clock::system())?;
            match beyond.reached(placement.as_ref(), driver.directory(), &workflow, streams).await {
                Err(error) => {
                    driver.withdraw(&project.runs());
                    Err(error)
                }
                Ok((outside, _of_the_branch)) => {
                    project.remember();
                    if is_first {
                        hide_directories_if_possible(&project, &settings, streams);
                    }
                    say_place(placement.as_ref(), &project, driver.directory(), streams);
                    announce(&workflow, streams);
                    drive(with_executor(driver, outside), &workflow, showing, streams).await
                }
            }
        })
    }

    /// Returns the reason why a run without a provider is not rehearsed where no person could notice it.
    fn not_rehearsed(&self, prepared: &PreparedDefinition) -> CommandError {
        let has_task = self.task.is_some() || self.issue.is_some() || prepared.task.is_some();
        if prepared.needs_task && !has_task { self.needs_task() } else { no_provider() }
    }

    fn display(&self, settings: &Settings, streams: &Streams) -> DisplayOptions {
        DisplayOptions {
            json: self.flags.json,
            interactive: streams.can_ask() && !self.flags.json,
            auto: self.flags.presence.auto,
            keeping: RunKeeping::Kept,
            completed: ExitStatus::Done,
            otel: settings.otel || self.flags.otel,
        }
    }

    /// Returns the worktree, if the run does not use the user's checkout. Flags override the definition (K-23).
    fn placement(
        &self,
        issue: Option<&Issue>,
        prepared: &PreparedDefinition,
        project: &Project,
        settings: &Settings,
        with: &Connections,
        streams: &mut Streams,
    ) -> Result<Option<Placement>, CommandError> {
        let wishes = &prepared.wishes;
        let flag = (self.worktree || self.no_worktree).then_some(self.worktree);
        if prepared.rehearsal || !flag.or(wishes.worktree).unwrap_or(issue.is_some()) {
            return Ok(None);
        }
        streams.diagnose(&settings.check_trust(&[Use::Work]), settings.strict)?;
        let mut settings = settings.clone();
        if let Some(root) = &wishes.worktree_root {
            settings.work.worktree_root = root.into();
        }
        if let Some(files) = &wishes.copy_files {
            settings.work.copy_files.clone_from(files);
        }
        Ok(Some(match issue {
            Some(issue) => {
                let assigned = block_on(one::assigned(issue, project, &settings, with, streams))?;
                Placement::Issue(Box::new(assigned))
            }
            None => Placement::Own { own_tree: own_worktree(project, &settings, streams)? },
        }))
    }

    /// Returns the review agent's file, if the argument names one. It reviews the current changes and takes no task.
    fn review_agent(&self, project: &Project) -> Result<Option<PathBuf>, CommandError> {
        let found = find(&project.source, &project.places, &self.definition).ok();
        let Some(definition) = found.filter(|definition| definition.dialect == Dialect::Review) else {
            return Ok(None);
        };
        let given = [
            (self.task.is_some(), "task"),
            (self.issue.is_some(), "`--issue`"),
            (self.flags.limits.max_iterations.is_some(), "`--max-iterations`"),
            (self.flags.presence.auto, "`--auto`"),
            (!self.flags.values.set.is_empty(), "`--set`"),
            (self.worktree, "`--worktree`"),
        ];
        if let Some((_, what)) = given.iter().find(|(given, _)| *given) {
            let error =
                CommandError::usage(format!("`{}` is a review agent and takes no {what}", self.definition));
            return Err(error.hint("it reviews changes: see `saihai review --help`"));
        }
        Ok(definition.path)
    }

    /// Reads the task from an issue. Returns nothing if the issue needs no work.
    fn task_of(
        &self,
        number: IssueNumber,
        prepared: &PreparedDefinition,
        project: &Project,
        settings: &Settings,
        streams: &mut Streams,
    ) -> Result<Option<(String, Issue)>, CommandError> {
        let with = connections(settings);
        insist_on_providers(&prepared.workflow, &with)?;
        let looks = prepared.workflow.completion.actions().iter().any(|one| one.does == Action::IssueState);
        let closed = if looks { ClosedIssue::IsLookedAt } else { ClosedIssue::IsDone };
        let wanted = IssueTask { number, closed };
        block_on(issue_task(wanted, project, settings, &with, streams))
    }

    fn needs_task(&self) -> CommandError {
        CommandError::usage(format!("`{}` needs a task", self.definition))
            .hint(format!("pass a task: `saihai run {} \"fix the login\"`", self.definition))
    }

    /// Returns the script for the `script` provider, if the workflow uses it.
    fn script(
        project: &Project,
        prepared: &PreparedDefinition,
        file: Option<&Path>,
        strict: bool,
        streams: &mut Streams,
    ) -> Result<Option<Script>, CommandError> {
        if let Some(file) = file {
            return read_script_file(project, file, &prepared.workflow, strict, streams).map(Some);
        }
        if !prepared.rehearsal {
            return Ok(None);
        }
        streams.note("rehearsing with generated replies: no agent does any work");
        Ok(Some(way_to_completion(&prepared.workflow)))
    }

    fn beginning(
        &self,
        project: &Project,
        prepared: PreparedDefinition,
        settings: &Settings,
        task: Option<String>,
        script: Option<Script>,
        interactive: bool,
    ) -> RunSpec {
        let retry = settings.retry();
        RunSpec {
            workflow: prepared.workflow,
            script,
            definition: self.definition.clone(),
            dialect: prepared.definition.dialect.name().to_owned(),
            slug: match self.issue {
                Some(number) => number.slug(),
                None => slug(task.as_deref().unwrap_or(&prepared.definition.name)),
            },
            task: task.unwrap_or_default(),
            seed: RandomState::new().build_hasher().finish(),
            interactive,
            rehearsal: prepared.rehearsal,
            patience: if self.flags.presence.wait { retry.max_wait } else { settings.short_wait },
            directory: project.places.root.clone(),
            reports: settings.reports_dir.clone(),
            subject: std::collections::BTreeMap::new(),
            placement: None,
            texts: prepared.texts,
            origin: RunOrigin::default(),
        }
    }
}

/// Builds the error for a run that no provider serves.
fn no_provider() -> CommandError {
    CommandError::usage("no provider configured")
        .hint("pass `--provider claude`, or set `provider` in `.saihai/config.toml`")
        .hint("`--rehearse` runs the definition with generated replies; `saihai doctor` lists providers")
}

/// Moves the run into its worktree, if it has one.
fn placed(beginning: RunSpec, placement: Option<&Placement>) -> Result<RunSpec, CommandError> {
    let Some(placement) = placement else { return Ok(beginning) };
    let workflow = saihai_delivery::place(beginning.workflow.into_workflow());
    Ok(RunSpec {
        workflow: ValidatedDefinition::validate(workflow).map_err(saihai::DriverError::from)?,
        placement: Some(placement.workplace(&beginning.directory)),
        ..beginning
    })
}

/// External resources available to a new run.
struct RunResources<'a> {
    project: &'a Project,
    settings: &'a Settings,
    with: Connections,
    rehearsal: bool,
    /// Part of the budget of the run whose agent starts this one.
    shared: Option<SharedBudget>,
}

impl RunResources<'_> {
    /// Opens the external resources. Locks the issue if its branch is checked out outside the issue's worktree.
    async fn reached(
        &self,
        placement: Option<&Placement>,
        run: &RunDirectory,
        workflow: &Workflow,
        streams: &mut Streams,
    ) -> Result<(Option<Arc<dyn ActionExecutor>>, Option<ItemLock>), CommandError> {
        let (project, settings) = (self.project, self.settings);
        if let Some(shared) = &self.shared {
            shared.take_for(run).await?;
        }
        match placement {
            Some(Placement::Issue(assignment)) => {
                let mut with = self.with.clone();
                let outside =
                    one::outside(*assignment.clone(), workflow, project, settings, &mut with).await?;
                outside.name_run(run.id(), &Clock::system());
                Ok((Some(Arc::new(outside)), None))
            }
            None if self.rehearsal => Ok((None, None)),
            None => {
                let lock = lock_checked_out_issue(&project.places.root, settings, run.id())?;
                Ok((issue_executor(workflow, project, settings, &self.with, streams).await?, lock))
            }
            Some(Placement::Own { own_tree }) => {
                let beyond = issue_executor(workflow, project, settings, &self.with, streams).await?;
                Ok((Some(Arc::new(worktree_planter(own_tree.clone(), project, beyond)?)), None))
            }
        }
    }
}

/// Prints the run's directory if it is not the user's checkout.
fn say_place(
    placement: Option<&Placement>,
    project: &Project,
    directory: &RunDirectory,
    streams: &mut Streams,
) {
    let Some(placement) = placement else { return };
    let place = project.shown(&placement.workplace(&project.places.root).directory.of_run(directory.id()));
    match placement {
        Placement::Issue(_) => streams.note(&format!("working in `{place}`")),
        Placement::Own { .. } => {
            let branch = OwnTree::branch(directory.id());
            streams.note(&format!("working in `{place}` on branch `{branch}`; both stay"));
        }
    }
}

/// Prints the budget and the maximum number of calls before the first request.
fn announce(workflow: &Workflow, streams: &mut Streams) {
    let Some(budget) = budget_words(&workflow.limits.budget) else { return };
    let calls =
        most_calls(workflow).map(|calls| format!("; at most {}, retries not counted", count(calls, "call")));
    streams.note(&format!("the budget is {budget}{}", calls.unwrap_or_default()));
}

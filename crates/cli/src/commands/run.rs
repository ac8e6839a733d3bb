//! `saihai run`.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use saihai::delivery::{OwnTree, Placement};
use saihai::repository::ItemLock;
use saihai::{Beginning, Clock, Driver, Outside, RunDirectory};
use saihai_config::check::most_calls;
use saihai_config::{Dialect, Options, Settings, Use, ValidatedDefinition, delivery, find};
use saihai_connect::Connections;
use saihai_engine::rehearse::way_to_completion;
use saihai_model::{Action, Issue, IssueNumber, Script, Workflow, slug};

use super::flags::RunFlags;
use super::own_tree;
use super::review::Review;
use super::standing;
use super::work::one;
use crate::driving::{Past, Showing, block_on, drive};
use crate::error::{Error, exit};
use crate::forge_place::with_forge;
use crate::issue::Closed;
use crate::own_programs;
use crate::prepared::{Prepared, Wanted, connections, insist_on_providers, unready};
use crate::project::Project;
use crate::report::{budget_words, count};
use crate::terminal::Streams;
use crate::{diagnostics, issue, ours, outside, script, task, values};

/// Run a definition on a task
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the outcome, the report files and the last output. Where no provider is configured, the \
                  definition is rehearsed on generated replies and no work is done."
)]
pub(crate) struct Run {
    /// The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION")]
    definition: String,

    /// What is to be done, or `-` to read it from stdin
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Work on this issue: its title, text and labels are the task
    #[arg(long, value_name = "N", value_parser = values::issue, conflicts_with = "task")]
    issue: Option<IssueNumber>,

    /// Work in a worktree of its own, on a new branch that begins with what is checked out
    #[arg(long, conflicts_with = "no_worktree")]
    worktree: bool,

    /// Work in this directory, whatever the issue or the definition wants
    #[arg(long)]
    no_worktree: bool,

    #[command(flatten)]
    flags: RunFlags,
}

impl Run {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        if let Some(agent) = self.review_agent(&project)? {
            return Review::by(&agent, &self.flags, streams)?.execute(streams);
        }
        let settings = project.settings(self.flags.trust_project, streams)?;
        let showing = Showing {
            past: Past::None,
            json: self.flags.json,
            interactive: streams.can_ask() && !self.flags.json,
            auto: self.flags.presence.auto,
        };
        // A recorded script stores its mode, so a replay uses the same one.
        let typed = self.flags.script.as_deref().map(|file| project.places.current.join(file));
        let interactive = typed.and_then(|file| script::is_interactive(&project, &file));
        let interactive = interactive.unwrap_or(showing.interactive);
        let options = Options { issue: self.issue, ..self.flags.options(interactive)? };
        let strict = self.flags.strict || settings.strict;
        let wanted = Wanted { definition: &self.definition, options: &options, settings: &settings, strict };
        let prepared = Prepared::new(&project, wanted, streams)?;
        let mut found = unready(&prepared.workflow, &settings);
        if !prepared.rehearsal {
            found.append(own_programs::untrusted(&project, &prepared.workflow, self.flags.trust_project));
        }
        diagnostics::insist(&found, strict, streams)?;
        let with = connections(&settings);
        let (task, issue) = match self.issue {
            None => (task::read(self.task.clone())?.or_else(|| prepared.task.clone()), None),
            Some(number) => match self.task_of(number, &prepared, &project, &settings, streams)? {
                None => return Ok(exit::DONE),
                Some((task, issue)) => (Some(task), Some(issue)),
            },
        };
        let file = script::file(&project, self.flags.script.as_deref(), &settings);
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
        let placement = self.placement(issue.as_ref(), &prepared, &project, &settings, &with, streams)?;
        let mut beginning = self.beginning(&project, prepared, &settings, task, script, interactive);
        beginning.subject = issue.as_ref().map(issue::subject).unwrap_or_default();
        if let Some(placement) = &placement {
            beginning = placed(beginning, placement.clone())?;
        }
        let workflow = beginning.workflow.clone();
        let beyond = Beyond { project: &project, settings: &settings, with: with.clone(), rehearsal };
        let is_first = ours::is_first(&project, &settings);
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
                    if is_first {
                        ours::hide_quietly(&project, &settings);
                    }
                    say_place(placement.as_ref(), &project, driver.directory(), streams);
                    announce(&workflow, streams);
                    drive(outside::reaching(driver, outside), &workflow, showing, streams).await
                }
            }
        })
    }

    /// Returns the worktree, if the run does not use the user's checkout. Flags override the definition (K-23).
    fn placement(
        &self,
        issue: Option<&Issue>,
        prepared: &Prepared,
        project: &Project,
        settings: &Settings,
        with: &Connections,
        streams: &mut Streams,
    ) -> Result<Option<Placement>, Error> {
        let wishes = &prepared.wishes;
        let flag = (self.worktree || self.no_worktree).then_some(self.worktree);
        if prepared.rehearsal || !flag.or(wishes.worktree).unwrap_or(issue.is_some()) {
            return Ok(None);
        }
        diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
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
            None => Placement::Own { own_tree: own_tree::wanted(project, &settings, streams)? },
        }))
    }

    /// Returns the review agent's file, if the argument names one. It reviews the current changes and takes no task.
    fn review_agent(&self, project: &Project) -> Result<Option<PathBuf>, Error> {
        let found = find(&project.source, &project.places, &self.definition).ok();
        let Some(definition) = found.filter(|definition| definition.dialect == Dialect::Review) else {
            return Ok(None);
        };
        let given = [
            (self.task.is_some(), "a task"),
            (self.issue.is_some(), "`--issue`"),
            (self.flags.limits.max_iterations.is_some(), "`--max-iterations`"),
            (self.flags.presence.auto, "`--auto`"),
            (!self.flags.values.set.is_empty(), "`--set`"),
            (self.worktree, "`--worktree`"),
        ];
        if let Some((_, what)) = given.iter().find(|(given, _)| *given) {
            let error = Error::usage(format!(
                "`{}` is a review agent and takes no {}",
                self.definition,
                what.trim_start_matches("a ")
            ));
            return Err(error.hint("it reviews what has changed: `saihai review --help`"));
        }
        Ok(definition.path)
    }

    /// Reads the task from an issue. Returns nothing if the issue needs no work.
    fn task_of(
        &self,
        number: IssueNumber,
        prepared: &Prepared,
        project: &Project,
        settings: &Settings,
        streams: &mut Streams,
    ) -> Result<Option<(String, Issue)>, Error> {
        let with = connections(settings);
        insist_on_providers(&prepared.workflow, &with)?;
        let looks = prepared.workflow.completion.actions().iter().any(|one| one.does == Action::IssueState);
        let closed = if looks { Closed::IsLookedAt } else { Closed::IsDone };
        let wanted = issue::Wanted { number, closed };
        block_on(issue::task_of(wanted, project, settings, &with, streams))
    }

    fn needs_task(&self) -> Error {
        Error::usage(format!("`{}` needs a task", self.definition))
            .hint(format!("say what is to be done: `saihai run {} \"fix the login\"`", self.definition))
    }

    /// Returns the script for the `script` provider, if the workflow uses it.
    fn script(
        project: &Project,
        prepared: &Prepared,
        file: Option<&Path>,
        strict: bool,
        streams: &mut Streams,
    ) -> Result<Option<Script>, Error> {
        if let Some(file) = file {
            return script::read(project, file, &prepared.workflow, strict, streams).map(Some);
        }
        if !prepared.rehearsal {
            return Ok(None);
        }
        streams.note("no agent is configured: this only rehearses the definition on generated replies, no work is done");
        Ok(Some(way_to_completion(&prepared.workflow)))
    }

    fn beginning(
        &self,
        project: &Project,
        prepared: Prepared,
        settings: &Settings,
        task: Option<String>,
        script: Option<Script>,
        interactive: bool,
    ) -> Beginning {
        let retry = settings.retry();
        Beginning {
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
        }
    }
}

/// Moves the run into a worktree.
fn placed(beginning: Beginning, placement: Placement) -> Result<Beginning, Error> {
    let workflow = delivery::place(beginning.workflow.into_workflow());
    Ok(Beginning {
        workflow: ValidatedDefinition::validate(workflow).map_err(saihai::Error::from)?,
        placement: Some(placement),
        ..beginning
    })
}

/// External resources available to a new run.
struct Beyond<'a> {
    project: &'a Project,
    settings: &'a Settings,
    with: Connections,
    rehearsal: bool,
}

impl Beyond<'_> {
    /// Opens the external resources. Locks the issue if its branch is checked out outside the issue's worktree.
    async fn reached(
        &self,
        placement: Option<&Placement>,
        run: &RunDirectory,
        workflow: &Workflow,
        streams: &mut Streams,
    ) -> Result<(Option<Arc<dyn Outside>>, Option<ItemLock>), Error> {
        let (project, settings) = (self.project, self.settings);
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
                let lock = standing::taken(&project.places.root, settings, run.id())?;
                Ok((outside::reach(workflow, project, settings, &self.with, streams).await?, lock))
            }
            Some(Placement::Own { own_tree }) => {
                let beyond = outside::reach(workflow, project, settings, &self.with, streams).await?;
                Ok((Some(Arc::new(own_tree::planter(own_tree.clone(), project, beyond)?)), None))
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
    let place = project.shown(&placement.directory(&project.places.root, directory.id()));
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

//! `saihai work`: from issues to branches, pull requests and merges.
//!
//! It has no journal and no engine of its own (I-8). The delivery crate decides which issue starts next. Each issue
//! is one run, with a delivery around its definition. All state is in their journals, in git and on the forge.

mod board;
mod clean;
mod plan;
pub(crate) mod preparation;
mod questions;
mod results;
mod screen;
pub(crate) mod single_run;
pub(crate) mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use saihai_config::issues::parse_selection;
use saihai_config::{CleanUp, WorkSettings};
use saihai_connect::forge::ProjectName;
use saihai_delivery::{
    DependencyPolicy, IssueSelection, IssueWorkState, Listing, ListingNote, RepeatFlags, WorkError,
};
use saihai_model::{ExitStatus, IssueNumber, IssueSource, Millis, RepositoryName};

use super::flags::RunFlags;
use crate::commands::flags::parse_duration;
use crate::completion::{complete_definitions, complete_issues, completer};
use crate::driving::{StartupSignals, block_on};
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, Verbosity};
use plan::IssuePlans;
use preparation::Ground;
pub(crate) use results::{ListedIssue, last_listed_issues};
use screen::WorkScreen;
use words::note_words;

/// Work on issues, each on its own branch, up to a pull request or a merge
#[derive(Debug, Args)]
#[command(after_help = "\
Issues come from a folder of Markdown files (`.saihai/issues`) or from GitHub.
Each issue has one branch, one worktree and one run. The same command continues unfinished work;
it repeats no finished step.

Examples:
  saihai work --issues 1,4,7-9
  saihai work --label ready --jobs 3 --merge
  saihai work --all --list")]
pub(crate) struct Work {
    /// Definition for all issues, overriding labels and settings
    #[arg(long, value_name = "NAME", add = completer(complete_definitions))]
    definition: Option<String>,

    /// Work on these issues, e.g. `1,4,7-9`
    #[arg(long, value_name = "LIST", value_parser = issues, help_heading = "Issues", add = completer(complete_issues))]
    issues: Option<Numbers>,

    /// Work on issues with this label; repeat it to require several labels
    #[arg(long, value_name = "LABEL", help_heading = "Issues")]
    label: Vec<String>,

    /// Work on the issues of a GitHub project
    #[arg(long, value_name = "OWNER/NUMBER", value_parser = project, conflicts_with_all = ["issues", "event"])]
    #[arg(help_heading = "Issues")]
    project: Option<ProjectName>,

    /// Work only on issues with this status in the project
    #[arg(long, value_name = "STATUS", requires = "project", help_heading = "Issues")]
    project_status: Option<String>,

    /// Work on all open issues
    #[arg(long, conflicts_with_all = ["issues", "project", "event"], help_heading = "Issues")]
    all: bool,

    /// Work on the issue of the GitHub Actions event
    #[arg(long, conflicts_with = "issues", help_heading = "Issues")]
    event: bool,

    /// Read issues from the Markdown files of this folder
    #[arg(long, value_name = "DIR", help_heading = "Issues")]
    pub(crate) from: Option<PathBuf>,

    /// Read issues from this repository on GitHub
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository, help_heading = "Issues")]
    repo: Option<RepositoryName>,

    /// Base branch: new branches start from it, and finished work is merged into it
    #[arg(long, value_name = "BRANCH", help_heading = "Delivery")]
    base: Option<String>,

    /// Maximum number of issues in progress at the same time (1 to 256)
    #[arg(long, value_name = "N", value_parser = jobs, help_heading = "Limits")]
    jobs: Option<u32>,

    /// Open no pull request
    #[arg(long, help_heading = "Delivery")]
    pub(crate) no_pr: bool,

    /// Open pull requests as drafts
    #[arg(long, conflicts_with = "no_pr", help_heading = "Delivery")]
    draft: bool,

    /// Merge finished work into its base branch
    #[arg(long, help_heading = "Delivery")]
    merge: bool,

    /// Keep worktrees of finished issues
    #[arg(long, help_heading = "Delivery")]
    keep: bool,

    /// Start again with issues whose last run failed, reached a limit or was declined
    #[arg(long, help_heading = "Issues")]
    retry: bool,

    /// Continue on an existing branch, even if another person or program created it
    #[arg(long, help_heading = "Delivery")]
    adopt: bool,

    /// Also work on the dependencies of issues
    #[arg(long, conflicts_with = "ignore_deps", help_heading = "Issues")]
    resolve_deps: bool,

    /// Ignore the dependencies of issues
    #[arg(long, help_heading = "Issues")]
    ignore_deps: bool,

    /// Keep running and poll for new issues
    #[arg(long, help_heading = "Watching")]
    watch: bool,

    /// Poll interval, e.g. `60s` or `5m`; at least 15 seconds
    #[arg(long, value_name = "TIME", value_parser = every, requires = "watch", help_heading = "Watching")]
    every: Option<Millis>,

    /// Print the plan and do nothing; `-v` adds the settings
    #[arg(long, conflicts_with_all = ["watch", "clean"])]
    pub(crate) list: bool,

    /// List leftover worktrees and branches, and delete the ones that are safe to delete
    #[arg(long, conflicts_with_all = ["watch", "label", "project", "event"])]
    clean: bool,

    #[command(flatten)]
    pub(crate) flags: RunFlags,
}

#[derive(Debug, Clone)]
struct Numbers(Vec<IssueNumber>);

fn issues(text: &str) -> Result<Numbers, String> {
    parse_selection(text).map(Numbers).map_err(|bad| bad.to_string())
}

fn project(text: &str) -> Result<ProjectName, String> {
    ProjectName::parse(text).ok_or_else(|| "write OWNER/NUMBER".to_owned())
}

fn repository(text: &str) -> Result<RepositoryName, String> {
    RepositoryName::parse(text).ok_or_else(|| "write OWNER/NAME".to_owned())
}

fn jobs(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(jobs @ 1..=256) => Ok(jobs),
        _ => Err("write a whole number from 1 to 256".to_owned()),
    }
}

fn every(text: &str) -> Result<Millis, String> {
    match parse_duration(text)? {
        every if every.0 < 15_000 => Err("write at least `15s`".to_owned()),
        every => Ok(every),
    }
}

fn unheard(error: std::io::Error) -> CommandError {
    CommandError::unavailable(format!("failed to install signal handlers: {error}"))
}

impl Work {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        if !self.list {
            project.insist_on_person("only a person can call `saihai work`")?;
        }
        let mut settings = project.settings(self.flags.trust_project, streams)?;
        self.flags.sandbox.apply(&mut settings);
        if self.clean {
            let wanted = self.issues.as_ref().map(|Numbers(numbers)| numbers.as_slice());
            return clean::clean(&project, &settings.work, wanted, self.flags.json, streams);
        }
        let unbegun = StartupSignals::listen().map_err(unheard)?;
        block_on(async {
            let ground = Ground::find(project, settings, &self, streams).await?;
            self.work(ground, unbegun, streams).await
        })
    }

    async fn work(
        &self,
        ground: Ground,
        unbegun: StartupSignals,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let mut selection = self.selection(&ground)?;
        let mut planned = IssuePlans::none(&ground.project);
        // An added dependency may have a definition that adds its own dependencies.
        let mut listing = loop {
            let listing = self.listed(&selection, &ground, streams).await?;
            planned.plan_all(&listing, &ground, self, streams)?;
            let before = std::mem::replace(&mut selection.resolving, planned.resolving());
            if before == selection.resolving || selection.dependencies != DependencyPolicy::Strict {
                break listing;
            }
        };
        self.say_odd(&mut listing, &ground, streams)?;
        if self.list {
            if self.flags.json {
                planned.write(&listing, &ground, self, &mut streams.out)?;
            } else {
                planned.print(&listing, &ground, &mut streams.out)?;
                if streams.verbosity == Verbosity::Verbose && !listing.plan.items.is_empty() {
                    planned.print_settings(&ground, self, &mut streams.out)?;
                }
            }
            return Ok(ExitStatus::Done);
        }
        if listing.plan.items.is_empty() && listing.done().next().is_none() && !self.watch {
            streams.note("nothing to do");
            if self.flags.json {
                results::nothing(&mut streams.out)?;
            }
            return Ok(ExitStatus::Done);
        }
        if !listing.plan.items.is_empty() {
            planned.print(&listing, &ground, &mut streams.err)?;
        }
        planned.find_all(&listing, &ground, self)?;
        if self.watch {
            planned.remember_definitions(&ground, self);
        }
        ground.project.remember();
        WorkScreen::new(ground, self, selection, planned, streams).work(listing, unbegun).await
    }

    fn say_odd(
        &self,
        listing: &mut Listing,
        ground: &Ground,
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        let strict = self.flags.strict || ground.settings.strict;
        streams.diagnose(&std::mem::take(&mut listing.found).sorted(), strict)?;
        for note in std::mem::take(&mut listing.notes) {
            match &note {
                ListingNote::NotFollowed(..) => streams.warning(&note_words(&note)),
                ListingNote::Skipped(_) | ListingNote::Undone(..) => streams.note(&note_words(&note)),
            }
        }
        Ok(())
    }

    /// Lists issues and reports their errors.
    async fn listed(
        &self,
        selection: &IssueSelection,
        ground: &Ground,
        streams: &mut Streams,
    ) -> Result<Listing, CommandError> {
        let listed = selection.list(ground).await;
        if let Err(WorkError::IssueFiles(found)) = &listed {
            streams.diagnose(found, self.flags.strict || ground.settings.strict)?;
        }
        Ok(listed?)
    }

    /// Returns the flags for an issue with an earlier run.
    pub(crate) fn repeat_flags(&self, state: &IssueWorkState) -> RepeatFlags {
        RepeatFlags {
            retry: self.retry,
            adopt: self.adopt,
            reworks: *state == IssueWorkState::Reworked,
            merged: *state == IssueWorkState::Overtaken,
        }
    }

    /// Returns the selected issues. Strangers can open issues on GitHub, so selection is explicit (I-19).
    fn selection(&self, ground: &Ground) -> Result<IssueSelection, CommandError> {
        let numbers = match (&self.issues, self.event) {
            (Some(Numbers(numbers)), _) => Some(numbers.clone()),
            (None, true) => Some(vec![event(ground)?]),
            (None, false) => None,
        };
        let is_named = numbers.is_some() || !self.label.is_empty() || self.project.is_some() || self.all;
        if ground.source == IssueSource::Github && !is_named {
            let error = CommandError::usage("no issues selected: pass `--issues`, `--label` or `--all`");
            return Err(error.hint(
                "anyone can open an issue, and agents follow its text: select issues with `--issues`, or with a label that you set, `--label saihai`",
            ));
        }
        if ground.source == IssueSource::Folder && self.project.is_some() {
            return Err(CommandError::usage("a folder has no projects"));
        }
        Ok(IssueSelection {
            numbers,
            labels: self.label.clone(),
            project: self.project.clone(),
            status: self.project_status.clone(),
            base: self.base.clone(),
            retries: self.retry,
            resolving: BTreeSet::new(),
            dependencies: match (self.resolve_deps, self.ignore_deps) {
                (true, _) => DependencyPolicy::Resolve,
                (false, true) => DependencyPolicy::Ignore,
                (false, false) => DependencyPolicy::Strict,
            },
        })
    }

    /// Returns true if the flags select issues on GitHub.
    pub(crate) fn names_github(&self) -> bool {
        self.repo.is_some() || self.project.is_some() || self.event
    }

    /// Combines the settings of `work` with the flags.
    pub(crate) fn merged(&self, project: &Project, work: WorkSettings) -> WorkSettings {
        let from = self.from.as_ref().map(|from| project.places.current.join(from));
        let budget = self.flags.limits.budget.clone().unwrap_or_default();
        WorkSettings {
            from: from.unwrap_or(work.from),
            repo: self.repo.clone().or(work.repo),
            base: self.base.clone().or(work.base),
            jobs: self.jobs.unwrap_or(work.jobs),
            pull_request: work.pull_request && !self.no_pr,
            draft: work.draft || self.draft,
            merge: work.merge || self.merge,
            cleanup: if self.keep { CleanUp::Never } else { work.cleanup },
            budget: work.budget.replaced_by(&budget),
            every: self.every.unwrap_or(work.every),
            ..work
        }
    }
}

/// Reads the issue number from the event of GitHub Actions.
fn event(ground: &Ground) -> Result<IssueNumber, CommandError> {
    let variable = "GITHUB_EVENT_PATH";
    let path = ground.project.variables.get(variable).ok_or_else(|| {
        CommandError::usage(format!("`--event` needs `{variable}`, which GitHub Actions sets"))
            .hint("name issues with `--issues`")
    })?;
    let bad = |why: String| CommandError::usage(format!("the event in `{path}` cannot be used: {why}"));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let event: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let number = event.get("issue").and_then(|issue| issue.get("number")).and_then(serde_json::Value::as_u64);
    number.and_then(IssueNumber::new).ok_or_else(|| bad("it contains no issue".to_owned()))
}

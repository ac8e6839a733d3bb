//! `saihai work`: from issues to branches, pull requests and merges.
//!
//! It has no journal and no engine of its own (I-8). `engine::work` decides which issue starts next. Each issue is
//! one run, with a delivery around its definition. All state is in the journals of those runs, in git and on the
//! forge.

mod again;
mod answer;
mod base;
mod batch;
mod beginning;
mod board;
mod clean;
mod definition;
mod going_on;
pub(crate) mod ground;
mod handed_over;
mod item;
mod labeller;
mod merged;
mod merging;
pub(crate) mod one;
mod origins;
mod over;
mod overtaken;
mod plan;
mod result;
mod seen;
mod selection;
mod summary_file;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use saihai_config::issues::parse_selection;
use saihai_config::{CleanUp, WorkSettings};
use saihai_connect::forge::ProjectName;
use saihai_engine::work::Dependencies;
use saihai_model::{IssueNumber, IssueSource, Millis, RepositoryName};

use super::flags::RunFlags;
use crate::driving::{Unbegun, block_on};
use crate::error::{Error, exit};
use crate::project::Project;
use crate::terminal::Streams;
use crate::{diagnostics, person, values};
use batch::Batch;
use ground::Ground;
use plan::Planned;
use selection::{Selection, Unlisted};

/// Work on issues: each on a branch of its own, to a pull request or a merge
#[derive(Debug, Args)]
#[command(
    after_help = "Issues come from a folder of Markdown files (`.saihai/issues`) or from GitHub. Each has one branch, one worktree and one run. Asked again, it goes on where it stopped: nothing happens twice."
)]
pub(crate) struct Work {
    /// The definition that issues are worked on with
    #[arg(long, value_name = "NAME")]
    definition: Option<String>,

    /// These issues: `1,4,7-9`
    #[arg(long, value_name = "LIST", value_parser = issues)]
    issues: Option<Numbers>,

    /// Issues with this label; given several times, with all of them
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,

    /// The issues of a GitHub project: `OWNER/NUMBER`
    #[arg(long, value_name = "OWNER/NUMBER", value_parser = project, conflicts_with_all = ["issues", "event"])]
    project: Option<ProjectName>,

    /// Of the project, those with this status
    #[arg(long, value_name = "STATUS", requires = "project")]
    project_status: Option<String>,

    /// All open issues
    #[arg(long, conflicts_with_all = ["issues", "project", "event"])]
    all: bool,

    /// The issue of the event that GitHub Actions runs for
    #[arg(long, conflicts_with = "issues")]
    event: bool,

    /// Issues are files of this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,

    /// Issues are those of this repository on GitHub
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    repo: Option<RepositoryName>,

    /// The branch that is branched from and merged into
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,

    /// How many issues are worked on at the same time (1 to 256)
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<u32>,

    /// Open no pull request
    #[arg(long)]
    pub(crate) no_pr: bool,

    /// Open pull requests as drafts
    #[arg(long, conflicts_with = "no_pr")]
    draft: bool,

    /// Merge what is done into where it branched from
    #[arg(long)]
    merge: bool,

    /// Keep worktrees
    #[arg(long)]
    keep: bool,

    /// Begin again with issues whose last run failed, met a limit or was declined
    #[arg(long)]
    retry: bool,

    /// Go on with a branch that is there, whoever made it
    #[arg(long)]
    adopt: bool,

    /// Work on what issues depend on as well
    #[arg(long, conflicts_with = "ignore_deps")]
    resolve_deps: bool,

    /// Do not look at what issues depend on
    #[arg(long)]
    ignore_deps: bool,

    /// Look for new issues again and again
    #[arg(long)]
    watch: bool,

    /// How often: `60s`, `5m`; at least 15 s
    #[arg(long, value_name = "TIME", value_parser = every, requires = "watch")]
    every: Option<Millis>,

    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with_all = ["watch", "clean"])]
    pub(crate) list: bool,

    /// List leftovers of work on issues (with `--issues`, of these), and remove those nothing would be lost with
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
    match values::duration(text)? {
        every if every.0 < 15_000 => Err("write at least `15s`".to_owned()),
        every => Ok(every),
    }
}

fn unheard(error: std::io::Error) -> Error {
    Error::unavailable(format!("cannot hear signals: {error}"))
}

impl Work {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        if !self.list {
            person::insist(&project, "`saihai work` is called by a person")?;
        }
        let settings = project.settings(self.flags.trust_project, streams)?;
        if self.clean {
            let wanted = self.issues.as_ref().map(|Numbers(numbers)| numbers.as_slice());
            return clean::clean(&project, &settings.work, wanted, self.flags.json, streams);
        }
        let unbegun = Unbegun::listen().map_err(unheard)?;
        block_on(async {
            let ground = Ground::find(project, settings, &self, streams).await?;
            self.work(ground, unbegun, streams).await
        })
    }

    async fn work(&self, ground: Ground, unbegun: Unbegun, streams: &mut Streams) -> Result<u8, Error> {
        let mut selection = self.selection(&ground)?;
        let mut planned = Planned::none(&ground.project);
        // An added dependency may have a definition that adds its own dependencies.
        let mut listing = loop {
            let listing = self.listed(&selection, &ground, streams).await?;
            planned.plan_all(&listing, &ground, self, streams)?;
            let before = std::mem::replace(&mut selection.resolving, planned.resolving());
            if before == selection.resolving || selection.dependencies != Dependencies::Strict {
                break listing;
            }
        };
        self.say_odd(&mut listing, &ground, streams)?;
        if self.list {
            if self.flags.json {
                planned.write(&listing, &ground, self, &mut streams.out)?;
            } else {
                planned.print(&listing, &ground, self, &mut streams.out)?;
            }
            return Ok(exit::DONE);
        }
        if listing.plan.items.is_empty() && listing.over.is_empty() && !self.watch {
            streams.note("nothing to do");
            if self.flags.json {
                result::nothing(&mut streams.out)?;
            }
            return Ok(exit::DONE);
        }
        if !listing.plan.items.is_empty() {
            planned.print(&listing, &ground, self, &mut streams.err)?;
        }
        planned.find_all(&listing, &ground, self)?;
        if self.watch {
            planned.remember_definitions(&ground, self);
        }
        Batch::new(ground, self, selection, streams)?.work(listing, planned, unbegun).await
    }

    fn say_odd(
        &self,
        listing: &mut selection::Listing,
        ground: &Ground,
        streams: &mut Streams,
    ) -> Result<(), Error> {
        let strict = self.flags.strict || ground.settings.strict;
        diagnostics::insist(&std::mem::take(&mut listing.found).sorted(), strict, streams)?;
        std::mem::take(&mut listing.warnings).iter().for_each(|warning| streams.warning(warning));
        std::mem::take(&mut listing.notes).iter().for_each(|note| streams.note(note));
        Ok(())
    }

    /// Lists issues and reports their errors.
    async fn listed(
        &self,
        selection: &Selection,
        ground: &Ground,
        streams: &mut Streams,
    ) -> Result<selection::Listing, Error> {
        match selection.list(ground).await {
            Ok(listing) => Ok(listing),
            Err(Unlisted::Wrong(found)) => {
                diagnostics::insist(&found, self.flags.strict || ground.settings.strict, streams)?;
                Err(Error::usage("files of issues are wrong"))
            }
            Err(Unlisted::Error(error)) => Err(error),
        }
    }

    /// Returns the selected issues. Strangers can open issues on GitHub, so the user must select them explicitly
    /// (I-19).
    fn selection(&self, ground: &Ground) -> Result<Selection, Error> {
        let numbers = match (&self.issues, self.event) {
            (Some(Numbers(numbers)), _) => Some(numbers.clone()),
            (None, true) => Some(vec![event(ground)?]),
            (None, false) => None,
        };
        let is_named = numbers.is_some() || !self.label.is_empty() || self.project.is_some() || self.all;
        if ground.source == IssueSource::Github && !is_named {
            let error = Error::usage("it is not said which issues of the repository are meant");
            return Err(error.hint(
                "anybody can open an issue, and an issue is an instruction to an agent: name them with `--issues`, or by a label that you give, `--label saihai`",
            ));
        }
        if ground.source == IssueSource::Folder && self.project.is_some() {
            return Err(Error::usage("a folder has no projects"));
        }
        Ok(Selection {
            numbers,
            labels: self.label.clone(),
            project: self.project.clone(),
            status: self.project_status.clone(),
            base: self.base.clone(),
            retries: self.retry,
            resolving: BTreeSet::new(),
            dependencies: match (self.resolve_deps, self.ignore_deps) {
                (true, _) => Dependencies::Resolve,
                (false, true) => Dependencies::Ignore,
                (false, false) => Dependencies::Strict,
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
fn event(ground: &Ground) -> Result<IssueNumber, Error> {
    let variable = "GITHUB_EVENT_PATH";
    let path = ground.project.variables.get(variable).ok_or_else(|| {
        Error::usage(format!("`--event` needs `{variable}`, which GitHub Actions sets"))
            .hint("name issues with `--issues`")
    })?;
    let bad = |why: String| Error::usage(format!("the event in `{path}` cannot be used: {why}"));
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let event: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let number = event.get("issue").and_then(|issue| issue.get("number")).and_then(serde_json::Value::as_u64);
    number.and_then(IssueNumber::new).ok_or_else(|| bad("it is about no issue".to_owned()))
}

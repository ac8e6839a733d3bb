//! The definitions for the work on issues.

use saihai::delivery::Delivered;
use saihai_config::check::{Money, most_calls, most_money};
use saihai_config::delivery::{Delivery, Handing, Wishes, deliver, hand_over_later, merge_later};
use saihai_config::issues::{ChosenBy, ChosenDefinition, choose_definition};
use saihai_config::{ForgeKind, Language, Source, ValidatedDefinition, WorkGate, WorkSettings};
use saihai_model::{
    GateMode, Issue, IssueNumber, IssueSource, Limits, ProviderName, Script, TextFile, Usd, Workflow,
};

use super::ground::Ground;
use crate::commands::flags::RunFlags;
use crate::error::Error;
use crate::prepared::{Prepared, Wanted, unready};
use crate::report::count;
use crate::terminal::{Streams, visible_line};
use crate::{diagnostics, own_programs, script};

/// A loaded definition, ready to run.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    pub(super) name: String,
    pub(super) dialect: String,
    pub(super) workflow: Workflow,
    pub(super) script: Option<Script>,
    pub(super) language: Language,
    /// The source files of its texts.
    pub(super) texts: Vec<TextFile>,
    /// The settings of `work`, combined with those of the definition.
    pub(super) work: WorkSettings,
    /// The definition's own settings of `work`.
    pub(super) wishes: Wishes,
    /// True if the definition answers every gate with yes.
    pub(super) auto: bool,
    /// True if the definition also works on an issue's dependencies.
    pub(super) resolve: bool,
}

/// Chooses the definition for an issue.
pub(super) fn chosen(issue: &Issue, ground: &Ground, flag: Option<&str>) -> Result<ChosenDefinition, Error> {
    choose_definition(issue, flag, &ground.work).ok_or_else(|| {
        let title = visible_line(&issue.title);
        Error::usage(format!("nothing says how {} (`{title}`) is to be worked on", issue.number))
            .hint("name a definition with `--definition`, or write `definition = \"default\"` into `[work]`")
    })
}

/// Names the source of the definition's name, as the plan shows it.
pub(super) fn origin(by: &ChosenBy) -> String {
    match by {
        ChosenBy::Flag => "`--definition`".to_owned(),
        ChosenBy::Issue => "the issue".to_owned(),
        ChosenBy::Label(label) => format!("label `{}`", visible_line(label)),
        ChosenBy::Settings => "`work.definition`".to_owned(),
    }
}

impl Ready {
    /// Finds and loads a definition, and reports everything that prevents a run.
    pub(super) fn load(
        name: &str,
        issue: IssueNumber,
        files: &dyn Source,
        ground: &Ground,
        flags: &RunFlags,
        streams: &mut Streams,
    ) -> Result<Self, Error> {
        let (project, settings) = (&ground.project, &ground.settings);
        let strict = flags.strict || settings.strict;
        // The total budget is divided when each issue starts.
        let mut options = flags.options(false)?;
        options.budget = saihai_model::Budget::default();
        (options.delivers, options.issue) = (true, Some(issue));
        let wanted = Wanted { definition: name, options: &options, settings, strict };
        let prepared = Prepared::of_files(files, project, wanted, streams)?;
        // A plan alone needs no provider.
        if prepared.rehearsal && !ground.only_lists {
            let error = Error::usage(format!("nobody is configured who could work with `{name}`"));
            return Err(error.hint("name a provider with `--provider`, or in the settings; `saihai doctor` lists those there are"));
        }
        let mut found = unready(&prepared.workflow, settings);
        found.append(own_programs::untrusted(project, &prepared.workflow, flags.trust_project));
        diagnostics::insist(&found, strict, streams)?;
        let language = prepared.language;
        let wishes = prepared.wishes.clone();
        if wishes.worktree == Some(false) {
            streams.note(&format!("`{name}` wants no worktree; every issue has one all the same"));
        }
        let work = wished(ground.work.clone(), &wishes, ground);
        insist_on_something_to_merge(&work, &wishes, ground)?;
        let resolve = wishes.resolve == Some(true);
        let auto = flags.presence.auto || wishes.auto == Some(true);
        let dialect = prepared.definition.dialect.name().to_owned();
        let texts = prepared.texts.clone();
        let workflow = prepared.workflow.into_workflow();
        let file = script::file(project, flags.script.as_deref(), settings);
        let mut ready = Self {
            name: name.to_owned(),
            dialect,
            workflow,
            script: None,
            language,
            texts,
            work,
            wishes,
            auto,
            resolve,
        };
        if let Some(file) = file {
            let around = ready.around("", ground)?;
            let script = script::read(project, &file, &around, strict, streams);
            ready.script = Some(script.inspect_err(|_| {
                streams.note(&format!(
                    "a script is for all definitions of a call; it was read for `{}`, with which {issue} is worked on",
                    visible_line(name)
                ));
            })?);
        }
        Ok(ready)
    }

    /// Wraps the definition in its delivery. `about` describes the issue for a person.
    pub(super) fn around(&self, about: &str, ground: &Ground) -> Result<ValidatedDefinition, Error> {
        let workflow = deliver(self.workflow.clone(), &self.delivery(about, ground));
        ValidatedDefinition::validate(workflow).map_err(|unsound| saihai::Error::from(unsound).into())
    }

    /// Returns the rest of the delivery of finished work.
    pub(super) fn later(
        &self,
        about: &str,
        ground: &Ground,
        delivered: &Delivered,
    ) -> Result<ValidatedDefinition, Error> {
        let delivery = self.delivery(about, ground);
        let workflow = if delivered.only_pushed {
            hand_over_later(self.workflow.clone(), &delivery)
        } else {
            merge_later(self.workflow.clone(), &delivery)
        };
        ValidatedDefinition::validate(workflow).map_err(|unsound| saihai::Error::from(unsound).into())
    }

    /// Returns true if work is merged. A forge merges only pull requests.
    pub(super) fn merges(&self, ground: &Ground) -> bool {
        self.work.merge && self.handing(ground) != Handing::Push
    }

    /// Returns true if the work is delivered as a pull request.
    pub(super) fn opens_requests(&self, ground: &Ground) -> bool {
        matches!(self.handing(ground), Handing::PullRequest { .. })
    }

    fn handing(&self, ground: &Ground) -> Handing {
        match (ground.forge, self.work.pull_request) {
            (ForgeKind::Local, _) => Handing::Branch,
            (ForgeKind::Github, false) => Handing::Push,
            (ForgeKind::Github, true) => Handing::PullRequest { checks: self.work.checks_timeout },
        }
    }

    fn delivery(&self, about: &str, ground: &Ground) -> Delivery {
        Delivery {
            about: about.to_owned(),
            bound: self.bound(ground),
            gates: self.work.gates.clone(),
            mode: if self.auto { GateMode::Auto } else { GateMode::Person },
            gate_timeout: self.work.gate_timeout,
            handing: self.handing(ground),
            merge: self.merges(ground),
            comment: ground.source == IssueSource::Github && ground.forge == ForgeKind::Github,
        }
    }

    pub(super) fn limited(
        around: ValidatedDefinition,
        budget: &saihai_model::Budget,
    ) -> Result<ValidatedDefinition, Error> {
        let workflow = around.into_workflow();
        let limits = Limits { budget: workflow.limits.budget.and(budget), ..workflow.limits.clone() };
        let workflow = Workflow { limits, ..workflow };
        ValidatedDefinition::validate(workflow).map_err(|unsound| saihai::Error::from(unsound).into())
    }

    /// Returns the provider whose quota matters: that of the first turn.
    pub(super) fn provider(&self) -> Option<ProviderName> {
        let entry = self.workflow.stage(&self.workflow.entry);
        let first = entry.into_iter().chain(self.workflow.stages.values()).flat_map(|stage| stage.turns());
        first.map(|turn| turn.provider.clone()).next()
    }

    /// Describes the cost before the run starts (I-40).
    fn bound(&self, ground: &Ground) -> String {
        let turns = match self.most_calls() {
            Some(most) => format!("0 of at most {}", count(most, "turn")),
            None => "0 of any number of turns".to_owned(),
        };
        let cost = match self.most_usd(ground) {
            Some(most) => format!("{} of at most {most}", Usd::default()),
            None => format!("{}, and what it can cost is not known", Usd::default()),
        };
        format!("{turns}, {cost}")
    }

    /// Returns the maximum number of calls of a run.
    pub(super) fn most_calls(&self) -> Option<u64> {
        most_calls(&self.workflow)
    }

    /// Returns the maximum cost of a run, if the prices are known.
    pub(super) fn most_usd(&self, ground: &Ground) -> Option<Usd> {
        match most_money(&self.workflow, &ground.settings)? {
            Money::AtMost(usd) | Money::WithinTokens(usd) => Some(usd),
            Money::Open(_) | Money::Unlimited => None,
        }
    }

    /// Lists the gates of the delivery.
    pub(super) fn gates(&self) -> Vec<WorkGate> {
        self.work.gates.clone()
    }
}

/// Rejects `merge` without pull requests on a forge: a forge merges only pull requests.
fn insist_on_something_to_merge(work: &WorkSettings, wishes: &Wishes, ground: &Ground) -> Result<(), Error> {
    if ground.forge != ForgeKind::Github || !work.merge || work.pull_request {
        return Ok(());
    }
    let by = match (ground.no_pull_request, wishes.pull_request) {
        (true, _) => "`--no-pr`",
        (false, Some(false)) => "`create_pr: false` of the definition",
        (false, _) => "`pull_request = false` in `[work]`",
    };
    let said = format!("there is nothing to merge on the forge without a pull request, which {by} forbids");
    Err(Error::usage(said).hint("leave it out, or leave out `--merge` (`work.merge`)"))
}

/// Combines the settings of `work` with those of the definition. Flags override both.
fn wished(mut work: WorkSettings, wishes: &Wishes, ground: &Ground) -> WorkSettings {
    if let Some(gates) = &wishes.gates {
        work.gates.clone_from(gates);
    }
    if let Some(wanted) = wishes.pull_request.filter(|_| !ground.no_pull_request) {
        work.pull_request = wanted;
    }
    if let Some(root) = &wishes.worktree_root {
        work.worktree_root = root.into();
    }
    if let Some(files) = &wishes.copy_files {
        work.copy_files.clone_from(files);
    }
    if let Some(prefix) = &wishes.label_prefix {
        work.label_prefix.clone_from(prefix);
    }
    work.labels = wishes.labels.unwrap_or(work.labels);
    work
}

//! A definition that is ready for the work on issues, and the base branch of an issue.

use saihai_config::check::{Money, most_calls, most_money};
use saihai_config::delivery::Wishes;
use saihai_config::{ForgeKind, Language, ValidatedDefinition, WorkSettings};
use saihai_model::{
    Budget, GateMode, Issue, IssueSource, Limits, ProviderName, Script, TextFile, Usd, Workflow,
};

use crate::{
    DeliveryOptions, DeliveryTarget, EarlierDelivery, WorkContext, WorkError, deliver, hand_over_later,
    merge_later,
};

/// A loaded definition, ready to run.
#[derive(Debug, Clone)]
pub struct IssueDefinition {
    pub name: String,
    pub dialect: String,
    pub workflow: Workflow,
    pub script: Option<Script>,
    pub language: Language,
    /// The source files of its texts.
    pub texts: Vec<TextFile>,
    /// The settings of `work`, combined with those of the definition.
    pub work: WorkSettings,
    /// The definition's own settings of `work`.
    pub wishes: Wishes,
    /// True if the definition answers every gate with yes.
    pub auto: bool,
    /// True if the definition also works on an issue's dependencies.
    pub resolve: bool,
    /// The cost before the run starts and its upper bound, for the first gate (I-40).
    pub bound: String,
}

impl IssueDefinition {
    /// Wraps the definition in its delivery. `about` describes the issue for a person.
    pub fn around(&self, about: &str, context: &WorkContext) -> Result<ValidatedDefinition, WorkError> {
        validated(deliver(self.workflow.clone(), &self.options(about, context)))
    }

    /// Returns the rest of the delivery of finished work.
    pub fn later(
        &self,
        about: &str,
        context: &WorkContext,
        delivered: &EarlierDelivery,
    ) -> Result<ValidatedDefinition, WorkError> {
        let options = self.options(about, context);
        validated(if delivered.only_pushed {
            hand_over_later(self.workflow.clone(), &options)
        } else {
            merge_later(self.workflow.clone(), &options)
        })
    }

    /// Returns true if work is merged. A forge merges only pull requests.
    pub fn merges(&self, context: &WorkContext) -> bool {
        self.work.merge && self.target(context) != DeliveryTarget::Push
    }

    /// Returns true if the work is delivered as a pull request.
    pub fn opens_requests(&self, context: &WorkContext) -> bool {
        matches!(self.target(context), DeliveryTarget::PullRequest { .. })
    }

    fn target(&self, context: &WorkContext) -> DeliveryTarget {
        match (context.forge, self.work.pull_request) {
            (ForgeKind::Local, _) => DeliveryTarget::Branch,
            (ForgeKind::Github, false) => DeliveryTarget::Push,
            (ForgeKind::Github, true) => DeliveryTarget::PullRequest { checks: self.work.checks_timeout },
        }
    }

    fn options(&self, about: &str, context: &WorkContext) -> DeliveryOptions {
        DeliveryOptions {
            about: about.to_owned(),
            bound: self.bound.clone(),
            gates: self.work.gates.clone(),
            mode: if self.auto { GateMode::Auto } else { GateMode::Person },
            gate_timeout: self.work.gate_timeout,
            handing: self.target(context),
            merge: self.merges(context),
            comment: context.source == IssueSource::Github && context.forge == ForgeKind::Github,
        }
    }

    /// Returns the provider whose quota matters: that of the first turn.
    pub fn provider(&self) -> Option<ProviderName> {
        let entry = self.workflow.stage(&self.workflow.entry);
        let first =
            entry.into_iter().chain(self.workflow.stages.values()).flat_map(|stage| stage.agent_turns());
        first.map(|turn| turn.provider.clone()).next()
    }

    /// Returns the maximum number of calls of a run.
    pub fn most_calls(&self) -> Option<u64> {
        most_calls(&self.workflow)
    }

    /// Returns the maximum cost of a run, if the prices are known.
    pub fn most_usd(&self, context: &WorkContext) -> Option<Usd> {
        match most_money(&self.workflow, &context.settings)? {
            Money::AtMost(usd) | Money::WithinTokens(usd) => Some(usd),
            Money::Open(_) | Money::Unlimited => None,
        }
    }
}

/// Adds a budget to the limits of a definition.
pub(crate) fn with_budget(
    around: ValidatedDefinition,
    budget: &Budget,
) -> Result<ValidatedDefinition, WorkError> {
    let workflow = around.into_workflow();
    let limits = Limits { budget: workflow.limits.budget.and(budget), ..workflow.limits.clone() };
    validated(Workflow { limits, ..workflow })
}

fn validated(workflow: Workflow) -> Result<ValidatedDefinition, WorkError> {
    ValidatedDefinition::validate(workflow).map_err(|unsound| saihai::DriverError::from(unsound).into())
}

/// The base branch of an issue and the source of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseChoice {
    pub branch: String,
    pub by: BaseSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BaseSource {
    Flag,
    Issue,
    Settings,
    CheckedOut,
    ForgeDefault,
}

impl BaseChoice {
    /// Returns the base from the first source that names one (I-13).
    pub fn of(issue: &Issue, context: &WorkContext, flag: Option<&String>) -> Result<Self, WorkError> {
        let default = match context.forge {
            ForgeKind::Local => BaseSource::CheckedOut,
            ForgeKind::Github => BaseSource::ForgeDefault,
        };
        let sources = [
            (flag, BaseSource::Flag),
            (issue.base.as_ref(), BaseSource::Issue),
            (context.work.base.as_ref(), BaseSource::Settings),
            (context.default_base.as_ref(), default),
        ];
        let chosen = sources.into_iter().find_map(|(branch, by)| Some(Self { branch: branch?.clone(), by }));
        chosen.ok_or(WorkError::NoBase)
    }
}

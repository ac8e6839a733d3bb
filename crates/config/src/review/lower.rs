//! Lowers selected agents and their subject to a workflow (section "Lowering" of the dialect).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_model::{
    Action, ActionSpec, Activity, Budget, Completion, Ending, Exit, Holds, Json, Label, LeftOut, Limits,
    Millis, OnFailure, Once, Output, Permission, ProviderKind, ProviderName, ProviderSettings, Reads, Retry,
    Rounds, Rule, SessionPolicy, Stage, StageId, Subject, Target, Turn, TurnId, Workflow, tokens,
};

use super::answerer::{Answerer, Typed};
use super::asked::Asked;
use super::decisive::decides_itself;
use super::granted::Granted;
use super::plan::{self, Plan, PlannedAgent, PlannedFile, PlannedGap, PlannedIgnore};
use super::share::{Bounds, Share, Shown};
use super::shortfalls::Shortfalls;
use super::speech::{Speech, Words};
use super::{Agent, LoadResult, Phase, Selection, Why, reviewer};
use crate::{Area, Diagnostic, Loaded, Places, Settings, list_of, quoted};

/// Command-line options of a review. An absent option falls back to the settings.
#[derive(Debug, Clone, Default)]
pub struct ReviewOptions {
    /// Further paths that configure reviews, reached through symbolic links.
    pub led_to: Vec<String>,
    /// Further warnings for the top of the report.
    pub warnings: Vec<String>,
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    /// Maximum number of agents that run in parallel.
    pub concurrency: Option<u32>,
    /// Time limit of one agent.
    pub timeout: Option<Millis>,
    /// Maximum number of model calls per agent.
    pub max_turns: Option<u32>,
    /// Lowest severity that fails the review.
    pub fail_on: Option<String>,
    /// Lowest confidence of a finding that the report keeps.
    pub min_confidence: Option<u8>,
    /// Maximum number of subject bytes per turn.
    pub max_diff_bytes: Option<u64>,
    pub max_chunks: Option<u32>,
    pub budget: Budget,
    pub run_timeout: Option<Millis>,
    /// Fail the review if an agent delivers no result.
    pub require_all: bool,
    /// Accept a review that left parts out.
    pub allow_partial: bool,
    pub ignores: Vec<PlannedIgnore>,
    pub branch: Option<String>,
    /// Commit to check out into a separate directory where agents can read files.
    pub checkout: Option<String>,
    /// Revision that provides agents, settings and suppressions; absent means the working tree.
    pub definitions_from: Option<String>,
    pub cache: Cached,
    /// Report format, if not the default.
    pub format: Option<String>,
    /// Additional output files of the report.
    pub written: Vec<PlannedFile>,
}

/// Reuse of replies to unchanged questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cached {
    #[default]
    Never,
    /// Reuse replies of agents without tools.
    Blind,
    /// Reuse replies of agents with tools too, while the tree they can read keeps this hash.
    Seeing(String),
}

#[derive(Debug, Clone, Copy)]
pub struct Reviewing<'a> {
    /// All agents, including the rejected ones.
    pub loaded: &'a LoadResult,
    pub selection: &'a Selection<'a>,
    pub subject: &'a Subject,
    pub options: &'a ReviewOptions,
    pub settings: &'a Settings,
    pub places: &'a Places,
}

/// A runnable review: its workflow and the texts that its prompts refer to.
#[derive(Debug, Clone, Default)]
pub struct LoweredReview {
    /// Workflow and its diagnostics. The workflow is absent if no agent takes part.
    pub loaded: Loaded,
    pub texts: BTreeMap<String, Json>,
    /// Decisions about the review, frozen into the workflow.
    pub plan: Plan,
    /// Warnings to show before the review starts.
    pub warnings: Vec<String>,
}

/// Name of the stage that builds the report.
const REPORT: &str = "report";

/// Outcomes of a review, as labels of the report action and as results of the run.
pub mod ending {
    /// No finding that fails the review.
    pub const PASSED: &str = "passed";
    /// At least one finding that fails the review.
    pub const FINDINGS: &str = "findings";
    pub const PARTIAL: &str = "partial";
    pub const UNDELIVERED: &str = "undelivered";
}

/// Lowers a review to a workflow.
pub fn lower(review: Reviewing<'_>) -> LoweredReview {
    let mut lowering = Lowering {
        review,
        lowered: LoweredReview::default(),
        gaps: Vec::new(),
        shown: BTreeMap::new(),
        shortfalls: Shortfalls::default(),
    };
    lowering.check_providers();
    let mut stages = IndexMap::new();
    for phase in Phase::ALL {
        let turns = lowering.turns(phase);
        if !turns.is_empty() {
            stages.insert(StageId::from(phase.name()), lowering.stage(phase, turns));
        }
    }
    lowering.lowered.warnings = lowering.shortfalls.warnings(review.settings.review.web);
    chain(&mut stages);
    lowering.lowered.plan = lowering.plan();
    if let Some(entry) = stages.keys().next().cloned() {
        stages.insert(StageId::from(REPORT), lowering.report());
        lowering.lowered.loaded.workflow = Some(lowering.workflow(entry, stages));
    }
    lowering.lowered
}

struct Lowering<'a> {
    review: Reviewing<'a>,
    lowered: LoweredReview,
    gaps: Vec<PlannedGap>,
    /// Files per turn, for agents that do not see all files in one turn.
    shown: BTreeMap<String, Vec<Vec<String>>>,
    shortfalls: Shortfalls,
}

impl Lowering<'_> {
    fn turns(&mut self, phase: Phase) -> Vec<Turn> {
        let review = self.review;
        let chosen = review.selection.selected().filter(|(agent, _)| agent.definition.phase == phase);
        let mut turns = Vec::new();
        for (agent, why) in chosen {
            turns.extend(self.agent(phase, agent, why));
        }
        turns
    }

    /// Returns the turns of one agent: one for each part of its share.
    fn agent(&mut self, phase: Phase, agent: &Agent, why: &Why) -> Vec<Turn> {
        let Reviewing { subject, options, settings, .. } = self.review;
        let definition = &agent.definition;
        let typed = Typed { provider: options.provider.as_ref(), model: options.model.as_deref() };
        let answerer = Answerer::of(definition, typed, settings);
        self.lowered.loaded.notes.extend(answerer.note.clone());
        let share = Share::of(definition, why, subject, self.bounds());
        self.gaps.extend(share.gaps(&definition.name));
        if !share.is_all_at_once(subject) {
            self.shown.insert(definition.name.clone(), share.paths());
        }
        let several = share.parts.len() > 1;
        let parts = share.parts.iter().enumerate();
        let turns = parts.map(|(index, shown)| {
            let id =
                if several { format!("{}:{}", definition.name, index + 1) } else { definition.name.clone() };
            self.turn(phase, &id, agent, Told { answerer: &answerer, share: &share, shown })
        });
        turns.collect()
    }

    fn turn(&mut self, phase: Phase, id: &str, agent: &Agent, told: Told<'_>) -> Turn {
        let Reviewing { subject, options, settings, .. } = self.review;
        let definition = &agent.definition;
        let provider = told.answerer.provider.clone().unwrap_or_else(|| SCRIPT.into());
        let described = settings.provider(provider.as_str());
        let kind = described.as_ref().map_or(ProviderKind::Script, |provider| provider.kind);
        let granted = Granted::of(kind, &definition.tools, settings.review.web);
        self.shortfalls.add(&provider, &granted);
        let schema = definition.output_schema.json();
        let in_words = Some(&schema).filter(|_| !all_take_schema(&provider, settings));
        let words = Words::of(definition.language());
        let speech =
            Speech { words, subject, shown: told.shown, left_out: &told.share.left_out, schema: in_words };
        let prompt = speech.prompt(&mut self.lowered.texts);
        let added = (StageId::from(phase.name()), TurnId::from(id), tokens(&words.own(in_words)));
        self.lowered.loaded.added_tokens.push(added);
        let asked = Asked {
            agent: definition,
            provider: &provider,
            kind,
            model: told.answerer.model.as_deref(),
            tools: granted.tools.as_deref(),
            shown: told.shown,
        };
        let kept_as = asked.name(&options.cache);
        let own = settings.review.agents.get(&definition.name);
        let timeout = options.timeout.or_else(|| own?.timeout).or(definition.timeout);
        let max_turns = options.max_turns.or_else(|| own?.max_turns).or(definition.max_turns);
        Turn {
            id: TurnId::from(id),
            title: id.to_owned(),
            description: Some(definition.description.clone()),
            persona: Some(definition.system_prompt.as_str().into()),
            role: Some(definition.name.clone()),
            prompt,
            model: told.answerer.model.clone(),
            permission: self.permission(described.as_ref()),
            asked_permission: None,
            tools: granted.tools,
            session: SessionPolicy::Fresh,
            // the review's own time limit applies here, not the provider's general turn
            // limit.
            timeout: None,
            within: Some(timeout.unwrap_or(settings.review.timeout)),
            max_calls: Some(max_turns.unwrap_or(settings.review.max_turns)),
            price: settings.price_of(&provider),
            provider,
            needs: Vec::new(),
            heading: String::new(),
            reads: Reads {
                output: Some(Output {
                    kept_as,
                    ..reviewer::output(words.correction(in_words), schema.clone())
                }),
                ..Reads::default()
            },
        }
    }

    /// Returns read-only permission. If the settings allow a provider that cannot enforce it,
    /// returns the permission that actually applies.
    fn permission(&self, provider: Option<&ProviderSettings>) -> Permission {
        let is_loose = provider.is_some_and(|provider| !provider.can_enforce(Permission::ReadOnly));
        let is_allowed = self.review.settings.review.allow_unconfined;
        if is_loose && is_allowed { Permission::Full } else { Permission::ReadOnly }
    }

    fn bounds(&self) -> Bounds {
        let Reviewing { options, settings, .. } = self.review;
        let bytes = options.max_diff_bytes.unwrap_or(settings.review.max_diff_bytes);
        let parts = options.max_chunks.unwrap_or(settings.review.max_chunks);
        Bounds { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), parts: parts as usize }
    }

    fn stage(&self, phase: Phase, turns: Vec<Turn>) -> Stage {
        let Reviewing { options, settings, .. } = self.review;
        let at_once = Some(options.concurrency.unwrap_or(settings.review.concurrency));
        Stage {
            title: phase.name().to_owned(),
            does: Activity::Turns {
                turns,
                at_once,
                on_failure: OnFailure::KeepGoing,
                between: "\n\n".to_owned(),
            },
            exit: always(Target::Complete),
            rounds: Rounds::default(),
            visits: None,
            aside: false,
            description: None,
        }
    }

    /// Returns the stage that builds the report. Its label is the outcome of the review.
    fn report(&self) -> Stage {
        let is = |label: &str, then: Target| Rule { when: Holds::Is(Label::from(label)), then };
        let rules = vec![
            is(ending::PASSED, Target::Complete),
            is(ending::FINDINGS, Target::failed(ending::FINDINGS)),
            is(ending::PARTIAL, Target::End(Ending::Incomplete(ending::PARTIAL.to_owned()))),
            is(ending::UNDELIVERED, Target::End(Ending::Undelivered)),
        ];
        let settings = serde_json::to_value(&self.lowered.plan).expect("a plan has text keys only");
        Stage {
            title: REPORT.to_owned(),
            does: Activity::Action(ActionSpec {
                does: Action::ReviewReport { settings },
                inputs: Vec::new(),
                once: Once::SetToValue,
                poll: None,
            }),
            exit: Exit::Rules { rules, question: None, otherwise: Target::failed("no_report") },
            rounds: Rounds::default(),
            visits: None,
            aside: false,
            description: None,
        }
    }

    fn plan(&self) -> Plan {
        let Reviewing { loaded, selection, subject, options, settings, places } = self.review;
        let review = &settings.review;
        let without = subject.files.iter().filter_map(|file| {
            let reason = match file.left_out? {
                LeftOut::Binary => "binary",
                LeftOut::Submodule => "submodule",
                LeftOut::TooLarge => "size",
            };
            Some(PlannedGap { file: file.path.clone(), agent: None, reason: reason.to_owned() })
        });
        let lossy = subject.files.iter().filter(|file| file.lossy);
        let lossy = lossy
            .map(|file| format!("`{}` is not UTF-8: what is no character is read as `\u{fffd}`", file.path));
        Plan {
            fail_on: options.fail_on.clone().unwrap_or_else(|| review.fail_on.clone()),
            fail_scope: review.fail_scope.clone(),
            min_confidence: options.min_confidence.unwrap_or(review.min_confidence),
            require_all: options.require_all || review.require_all,
            allow_partial: options.allow_partial,
            distrusts_change: options.definitions_from.is_some(),
            language: settings.language.name().to_owned(),
            selection: self.considered(),
            load_errors: plan::refused(loaded, places),
            left_out: without.chain(self.gaps.iter().cloned()).collect(),
            warnings: decides_itself(subject, options)
                .into_iter()
                .chain(options.warnings.iter().cloned())
                .chain(lossy)
                .chain(selection.warnings())
                .collect(),
            ignores: options.ignores.clone(),
            branch: options.branch.clone(),
            checkout: options.checkout.clone(),
            format: options.format.clone(),
            written: options.written.clone(),
        }
    }

    /// Returns every considered agent with the reason and its share of the files.
    fn considered(&self) -> Vec<PlannedAgent> {
        let Reviewing { selection, places, .. } = self.review;
        let mut considered = plan::considered(selection, places);
        for agent in &mut considered {
            agent.shown = self.shown.get(&agent.agent).cloned().unwrap_or_default();
        }
        considered
    }

    fn workflow(&self, entry: StageId, stages: IndexMap<StageId, Stage>) -> Workflow {
        let Reviewing { options, settings, .. } = self.review;
        let set = settings.budget.replaced_by(&settings.review.budget);
        Workflow {
            name: "review".to_owned(),
            entry,
            stages,
            topics: None,
            monitors: Vec::new(),
            completion: Completion::Flow,
            limits: Limits {
                runtime: options.run_timeout.or(settings.limits.run_timeout),
                budget: set.replaced_by(&options.budget),
                ..Limits::default()
            },
            // do not retry after our own time limit.
            retry: Retry { after_deadline: false, ..settings.retry() },
            afterwards: Some(StageId::from(REPORT)),
            provider: None,
            log: None,
            issue: None,
            words: [("stage".to_owned(), "phase".to_owned())].into_iter().collect(),
        }
    }

    /// K-25, R-41: every agent needs a provider with a known name.
    fn check_providers(&mut self) {
        let Reviewing { selection, options, settings, .. } = self.review;
        let mut found = settings.review.check_providers(settings);
        if let Some(name) = options.provider.as_ref().filter(|name| !settings.knows_provider(name.as_str())) {
            let message = format!("no provider is named {}", quoted(name.as_str()));
            let there_is = format!("there is {}", list_of(settings.provider_names(), "and"));
            let hint = found.suggest(name.as_str(), settings.provider_names()).or(Some(there_is));
            found.push(Diagnostic::error(Area::Provider.code("unknown-provider"), message).maybe_hint(hint));
        }
        let typed = Typed { provider: options.provider.as_ref(), model: options.model.as_deref() };
        let nobody = selection.selected().map(|(agent, _)| &agent.definition);
        let nobody = nobody.filter(|agent| Answerer::of(agent, typed, settings).provider.is_none());
        self.lowered.loaded.rehearsal = nobody.count() > 0;
        self.lowered.loaded.diagnostics.append(found);
    }
}

/// Properties of a turn that do not come from its agent.
#[derive(Clone, Copy)]
struct Told<'a> {
    answerer: &'a Answerer,
    share: &'a Share<'a>,
    shown: &'a Shown<'a>,
}

const SCRIPT: &str = "script";

/// Connects each phase to the next. The last phase completes the run.
fn chain(stages: &mut IndexMap<StageId, Stage>) {
    let next: Vec<StageId> = stages.keys().skip(1).cloned().collect();
    for (stage, next) in stages.values_mut().zip(next) {
        stage.exit = always(Target::Stage(next));
    }
}

fn always(then: Target) -> Exit {
    let rules = vec![Rule { when: Holds::Always, then: then.clone() }];
    Exit::Rules { rules, question: None, otherwise: then }
}

/// Returns true if the provider and all its fallbacks receive the schema separately. The prompt
/// stays the same for a fallback, so it must suit all of them.
pub(super) fn all_take_schema(provider: &ProviderName, settings: &Settings) -> bool {
    let mut seen: Vec<ProviderName> = Vec::new();
    let mut next = Some(provider.clone());
    while let Some(name) = next.take().filter(|name| !seen.contains(name)) {
        let Some(described) = settings.provider(name.as_str()) else { return false };
        if !takes_schema(described.kind) {
            return false;
        }
        next = described.fallback.clone();
        seen.push(name);
    }
    true
}

/// Returns true if the provider takes the schema separately and makes its model follow it.
fn takes_schema(kind: ProviderKind) -> bool {
    match kind {
        ProviderKind::Claude | ProviderKind::Codex | ProviderKind::Anthropic | ProviderKind::Openai => true,
        ProviderKind::Opencode
        | ProviderKind::Gemini
        | ProviderKind::Copilot
        | ProviderKind::Acp
        | ProviderKind::Command
        | ProviderKind::Script => false,
    }
}

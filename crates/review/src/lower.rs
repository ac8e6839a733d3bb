//! Lowers selected agents and their subject to a workflow (section "Lowering" of the dialect).

use std::collections::BTreeMap;

use indexmap::IndexMap;
use saihai_config::review::{
    Agent, AgentDefinition, AgentProvider, FailOn, GrantedTools, IGNORE_FILE, LoadResult, OutputSchema,
    Phase, ProviderOverride, ReviewerWords, all_take_schema,
};
use saihai_config::{Area, Diagnostic, LoadedDefinition, ProjectPaths, Settings, list_of, quoted};
use saihai_model::{
    Action, ActionSpec, Activity, Budget, Completion, Ending, Exit, ExitRule, FailureReason,
    IncompleteReason, Json, Label, Limits, Millis, OnFailure, Once, Output, Permission, ProviderKind,
    ProviderName, ProviderSettings, Reads, Retry, Rounds, RuleCondition, SessionPolicy, Stage, StageId,
    Subject, SubjectMode, Target, Turn, TurnId, Workflow, tokens,
};
use sha2::{Digest as _, Sha256};

use crate::plan::{ConsideredAgent, ReportFile, ReportFormat, ReviewGap, ReviewPlan, considered, refused};
use crate::prompt::{AgentShare, ReviewPrompt, ShareLimits, ShareTurn};
use crate::select::{AgentSelection, SelectionReason};
use saihai_config::review::{FindingIgnore, reply_contract};

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
    pub fail_on: Option<FailOn>,
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
    pub ignores: Vec<FindingIgnore>,
    pub branch: Option<String>,
    /// Text of the issue that the change works on. All agents see it.
    pub issue: Option<String>,
    /// Commit to check out into a separate directory where agents can read files.
    pub checkout: Option<String>,
    /// Revision that provides agents, settings and suppressions; absent means the working tree.
    pub definitions_from: Option<String>,
    pub cache: CachePolicy,
    /// Report format, if not the default.
    pub format: Option<ReportFormat>,
    /// Additional output files of the report.
    pub written: Vec<ReportFile>,
}

/// Reuse of replies to unchanged questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CachePolicy {
    #[default]
    Never,
    /// Reuse replies of agents without tools.
    Blind,
    /// Reuse replies of agents with tools too, while the tree they can read keeps this hash.
    Seeing(String),
}

#[derive(Debug, Clone, Copy)]
pub struct ReviewRequest<'a> {
    /// All agents, including the rejected ones.
    pub loaded: &'a LoadResult,
    pub selection: &'a AgentSelection<'a>,
    pub subject: &'a Subject,
    pub options: &'a ReviewOptions,
    pub settings: &'a Settings,
    pub places: &'a ProjectPaths,
}

/// A runnable review: its workflow and the texts that its prompts refer to.
#[derive(Debug, Clone, Default)]
pub struct LoweredReview {
    /// Workflow and its diagnostics. The workflow is absent if no agent takes part.
    pub loaded: LoadedDefinition,
    pub texts: BTreeMap<String, Json>,
    /// Decisions about the review, frozen into the workflow.
    pub plan: ReviewPlan,
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
pub fn lower(review: ReviewRequest<'_>) -> LoweredReview {
    let mut lowering = ReviewLowering {
        review,
        lowered: LoweredReview::default(),
        gaps: Vec::new(),
        shown: BTreeMap::new(),
        shortfalls: ToolShortfalls::default(),
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

struct ReviewLowering<'a> {
    review: ReviewRequest<'a>,
    lowered: LoweredReview,
    gaps: Vec<ReviewGap>,
    /// Files per turn, for agents that do not see all files in one turn.
    shown: BTreeMap<String, Vec<Vec<String>>>,
    shortfalls: ToolShortfalls,
}

impl ReviewLowering<'_> {
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
    fn agent(&mut self, phase: Phase, agent: &Agent, why: &SelectionReason) -> Vec<Turn> {
        let ReviewRequest { subject, options, settings, .. } = self.review;
        let definition = &agent.definition;
        let typed = ProviderOverride { provider: options.provider.as_ref(), model: options.model.as_deref() };
        let answerer = AgentProvider::of(definition, typed, settings);
        self.lowered.loaded.notes.extend(answerer.note.clone());
        let share = AgentShare::of(definition, why, subject, self.bounds());
        self.gaps.extend(share.gaps(&definition.name));
        if !share.is_all_at_once(subject) {
            self.shown.insert(definition.name.clone(), share.paths());
        }
        let several = share.parts.len() > 1;
        let parts = share.parts.iter().enumerate();
        let turns = parts.map(|(index, shown)| {
            let id =
                if several { format!("{}:{}", definition.name, index + 1) } else { definition.name.clone() };
            self.turn(phase, &id, agent, TurnShare { answerer: &answerer, share: &share, shown })
        });
        turns.collect()
    }

    fn turn(&mut self, phase: Phase, id: &str, agent: &Agent, shares: TurnShare<'_>) -> Turn {
        let ReviewRequest { subject, options, settings, .. } = self.review;
        let definition = &agent.definition;
        let provider = shares.answerer.provider.clone().unwrap_or_else(|| SCRIPT.into());
        let described = settings.provider(provider.as_str());
        let kind = described.as_ref().map_or(ProviderKind::Script, |provider| provider.kind);
        let granted = GrantedTools::of(kind, &definition.tools, settings.review.web);
        self.shortfalls.add(&provider, &granted);
        let schema = definition.output_schema.json();
        let in_words = Some(&schema).filter(|_| !all_take_schema(&provider, settings));
        let words = ReviewerWords::of(definition.language());
        let speech = ReviewPrompt {
            words,
            subject,
            shown: shares.shown,
            left_out: &shares.share.left_out,
            issue: options.issue.as_deref(),
            schema: in_words,
        };
        let prompt = speech.prompt(&mut self.lowered.texts);
        let added = (StageId::from(phase.name()), TurnId::from(id), tokens(&words.own(in_words)));
        self.lowered.loaded.added_tokens.push(added);
        let asked = ReplyCacheKey {
            agent: definition,
            provider: &provider,
            kind,
            model: shares.answerer.model.as_deref(),
            tools: granted.tools.as_deref(),
            shown: shares.shown,
            issue: options.issue.as_deref(),
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
            model: shares.answerer.model.clone(),
            permission: self.permission(described.as_ref()),
            asked_permission: None,
            sandbox_required: false,
            tools: granted.tools,
            session: SessionPolicy::Fresh,
            // the review's own time limit applies here, not the provider's general turn
            // limit.
            timeout: None,
            within: Some(timeout.unwrap_or(settings.review.timeout)),
            max_calls: Some(max_turns.unwrap_or(settings.review.max_turns)),
            price: settings.price_of(&provider),
            provider,
            program: None,
            needs: Vec::new(),
            heading: String::new(),
            reads: Reads {
                output: Some(Output {
                    kept_as,
                    ..reply_contract(words.correction(in_words), schema.clone())
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

    fn bounds(&self) -> ShareLimits {
        let ReviewRequest { options, settings, .. } = self.review;
        let bytes = options.max_diff_bytes.unwrap_or(settings.review.max_diff_bytes);
        let parts = options.max_chunks.unwrap_or(settings.review.max_chunks);
        ShareLimits { bytes: usize::try_from(bytes).unwrap_or(usize::MAX), parts: parts as usize }
    }

    fn stage(&self, phase: Phase, turns: Vec<Turn>) -> Stage {
        let ReviewRequest { options, settings, .. } = self.review;
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
        let is = |label: &str, then: Target| ExitRule { when: RuleCondition::Is(Label::from(label)), then };
        let rules = vec![
            is(ending::PASSED, Target::Complete),
            is(ending::FINDINGS, Target::failed(FailureReason::Findings)),
            is(ending::PARTIAL, Target::End(Ending::Incomplete(IncompleteReason::PartialReview))),
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
            exit: Exit::Rules { rules, question: None, otherwise: Target::failed(FailureReason::NoReport) },
            rounds: Rounds::default(),
            visits: None,
            aside: false,
            description: None,
        }
    }

    fn plan(&self) -> ReviewPlan {
        let ReviewRequest { loaded, selection, subject, options, settings, places } = self.review;
        let review = &settings.review;
        let without = subject.files.iter().filter_map(|file| {
            Some(ReviewGap { file: file.path.clone(), agent: None, reason: file.left_out?.into() })
        });
        let lossy = subject.files.iter().filter(|file| file.lossy);
        let lossy =
            lossy.map(|file| format!("`{}` is not UTF-8: invalid bytes are read as `\u{fffd}`", file.path));
        ReviewPlan {
            fail_on: options.fail_on.unwrap_or(review.fail_on),
            fail_scope: review.fail_scope,
            min_confidence: options.min_confidence.unwrap_or(review.min_confidence),
            require_all: options.require_all || review.require_all,
            allow_partial: options.allow_partial,
            distrusts_change: options.definitions_from.is_some(),
            language: settings.language.name().to_owned(),
            selection: self.considered(),
            load_errors: refused(loaded, places),
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
            format: options.format,
            written: options.written.clone(),
        }
    }

    /// Returns every considered agent with the reason and its share of the files.
    fn considered(&self) -> Vec<ConsideredAgent> {
        let ReviewRequest { selection, places, .. } = self.review;
        let mut considered = considered(selection, places);
        for agent in &mut considered {
            agent.shown = self.shown.get(&agent.agent).cloned().unwrap_or_default();
        }
        considered
    }

    fn workflow(&self, entry: StageId, stages: IndexMap<StageId, Stage>) -> Workflow {
        let ReviewRequest { options, settings, .. } = self.review;
        let set = settings.budget.replaced_by(&settings.review.budget);
        Workflow {
            name: "review".to_owned(),
            entry,
            stages,
            topics: None,
            monitors: Vec::new(),
            breakers: Vec::new(),
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
            groups: Vec::new(),
            issue: None,
            words: [("stage".to_owned(), "phase".to_owned())].into_iter().collect(),
        }
    }

    /// K-25, R-41: every agent needs a provider with a known name.
    fn check_providers(&mut self) {
        let ReviewRequest { selection, options, settings, .. } = self.review;
        let mut found = settings.review.check_providers(settings);
        if let Some(name) = options.provider.as_ref().filter(|name| !settings.knows_provider(name.as_str())) {
            let message = format!("no provider is named {}", quoted(name.as_str()));
            let there_is = format!("there is {}", list_of(settings.provider_names(), "and"));
            let hint = found.suggest(name.as_str(), settings.provider_names()).or(Some(there_is));
            found.push(Diagnostic::error(Area::Provider.code("unknown-provider"), message).maybe_hint(hint));
        }
        let typed = ProviderOverride { provider: options.provider.as_ref(), model: options.model.as_deref() };
        let nobody = selection.selected().map(|(agent, _)| &agent.definition);
        let nobody = nobody.filter(|agent| AgentProvider::of(agent, typed, settings).provider.is_none());
        self.lowered.loaded.rehearsal = nobody.count() > 0;
        self.lowered.loaded.diagnostics.append(found);
    }
}

/// Properties of a turn that do not come from its agent.
#[derive(Clone, Copy)]
struct TurnShare<'a> {
    answerer: &'a AgentProvider,
    share: &'a AgentShare<'a>,
    shown: &'a ShareTurn<'a>,
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
    let rules = vec![ExitRule { when: RuleCondition::Always, then: then.clone() }];
    Exit::Rules { rules, question: None, otherwise: then }
}

/// Everything that a reply depends on.
pub(super) struct ReplyCacheKey<'a> {
    pub(super) agent: &'a AgentDefinition,
    pub(super) provider: &'a ProviderName,
    pub(super) kind: ProviderKind,
    pub(super) model: Option<&'a str>,
    /// Granted tools; absent if the provider cannot restrict them and the agent may use any.
    pub(super) tools: Option<&'a [String]>,
    pub(super) shown: &'a ShareTurn<'a>,
    pub(super) issue: Option<&'a str>,
}

/// Increase this number whenever the wording of Saihai's own prompt text changes.
const PROMPT_VERSION: &str = "1";

impl ReplyCacheKey<'_> {
    /// Returns the cache key, or `None` if the reply is not cached. A script provider is never
    /// cached, because its replies come from its file.
    pub(super) fn name(&self, cached: &CachePolicy) -> Option<String> {
        let sees = self.tools.is_none_or(|tools| !tools.is_empty());
        let tree = match cached {
            CachePolicy::Never => return None,
            CachePolicy::Blind if sees => return None,
            CachePolicy::Blind => "",
            CachePolicy::Seeing(tree) if sees => tree.as_str(),
            CachePolicy::Seeing(_) => "",
        };
        if self.kind == ProviderKind::Script {
            return None;
        }
        let schema = OutputSchema::json(self.agent.output_schema).to_string();
        let limit = self.agent.max_turns.map(|calls| calls.to_string()).unwrap_or_default();
        let tools = self.tools.map(|tools| tools.join(",")).unwrap_or_default();
        let parts = [
            PROMPT_VERSION,
            &self.agent.name,
            &self.agent.description,
            &limit,
            &self.agent.system_prompt,
            &schema,
            self.provider.as_str(),
            self.model.unwrap_or_default(),
            &tools,
            &self.shown.text,
            tree,
        ];
        let mut hash = Sha256::new();
        for part in parts.into_iter().chain(self.issue) {
            // The length prefix keeps two adjacent parts from being split differently with the same
            // hash.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Requested tools that providers lack. Each provider gets one warning, however many agents ask.
#[derive(Debug, Default)]
pub(super) struct ToolShortfalls {
    missing: IndexMap<ProviderName, Vec<&'static str>>,
    /// Providers that always enable some tools, even if an agent requests none.
    unheld: Vec<ProviderName>,
}

impl ToolShortfalls {
    /// Adds the shortfall of one agent.
    pub(super) fn add(&mut self, provider: &ProviderName, granted: &GrantedTools) {
        for tool in &granted.missing {
            let tools = self.missing.entry(provider.clone()).or_default();
            if !tools.contains(tool) {
                tools.push(tool);
            }
        }
        if granted.is_unheld && !self.unheld.contains(provider) {
            self.unheld.push(provider.clone());
        }
    }

    /// Returns the warnings. `web` is true if agents may use web tools.
    pub(super) fn warnings(&self, web: bool) -> Vec<String> {
        let missing = self.missing.iter().map(|(provider, tools)| {
            let names = list_of(tools.iter().copied(), "and");
            let hint = if tools.contains(&"web_fetch") && !web {
                "; `web_fetch` needs `web = true` in `[review]`"
            } else {
                ""
            };
            format!(
                "agents review without {names}: `{provider}` does not offer them to read-only agents{hint}"
            )
        });
        let unheld = self.unheld.iter().map(|provider| {
            format!("`{provider}` always offers its own read tools, also to agents without tools")
        });
        missing.chain(unheld).collect()
    }
}

/// Directories that hold review agents.
const DIRECTORIES: [&str; 2] = [".hachimoku/agents/", ".saihai/agents/"];

/// Returns a warning if the change touches files that configure its own review. The review still runs.
pub(super) fn decides_itself(subject: &Subject, options: &ReviewOptions) -> Option<String> {
    let SubjectMode::Changes { pull_request, .. } = &subject.mode else { return None };
    if options.definitions_from.is_some() {
        return None;
    }
    let files = [".saihai/config.toml", IGNORE_FILE];
    // A former directory may be a symbolic link now.
    let is_way = |path: &str| DIRECTORIES.iter().any(|directory| directory.starts_with(&format!("{path}/")));
    let decides = |path: &str| {
        let is_inside = || DIRECTORIES.iter().any(|directory| path.starts_with(directory));
        files.contains(&path) || is_inside() || is_way(path) || is_led_to(path, &options.led_to)
    };
    let paths = subject.files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.previous));
    let touched: Vec<&str> = paths.map(String::as_str).filter(|path| decides(path)).collect();
    let named = list_of(touched.iter().copied(), "and");
    (!touched.is_empty()).then(|| match pull_request {
        None => format!("the change affects its own review: it touches {named}"),
        // The checked-out files may be those of the pull request itself.
        Some(_) => format!(
            "the change touches files that configure reviews: {named}; this review uses the files that are checked \
             out here"
        ),
    })
}

/// Returns true if the path is one of these places or lies below one.
fn is_led_to(path: &str, places: &[String]) -> bool {
    places.iter().any(|place| {
        path.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use saihai_model::ProviderKind;

    use super::*;

    fn warnings(asked: &[(&str, ProviderKind, &[&'static str])], web: bool) -> String {
        let mut shortfalls = ToolShortfalls::default();
        for (name, kind, tools) in asked {
            shortfalls.add(&ProviderName::from(*name), &GrantedTools::of(*kind, tools, web));
        }
        shortfalls.warnings(web).join("\n")
    }

    // One warning for each provider
    #[test]
    fn what_a_provider_cannot_give_is_said_once() {
        let asked: &[(&str, ProviderKind, &[&'static str])] = &[
            ("claude", ProviderKind::Claude, &["read_file", "git_diff"]),
            ("claude", ProviderKind::Claude, &["git_diff", "git_log", "web_fetch"]),
            ("mine", ProviderKind::Anthropic, &["git_diff", "pr_view", "web_fetch"]),
        ];
        insta::assert_snapshot!(warnings(asked, false), @"
        agents review without `git_diff`, `web_fetch` and `git_log`: `claude` does not offer them to read-only agents; `web_fetch` needs `web = true` in `[review]`
        agents review without `web_fetch`: `mine` does not offer them to read-only agents; `web_fetch` needs `web = true` in `[review]`
        ");
        assert_eq!(warnings(&asked[2..], true), "", "services are given all there is");
    }

    #[test]
    fn who_cannot_be_kept_from_looking_is_named() {
        let asked: &[(&str, ProviderKind, &[&'static str])] = &[
            ("codex", ProviderKind::Codex, &[]),
            ("codex", ProviderKind::Codex, &[]),
            ("gemini", ProviderKind::Gemini, &["read_file"]),
            ("claude", ProviderKind::Claude, &[]),
        ];
        insta::assert_snapshot!(warnings(asked, false), @"`codex` always offers its own read tools, also to agents without tools");
    }
}

//! Lowering of a piece to a workflow, with the provider and session of each turn (P-17, P-18).

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use saihai_model::{
    Activity, Alarm, Breaker, Completion, Exit, Limits, Monitor, OnFailure, PassedStages, Permission, Prompt,
    Reads, Report, Rounds, SessionKey, SessionPolicy, Stage, StageId, StallJudge, Target, Text, Turn, TurnId,
    Watch, Workflow,
};

use super::assignment::{SessionChoice, TurnAssignment};
use super::prompt::{PiecePrompt, PieceWords};
use super::read::{LoopMonitor, Movement, MovementWork, Piece};
use super::verdict::VerdictChannels;
use super::{PieceReviewers, exit, prompt};
use crate::breaker::add_breakers;
use crate::check::Spot;
use crate::diagnostic::list_of;
use crate::lowering::{ProviderResolver, ResolvedProvider, Spots};
use crate::review::Reviewer;
use crate::{Diagnostics, Options, SessionDefault, Settings, quoted};

/// Separator between the outputs of sub-movements (P-33).
const BETWEEN: &str = "\n\n---\n\n";

/// Input of the lowering, and its output so far.
pub(super) struct PieceLowering<'a> {
    pub(super) piece: &'a Piece,
    pub(super) words: &'static PieceWords,
    pub(super) options: &'a Options,
    pub(super) settings: &'a Settings,
    pub(super) providers: ProviderResolver<'a>,
    pub(super) reviewers: &'a PieceReviewers,
    /// File of the piece, if its programs need trust.
    pub(super) definition: Option<&'a str>,
    pub(super) stages: IndexMap<StageId, Stage>,
    pub(super) spots: Spots,
    /// Number of judges per name.
    judges: HashMap<String, u32>,
    pub(super) added_tokens: Vec<(StageId, TurnId, u64)>,
}

impl<'a> PieceLowering<'a> {
    pub(super) fn new(
        piece: &'a Piece,
        reviewers: &'a PieceReviewers,
        options: &'a Options,
        settings: &'a Settings,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        Self {
            piece,
            words: PieceWords::of(reviewers.language),
            options,
            settings,
            providers: ProviderResolver::new(options, settings, diagnostics),
            reviewers,
            definition: None,
            stages: IndexMap::new(),
            spots: Spots::default(),
            judges: HashMap::new(),
            added_tokens: Vec::new(),
        }
    }

    /// Builds the workflow. After errors it serves only to find more of them.
    pub(super) fn workflow(&mut self, diagnostics: &mut Diagnostics) -> Workflow {
        let piece = self.piece;
        let plans = plan_turns(&piece.movements, self.settings, &mut self.providers, diagnostics);
        for (movement, plans) in piece.movements.iter().zip(plans) {
            self.movement(movement, plans, diagnostics);
        }
        let mut monitors = Vec::new();
        let mut judges = Vec::new();
        for monitor in &piece.monitors {
            let judge = self.judge_stage(monitor, diagnostics);
            match &monitor.detectors {
                Some(kinds) => judges.push((monitor, StallJudge { kinds: kinds.clone(), stage: judge })),
                None => monitors.push(self.monitor(monitor, judge)),
            }
        }
        let first = piece.movements.first().map(|movement| &movement.name);
        let entry = piece.initial.as_ref().or(first).map(|name| name.value.as_str()).unwrap_or_default();
        let limits = &self.settings.limits;
        let mut workflow = Workflow {
            name: piece.name.clone(),
            entry: entry.into(),
            stages: std::mem::take(&mut self.stages),
            topics: None,
            monitors,
            breakers: Vec::new(),
            completion: Completion::Flow,
            groups: (piece.groups.iter())
                .map(|group| group.iter().map(|name| name.as_str().into()).collect())
                .collect(),
            limits: Limits {
                silence: None,
                rounds: Some(self.options.max_iterations.unwrap_or(piece.max_iterations)),
                hard_rounds: None,
                runtime: self.options.run_timeout.or(limits.run_timeout),
                budget: self.settings.budget.replaced_by(&self.options.budget),
            },
            retry: self.settings.retry(),
            afterwards: None,
            provider: None,
            log: None,
            issue: None,
            words: IndexMap::from([
                ("report-missing".to_owned(), self.words.report_missing.to_owned()),
                // The word for a stage in messages, which are always English.
                ("stage".to_owned(), "movement".to_owned()),
            ]),
        };
        add_breakers(&mut workflow, &piece.progress, self.reviewers.language);
        for (monitor, judge) in judges {
            add_stall_judge(&mut workflow, monitor, judge, diagnostics);
        }
        workflow
    }

    fn movement(&mut self, movement: &Movement, plans: Vec<TurnPlan>, diagnostics: &mut Diagnostics) {
        let id = StageId::from(movement.name.value.as_str());
        if self.stages.contains_key(&id) {
            return;
        }
        self.spots.put(Spot::Stage(id.clone()), &movement.name.at);
        self.spots.put_sound(&id, movement.sound);
        let parallel = matches!(movement.work, MovementWork::Parallel(_));
        let mut plans = plans.into_iter();
        let mut turns = Vec::new();
        for part in movement.parts() {
            let heading = if parallel { format!("## {}\n", part.name.value) } else { String::new() };
            let spot = Spot::Turn(id.clone(), part.name.value.as_str().into());
            let turn = match &part.work {
                MovementWork::One(assignment) => {
                    let place = assignment.template.as_ref().map_or(&part.name.at, |template| &template.at);
                    self.spots.put(spot, place);
                    let plan = plans.next().expect("every agent of a movement has a plan");
                    match self.reviewers.of(assignment, self.settings) {
                        Some(reviewer) => self.review(&id, part, reviewer, plan),
                        None => self.turn(&id, part, assignment, plan, diagnostics),
                    }
                }
                MovementWork::Program(assignment) => {
                    self.spots.put(spot, &assignment.line.at);
                    self.program(part, assignment)
                }
                // A sub-movement with sub-movements is refused.
                MovementWork::Parallel(_) | MovementWork::Call(_) => continue,
            };
            let mut turn = Turn { heading, ..turn };
            turn.reads.failed = exit::failure_label(movement, &turn.reads);
            turns.push(turn);
        }
        let does = Activity::Turns {
            turns,
            at_once: self.settings.limits.concurrency,
            on_failure: OnFailure::Park,
            between: if parallel { BETWEEN.to_owned() } else { String::new() },
        };
        let description = movement.description.clone();
        self.stages.insert(id.clone(), Stage { description, ..stage(&movement.name.value, does) });
        // The exit may insert stages. They come after the stage they belong to.
        let exit = exit::of_movement(self, movement, diagnostics);
        if let Some(stage) = self.stages.get_mut(&id) {
            stage.exit = exit;
        }
    }

    fn turn(
        &mut self,
        stage: &StageId,
        movement: &Movement,
        assignment: &TurnAssignment,
        plan: TurnPlan,
        diagnostics: &mut Diagnostics,
    ) -> Turn {
        let name = movement.name.value.as_str();
        let offered = exit::offered(&movement.rules, self.options);
        let provider = &plan.answerer.provider;
        let verdict = VerdictChannels::of(movement.verdict, provider, &offered, self.settings);
        verdict.check(movement, provider, diagnostics);
        let speech = PiecePrompt {
            words: self.words,
            piece: &self.piece.name,
            movement: name,
            persona: assignment.persona.as_deref(),
            knowledge: &assignment.knowledge,
            policy: &assignment.policy,
            rules_of_all: assignment.rules_of_all.as_deref(),
            quality_gates: &assignment.quality_gates,
            command_gates: &assignment.command_gates,
            names_report_directory: self.piece.names_report_directory,
            forbids_edits: assignment.forbids_edits,
            template: assignment.template.as_ref().map(|template| &template.value),
            pass_previous: assignment.pass_previous,
            reports: &assignment.reports,
            offered: &offered,
            verdict,
        };
        self.added_tokens.push((stage.clone(), name.into(), speech.added_tokens()));
        let ceiling =
            self.options.max_permission.or(self.settings.max_permission).unwrap_or(Permission::Full);
        let permission = assignment.permission.at_most(ceiling);
        Turn {
            description: movement.description.clone(),
            role: Some(assignment.role.clone()),
            permission,
            asked_permission: (permission != assignment.permission).then_some(assignment.permission),
            sandbox_required: movement.sandbox_required,
            tools: (assignment.tools.clone())
                .or_else(|| assignment.provider_tools.of(plan.answerer.provider.as_str()))
                .or_else(|| plan.answerer.tools.clone()),
            session: plan.session,
            reads: Reads {
                // Rules over findings remain here only if the review agent is unknown, which is already
                // reported.
                choice: exit::choice(self.words, &offered, verdict, self.settings)
                    .or_else(|| exit::choice_by_findings(&movement.rules, self.options)),
                reports: assignment.reports.iter().map(report).collect(),
                proofs: (assignment.command_gates.iter())
                    .map(|gate| gate.proof(movement, self.options, self.definition))
                    .collect(),
                ..Reads::default()
            },
            ..self.bare_turn(name, &speech, plan.answerer)
        }
    }

    /// P-61: builds the turn of a review agent.
    fn review(
        &mut self,
        stage: &StageId,
        movement: &Movement,
        reviewer: Reviewer<'_>,
        plan: TurnPlan,
    ) -> Turn {
        let name = movement.name.value.as_str();
        let provider = plan.answerer.provider.clone();
        self.added_tokens.push((stage.clone(), name.into(), reviewer.added_tokens(&provider)));
        let reads =
            Reads { choice: exit::choice_by_findings(&movement.rules, self.options), ..Reads::default() };
        let description = movement.description.clone();
        let bare = self.silent_turn(name, plan.answerer);
        let (turn, missing) = reviewer.turn(Turn { description, reads, session: plan.session, ..bare });
        if !missing.is_empty() {
            let missing = list_of(missing.iter().copied(), "and");
            let note = format!(
                "`{name}` reviews without {missing}: `{provider}` does not offer them to read-only turns"
            );
            self.providers.notes.push(note);
        }
        turn
    }

    /// P-51, P-52: builds the judge of a cycle as a stage outside the normal flow.
    fn judge_stage(&mut self, monitor: &LoopMonitor, diagnostics: &mut Diagnostics) -> StageId {
        let judge = &monitor.judge;
        let cycle: Vec<&str> = monitor.title.iter().map(String::as_str).collect();
        let name = monitor.name();
        let id = self.unused_id(&name);
        let at = &monitor.at;
        let (provider, model) = (judge.provider.as_ref(), judge.model.as_deref());
        let answerer = self.providers.resolve(&name, at, provider, model, diagnostics);
        let place = judge.template.as_ref().map_or(at, |template| &template.at);
        self.spots.put(Spot::Turn(id.clone(), name.as_str().into()), place);
        let usual = prompt::judge_template(self.words, &cycle);
        let offered = exit::offered(&judge.rules, self.options);
        let verdict = VerdictChannels::of(None, &answerer.provider, &offered, self.settings);
        let speech = PiecePrompt {
            words: self.words,
            piece: &self.piece.name,
            movement: &name,
            persona: judge.persona.as_deref(),
            knowledge: &[],
            policy: &[],
            rules_of_all: None,
            quality_gates: &[],
            command_gates: &[],
            names_report_directory: self.piece.names_report_directory,
            forbids_edits: false,
            template: Some(judge.template.as_ref().map_or(&usual, |template| &template.value)),
            pass_previous: true,
            reports: &[],
            offered: &offered,
            verdict,
        };
        self.added_tokens.push((id.clone(), name.as_str().into(), speech.added_tokens()));
        let choice = exit::choice(self.words, &offered, verdict, self.settings);
        let reads = Reads { choice, ..Reads::default() };
        let turn = Turn { reads, ..self.bare_turn(&name, &speech, answerer) };
        let does = Activity::Turns {
            turns: vec![turn],
            at_once: None,
            on_failure: OnFailure::Park,
            between: String::new(),
        };
        let exit = exit::of_judge(&judge.rules);
        self.stages.insert(id.clone(), Stage { exit, aside: true, ..stage(&name, does) });
        id
    }

    /// P-51: builds the monitor of a cycle that counts its repetitions.
    fn monitor(&self, monitor: &LoopMonitor, judge: StageId) -> Monitor {
        Monitor {
            watches: Watch::Cycle {
                stages: monitor.cycle.iter().map(|name| name.value.as_str().into()).collect(),
                times: monitor.threshold,
                returning: self.piece.newer,
                passed: PassedStages {
                    ignored: monitor.ignored.iter().map(|name| name.value.as_str().into()).collect(),
                    groups: (monitor.groups.iter())
                        .map(|group| group.iter().map(|name| name.as_str().into()).collect())
                        .collect(),
                },
            },
            then: Alarm::Go(Target::Stage(judge)),
        }
    }

    /// Builds a read-only turn in a new session. Nothing is extracted from its reply.
    fn bare_turn(&self, name: &str, speech: &PiecePrompt<'_>, answerer: ResolvedProvider) -> Turn {
        // The prompt already starts with the persona, so it replaces the system prompt.
        let persona = answerer.system_prompt.clone().filter(|_| speech.persona.is_none()).map(Text::from);
        Turn { persona, prompt: speech.prompt(), ..self.silent_turn(name, answerer) }
    }

    /// Builds the same turn with an empty prompt.
    fn silent_turn(&self, name: &str, answerer: ResolvedProvider) -> Turn {
        Turn {
            id: TurnId::from(name),
            // P-13: title for every display of the turn.
            title: format!("{name} - {}", self.piece.name),
            description: None,
            persona: None,
            role: None,
            prompt: Prompt::default(),
            provider: answerer.provider,
            program: None,
            model: answerer.model,
            permission: Permission::ReadOnly,
            asked_permission: None,
            sandbox_required: false,
            tools: answerer.tools,
            session: SessionPolicy::Fresh,
            timeout: answerer.timeout,
            within: None,
            max_calls: None,
            price: answerer.price,
            needs: Vec::new(),
            heading: String::new(),
            reads: Reads::default(),
        }
    }

    /// Returns an unused stage id. Two monitors may watch the same cycle and need different ids.
    fn unused_id(&mut self, name: &str) -> StageId {
        let judges = self.judges.entry(name.to_owned()).or_default();
        loop {
            *judges += 1;
            let id = if *judges == 1 { name.to_owned() } else { format!("{name} {judges}") };
            if !self.stages.contains_key(id.as_str()) {
                return StageId::from(id);
            }
        }
    }
}

/// Lets a judge decide about a stalled cycle.
fn add_stall_judge(
    workflow: &mut Workflow,
    monitor: &LoopMonitor,
    judge: StallJudge,
    diagnostics: &mut Diagnostics,
) {
    let watches = |breaker: &&mut Breaker| {
        monitor.cycle.iter().all(|name| breaker.stages.iter().any(|stage| stage.as_str() == name.value))
    };
    match workflow.breakers.iter_mut().find(watches) {
        Some(breaker) => breaker.judges.push(judge),
        None => {
            let message = "`condition` has no effect: no breaker watches this cycle";
            let hint = "a cycle with a movement that may edit and one that may not has one, unless `progress` is `off`";
            diagnostics.push(monitor.at.error("no-effect", message).hint(hint));
        }
    }
}

/// Builds a stage whose exit fails the run until it is replaced.
pub(super) fn stage(title: &str, does: Activity) -> Stage {
    Stage {
        title: title.to_owned(),
        does,
        exit: Exit::Rules { rules: Vec::new(), question: None, otherwise: exit::no_match() },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

pub(super) fn report(contract: &super::assignment::ReportContract) -> Report {
    Report { file: contract.file.clone(), label: contract.label.clone(), heading: contract.heading() }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnPlan {
    pub(super) answerer: ResolvedProvider,
    pub(super) session: SessionPolicy,
}

/// A turn without its session policy.
struct TurnDraft<'a> {
    movement: &'a Movement,
    assignment: &'a TurnAssignment,
    answerer: ResolvedProvider,
    continues: bool,
    key: SessionKey,
}

/// Plans every turn, by movement and turn.
pub(super) fn plan_turns(
    movements: &[Movement],
    settings: &Settings,
    providers: &mut ProviderResolver<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Vec<TurnPlan>> {
    let mut drafts: Vec<Vec<TurnDraft<'_>>> = Vec::new();
    for movement in movements {
        let turns = movement.assignments().into_iter();
        drafts.push(turns.map(|(turn, work)| draft(turn, work, settings, providers, diagnostics)).collect());
    }
    let continued: HashSet<&SessionKey> =
        drafts.iter().flatten().filter(|draft| draft.continues).map(|draft| &draft.key).collect();
    let plans = drafts.iter().map(|siblings| {
        refuse_conflicts(siblings, diagnostics);
        let mut shared: HashMap<&SessionKey, usize> = HashMap::new();
        for turn in siblings {
            *shared.entry(&turn.key).or_default() += 1;
        }
        // If several siblings start a session with one key, none of them counts as the last.
        let kept = |turn: &TurnDraft<'_>| shared[&turn.key] == 1 && continued.contains(&turn.key);
        siblings.iter().map(|turn| settle(turn, kept(turn), diagnostics)).collect()
    });
    plans.collect()
}

fn draft<'a>(
    movement: &'a Movement,
    assignment: &'a TurnAssignment,
    settings: &Settings,
    providers: &mut ProviderResolver<'_>,
    diagnostics: &mut Diagnostics,
) -> TurnDraft<'a> {
    let name = &movement.name;
    let (provider, model) = (assignment.provider.as_ref(), assignment.model.as_deref());
    let answerer = providers.resolve(&name.value, &name.at, provider, model, diagnostics);
    let own = assignment.session_key.as_ref().map(|key| &key.value);
    let key = own.or(assignment.agent.as_ref()).unwrap_or(&name.value);
    TurnDraft {
        movement,
        assignment,
        continues: match assignment.session {
            // A review agent must see everything fresh.
            _ if assignment.reviewer.is_some() => false,
            Some(session) => session == SessionChoice::Continue,
            None => settings.default_session == SessionDefault::Continue,
        },
        // Only the provider that started a session can continue it.
        key: SessionKey::from(format!("{}:{key}", answerer.provider)),
        answerer,
    }
}

fn settle(turn: &TurnDraft<'_>, kept: bool, diagnostics: &mut Diagnostics) -> TurnPlan {
    let session = if turn.continues {
        SessionPolicy::Continue(turn.key.clone())
    } else if kept {
        SessionPolicy::Renew(turn.key.clone())
    } else {
        SessionPolicy::Fresh
    };
    if let (SessionPolicy::Fresh, Some(key)) = (&session, &turn.assignment.session_key) {
        let message = format!("the session key {} has no effect: nothing continues it", quoted(&key.value));
        diagnostics.push(key.warning("no-effect", message).hint("add `session: continue`"));
    }
    TurnPlan { answerer: turn.answerer.clone(), session }
}

/// Turns that run at the same time cannot continue the same session.
fn refuse_conflicts(siblings: &[TurnDraft<'_>], diagnostics: &mut Diagnostics) {
    let mut seen: HashMap<&SessionKey, &Movement> = HashMap::new();
    for turn in siblings.iter().filter(|turn| turn.continues) {
        let Some(first) = seen.insert(&turn.key, turn.movement) else { continue };
        let (one, other) = (quoted(&first.name.value), quoted(&turn.movement.name.value));
        let message = format!("{one} and {other} would continue one session at the same time");
        let diagnostic = turn.movement.name.error("session-conflict", message);
        let diagnostic = diagnostic.hint("give each its own `session_key`, or use `session: refresh`");
        diagnostics.push(diagnostic.also(&first.name.at, "continues the same session"));
    }
}

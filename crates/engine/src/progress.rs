//! Progress of a cycle: what each round leaves behind, and the detectors of a cycle that makes none.
//!
//! The engine keeps one window for each breaker. It starts with the first round in the cycle, and starts again when
//! the open findings shrink, when the run leaves the cycle, and after a hold. Detectors look only at facts of the
//! window: the files after an editing turn, the findings that reviewers name, the results of programs, and money.
//!
//! A smaller set of open findings counts as progress only if one of the closed findings was never closed before in
//! the cycle. So a finding that comes and goes cannot hide an oscillation, and a set that keeps shrinking is never
//! stopped.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{
    Breaker, By, CallId, Decision, Destination, Draft, Effect, Exit, FindingMark, Hold, Join, Permission,
    RoundPosition, RuleCondition, Splice, Stage, StageId, StallConsequence, StallEvidence, StallKind,
    StallSignal, Target, Text, TreeFact, Usd, ValueForm, Workflow,
};
use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::verdict::Ruling;

/// Rounds of a stage that a window remembers.
const REMEMBERED: usize = Breaker::MOST as usize + 2;
/// Closed findings that a window remembers. More of them no longer count as new.
const CLOSED: usize = 2_000;

/// The window of a breaker.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleProgress {
    /// Iteration of the last progress.
    pub since: u32,
    /// Money spent until then.
    pub spent: Usd,
    pub trails: BTreeMap<StageId, StageTrail>,
    /// Fingerprints of findings that were closed once in this cycle.
    pub closed: BTreeSet<String>,
    /// True once the agents were told.
    pub nudged: bool,
    /// Evidence that the next editing prompt shows.
    pub due: Option<StallEvidence>,
}

/// Facts of the last rounds of a stage. Rounds are iterations of the run.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTrail {
    pub trees: Vec<(u32, String)>,
    /// Open findings, and the failed programs with a hash of their output.
    pub reviews: Vec<StageReview>,
    /// Number of last reviews that added findings without a smaller total.
    pub grown: u32,
}

/// The outcome of a round of a reviewing stage.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReview {
    pub round: u32,
    pub findings: Vec<FindingMark>,
    pub failures: Vec<String>,
}

/// Facts of one round.
struct RoundFacts {
    iteration: u32,
    tree: Option<String>,
    findings: Option<Vec<FindingMark>>,
    failures: Option<Vec<String>>,
}

impl CycleProgress {
    fn new(iteration: u32, spent: Usd) -> Self {
        Self { since: iteration, spent, ..Self::default() }
    }

    /// Returns the open findings of all stages, by fingerprint.
    fn open(&self) -> BTreeSet<&str> {
        let last = self.trails.values().filter_map(|trail| trail.reviews.last());
        last.flat_map(|review| &review.findings).map(|finding| finding.fingerprint.as_str()).collect()
    }

    fn knows_findings(&self) -> bool {
        self.trails.values().any(|trail| !trail.reviews.is_empty())
    }

    /// Adds a round of a stage.
    fn add(&mut self, stage: &StageId, facts: &RoundFacts, spent: Usd) {
        let before: BTreeSet<String> = self.open().into_iter().map(str::to_owned).collect();
        let had_findings = self.knows_findings();
        let trail = self.trails.entry(stage.clone()).or_default();
        let mut is_new_tree = false;
        if let Some(tree) = &facts.tree {
            is_new_tree = !trail.trees.iter().any(|(_, seen)| seen == tree);
            push(&mut trail.trees, (facts.iteration, tree.clone()));
        }
        if facts.findings.is_some() || facts.failures.is_some() {
            let review = StageReview {
                round: facts.iteration,
                findings: facts.findings.clone().unwrap_or_default(),
                failures: facts.failures.clone().unwrap_or_default(),
            };
            let grows = trail.reviews.last().is_some_and(|last| adds_findings(last, &review));
            trail.grown = if grows { trail.grown.saturating_add(1) } else { 0 };
            push(&mut trail.reviews, review);
        }
        let after: BTreeSet<String> = self.open().into_iter().map(str::to_owned).collect();
        let mut gone = before.difference(&after);
        let shrinks = after.len() < before.len() && gone.any(|finding| !self.closed.contains(finding));
        for finding in before.difference(&after) {
            if self.closed.len() < CLOSED {
                self.closed.insert(finding.clone());
            }
        }
        if shrinks {
            self.restart(facts.iteration, spent);
        } else if is_new_tree && !had_findings {
            // Nothing else says that the work goes on.
            (self.since, self.spent) = (facts.iteration, spent);
        }
    }

    /// Starts the window again after progress. Only the last state of each stage stays.
    fn restart(&mut self, iteration: u32, spent: Usd) {
        (self.since, self.spent) = (iteration, spent);
        (self.nudged, self.due) = (false, None);
        for trail in self.trails.values_mut() {
            trail.grown = 0;
            trail.trees.drain(..trail.trees.len().saturating_sub(1));
            trail.reviews.drain(..trail.reviews.len().saturating_sub(1));
        }
    }

    /// Returns the detectors that fire after a round of this stage.
    fn signals(
        &self,
        breaker: &Breaker,
        stage: &StageId,
        facts: &RoundFacts,
        money: Money,
    ) -> Vec<StallSignal> {
        let mut signals = Vec::new();
        let Some(trail) = self.trails.get(stage) else { return signals };
        if facts.tree.is_some() {
            signals.extend(breaker.still.and_then(|times| trail.still(stage, times)));
            signals.extend(breaker.back.and_then(|period| trail.back(stage, period)));
        }
        if facts.findings.is_some() || facts.failures.is_some() {
            signals.extend(breaker.same.and_then(|times| trail.same(stage, times)));
            signals.extend(breaker.grow.and_then(|times| trail.grow(stage, times)));
        }
        signals.extend(breaker.spend.and_then(|share| money.spend(self.spent, share)));
        signals
    }
}

fn push<T>(list: &mut Vec<T>, one: T) {
    list.push(one);
    let surplus = list.len().saturating_sub(REMEMBERED);
    list.drain(..surplus);
}

fn adds_findings(before: &StageReview, after: &StageReview) -> bool {
    let is_new =
        |finding: &FindingMark| !before.findings.iter().any(|known| known.fingerprint == finding.fingerprint);
    after.findings.len() >= before.findings.len() && after.findings.iter().any(is_new)
}

impl StageTrail {
    /// The stage left the files as they were `times` times in a row.
    fn still(&self, stage: &StageId, times: u32) -> Option<StallSignal> {
        let (_, tree) = self.trees.last()?;
        let equal: Vec<u32> =
            self.trees.iter().rev().take_while(|(_, seen)| seen == tree).map(|(round, _)| *round).collect();
        let rounds = equal.into_iter().rev().collect::<Vec<_>>();
        (rounds.len() > times as usize).then(|| StallSignal::Still {
            stage: stage.clone(),
            tree: tree.clone(),
            rounds,
        })
    }

    /// The files have just become what they were before, at most `period` changes ago.
    fn back(&self, stage: &StageId, period: u32) -> Option<StallSignal> {
        let mut changes: Vec<&(u32, String)> = Vec::new();
        for entry in &self.trees {
            match changes.last_mut() {
                Some(last) if last.1 == entry.1 => *last = entry,
                Some(_) | None => changes.push(entry),
            }
        }
        let ((_, tree), earlier) = changes.split_last()?;
        let [.., (_, before)] = self.trees.as_slice() else { return None };
        let has_just_changed = self.trees.iter().rev().nth(1).is_some_and(|(_, seen)| seen != before);
        let comes_back = earlier.iter().rev().take(period as usize).any(|(_, seen)| seen == tree);
        let rounds = self.trees.iter().filter(|(_, seen)| seen == tree).map(|(round, _)| *round).collect();
        (has_just_changed && comes_back).then(|| StallSignal::Back {
            stage: stage.clone(),
            tree: tree.clone(),
            rounds,
        })
    }

    /// The last `times` reviews say the same. Reviews without findings and failures do not count.
    fn same(&self, stage: &StageId, times: u32) -> Option<StallSignal> {
        let last = self.reviews.last()?;
        if last.findings.is_empty() && last.failures.is_empty() {
            return None;
        }
        let is_same = |review: &&StageReview| {
            prints(&review.findings) == prints(&last.findings) && review.failures == last.failures
        };
        let rounds: Vec<u32> =
            self.reviews.iter().rev().take_while(is_same).map(|review| review.round).collect();
        let rounds: Vec<u32> = rounds.into_iter().rev().collect();
        let findings = last.findings.iter().take(SHOWN).cloned().collect();
        (rounds.len() >= times as usize).then(|| StallSignal::Same { stage: stage.clone(), findings, rounds })
    }

    fn grow(&self, stage: &StageId, times: u32) -> Option<StallSignal> {
        if self.grown < times {
            return None;
        }
        let first = self.reviews.len().saturating_sub(self.grown as usize + 1);
        let reviews = self.reviews.get(first..).unwrap_or_default();
        let open = reviews.iter().map(|review| u32::try_from(review.findings.len()).unwrap_or(u32::MAX));
        let rounds = reviews.iter().map(|review| review.round);
        Some(StallSignal::Grow { stage: stage.clone(), open: open.collect(), rounds: rounds.collect() })
    }
}

/// Findings that the evidence names.
const SHOWN: usize = 10;

fn prints(findings: &[FindingMark]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding.fingerprint.as_str()).collect()
}

/// Money of the run, for the share since the last progress.
#[derive(Clone, Copy)]
struct Money {
    spent: Usd,
    budget: Option<Usd>,
}

impl Money {
    fn spend(self, before: Usd, share: u32) -> Option<StallSignal> {
        let budget = self.budget.filter(|budget| budget.0 > 0)?;
        let percent = self.spent.0.saturating_sub(before.0).saturating_mul(100) / budget.0;
        let percent = u32::try_from(percent).unwrap_or(u32::MAX);
        (percent >= share).then_some(StallSignal::Spend { percent })
    }
}

/// The window of a cycle after the current round, before anything is committed.
pub(crate) struct CycleAfterRound {
    index: usize,
    progress: CycleProgress,
    pub(crate) signals: Vec<StallSignal>,
}

impl Run {
    /// Returns the windows of breakers, by their index in the workflow.
    pub fn progress(&self) -> &BTreeMap<usize, CycleProgress> {
        &self.progress
    }

    /// Adds the current round to a copy of its cycle's window.
    pub(crate) fn cycle_after_round(&self, workflow: &Workflow, stage: &Stage) -> Option<CycleAfterRound> {
        let visit = self.visit.as_ref().filter(|_| !self.delivering && !stage.turns().is_empty())?;
        let (index, breaker) = workflow.breaker_of(&visit.stage)?;
        let facts = self.round_facts(stage);
        let money = Money { spent: self.ledger.spent.usd, budget: self.limits.budget.usd };
        let mut progress = match self.progress.get(&index) {
            Some(progress) => progress.clone(),
            None => CycleProgress::new(facts.iteration, money.spent),
        };
        progress.add(&visit.stage, &facts, money.spent);
        let signals = progress.signals(breaker, &visit.stage, &facts, money);
        Some(CycleAfterRound { index, progress, signals })
    }

    fn round_facts(&self, stage: &Stage) -> RoundFacts {
        let mut facts =
            RoundFacts { iteration: self.counts.iteration, tree: None, findings: None, failures: None };
        for (index, turn) in stage.turns().iter().enumerate() {
            let Some(done) = self.round().done(RoundPosition::Main(index)) else { continue };
            if let Some(TreeFact::Seen(state)) = &done.tree {
                facts.tree = Some(state.id.clone());
            }
            if let Some(marks) = saihai_judge::finding_marks(turn, &done.reading) {
                let open = marks.into_iter().filter(|mark| !mark.waived);
                facts.findings.get_or_insert_default().extend(open);
            }
            if let Some(exit) = done.reading.exit {
                let failures = facts.failures.get_or_insert_default();
                if !exit.is_success() {
                    failures.push(format!("{} {exit} {}", turn.id, done.reading.digest));
                }
            }
        }
        if let Some(findings) = &mut facts.findings {
            findings.sort();
            findings.dedup_by(|one, other| one.fingerprint == other.fingerprint);
            findings.truncate(FindingMark::MOST);
        }
        facts
    }

    /// Commits the round to the window of its cycle. If a detector fires and the run stays in the cycle, the agents are
    /// told once; then the run is held.
    pub(crate) fn note_progress(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        to: &Destination,
        is_routed: bool,
        out: &mut Vec<Effect>,
    ) {
        let Some(here) = self.visit.as_ref().map(|visit| visit.stage.clone()) else { return };
        if !stage.aside {
            self.progress.retain(|index, _| {
                workflow.breakers.get(*index).is_some_and(|breaker| breaker.stages.contains(&here))
            });
        }
        let Some(CycleAfterRound { index, mut progress, signals }) = self.cycle_after_round(workflow, stage)
        else {
            return;
        };
        let Some(breaker) = workflow.breakers.get(index) else { return };
        let stays = stays_in(workflow, breaker, to);
        if signals.is_empty() || !(stays || is_routed) {
            self.progress.insert(index, progress);
            return;
        }
        let spent = Usd(self.ledger.spent.usd.0.saturating_sub(progress.spent.0));
        let evidence =
            StallEvidence { stages: breaker.stages.clone(), signals, since: progress.since, spent };
        let then = match &mut progress.due {
            _ if is_routed => StallConsequence::Routed,
            // No prompt has shown the first evidence yet, so the agents had no chance to act on it.
            Some(due) => {
                merge(due, evidence);
                self.progress.insert(index, progress);
                return;
            }
            None if !progress.nudged => StallConsequence::Nudged,
            None => StallConsequence::Held,
        };
        out.push(Effect::Record(Decision::Stalled { evidence: evidence.clone(), then }));
        match then {
            StallConsequence::Nudged => {
                (progress.nudged, progress.due) = (true, Some(evidence));
                self.progress.insert(index, progress);
            }
            // A resume, or another way, starts with a new window.
            StallConsequence::Routed => {
                self.progress.remove(&index);
            }
            StallConsequence::Held => {
                self.progress.remove(&index);
                self.set_hold(Hold::NoProgress(Box::new(evidence)));
            }
        }
    }

    /// Returns the ruling of the first rule about a stalled cycle, or of its judge, if the run would stay in the cycle.
    pub(crate) fn routed_by_stall(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        ruling: &Ruling,
    ) -> Option<Ruling> {
        let (_, breaker) = workflow.breaker_of(&self.visit.as_ref()?.stage)?;
        let rules = match &stage.exit {
            Exit::Rules { rules, .. } => rules.as_slice(),
            Exit::Topics { .. } => &[],
        };
        if breaker.judges.is_empty() && !rules.iter().any(|rule| detectors(&rule.when).is_some()) {
            return None;
        }
        let signals = self.cycle_after_round(workflow, stage)?.signals;
        let (to, _, _) = self.destination(workflow, stage, &ruling.target);
        if signals.is_empty() || !stays_in(workflow, breaker, &to) {
            return None;
        }
        let fires = |wanted: &[StallKind]| signals.iter().any(|signal| wanted.contains(&signal.kind()));
        let labels = ruling.labels.clone();
        let by_rule = rules.iter().position(|rule| detectors(&rule.when).is_some_and(fires));
        if let Some((index, rule)) = by_rule.and_then(|index| Some((index, rules.get(index)?))) {
            let by_rule = Ruling::new(By::Stalled, rule.then.clone());
            return Some(Ruling { labels, rule: Some(index), stalled: true, ..by_rule });
        }
        let judge = breaker.judges.iter().find(|judge| fires(&judge.kinds))?;
        self.carry.cycles = signals.iter().map(StallSignal::times).max().unwrap_or(1);
        let by_judge = Ruling::new(By::Stalled, Target::Stage(judge.stage.clone()));
        Some(Ruling { labels, stalled: true, ..by_judge })
    }

    /// Adds the evidence to the prompts of an editing turn, once.
    pub(crate) fn show_nudge(
        &mut self,
        workflow: &Workflow,
        call: &CallId,
        edits: Permission,
        draft: &mut Draft,
    ) {
        let Some((index, _)) = workflow.breaker_of(&call.stage).filter(|_| edits != Permission::ReadOnly)
        else {
            return;
        };
        let Some(visit) = &mut self.visit else { return };
        if let Some(due) = self.progress.get_mut(&index).and_then(|progress| progress.due.take()) {
            visit.round.nudge = Some(Box::new(due));
        }
        if let Some(evidence) = &visit.round.nudge {
            draft.sections.push(nudge(workflow, evidence, draft.join));
        }
    }
}

/// Returns the detectors that a condition names.
fn detectors(when: &RuleCondition) -> Option<&[StallKind]> {
    match when {
        RuleCondition::Stalled(kinds) => Some(kinds),
        RuleCondition::Always
        | RuleCondition::Is(_)
        | RuleCondition::Answered(_)
        | RuleCondition::All(_)
        | RuleCondition::Any(_) => None,
    }
}

/// Returns true if a destination stays in the cycle. A judge of a cycle is not part of the flow.
fn stays_in(workflow: &Workflow, breaker: &Breaker, to: &Destination) -> bool {
    match to {
        Destination::Again => true,
        Destination::Stage(id) => {
            breaker.stages.contains(id) || workflow.stage(id).is_some_and(|stage| stage.aside)
        }
        Destination::Complete | Destination::End(_) => false,
    }
}

/// Replaces each detector's evidence by its newest.
fn merge(due: &mut StallEvidence, newer: StallEvidence) {
    for signal in newer.signals {
        due.signals.retain(|known| known.kind() != signal.kind());
        due.signals.push(signal);
    }
    (due.since, due.spent) = (newer.since, newer.spent);
}

/// Builds the section in the workflow's words, where `{}` marks a value. Without a word, the code says it.
fn nudge(workflow: &Workflow, evidence: &StallEvidence, join: Join) -> Vec<Splice> {
    let word = |key: &str, values: &[String]| {
        let known = workflow
            .words
            .get(key)
            .map_or_else(|| format!("{key}: {}", vec!["{}"; values.len()].join(" ")), String::clone);
        values.iter().fold(known, |text, value| text.replacen("{}", value, 1))
    };
    let mut text = match join {
        Join::AsIs => "\n\n".to_owned(),
        Join::Paragraphs => String::new(),
    };
    text.push_str(&word("nudge", &[]));
    text.push_str("\n\n");
    for signal in &evidence.signals {
        let line = match signal {
            StallSignal::Still { stage, rounds, .. } => {
                word("nudge-still", &[stage.to_string(), listed(rounds)])
            }
            StallSignal::Back { stage, rounds, .. } => {
                word("nudge-back", &[stage.to_string(), listed(rounds)])
            }
            StallSignal::Same { rounds, .. } => word("nudge-same", &[listed(rounds)]),
            StallSignal::Grow { rounds, open, .. } => word("nudge-grow", &[listed(rounds), listed(open)]),
            StallSignal::Spend { percent } => word("nudge-spend", &[percent.to_string()]),
        };
        text.push_str(&format!("- {line}\n"));
        if let StallSignal::Same { findings, .. } = signal {
            for finding in findings {
                let file = finding.file.as_ref().map(|file| format!("{file}: ")).unwrap_or_default();
                text.push_str(&format!("  - {file}{}\n", finding.text));
            }
        }
    }
    text.push('\n');
    text.push_str(&word("nudge-advice", &[]));
    vec![Splice::Text(Text::Inline(text.into()), ValueForm::Plain)]
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

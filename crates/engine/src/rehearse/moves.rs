//! Moves of a stage: its exits, the replies that lead to each, and the expected destinations.

use saihai_judge::{RuleOutcome, TurnLabels};
use saihai_model::{
    Activity, Again, AnswerForm, By, Choice, Completion, Exit, ExitRule, Gate, GateMode, InvalidOutputPolicy,
    Keyword, Label, Method, Reads, RefutedProofPolicy, RuleCondition, Stage, StageId, Target, Topic, Turn,
    Wants, Workflow,
};

use crate::rehearse::replies;
use crate::rehearse::routes::{ExitMove, ExitPath, MoveTarget, PlannedDirective, PlannedReply};

#[derive(Debug, Default)]
pub(crate) struct PossibleMoves {
    pub(crate) moves: Vec<ExitMove>,
    /// Exits for which no reply was found.
    pub(crate) dead: Vec<ExitPath>,
}

impl PossibleMoves {
    pub(crate) fn of(workflow: &Workflow, id: &StageId, stage: &Stage) -> Self {
        let here = StageMoves { workflow, id, stage };
        let mut offered = Self::default();
        match &stage.exit {
            Exit::Rules { rules, question, otherwise } => {
                here.by_rules(rules, question.as_ref(), otherwise, &mut offered);
            }
            Exit::Topics { silent, default } => here.by_topics(silent, default.as_ref(), &mut offered),
        }
        here.by_wrong_output(&mut offered);
        here.by_refutation(&mut offered);
        here.by_completion(&mut offered);
        offered
    }
}

/// A stage in its workflow.
#[derive(Clone, Copy)]
struct StageMoves<'a> {
    workflow: &'a Workflow,
    id: &'a StageId,
    stage: &'a Stage,
}

impl StageMoves<'_> {
    fn by_rules(
        self,
        rules: &[ExitRule],
        question: Option<&Choice>,
        otherwise: &Target,
        offered: &mut PossibleMoves,
    ) {
        let sayable =
            OfferedLabels { turns: self.sayable(rules), answers: question.map(answers).unwrap_or_default() };
        for (index, rule) in rules.iter().enumerate() {
            // A rule that is not offered in this run is not an exit, and a rehearsal does not stall.
            if matches!(&rule.when, RuleCondition::Any(labels) if labels.is_empty())
                || matches!(&rule.when, RuleCondition::Stalled(_))
            {
                continue;
            }
            match satisfy(rules, &sayable, WantedRule::Rule(index)) {
                Some(said) => self.by_rule(index, &rule.then, said, offered),
                None if self.answers_itself() => {}
                None => offered.dead.push(ExitPath::Rule(index)),
            }
        }
        if let Some(said) = satisfy(rules, &sayable, WantedRule::NoMatch) {
            let to = self.leads(otherwise);
            offered.moves.push(self.plain(ExitPath::NoMatch, saying(said), to));
        }
    }

    fn by_rule(self, index: usize, then: &Target, said: LabelAssignment, offered: &mut PossibleMoves) {
        let saying = saying(said);
        match then {
            Target::Again(again) => {
                let names = (ExitPath::Rule(index), ExitPath::Spent(index));
                self.by_again(again, names, saying, offered);
            }
            Target::NamedBy { pointer } => {
                let stages = self.workflow.stages.keys();
                offered.moves.extend(stages.map(|stage| {
                    let named = Some((pointer.clone(), stage.clone()));
                    let saying = PlannedReply { named, ..saying.clone() };
                    self.plain(ExitPath::Rule(index), saying, MoveTarget::Stage(stage.clone()))
                }));
            }
            // The completion chooses the stage, and one move is enough to continue.
            Target::ByPhase { .. } => {
                offered.moves.push(self.plain(
                    ExitPath::Rule(index),
                    saying,
                    MoveTarget::Stage(self.id.clone()),
                ));
            }
            Target::Stage(_) | Target::Complete | Target::End(_) => {
                offered.moves.push(self.plain(ExitPath::Rule(index), saying, self.leads(then)));
            }
        }
    }

    /// Adds the repeats that "again" allows, and then its follow-up.
    fn by_again(
        self,
        again: &Again,
        (once, spent): (ExitPath, ExitPath),
        saying: PlannedReply,
        offered: &mut PossibleMoves,
    ) {
        let most = again.at_most.map(|most| most.saturating_add(1));
        let (rounds, after) = match (most, self.stage.rounds.max) {
            (Some(most), Some(max)) if max < most => (Some(max), &self.stage.rounds.too_many),
            (None, Some(max)) => (Some(max), &self.stage.rounds.too_many),
            (Some(most), _) => (Some(most), &again.exhausted),
            (None, None) => (None, &again.exhausted),
        };
        if rounds.is_none_or(|rounds| rounds > 1) {
            offered.moves.push(self.plain(once, saying.clone(), MoveTarget::Stage(self.id.clone())));
        }
        if let Some(rounds) = rounds {
            let to = self.leads(after);
            offered.moves.push(ExitMove { rounds, persists: true, ..self.plain(spent, saying, to) });
        }
    }

    fn by_topics(self, silent: &Again, default: Option<&Topic>, offered: &mut PossibleMoves) {
        let directives = self.stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
        let words = directives.map_or(&[][..], |directives| directives.words.as_slice());
        let topics = directives.map(|directives| directives.declared.as_ref().unwrap_or(&directives.known));
        let topics = topics.into_iter().flatten();
        for topic in topics.filter(|topic| words.iter().all(|word| word.word != topic.as_str())) {
            let saying = directed(PlannedDirective::Event(topic.clone()));
            offered.moves.push(self.plain(ExitPath::Topic(topic.clone()), saying, self.route(topic)));
        }
        for word in words {
            let saying = directed(PlannedDirective::Word(word.word.clone(), word.requires.clone()));
            offered.moves.push(self.plain(ExitPath::Word(word.word.clone()), saying, self.leads(&word.then)));
        }
        let quiet = PlannedReply { labels: vec![None], ..PlannedReply::default() };
        match default {
            Some(topic) => {
                let again = MoveTarget::Stage(self.id.clone());
                offered.moves.push(self.plain(ExitPath::Silent, quiet.clone(), again));
                let closing = words.iter().find(|word| word.word == topic.as_str());
                let to = closing.map_or_else(|| self.route(topic), |word| self.leads(&word.then));
                let spent = self.plain(ExitPath::Default(topic.clone()), quiet, to);
                offered.moves.push(ExitMove { rounds: 2, persists: true, ..spent });
            }
            None => self.by_again(silent, (ExitPath::Silent, ExitPath::SilentSpent), quiet, offered),
        }
    }

    fn by_wrong_output(self, offered: &mut PossibleMoves) {
        let wrong = self.stage.turns().iter().enumerate().find_map(|(index, turn)| {
            match &turn.reads.output.as_ref()?.still_wrong {
                InvalidOutputPolicy::Go(target) => Some((index, target)),
                InvalidOutputPolicy::KeepValidItems => None,
            }
        });
        if let Some((index, target)) = wrong {
            let labels = vec![None; self.stage.turns().len()];
            let saying = PlannedReply { labels, wrong: Some(index), ..PlannedReply::default() };
            let to = self.leads(target);
            offered.moves.push(ExitMove { rounds: 1, ..self.plain(ExitPath::WrongOutput, saying, to) });
        }
    }

    /// Adds correct replies whose proof fails.
    fn by_refutation(self, offered: &mut PossibleMoves) {
        for (index, proof) in self.stage.proofs().enumerate() {
            let says = |offer: &&ExitMove| {
                if proof.rules.is_empty() {
                    return offer.saying.labels.contains(&Some(proof.of.clone()));
                }
                matches!(&offer.way, ExitPath::Rule(rule) if proof.rules.contains(rule))
            };
            let Some(base) = offered.moves.iter().find(says) else { continue };
            let saying = PlannedReply { refutes: Some(index), ..base.saying.clone() };
            let (once, spent) =
                (ExitPath::Refuted(proof.name.clone()), ExitPath::RefutedSpent(proof.name.clone()));
            match &proof.refuted {
                RefutedProofPolicy::Go(target) => {
                    offered.moves.push(self.plain(once, saying, self.leads(target)))
                }
                RefutedProofPolicy::Again { at_most, exhausted } => {
                    let again = Again { note: None, at_most: Some(*at_most), exhausted: exhausted.clone() };
                    self.by_again(&again, (once, spent), saying, offered);
                }
                RefutedProofPolicy::Remarked => {}
            }
        }
    }

    /// Adds a move that says the words or signals of the completion, if it looks for any.
    fn by_completion(self, offered: &mut PossibleMoves) {
        let can = self.stage.turns().iter().any(|turn| can_close(&self.workflow.completion, &turn.reads));
        if self.stage.aside || !can {
            return;
        }
        let goes_on = |offer: &&ExitMove| offer.to != MoveTarget::End && !offer.persists;
        if let Some(base) = offered.moves.iter().find(goes_on).or(offered.moves.first()).cloned() {
            let saying = PlannedReply { closes: true, ..base.saying };
            offered.moves.push(ExitMove { saying, to: MoveTarget::Completion, counts: false, ..base });
        }
    }

    fn plain(self, way: ExitPath, saying: PlannedReply, to: MoveTarget) -> ExitMove {
        let rounds = match &self.stage.does {
            Activity::Turns { .. } => self.stage.rounds.min.max(1),
            Activity::Gate(_) | Activity::Action(_) => 0,
        };
        ExitMove { way, saying, to, rounds, persists: false, counts: true }
    }

    fn leads(self, target: &Target) -> MoveTarget {
        match target {
            Target::Stage(id) => MoveTarget::Stage(id.clone()),
            Target::Again(_) | Target::ByPhase { .. } => MoveTarget::Stage(self.id.clone()),
            Target::Complete if honours_flow(&self.workflow.completion) => MoveTarget::Completion,
            Target::Complete | Target::End(_) | Target::NamedBy { .. } => MoveTarget::End,
        }
    }

    fn route(self, topic: &Topic) -> MoveTarget {
        match &self.workflow.topics {
            Some(topics) => MoveTarget::Stage(saihai_judge::route(topics, topic).0.clone()),
            None => MoveTarget::End,
        }
    }

    /// Returns true for an automatic gate, which always says yes.
    fn answers_itself(self) -> bool {
        matches!(&self.stage.does, Activity::Gate(Gate { mode: GateMode::Auto, .. }))
    }

    fn sayable(self, rules: &[ExitRule]) -> Vec<Vec<Option<Label>>> {
        let said = |labels: &[&str]| vec![labels.iter().map(|label| Some(Label::from(*label))).collect()];
        match &self.stage.does {
            Activity::Turns { turns, .. } => turns.iter().map(of_turn).collect(),
            Activity::Gate(Gate {
                wants: Wants::YesNo, mode: GateMode::Person | GateMode::Insists, ..
            }) => said(&["yes", "no"]),
            Activity::Gate(Gate { wants: Wants::YesNo, mode: GateMode::Auto, .. }) => said(&["yes"]),
            Activity::Gate(Gate { wants: Wants::Text { .. }, .. }) => said(&["answered"]),
            Activity::Action(_) => {
                let mut labels: Vec<_> = rules.iter().flat_map(|rule| named(&rule.when)).map(Some).collect();
                labels.push(None);
                vec![labels]
            }
        }
    }
}

fn saying(said: LabelAssignment) -> PlannedReply {
    PlannedReply { labels: said.labels, answer: said.answer.flatten(), ..PlannedReply::default() }
}

fn directed(directive: PlannedDirective) -> PlannedReply {
    PlannedReply { labels: vec![None], directive: Some(directive), ..PlannedReply::default() }
}

/// Returns the labels in a condition.
fn named(when: &RuleCondition) -> Vec<Label> {
    match when {
        RuleCondition::Always | RuleCondition::Stalled(_) => Vec::new(),
        RuleCondition::Is(label) | RuleCondition::Answered(label) => vec![label.clone()],
        RuleCondition::All(labels) | RuleCondition::Any(labels) => labels.clone(),
    }
}

/// Returns the possible labels of a turn, none last. An unreadable reply counts as none.
fn of_turn(turn: &Turn) -> Vec<Option<Label>> {
    let labels = turn.reads.choice.as_ref().map_or_else(|| vec![None], answers);
    let said = labels.into_iter().filter(|label| replies::can_say(turn, label.as_ref()));
    said.chain(turn.reads.failed.clone().map(Some)).collect()
}

/// Returns the possible results of a choice, none last.
fn answers(choice: &Choice) -> Vec<Option<Label>> {
    let means = choice.question().and_then(|question| match &question.answer {
        AnswerForm::Form { means, .. } => Some(means),
        AnswerForm::Tag => None,
    });
    let written = |method: &Method| match method {
        Method::Tool
        | Method::Tag
        | Method::NonceTag
        | Method::Field(_)
        | Method::Findings(_)
        | Method::ExitCode(_)
        | Method::Only => true,
        Method::Ask(question) => question.answer == AnswerForm::Tag,
    };
    let by_number = choice.found_by.iter().any(written);
    let offers = choice.options.iter().map(|offer| &offer.label).filter(|_| by_number);
    let mut labels: Vec<_> = offers.cloned().map(Some).collect();
    for label in means.into_iter().flat_map(|means| means.values()) {
        if !labels.contains(&Some(label.clone())) {
            labels.push(Some(label.clone()));
        }
    }
    let always_says =
        choice.question().is_some_and(|question| question.unreadable.is_some()) && means.is_some();
    let always_says = always_says || choice.found_by.contains(&Method::Only);
    if !always_says {
        labels.push(None);
    }
    labels
}

fn honours_flow(completion: &Completion) -> bool {
    match completion {
        Completion::Flow => true,
        Completion::Any(parts) | Completion::First(parts) => parts.iter().any(honours_flow),
        Completion::All(parts) => parts.iter().all(honours_flow),
        Completion::Rounds(_)
        | Completion::Checks(_)
        | Completion::Keyword(_)
        | Completion::Signal { .. }
        | Completion::Phase(_)
        | Completion::Outside(_) => false,
    }
}

fn can_close(completion: &Completion, reads: &Reads) -> bool {
    match completion {
        Completion::Keyword(Keyword { word, .. }) => {
            reads.keywords.iter().any(|keyword| keyword.word == *word)
        }
        Completion::Signal { kind, .. } => {
            reads.blocks.as_ref().is_some_and(|blocks| blocks.uses.contains_key(kind))
        }
        Completion::Phase(phases) => reads
            .blocks
            .as_ref()
            .is_some_and(|blocks| phases.steps.iter().any(|step| blocks.uses.contains_key(&step.kind))),
        Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
            parts.iter().any(|part| can_close(part, reads))
        }
        Completion::Flow | Completion::Rounds(_) | Completion::Checks(_) | Completion::Outside(_) => false,
    }
}

/// Possible labels of a stage's turns, and possible answers to its exit's question.
#[derive(Debug, Clone)]
struct OfferedLabels {
    /// Labels of each turn; includes `None` if the turn can have no label.
    pub(crate) turns: Vec<Vec<Option<Label>>>,
    /// Answers to the exit's question; empty if there is none.
    pub(crate) answers: Vec<Option<Label>>,
}

/// Labels of the turns, and the answer to the exit's question if it will be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LabelAssignment {
    pub(crate) labels: Vec<Option<Label>>,
    pub(crate) answer: Option<Option<Label>>,
}

/// Result to find labels for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedRule {
    Rule(usize),
    NoMatch,
}

/// Maximum number of label combinations to try for one rule. Real workflows need a handful; a stage with dozens of
/// turns must not run forever.
const TRIES: usize = 20_000;

/// Returns the first combination that gives the wanted result.
fn satisfy(rules: &[ExitRule], sayable: &OfferedLabels, wanted: WantedRule) -> Option<LabelAssignment> {
    let mut tries = TRIES;
    for fixed in starts(rules, sayable, wanted) {
        for labels in Combinations::new(fixed) {
            if tries == 0 {
                return None;
            }
            tries -= 1;
            if let Some(said) = with_answer(rules, sayable, wanted, labels) {
                return Some(said);
            }
        }
    }
    None
}

fn with_answer(
    rules: &[ExitRule],
    sayable: &OfferedLabels,
    wanted: WantedRule,
    labels: Vec<Option<Label>>,
) -> Option<LabelAssignment> {
    let ruled = |answer| saihai_judge::rules(rules, TurnLabels { labels: &labels, by: By::Tag, answer });
    let is_wanted = |ruled| match (ruled, wanted) {
        (RuleOutcome::Rule(rule, _), WantedRule::Rule(index)) => rule == index,
        (RuleOutcome::NoMatch, WantedRule::NoMatch) => true,
        (RuleOutcome::Rule(..) | RuleOutcome::NoMatch | RuleOutcome::Ask, _) => false,
    };
    match ruled(None) {
        RuleOutcome::Ask => {
            let answer = sayable.answers.iter().find(|answer| is_wanted(ruled(Some(answer)))).cloned()?;
            Some(LabelAssignment { labels, answer: Some(answer) })
        }
        ruled @ (RuleOutcome::Rule(..) | RuleOutcome::NoMatch) => {
            is_wanted(ruled).then_some(LabelAssignment { labels, answer: None })
        }
    }
}

/// Returns the start points of the search: the labels in the rule itself, so that the search stays short.
fn starts(rules: &[ExitRule], sayable: &OfferedLabels, wanted: WantedRule) -> Vec<Vec<Vec<Option<Label>>>> {
    let turns = &sayable.turns;
    let WantedRule::Rule(index) = wanted else { return vec![none_first(turns)] };
    let Some(rule) = rules.get(index) else { return Vec::new() };
    let only = |turn: usize, label: &Label| -> Option<Vec<Option<Label>>> {
        let label = Some(label.clone());
        turns.get(turn)?.contains(&label).then(|| vec![label])
    };
    match &rule.when {
        RuleCondition::Is(_) if turns.len() != 1 => Vec::new(),
        RuleCondition::Is(label) => only(0, label).into_iter().map(|first| vec![first]).collect(),
        RuleCondition::All(labels) => {
            let of = |turn: usize| if labels.len() == 1 { labels.first() } else { labels.get(turn) };
            let all = (0..turns.len()).map(|turn| only(turn, of(turn)?));
            all.collect::<Option<Vec<_>>>().into_iter().collect()
        }
        RuleCondition::Any(labels) => {
            let pairs = (0..turns.len()).flat_map(|turn| labels.iter().map(move |label| (turn, label)));
            let fixed = pairs.filter_map(|(turn, label)| {
                let mut options = turns.clone();
                *options.get_mut(turn)? = only(turn, label)?;
                Some(options)
            });
            fixed.collect()
        }
        RuleCondition::Always | RuleCondition::Answered(_) | RuleCondition::Stalled(_) => {
            vec![none_first(turns)]
        }
    }
}

/// Puts `None` first: a turn without a label is the surest way past all other rules.
fn none_first(turns: &[Vec<Option<Label>>]) -> Vec<Vec<Option<Label>>> {
    let mut turns = turns.to_vec();
    turns.iter_mut().for_each(|options| options.sort_by_key(Option::is_some));
    turns
}

/// All combinations of one option for each turn, the first options first.
struct Combinations {
    options: Vec<Vec<Option<Label>>>,
    next: Option<Vec<usize>>,
}

impl Combinations {
    fn new(options: Vec<Vec<Option<Label>>>) -> Self {
        let next = options.iter().all(|options| !options.is_empty()).then(|| vec![0; options.len()]);
        Self { options, next }
    }
}

impl Iterator for Combinations {
    type Item = Vec<Option<Label>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut digits = self.next.take()?;
        let item = digits.iter().zip(&self.options).map(|(digit, options)| options[*digit].clone()).collect();
        let turn = (0..digits.len()).rev().find(|turn| digits[*turn] + 1 < self.options[*turn].len());
        if let Some(turn) = turn {
            digits[turn] += 1;
            digits[turn + 1..].fill(0);
            self.next = Some(digits);
        }
        Some(item)
    }
}

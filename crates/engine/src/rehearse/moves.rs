//! Moves of a stage: its exits, the replies that lead to each, and the expected destinations.

use saihai_model::{
    Activity, Again, AnswerForm, Choice, Completion, Exit, Gate, GateMode, Holds, Keyword, Label, Method,
    Reads, Refuted, Rule, Stage, StageId, StillWrong, Target, Topic, Turn, Wants, Workflow,
};

use super::satisfy::{Said, Sayable, Wanted, satisfy};
use super::speech;
use super::way::{Directive, Move, Saying, To, Way};

#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) moves: Vec<Move>,
    /// Exits for which no reply was found.
    pub(super) dead: Vec<Way>,
}

impl Moves {
    pub(super) fn of(workflow: &Workflow, id: &StageId, stage: &Stage) -> Self {
        let here = Here { workflow, id, stage };
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
struct Here<'a> {
    workflow: &'a Workflow,
    id: &'a StageId,
    stage: &'a Stage,
}

impl Here<'_> {
    fn by_rules(self, rules: &[Rule], question: Option<&Choice>, otherwise: &Target, offered: &mut Moves) {
        let sayable =
            Sayable { turns: self.sayable(rules), answers: question.map(answers).unwrap_or_default() };
        for (index, rule) in rules.iter().enumerate() {
            // A rule that is not offered in this run is not an exit.
            if matches!(&rule.when, Holds::Any(labels) if labels.is_empty()) {
                continue;
            }
            match satisfy(rules, &sayable, Wanted::Rule(index)) {
                Some(said) => self.by_rule(index, &rule.then, said, offered),
                None if self.answers_itself() => {}
                None => offered.dead.push(Way::Rule(index)),
            }
        }
        if let Some(said) = satisfy(rules, &sayable, Wanted::NoMatch) {
            let to = self.leads(otherwise);
            offered.moves.push(self.plain(Way::NoMatch, saying(said), to));
        }
    }

    fn by_rule(self, index: usize, then: &Target, said: Said, offered: &mut Moves) {
        let saying = saying(said);
        match then {
            Target::Again(again) => {
                let names = (Way::Rule(index), Way::Spent(index));
                self.by_again(again, names, saying, offered);
            }
            Target::NamedBy { pointer } => {
                let stages = self.workflow.stages.keys();
                offered.moves.extend(stages.map(|stage| {
                    let named = Some((pointer.clone(), stage.clone()));
                    let saying = Saying { named, ..saying.clone() };
                    self.plain(Way::Rule(index), saying, To::Stage(stage.clone()))
                }));
            }
            // The completion chooses the stage, and one move is enough to continue.
            Target::ByPhase { .. } => {
                offered.moves.push(self.plain(Way::Rule(index), saying, To::Stage(self.id.clone())));
            }
            Target::Stage(_) | Target::Complete | Target::End(_) => {
                offered.moves.push(self.plain(Way::Rule(index), saying, self.leads(then)));
            }
        }
    }

    /// Adds the repeats that "again" allows, and then its follow-up.
    fn by_again(self, again: &Again, (once, spent): (Way, Way), saying: Saying, offered: &mut Moves) {
        let most = again.at_most.map(|most| most.saturating_add(1));
        let (rounds, after) = match (most, self.stage.rounds.max) {
            (Some(most), Some(max)) if max < most => (Some(max), &self.stage.rounds.too_many),
            (None, Some(max)) => (Some(max), &self.stage.rounds.too_many),
            (Some(most), _) => (Some(most), &again.exhausted),
            (None, None) => (None, &again.exhausted),
        };
        if rounds.is_none_or(|rounds| rounds > 1) {
            offered.moves.push(self.plain(once, saying.clone(), To::Stage(self.id.clone())));
        }
        if let Some(rounds) = rounds {
            let to = self.leads(after);
            offered.moves.push(Move { rounds, persists: true, ..self.plain(spent, saying, to) });
        }
    }

    fn by_topics(self, silent: &Again, default: Option<&Topic>, offered: &mut Moves) {
        let directives = self.stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
        let words = directives.map_or(&[][..], |directives| directives.words.as_slice());
        let topics = directives.map(|directives| directives.declared.as_ref().unwrap_or(&directives.known));
        let topics = topics.into_iter().flatten();
        for topic in topics.filter(|topic| words.iter().all(|word| word.word != topic.as_str())) {
            let saying = directed(Directive::Event(topic.clone()));
            offered.moves.push(self.plain(Way::Topic(topic.clone()), saying, self.route(topic)));
        }
        for word in words {
            let saying = directed(Directive::Word(word.word.clone(), word.requires.clone()));
            offered.moves.push(self.plain(Way::Word(word.word.clone()), saying, self.leads(&word.then)));
        }
        let quiet = Saying { labels: vec![None], ..Saying::default() };
        match default {
            Some(topic) => {
                let again = To::Stage(self.id.clone());
                offered.moves.push(self.plain(Way::Silent, quiet.clone(), again));
                let spent = self.plain(Way::Default(topic.clone()), quiet, self.route(topic));
                offered.moves.push(Move { rounds: 2, persists: true, ..spent });
            }
            None => self.by_again(silent, (Way::Silent, Way::SilentSpent), quiet, offered),
        }
    }

    fn by_wrong_output(self, offered: &mut Moves) {
        let wrong = self.stage.turns().iter().enumerate().find_map(|(index, turn)| {
            match &turn.reads.output.as_ref()?.still_wrong {
                StillWrong::Go(target) => Some((index, target)),
                StillWrong::KeepValidItems => None,
            }
        });
        if let Some((index, target)) = wrong {
            let labels = vec![None; self.stage.turns().len()];
            let saying = Saying { labels, wrong: Some(index), ..Saying::default() };
            let to = self.leads(target);
            offered.moves.push(Move { rounds: 1, ..self.plain(Way::WrongOutput, saying, to) });
        }
    }

    /// Adds correct replies whose proof fails.
    fn by_refutation(self, offered: &mut Moves) {
        for (index, proof) in self.stage.proofs().enumerate() {
            let says = |offer: &&Move| offer.saying.labels.contains(&Some(proof.of.clone()));
            let Some(base) = offered.moves.iter().find(says) else { continue };
            let saying = Saying { refutes: Some(index), ..base.saying.clone() };
            let (once, spent) = (Way::Refuted(proof.name.clone()), Way::RefutedSpent(proof.name.clone()));
            match &proof.refuted {
                Refuted::Go(target) => offered.moves.push(self.plain(once, saying, self.leads(target))),
                Refuted::Again { at_most, exhausted } => {
                    let again = Again { note: None, at_most: Some(*at_most), exhausted: exhausted.clone() };
                    self.by_again(&again, (once, spent), saying, offered);
                }
                Refuted::Remarked => {}
            }
        }
    }

    /// Adds a move that says the words or signals of the completion, if it looks for any.
    fn by_completion(self, offered: &mut Moves) {
        let can = self.stage.turns().iter().any(|turn| can_close(&self.workflow.completion, &turn.reads));
        if self.stage.aside || !can {
            return;
        }
        let goes_on = |offer: &&Move| offer.to != To::End && !offer.persists;
        if let Some(base) = offered.moves.iter().find(goes_on).or(offered.moves.first()).cloned() {
            let saying = Saying { closes: true, ..base.saying };
            offered.moves.push(Move { saying, to: To::Completion, counts: false, ..base });
        }
    }

    fn plain(self, way: Way, saying: Saying, to: To) -> Move {
        let rounds = match &self.stage.does {
            Activity::Turns { .. } => self.stage.rounds.min.max(1),
            Activity::Gate(_) | Activity::Action(_) => 0,
        };
        Move { way, saying, to, rounds, persists: false, counts: true }
    }

    fn leads(self, target: &Target) -> To {
        match target {
            Target::Stage(id) => To::Stage(id.clone()),
            Target::Again(_) | Target::ByPhase { .. } => To::Stage(self.id.clone()),
            Target::Complete if honours_flow(&self.workflow.completion) => To::Completion,
            Target::Complete | Target::End(_) | Target::NamedBy { .. } => To::End,
        }
    }

    fn route(self, topic: &Topic) -> To {
        match &self.workflow.topics {
            Some(topics) => To::Stage(saihai_judge::route(topics, topic).0.clone()),
            None => To::End,
        }
    }

    /// Returns true for an automatic gate, which always says yes.
    fn answers_itself(self) -> bool {
        matches!(&self.stage.does, Activity::Gate(Gate { mode: GateMode::Auto, .. }))
    }

    fn sayable(self, rules: &[Rule]) -> Vec<Vec<Option<Label>>> {
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

fn saying(said: Said) -> Saying {
    Saying { labels: said.labels, answer: said.answer.flatten(), ..Saying::default() }
}

fn directed(directive: Directive) -> Saying {
    Saying { labels: vec![None], directive: Some(directive), ..Saying::default() }
}

/// Returns the labels in a condition.
fn named(when: &Holds) -> Vec<Label> {
    match when {
        Holds::Always => Vec::new(),
        Holds::Is(label) | Holds::Answered(label) => vec![label.clone()],
        Holds::All(labels) | Holds::Any(labels) => labels.clone(),
    }
}

/// Returns the possible labels of a turn, none last. An unreadable reply counts as none.
fn of_turn(turn: &Turn) -> Vec<Option<Label>> {
    let labels = turn.reads.choice.as_ref().map_or_else(|| vec![None], answers);
    labels.into_iter().filter(|label| speech::can_say(turn, label.as_ref())).collect()
}

/// Returns the possible results of a choice, none last.
fn answers(choice: &Choice) -> Vec<Option<Label>> {
    let means = choice.question().and_then(|question| match &question.answer {
        AnswerForm::Form { means, .. } => Some(means),
        AnswerForm::Tag => None,
    });
    let written = |method: &Method| match method {
        Method::Tag | Method::Field(_) | Method::Findings(_) => true,
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

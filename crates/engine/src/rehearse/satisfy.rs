//! Finds labels that make a rule the first one to hold.

use saihai_judge::{Labels, Ruled};
use saihai_model::{By, Holds, Label, Rule};

/// Possible labels of a stage's turns, and possible answers to its exit's question.
#[derive(Debug, Clone)]
pub(super) struct Sayable {
    /// Labels of each turn; includes `None` if the turn can have no label.
    pub(super) turns: Vec<Vec<Option<Label>>>,
    /// Answers to the exit's question; empty if there is none.
    pub(super) answers: Vec<Option<Label>>,
}

/// Labels of the turns, and the answer to the exit's question if it will be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) labels: Vec<Option<Label>>,
    pub(super) answer: Option<Option<Label>>,
}

/// Result to find labels for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Rule(usize),
    NoMatch,
}

/// Maximum number of label combinations to try for one rule. Real workflows need a handful; a stage with dozens of
/// turns must not run forever.
const TRIES: usize = 20_000;

/// Returns the first combination that gives the wanted result.
pub(super) fn satisfy(rules: &[Rule], sayable: &Sayable, wanted: Wanted) -> Option<Said> {
    let mut tries = TRIES;
    for fixed in starts(rules, sayable, wanted) {
        for labels in Combinations::new(fixed) {
            if tries == 0 {
                return None;
            }
            tries -= 1;
            if let Some(said) = answers(rules, sayable, wanted, labels) {
                return Some(said);
            }
        }
    }
    None
}

fn answers(rules: &[Rule], sayable: &Sayable, wanted: Wanted, labels: Vec<Option<Label>>) -> Option<Said> {
    let ruled = |answer| saihai_judge::rules(rules, Labels { labels: &labels, by: By::Tag, answer });
    let is_wanted = |ruled| match (ruled, wanted) {
        (Ruled::Rule(rule, _), Wanted::Rule(index)) => rule == index,
        (Ruled::NoMatch, Wanted::NoMatch) => true,
        (Ruled::Rule(..) | Ruled::NoMatch | Ruled::Ask, _) => false,
    };
    match ruled(None) {
        Ruled::Ask => {
            let answer = sayable.answers.iter().find(|answer| is_wanted(ruled(Some(answer)))).cloned()?;
            Some(Said { labels, answer: Some(answer) })
        }
        ruled @ (Ruled::Rule(..) | Ruled::NoMatch) => {
            is_wanted(ruled).then_some(Said { labels, answer: None })
        }
    }
}

/// Returns the start points of the search: the labels in the rule itself, so that the search stays short.
fn starts(rules: &[Rule], sayable: &Sayable, wanted: Wanted) -> Vec<Vec<Vec<Option<Label>>>> {
    let turns = &sayable.turns;
    let Wanted::Rule(index) = wanted else { return vec![none_first(turns)] };
    let Some(rule) = rules.get(index) else { return Vec::new() };
    let only = |turn: usize, label: &Label| -> Option<Vec<Option<Label>>> {
        let label = Some(label.clone());
        turns.get(turn)?.contains(&label).then(|| vec![label])
    };
    match &rule.when {
        Holds::Is(_) if turns.len() != 1 => Vec::new(),
        Holds::Is(label) => only(0, label).into_iter().map(|first| vec![first]).collect(),
        Holds::All(labels) => {
            let of = |turn: usize| if labels.len() == 1 { labels.first() } else { labels.get(turn) };
            let all = (0..turns.len()).map(|turn| only(turn, of(turn)?));
            all.collect::<Option<Vec<_>>>().into_iter().collect()
        }
        Holds::Any(labels) => {
            let pairs = (0..turns.len()).flat_map(|turn| labels.iter().map(move |label| (turn, label)));
            let fixed = pairs.filter_map(|(turn, label)| {
                let mut options = turns.clone();
                *options.get_mut(turn)? = only(turn, label)?;
                Some(options)
            });
            fixed.collect()
        }
        Holds::Always | Holds::Answered(_) => vec![none_first(turns)],
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

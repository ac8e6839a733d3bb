//! Finds the rule of an exit that holds.

use saihai_model::{By, Holds, Label, Rule};

/// Result of the rules of an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruled {
    /// This rule holds, by this method.
    Rule(usize, By),
    /// A rule that depends on the exit's own question came before any rule that holds.
    Ask,
    NoMatch,
}

/// Labels of a stage's turns.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// Label of each turn, in order.
    pub labels: &'a [Option<Label>],
    /// Method that found the only label, if there is one turn.
    pub by: By,
    /// Answer to the exit's own question, once asked.
    pub answer: Option<&'a Option<Label>>,
}

/// Returns the first rule that holds.
pub fn rules(rules: &[Rule], said: Labels<'_>) -> Ruled {
    for (index, rule) in rules.iter().enumerate() {
        match holds(&rule.when, said) {
            Some(true) => return Ruled::Rule(index, method(&rule.when, said.by)),
            Some(false) => {}
            None => return Ruled::Ask,
        }
    }
    Ruled::NoMatch
}

/// Returns `None` if it depends on a question not asked yet.
fn holds(condition: &Holds, said: Labels<'_>) -> Option<bool> {
    let has = |label: &Option<Label>, wanted: &Label| label.as_ref() == Some(wanted);
    Some(match condition {
        Holds::Always => true,
        Holds::Is(wanted) => matches!(said.labels, [only] if has(only, wanted)),
        Holds::Answered(wanted) => has(said.answer?, wanted),
        Holds::All(wanted) => match wanted.as_slice() {
            [one] => !said.labels.is_empty() && said.labels.iter().all(|label| has(label, one)),
            several => {
                several.len() == said.labels.len()
                    && said.labels.iter().zip(several).all(|(label, wanted)| has(label, wanted))
            }
        },
        Holds::Any(wanted) => said.labels.iter().any(|label| wanted.iter().any(|one| has(label, one))),
    })
}

fn method(condition: &Holds, by: By) -> By {
    match condition {
        Holds::Always => By::Only,
        Holds::Is(_) => by,
        Holds::Answered(_) => By::Judge,
        Holds::All(_) | Holds::Any(_) => By::Aggregate,
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::Target;

    use super::*;

    fn all(labels: &[&str]) -> Holds {
        Holds::All(labels.iter().map(|label| (*label).into()).collect())
    }

    fn any(labels: &[&str]) -> Holds {
        Holds::Any(labels.iter().map(|label| (*label).into()).collect())
    }

    /// `-` marks a turn without a label.
    fn check(conditions: Vec<Holds>, said: &str, expected: Ruled) {
        let labels: Vec<Option<Label>> =
            said.split(' ').map(|word| (word != "-").then(|| word.into())).collect();
        let list: Vec<Rule> =
            conditions.into_iter().map(|when| Rule { when, then: Target::Complete }).collect();
        assert_eq!(rules(&list, Labels { labels: &labels, by: By::Tag, answer: None }), expected);
    }

    #[test]
    fn aggregates_hold_by_all_by_position_and_by_any() {
        // P-42, cases 10 and 11
        let aggregate = |index| Ruled::Rule(index, By::Aggregate);
        check(vec![all(&["approved"])], "approved approved", aggregate(0));
        check(vec![all(&["approved"]), any(&["needs_fix"])], "approved needs_fix", aggregate(1));
        check(vec![all(&["A", "B"])], "A B", aggregate(0));
        check(vec![all(&["A", "B"])], "B A", Ruled::NoMatch);
        check(vec![any(&["A", "B"])], "C B", aggregate(0));
    }

    #[test]
    fn the_first_rule_that_holds_wins() {
        // P-43, case 12
        check(vec![any(&["ng"]), all(&["ok", "ng"])], "ok ng", Ruled::Rule(0, By::Aggregate));
    }

    #[test]
    fn a_turn_without_a_label_makes_all_false_and_is_skipped_by_any() {
        // P-42, case 15
        check(vec![all(&["ok"])], "ok -", Ruled::NoMatch);
        check(vec![any(&["ok"])], "ok -", Ruled::Rule(0, By::Aggregate));
    }

    #[test]
    fn a_question_is_due_only_when_its_rule_is_reached() {
        // P-43, case 16
        let list = || vec![all(&["ok"]), Holds::Answered("other".into())];
        check(list(), "ok ok", Ruled::Rule(0, By::Aggregate));
        check(list(), "ok ng", Ruled::Ask);
    }
}

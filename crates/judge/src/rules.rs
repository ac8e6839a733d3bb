//! Finds the rule of an exit that holds, and the stage that a topic goes to.

use saihai_model::{By, ExitRule, Label, RuleCondition, StageId, Topic, Topics};

/// Result of the rules of an exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOutcome {
    /// This rule holds, by this method.
    Rule(usize, By),
    /// A rule that depends on the exit's own question came before any rule that holds.
    Ask,
    NoMatch,
}

/// Labels of a stage's turns.
#[derive(Debug, Clone, Copy)]
pub struct TurnLabels<'a> {
    /// Label of each turn, in order.
    pub labels: &'a [Option<Label>],
    /// Method that found the only label, if there is one turn.
    pub by: By,
    /// Answer to the exit's own question, once asked.
    pub answer: Option<&'a Option<Label>>,
}

/// Returns the first rule that holds.
pub fn rules(rules: &[ExitRule], said: TurnLabels<'_>) -> RuleOutcome {
    for (index, rule) in rules.iter().enumerate() {
        match holds(&rule.when, said) {
            Some(true) => return RuleOutcome::Rule(index, method(&rule.when, said.by)),
            Some(false) => {}
            None => return RuleOutcome::Ask,
        }
    }
    RuleOutcome::NoMatch
}

/// Returns `None` if it depends on a question not asked yet.
fn holds(condition: &RuleCondition, said: TurnLabels<'_>) -> Option<bool> {
    let has = |label: &Option<Label>, wanted: &Label| label.as_ref() == Some(wanted);
    Some(match condition {
        RuleCondition::Always => true,
        RuleCondition::Is(wanted) => matches!(said.labels, [only] if has(only, wanted)),
        RuleCondition::Answered(wanted) => has(said.answer?, wanted),
        RuleCondition::All(wanted) => match wanted.as_slice() {
            [one] => !said.labels.is_empty() && said.labels.iter().all(|label| has(label, one)),
            several => {
                several.len() == said.labels.len()
                    && said.labels.iter().zip(several).all(|(label, wanted)| has(label, wanted))
            }
        },
        RuleCondition::Any(wanted) => {
            said.labels.iter().any(|label| wanted.iter().any(|one| has(label, one)))
        }
        // The engine looks at these rules after the others, if the run would stay in the cycle.
        RuleCondition::Stalled(_) => false,
    })
}

fn method(condition: &RuleCondition, by: By) -> By {
    match condition {
        RuleCondition::Always => By::Only,
        RuleCondition::Is(_) => by,
        RuleCondition::Answered(_) => By::Judge,
        RuleCondition::All(_) | RuleCondition::Any(_) => By::Aggregate,
        RuleCondition::Stalled(_) => By::Stalled,
    }
}

/// Returns the stage of a topic, and false if the topic only reached the fallback.
pub fn route<'a>(topics: &'a Topics, topic: &Topic) -> (&'a StageId, bool) {
    match topics.routes.iter().find(|route| matches(&route.pattern, topic.as_str())) {
        Some(route) => (&route.to, !route.orphans),
        None => (&topics.otherwise, false),
    }
}

pub fn takes(pattern: &str, topic: &Topic) -> bool {
    matches(pattern, topic.as_str())
}

/// A lone `*` matches every topic; elsewhere a `*` matches exactly one whole segment.
pub(crate) fn matches(pattern: &str, topic: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (mut wanted, mut given) = (pattern.split('.'), topic.split('.'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(want), Some(got)) if want == "*" || want == got => {}
            (Some(_) | None, Some(_)) | (Some(_), None) => return false,
        }
    }
}

#[cfg(test)]
mod rules_tests {
    use saihai_model::Target;

    use super::*;

    fn all(labels: &[&str]) -> RuleCondition {
        RuleCondition::All(labels.iter().map(|label| (*label).into()).collect())
    }

    fn any(labels: &[&str]) -> RuleCondition {
        RuleCondition::Any(labels.iter().map(|label| (*label).into()).collect())
    }

    /// `-` marks a turn without a label.
    fn check(conditions: Vec<RuleCondition>, said: &str, expected: RuleOutcome) {
        let labels: Vec<Option<Label>> =
            said.split(' ').map(|word| (word != "-").then(|| word.into())).collect();
        let list: Vec<ExitRule> =
            conditions.into_iter().map(|when| ExitRule { when, then: Target::Complete }).collect();
        assert_eq!(rules(&list, TurnLabels { labels: &labels, by: By::Tag, answer: None }), expected);
    }

    #[test]
    fn aggregates_hold_by_all_by_position_and_by_any() {
        // P-42, cases 10 and 11
        let aggregate = |index| RuleOutcome::Rule(index, By::Aggregate);
        check(vec![all(&["approved"])], "approved approved", aggregate(0));
        check(vec![all(&["approved"]), any(&["needs_fix"])], "approved needs_fix", aggregate(1));
        check(vec![all(&["A", "B"])], "A B", aggregate(0));
        check(vec![all(&["A", "B"])], "B A", RuleOutcome::NoMatch);
        check(vec![any(&["A", "B"])], "C B", aggregate(0));
    }

    #[test]
    fn the_first_rule_that_holds_wins() {
        // P-43, case 12
        check(vec![any(&["ng"]), all(&["ok", "ng"])], "ok ng", RuleOutcome::Rule(0, By::Aggregate));
    }

    #[test]
    fn a_turn_without_a_label_makes_all_false_and_is_skipped_by_any() {
        // P-42, case 15
        check(vec![all(&["ok"])], "ok -", RuleOutcome::NoMatch);
        check(vec![any(&["ok"])], "ok -", RuleOutcome::Rule(0, By::Aggregate));
    }

    #[test]
    fn a_question_is_due_only_when_its_rule_is_reached() {
        // P-43, case 16
        let list = || vec![all(&["ok"]), RuleCondition::Answered("other".into())];
        check(list(), "ok ok", RuleOutcome::Rule(0, By::Aggregate));
        check(list(), "ok ng", RuleOutcome::Ask);
    }
}

#[cfg(test)]
mod route_tests {
    use saihai_model::Route;

    use super::*;

    #[test]
    fn a_star_is_one_segment_and_order_decides() {
        // H-26, H-27
        let routes = [("build.done", "exact"), ("build.*", "glob"), ("*", "any")];
        let routes = routes.iter().map(|(pattern, to)| Route {
            pattern: (*pattern).to_owned(),
            to: (*to).into(),
            orphans: false,
        });
        let topics = Topics {
            start: "task.start".into(),
            routes: routes.collect(),
            otherwise: "base".into(),
            expected: false,
        };
        let to = |topic: &str| route(&topics, &topic.into()).0.as_str().to_owned();
        assert_eq!(to("build.done"), "exact");
        assert_eq!(to("build.failed"), "glob");
        assert_eq!(to("build"), "any");
        assert_eq!(to("build.x.y"), "any");
        assert_eq!(to("Build.done"), "any");
    }

    #[test]
    fn an_unmatched_topic_goes_to_the_fall_back() {
        // H-29
        let topics = Topics {
            start: "task.start".into(),
            routes: Vec::new(),
            otherwise: "base".into(),
            expected: false,
        };
        assert_eq!(route(&topics, &"x".into()), (&"base".into(), false));
        let gate = Route { pattern: "x".to_owned(), to: "gate".into(), orphans: true };
        let topics = Topics { routes: vec![gate], ..topics };
        assert_eq!(route(&topics, &"x".into()), (&"gate".into(), false), "a gate on the way takes nothing");
    }
}

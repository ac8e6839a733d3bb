//! Conditions and aggregates.

use super::{Project, movement};

/// Returns a parent with these rules and two sub-movements, each `approved` or `needs_fix`.
fn parent(conditions: &[&str]) -> String {
    let rules: Vec<String> = conditions
        .iter()
        .map(|condition| format!("- {{condition: '{condition}', next: COMPLETE}}"))
        .collect();
    movement(&format!(
        "parallel:\n- {{name: one, rules: [{{condition: approved}}, {{condition: needs_fix}}]}}\n- {{name: two, rules: [{{condition: 'ai(\"approved\")'}}, {{condition: needs_fix}}]}}\nrules:\n{}",
        rules.join("\n")
    ))
}

fn check(conditions: &[&str], expected: &str) {
    assert_eq!(Project::new(&parent(conditions)).said(), expected, "{conditions:?}");
}

// P-19, case 9: `ai("X")` is `X` everywhere
#[test]
fn an_aggregate_speaks_of_conditions_without_their_ai() {
    check(&["all(\"approved\")", "any(\"needs_fix\")"], "");
    check(&["all(\"approved\", \"approved\")", "any(\"needs_fix\", \"approved\")"], "");
}

// P-20, case 13
#[test]
fn a_rule_that_can_never_hold_is_refused() {
    check(
        &["all(\"approved\",\"needs_fix\",\"approved\")"],
        "error workflow/dead-rule 8:19 this rule can never match: it names 3 results, but there are 2 turns (name one label for all, or one for each in order)",
    );
    check(
        &["any(\"aproved\")"],
        "error workflow/dead-rule 8:19 this rule can never match: nothing has the result `aproved` (did you mean `approved`?)",
    );
    check(
        &["any(\"approved\", \"other\")"],
        "error workflow/dead-rule 8:19 this rule can never match: nothing has the result `other`",
    );
    check(
        &["all(\"fine\")"],
        "error workflow/dead-rule 8:19 this rule can never match: `fine` is not a result of `one`",
    );
    check(
        &["all(\"approved\", \"needs fix\")"],
        "error workflow/dead-rule 8:19 this rule can never match: `needs fix` is not a result of `two` (did you mean `needs_fix`?)",
    );
}

// P-20
#[test]
fn a_result_that_no_rule_covers_is_named() {
    check(
        &["all(\"approved\")"],
        "warning workflow/not-exhaustive 3:11 no rule of movement `m` covers the results `one` `approved`, `two` `needs_fix` (the run would fail there: add a rule for the remaining results)",
    );
    check(
        &[
            "all(\"approved\")",
            "all(\"needs_fix\")",
            "all(\"approved\",\"needs_fix\")",
            "all(\"needs_fix\",\"approved\")",
        ],
        "",
    );
}

// P-20: a plain condition may cover the remaining results
#[test]
fn a_plain_condition_of_a_parent_can_cover_the_rest() {
    check(
        &["all(\"approved\")", "anything else"],
        "warning workflow/extra-call 9:19 this rule of movement `m` is decided by one more question to a judging agent (`all(…)` and `any(…)` need none)",
    );
}

// P-20: even with very many combinations
#[test]
fn many_sub_movements_are_checked_in_no_time() {
    let subs: Vec<String> = (0..40)
        .map(|sub| {
            format!("- {{name: s{sub}, rules: [{{condition: a}}, {{condition: b}}, {{condition: c}}]}}")
        })
        .collect();
    let piece = movement(&format!(
        "parallel:\n{}\nrules: [{{condition: 'all(\"a\")', next: COMPLETE}}, {{condition: 'any(\"b\")', next: m}}]",
        subs.join("\n")
    ));
    let said = Project::new(&piece).said();
    assert!(said.contains("workflow/not-exhaustive"), "{said}");
    assert!(said.contains("`s38` `a`, `s39` `c`"), "{said}");
}

// P-19, case 14
#[test]
fn conditions_that_do_not_fit_are_refused() {
    let single = |condition: &str| {
        Project::new(&movement(&format!("rules: [{{condition: '{condition}', next: COMPLETE}}]"))).said()
    };
    assert_eq!(
        single("all(\"ok\")"),
        "error piece/bad-condition 4:25 `all(\"ok\")` is about sub-movements, but this movement has none (`all(…)` and `any(…)` are for the rules of a movement with `parallel`)"
    );
    assert_eq!(single("all tests pass"), "");
    check(
        &["all(ok\")"],
        "error piece/bad-condition 8:19 the condition `all(…)` cannot be read: its argument must be in double quotes (write `all(\"text\")`, with `\\\"` for a quote inside)",
    );
}

// P-53: other errors do not hide a dead rule, and mere consequences are not reported
#[test]
fn a_dead_rule_is_found_along_with_other_errors() {
    let piece = format!(
        "{}\n  - {{name: n, colour: red, rules: [{{condition: c, next: ABORT}}]}}",
        parent(&["any(\"aproved\")"]).trim_end()
    );
    assert_eq!(
        Project::new(&piece).said(),
        "error workflow/dead-rule 8:19 this rule can never match: nothing has the result `aproved` (did you mean `approved`?)
error piece/unknown-key 9:15 unknown key `colour` (a movement has the keys `name`, `description`, `agent`, `persona`, `agent_name`, `persona_name`, `edit`, `permission_mode`, `required_permission_mode`, `sandbox`, `verdict`, `instruction_template`, `instruction`, `pass_previous_response`, `report`, `output_contracts`, `rules`, `parallel`, `session`, `session_key`, `allowed_tools`, `provider`, `model`, `policy`, `knowledge`, `reviewer`, `run`, `shell`, `timeout`, `env`, `cwd`, `provider_options`, `capabilities`, `quality_gates`, `tags`, `companion`, `vars`, `uses`, `with`, `kind`, `call` and `args`)"
    );
}

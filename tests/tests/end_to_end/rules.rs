//! Selection of a rule for a reply: tags, questions, aggregates. P-19, P-20, P-40–P-45.

use insta::assert_snapshot;

use crate::support::{project, run, told};

/// A movement with two plain rules.
const PLAIN: &str = "
name: it
movements:
  - name: work
    rules: [{condition: タスク完了, next: COMPLETE}, {condition: 進行できない, next: ABORT}]
";

/// Returns a movement with two parallel reviewers, which each find A, B or C.
fn parallel(rules: &str) -> String {
    format!(
        "
name: it
movements:
  - name: check
    parallel:
      - {{name: one, rules: [{{condition: A}}, {{condition: B}}, {{condition: C}}]}}
      - {{name: two, rules: [{{condition: A}}, {{condition: B}}, {{condition: C}}]}}
    rules:
{rules}  - name: other
    rules: [{{condition: over, next: COMPLETE}}]
"
    )
}

/// Returns replies by which the two sub-movements match these labels; `-` matches nothing.
fn matched(one: &str, two: &str) -> String {
    let reply = |name: &str, label: &str| match "ABC".find(label) {
        Some(number) => format!("  - {{for: check/{name}, text: 'x [STEP:{number}]'}}\n"),
        None => {
            format!("  - {{for: check/{name}, text: none}}\n  - {{for: check#judge, text: '[STEP:NONE]'}}\n")
        }
    };
    reply("one", one) + &reply("two", two) + "  - {for: other, text: '[STEP:0]', times: \"*\"}\n"
}

// P-40
#[test]
fn a_tag_that_is_only_shown_takes_no_rule_and_is_explained() {
    let project = project(PLAIN, "  - {text: \"[STEP:0]\\n\\nThe log:\\n```\\n[STEP:1]\\n```\\n\"}\n");
    run(&project).exits(0);
    let explained = project.saihai(["explain", "last"]).run().exits(0);
    let evidence: Vec<&str> =
        explained.stdout.lines().map(str::trim).filter(|line| line.contains("tag [")).collect();
    assert_snapshot!(evidence.join("\n"), @"");
    let object = project.saihai(["explain", "last", "--json"]).run().exits(0).json().remove(0);
    assert_snapshot!(object["evidence"][1], @r#"{"kind":"quoted_tag","line":5,"number":1,"turn":"work"}"#);
}

// P-40
#[test]
fn the_last_valid_tag_takes_its_rule_without_a_question() {
    assert_snapshot!(told(PLAIN, "  - {text: \"done\\n[STEP:0]\"}\n"), @r"
    enter work
    leave work by tag rule 0 [タスク完了] -> complete
    finished: completed complete
    exit 0
    ");
    assert_snapshot!(told(PLAIN, "  - {text: \"[STEP:0] is wrong\\n[STEP:1]\"}\n"), @r"
    enter work
    leave work by tag rule 1 [進行できない] -> end
    finished: failed abort
    exit 1
    ");
    assert_snapshot!(told(PLAIN, "  - {text: \"[STEP:1]\\n[STEP:7]\"}\n"), @r"
    enter work
    leave work by tag rule 1 [進行できない] -> end
    finished: failed abort
    exit 1
    ");
    assert_snapshot!(told(PLAIN, "  - {text: \"[step: 0]\"}\n"), @r"
    enter work
    leave work by tag rule 0 [タスク完了] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-40, P-41
#[test]
fn tags_out_of_every_range_lead_to_one_question() {
    let replies = "  - {for: work, text: '[STEP:-1] [STEP:99999999999999999999]'}\n  - {for: work#judge, text: '[STEP:0]'}\n";
    assert_snapshot!(told(PLAIN, replies), @r"
    enter work
      question about work
    leave work by judge rule 0 [タスク完了] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-40
#[test]
fn the_repeated_list_of_tags_is_no_answer_and_one_line_of_it_is() {
    let echo = "  - {for: work, text: \"[STEP:0] = タスク完了\\n[STEP:1] = 進行できない\"}\n  - {for: work#judge, text: '[STEP:1]'}\n";
    assert_snapshot!(told(PLAIN, echo), @r"
    enter work
      question about work
    leave work by judge rule 1 [進行できない] -> end
    finished: failed abort
    exit 1
    ");
    assert_snapshot!(told(PLAIN, "  - {text: \"[STEP:0] = タスク完了\"}\n"), @r"
    enter work
    leave work by tag rule 0 [タスク完了] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-41
#[test]
fn a_reply_without_a_tag_is_judged_by_a_question_that_is_journaled() {
    let definition = "
name: it
movements:
  - name: work
    rules: [{condition: 実装完了, next: COMPLETE}, {condition: 判断できない, next: ABORT}]
";
    let replies = "  - {for: work, text: 全てのファイルを修正し、テストもパスしました。}\n  - {for: work#judge, text: '[STEP:0]'}\n";
    let project = project(definition, replies);
    run(&project).exits(0);
    let journal = project.journal();
    let question = journal.prompts().pop().expect("a question").1;
    assert_snapshot!(question, @r"
    ## 出力
    <output>
    全てのファイルを修正し、テストもパスしました。
    </output>

    ## 判定
    上の出力に最も合致する条件を1つだけ選び、そのタグだけを出力してください。どれにも合致しない場合は [STEP:NONE] を出力してください。

    [STEP:0] = 実装完了
    [STEP:1] = 判断できない
    ");
    let answer = journal.facts("replied").last().expect("an answer");
    assert_eq!(journal.text(&answer["text"]), "[STEP:0]");
}

// P-41, P-44
#[test]
fn no_match_ends_the_run_with_the_end_of_the_output_and_no_second_question() {
    for answer in ["[STEP:NONE]", "not sure"] {
        let text = format!("{}the very end", "x".repeat(2_000));
        let replies = format!("  - {{for: work, text: {text}}}\n  - {{for: work#judge, text: '{answer}'}}\n");
        let project = project(PLAIN, &replies);
        let outcome = run(&project).exits(1);
        assert!(outcome.stderr.contains("the very end"), "{outcome}");
        assert!(!outcome.stderr.contains(&"x".repeat(1_000)), "more than 1,000 characters: {outcome}");
        assert_eq!(project.journal().asked().len(), 2);
    }
}

// P-41, X-6
#[test]
fn a_single_rule_needs_no_tag_and_no_question_unless_it_asks() {
    let asked = |condition: &str, judge: &str| {
        let definition = format!(
            "name: it\nmovements:\n  - {{name: work, rules: [{{condition: '{condition}', next: COMPLETE}}]}}\n"
        );
        let project = project(&definition, &format!("  - {{for: work, text: no tag}}\n{judge}"));
        run(&project).exits(0);
        project.journal().asked().len()
    };
    let judge = "  - {for: work#judge, text: '[STEP:0]'}\n";
    assert_eq!((asked("done", ""), asked("ai(\"done\")", judge)), (1, 2));
}

// P-19
#[test]
fn ai_conditions_are_plain_text_to_the_agent_and_to_aggregates() {
    let definition = "
name: it
movements:
  - name: check
    parallel:
      - {name: one, rules: [{condition: 'ai(\"コードに問題がある\")'}, {condition: 問題ない}]}
    rules: [{condition: 'any(\"コードに問題がある\")', next: ABORT}, {condition: 'all(\"問題ない\")', next: COMPLETE}]
";
    let project = project(definition, "  - {text: '[STEP:0]'}\n");
    run(&project).exits(1);
    assert!(project.journal().prompts()[0].1.contains("[STEP:0] = コードに問題がある\n"));
}

// P-42
#[test]
fn all_wants_every_part_and_any_one_of_them() {
    let rules =
        "      - {condition: 'all(\"A\")', next: COMPLETE}\n      - {condition: 'any(\"B\")', next: ABORT}\n";
    assert_snapshot!(told(&parallel(rules), &matched("A", "A")), @r"
    enter check
    leave check by aggregate rule 0 [A, A] -> complete
    finished: completed complete
    exit 0
    ");
    assert_snapshot!(told(&parallel(rules), &matched("A", "B")), @r"
    enter check
    leave check by aggregate rule 1 [A, B] -> end
    finished: failed abort
    exit 1
    ");
}

// P-42
#[test]
fn several_arguments_are_positions_for_all_and_alternatives_for_any() {
    let rules = "      - {condition: 'all(\"A\", \"B\")', next: COMPLETE}\n      - {condition: 'any(\"A\", \"B\")', next: other}\n";
    assert_snapshot!(told(&parallel(rules), &matched("A", "B")), @r"
    enter check
    leave check by aggregate rule 0 [A, B] -> complete
    finished: completed complete
    exit 0
    ");
    assert_snapshot!(told(&parallel(rules), &matched("B", "A")), @r"
    enter check
    leave check by aggregate rule 1 [B, A] -> stage other
    enter other
    leave other by tag rule 0 [over] -> complete
    finished: completed complete
    exit 0
    ");
    assert_snapshot!(told(&parallel(rules), &matched("C", "B")), @r"
    enter check
    leave check by aggregate rule 1 [C, B] -> stage other
    enter other
    leave other by tag rule 0 [over] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-43
#[test]
fn the_first_parent_rule_that_holds_wins() {
    let rules = "      - {condition: 'any(\"B\")', next: other}\n      - {condition: 'all(\"A\", \"B\")', next: COMPLETE}\n";
    assert_snapshot!(told(&parallel(rules), &matched("A", "B")), @r"
    enter check
    leave check by aggregate rule 0 [A, B] -> stage other
    enter other
    leave other by tag rule 0 [over] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-20, P-53
#[test]
fn aggregates_that_can_never_hold_are_refused_before_anything_is_created() {
    for (rule, code, hint) in
        [("all(\"A\", \"B\", \"C\")", "dead-rule", ""), ("any(\"AA\")", "dead-rule", "")]
    {
        let definition = parallel(&format!("      - {{condition: '{rule}', next: COMPLETE}}\n"));
        let project = project(&definition, "  - {text: x}\n");
        let outcome = run(&project).exits(2);
        assert!(outcome.stderr.contains(code) && outcome.stderr.contains(hint), "{outcome}");
        assert_eq!(project.runs(), [""; 0]);
        assert!(!project.root().join(".takt/reports").exists());
    }
}

// P-19
#[test]
fn an_aggregate_needs_parts_and_plain_text_may_begin_like_one() {
    let plain = |condition: &str| {
        format!(
            "name: it\nmovements:\n  - {{name: work, rules: [{{condition: '{condition}', next: COMPLETE}}]}}\n"
        )
    };
    let refused = project(&plain("all(\"ok\")"), "  - {text: x}\n");
    let outcome = run(&refused).exits(2);
    assert!(outcome.stderr.contains("bad-condition"), "{outcome}");
    run(&project(&plain("all tests pass"), "  - {text: '[STEP:0]'}\n")).exits(0);
}

// P-42, P-44
#[test]
fn a_part_without_a_match_ends_the_run_and_every_part_is_listed() {
    let rules = "      - {condition: 'all(\"A\")', next: COMPLETE}\n";
    let project = project(&parallel(rules), &matched("A", "-"));
    let outcome = run(&project).exits(1);
    for part in ["one", "two"] {
        assert!(outcome.stderr.contains(part), "{outcome}");
    }
}

// P-43
#[test]
fn a_plain_condition_on_a_parent_costs_one_question_when_it_is_reached() {
    let rules =
        "      - {condition: 'all(\"A\")', next: COMPLETE}\n      - {condition: その他, next: other}\n";
    assert_snapshot!(told(&parallel(rules), &matched("A", "A")), @r"
    enter check
    leave check by aggregate rule 0 [A, A] -> complete
    finished: completed complete
    exit 0
    ");
    // Aggregates have no number in the question, and the numbers of the other rules do not shift.
    let question = "  - {for: check#judge, text: '[STEP:1]'}\n";
    assert_snapshot!(told(&parallel(rules), &(matched("A", "B") + question)), @r"
    enter check
      question about check
    leave check by judge rule 1 [A, B] -> stage other
    enter other
    leave other by tag rule 0 [over] -> complete
    finished: completed complete
    exit 0
    ");
}

// P-45
#[test]
fn both_ends_say_how_they_came_about() {
    let done = run(&project(PLAIN, "  - {text: \"All is well.\\n[STEP:0]\"}\n")).exits(0);
    for word in ["work", "タスク完了", "All is well."] {
        assert!(done.stdout.contains(word), "{word}: {done}");
    }
    let aborted = run(&project(PLAIN, "  - {text: \"Stuck.\\n[STEP:1]\"}\n")).exits(1);
    let everything = aborted.stdout.clone() + &aborted.stderr;
    for word in ["work", "進行できない", "Stuck."] {
        assert!(everything.contains(word), "{word}: {aborted}");
    }
}

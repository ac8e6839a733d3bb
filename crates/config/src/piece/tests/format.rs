//! Diagnostics of invalid pieces.

use super::{Project, movement, with_rule};

fn check(piece: &str, expected: &str) {
    assert_eq!(Project::new(piece).said(), expected, "{piece}");
}

// P-53, STYLE 8: code, file, line, the error and the fix
#[test]
fn a_diagnostic_shows_the_place_and_what_to_write_instead() {
    let loaded = Project::new(&movement("rules: [{condition: done, next: complet}]")).load();
    insta::assert_snapshot!(crate::to_human(&loaded.diagnostics, crate::Colour::Never), @r"
    error[piece/unknown-movement]: movement `complet` does not exist
    --> .takt/pieces/t.yaml:4:37
      |
    4 |     rules: [{condition: done, next: complet}]
      |                                     ^^^^^^^ no movement has this name
      = help: did you mean `COMPLETE`?
    ");
    assert_eq!(loaded.workflow, None);
}

// P-10, P-12, P-53, case 32
#[test]
fn everything_wrong_is_said_at_once() {
    let piece = "naem: t
max_iterations: 0
movements:
  - name: m
    instruction_templete: x
    team_leader: {}
    edit: yes
    rules: [{condition: c, next: n}, {next: m}]
  - edit: true
    rules: []
";
    check(
        piece,
        "error piece/unknown-key 1:1 unknown key `naem` (did you mean `name`?)
error piece/bad-value 2:17 `max_iterations` must be between 1 and 100000, not `0`
error piece/unknown-key 5:5 unknown key `instruction_templete` (did you mean `instruction_template`?)
error piece/not-supported 6:5 `team_leader` is not supported
error piece/bad-type 7:11 `edit` must be `true` or `false`, not text (write `true`)
error piece/unknown-movement 8:34 movement `n` does not exist
error piece/missing-key 8:38 a rule needs `condition`
error piece/missing-key 9:5 a movement needs `name`
error piece/missing-rules 10:5 movement `` has no rules, so nothing can follow it (add at least one rule)",
    );
}

// U-16
#[test]
fn words_of_other_tools_get_the_right_key_and_one_error_each() {
    check(
        "name: t
agents: [{name: m}]
",
        "error piece/unknown-key 2:1 unknown key `agents` (did you mean `movements` or `personas`?)",
    );
    let piece = "name: t
movements:
  - name: m
    prompt: Do it.
    agents: [a, b]
    rules:
      - {if: it works, then: DONE}
      - {condition: it fails, next: FAIL}
      - {conditon: c, nxt: m}
      - {condition: c, next: end}
  - name: n
    command: cargo test
    rule: [{condition: c, next: COMPLETE}]
";
    check(
        piece,
        "error piece/unknown-key 4:5 unknown key `prompt` (did you mean `instruction_template`?)
error piece/unknown-key 5:5 unknown key `agents` (did you mean `agent` or `parallel`?)
error piece/unknown-key 7:10 unknown key `if` (did you mean `condition`?)
error piece/unknown-key 7:24 unknown key `then` (did you mean `next`?)
error piece/unknown-movement 8:37 movement `FAIL` does not exist (did you mean `ABORT`?)
error piece/unknown-key 9:10 unknown key `conditon` (did you mean `condition`?)
error piece/unknown-key 9:23 unknown key `nxt` (did you mean `next`?)
error piece/unknown-movement 10:30 movement `end` does not exist (did you mean `COMPLETE`?)
error piece/unknown-key 12:5 unknown key `command` (did you mean `run`?)
error piece/unknown-key 13:5 unknown key `rule` (did you mean `rules`?)",
    );
}

// U-16
#[test]
fn doubled_brackets_are_a_warning_with_the_variable() {
    check(
        &with_rule("instruction_template: 'Do {{task}} now'"),
        "warning piece/unknown-variable 4:31 the outer brackets of `{{task}}` stay in the prompt (did you mean `{task}`?)",
    );
}

// P-9
#[test]
fn what_is_no_piece_at_all_is_refused() {
    check("", "error piece/bad-type 1:1 the document must be a mapping, but nothing is given");
    check(
        "name: t\nname: u\nmovements: [{name: m, rules: [{condition: c, next: ABORT}]}]",
        "error piece/duplicate-key 2:1 duplicate key `name` (keep one of them)",
    );
    check(
        "name: t\nmovements: []",
        "error piece/bad-value 2:12 `movements` must be a list with at least one item, not `[]`",
    );
    check("name: t", "error piece/missing-key 1:1 a piece needs `movements`");
}

// P-9
#[test]
fn anchors_can_be_used() {
    let piece = "name: t\nmovements:\n  - {name: a, rules: &r [{condition: c, next: b}]}\n  - {name: b, rules: [{condition: d, next: ABORT}]}\n  - {name: x, rules: *r}\n";
    check(piece, "warning workflow/unreachable 5:12 nothing leads to movement `x`");
}

// P-4, P-11, case 33
#[test]
fn two_spellings_of_one_field_are_refused() {
    let project = |lines: &str| Project::new(&with_rule(lines)).file("/p/.takt/pieces/x.md", "X").said();
    assert_eq!(
        project("agent: x.md\npersona: x.md"),
        "error piece/duplicate-field 5:5 `agent` and `persona` are two spellings of one key"
    );
    assert_eq!(
        project("report: a.md\noutput_contracts: {report: [{name: b.md}]}"),
        "error piece/duplicate-field 5:24 `report` and `output_contracts.report` are two spellings of one key"
    );
    check(
        "name: t\nsteps: &m [{name: m, rules: [{condition: c, next: ABORT}]}]\nmovements: *m",
        "error piece/duplicate-field 3:1 `steps` and `movements` are two spellings of one key",
    );
}

// P-12, case 33
#[test]
fn an_answer_agent_is_refused_with_its_reason() {
    check(
        &format!("answer_agent: x\n{}", with_rule("edit: true")),
        "error piece/not-supported 1:1 `answer_agent` is read but never used by TAKT; remove it",
    );
}

// P-12
#[test]
fn newer_keys_are_refused_by_name() {
    let top = "facet_pools schemas vars params mcp mcp_servers auto_routing runtime \
               rate_limit_fallback";
    for key in top.split_whitespace() {
        check(
            &format!("{key}: 1\n{}", with_rule("edit: true")),
            &format!("error piece/not-supported 1:1 `{key}` is not supported"),
        );
    }
    let inner = "overrides team_leader arpeggio dynamic_facets mode effects \
                 system_inputs structured_output completion_retry delay_before_ms allow_git_commit promotion \
                 concurrency mcp mcp_servers";
    for key in inner.split_whitespace() {
        check(
            &with_rule(&format!("{key}: 1")),
            &format!("error piece/not-supported 4:5 `{key}` is not supported"),
        );
    }
}

// P-12
#[test]
fn newer_values_are_refused_by_name() {
    let refused = |lines: &str, expected: &str| {
        check(&with_rule(lines), &format!("error piece/not-supported {expected}"))
    };
    refused("session: compact", "4:14 `session: compact` is not supported");
    refused("instruction: 'See {peer_reports}'", "4:23 the variable `{peer_reports}` is not supported");
    refused("kind: system", "4:11 `kind: system` is not supported");
    check(
        &format!("max_steps: infinite\n{}", with_rule("edit: true")),
        "error piece/not-supported 1:12 `max_steps: infinite` is not supported (the most is 100000)",
    );
    check(
        &movement("parallel: {a: b}\nrules: [{condition: c, next: ABORT}]"),
        "error piece/not-supported 4:15 `parallel` as a mapping is not supported",
    );
    check(
        &movement("rules: [{condition: 'when(x)', next: ABORT}]"),
        "error piece/not-supported 4:25 `when(…)` in a condition is not supported (write `ai(\"…\")` for a plain text that contains it)",
    );
}

// P-10, 2.2, case 30
#[test]
fn names_of_movements_are_checked() {
    let named = |name: &str| {
        format!("name: t\nmovements: [{{name: {name}, rules: [{{condition: c, next: ABORT}}]}}]")
    };
    let refused =
        |name: &str, why: &str| check(&named(name), &format!("error piece/bad-value 2:20 the name {why}"));
    refused("ABORT", "`ABORT` is reserved for the end of a run");
    refused("COMPLETE", "`COMPLETE` is reserved for the end of a run");
    refused("a/b", "`a/b` must not contain `/` or control characters");
    refused("\"a\\nb\"", "`a\\nb` must not contain `/` or control characters");
    refused("\" \"", "` ` must not be blank");
    let long = "x".repeat(81);
    assert!(Project::new(&named(&long)).said().contains("must not be longer than 80 characters"));
    check(&named(&"x".repeat(80)), "");
    check(
        "name: t\nmovements:\n  - {name: fix, rules: [{condition: c, next: ABORT}]}\n  - {name: fix, rules: [{condition: c, next: ABORT}]}",
        "error piece/duplicate-name 4:12 two movements are named `fix`",
    );
}

// 2.2: sub-movements are unique within their parent only
#[test]
fn sub_movements_of_two_parents_can_share_a_name() {
    let parent = |name: &str, next: &str| {
        format!(
            "  - name: {name}\n    parallel: [{{name: s, rules: [{{condition: c}}]}}]\n    rules: [{{condition: 'all(\"c\")', next: {next}}}]\n"
        )
    };
    check(&format!("name: t\nmovements:\n{}{}", parent("a", "b"), parent("b", "COMPLETE")), "");
    let twice = "name: t\nmovements:\n  - name: a\n    parallel: [{name: s, rules: [{condition: c}]}, {name: s, rules: [{condition: c}]}]\n    rules: [{condition: 'all(\"c\")', next: ABORT}]";
    check(twice, "error piece/duplicate-name 4:59 two movements are named `s`");
}

// 2.2, case 30
#[test]
fn a_movement_needs_rules() {
    let missing = "movement `m` has no rules, so nothing can follow it (add at least one rule)";
    check(&movement("rules: []"), &format!("error piece/missing-rules 4:5 {missing}"));
    check(&movement("edit: true"), &format!("error piece/missing-rules 3:5 {missing}"));
}

// 2.1, 2.3, 2.5, case 31
#[test]
fn a_name_of_no_movement_is_refused_with_what_was_meant() {
    check(
        &movement("rules: [{condition: c, next: complete}]"),
        "error piece/unknown-movement 4:34 movement `complete` does not exist (did you mean `COMPLETE`?)",
    );
    check(
        &format!("initial_movement: COMPLETE\n{}", with_rule("edit: true")),
        "error piece/unknown-movement 1:19 movement `COMPLETE` does not exist",
    );
    let piece = "name: t
movements:
  - {name: implement, rules: [{condition: c, next: ABORT}]}
loop_monitors:
  - {cycle: [implment], judge: {rules: [{condition: c, next: implemnt}]}}
";
    check(
        piece,
        "error piece/unknown-movement 5:14 movement `implment` does not exist (did you mean `implement`?)
error piece/unknown-movement 5:62 movement `implemnt` does not exist (did you mean `implement`?)",
    );
}

// P-15
#[test]
fn a_parallel_movement_has_no_keys_of_a_turn() {
    let piece = movement(
        "description: both\nedit: true\npersona: x\nparallel: [{name: a, rules: [{condition: c}]}]\nrules: [{condition: 'any(\"c\")', next: ABORT}]",
    );
    check(
        &piece,
        "warning piece/no-effect 5:5 `edit` has no effect on a movement with `parallel`: it asks no agent itself (put it into the sub-movements)
error piece/no-effect 6:5 `persona` has no effect on a movement with `parallel`: it asks no agent itself (put it into the sub-movements)",
    );
}

// P-15
#[test]
fn parallel_is_a_filled_list_and_not_nested() {
    let rules = "rules: [{condition: 'any(\"c\")', next: ABORT}]";
    let with = |parallel: &str| movement(&format!("parallel: {parallel}\n{rules}"));
    check(&with("[]"), "error piece/bad-value 4:15 `parallel` must have at least one sub-movement");
    check(
        &with("3"),
        "error piece/bad-type 4:15 `parallel` must be a list of sub-movements, not a whole number",
    );
    check(
        &with("[{name: a, parallel: [{name: b}], rules: [{condition: c}]}]"),
        "error piece/bad-value 4:36 a sub-movement cannot have `parallel` itself (make it a separate movement)",
    );
}

// P-15
#[test]
fn siblings_that_may_both_change_files_are_pointed_out() {
    let piece = movement(
        "parallel:\n- {name: a, edit: true, rules: [{condition: c}]}\n- {name: b, permission_mode: full, rules: [{condition: c}]}\nrules: [{condition: 'all(\"c\")', next: COMPLETE}]",
    );
    check(&piece, "warning piece/parallel-edits 6:14 `a` and `b` may change files at the same time");
}

// 2.3
#[test]
fn rules_are_checked_where_they_stand() {
    check(&movement("rules: [{condition: c}]"), "error piece/missing-key 4:13 a rule needs `next`");
    check(
        &movement("rules: [{condition: \"a\\nb\", next: ABORT}, {condition: ' ', next: ABORT}]"),
        "error piece/bad-value 4:25 a condition must be one line\nerror piece/bad-value 4:59 a condition is blank",
    );
    check(
        &movement("rules: [{condition: c, next: ABORT}, {condition: 'ai(\"c\")', next: ABORT}]"),
        "error piece/duplicate-condition 4:54 the condition `c` is given twice",
    );
    let sub = movement(
        "parallel: [{name: a, rules: [{condition: c, next: m, requires_user_input: true, interactive_only: true}]}]\nrules: [{condition: 'any(\"c\")', next: ABORT, appendix: x}]",
    );
    check(
        &sub,
        "warning piece/no-effect 4:49 `next` has no effect in a sub-movement: the rules of its parent decide what follows
error piece/no-effect 4:58 `requires_user_input` has no effect in a sub-movement (put it into a rule of the parent)
error piece/no-effect 4:85 `interactive_only` has no effect in a sub-movement (put it into a rule of the parent)
warning piece/no-effect 5:50 `appendix` has no effect here: no agent chooses among these rules (put it into a sub-movement's rule)",
    );
}

// P-21
#[test]
fn reports_are_read_in_each_of_their_forms() {
    let reports = |lines: &str| {
        let workflow = Project::new(&with_rule(lines)).workflow();
        let reports = &super::turn(&workflow, "m").reads.reports;
        let shown =
            reports.iter().map(|report| format!("{}={} {:?}", report.label, report.file, report.heading));
        shown.collect::<Vec<_>>().join("; ")
    };
    assert_eq!(reports("report: 00-plan.md"), "00-plan.md=00-plan.md None");
    assert_eq!(reports("report: {name: a/b.md}"), "a/b.md=a/b.md None");
    assert_eq!(
        reports("report: {name: p.md, format: \"intro\\n## The plan ##\\n\"}"),
        "p.md=p.md Some(\"The plan\")"
    );
    assert_eq!(reports("report: [{Summary: s.md}, {Scope: 01.md}]"), "Summary=s.md None; Scope=01.md None");
    assert_eq!(
        reports("output_contracts: {report: [{name: a.md, format: '#x'}, {name: b.md, format: '# B'}]}"),
        "a.md=a.md None; b.md=b.md Some(\"B\")"
    );
}

// P-21, P-22, case 27
#[test]
fn reports_that_cannot_be_written_are_refused() {
    let refused = |lines: &str, expected: &str| check(&with_rule(lines), expected);
    refused("report: []", "error piece/bad-value 4:13 `report` must name at least one report");
    refused(
        "report: 3",
        "error piece/bad-type 4:13 `report` must be a file name, a mapping or a list, not a whole number",
    );
    let hint = "(a report is a file inside the report directory, such as `01-plan.md` or `a/b.md`)";
    refused(
        "report: ../evil.md",
        &format!(
            "error piece/unsafe-path 4:13 `../evil.md` cannot be the name of a report: `..` leads out of the report directory {hint}"
        ),
    );
    refused(
        "report: [{Summary: /etc/x}]",
        &format!(
            "error piece/unsafe-path 4:24 `/etc/x` cannot be the name of a report: it is an absolute path {hint}"
        ),
    );
    refused(
        "report: [{A: a.md}, {B: A.md}]",
        "error piece/duplicate-report 4:29 the report `A.md` is written twice in one movement",
    );
    refused("report: [a.md]", "error piece/bad-type 4:14 `report[0]` must be a mapping, not text");
    let siblings = movement(
        "parallel: [{name: a, report: x.md, rules: [{condition: c}]}, {name: b, report: X.md, rules: [{condition: c}]}]\nrules: [{condition: 'all(\"c\")', next: ABORT}]",
    );
    check(&siblings, "error piece/duplicate-report 4:84 the report `X.md` is written twice in one movement");
}

// P-22: two different movements may write the same file
#[test]
fn two_movements_may_write_one_report() {
    let piece = "name: t\nmovements:\n  - {name: a, report: x.md, rules: [{condition: c, next: b}]}\n  - {name: b, report: x.md, rules: [{condition: c, next: ABORT}]}";
    check(piece, "");
}

// P-26, P-27, case 22
#[test]
fn templates_are_checked_where_the_variable_stands() {
    let refused = |lines: &str, expected: &str| check(&with_rule(lines), expected);
    refused(
        "instruction_template: |\n  Do {tsak}\n  and {task}, {tsak}.",
        "warning piece/unknown-variable 5:10 `{tsak}` is not a variable and stays as written (did you mean `{task}`?)
warning piece/unknown-variable 6:19 `{tsak}` is not a variable and stays as written (did you mean `{task}`?)",
    );
    refused(
        "instruction_template: '{report:../../x}'",
        "error piece/unsafe-path 4:28 `{report:../../x}` names no report: `..` leads out of the report directory",
    );
    refused(
        "instruction_template: 'After {cycle_count}'",
        "warning piece/unknown-variable 4:34 `{cycle_count}` is available only to the judge of a loop monitor",
    );
    refused(
        "instruction_template: 'See {report:x.md}'",
        "warning workflow/unknown-report 4:27 no movement writes the report `x.md`",
    );
}

// P-52
#[test]
fn a_monitor_that_would_hide_success_is_pointed_out() {
    let piece = "name: t
movements:
  - {name: mend, rules: [{condition: mended, next: check}]}
  - {name: check, rules: [{condition: bad, next: mend}, {condition: good, next: COMPLETE}]}
loop_monitors:
  - {cycle: [mend, check], judge: {rules: [{condition: c, next: ABORT}]}}
";
    check(
        piece,
        "warning piece/monitor-hides-complete 6:20 the judge would override that `check` completes the run (end the cycle with the movement that fixes)",
    );
}

// 2.5
#[test]
fn monitors_and_judges_know_only_their_own_keys() {
    let monitor = |monitor: &str| {
        format!("{}\nloop_monitors: [{monitor}]", movement("rules: [{condition: c, next: ABORT}]"))
    };
    check(
        &monitor("{cycle: [], threshold: 0, judge: {rules: []}}"),
        "error piece/bad-value 6:25 `cycle` must be a list with at least one item, not `[]`
error piece/bad-value 6:40 `threshold` must be between 1 and 100000, not `0`
error piece/bad-value 6:58 `rules` must be a list with at least one item, not `[]`",
    );
    check(
        &monitor("{cycle: [m], judge: {rules: [{condition: c, next: m, appendix: x}, {condition: 'all(\"c\")', next: m}]}}"),
        "error piece/unknown-key 6:70 unknown key `appendix` (a judge's rule has the keys `condition` and `next`)
error piece/bad-condition 6:96 `all(\"c\")` is about sub-movements, but this movement has none (`all(…)` and `any(…)` are for the rules of a movement with `parallel`)",
    );
}

// P-54
#[test]
fn ways_that_lead_nowhere_are_pointed_out() {
    let piece = "name: t
movements:
  - {name: a, rules: [{condition: c, next: b}]}
  - {name: b, rules: [{condition: c, next: a}]}
  - {name: x, rules: [{condition: c, next: COMPLETE}]}
";
    check(
        piece,
        "warning workflow/no-end 3:12 no path leads from movement `a` to an end of the run (without one the run ends only at its iteration limit)
note workflow/unmonitored-cycle 3:12 `a` → `b` can repeat until the iteration limit
warning workflow/no-end 4:12 no path leads from movement `b` to an end of the run (without one the run ends only at its iteration limit)
warning workflow/unreachable 5:12 nothing leads to movement `x`",
    );
}

// P-54: judges' `next` count as paths
#[test]
fn a_judge_s_way_out_counts() {
    let piece = "name: t
movements:
  - {name: a, rules: [{condition: c, next: a}]}
  - {name: rescue, rules: [{condition: c, next: COMPLETE}]}
loop_monitors:
  - {cycle: [a], judge: {rules: [{condition: c, next: rescue}]}}
";
    check(piece, "");
}

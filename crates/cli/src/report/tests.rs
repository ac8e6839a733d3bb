use saihai_model::{
    CallId, Decision, Destination, Ending, Fact, Failure, FailureClass, Hold, Label, Millis, Moment,
    Progress, Purpose, Raise, Reading, Record, RecordEntry, Replied, ReportClue, ReportLocation,
    RoundPosition, Tag, Usage, Usd, Verdict, Workflow,
};
use serde_json::json;

use super::*;

/// Builds two stages: one with a single turn, one with two parallel turns.
fn workflow() -> Workflow {
    let turn = |id: &str| {
        json!({
            "id": id, "title": format!("{id} - bugfix"), "prompt": { "sections": [] }, "provider": "script",
            "permission": "read_only", "session": "fresh",
        })
    };
    let stage = |turns: serde_json::Value, rules: serde_json::Value| {
        json!({
            "title": "",
            "does": { "turns": { "turns": turns, "on_failure": "park" } },
            "exit": { "rules": { "rules": rules, "otherwise": { "end": { "failed": "no_match" } } } },
        })
    };
    serde_json::from_value(json!({
        "name": "bugfix",
        "entry": "plan",
        "stages": {
            "plan": stage(json!([turn("plan")]), json!([{ "when": { "is": "計画ができた" }, "then": { "stage": "verify" } }])),
            "verify": stage(json!([turn("tests"), turn("レビュー")]), json!([
                { "when": { "all": ["合格"] }, "then": "complete" },
                { "when": { "any": ["不合格"] }, "then": { "stage": "plan" } },
            ])),
        },
        "completion": "flow",
        "limits": { "rounds": 12 },
        "words": { "stage": "movement" },
    }))
    .unwrap()
}

fn call(stage: &str, n: u32) -> CallId {
    CallId { stage: stage.into(), visit: 1, round: 1, n }
}

fn called(stage: &str, n: u32, place: RoundPosition) -> RecordEntry {
    let purpose = match place {
        RoundPosition::Main(_) => Some(Purpose::Work),
        RoundPosition::Check(_) | RoundPosition::Exit => Some(Purpose::Question),
        RoundPosition::Report(_)
        | RoundPosition::Block(_)
        | RoundPosition::Proof(_)
        | RoundPosition::Outside(_) => None,
    };
    RecordEntry::Decision(Decision::Called { call: call(stage, n), place, purpose })
}

fn asked(stage: &str, n: u32) -> RecordEntry {
    RecordEntry::Fact(Fact::Asked { call: call(stage, n), attempt: 1, prompt: Some("x".into()) })
}

fn replied(stage: &str, n: u32, seconds: u64) -> Replied {
    Replied {
        call: call(stage, n),
        provider: None,
        text: "done [STEP:0]".into(),
        spoken: None,
        messages: Vec::new(),
        session: None,
        usage: Usage { input: Some(900), output: Some(120), ..Usage::default() },
        cost: Some(Usd(12_300)),
        tools_used: Vec::new(),
        metered: None,
        denied: 0,
        duration: Millis::seconds(seconds),
        revision: None,
        so_far: None,
        cached: false,
        tree: None,
        reading: Reading { tag: Some(Tag { number: Some(0), line: 12 }), ..Reading::default() },
    }
}

fn entered(stage: &str, consecutive: u32) -> RecordEntry {
    RecordEntry::Decision(Decision::Entered { stage: stage.into(), visit: consecutive, consecutive })
}

fn round(iteration: u32) -> RecordEntry {
    RecordEntry::Decision(Decision::Round { round: 1, iteration })
}

fn exited(stage: &str, verdict: Verdict) -> RecordEntry {
    RecordEntry::Decision(Decision::Exited { stage: stage.into(), verdict })
}

fn records(entries: Vec<RecordEntry>) -> Vec<Record> {
    let started = RecordEntry::Fact(Fact::Started(saihai_model::testing::start()));
    let numbered = (0..).zip(std::iter::once(started).chain(entries));
    numbered.map(|(seq, entry)| Record { seq, at: Moment(1_770_368_160_000 + seq * 1000), entry }).collect()
}

/// Formats all lines of the records, with their weights.
fn told(entries: Vec<RecordEntry>) -> String {
    let workflow = workflow();
    let mut names = RunNames::new(&workflow);
    let mut text = String::new();
    names.learn(&records(Vec::new())[0]);
    for record in records(entries).into_iter().skip(1) {
        names.learn(&record);
        for line in words(&record, &names) {
            text.push_str(&format!("{:<8}{}\n", format!("{:?}", line.weight), line.text));
        }
    }
    text
}

/// Renders the frame after the records.
fn frame(entries: Vec<RecordEntry>, progress: &[(CallId, Progress)], columns: usize, rows: usize) -> String {
    let workflow = workflow();
    let mut names = RunNames::new(&workflow);
    let mut board = LiveBoard::default();
    for record in records(entries) {
        names.learn(&record);
        board.record(&record);
    }
    for (call, progress) in progress {
        board.progress(call, progress);
    }
    let lines = board.frame(&names, Moment(1_770_368_160_000 + 65_000), columns, rows);
    lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
}

fn parallel() -> Vec<RecordEntry> {
    vec![
        entered("verify", 1),
        round(3),
        called("verify", 1, RoundPosition::Main(0)),
        called("verify", 2, RoundPosition::Main(1)),
        asked("verify", 1),
        asked("verify", 2),
    ]
}

#[test]
fn a_correction_names_the_turn_that_makes_it() {
    let correct = |n: u32, violations: &[&str]| {
        let violations = violations.iter().map(|one| (*one).to_owned()).collect();
        RecordEntry::Decision(Decision::Correct { call: call("verify", n), violations })
    };
    let said = |n: u32| RecordEntry::Fact(Fact::Replied(Box::new(replied("verify", n, 1))));
    let told = told(vec![
        called("verify", 1, RoundPosition::Main(0)),
        called("verify", 2, RoundPosition::Main(1)),
        said(2),
        correct(3, &["/height: no number"]),
        called("verify", 4, RoundPosition::Check(0)),
        said(4),
        correct(5, &[]),
    ]);
    let warnings: Vec<&str> = told.lines().filter(|line| line.starts_with("Warning")).collect();
    insta::assert_snapshot!(warnings.join("\n"), @"
    Warning `verify/レビュー` must correct its output: /height: no number
    Warning `verify/tests (judge)` must answer again: its answer is unreadable
    ");
}

// K-20, P-13
#[test]
fn a_turn_is_told_from_entry_to_exit() {
    let verdict = Verdict {
        by: saihai_model::By::Tag,
        labels: vec![Some("計画ができた".into())],
        rule: Some(0),
        topic: None,
        to: Destination::Stage("verify".into()),
    };
    insta::assert_snapshot!(told(vec![
        entered("plan", 1),
        round(1),
        called("plan", 1, RoundPosition::Main(0)),
        asked("plan", 1),
        RecordEntry::Fact(Fact::Replied(Box::new(replied("plan", 1, 12)))),
        exited("plan", verdict),
    ]), @r#"
    Detail  entered `plan` (visit 1)
    Head    iteration 1 of 12: plan
    Detail  call `plan.1.1.1` for `plan` (work)
    Detail  asked plan (1 byte)
    Step    plan replied in 12 s, 1,020 tokens, $0.0123
    Step    plan → verify: "計画ができた"
    "#);
}

// P-45
#[test]
fn an_aggregate_names_what_each_turn_said() {
    let verdict = Verdict {
        by: saihai_model::By::Aggregate,
        labels: vec![Some(Label::from("合格")), None],
        rule: Some(1),
        topic: None,
        to: Destination::End(Ending::Failed("abort".into())),
    };
    insta::assert_snapshot!(told(vec![entered("verify", 1), round(1), exited("verify", verdict)]), @r#"
    Detail  entered `verify` (visit 1)
    Head    iteration 1 of 12: verify
    Step    verify → failed (abort):
    Step      tests: "合格"
    Step      レビュー: no decision
    "#);
}

// P-49, P-38
#[test]
fn what_a_person_should_know_is_a_warning() {
    let mut odd = replied("plan", 1, 0);
    odd.reading.tag = None;
    odd.reading.near_misses = vec!["`[STEP 0]` on line 3 is no tag".into()];
    odd.reading.warnings =
        vec!["no block was found for the report `01-plan.md`: the whole reply was taken".into()];
    let found =
        |how, unclosed| ReportLocation { file: "01-\x1b[2Jplan.md".into(), how, start: 0, end: 9, unclosed };
    insta::assert_snapshot!(told(vec![
        entered("plan", 2),
        round(2),
        entered("plan", 3),
        round(3),
        called("plan", 1, RoundPosition::Main(0)),
        RecordEntry::Fact(Fact::Replied(Box::new(odd))),
        RecordEntry::Decision(Decision::Reports {
            call: call("plan", 1),
            found: vec![found(ReportClue::Whole, false), found(ReportClue::Clue, true), found(ReportClue::Clue, false)],
        }),
        RecordEntry::Decision(Decision::Alarm { monitor: 0, count: 3, overrode: Some("不合格".into()) }),
    ]), @r#"
    Detail  entered `plan` (visit 2)
    Head    iteration 2 of 12: plan
    Detail  entered `plan` (visit 3)
    Head    iteration 3 of 12: plan
    Warning movement "plan" has run 3 times in a row
    Detail  call `plan.1.1.1` for `plan` (work)
    Step    plan replied in 0 ms, 1,020 tokens, $0.0123
    Warning `plan`: `[STEP 0]` on line 3 is no tag
    Warning `plan`: no block was found for the report `01-plan.md`: the whole reply was taken
    Detail  report `01-\x1b[2Jplan.md` is the whole reply
    Detail  report `01-\x1b[2Jplan.md` found by a clue, never closed
    Detail  report `01-\x1b[2Jplan.md` found by a clue
    Warning monitor 0 fired at 3, instead of `不合格`
    "#);
}

#[test]
fn failures_retries_and_limits_are_told_with_their_numbers() {
    let mut failure = Failure::new(FailureClass::RateLimited, "slow \x1b[31mdown\nplease");
    failure.until = None;
    insta::assert_snapshot!(told(vec![
        called("verify", 2, RoundPosition::Main(1)),
        RecordEntry::Fact(Fact::Failed(Box::new(saihai_model::CallFailed::new(call("verify", 2), failure)))),
        RecordEntry::Decision(Decision::Retry {
            call: call("verify", 2),
            attempt: 2,
            not_before: Moment(1_770_368_160_000 + 8_000),
            provider: Some("codex".into()),
            new_session: true,
        }),
        RecordEntry::Decision(Decision::Parked { hold: Hold::Limit("max_iterations".into()) }),
        RecordEntry::Fact(Fact::Reopened),
        RecordEntry::Fact(Fact::Resumed(Raise {
            rounds: Some(20),
            budget: saihai_model::Budget { usd: Some(Usd(5_000_000)), turns: Some(1), ..Default::default() },
            runtime: None,
            patience: Millis(0),
            now: false,
        })),
        entered("plan", 1),
        round(13),
        RecordEntry::Decision(Decision::Finished { ending: Ending::Failed("no_match".into()) }),
    ]), @r"
    Detail  call `verify.1.1.2` for `verify/レビュー` (work)
    Warning `verify/レビュー` failed (rate_limited): slow \x1b[31mdown …
    Detail    please
    Step    verify/レビュー is retried, attempt 2, in 5 s, by `codex`, in a new session
    Head    parked: limit `max_iterations` reached
    Detail  another process continues the run
    Step    resumed with max_iterations 20, budget $5.0000, budget 1 turn
    Detail  entered `plan` (visit 1)
    Head    iteration 13 of 20: plan
    Head    failed (no_match)
    ");
}

// C-29
#[test]
fn a_lost_session_is_warned_about_in_the_words_people_know() {
    let retry = Decision::Retry {
        call: call("verify", 2),
        attempt: 2,
        not_before: Moment(0),
        provider: None,
        new_session: true,
    };
    let lost = Failure::new(FailureClass::SessionLost, "no conversation found");
    let lost = Fact::Failed(Box::new(saihai_model::CallFailed::new(call("verify", 2), lost)));
    insta::assert_snapshot!(told(vec![called("verify", 2, RoundPosition::Main(1)), RecordEntry::Fact(lost), RecordEntry::Decision(retry)]), @"
    Detail  call `verify.1.1.2` for `verify/レビュー` (work)
    Warning `verify/レビュー` failed (session_lost): no conversation found
    Warning Session disconnected, starting new session
    Step    verify/レビュー is retried, attempt 2, in a new session
    ");
}

// K-1
#[test]
fn parallel_turns_have_lines_of_their_own() {
    let mut entries = parallel();
    entries.push(RecordEntry::Fact(Fact::Replied(Box::new(replied("verify", 1, 41)))));
    let progress = [(call("verify", 2), Progress::Text("reading\n差分を\x1b[31m読んでいます\n\n".into()))];
    insta::assert_snapshot!(frame(entries, &progress, 100, 30), @r"
    ✓ verify/tests     replied in 41 s, 1,020 tokens
    ⠋ verify/レビュー  0:59
        差分を\x1b[31m読んでいます
    iteration 3 of 12  1:05  1 of at most 24 turns  1,020 tokens  $0.0123
    ");
}

#[test]
fn a_frame_fits_the_terminal() {
    let progress =
        [(call("verify", 2), Progress::ToolStarted("Bash(cargo test --workspace --all-targets)".into()))];
    let shown = frame(parallel(), &progress, 30, 30);
    insta::assert_snapshot!(shown, @"
    ⠋ verify/tests     1:00
    ⠋ verify/レビュー  0:59  Bash…
    iteration 3 of 12  1:05  0 of…
    ");
    assert!(shown.lines().all(|line| crate::terminal::width(line) <= 30));
    // Running calls replace ended ones.
    let mut entries = parallel();
    entries.push(RecordEntry::Fact(Fact::Replied(Box::new(replied("verify", 1, 41)))));
    insta::assert_snapshot!(frame(entries, &[], 60, 4), @"
    ⠋ verify/レビュー  0:59
      … and 1 more
    iteration 3 of 12  1:05  1 of at most 24 turns  1,020 token…
    ");
}

#[test]
fn nothing_is_drawn_when_nothing_is_under_way() {
    let mut entries = parallel();
    entries.push(RecordEntry::Decision(Decision::Parked { hold: Hold::Interrupted }));
    assert_eq!(frame(entries.clone(), &[], 80, 24), "");
    // A resumed run continues its calls.
    entries.push(RecordEntry::Decision(Decision::Repeated { call: call("verify", 1), attempt: 2 }));
    entries.push(asked("verify", 2));
    insta::assert_snapshot!(frame(entries, &[], 80, 24), @"
    · verify/tests     queued
    ⠋ verify/レビュー  0:56 attempt 2
    iteration 3 of 12  1:04  0 of at most 24 turns
    ");
}

// K-1, T-85
#[test]
fn redrawing_goes_back_exactly_over_what_was_drawn() {
    let (mut stream, written) = crate::terminal::captured::styled();
    let mut live = LiveFrame::default();
    live.draw(vec![String::from("one").into(), String::from("two").into()], &mut stream);
    live.draw(vec![String::from("one").into(), String::from("two").into()], &mut stream);
    live.keep(&["stays".into()], &mut stream);
    live.clear(&mut stream);
    insta::assert_snapshot!(written.text().replace('\x1b', "^").replace('\r', "<"), @r"
    one^[K
    two^[K
    ^[J^[2A<^[Jstays
    one^[K
    two^[K
    ^[2A<^[J
    ");
}

fn quoted_reply(stage: &str, n: u32, quotation: &str) -> RecordEntry {
    let mut reply = replied(stage, n, 1);
    reply.reading.quotation = quotation.to_owned();
    RecordEntry::Fact(Fact::Replied(Box::new(reply)))
}

fn aggregate(labels: [&str; 2], rule: usize, to: Destination) -> Verdict {
    Verdict {
        by: saihai_model::By::Aggregate,
        labels: labels.map(|label| Some(label.into())).to_vec(),
        rule: Some(rule),
        topic: None,
        to,
    }
}

// U-1
#[test]
fn a_transition_quotes_the_turn_that_decided_it_in_its_own_words() {
    let mut entries = parallel();
    entries.push(quoted_reply("verify", 1, "the empty name still fails (test.sh:14)"));
    entries.push(quoted_reply("verify", 2, "Nothing."));
    let back = Destination::Stage("plan".into());
    entries.push(exited("verify", aggregate(["不合格", "合格"], 1, back)));
    let told = told(entries);
    let last = told.lines().last();
    assert_eq!(
        last,
        Some("Step    verify → plan: tests: \"不合格\" — the empty name still fails (test.sh:14)")
    );
}

// U-1
#[test]
fn every_turn_that_decided_has_a_line_of_its_own() {
    let mut entries = parallel();
    entries.push(quoted_reply("verify", 1, "all 12 tests pass"));
    entries.push(quoted_reply("verify", 2, ""));
    entries.push(exited("verify", aggregate(["合格", "合格"], 0, Destination::Complete)));
    let told = told(entries);
    let lines: Vec<&str> = told.lines().rev().take(3).collect();
    insta::assert_snapshot!(lines.into_iter().rev().collect::<Vec<_>>().join("\n"), @r#"
    Step    verify → completed:
    Step      tests: "合格" — all 12 tests pass
    Step      レビュー: "合格"
    "#);
}

// U-1: the mechanism is for `-v`
#[test]
fn tags_rules_and_methods_appear_only_when_asked_for() {
    let verdict = Verdict {
        by: saihai_model::By::Tag,
        labels: vec![Some("計画ができた".into())],
        rule: Some(0),
        topic: None,
        to: Destination::Stage("verify".into()),
    };
    let entries = vec![
        entered("plan", 1),
        round(1),
        called("plan", 1, RoundPosition::Main(0)),
        quoted_reply("plan", 1, "It is short."),
        exited("plan", verdict),
    ];
    let workflow = workflow();
    let shown = |verbose: bool| {
        let mut names = RunNames::new(&workflow).verbose(verbose);
        let mut lines = Vec::new();
        for record in records(entries.clone()) {
            names.learn(&record);
            lines.extend(words(&record, &names).into_iter().map(|line| line.text));
        }
        lines.split_off(lines.len() - if verbose { 3 } else { 2 }).join("\n")
    };
    insta::assert_snapshot!(shown(false), @r#"
    plan replied in 1 s, 1,020 tokens, $0.0123
    plan → verify: "計画ができた" — It is short.
    "#);
    insta::assert_snapshot!(shown(true), @r#"
    plan replied in 1 s, 1,020 tokens, $0.0123, tag 0 on line 12
    plan → verify: "計画ができた" — It is short.
    rule 0 “計画ができた”, by tag
    "#);
}

// A planned call of an answered run has never been asked, so nothing is repeated.
#[test]
fn a_resumed_run_shows_its_iteration_and_no_attempt_that_never_was() {
    let entries = vec![
        entered("plan", 1),
        round(2),
        called("plan", 1, RoundPosition::Main(0)),
        RecordEntry::Fact(Fact::Reopened),
        RecordEntry::Decision(Decision::Repeated { call: call("plan", 1), attempt: 2 }),
        RecordEntry::Fact(Fact::Asked { call: call("plan", 1), attempt: 2, prompt: Some("x".into()) }),
    ];
    let told = told(entries.clone());
    let lines: Vec<&str> = told.lines().skip(3).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    Detail  another process continues the run
    Detail  asked plan (1 byte)
    ");
    let workflow = workflow();
    let mut names = RunNames::new(&workflow);
    records(entries).iter().for_each(|record| names.learn(record));
    assert_eq!(current_round_line(&names), Some(ReportLine::head("iteration 2 of 12: plan")));
}

// Data of actions is for later stages, not for people.
#[test]
fn actions_are_shown_in_words_and_not_as_json() {
    let output = json!({
        "branch": "saihai/x\nmore", "findings": 1, "failed": 0, "tree": {"a": 1}, "files": ["a"], "note": null, "new": true,
    });
    let output: std::collections::BTreeMap<String, Json> = serde_json::from_value(output).unwrap();
    let done = Outcome::Done { label: Some("ok".into()), output };
    let lines = performed(None, "place", &done);
    insta::assert_snapshot!(lines[0].text, @"place done: ok (branch: saihai/x …, 0 failed, 1 finding, new)");
}

// U-7
#[test]
fn a_run_that_may_edit_says_what_agents_may_do_and_where() {
    let mut workflow = workflow();
    let start =
        Start { rehearsal: false, directory: "/home/me/shop".to_owned(), ..*saihai_model::testing::start() };
    let permit = |workflow: &mut Workflow, permission: Permission| {
        for stage in workflow.stages.values_mut() {
            if let Activity::Turns { turns, .. } = &mut stage.does {
                for turn in turns {
                    (turn.permission, turn.provider) = (permission, "claude".into());
                }
            }
        }
    };
    permit(&mut workflow, Permission::ReadOnly);
    assert_eq!(permission_words(&start, &workflow), None);
    permit(&mut workflow, Permission::Edit { commands: true });
    let expected =
        "claude may edit files and run commands in /home/me/shop; --worktree keeps your checkout untouched";
    assert_eq!(permission_words(&start, &workflow).as_deref(), Some(expected));
    let rehearsed = Start { rehearsal: true, ..start };
    assert_eq!(permission_words(&rehearsed, &workflow), None);
}

// U-10
#[test]
fn a_running_turn_shows_its_tool_and_its_last_words() {
    let mut entries = parallel();
    entries.push(RecordEntry::Fact(Fact::Replied(Box::new(replied("verify", 1, 41)))));
    let text = |text: &str| (call("verify", 2), Progress::Text(text.into()));
    let tool = |tool: &str| (call("verify", 2), Progress::ToolStarted(tool.into()));
    let progress = [text("I look at "), text("the parser.\n"), tool("Bash: cargo test -p parser")];
    insta::assert_snapshot!(frame(entries.clone(), &progress, 80, 24), @"
    ✓ verify/tests     replied in 41 s, 1,020 tokens
    ⠋ verify/レビュー  0:59  Bash: cargo test -p parser
        I look at the parser.
    iteration 3 of 12  1:05  1 of at most 24 turns  1,020 tokens  $0.0123
    ");
    let progress = [
        text("I look."),
        tool("Read: a.rs"),
        (call("verify", 2), Progress::ToolFinished("Read".into())),
        text("It is fine"),
    ];
    insta::assert_snapshot!(frame(entries, &progress, 80, 24), @"
    ✓ verify/tests     replied in 41 s, 1,020 tokens
    ⠋ verify/レビュー  0:59
        It is fine
    iteration 3 of 12  1:05  1 of at most 24 turns  1,020 tokens  $0.0123
    ");
}

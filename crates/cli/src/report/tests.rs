use saihai_model::{
    CallId, Decision, Destination, Ending, Entry, Fact, Failure, FailureClass, Found, Hold, How, Label,
    Millis, Moment, Place, Progress, Purpose, Raise, Reading, Record, Replied, Tag, Usage, Usd, Verdict,
    Workflow,
};
use serde_json::json;

use super::*;

/// Two stages: a lone turn, and two in parallel.
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

fn called(stage: &str, n: u32, place: Place) -> Entry {
    let purpose = match place {
        Place::Main(_) => Some(Purpose::Work),
        Place::Check(_) | Place::Exit => Some(Purpose::Question),
        Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_) => None,
    };
    Entry::Decision(Decision::Called { call: call(stage, n), place, purpose })
}

fn asked(stage: &str, n: u32) -> Entry {
    Entry::Fact(Fact::Asked { call: call(stage, n), attempt: 1, prompt: Some("x".into()) })
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
        reading: Reading { tag: Some(Tag { number: Some(0), line: 12 }), ..Reading::default() },
    }
}

fn entered(stage: &str, consecutive: u32) -> Entry {
    Entry::Decision(Decision::Entered { stage: stage.into(), visit: consecutive, consecutive })
}

fn round(iteration: u32) -> Entry {
    Entry::Decision(Decision::Round { round: 1, iteration })
}

fn exited(stage: &str, verdict: Verdict) -> Entry {
    Entry::Decision(Decision::Exited { stage: stage.into(), verdict })
}

fn records(entries: Vec<Entry>) -> Vec<Record> {
    let numbered = (1..).zip(entries);
    numbered.map(|(seq, entry)| Record { seq, at: Moment(1_770_368_160_000 + seq * 1000), entry }).collect()
}

/// All words of the records, with their weight.
fn told(entries: Vec<Entry>) -> String {
    let workflow = workflow();
    let mut names = Names::new(&workflow);
    let mut text = String::new();
    for record in records(entries) {
        names.learn(&record);
        for line in words(&record, &names) {
            text.push_str(&format!("{:<8}{}\n", format!("{:?}", line.weight), line.text));
        }
    }
    text
}

/// The frame after the records, `seconds` after the first.
fn frame(entries: Vec<Entry>, progress: &[(CallId, Progress)], columns: usize, rows: usize) -> String {
    let workflow = workflow();
    let mut names = Names::new(&workflow);
    let mut board = Board::default();
    for record in records(entries) {
        names.learn(&record);
        board.record(&record, &names);
    }
    for (call, progress) in progress {
        board.progress(call, progress);
    }
    board.frame(Moment(1_770_368_160_000 + 65_000), columns, rows).join("\n")
}

fn parallel() -> Vec<Entry> {
    vec![
        entered("verify", 1),
        round(3),
        called("verify", 1, Place::Main(0)),
        called("verify", 2, Place::Main(1)),
        asked("verify", 1),
        asked("verify", 2),
    ]
}

#[test]
fn a_correction_is_told_of_whoever_has_to_make_it() {
    let correct = |n: u32, violations: &[&str]| {
        let violations = violations.iter().map(|one| (*one).to_owned()).collect();
        Entry::Decision(Decision::Correct { call: call("verify", n), violations })
    };
    let said = |n: u32| Entry::Fact(Fact::Replied(Box::new(replied("verify", n, 1))));
    let told = told(vec![
        called("verify", 1, Place::Main(0)),
        called("verify", 2, Place::Main(1)),
        said(2),
        correct(3, &["/height: no number"]),
        called("verify", 4, Place::Check(0)),
        said(4),
        correct(5, &[]),
    ]);
    let warnings: Vec<&str> = told.lines().filter(|line| line.starts_with("Warning")).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r"
    Warning `verify/レビュー` must correct its output: /height: no number
    Warning `verify/tests (judge)` must answer again: its answer cannot be read
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
        called("plan", 1, Place::Main(0)),
        asked("plan", 1),
        Entry::Fact(Fact::Replied(Box::new(replied("plan", 1, 12)))),
        exited("plan", verdict),
    ]), @r"
    Detail  entered `plan` (visit 1)
    Head    iteration 1 of 12: `plan`
    Detail  call `plan.1.1.1` for `plan` (work)
    Detail  asked `plan` (attempt 1, 1 byte)
    Step    `plan` replied in 12 s, 1,020 tokens, $0.0123, tag 0 on line 12
    Step    `plan` → `verify`: rule 0 “計画ができた”, by tag
    ");
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
    insta::assert_snapshot!(told(vec![exited("verify", verdict)]), @r#"Step    `verify` → failed (abort): rule 1 “any("不合格")”, by aggregate (tests: 合格, レビュー: no match)"#);
}

// P-49, P-38
#[test]
fn what_a_person_should_know_is_a_warning() {
    let mut odd = replied("plan", 1, 0);
    odd.reading.tag = None;
    odd.reading.near_misses = vec!["`[STEP 0]` on line 3 is no tag".into()];
    odd.reading.warnings =
        vec!["no block was found for the report `01-plan.md`: the whole reply was taken".into()];
    let found = |how, unclosed| Found { file: "01-\x1b[2Jplan.md".into(), how, start: 0, end: 9, unclosed };
    insta::assert_snapshot!(told(vec![
        entered("plan", 2),
        round(2),
        entered("plan", 3),
        round(3),
        called("plan", 1, Place::Main(0)),
        Entry::Fact(Fact::Replied(Box::new(odd))),
        Entry::Decision(Decision::Reports {
            call: call("plan", 1),
            found: vec![found(How::Whole, false), found(How::Clue, true), found(How::Clue, false)],
        }),
        Entry::Decision(Decision::Alarm { monitor: 0, count: 3, overrode: Some("不合格".into()) }),
    ]), @r#"
    Detail  entered `plan` (visit 2)
    Head    iteration 2 of 12: `plan`
    Detail  entered `plan` (visit 3)
    Head    iteration 3 of 12: `plan`
    Warning movement "plan" has run 3 times in a row
    Detail  call `plan.1.1.1` for `plan` (work)
    Step    `plan` replied in 0 ms, 1,020 tokens, $0.0123
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
        called("verify", 2, Place::Main(1)),
        Entry::Fact(Fact::Failed(Box::new(saihai_model::CallFailed::new(call("verify", 2), failure)))),
        Entry::Decision(Decision::Retry {
            call: call("verify", 2),
            attempt: 2,
            not_before: Moment(1_770_368_160_000 + 8_000),
            provider: Some("codex".into()),
            new_session: true,
        }),
        Entry::Decision(Decision::Parked { hold: Hold::Limit("max_iterations".into()) }),
        Entry::Fact(Fact::Reopened),
        Entry::Fact(Fact::Resumed(Raise {
            rounds: Some(20),
            budget: saihai_model::Budget { usd: Some(Usd(5_000_000)), turns: Some(1), ..Default::default() },
            runtime: None,
            patience: Millis(0),
            now: false,
        })),
        entered("plan", 1),
        round(13),
        Entry::Decision(Decision::Finished { ending: Ending::Failed("no_match".into()) }),
    ]), @r"
    Detail  call `verify.1.1.2` for `verify/レビュー` (work)
    Warning `verify/レビュー` failed (rate_limited): slow \x1b[31mdown …
    Detail    please
    Step    `verify/レビュー` is tried again, attempt 2, in 5 s, by `codex`, in a new session
    Head    parked: limit `max_iterations` reached
    Detail  another process has taken the run over
    Step    resumed with max_iterations 20, budget $5.0000, budget 1 turn
    Detail  entered `plan` (visit 1)
    Head    iteration 13 of 20: `plan`
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
    insta::assert_snapshot!(told(vec![Entry::Fact(lost), Entry::Decision(retry)]), @r"
    Warning `verify` failed (session_lost): no conversation found
    Warning Session disconnected, starting new session
    Step    `verify` is tried again, attempt 2, in a new session
    ");
}

// K-1
#[test]
fn parallel_turns_have_lines_of_their_own() {
    let mut entries = parallel();
    entries.push(Entry::Fact(Fact::Replied(Box::new(replied("verify", 1, 41)))));
    let progress = [(call("verify", 2), Progress::Text("reading\n差分を\x1b[31m読んでいます\n\n".into()))];
    insta::assert_snapshot!(frame(entries, &progress, 100, 30), @r"
    ⠋ verify  iteration 3 of 12  1:03  1,020 tokens  $0.0123
      tests - bugfix     replied in 41 s, 1,020 tokens
      レビュー - bugfix  0:59  差分を\x1b[31m読んでいます
    ");
}

#[test]
fn a_frame_fits_the_terminal() {
    let progress =
        [(call("verify", 2), Progress::ToolStarted("Bash(cargo test --workspace --all-targets)".into()))];
    let shown = frame(parallel(), &progress, 30, 30);
    insta::assert_snapshot!(shown, @r"
    ⠋ verify  iteration 3 of 12  …
      tests - bugfix   1:00
      レビュー - bug…  0:59  Bash…
    ");
    assert!(shown.lines().all(|line| crate::terminal::width(line) <= 30));
    // What has ended gives way to what is under way.
    let mut entries = parallel();
    entries.push(Entry::Fact(Fact::Replied(Box::new(replied("verify", 1, 41)))));
    insta::assert_snapshot!(frame(entries, &[], 60, 4), @r"
    ⠋ verify  iteration 3 of 12  1:03  1,020 tokens  $0.0123
      レビュー - bugfix  0:59
      … and 1 more
    ");
}

#[test]
fn nothing_is_drawn_when_nothing_is_under_way() {
    let mut entries = parallel();
    entries.push(Entry::Decision(Decision::Parked { hold: Hold::Interrupted }));
    assert_eq!(frame(entries.clone(), &[], 80, 24), "");
    // A resumed run goes on with the calls it had.
    entries.push(asked("verify", 2));
    insta::assert_snapshot!(frame(entries, &[], 80, 24), @r"
    ⠋ verify  iteration 3 of 12  1:03
      tests - bugfix     1:00
      レビュー - bugfix  0:57
    ");
}

// K-1, T-85
#[test]
fn redrawing_goes_back_exactly_over_what_was_drawn() {
    let (mut stream, written) = crate::terminal::streams::captured::styled();
    let mut live = Live::default();
    live.draw(vec!["one".into(), "two".into()], &mut stream);
    live.draw(vec!["one".into(), "two".into()], &mut stream);
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

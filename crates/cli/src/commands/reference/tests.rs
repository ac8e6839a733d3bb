use std::collections::BTreeSet;
use std::path::Path;

use saihai_model::{
    Answer, AnsweredBy, Budget, BudgetLoan, By, CallFailed, CallId, Cost, Decision, Destination, Ending,
    Fact, Failure, FailureClass, FileChangeCounts, FindingMark, Hold, Meter, Millis, Moment, Outcome,
    ParentTurn, PersonNote, PublishedEvent, Purpose, Raise, Reading, RecordEntry, Remark, Replied,
    ReportClue, ReportLocation, RoundPosition, RunOrigin, Severity, StallConsequence, StallEvidence,
    StallSignal, Start, Tag, Text, TextFile, TextSource, ToolUsed, TreeFact, TreeState, TurnLimit, Usage,
    Usd, Verdict,
};
use serde_json::{Value as Json, json};

use super::*;
use crate::terminal::captured;

fn parsed(name: &str) -> Json {
    serde_json::from_str(&text(name).unwrap()).unwrap()
}

/// Closes a schema: an object may have only the named fields. This reveals missing ones.
fn closed(mut schema: Json) -> Json {
    match &mut schema {
        Json::Object(map) => {
            for value in map.values_mut() {
                *value = closed(value.take());
            }
            if map.get("properties").is_some_and(Json::is_object) && map.get("type") == Some(&json!("object"))
            {
                map.insert("additionalProperties".to_owned(), Json::Bool(false));
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| *item = closed(item.take())),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    schema
}

#[track_caller]
fn check(schema: &Json, value: &Json, accepted: bool) {
    let said = saihai_json_schema::JsonSchema::compile(schema).unwrap().violations(value, 10);
    assert_eq!(said.is_empty(), accepted, "{value:#}\n{said:#?}");
}

#[test]
fn every_schema_that_is_listed_is_printed() {
    assert_eq!(all().count(), 18);
    for (name, about) in all() {
        let schema = parsed(&name);
        assert!(schema["title"].as_str().unwrap().contains(about), "{name}");
    }
}

fn refusal(name: &str) -> String {
    let (mut streams, _, err) = captured::streams();
    let code = text(name).unwrap_err().say(&mut streams).code();
    format!("{}exit {code}", err.text())
}

// K-2
#[test]
fn misspelt_schemas_are_refused_by_name() {
    insta::assert_snapshot!(refusal("setings"), @r"
    error: there is no schema `setings`
      = help: did you mean `settings`?
    exit 2
    ");
    insta::assert_snapshot!(refusal("x"), @r"
    error: there is no schema `x`
      = help: `saihai schema` lists them
    exit 2
    ");
}

/// Returns every object on the manual page about `--json`, where `[..]` matches anything.
fn shown() -> Vec<Json> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let lines = page.lines().filter(|line| line.starts_with("{\"v\":1"));
    lines
        .map(|line| line.replace("\":[..]", "\":1"))
        .map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

// K-3
#[test]
fn every_object_of_the_manual_is_described_completely() {
    let (output, journal) = (closed(parsed("output")), parsed("journal"));
    let mut seen = BTreeSet::new();
    for object in shown() {
        check(&output, &object, true);
        seen.insert(object["type"].as_str().unwrap().to_owned());
        if object["type"] == "event" {
            check(&journal, &line(&object["event"]), true);
        }
    }
    // A diagnostic is part of `check`.
    seen.insert("diagnostic".to_owned());
    let kinds = output["oneOf"].as_array().unwrap().iter();
    let kinds: BTreeSet<String> =
        kinds.map(|kind| kind["$ref"].as_str().unwrap().replace("#/$defs/", "")).collect();
    assert_eq!(seen, kinds);
}

// K-3
#[test]
fn an_object_that_lacks_something_is_no_output() {
    let output = parsed("output");
    let run = json!({"v": 1, "type": "cancelled", "run": "x"});
    check(&output, &run, true);
    for (key, value) in [("v", json!(2)), ("type", json!("canceled")), ("run", json!(1))] {
        let mut wrong = run.clone();
        wrong[key] = value;
        check(&output, &wrong, false);
    }
    // New versions add fields, so a reader must accept unknown ones.
    check(&output, &json!({"v": 1, "type": "cancelled", "run": "x", "since": 1}), true);
}

/// Creates a journal line with this entry.
fn line(entry: &Json) -> Json {
    let mut line =
        json!({"v": 1, "seq": 1, "batch": 1, "left": 0, "at": "2026-02-06T08:56:00.123Z", "sum": "9a3f01c2"});
    for (kind, body) in entry.as_object().unwrap() {
        line[kind] = body.clone();
    }
    line
}

fn call() -> CallId {
    CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 }
}

fn failure() -> Failure {
    Failure {
        class: FailureClass::Quota,
        message: "m".into(),
        by_deadline: true,
        by_budget: true,
        limit: Some(TurnLimit::Calls),
        until: Some(Moment(1)),
        exit_code: Some(1),
        stderr: Some("e".into()),
        unwritten: None,
    }
}

fn found() -> ReportLocation {
    ReportLocation { file: "a.md".into(), how: ReportClue::Clue, start: 0, end: 1, unclosed: true }
}

fn usage() -> Usage {
    Usage { input: Some(1), output: Some(1), cached: Some(1), reasoning: Some(1), cumulative: true }
}

fn meter() -> Meter {
    Meter { usage: usage(), cost: Some(Usd(1)) }
}

fn started() -> Start {
    Start {
        definition: "d".into(),
        dialect: "x".into(),
        task: Text::Blob { hash: "00".into(), bytes: 1 },
        seed: u64::MAX,
        interactive: true,
        rehearsal: false,
        patience: Millis(1),
        directory: "/".into(),
        head: None,
        uncommitted: Vec::new(),
        report_directory: "/r".into(),
        subject: [("diff".to_owned(), Text::from("x"))].into(),
        delivery: Some(json!({"branch": "b"})),
        texts: vec![TextFile {
            stage: "s".into(),
            is_check: true,
            source: TextSource::GlobalFallback,
            file: "f".into(),
        }],
        workflow: "00".into(),
        version: "0".into(),
        forked_from: Some("r".into()),
        origin: RunOrigin {
            mcp_request: Some("0".into()),
            parent: Some(ParentTurn { run: "r".into(), call: "c".into(), directory: "/d".into() }),
        },
    }
}

fn finding() -> FindingMark {
    FindingMark {
        fingerprint: "f".into(),
        severity: Some(Severity::Important),
        file: Some("src/a.rs".into()),
        text: "t".into(),
        waived: true,
    }
}

fn evidence() -> StallEvidence {
    let (stage, rounds) = (|| "fix".into(), || vec![1, 3]);
    let signals = vec![
        StallSignal::Still { stage: stage(), tree: "3f2a".into(), rounds: rounds() },
        StallSignal::Back { stage: stage(), tree: "3f2a".into(), rounds: rounds() },
        StallSignal::Same { stage: stage(), findings: vec![finding()], rounds: rounds() },
        StallSignal::Grow { stage: stage(), open: vec![1, 2], rounds: rounds() },
        StallSignal::Spend { percent: 50 },
    ];
    StallEvidence { stages: vec![stage()], signals, since: 1, spent: Usd(1) }
}

fn replied() -> Replied {
    let reading = Reading {
        quotation: "the tests fail".to_owned(),
        digest: "d".into(),
        tail: "t".into(),
        tag: Some(Tag { number: None, line: 1 }),
        quoted_tags: vec![Tag { number: Some(0), line: 2 }],
        verdict: Some(saihai_model::ReportedVerdict {
            number: 0,
            reason: "the tests fail".into(),
            findings: vec!["f".into()],
            calls: 1,
        }),
        channel: Some(saihai_model::VerdictChannel::Tool),
        degraded: Some(saihai_model::VerdictToolProblem::NotStarted("r".into())),
        events: vec![PublishedEvent { topic: "t".into(), message: Some("m".into()), line: 1 }],
        end_word: Some("w".into()),
        near_misses: vec!["n".into()],
        output: Some(json!([1])),
        violations: vec!["v".into()],
        reports: vec![found()],
        listed_findings: Some(vec![finding()]),
        blocks: vec![saihai_model::ReplyBlock { kind: "k".into(), value: json!(1) }],
        keywords: vec!["k".into()],
        exit: Some(saihai_model::ProgramExit::Code(1)),
        warnings: vec!["w".into()],
    };
    let long = Some(Text::Blob { hash: "00".into(), bytes: 5_000 });
    let tool = ToolUsed {
        name: "Read".into(),
        input: Some(json!(1)),
        long_input: long.clone(),
        output: Some(json!("x")),
        long_output: long,
        duration_ms: 1,
    };
    Replied {
        call: call(),
        provider: Some("p".into()),
        text: Text::from("t"),
        spoken: Some(Text::from("s")),
        messages: vec![1],
        session: Some("s".into()),
        usage: usage(),
        cost: Some(Usd(1)),
        tools_used: vec![tool],
        metered: Some(meter()),
        denied: 1,
        duration: Millis(1),
        revision: Some("r".into()),
        so_far: Some("all".into()),
        cached: false,
        tree: Some(TreeFact::Seen(TreeState {
            id: "3f2a".into(),
            base: "b".into(),
            changed: Some(vec!["src/a.rs".into()]),
        })),
        reading,
    }
}

/// Returns one of each fact, with all optional fields.
fn facts() -> Vec<Fact> {
    let performed = |outcome| Fact::Performed { call: call(), outcome };
    let output = [("a".to_owned(), json!(1))].into();
    let budget = Budget { usd: Some(Usd(1)), tokens: Some(1), turns: Some(1), time: Some(Millis(1)) };
    let raise = Raise { rounds: Some(1), budget, runtime: Some(Millis(1)), patience: Millis(1), now: true };
    let answer = Answer { call: call(), by: AnsweredBy::Auto, label: "yes".into(), text: Some("t".into()) };
    let failed = CallFailed {
        provider: Some("claude".into()),
        usage: usage(),
        cost: Some(Usd(1)),
        session: Some("s".into()),
        metered: Some(meter()),
        output: Some(json!({})),
        ..CallFailed::new(call(), failure())
    };
    vec![
        Fact::Started(Box::new(started())),
        Fact::Asked { call: call(), attempt: 1, prompt: Some(Text::from("p")) },
        Fact::Replied(Box::new(replied())),
        Fact::Failed(Box::new(failed)),
        performed(Outcome::Done { label: Some("l".into()), output }),
        performed(Outcome::NotYet),
        performed(Outcome::Delayed { reason: "r".into() }),
        performed(Outcome::Waiting { reason: "r".into() }),
        performed(Outcome::Failed(failure())),
        Fact::Answered(answer),
        Fact::Woke,
        Fact::Reopened,
        Fact::Resumed(raise),
        Fact::Interrupted { by: "ctrl-c".into() },
        Fact::StorageFailed { call: Some(call()), path: "p".into(), message: "m".into() },
        Fact::Cancelled { by: "me".into() },
        Fact::Told(PersonNote { heading: "h".into(), text: "t".into(), to: Some("plan".into()), now: true }),
        Fact::FilesCounted(FileChangeCounts { files: 1, added: 2, removed: 3 }),
        Fact::Lent(BudgetLoan { run: "r".into(), cost: Cost { usd: Usd(1), tokens: 2, turns: 3 } }),
        Fact::Withdrawn { note: 1 },
    ]
}

/// Returns one of each decision, with all optional fields.
fn decisions() -> Vec<Decision> {
    let exited = |to| {
        let verdict = Verdict {
            by: By::Tag,
            labels: vec![Some("l".into()), None],
            rule: Some(0),
            topic: Some("t".into()),
            to,
        };
        Decision::Exited { stage: "plan".into(), verdict }
    };
    let parked = |hold| Decision::Parked { hold };
    let finished = |ending| Decision::Finished { ending };
    let called = |place| Decision::Called { call: call(), place, purpose: Some(Purpose::Question) };
    vec![
        Decision::Entered { stage: "plan".into(), visit: 1, consecutive: 1 },
        Decision::Round { round: 1, iteration: 1 },
        called(RoundPosition::Main(0)),
        called(RoundPosition::Exit),
        Decision::Correct { call: call(), violations: vec!["v".into()] },
        Decision::Retry {
            call: call(),
            attempt: 2,
            not_before: Moment(1),
            provider: Some("p".into()),
            new_session: true,
        },
        Decision::Unfit { call: call(), provider: "p".into() },
        Decision::Repeated { call: call(), attempt: 2 },
        Decision::Noted { call: call(), notes: vec![1] },
        Decision::Reports { call: call(), found: vec![found()] },
        Decision::Alarm { monitor: 0, count: 3, overrode: Some("l".into()) },
        exited(Destination::Again),
        exited(Destination::Stage("review".into())),
        exited(Destination::End(Ending::Failed("abort".into()))),
        Decision::Stalled { evidence: evidence(), then: StallConsequence::Nudged },
        Decision::Refused { missing: vec!["t".into()] },
        Decision::Remarked { topic: "t".into(), remark: Remark::Orphaned },
        Decision::Exhausted { stage: "s".into(), topic: "t".into(), instead: Some("o".into()) },
        parked(Hold::Person(call())),
        parked(Hold::Outside(call(), "checks".into())),
        parked(Hold::Until(Moment(1), FailureClass::Quota)),
        parked(Hold::Provider(call(), FailureClass::Auth)),
        parked(Hold::Limit("max_iterations".into())),
        parked(Hold::Budget),
        parked(Hold::NoProgress(Box::new(evidence()))),
        parked(Hold::Storage("p".into())),
        parked(Hold::Interrupted),
        finished(Ending::Completed("complete".into())),
        finished(Ending::Declined),
    ]
}

/// Returns the names of a tagged union, with and without a body.
fn names(schema: &Json) -> BTreeSet<String> {
    let forms = schema["anyOf"].as_array().unwrap();
    let words = forms.iter().filter_map(|form| form["enum"].as_array()).flatten().filter_map(Json::as_str);
    let bodies = forms.iter().filter_map(|form| form["properties"].as_object()).flat_map(|map| map.keys());
    words.map(str::to_owned).chain(bodies.cloned()).collect()
}

fn name(body: &Json) -> String {
    let key = || body.as_object().unwrap().keys().next().unwrap().clone();
    body.as_str().map_or_else(key, str::to_owned)
}

/// Returns the name of a fact. A new fact does not compile until it is listed here. It then also belongs in [`facts`]
/// and in the schema.
fn fact_name(fact: &Fact) -> &'static str {
    match fact {
        Fact::Started(_) => "started",
        Fact::Asked { .. } => "asked",
        Fact::Replied(_) => "replied",
        Fact::Failed(_) => "failed",
        Fact::Performed { .. } => "performed",
        Fact::Answered(_) => "answered",
        Fact::Woke => "woke",
        Fact::Reopened => "reopened",
        Fact::Resumed(_) => "resumed",
        Fact::Interrupted { .. } => "interrupted",
        Fact::StorageFailed { .. } => "storage_failed",
        Fact::Cancelled { .. } => "cancelled",
        Fact::Told(_) => "told",
        Fact::FilesCounted(_) => "files_counted",
        Fact::Lent(_) => "lent",
        Fact::Withdrawn { .. } => "withdrawn",
    }
}

/// Does the same for a decision.
fn decision_name(decision: &Decision) -> &'static str {
    match decision {
        Decision::Entered { .. } => "entered",
        Decision::Round { .. } => "round",
        Decision::Called { .. } => "called",
        Decision::Correct { .. } => "correct",
        Decision::Retry { .. } => "retry",
        Decision::Unfit { .. } => "unfit",
        Decision::Repeated { .. } => "repeated",
        Decision::Noted { .. } => "noted",
        Decision::Reports { .. } => "reports",
        Decision::Alarm { .. } => "alarm",
        Decision::Exited { .. } => "exited",
        Decision::Stalled { .. } => "stalled",
        Decision::Refused { .. } => "refused",
        Decision::Remarked { .. } => "remarked",
        Decision::Exhausted { .. } => "exhausted",
        Decision::Parked { .. } => "parked",
        Decision::Finished { .. } => "finished",
    }
}

#[test]
fn every_fact_and_decision_is_a_line_of_the_journal() {
    let journal = parsed("journal");
    let (mut known_facts, mut known_decisions) = (BTreeSet::new(), BTreeSet::new());
    for fact in facts() {
        let named = fact_name(&fact);
        let entry = serde_json::to_value(RecordEntry::Fact(fact)).unwrap();
        check(&journal, &line(&entry), true);
        assert_eq!(name(&entry["fact"]), named);
        known_facts.insert(named.to_owned());
    }
    for decision in decisions() {
        let named = decision_name(&decision);
        let entry = serde_json::to_value(RecordEntry::Decision(decision)).unwrap();
        check(&journal, &line(&entry), true);
        assert_eq!(name(&entry["decision"]), named);
        known_decisions.insert(named.to_owned());
    }
    assert_eq!(known_facts, names(&journal["$defs"]["fact"]));
    assert_eq!(known_decisions, names(&journal["$defs"]["decision"]));
}

#[test]
fn a_line_with_a_key_or_a_fact_nobody_knows_is_no_line() {
    let journal = parsed("journal");
    let round = json!({"decision": {"round": {"round": 1, "iteration": 1}}});
    check(&journal, &line(&round), true);
    check(&journal, &line(&json!({})), false);
    check(&journal, &line(&json!({"fact": "wok"})), false);
    check(&journal, &line(&json!({"fact": "woke", "decision": round["decision"]})), false);
    check(&journal, &line(&json!({"decision": {"round": {"round": 1, "iteraton": 1}}})), false);
    let mut more = line(&round);
    more["extra"] = json!(1);
    check(&journal, &more, false);
}

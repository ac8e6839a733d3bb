//! Tests of the projection: a run of an earlier release, and short journals.

use std::collections::BTreeMap;
use std::convert::Infallible;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as PointValue;
use saihai_model::{Moment, Record, Text, Workflow};
use saihai_view::RunView;
use serde_json::{Value, json};

use crate::{OtelEnvironment, OtlpResource, OtlpSpan, OtlpTraces, TelemetryRun, TextReader};

const JOURNAL: &str = include_str!("../../../tests/golden/0.1.0/piece/run/journal.ndjson");
const WORKFLOW: &str = include_str!("../../../tests/golden/0.1.0/piece/run/workflow.json");
const RUN: &str = "20261115-224719-release-it";

struct TestRun {
    workflow: Workflow,
    view: RunView,
}

impl TestRun {
    fn of_records(records: impl IntoIterator<Item = Record>) -> Self {
        let mut records = records.into_iter();
        let mut view = RunView::begin(&records.next().unwrap()).unwrap();
        records.for_each(|record| view.apply(record));
        Self { workflow: serde_json::from_str(WORKFLOW).unwrap(), view }
    }

    /// Reads the journal of the earlier release.
    fn golden() -> Self {
        Self::of_records(JOURNAL.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let at: jiff::Timestamp = line["at"].as_str().unwrap().parse().unwrap();
            let entry = ["fact", "decision"].into_iter().find(|kind| !line[kind].is_null()).unwrap();
            Record {
                seq: line["seq"].as_u64().unwrap(),
                at: Moment(u64::try_from(at.as_millisecond()).unwrap()),
                entry: serde_json::from_value(json!({entry: line[entry]})).unwrap(),
            }
        }))
    }

    /// Builds a run of the same definition from its start and these entries, one second each.
    fn of_entries(forked_from: Option<&str>, entries: impl IntoIterator<Item = Value>) -> Self {
        let start = json!({"fact": {"started": {
            "definition": "golden", "dialect": "piece", "task": {"inline": "x"}, "seed": 7, "interactive": false,
            "rehearsal": false, "patience": 0, "directory": "/", "report_directory": "/", "workflow": "",
            "version": "0.1.0", "forked_from": forked_from,
        }}});
        let all = std::iter::once(start).chain(entries);
        Self::of_records((1..).zip(all).map(|(seq, entry)| {
            let entry = serde_json::from_value(entry).unwrap();
            Record { seq, at: Moment(seq * 1000), entry }
        }))
    }

    fn with<T>(&self, use_run: impl FnOnce(TelemetryRun<'_>) -> T) -> T {
        let state = self.view.state(None);
        use_run(TelemetryRun { id: RUN, workflow: &self.workflow, view: &self.view, state: &state })
    }

    fn spans(&self) -> Vec<OtlpSpan> {
        self.with(|run| run.spans(None::<&TextReader<'_, Infallible>>).unwrap())
    }

    /// Returns the spans with all texts, which are inline here.
    fn spans_with_content(&self) -> Vec<OtlpSpan> {
        let read = |text: &Text| Ok::<_, Infallible>(text.inline().unwrap().to_owned());
        self.with(|run| run.spans(Some(&read)).unwrap())
    }

    fn metrics(&self) -> String {
        self.with(|run| serde_json::to_string(&run.metrics(&resource())).unwrap())
    }
}

fn resource() -> OtlpResource {
    OtelEnvironment::new(&|_| None).resource("0.1.0").unwrap()
}

fn json_of(spans: Vec<OtlpSpan>) -> String {
    serde_json::to_string(&OtlpTraces::new(resource(), spans)).unwrap()
}

/// Returns the value of an attribute in plain form.
fn value(span: &OtlpSpan, key: &str) -> Option<String> {
    let attribute = span.attributes.iter().find(|attribute| attribute.key == key)?;
    let value = json!(attribute.value);
    let plain = value.as_object().unwrap().values().next().unwrap().clone();
    Some(plain.as_str().map_or_else(|| plain.to_string(), str::to_owned))
}

/// Draws names, times in milliseconds since the first span, and one attribute, indented by depth.
fn tree(spans: &[OtlpSpan], key: &str) -> String {
    let time = |span: &OtlpSpan, end: &str| -> u64 {
        json!(span)[format!("{end}TimeUnixNano")].as_str().unwrap().parse::<u64>().unwrap() / 1_000_000
    };
    let zero = time(&spans[0], "start");
    let mut depths = BTreeMap::new();
    let mut drawn = String::new();
    for span in spans {
        let depth = span.parent_span_id.map_or(0, |parent| depths[&parent.to_string()] + 1);
        depths.insert(span.span_id.to_string(), depth);
        let value = value(span, key).map(|value| format!(" {value}")).unwrap_or_default();
        let (start, end) = (time(span, "start") - zero, time(span, "end") - zero);
        drawn.push_str(&format!("{}{} {start}-{end}{value}\n", "  ".repeat(depth), span.name));
    }
    drawn
}

fn call(n: u32) -> Value {
    json!({"stage": "plan", "visit": 1, "round": 1, "n": n})
}

/// Entries of a run up to its first request.
fn first_turn() -> Vec<Value> {
    vec![
        json!({"decision": {"entered": {"stage": "plan", "visit": 1, "consecutive": 1}}}),
        json!({"decision": {"round": {"round": 1, "iteration": 1}}}),
        json!({"decision": {"called": {"call": call(1), "place": {"main": 0}, "purpose": "work"}}}),
        asked(1),
    ]
}

fn asked(attempt: u32) -> Value {
    json!({"fact": {"asked": {"call": call(1), "attempt": attempt, "prompt": {"inline": "Secret prompt"}}}})
}

fn replied(more: Value) -> Value {
    let mut reply = json!({
        "call": call(1), "text": {"inline": "Secret reply"}, "duration": 5, "session": "s-1", "provider": "claude",
        "usage": {"input": 900, "cached": 800, "output": 120, "reasoning": 20}, "cost": 20_000,
        "reading": {"digest": ""},
    });
    reply.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"fact": {"replied": reply}})
}

fn completed() -> Vec<Value> {
    vec![
        json!({"decision": {"exited": {"stage": "plan", "verdict": {
            "by": "tag", "labels": ["planned"], "rule": 0, "to": "complete"}}}}),
        json!({"decision": {"finished": {"ending": {"completed": "complete"}}}}),
    ]
}

// V-31
#[test]
fn a_run_is_a_tree_of_visits_agents_actions_and_gates() {
    insta::assert_snapshot!(tree(&TestRun::golden().spans(), "saihai.exit.method"), @"
    invoke_workflow golden 0-68
      stage plan 0-16 tag
        invoke_agent plan 0-6
        action save_reports 6-16
      stage build 16-25 tag
        invoke_agent build 16-25
      stage review 25-32 aggregate
        invoke_agent code 25-29
        invoke_agent tests 25-32
      stage build 32-41 judge
        invoke_agent build 32-36
        invoke_agent build#judge 36-41
      stage review 41-48 monitor
        invoke_agent code 41-44
        invoke_agent tests 41-48
      stage judge(build, review) 48-53 tag
        invoke_agent judge(build, review) 48-53
      stage build 53-56 tag
        invoke_agent build 53-56
      stage review 56-64 aggregate
        invoke_agent code 56-61
        invoke_agent tests 56-64
      stage ask 64-68 tag
        invoke_agent ask 64-68
      stage ask/input[0] 68-68
        gate ask/input[0] 68-68
    ");
}

// V-30, V-31
#[test]
fn an_unfinished_run_ends_its_open_spans_at_the_last_record() {
    let spans = TestRun::golden().spans();
    let open: Vec<&str> = spans
        .iter()
        .filter(|span| value(span, "saihai.unfinished").is_some())
        .map(|span| span.name.as_str())
        .collect();
    assert_eq!(open, ["invoke_workflow golden", "stage ask/input[0]", "gate ask/input[0]"]);
    assert_eq!(value(&spans[0], "saihai.outcome").as_deref(), Some("parked"));
    assert_eq!(value(&spans[0], "saihai.reason").as_deref(), Some("person"));
}

// V-30: the ids are hashes, so they are the same in every version
#[test]
fn a_second_export_has_the_same_bytes_and_every_span_its_own_id() {
    let run = TestRun::golden();
    let spans = run.spans();
    assert_eq!(json_of(spans.clone()), json_of(TestRun::golden().spans()));
    assert_eq!(spans[0].trace_id.to_string(), "d4fe186328f8810a7ad4df7ea062128b");
    assert_eq!(spans[0].span_id.to_string(), "de65f1960b3e7c86");
    let ids: std::collections::BTreeSet<String> = spans.iter().map(|span| span.span_id.to_string()).collect();
    assert_eq!(ids.len(), spans.len());
    let split = OtlpTraces::batches(&resource(), spans.clone(), 5_000);
    assert!(split.len() > 2);
    let joined: Vec<OtlpSpan> = split.iter().flat_map(|batch| batch.spans().to_vec()).collect();
    assert_eq!(joined, spans);
}

// V-33
#[test]
fn the_reference_implementation_reads_traces() {
    let run = TestRun::golden();
    let spans = run.spans_with_content();
    let read: ExportTraceServiceRequest = serde_json::from_str(&json_of(spans.clone())).unwrap();
    let theirs = &read.resource_spans[0].scope_spans[0].spans;
    assert_eq!(read.resource_spans[0].resource.as_ref().unwrap().attributes[0].key, "service.name");
    assert_eq!(theirs.len(), spans.len());
    for (theirs, ours) in theirs.iter().zip(&spans) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&theirs.trace_id), ours.trace_id.to_string());
        assert_eq!(hex(&theirs.span_id), ours.span_id.to_string());
        let parent = ours.parent_span_id.map(|id| id.to_string()).unwrap_or_default();
        assert_eq!(hex(&theirs.parent_span_id), parent);
        assert_eq!((theirs.name.as_str(), theirs.events.len()), (ours.name.as_str(), ours.events.len()));
        assert_eq!(theirs.attributes.len(), ours.attributes.len());
        assert!(theirs.attributes.iter().all(|one| one.value.as_ref().is_some_and(|v| v.value.is_some())));
        assert!(theirs.start_time_unix_nano >= 1_794_782_839_224_000_000);
        assert!(theirs.end_time_unix_nano >= theirs.start_time_unix_nano);
        assert!([1, 3].contains(&theirs.kind));
    }
}

// V-31, V-33
#[test]
fn the_reference_implementation_reads_metrics() {
    let mut entries = first_turn();
    entries.push(replied(json!({})));
    entries.extend(completed());
    let mut run = TestRun::of_entries(None, entries);
    run.workflow.limits.budget.turns = Some(4);
    let read: ExportMetricsServiceRequest = serde_json::from_str(&run.metrics()).unwrap();
    let resource = read.resource_metrics[0].resource.as_ref().unwrap();
    assert!(resource.attributes.iter().any(|one| one.key == "service.instance.id"));
    let mut drawn = String::new();
    for metric in &read.resource_metrics[0].scope_metrics[0].metrics {
        let points = match metric.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
                &sum.data_points
            }
            Data::Gauge(gauge) => &gauge.data_points,
            other => panic!("{other:?}"),
        };
        for point in points {
            let last = serde_json::to_value(point.attributes.last().unwrap()).unwrap();
            let number = match point.value.unwrap() {
                PointValue::AsInt(number) => number.to_string(),
                PointValue::AsDouble(number) => number.to_string(),
            };
            assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1_000_000_000, 8_000_000_000));
            let by = format!("{}={}", last["key"], last["value"]["stringValue"]).replace('"', "");
            drawn.push_str(&format!("{} {number} {} {by}\n", metric.name, metric.unit));
        }
    }
    insta::assert_snapshot!(drawn, @"
    saihai.runs 1 {run} saihai.outcome=completed
    saihai.run.duration 7 s saihai.outcome=completed
    saihai.turns 1 {turn} saihai.definition=golden
    saihai.tokens 800 {token} gen_ai.token.type=cache_read
    saihai.tokens 900 {token} gen_ai.token.type=input
    saihai.tokens 120 {token} gen_ai.token.type=output
    saihai.tokens 20 {token} gen_ai.token.type=reasoning
    saihai.cost 0.02 USD saihai.definition=golden
    saihai.budget.used 0.25 1 saihai.budget.key=turns
    ");
}

// V-31
#[test]
fn an_attempt_has_the_attributes_of_the_conventions() {
    let mut entries = first_turn();
    entries.push(json!({"fact": {"failed": {"call": call(1), "provider": "claude",
        "failure": {"class": "rate_limited", "message": "Secret message"}}}}));
    entries.push(asked(2));
    let tools = json!([
        {"name": "Read", "input": {"path": "secret.rs"}, "output": "x", "duration_ms": 300},
        {"name": "Bash", "duration_ms": 5_000},
    ]);
    entries.push(replied(json!({"tools_used": tools})));
    entries.extend(completed());
    let run = TestRun::of_entries(None, entries);
    let spans = run.spans();
    insta::assert_snapshot!(tree(&spans, "error.type"), @"
    invoke_workflow golden 0-9000
      stage plan 1000-8000
        invoke_agent plan 4000-5000 rate_limited
        invoke_agent plan 6000-7000
          execute_tool Read 6000-6300
          execute_tool Bash 6300-7000
    ");
    let attributes = |span: &OtlpSpan| {
        let lines = span.attributes.iter().map(|one| format!("{} = {}\n", one.key, json!(one.value)));
        lines.collect::<String>()
    };
    insta::assert_snapshot!(attributes(&spans[3]), @r#"
    saihai.call = {"stringValue":"plan.1.1.1"}
    saihai.stage = {"stringValue":"plan"}
    saihai.visit = {"intValue":"1"}
    saihai.iteration = {"intValue":"1"}
    saihai.purpose = {"stringValue":"work"}
    saihai.attempt = {"intValue":"2"}
    gen_ai.operation.name = {"stringValue":"invoke_agent"}
    gen_ai.provider.name = {"stringValue":"anthropic"}
    gen_ai.agent.name = {"stringValue":"plan"}
    saihai.provider = {"stringValue":"claude"}
    gen_ai.conversation.id = {"stringValue":"s-1"}
    gen_ai.usage.input_tokens = {"intValue":"900"}
    gen_ai.usage.cache_read.input_tokens = {"intValue":"800"}
    gen_ai.usage.output_tokens = {"intValue":"120"}
    gen_ai.usage.reasoning.output_tokens = {"intValue":"20"}
    saihai.cost.usd = {"doubleValue":0.02}
    "#);
    assert_eq!(json!(spans[2].status), json!({"code": 2, "message": "rate_limited"}));
    assert_eq!((value(&spans[0], "saihai.outcome").as_deref(), &spans[0].status), (Some("completed"), &None));
}

// V-31: content only on request
#[test]
fn prompts_replies_and_messages_are_left_out_unless_asked_for() {
    let mut entries = first_turn();
    entries.push(json!({"fact": {"failed": {"call": call(1), "provider": "claude",
        "failure": {"class": "crashed", "message": "Secret message", "stderr": "Secret stderr"}}}}));
    entries.push(json!({"fact": {"asked": {"call": call(1), "attempt": 2}}}));
    let tools =
        json!([{"name": "Read", "input": "Secret input", "output": "Secret output", "duration_ms": 1}]);
    entries.push(replied(json!({"tools_used": tools})));
    entries.push(json!({"decision": {"finished": {"ending": {"completed": "Secret sentence"}}}}));
    let run = TestRun::of_entries(None, entries);
    let without = json_of(run.spans()) + &run.metrics();
    assert!(!without.contains("Secret") && !without.contains("messages"), "{without}");
    let with = json_of(run.spans_with_content());
    for word in ["prompt", "reply", "message", "input", "output", "sentence"] {
        assert!(with.contains(&format!("Secret {word}")), "{word}: {with}");
    }
    // The second attempt sent the prompt of the first one again.
    assert_eq!(with.matches("Secret prompt").count(), 2);
    assert!(!with.contains("Secret stderr"));
    let message =
        r#"[{\"finish_reason\":\"stop\",\"parts\":[{\"content\":\"Secret reply\",\"type\":\"text\"}],"#;
    assert!(with.contains(message), "{with}");
}

// V-30
#[test]
fn a_fork_has_a_trace_of_its_own_with_a_link_to_the_original() {
    let mut entries = first_turn();
    entries.push(replied(json!({})));
    entries.push(json!({"decision": {"exited": {"stage": "plan", "verdict": {"by": "tag", "to": {"stage": "build"}}}}}));
    entries.push(json!({"decision": {"entered": {"stage": "build", "visit": 1, "consecutive": 1}}}));
    let original = TestRun::of_entries(None, entries.clone());
    entries.push(json!({"fact": {"interrupted": {"by": "fork"}}}));
    let fork = TestRun::of_entries(Some("the-original"), entries);
    let spans = fork.spans();
    insta::assert_snapshot!(tree(&spans, "saihai.forked_from"), @"
    invoke_workflow golden 0-0 the-original
      stage build 0-0
    ");
    let state = original.view.state(None);
    let before = TelemetryRun {
        id: "the-original",
        workflow: &original.workflow,
        view: &original.view,
        state: &state,
    };
    let root = &before.spans(None::<&TextReader<'_, Infallible>>).unwrap()[0];
    let link = &spans[0].links[0];
    assert_eq!((link.trace_id, link.span_id), (root.trace_id, root.span_id));
    assert_ne!(spans[0].trace_id, root.trace_id);
    assert!(!fork.metrics().contains("saihai.tokens"), "the original paid for the turn");
}

// V-31
#[test]
fn an_attempt_whose_process_died_ends_with_the_next_one() {
    let mut entries = first_turn();
    entries.push(json!({"fact": "reopened"}));
    entries.push(json!({"decision": {"repeated": {"call": call(1), "attempt": 2}}}));
    entries.push(asked(2));
    let run = TestRun::of_entries(None, entries);
    insta::assert_snapshot!(tree(&run.spans(), "saihai.unfinished"), @"
    invoke_workflow golden 0-7000 true
      stage plan 1000-7000 true
        invoke_agent plan 4000-7000 true
        invoke_agent plan 7000-7000 true
    ");
}

// V-31
#[test]
fn failed_actions_and_runs_have_an_error() {
    let mut entries = first_turn();
    entries.push(replied(json!({})));
    entries.push(json!({"decision": {"called": {"call": call(2), "place": {"report": 0}}}}));
    entries.push(json!({"fact": {"performed": {"call": call(2),
        "outcome": {"failed": {"class": "transient", "message": "m"}}}}}));
    entries.push(json!({"decision": {"finished": {"ending": {"failed": "abort"}}}}));
    let spans = TestRun::of_entries(None, entries).spans();
    insta::assert_snapshot!(tree(&spans, "error.type"), @"
    invoke_workflow golden 0-8000 abort
      stage plan 1000-8000
        invoke_agent plan 4000-5000
        action save_reports 6000-7000 transient
    ");
    assert_eq!(json!(spans[0].status), json!({"code": 2, "message": "failed"}));
}

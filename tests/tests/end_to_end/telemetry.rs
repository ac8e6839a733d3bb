//! Export of runs as OpenTelemetry traces and metrics, with a collector on the loopback.

use std::path::Path;
use std::time::{Duration, Instant};

use saihai_tests::{Collector, CollectorReply, FakeAgent, Outcome, Project};
use serde_json::{Value, json};

use crate::support::{GATE, GATE_REPLIES, PROGRAM, at_the_gate, project, run};

const TRACES: &str = "/v1/traces";
const METRICS: &str = "/v1/metrics";

/// Returns a project with a completed run.
fn completed() -> Project {
    let definition = "
name: it
movements:
  - name: plan
    instruction_template: Plan it with care.
    rules: [{condition: planned, next: COMPLETE}]
";
    let reply =
        "  - {for: plan, usage: {input: 900, output: 120}, cost: 0.0123, text: 'Of three parts. [STEP:0]'}\n";
    let project = project(definition, reply);
    run(&project).exits(0);
    project
}

fn export(project: &Project, collector: &Collector) -> Outcome {
    project.saihai(["export", "otel", "--endpoint", &collector.url()]).run()
}

fn spans(body: &Value) -> Vec<Value> {
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
}

fn printed(project: &Project, arguments: &[&str]) -> (String, Vec<Value>) {
    let arguments: Vec<&str> = ["export", "otel"].into_iter().chain(arguments.iter().copied()).collect();
    let outcome = project.saihai(arguments).run().exits(0);
    let spans = spans(&serde_json::from_str(&outcome.stdout).expect("JSON"));
    (outcome.stdout, spans)
}

fn attribute<'a>(owner: &'a Value, key: &str) -> Option<&'a Value> {
    let attributes = owner["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object().and_then(|value| value.values().next())
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().filter_map(|span| span["name"].as_str()).collect()
}

// V-30, V-31
#[test]
fn a_run_is_printed_as_a_trace_and_twice_as_the_same_one() {
    let project = completed();
    let (first, spans) = printed(&project, &[]);
    assert_eq!(names(&spans), ["invoke_workflow it", "stage plan", "invoke_agent plan"]);
    assert_eq!(first.lines().count(), 1);
    assert_eq!(printed(&project, &["last"]).0, first);
    assert_eq!(printed(&project, &["-o", "-"]).0, first);
    project.saihai(["export", "otel", "--out", "trace.json"]).run().exits(0);
    assert_eq!(project.read("trace.json"), first);
    assert_eq!(attribute(&spans[0], "saihai.outcome").and_then(Value::as_str), Some("completed"));
    assert_eq!(attribute(&spans[2], "gen_ai.usage.input_tokens").and_then(Value::as_str), Some("900"));
    assert_eq!(attribute(&spans[2], "saihai.cost.usd").and_then(Value::as_f64), Some(0.0123));
}

// V-31: content is off by default
#[test]
fn prompts_and_replies_are_exported_only_on_request() {
    let project = completed();
    let words = ["The task.", "Plan it with care.", "Of three parts."];
    let (without, _) = printed(&project, &[]);
    assert!(!words.iter().any(|words| without.contains(words)), "{without}");
    let (with, _) = printed(&project, &["--content"]);
    assert!(words.iter().all(|words| with.contains(words)), "{with}");
    let collector = Collector::start(|_, _| CollectorReply::Accept);
    export(&project, &collector).exits(0);
    for request in collector.requests() {
        let body = request.body.to_string();
        assert!(!words.iter().any(|words| body.contains(words)), "{body}");
    }
}

// V-30, V-31, V-33
#[test]
fn a_collector_gets_trace_and_metrics_with_the_headers_of_the_environment() {
    let project = completed();
    let (_, expected) = printed(&project, &[]);
    let collector = Collector::start(|_, _| CollectorReply::Accept);
    let outcome = project
        .saihai(["export", "otel"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20c2VzYW1l,x-team=a")
        .env("OTEL_SERVICE_NAME", "ci")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        .run()
        .exits(0);
    let trace = expected[0]["traceId"].as_str().expect("an id");
    assert_eq!(outcome.stdout, format!("exported 3 spans as trace {trace}\n"));
    assert_eq!(outcome.stderr, "");
    let bodies = collector.bodies(TRACES);
    let [body] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert_eq!(spans(body), expected);
    let resource = &body["resourceSpans"][0]["resource"];
    assert_eq!(attribute(resource, "service.name").and_then(Value::as_str), Some("ci"));
    assert_eq!(attribute(resource, "deployment.environment.name").and_then(Value::as_str), Some("test"));
    let metrics = collector.bodies(METRICS);
    let [metrics] = metrics.as_slice() else { panic!("{metrics:?}") };
    let metrics = metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().expect("metrics");
    assert_eq!(
        names(metrics),
        ["saihai.runs", "saihai.run.duration", "saihai.turns", "saihai.tokens", "saihai.cost"]
    );
    for request in collector.requests() {
        assert_eq!(request.method, "POST");
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("authorization"), Some("Basic c2VzYW1l"));
        assert_eq!(request.header("x-team"), Some("a"));
    }
    // A file is written even if a collector is known.
    let unsent = project.saihai(["export", "otel", "-o", "-"]);
    unsent.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).run().exits(0);
    assert_eq!(collector.requests().len(), 2);
}

// V-33
#[test]
fn a_busy_collector_is_asked_again_and_a_refusal_is_final() {
    let project = completed();
    let busy = Collector::start(|_, number| match number {
        0 => CollectorReply::Busy(429, 0),
        1 => CollectorReply::Busy(503, 1),
        _ => CollectorReply::Accept,
    });
    export(&project, &busy).exits(0);
    let bodies = busy.bodies(TRACES);
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let refusing = Collector::start(|_, _| CollectorReply::Refuse(500));
    let outcome = export(&project, &refusing).exits(4);
    assert_eq!(outcome.stdout, "");
    let url = refusing.url();
    assert_eq!(
        outcome.stderr,
        format!(
            "error: cannot export to `{url}/v1/traces`: the collector refused the data with status 500: not now\n"
        )
    );
    assert_eq!(refusing.requests().len(), 1);
}

// V-33: Jaeger and Langfuse take no metrics
#[test]
fn a_backend_without_metrics_gets_the_trace() {
    let project = completed();
    let collector = Collector::start(|request, _| match request.path.as_str() {
        TRACES => CollectorReply::Accept,
        _ => CollectorReply::Refuse(404),
    });
    let outcome = export(&project, &collector).exits(0);
    assert!(outcome.stdout.starts_with("exported 3 spans"), "{outcome}");
    assert!(outcome.stderr.starts_with("note: the collector takes no metrics"), "{outcome}");
}

// V-32
#[test]
fn a_collector_that_hangs_or_is_gone_ends_the_command_in_time() {
    let project = completed();
    let hanging = Collector::start(|_, _| CollectorReply::Hang);
    let started = Instant::now();
    let call = project.saihai(["export", "otel", "--endpoint", &hanging.url()]);
    let outcome = call.env("OTEL_EXPORTER_OTLP_TIMEOUT", "200").run().exits(4);
    assert!(started.elapsed() < Duration::from_secs(10), "{outcome}");
    assert!(outcome.stderr.contains("did not answer within 200 ms"), "{outcome}");
    let gone = hanging.url();
    drop(hanging);
    let outcome = project.saihai(["export", "otel", "--endpoint", &gone]).run().exits(4);
    assert!(outcome.stderr.contains("cannot reach the collector"), "{outcome}");
    assert!(outcome.stderr.contains("run the same command again"), "{outcome}");
}

// V-30, V-32
#[test]
fn what_cannot_be_used_is_refused_without_showing_a_secret() {
    let project = completed();
    let before = project.snapshot();
    let refused = |arguments: &[&str], variables: &[(&str, &str)]| {
        let arguments: Vec<&str> = ["export"].into_iter().chain(arguments.iter().copied()).collect();
        let call = project.saihai(arguments);
        let call = variables.iter().fold(call, |call, (name, value)| call.env(name, value));
        let outcome = call.run().exits(2);
        assert!(outcome.stdout.is_empty() && outcome.stderr.starts_with("error: "), "{outcome}");
        assert!(!outcome.stderr.contains("sesame"), "{outcome}");
    };
    refused(&[], &[]);
    refused(&["zipkin"], &[]);
    refused(&["otel", "no-such-run"], &[]);
    refused(&["otel", "--endpoint", "localhost"], &[]);
    refused(&["otel", "--endpoint", "http://localhost:1", "-o", "x.json"], &[]);
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1");
    refused(&["otel"], &[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    refused(&["otel"], &[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "sesame")]);
    refused(&["otel"], &[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "a%0Ab=sesame")]);
    assert_eq!(project.snapshot(), before);
}

// V-30: resume continues the trace
#[test]
fn a_resumed_run_keeps_its_spans_and_ends_the_open_ones() {
    let project = at_the_gate();
    let (_, parked) = printed(&project, &[]);
    let open = |spans: &[Value]| -> Vec<String> {
        let open = spans.iter().filter(|span| attribute(span, "saihai.unfinished").is_some());
        open.filter_map(|span| span["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(open(&parked), ["invoke_workflow it", "stage ask/input[0]", "gate ask/input[0]"]);
    assert_eq!(attribute(&parked[0], "saihai.reason").and_then(Value::as_str), Some("person"));
    project.saihai(["answer", "last", "Blue."]).run().exits(0);
    let (text, ended) = printed(&project, &[]);
    assert_eq!(open(&ended), [""; 0]);
    assert!(!text.contains("Blue."), "{text}");
    for span in &parked {
        let now = ended.iter().find(|other| other["spanId"] == span["spanId"]).expect("the same span");
        assert_eq!((&now["traceId"], &now["name"]), (&span["traceId"], &span["name"]));
        if attribute(span, "saihai.unfinished").is_none() {
            assert_eq!(now, span);
        }
    }
}

// V-30
#[test]
fn a_fork_links_to_the_trace_of_its_original() {
    let project = project(GATE, GATE_REPLIES);
    run(&project).exits(6);
    let (_, original) = printed(&project, &[]);
    project.saihai(["fork", "last"]).run().exits(0);
    let (_, fork) = printed(&project, &[]);
    assert_ne!(fork[0]["traceId"], original[0]["traceId"]);
    let link = &fork[0]["links"][0];
    assert_eq!((&link["traceId"], &link["spanId"]), (&original[0]["traceId"], &original[0]["spanId"]));
    // The fork starts at the gate; the turn before it is in the trace of the original.
    assert_eq!(names(&fork), ["invoke_workflow it", "stage ask/input[0]", "gate ask/input[0]"]);
}

// V-32
#[test]
fn an_agent_gets_the_context_of_its_own_span_and_no_credentials() {
    let project = Project::new(PROGRAM);
    let definition = "
name: it
movements:
  - name: plan
    provider: claude
    rules: [{condition: planned, next: COMPLETE}]
";
    project.write(".takt/pieces/it.yaml", definition);
    let program = Path::new(env!("CARGO_BIN_EXE_saihai-fake-agent"));
    let answers = json!([{"status": 401}, {"text": "[STEP:0]"}]);
    let fake = FakeAgent::install(&project, program, &["claude"], &answers);
    let secret = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=sesame");
    fake.saihai(["run", "it", "T"]).env(secret.0, secret.1).run().exits(4);
    fake.saihai(["resume"]).env(secret.0, secret.1).run().exits(0);
    let (_, spans) = printed(&project, &[]);
    let agents = spans.iter().filter(|span| span["name"] == "invoke_agent plan");
    let contexts: Vec<String> = agents
        .map(|span| [&span["traceId"], &span["spanId"]].map(|id| id.as_str().expect("an id").to_owned()))
        .map(|[trace, span]| format!("00-{trace}-{span}-01"))
        .collect();
    assert_eq!(contexts.len(), 2);
    let calls = fake.calls();
    let given: Vec<&str> = calls.iter().filter_map(|call| call.variable("TRACEPARENT")).collect();
    assert_eq!(given, contexts);
    assert!(calls.iter().all(|call| call.variable(secret.0).is_none()));
}

/// Returns the names of all spans that a collector got, in order.
fn received(collector: &Collector) -> Vec<String> {
    let bodies = collector.bodies(TRACES);
    let all: Vec<Value> = bodies.iter().flat_map(spans).collect();
    names(&all).into_iter().map(str::to_owned).collect()
}

fn live(project: &Project, arguments: &[&str], collector: &Collector) -> saihai_tests::Invocation {
    project.saihai(arguments.iter().copied()).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url())
}

const TOLD: [&str; 5] = ["run", "it", "The task.", "--script", "script.yaml"];

// V-30: each span is sent once, when it has ended, and a resumed run continues the trace
#[test]
fn a_run_is_sent_while_it_runs_and_after_it_is_resumed() {
    let project = project(GATE, GATE_REPLIES);
    let collector = Collector::start(|_, _| CollectorReply::Accept);
    live(&project, &[&TOLD[..], &["--otel"]].concat(), &collector).run().exits(6);
    assert_eq!(received(&collector), ["stage ask", "invoke_agent ask"]);
    let first = spans(&collector.bodies(TRACES)[0])[0]["traceId"].clone();
    project.write(".saihai/config.toml", "[telemetry]\notel = true\n");
    live(&project, &["answer", "last", "Blue."], &collector).run().exits(0);
    let bodies = collector.bodies(TRACES);
    let last = spans(bodies.last().expect("a request"));
    assert_eq!(last[0]["traceId"], first);
    let names: std::collections::BTreeSet<String> = received(&collector).into_iter().collect();
    for name in ["invoke_workflow it", "stage use", "invoke_agent use"] {
        assert!(names.contains(name), "{names:?}");
    }
}

// V-30: a long turn does not keep the spans before it from the collector
#[test]
fn spans_arrive_before_the_run_ends() {
    let definition = "
name: it
movements:
  - name: plan
    rules: [{condition: planned, next: build}]
  - name: build
    rules: [{condition: built, next: COMPLETE}]
";
    let replies = "  - {for: plan, text: '[STEP:0]'}\n  - {for: build, delay: 60, text: '[STEP:0]'}\n";
    let project = project(definition, replies);
    let collector = Collector::start(|_, _| CollectorReply::Accept);
    let running = live(&project, &[&TOLD[..], &["--otel"]].concat(), &collector).start();
    let begun = Instant::now();
    while received(&collector) != ["stage plan", "invoke_agent plan"] {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", received(&collector));
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(running);
}

// V-32: a failing or hanging collector never slows or stops a run
#[test]
fn a_bad_collector_is_a_warning_at_the_end() {
    for reply in [CollectorReply::Refuse(500), CollectorReply::Refuse(403), CollectorReply::Hang] {
        let project = project(GATE, GATE_REPLIES);
        let collector = Collector::start(move |_, _| reply);
        let begun = Instant::now();
        let outcome = live(&project, &[&TOLD[..], &["--otel"]].concat(), &collector).run().exits(6);
        assert!(begun.elapsed() < Duration::from_secs(10), "{reply:?}: {:?}", begun.elapsed());
        assert!(outcome.stderr.contains("`saihai export otel` sends the whole run"), "{reply:?}: {outcome}");
    }
    let project = project(GATE, GATE_REPLIES);
    let nowhere = project.saihai([&TOLD[..], &["--otel"]].concat()).run().exits(6);
    assert!(
        nowhere.stderr.contains("warning: no telemetry: OTEL_EXPORTER_OTLP_ENDPOINT names no"),
        "{nowhere}"
    );
}

//! The board of `saihai serve` for issues (V-5), and telemetry of their runs (V-30).

use saihai_tests::{Collector, CollectorReply, PageClient};
use serde_json::{Value, json};

use super::github::Scene;
use super::{commit, outcomes, repository, work, writes};

fn board(page: &PageClient) -> Vec<Value> {
    page.get("/api/batch")["issues"].as_array().expect("issues").clone()
}

/// Returns id, column and words of each issue.
fn columns(page: &PageClient) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |issue: &Value| [&issue["id"], &issue["column"], &issue["words"]].map(text).join(" | ");
    board(page).iter().map(row).collect()
}

// V-5: the page asks no forge, and still shows what waits there
#[test]
fn issues_of_a_forge_wait_on_the_board_until_a_run_begins_them() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Login fails", &["saihai"]);
        state.issue(9, "Another", &["saihai"]).body = "Depends on #7".to_owned();
    });
    let page = PageClient::start(scene.project.saihai(["serve", "--json", "--port", "0"]));
    assert_eq!(board(&page), Vec::<Value>::new());
    scene.asking(&["--label", "saihai"]).run().exits(6);
    let requests = scene.server.requests().len();
    assert_eq!(
        columns(&page),
        ["#7 | at_gate | waiting for you at `deliver/pre-loop`", "#9 | waiting | not begun"]
    );
    let waiting = &board(&page)[1];
    assert_eq!((&waiting["run"], &waiting["depends_on"]), (&Value::Null, &json!(["#7"])));
    assert_eq!(waiting["title"], "Another");
    assert_eq!(scene.server.requests().len(), requests, "the page asked the forge");
    scene.call(&["--label", "saihai", "--merge"]).run().exits(0);
    assert_eq!(columns(&page), ["#7 | merged | completed (merged)", "#9 | merged | completed (no-changes)"]);
    let merged = &board(&page)[0];
    assert_eq!(merged["pull_request"], "https://github.com/me/tool/pull/10");
    assert_eq!(merged["checks"], "passed");
    // V-3: the worktree is gone, and its commit is compared.
    let rows = page.get("/api/home");
    let row =
        rows["runs"].as_array().expect("rows").iter().find(|row| row["id"] == merged["run"]).expect("a row");
    assert_eq!(row["changes"], json!({"files": 1, "added": 1, "removed": 0}));
}

// V-30: every issue is a trace, and a collector that hangs does not keep the others waiting
#[test]
fn the_runs_of_all_issues_are_sent() {
    let reply =
        |prompt: &str, file: &str| writes(file).replacen("{text", &format!("{{prompt: {prompt}, text"), 1);
    let project = repository(&(reply("Login", "fixed.txt") + &reply("message", "other.txt")));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write(".saihai/issues/8.md", "# The message names no reason\n");
    commit(&project);
    let collector = Collector::start(|_, _| CollectorReply::Accept);
    let arguments = ["--auto", "--merge", "--jobs", "2", "--otel"];
    let call = work(&project, &arguments).env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    let outcome = call.run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged", "#8 merged"]);
    assert!(!outcome.stderr.contains("telemetry"), "{outcome}");
    let bodies = collector.bodies("/v1/traces");
    let spans: Vec<Value> = bodies
        .iter()
        .flat_map(|body| {
            body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
        })
        .collect();
    let whole: Vec<&Value> = spans.iter().filter(|span| span["name"] == "invoke_workflow it").collect();
    assert_eq!(whole.len(), 2, "each run is sent once");
    assert_ne!(whole[0]["traceId"], whole[1]["traceId"]);
    // Without a collector, the work is done all the same.
    project.write(".saihai/issues/9.md", "# Login again\n");
    commit(&project);
    let outcome = work(&project, &["--auto", "--issues", "9", "--otel"]).run();
    assert!(
        outcome.stderr.contains("no telemetry: OTEL_EXPORTER_OTLP_ENDPOINT names no collector"),
        "{outcome}"
    );
    assert_eq!(outcomes(&outcome), ["#9 no-changes"], "{outcome}");
}

//! `saihai serve` and `saihai show --html`, without a browser: V-1 to V-10, V-34.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_tests::{Live, PageClient, Project};
use serde_json::{Value, json};

use crate::support::{GATE, GATE_REPLIES, PROGRAM, at_the_gate, project, run};

const LOOP: &str = "\
name: it
movements:
  - name: plan
    rules: [{condition: ready, next: COMPLETE}, {condition: again, next: plan}]
";

const SLOW: &str = "  - {for: plan, delay: 60, text: '[STEP:0]'}\n";

fn serve(project: &Project) -> PageClient {
    PageClient::start(project.saihai(["serve", "--json", "--port", "0"]))
}

/// Starts a run in another process, and waits until its first turn is asked.
fn started(project: &Project) -> Live {
    let mut live = project.saihai(["run", "it", "The task.", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    live
}

fn rows(page: &PageClient) -> Vec<Value> {
    page.get("/api/home")["runs"].as_array().expect("rows").clone()
}

fn only_run(page: &PageClient) -> String {
    let rows = rows(page);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows[0]["id"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn done(answer: &saihai_tests::PageAnswer, words: &str) -> Value {
    let reply = answer.json();
    assert!(answer.status == 200 && reply["is_done"] == true, "{answer:?}");
    assert!(reply["words"].as_str().expect("words").contains(words), "{answer:?}");
    reply
}

#[track_caller]
fn refused(answer: &saihai_tests::PageAnswer, status: u16, words: &str) {
    let reply = answer.json();
    assert!(answer.status == status && reply["is_done"] == false, "{answer:?}");
    assert!(reply["words"].as_str().expect("words").contains(words), "{answer:?}");
}

// V-1
#[test]
fn the_link_works_once_and_an_empty_project_has_an_empty_page() {
    let project = Project::new(PROGRAM);
    let page = serve(&project);
    let again = page.send("GET", &page.link, &[("Cookie", "other=1")], "");
    // The cookie of this browser counts; the token alone does not any more.
    assert_eq!((again.status, again.header("location")), (303, Some("/")), "{again:?}");
    let stranger = PageClient::start_without_opening(project.saihai(["serve", "--json", "--port", "0"]));
    let refused = stranger.send("GET", "/", &[], "");
    assert!(refused.status == 401 && refused.body.contains("`saihai serve` printed"), "{refused:?}");
    let home = page.get("/api/home");
    assert_eq!((&home["runs"], &home["read_only"]), (&json!([]), &json!(false)));
    let index = page.send("GET", "/", &[], "");
    assert!(index.body.contains("app.js") && !index.body.contains("<script>"), "{index:?}");
    for (path, kind) in [("/app.js", "text/javascript"), ("/app.css", "text/css")] {
        let asset = page.send("GET", path, &[], "");
        assert!(asset.header("content-type").is_some_and(|found| found.starts_with(kind)), "{}", asset.head);
    }
}

// V-10, T-87
#[test]
fn foreign_sites_and_strangers_get_nothing() {
    let project = at_the_gate();
    let page = serve(&project);
    let run = only_run(&page);
    let port = page.address.rsplit(':').next().expect("a port").to_owned();
    let paths = ["/api/home", "/api/batch", "/api/search?q=x", "/api/events", &format!("/api/runs/{run}")];
    for path in paths {
        let rebound = page.send("GET", path, &[("Host", &format!("evil.example:{port}"))], "");
        assert_eq!(rebound.status, 403, "{path}: {rebound:?}");
        let foreign = page.send("GET", path, &[("Origin", "http://evil.example")], "");
        assert_eq!(foreign.status, 403, "{path}: {foreign:?}");
        assert_eq!(foreign.header("access-control-allow-origin"), None);
    }
    let answer = json!({"call": "ask/input[0].1.1.1", "yes": null, "text": "Blue."}).to_string();
    let target = format!("/api/runs/{run}/answer");
    let json = ("Content-Type", "application/json");
    let cross = page.send("POST", &target, &[json, ("Sec-Fetch-Site", "cross-site")], &answer);
    refused(&cross, 403, "another web site");
    let form = page.send("POST", &target, &[("Content-Type", "text/plain")], &answer);
    refused(&form, 415, "has to be JSON");
    let mut stranger = serve(&project);
    stranger.cookie.clone_from(&page.cookie);
    for path in paths {
        assert_eq!(stranger.send("GET", path, &[], "").status, 401, "{path}");
    }
    let policy = page.send("GET", "/", &[], "");
    let policy = policy.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(project.journal().facts("answered").count(), 0);
}

// V-2, V-8
#[test]
fn a_killed_owner_is_shown_as_interrupted() {
    let project = project(LOOP, SLOW);
    let live = started(&project);
    let page = serve(&project);
    let run = only_run(&page);
    let mut events = page.events(&format!("?run={run}"), &[]);
    let first = events.wait_for("the run", |event| event["kind"] == "run");
    assert_eq!(first["page"]["row"]["state"], "running");
    assert_eq!(first["page"]["row"]["owner"], live.pid());
    assert_eq!(first["page"]["calls"][0]["mark"], "running");
    let killed = Instant::now();
    live.signal(Signal::KILL);
    let is_interrupted = |row: &Value| row["state"] == "interrupted";
    events.wait_for("interrupted", |event| {
        event["kind"] == "run" && is_interrupted(&event["page"]["row"])
            || event["kind"] == "rows"
                && event["rows"].as_array().is_some_and(|rows| rows.iter().any(is_interrupted))
    });
    assert!(killed.elapsed() < Duration::from_secs(2), "it took {:?}", killed.elapsed());
}

// V-8
#[test]
fn a_browser_that_comes_back_gets_only_what_it_lacks() {
    let project = at_the_gate();
    let page = serve(&project);
    let run = only_run(&page);
    let mut events = page.events(&format!("?run={run}"), &[]);
    let whole = events.wait_for("the run", |event| event["kind"] == "run")["page"].clone();
    assert_eq!(whole, page.get(&format!("/api/runs/{run}")));
    let last = events.last_id.clone();
    assert_eq!(last, whole["last_seq"].to_string());
    drop(events);
    project.saihai(["answer", "last", "Blue."]).run().exits(0);
    let mut events = page.events(&format!("?run={run}"), &[("Last-Event-ID", &last)]);
    let news = events.wait_for("the rest", |event| event["kind"] == "run")["page"].clone();
    assert_eq!(news["since"].to_string(), last);
    assert_eq!(news["row"]["state"], "completed");
    let changed: Vec<&str> =
        news["calls"].as_array().expect("calls").iter().filter_map(|call| call["id"].as_str()).collect();
    assert_eq!(changed, ["ask/input[0].1.1.1", "use.1.1.1"]);
}

// V-6
#[test]
fn a_gate_is_answered_and_the_run_is_resumed_from_the_page() {
    let project = at_the_gate();
    let page = serve(&project);
    let run = only_run(&page);
    assert_eq!(rows(&page)[0]["state"], "waiting");
    let shown = page.get(&format!("/api/runs/{run}"));
    assert!(shown["gate"]["question"].as_str().expect("a question").contains("What colour?"), "{shown:#}");
    assert_eq!(shown["next"], json!([format!("saihai answer {run} TEXT")]));
    let answer = |text: &str| {
        let body = json!({"call": shown["gate"]["call"], "yes": null, "text": text});
        page.post(&format!("/api/runs/{run}/answer"), &body)
    };
    refused(&answer(" "), 409, "the answer is empty");
    let other = json!({"call": "use.1.1.1", "yes": true, "text": null});
    refused(&page.post(&format!("/api/runs/{run}/answer"), &other), 409, "another question");
    done(&answer("Blue."), "is answered");
    assert_eq!(rows(&page)[0]["state"], "answered");
    let mut events = page.events("", &[]);
    let resume = json!({"budget": null, "max_iterations": null});
    done(&page.post(&format!("/api/runs/{run}/resume"), &resume), "continues in a process of its own");
    events.wait_for("its end", |event| {
        event["rows"].as_array().is_some_and(|rows| rows.iter().any(|row| row["state"] == "completed"))
    });
    assert!(project.journal().prompt("use").contains("Blue."));
}

// V-6, V-20
#[test]
fn a_run_is_told_withdrawn_forked_and_cancelled_from_the_page() {
    let project = project(LOOP, "  - {for: plan, text: \"[STEP:1]\", times: \"*\"}");
    let budget = ["run", "it", "The task.", "--script", "script.yaml", "--budget", "turns=1"];
    project.saihai(budget).run().exits(5);
    let page = serve(&project);
    let run = only_run(&page);
    let post = |what: &str, body: Value| page.post(&format!("/api/runs/{run}/{what}"), &body);
    let note = |text: &str, stage: Option<&str>| json!({"text": text, "stage": stage, "now": false});
    done(&post("tell", note("Use tabs.", Some("plan"))), "the next prompt of `plan` shows your note");
    refused(&post("tell", note("x", Some("nowhere"))), 409, "nowhere");
    let shown = page.get(&format!("/api/runs/{run}"));
    assert_eq!(shown["notes"][0]["text"], "Use tabs.");
    done(&post("withdraw", json!({"note": 1})), "note 1 is withdrawn");
    assert_eq!(page.get(&format!("/api/runs/{run}"))["notes"][0]["is_withdrawn"], true);
    let forked = done(&post("fork", json!({"at": null})), "forked at event");
    let fork = forked["run"].as_str().expect("a run").to_owned();
    assert_eq!(page.get(&format!("/api/runs/{fork}"))["relatives"], json!([run]));
    done(&post("cancel", json!({})), "is cancelled");
    refused(&post("cancel", json!({})), 409, "cancelled");
    refused(&post("resume", json!({"budget": "usd=lots", "max_iterations": null})), 409, "usd=lots");
    let malformed = page.send(
        "POST",
        &format!("/api/runs/{run}/tell"),
        &[("Content-Type", "application/json")],
        "{\"text\": 1}",
    );
    assert_eq!(malformed.status, 422, "{malformed:?}");
    refused(&page.post("/api/runs/20200101-nothing/cancel", &json!({})), 409, "20200101-nothing");
}

// V-1, V-6
#[test]
fn a_page_for_reading_changes_nothing() {
    let project = at_the_gate();
    let page = PageClient::start(project.saihai(["serve", "--json", "--port", "0", "--read-only"]));
    let run = only_run(&page);
    assert_eq!(page.get("/api/home")["read_only"], true);
    for what in ["answer", "tell", "withdraw", "cancel", "resume", "fork"] {
        let body = json!({
            "call": "ask/input[0].1.1.1", "yes": null, "text": "Blue.", "stage": null, "now": false, "note": 1,
            "budget": null, "max_iterations": null, "at": null,
        });
        refused(&page.post(&format!("/api/runs/{run}/{what}"), &body), 403, "--read-only");
    }
    assert_eq!(project.journal().facts("answered").count(), 0);
}

// V-2: one broken run directory is one broken row
#[test]
fn broken_runs_do_not_hide_others() {
    let project = at_the_gate();
    let broken = [
        ("20200101-000001-garbage", Some("garbage\n".to_owned())),
        ("20200101-000002-empty", Some(String::new())),
        ("20200101-000003-nothing", None),
        ("20200101-000004-newer", Some(newer(&project))),
    ];
    for (name, journal) in &broken {
        let directory = project.root().join(".saihai/runs").join(name);
        fs::create_dir_all(&directory).expect("a directory");
        if let Some(journal) = journal {
            fs::write(directory.join("journal.ndjson"), journal).expect("a journal");
        }
    }
    let page = serve(&project);
    let rows = rows(&page);
    assert_eq!(rows[0]["state"], "waiting", "{rows:#?}");
    for (name, journal) in broken {
        let row = rows.iter().find(|row| row["id"] == name);
        // A directory without a journal is a run that never began.
        let Some(row) = row else {
            assert_eq!(journal, None, "{rows:#?}");
            continue;
        };
        assert_eq!(row["state"], "broken", "{row:#}");
        assert!(row["words"].as_str().expect("words").starts_with("cannot be read: "), "{row:#}");
        refused(&page.send("GET", &format!("/api/runs/{name}"), &[], ""), 404, "");
    }
    let missing = page.send("GET", "/api/runs/20990101-000000-missing", &[], "");
    refused(&missing, 404, "20990101-000000-missing");
    assert_eq!(page.get("/api/search?q=colour")["hits"][0]["part"], "reply");
}

/// Returns the journal of the run with a version that does not exist yet.
fn newer(project: &Project) -> String {
    let journal = fs::read_to_string(project.journal().path()).expect("a journal");
    journal.replace("\"v\":1", "\"v\":99")
}

// V-4, V-14: each dialect has a page, and all its texts can be read
#[test]
fn every_dialect_has_a_page() {
    let hats = Project::new(PROGRAM);
    hats.write(
        "orch.yml",
        "hats:\n  a: {name: A, triggers: [task.start, b.done], publishes: [b.done, LOOP_COMPLETE], instructions: Work.}\n",
    );
    hats.write(
        "script.yaml",
        "script: 1\nreplies:\n  - {text: 'EVENT: b.done'}\n  - {text: 'LOOP_COMPLETE'}\n",
    );
    hats.saihai(["run", "orch", "The task.", "--script", "script.yaml"]).run().exits(0);
    let steps = Project::new(PROGRAM);
    let agent = json!({
        "version": "1.0.0", "name": "it",
        "behavior": {
            "systemPromptPath": "prompts/system.md", "allowedTools": [], "permissionMode": "plan",
            "completionType": "iterationBudget", "completionConfig": {"maxIterations": 2},
        },
        "prompts": {"registry": "steps_registry.json"},
    });
    steps.write(".agent/it/agent.json", agent.to_string());
    let step = json!({"prompt": {"path": "a.md"}, "next": "a"});
    let registry = json!({"version": "1.0.0", "basePath": "prompts", "entryStep": "a", "steps": {"a": step}});
    steps.write(".agent/it/steps_registry.json", registry.to_string());
    steps.write(".agent/it/prompts/system.md", "You work.\n").write(".agent/it/prompts/a.md", "Do a.\n");
    steps.write("script.yaml", "script: 1\nreplies:\n  - {text: 'a reply', times: \"*\"}\n");
    steps.saihai(["run", "it", "--script", "script.yaml"]).run().exits(0);
    let piece = at_the_gate();
    let review = crate::review::reviewed_with_a_finding();
    for (project, dialect) in [(hats, "hats"), (steps, "steps"), (piece, "piece"), (review, "review")] {
        let page = serve(&project);
        let run = only_run(&page);
        let shown = page.get(&format!("/api/runs/{run}"));
        assert_eq!(shown["row"]["dialect"], dialect);
        assert!(!shown["exits"].as_array().expect("exits").is_empty(), "{dialect}: {shown:#}");
        let calls = shown["calls"].as_array().expect("calls");
        assert!(!calls.is_empty(), "{dialect}");
        for call in calls.iter().filter(|call| call["kind"] == "agent") {
            let id = call["id"].as_str().expect("an id").replace('[', "%5B").replace(']', "%5D");
            let texts = page.get(&format!("/api/runs/{run}/calls/{}", id.replace('/', "%2F")));
            assert!(texts["prompt"].is_string() && texts["reply"].is_string(), "{dialect}: {texts:#}");
        }
        let findings = shown["findings"].as_array().expect("findings").len();
        assert_eq!(findings > 0, dialect == "review", "{dialect}");
        page.get(&format!("/api/runs/{run}/changes"));
        page.get("/api/batch");
    }
}

// V-7, V-34
#[test]
fn texts_are_searched_and_figures_are_collected() {
    let project = at_the_gate();
    let page = serve(&project);
    let found = page.get("/api/search?q=COLOUR%3F");
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["hit"], &hit["stage"], &hit["part"]),
        (&json!("colour?"), &json!("ask"), &json!("reply"))
    );
    assert_eq!(page.get("/api/search?q=")["hits"], json!([]));
    assert_eq!(page.get("/api/search?q=nowhere-at-all")["hits"], json!([]));
    // A collector of metrics has no cookie, and gets no texts.
    let mut stranger = serve(&project);
    stranger.cookie.clear();
    let metrics = stranger.send("GET", "/metrics", &[], "");
    assert_eq!(metrics.status, 200, "{metrics:?}");
    assert!(metrics.body.contains("saihai_runs{definition=\"it\",state=\"waiting\"} 1\n"), "{metrics:?}");
    assert!(!metrics.body.contains("colour") && !metrics.body.contains("The task"), "{metrics:?}");
}

// V-1
#[test]
fn several_projects_share_a_page() {
    let (one, two) = (at_the_gate(), project(GATE, GATE_REPLIES));
    run(&two).exits(6);
    let paths = [one.root(), two.root()].map(|root| root.display().to_string());
    let serve = ["serve", "--json", "--port", "0", "--projects", &paths[0], &paths[1]];
    let page = PageClient::start(one.saihai(serve));
    let home = page.get("/api/home");
    assert_eq!(home["projects"].as_array().map(Vec::len), Some(2));
    let mut projects: Vec<Option<u64>> = rows(&page).iter().map(|row| row["project"].as_u64()).collect();
    projects.sort_unstable();
    assert_eq!(projects, [Some(0), Some(1)]);
    // The same task may start in the same second in two projects.
    let id = two.runs().remove(0);
    for old in one.runs() {
        fs::rename(one.root().join(".saihai/runs").join(old), one.root().join(".saihai/runs").join(&id))
            .unwrap();
    }
    let both = page.get("/api/home");
    let both: Vec<&Value> = both["runs"].as_array().expect("rows").iter().collect();
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|row| row["run"] == *id) && both[0]["id"] != both[1]["id"], "{both:?}");
    for row in both {
        let address = row["id"].as_str().expect("an address");
        let run = page.get(&format!("/api/runs/{address}"));
        assert_eq!((&run["row"]["id"], &run["row"]["project"]), (&row["id"], &row["project"]));
        let project = if row["project"] == 0 { &one } else { &two };
        let told = page.post(&format!("/api/runs/{address}/tell"), &json!({"text": "Here."}));
        done(&told, "the next prompt shows your note");
        let journal = fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
        assert!(journal.contains("Here."), "the other project got the note");
    }
    let outcome = one.saihai(["serve", "--projects", "nowhere"]).run().exits(2);
    assert!(outcome.stderr.contains("`nowhere` is not a directory"), "{outcome}");
    let taken = page.address.rsplit(':').next().expect("a port").to_owned();
    let outcome = one.saihai(["serve", "--port", &taken]).run().exits(4);
    assert!(outcome.stderr.contains(&format!("port {taken}")), "{outcome}");
}

// V-1, V-15: every project of this user in which a run has started, and no other
#[test]
fn all_projects_of_the_machine_share_a_page() {
    let (one, two) = (project(GATE, GATE_REPLIES), project(GATE, GATE_REPLIES));
    let serve = || PageClient::start(one.saihai(["serve", "--json", "--port", "0", "--all"]));
    let page = serve();
    assert_eq!((&page.get("/api/home")["projects"], rows(&page).len()), (&json!([]), 0));
    run(&one).exits(6);
    let other = two.saihai(["run", "it", "The task.", "--script", "script.yaml"]);
    other.env("HOME", one.home()).run().exits(6);
    let page = serve();
    let paths: Vec<String> = page.get("/api/home")["projects"]
        .as_array()
        .expect("projects")
        .iter()
        .map(|project| project["path"].as_str().expect("a path").to_owned())
        .collect();
    let roots = [one.root(), two.root()].map(|root| root.canonicalize().unwrap().display().to_string());
    assert_eq!(paths, roots);
    assert_eq!(rows(&page).len(), 2);
    let outcome = one.saihai(["serve", "--all", "--projects", "."]).run().exits(2);
    assert!(outcome.stderr.contains("`--all` and `--projects` exclude each other"), "{outcome}");
}

// V-3: the list shows changed lines without asking git
#[test]
fn the_list_has_the_lines_that_a_run_changed() {
    let project = project(GATE, GATE_REPLIES);
    project.git(["init", "--quiet"]).run().exits(0);
    project.write("kept.txt", "one\ntwo\n").write("dirty.txt", "one\n");
    project.git(["add", "."]).run().exits(0);
    project.git(["commit", "--quiet", "--message", "Start."]).run().exits(0);
    project.write("dirty.txt", "one\nmine\n").write("mine.txt", "mine\n");
    let page = serve(&project);
    run(&project).exits(6);
    let id = only_run(&page);
    let changes = |page: &PageClient| rows(page)[0]["changes"].clone();
    assert_eq!(changes(&page), json!({"files": 0, "added": 0, "removed": 0}));
    // As an agent would between its turns.
    project.write("kept.txt", "two\nthree\nfour\n").write("new.txt", "a\nb\n");
    project.saihai(["answer", &id, "Blue."]).run().exits(0);
    assert_eq!(changes(&page), json!({"files": 2, "added": 4, "removed": 1}));
    assert_eq!(page.get(&format!("/api/runs/{id}"))["row"]["changes"], changes(&page));
    let shown = project.saihai(["show", &id]).run().exits(0);
    assert!(shown.stdout.contains("2 files changed (+4 −1)"), "{shown}");
    // The journal has the figure: the page needs neither git nor the files.
    fs::rename(project.root().join(".git"), project.root().join("gone")).expect("a repository");
    project.write("kept.txt", "");
    assert_eq!(changes(&serve(&project)), json!({"files": 2, "added": 4, "removed": 1}));
    // A run that is only shown again is not counted again.
    let before = fs::read(project.run_directory().join("journal.ndjson")).expect("a journal");
    project.saihai(["resume", &id]).run().exits(0);
    assert_eq!(fs::read(project.run_directory().join("journal.ndjson")).expect("a journal"), before);
}

// V-9
#[test]
fn a_run_is_saved_as_one_file() {
    let replies = "  - {for: ask, text: '</script><script>alert(1)</script> What colour? [STEP:0]'}\n";
    let project = project(GATE, replies);
    run(&project).exits(6);
    project.saihai(["show", "last", "--html", "run.html"]).run().exits(0);
    let page = project.read("run.html");
    assert!(page.starts_with("<!doctype html>"));
    assert!(!page.contains("alert(1)</script>"), "the reply ends the element");
    assert_eq!(page.matches("</script>").count(), 2);
    for outside in ["src=\"", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let data = page.split("id=\"saved\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let saved: Value = serde_json::from_str(data.expect("the data")).expect("JSON");
    assert_eq!(saved["run"]["row"]["state"], "waiting");
    assert!(saved["texts"][0]["reply"].as_str().expect("a reply").contains("</script>"));
    assert!(saved["texts"][0]["prompt"].as_str().expect("a prompt").contains("The task."));
    project.saihai(["show", "--html", "short.html", "--without-prompts"]).run().exits(0);
    assert!(!project.read("short.html").contains("## Execution Context"));
    let outcome = project.saihai(["show", "last", "ask", "--html", "x.html"]).run().exits(2);
    assert!(outcome.stderr.contains("a page shows a whole run"), "{outcome}");
    let outcome = project.saihai(["show", "--html", "no/such/x.html"]).run().exits(4);
    assert!(outcome.stderr.contains("cannot write `no/such/x.html`"), "{outcome}");
}

/// Returns a figure of `/proc/PID/status` in kilobytes, or a count.
fn figure(page: &PageClient, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", page.pid())).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a figure");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
}

// V-12: a reply of 100 MB reaches the browser only when a person asks for all of it, and never the server's memory
#[test]
fn a_very_long_reply_is_cut_for_the_page_and_loaded_whole_on_request() {
    let project = project(LOOP, "  - {text: unused}\n");
    project.write(
        ".saihai/config.toml",
        "provider = 'printer'\n[providers.printer]\nkind = 'command'\nprogram = '/bin/sh'\n\
         args = ['-c', 'yes \"The function keeps its input.\" | head -c 100000000; echo; echo [STEP:0]']\nhonours = ['readonly']\n",
    );
    project.saihai(["--trust-project", "run", "it", "The task."]).run().exits(0);
    let page = serve(&project);
    let run = only_run(&page);
    page.get(&format!("/api/runs/{run}"));
    let before = figure(&page, "VmHWM");
    let call = format!("/api/runs/{run}/calls/plan.1.1.1");
    let texts = page.get(&call);
    assert_eq!(texts["is_cut"], true);
    let start = texts["reply"].as_str().expect("a reply");
    assert!(start.len() <= 1_000_000, "{}", start.len());
    let whole = page.send("GET", &format!("{call}/whole/reply"), &[], "");
    assert_eq!((whole.status, whole.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert_eq!(whole.header("content-disposition"), Some("attachment; filename=\"reply.txt\""));
    let shown = project.saihai(["show", &run, "plan", "--reply"]).run().exits(0);
    assert!(whole.body.len() > 10_000_000 && whole.body.starts_with(start), "{}", whole.body.len());
    assert!(whole.body.trim_end() == shown.stdout.trim_end(), "the command prints another text");
    let after = figure(&page, "VmHWM");
    assert!(after < before + 12_000, "{before} kB before the reply was shown, {after} kB after it");
    refused(&page.send("GET", "/api/runs/none/calls/plan.1.1.1/whole/reply", &[], ""), 404, "none");
    refused(&page.send("GET", &format!("/api/runs/{run}/calls/plan.9.1.1/whole/reply"), &[], ""), 404, "no call");
    assert_eq!(page.send("GET", &format!("{call}/whole/else"), &[], "").status, 400);
    assert_eq!(page.send("GET", &format!("{call}/whole/reply"), &[("Cookie", "")], "").status, 401);
}

// V-8: a page that is left open for a day. A day has few more events than its runs, but many new connections: laptops
// sleep, and browsers stop hidden pages
#[test]
fn a_thousand_connections_leave_nothing_behind() {
    let project = project(LOOP, SLOW);
    let live = started(&project);
    let page = serve(&project);
    let run = only_run(&page);
    let connect = |times: usize| {
        for _ in 0..times {
            let mut events = page.events(&format!("?run={run}"), &[]);
            events.wait_for("the run", |event| event["kind"] == "run");
        }
    };
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", page.pid())).expect("descriptors").count();
    connect(100);
    let (size, open) = (figure(&page, "VmRSS"), descriptors());
    connect(1_000);
    // A stream notices that its browser is gone when it has something to send, at the latest with the next sign of life.
    let begun = Instant::now();
    while descriptors() > open + 4 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(descriptors() <= open + 4, "{open} descriptors became {}", descriptors());
    let later = figure(&page, "VmRSS");
    assert!(later < size + 8_000, "{size} kB became {later} kB");
    // The session is as valid as at its beginning.
    assert_eq!(only_run(&page), run);
    live.signal(Signal::KILL);
}

// V-18: the line-based way to follow a run
#[test]
fn show_prints_again_when_the_run_changes() {
    let replies = "  - {for: plan, visit: 1, delay: 2, text: '[STEP:1]'}\n  - {for: plan, delay: 1, text: '[STEP:0]'}\n";
    let project = project(LOOP, replies);
    let live = started(&project);
    let watched = project.saihai(["show", "last", "--watch", "--json"]).run().exits(0).json();
    live.finish().exits(0);
    let outcomes: Vec<&Value> = watched.iter().map(|shown| &shown["result"]["outcome"]).collect();
    assert!(outcomes.len() >= 2, "{outcomes:?}");
    assert_eq!((outcomes[0], outcomes[outcomes.len() - 1]), (&json!("running"), &json!("completed")));
    let over = project.saihai(["show", "last", "--watch"]).run().exits(0);
    assert_eq!(over.stdout, project.saihai(["show", "last"]).run().exits(0).stdout);
}

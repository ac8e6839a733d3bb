//! `saihai mcp`: N-20, N-21.

use std::fs;

use rustix::process::Signal;
use saihai_tests::{Invocation, McpClient, Project};
use serde_json::{Value, json};

use crate::support::{GATE, GATE_REPLIES, PROGRAM, project};

const PLAN: &str = "\
name: it
max_iterations: 5
movements:
  - name: plan
    report: {name: plan.md}
    rules: [{condition: ready, next: COMPLETE}, {condition: again, next: plan}]
";

const PLANNED: &str = "  - {for: plan, text: \"修正する\\n```markdown\\n# The plan\\n```\\n[STEP:0]\"}\n";
const SLOW: &str = "  - {for: plan, delay: 60, text: '[STEP:0]'}\n";

/// Creates a project whose replies are scripted for every command.
fn scripted(definition: &str, replies: &str) -> Project {
    let project = project(definition, replies);
    project
        .write(".saihai/config.toml", "provider = \"script\"\n[providers.script]\nfile = \"script.yaml\"\n");
    project
}

fn mcp(project: &Project) -> Invocation {
    project.saihai(["mcp"]).env("SAIHAI_TRUST_PROJECT", "1")
}

fn plan(task: &str) -> Value {
    json!({"definition": "it", "task": task, "budget": "turns=9", "worktree": false})
}

/// Starts a run, and returns its id.
#[track_caller]
fn started(client: &mut McpClient, arguments: Value) -> String {
    let answer = client.answer("start_run", arguments);
    answer["run"].as_str().expect("its id").to_owned()
}

// N-20
#[test]
fn the_server_describes_itself_and_its_tools() {
    let project = Project::new(PROGRAM);
    let mut client = McpClient::start(mcp(&project));
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let tools = listed.as_array().expect("tools").iter().map(|tool| {
        let schema = &tool["inputSchema"];
        let names: Vec<&String> = schema["properties"].as_object().expect("an object").keys().collect();
        assert_eq!(schema["additionalProperties"], false);
        let reads = tool["annotations"]["readOnlyHint"] == true;
        format!(
            "{} {names:?} required {} reads {reads}\n",
            tool["name"].as_str().unwrap(),
            schema["required"]
        )
    });
    insta::assert_snapshot!(tools.collect::<String>(), @r#"
    list_definitions [] required null reads true
    check ["paths"] required null reads true
    start_run ["budget", "definition", "max_iterations", "model", "provider", "task", "values", "worktree"] required ["definition","budget"] reads false
    list_runs ["limit", "state"] required null reads true
    get_run ["run"] required ["run"] reads true
    read ["limit", "offset", "report", "run", "stage", "visit", "what"] required ["run","what"] reads true
    explain ["limit", "offset", "run"] required ["run"] reads true
    review ["agents", "base", "budget", "files", "model", "provider"] required ["budget"] reads false
    cancel_run ["run"] required ["run"] reads false
    "#);
    // The protocol without sessions has the same tools.
    let mut other = McpClient::without_session(mcp(&project));
    assert_eq!(other.request("tools/list", json!({}))["result"]["tools"], listed);
    assert_eq!(other.close().code, Some(0));
    assert_eq!(client.close().exits(0).stderr, "");
}

// N-20
#[test]
fn the_server_survives_bad_messages_and_ends_with_its_stdin() {
    let project = Project::new(PROGRAM);
    let mut client = McpClient::start(mcp(&project));
    let unknown = client.request("tools/call", json!({"name": "strat_run", "arguments": {}}));
    assert_eq!(
        unknown["error"],
        json!({"code": -32602, "message": "there is no tool `strat_run`; did you mean `start_run`?"})
    );
    assert_eq!(client.request("no/such/method", json!({}))["error"]["code"], -32601);
    assert_eq!(client.request("tools/call", json!({"arguments": []}))["error"]["code"], -32601);
    for line in ["", "{", "[1, 2]", "null", "{\"jsonrpc\":\"2.0\"}", "\u{1b}[31m"] {
        client.line(line);
    }
    client.line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(21 << 20)));
    assert_eq!(client.answer("list_runs", json!({})), json!({"runs": []}));
    client.close().exits(0);
    // A client that says nothing, or leaves within a message.
    for line in [None, Some("{\"jsonrpc\":\"2.0\",")] {
        let mut silent = McpClient::unopened(mcp(&project));
        line.into_iter().for_each(|line| silent.line(line));
        silent.close().exits(0);
    }
}

// N-20
#[test]
fn an_agent_starts_a_run_and_reads_everything_about_it() {
    let project = scripted(PLAN, PLANNED);
    let mut client = McpClient::start(mcp(&project));
    let definitions = client.answer("list_definitions", json!({}))["definitions"].clone();
    assert_eq!((&definitions[0]["name"], &definitions[0]["origin"]), (&json!("it"), &json!("project")));
    let checked = client.answer("check", json!({"paths": [".takt/pieces/it.yaml"]}));
    assert_eq!(checked["bounds"][0]["definition"], "it");

    let run = started(&mut client, plan("Fix it, - \"please\" -.\n第二行"));
    let status = client.settled(&run);
    assert_eq!(
        (&status["state"], &status["words"]),
        (&json!("completed"), &json!("completed")),
        "{status:#}"
    );
    assert_eq!(status["result"]["budget"], json!({"turns": 9, "spent": {"turns": 1}}));
    assert_eq!(status["reports"][0]["file"], "plan.md");
    assert_eq!(client.answer("get_run", json!({"run": "last"})), status);
    let runs = client.answer("list_runs", json!({"state": "completed"}))["runs"].clone();
    assert_eq!((runs.as_array().map(Vec::len), &runs[0]["run"]), (Some(1), &json!(run)));
    assert_eq!(client.answer("list_runs", json!({"state": "failed"})), json!({"runs": []}));

    let read = |client: &mut McpClient, what: &str| client.answer("read", json!({"run": run, "what": what}));
    assert_eq!(read(&mut client, "report")["text"], "# The plan\n");
    let reply = read(&mut client, "reply");
    assert_eq!((&reply["name"], &reply["total"]), (&json!("plan, visit 1, round 1"), &json!(48)));
    let whole = reply["text"].as_str().expect("a text").to_owned();
    let (mut paged, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let page = client.answer("read", json!({"run": run, "what": "reply", "offset": offset, "limit": 10}));
        paged.push_str(page["text"].as_str().expect("a text"));
        offset = page["next_offset"].clone();
    }
    assert_eq!(paged, whole);
    let explained = client.answer("explain", json!({"run": run}));
    assert_eq!(
        (&explained["total"], &explained["transitions"][0]["condition"]),
        (&json!(1), &json!("ready"))
    );
    let rest = client.answer("explain", json!({"run": run, "offset": 1}));
    assert_eq!(rest["transitions"], json!([]));

    // The task has reached the run as it was sent.
    let log = project.saihai(["log", "--json"]).run().exits(0).stdout;
    let first: Value = serde_json::from_str(log.lines().next().expect("an event")).expect("an object");
    assert_eq!(first["event"]["fact"]["started"]["task"]["inline"], "Fix it, - \"please\" -.\n第二行");
    client.close().exits(0);
}

// N-20
#[test]
fn a_run_works_in_a_worktree_unless_told_otherwise() {
    let project = scripted(
        &PLAN.replace("    report", "    edit: true\n    report"),
        "  - for: plan\n    writes: [{path: new.txt, content: \"one\\n\"}]\n    text: '[STEP:0]'\n",
    );
    let mut client = McpClient::start(mcp(&project));
    let asked = json!({"definition": "it", "task": "x", "budget": "turns=9"});
    let refused =
        client.refusal("start_run", asked.clone()).replace(&project.root().display().to_string(), "PROJECT");
    insta::assert_snapshot!(refused, @"
    error: `PROJECT` is not in a git repository
      = help: run `git init` and commit something first
      = help: `--no-worktree` works in this directory
    ");
    for arguments in [["init", "-q"].as_slice(), &["add", "."], &["commit", "-qm", "start"]] {
        project.git(arguments).run().exits(0);
    }
    let run = started(&mut client, asked);
    let status = client.settled(&run);
    assert_eq!(status["state"], "completed", "{status:#}");
    assert!(!project.root().join("new.txt").exists());
    let diff = client.answer("read", json!({"run": run, "what": "diff"}));
    let added = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+one\n";
    assert_eq!(diff, json!({"run": run, "what": "diff", "text": added, "offset": 0, "total": 101}));
}

// N-20
#[test]
fn bad_arguments_are_refused_in_words_that_help() {
    let project = scripted(PLAN, PLANNED);
    let mut client = McpClient::start(mcp(&project));
    let mut told = String::new();
    for (tool, arguments) in [
        ("start_run", json!({"definition": "it", "task": "x"})),
        ("start_run", json!({"definition": "it", "task": "x", "budget": "lots"})),
        ("start_run", json!({"definition": "it", "budget": "turns=1", "worktree": false})),
        ("start_run", json!({"definition": "its", "task": "x", "budget": "turns=1"})),
        ("start_run", json!({"definition": "--help", "task": "x", "budget": "turns=1"})),
        ("start_run", json!({"definition": "it", "task": "x", "budget": "turns=1", "trust_project": true})),
        ("start_run", json!({"definition": "it", "task": "x", "budget": "turns=1", "provider": "nobody"})),
        ("start_run", json!({"definition": "it", "task": "x", "budget": "turns=1", "values": {"a": 1}})),
        ("review", json!({"budget": "turns=1", "base": "main", "files": ["x"]})),
        ("get_run", json!({"run": "last"})),
        ("list_runs", json!({"limit": 0})),
        ("cancel_run", json!({})),
    ] {
        told.push_str(&format!("{tool} {arguments}\n{}\n\n", client.refusal(tool, arguments.clone())));
    }
    let run = started(&mut client, plan("x"));
    client.settled(&run);
    for arguments in [
        json!({"run": run, "what": "report", "report": "other.md"}),
        json!({"run": run, "what": "report", "stage": "plan"}),
        json!({"run": run, "what": "reply", "stage": "plam"}),
        json!({"run": run, "what": "reply", "visit": 7}),
        json!({"run": run, "what": "reply", "offset": 1_000_000}),
        json!({"run": run, "what": "diff"}),
    ] {
        let refused = client.refusal("read", arguments.clone()).replace(&run, "RUN");
        told.push_str(&format!("read {}\n{refused}\n\n", arguments.to_string().replace(&run, "RUN")));
    }
    let told = told.replace(&project.root().display().to_string(), "PROJECT");
    insta::assert_snapshot!(told, @r#"
    start_run {"definition":"it","task":"x"}
    the argument `budget` is missing
    help: Maximum spending: any of `usd=5,tokens=2000000,turns=40,minutes=90`

    start_run {"budget":"lots","definition":"it","task":"x"}
    error: `lots` does not fit `--budget`: `lots` has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas

    start_run {"budget":"turns=1","definition":"it","worktree":false}
    error: `it` needs a task
      = help: pass a task: `saihai run it "fix the login"`

    start_run {"budget":"turns=1","definition":"its","task":"x"}
    error[piece/unknown-piece]: no definition is named `its`; looked in `.saihai/pieces`, `.takt/pieces`, `.takt/workflows`, `~/.config/saihai/pieces`, `~/.takt/pieces` and `~/.takt/workflows` and among the built-in ones; the step agents are `iterator` and `reviewer`
      = help: there is `it`, `default`, `minimal`, `test-first`, `debug`, `review`, `review-fix`, `specialists`, `docs` and `research`

    start_run {"budget":"turns=1","definition":"--help","task":"x"}
    error[piece/unknown-piece]: no definition is named `--help`; looked in `.saihai/pieces`, `.takt/pieces`, `.takt/workflows`, `~/.config/saihai/pieces`, `~/.takt/pieces` and `~/.takt/workflows` and among the built-in ones; the step agents are `iterator` and `reviewer`
      = help: there is `it`, `default`, `minimal`, `test-first`, `debug`, `review`, `review-fix`, `specialists`, `docs` and `research`

    start_run {"budget":"turns=1","definition":"it","task":"x","trust_project":true}
    there is no argument `trust_project`

    start_run {"budget":"turns=1","definition":"it","provider":"nobody","task":"x"}
    error[provider/unknown-provider]: no provider is named `nobody`

    start_run {"budget":"turns=1","definition":"it","task":"x","values":{"a":1}}
    `values` must be an object whose values are texts

    review {"base":"main","budget":"turns=1","files":["x"]}
    `base` is for a change, and `files` for whole files: pass one of them

    get_run {"run":"last"}
    there are no runs yet in `PROJECT/.saihai/runs`

    list_runs {"limit":0}
    `limit` must be a whole number from 1 to 200

    cancel_run {}
    the argument `run` is missing
    help: Run id, a unique beginning of it, or `last`

    read {"report":"other.md","run":"RUN","what":"report"}
    run `RUN` has saved no report `other.md`
    help: it has `plan.md`

    read {"run":"RUN","stage":"plan","what":"report"}
    a report has no `stage`

    read {"run":"RUN","stage":"plam","what":"reply"}
    run `RUN` has no stage `plam`
    help: did you mean `plan`?

    read {"run":"RUN","visit":7,"what":"reply"}
    `plan` has no visit 7
    help: it has 1 visit

    read {"offset":1000000,"run":"RUN","what":"reply"}
    the text ends at offset 48

    read {"run":"RUN","what":"diff"}
    run `RUN` did not record the commit it started from
    help: it ran outside a git repository, as a rehearsal, as a review, or with an older version
    help: `saihai diff STAGE` prints the recorded edits of a stage
    "#);
    assert_eq!(project.begun().len(), 1);
}

// N-20
#[test]
fn a_killed_server_leaves_its_runs_to_the_next_one() {
    let project = scripted(PLAN, SLOW);
    let mut client = McpClient::start(mcp(&project));
    let run = started(&mut client, plan("x"));
    client.live().signal(Signal::KILL);
    drop(client);
    let mut client = McpClient::start(mcp(&project));
    let status = client.answer("get_run", json!({"run": run}));
    assert_eq!(status["state"], "working", "{status:#}");
    let cancelled = client.answer("cancel_run", json!({"run": run}));
    assert_eq!(cancelled["words"], format!("run `{run}` is cancelled; its process ends it"));
    let status = client.settled(&run);
    assert_eq!((&status["state"], &status["result"]["outcome"]), (&json!("cancelled"), &json!("cancelled")));
}

// N-20
#[test]
fn only_runs_of_agents_can_be_cancelled() {
    let project = scripted(GATE, GATE_REPLIES);
    let by_person = ["run", "it", "The task.", "--script", "script.yaml", "--trust-project"];
    project.saihai(by_person).run().exits(6);
    let mut client = McpClient::start(mcp(&project));
    let refused = client.refusal("cancel_run", json!({"run": "last"}));
    let run = project.begun().remove(0);
    assert_eq!(
        refused,
        format!("only a person can cancel run `{run}`\nhelp: `saihai cancel {run}` in a terminal cancels it")
    );
    let status = client.answer("get_run", json!({"run": "last"}));
    assert_eq!(status["state"], "input_required");
    // It is no task either.
    let mut client = McpClient::start_with_tasks(mcp(&project));
    let error = client.request("tasks/get", json!({"taskId": run}))["error"].clone();
    assert_eq!(error["message"], format!("there is no task `{run}`"));
}

// N-20
#[test]
fn a_gate_waits_for_a_person() {
    let project = scripted(GATE, GATE_REPLIES);
    let mut client = McpClient::start_with_tasks(mcp(&project));
    let task = client.call("start_run", plan("x"));
    assert_eq!(task["resultType"], "task", "{task}");
    let run = task["taskId"].as_str().expect("the id of the run").to_owned();
    let status = client.settled(&run);
    let commands = [format!("saihai answer {run} TEXT")];
    assert_eq!(
        status["input_required"],
        json!({
            "who": "a person", "commands": commands, "page": "saihai serve --open", "stage": "ask/input[0]",
            "question": "Movement `ask` needs your input: need words\n\nWhat colour?", "answer": "a text",
        }),
    );
    let task = client.request("tasks/get", json!({"taskId": run}))["result"].clone();
    assert_eq!((&task["status"], &task["inputRequests"]), (&json!("input_required"), &json!({})), "{task:#}");
    let message = task["statusMessage"].as_str().expect("a message");
    assert!(message.contains("What colour?") && message.contains(&commands[0]), "{message}");
    let answer =
        json!({"taskId": run, "inputResponses": {"x": {"action": "accept", "content": {"answer": "red"}}}});
    let refused = client.request("tasks/update", answer)["error"].clone();
    assert_eq!(refused["code"], -32602);
    assert!(
        refused["message"].as_str().expect("words").contains("only a person can answer a gate"),
        "{refused}"
    );
    // The person answers elsewhere, and another server has the result of the task.
    client.close().exits(0);
    project.saihai(["answer", &run, "red", "--json"]).env("SAIHAI_TRUST_PROJECT", "1").run().exits(0);
    let mut client = McpClient::without_session(mcp(&project));
    let task = client.request("tasks/get", json!({"taskId": run}))["result"].clone();
    assert_eq!(task["status"], "completed", "{task:#}");
    let result = &task["result"];
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["state"]),
        (&json!(false), &json!("completed"))
    );
}

// N-20
#[test]
fn a_client_may_ask_its_user_if_the_settings_allow_it() {
    let project = scripted(GATE, GATE_REPLIES);
    let settings = project.read(".saihai/config.toml");
    project.write(".saihai/config.toml", format!("{settings}[mcp]\ngates = \"elicitation\"\n"));
    let untrusted = project.saihai(["mcp"]).run().exits(2);
    assert!(untrusted.stderr.contains("`mcp.gates` can"), "{untrusted}");
    let mut client = McpClient::without_session(mcp(&project));
    let task = client.call("start_run", plan("x"));
    let run = task["taskId"].as_str().expect("the id of the run").to_owned();
    client.settled(&run);
    let task = client.request("tasks/get", json!({"taskId": run}))["result"].clone();
    let requests = task["inputRequests"].as_object().expect("requests").clone();
    let (key, request) = requests.iter().next().expect("a request");
    assert_eq!(request["params"]["message"], "Movement `ask` needs your input: need words\n\nWhat colour?");
    assert_eq!(request["params"]["requestedSchema"]["required"], json!(["answer"]));
    let mut update = |response: Value| {
        client.request("tasks/update", json!({"taskId": run, "inputResponses": {key.as_str(): response}}))
    };
    assert_eq!(update(json!({"action": "accept", "content": {}}))["error"]["code"], -32602);
    assert!(update(json!({"action": "decline"}))["error"].is_null());
    let answered = update(json!({"action": "accept", "content": {"answer": "red"}}));
    assert!(answered["error"].is_null(), "{answered}");
    assert_eq!(client.settled(&run)["state"], "completed");
    let log = project.saihai(["log", "--json"]).run().exits(0).stdout;
    assert!(log.contains("\"label\":\"answered\",\"text\":\"red\""), "{log}");
}

// N-20
#[test]
fn a_review_is_a_run_of_its_own() {
    let project = scripted(PLAN, "  - {for: r, text: '[]'}\n");
    for arguments in [["init", "-q"].as_slice(), &["add", "."], &["commit", "-qm", "start"]] {
        project.git(arguments).run().exits(0);
    }
    let mut client = McpClient::start(mcp(&project));
    let nothing = client.answer("review", json!({"budget": "turns=9", "base": "HEAD"}));
    assert_eq!(nothing["words"], "there is nothing to do", "{nothing}");
}

// N-21
#[test]
fn agent_programs_get_their_configuration_entry() {
    let project = Project::new(PROGRAM);
    let mut printed = String::new();
    for program in ["claude", "codex", "gemini", "copilot", "opencode"] {
        let outcome = project.saihai(["mcp", "install", program]).run().exits(0);
        printed.push_str(&format!("{}{}\n", outcome.stderr, outcome.stdout));
    }
    insta::assert_snapshot!(printed, @r#"
    note: this belongs in `.mcp.json` of the project; `--write` adds it
    {
      "mcpServers": {
        "saihai": {
          "args": [
            "mcp"
          ],
          "command": "saihai",
          "type": "stdio"
        }
      }
    }

    note: this belongs in `.codex/config.toml` of the project; `--write` adds it
    [mcp_servers.saihai]
    command = "saihai"
    args = ["mcp"]
    env_vars = ["SAIHAI_RUN", "SAIHAI_TURN", "SAIHAI_RUN_DIRECTORY"]

    note: this belongs in `.gemini/settings.json` of the project; `--write` adds it
    {
      "mcpServers": {
        "saihai": {
          "args": [
            "mcp"
          ],
          "command": "saihai"
        }
      }
    }

    note: this belongs in `.github/mcp.json` of the project; `--write` adds it
    {
      "mcpServers": {
        "saihai": {
          "args": [
            "mcp"
          ],
          "command": "saihai",
          "tools": [
            "*"
          ],
          "type": "local"
        }
      }
    }

    note: this belongs in `opencode.json` of the project; `--write` adds it
    {
      "mcp": {
        "saihai": {
          "command": [
            "saihai",
            "mcp"
          ],
          "enabled": true,
          "type": "local"
        }
      }
    }
    "#);
    project.write(".mcp.json", "{\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}\n");
    let written = project.saihai(["mcp", "install", "claude", "--write"]).run().exits(0);
    assert_eq!(
        written.stderr,
        "note: wrote `.mcp.json`; Claude Code asks once whether to trust the server\n"
    );
    let file: Value = serde_json::from_str(&project.read(".mcp.json")).expect("an object");
    assert_eq!(file["mcpServers"]["other"]["command"], "x");
    assert_eq!(file["mcpServers"]["saihai"]["args"], json!(["mcp"]));
    let again = project.saihai(["mcp", "install", "claude", "--write"]).run().exits(0);
    assert_eq!(again.stderr, "note: `.mcp.json` has the entry already\n");
    project.saihai(["mcp", "install", "codex", "--write"]).run().exits(0);
    assert_eq!(
        project.read(".codex/config.toml"),
        "[mcp_servers.saihai]\ncommand = \"saihai\"\nargs = [\"mcp\"]\n\
         env_vars = [\"SAIHAI_RUN\", \"SAIHAI_TURN\", \"SAIHAI_RUN_DIRECTORY\"]\n"
    );
    project.write("opencode.json", "{ // mine\n}\n");
    let before = fs::read(project.root().join("opencode.json")).expect("a file");
    let refused = project.saihai(["mcp", "install", "opencode", "--write"]).run().exits(2);
    assert!(
        refused.stderr.contains("cannot add the entry to `opencode.json`: it is no plain JSON"),
        "{refused}"
    );
    assert_eq!(fs::read(project.root().join("opencode.json")).expect("a file"), before);
    let unknown = project.saihai(["mcp", "install", "emacs"]).run().exits(2);
    assert!(unknown.stderr.contains("`emacs` does not fit `PROGRAM`"), "{unknown}");
}

/// A piece whose only turn may run commands.
const CALLER: &str = "\
name: it
movements:
  - {name: plan, edit: true, rules: [{condition: ready, next: COMPLETE}]}
";

// N-20
#[test]
fn a_run_that_an_agent_starts_is_paid_by_the_run_of_the_agent() {
    let project = project(CALLER, "  - {for: plan, runs: [{argv: [sh, outer.sh]}], text: '[STEP:0]'}\n");
    let start = |script: &str, more: &str| {
        format!(
            "{PROGRAM} run it T --script {script} --trust-project -q {more} 2>&1 </dev/null | head -n 1\n"
        )
    };
    let replies = |text: &str| format!("script: 1\nreplies:\n  - {{for: plan, {text}text: '[STEP:0]'}}\n");
    project.write("plain.yaml", replies(""));
    project.write("child.yaml", replies("runs: [{argv: [sh, inner.sh]}], "));
    project.write("grandchild.yaml", replies("runs: [{argv: [sh, innermost.sh]}], "));
    let outer = ["", "--budget usd=1", "--budget turns=9", "--budget turns=3", "--budget turns=6"];
    let outer = outer.map(|more| start(if more.ends_with('3') { "child.yaml" } else { "plain.yaml" }, more));
    project.write("outer.sh", format!("({}) > outer.txt", outer.concat()));
    project.write("inner.sh", format!("({}) > inner.txt", start("grandchild.yaml", "--budget turns=2")));
    project.write("innermost.sh", format!("({}) > innermost.txt", start("plain.yaml", "--budget turns=1")));
    let parent = ["run", "it", "T", "--script", "script.yaml", "--budget", "turns=9", "--trust-project"];
    project.saihai(parent).run().exits(0);
    let read = |file: &str| project.read(file);
    insta::assert_snapshot!(format!("{}\n{}\n{}", read("outer.txt"), read("inner.txt"), read("innermost.txt")), @r#"
    error: the budget must limit `turns`, as that of this agent's run does
    error: the budget must limit `turns`, as that of this agent's run does
    error: the run of this agent does not have so much of its budget left: `turns`
    completed at plan: "ready"
    error: the run of this agent does not have so much of its budget left: `turns`

    completed at plan: "ready"

    error: the agent of `plan.1.1.1` cannot start a run
    "#);
    let runs = project.begun();
    let show = |run: &str| project.saihai(["show", run, "--json"]).run().exits(0).json()[0].clone();
    let shown: Vec<Value> = runs.iter().map(|run| show(run)).collect();
    let spent: Vec<&Value> = shown.iter().map(|run| &run["budget"]).collect();
    assert_eq!(
        spent,
        [
            &json!({"turns": 9, "spent": {"turns": 4}}),
            &json!({"turns": 3, "spent": {"turns": 3}}),
            &json!({"turns": 2, "spent": {"turns": 1}}),
        ]
    );
    let parents: Vec<&Value> = shown.iter().map(|run| &run["parent"]["run"]).collect();
    assert_eq!(parents, [&Value::Null, &json!(runs[0]), &json!(runs[1])]);
    let words = project.saihai(["show", &runs[1]]).run().exits(0).stdout;
    assert!(
        words.starts_with(&format!("started by the agent of `plan.1.1.1` in run {}\n", runs[0])),
        "{words}"
    );
    let log = project.saihai(["log", &runs[0]]).run().exits(0).stdout;
    assert!(log.contains(&format!("an agent starts run {} with 3 turns of this budget", runs[1])), "{log}");
}

// N-20
#[test]
fn an_agent_in_a_turn_cancels_only_runs_of_its_own_run() {
    let project = scripted(GATE, GATE_REPLIES);
    let mut client = McpClient::start(mcp(&project));
    let run = started(&mut client, plan("x"));
    client.settled(&run);
    let directory = project.run_directory();
    let inside = mcp(&project).env("SAIHAI_TURN", "plan.1.1.1").env("SAIHAI_RUN_DIRECTORY", directory);
    let mut inside = McpClient::start(inside);
    let refused = inside.refusal("cancel_run", json!({"run": run}));
    assert!(refused.starts_with(&format!("only a person can cancel run `{run}`")), "{refused}");
    assert_eq!(client.answer("cancel_run", json!({"run": run}))["run"], run);
}

// K-1, N-20, N-21
#[test]
fn the_command_for_agents_explains_itself() {
    let project = Project::new(PROGRAM);
    let help = |words: &[&str]| project.saihai(words).run().exits(0).stdout;
    let (mcp, install) = (help(&["mcp", "--help"]), help(&["mcp", "install", "--help"]));
    insta::assert_snapshot!(format!("$ saihai mcp --help\n{mcp}\n$ saihai mcp install --help\n{install}"), @"
    $ saihai mcp --help
    Let agents check definitions, start runs and read them: an MCP server

    Usage: saihai-faulty mcp [OPTIONS]
           saihai-faulty mcp <COMMAND>

    Commands:
      install  Print the configuration entry for an agent program, or write it

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    Serves the Model Context Protocol on stdin and stdout, to the agent program that starts it.
    Runs have processes of their own and outlive the server. Only people answer gates.

    Examples:
      saihai mcp install claude --write
      claude mcp add saihai -- saihai mcp
      saihai mcp

    $ saihai mcp install --help
    Print the configuration entry for an agent program, or write it

    Usage: saihai-faulty mcp install [OPTIONS] <PROGRAM>

    Arguments:
      <PROGRAM>  Agent program [possible values: claude, codex, gemini, copilot, opencode]

    Options:
          --write    Write the entry to the configuration file of this project
      -h, --help     Print help
      -V, --version  Print version

    Global options:
      -C <DIR>            Run as if started in this directory
      -q, --quiet         Print only results, warnings and errors
      -v, --verbose       Print details, such as tags, rules and counters of decisions
          --color <WHEN>  Use colours [default: auto] [possible values: auto, always, never]

    The entry starts `saihai mcp` in this project. `saihai` must be on the `PATH` of the program.
    `--write` adds the entry to the project's file and changes nothing else in it.

    Examples:
      saihai mcp install codex
      saihai mcp install claude --write
    ");
}

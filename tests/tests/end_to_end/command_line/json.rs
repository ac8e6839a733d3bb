//! JSON output: every object in full, with placeholders for values that differ between runs.

use saihai_tests::Project;

use super::support::{ASK, ONE, REVIEWED, normal, project, run};

const REPLIES: &str = "  \
  - {for: plan, usage: {input: 900, output: 120}, cost: 0.0123, text: \"調べた\\n```markdown\\n# 計画\\n```\\n[STEP:0]\"}
  - {for: verify/tests, text: \"全て通った\\n[STEP:0]\"}
  - {for: verify/レビュー, text: 良さそうだ}
  - {for: 'verify#judge', text: '[STEP:0]'}
";

/// Returns a command's stdout, which must be JSON on every line.
fn json(project: &Project, arguments: &[&str]) -> String {
    let outcome = project.saihai(arguments).run();
    for object in outcome.json() {
        assert_eq!(object["v"], 1, "{object}");
        assert!(object["type"].is_string(), "{object}");
    }
    normal(project, &outcome.stdout)
}

fn reviewed() -> Project {
    let project = project(REVIEWED, REPLIES);
    run(&project, &[]).exits(0);
    project
}

// K-3, K-20
#[test]
fn a_run_writes_its_events_and_then_its_result() {
    let project = project(ONE, "  - {for: plan, text: '[STEP:0]'}");
    let outcome = run(&project, &["--json"]).exits(0);
    let objects = outcome.json();
    let types: Vec<&str> = objects.iter().filter_map(|object| object["type"].as_str()).collect();
    assert_eq!(types, ["event", "event", "event", "event", "event", "event", "event", "event", "result"]);
    assert_eq!(outcome.stderr, "");
    let event = normal(&project, &objects[6].to_string());
    insta::assert_snapshot!(event, @r#"{"event":{"decision":{"exited":{"stage":"plan","verdict":{"by":"tag","labels":["done"],"rule":0,"to":"complete"}}}},"run":"RUN","seq":7,"time":"TIME","type":"event","v":1}"#);
    // `log` later shows the same lines as the live output.
    let log = project.saihai(["log", "last", "--json"]).run().exits(0);
    assert_eq!(log.json(), objects[..8]);
}

// K-3, P-45
#[test]
fn a_result_says_what_decided_it() {
    let project = project(REVIEWED, REPLIES);
    let result = run(&project, &["--json"]).exits(0).result();
    insta::assert_snapshot!(normal(&project, &format!("{result:#}")), @r###"
    {
      "cost_lacks": [
        "script"
      ],
      "cost_usd": 0.0123,
      "decided": {
        "condition": "all(\"合格\")",
        "method": "aggregate",
        "rule": 0,
        "stage": "verify"
      },
      "definition": "it",
      "dialect": "piece",
      "exit": 0,
      "iterations": 2,
      "outcome": "completed",
      "output": "## tests\n全て通った\n[STEP:0]\n\n---\n\n## レビュー\n良さそうだ",
      "reason": "complete",
      "rehearsal": false,
      "reports": [
        "PROJECT/.takt/reports/RUN/01-plan.md"
      ],
      "run": "RUN",
      "turns": 4,
      "type": "result",
      "usage": {
        "input": 900,
        "output": 120
      },
      "v": 1
    }
    "###);
}

// K-3, P-44
#[test]
fn a_result_shows_what_no_rule_matched() {
    let project =
        project(ONE, "  - {for: plan, text: who knows}\n  - {for: 'plan#judge', text: '[STEP:NONE]'}");
    let result = run(&project, &["--json"]).exits(1).result();
    insta::assert_snapshot!(normal(&project, &format!("{result:#}")), @r#"
    {
      "decided": {
        "method": "no_match",
        "stage": "plan"
      },
      "definition": "it",
      "dialect": "piece",
      "error": "no rule of `plan` matched the reply",
      "exit": 1,
      "iterations": 1,
      "outcome": "failed",
      "output": "who knows",
      "reason": "no_match",
      "rehearsal": false,
      "reports": [],
      "run": "RUN",
      "turns": 2,
      "type": "result",
      "unmatched": [
        {
          "tail": "who knows",
          "turn": "plan"
        }
      ],
      "usage": {},
      "v": 1
    }
    "#);
}

// K-3, P-46, K-21
#[test]
fn a_parked_result_says_what_to_type() {
    let asking = project(ASK, "  - {for: plan, text: '[STEP:1]'}");
    let result = run(&asking, &["--json"]).exits(6).result();
    assert_eq!(normal(&asking, result["answer"].as_str().unwrap()), "saihai answer RUN TEXT");
    assert_eq!(normal(&asking, result["resume"].as_str().unwrap()), "saihai resume RUN");
    let quota = "  - {for: plan, fail: {class: quota, message: used up, until: '2099-01-01T14:00:00Z'}}";
    let waiting = project(ONE, quota);
    let result = run(&waiting, &["--json"]).exits(4).result();
    assert_eq!(
        (result["reason"].as_str(), result["until"].as_str()),
        (Some("quota"), Some("2099-01-01T14:00:00.000Z"))
    );
    let endless = project(ONE, "  - {for: plan, times: '*', text: '[STEP:1]'}");
    let result = run(&endless, &["--json"]).exits(5).result();
    assert_eq!(normal(&endless, result["resume"].as_str().unwrap()), "saihai resume RUN --max-iterations 6");
}

// K-3, K-21
#[test]
fn runs_are_listed_one_object_a_line() {
    let project = reviewed();
    insta::assert_snapshot!(json(&project, &["runs", "--json"]), @r#"{"v":1,"type":"run","run":"RUN","definition":"it","dialect":"piece","state":"completed","reason":"complete","started":"TIME","turns":4,"cost_usd":0.0123,"cost_lacks":["script"],"rehearsal":false}"#);
    assert_eq!(json(&project, &["runs", "--json", "--state", "failed"]), "");
    assert_eq!(json(&project, &["runs", "--json", "--dialect", "hats"]), "");
}

// K-3, P-39
#[test]
fn show_tells_result_stages_and_reports() {
    let project = reviewed();
    let text = json(&project, &["show", "last", "--json"]);
    let mut object: serde_json::Value = serde_json::from_str(&text).unwrap();
    // Another test covers the result.
    object["result"].take();
    // S-26, S-53
    let returned = object["loop"].take();
    assert_eq!((&returned["success"], &returned["iterations"]), (&true.into(), &2.into()));
    assert_eq!(returned["summaries"].as_array().unwrap().len(), 2);
    assert_eq!(
        returned["summaries"][1]["assistantResponses"].as_array().unwrap().len(),
        2,
        "no question's answer"
    );
    insta::assert_snapshot!(format!("{object:#}"), @r#"
    {
      "loop": null,
      "reports": [
        {
          "bytes": 9,
          "file": "01-plan.md",
          "how": "clue",
          "seq": 9,
          "sha256": "b87012550e54926965363846990759f5a0b5ee399dc0727f2193bbe4623779be",
          "stage": "plan",
          "time": "TIME"
        }
      ],
      "result": null,
      "stages": [
        {
          "cost_usd": 0.0123,
          "entered": "TIME",
          "left": "TIME",
          "rounds": 1,
          "stage": "plan",
          "tokens": 1020,
          "turns": 1,
          "visit": 1
        },
        {
          "entered": "TIME",
          "left": "TIME",
          "rounds": 1,
          "stage": "verify",
          "tokens": 0,
          "turns": 3,
          "visit": 1
        }
      ],
      "type": "show",
      "v": 1
    }
    "#);
}

// K-3, P-57
#[test]
fn explain_tells_every_transition_with_its_evidence() {
    insta::assert_snapshot!(json(&reviewed(), &["explain", "last", "--json"]), @r###"
    {"v":1,"type":"transition","run":"RUN","seq":10,"time":"TIME","stage":"plan","to":{"stage":"verify"},"method":"tag","rule":0,"condition":"計画ができた","labels":["計画ができた"],"decisive":[{"label":"計画ができた","quotation":"調べた"}],"evidence":[{"kind":"tag","line":5,"number":0,"turn":"plan"}],"iteration":1,"visit":1,"round":1,"consecutive":1}
    {"v":1,"type":"transition","run":"RUN","seq":22,"time":"TIME","stage":"verify","to":"complete","method":"aggregate","rule":0,"condition":"all(\"合格\")","labels":["合格","合格"],"decisive":[{"turn":"tests","label":"合格","quotation":"全て通った"},{"turn":"レビュー","label":"合格","quotation":"良さそうだ"}],"evidence":[{"kind":"tag","line":2,"number":0,"turn":"tests"},{"answer":"[STEP:0]","kind":"question","number":0,"question":"## 出力\n<output>\n良さそうだ\n</output>\n\n## 判定\n上の出力に最も合致する条件を1つだけ選び、そのタグだけを出力してください。どれにも合致しない場合は [STEP:NONE] を出力してください。\n\n[STEP:0] = 合格\n[STEP:1] = 不合格\n","turn":"レビュー"}],"iteration":2,"visit":1,"round":1,"consecutive":1}
    "###);
}

// K-3
#[test]
fn small_commands_say_what_they_did() {
    let asking = project(ASK, "  - {for: plan, times: '*', text: '[STEP:1]'}");
    run(&asking, &[]).exits(6);
    insta::assert_snapshot!(json(&asking, &["answer", "last", "left", "--json", "--no-resume"]), @r#"{"v":1,"type":"answered","run":"RUN","gate":"plan/input[1]"}"#);
    insta::assert_snapshot!(json(&asking, &["cancel", "last", "--json"]), @r#"{"v":1,"type":"cancelled","run":"RUN"}"#);
    let project = project(ONE, "  - {for: plan, times: '*', text: '[STEP:1]'}");
    run(&project, &[]).exits(5);
    let log = project.saihai(["log", "last", "--json"]).run().exits(0).json();
    let last_entry = log.iter().rfind(|object| object["event"]["decision"]["entered"].is_object()).unwrap();
    let forked = project.saihai(["fork", "last", "--json"]).run().exits(0).json();
    assert_eq!((&forked[0]["type"], &forked[0]["at"]), (&"forked".into(), &last_entry["seq"]));
    assert_eq!(project.runs(), [forked[0]["from"].as_str().unwrap(), forked[0]["run"].as_str().unwrap()]);
}

// K-3, K-43, P-56
#[test]
fn check_gives_one_object_with_everything() {
    let project = project(ONE, "");
    project.write(".takt/pieces/bad.yaml", "name: bad\nmovments: []\n");
    insta::assert_snapshot!(json(&project, &["check", "--json"]), @r#"{"v":1,"type":"check","diagnostics":[{"v":1,"type":"diagnostic","code":"piece/unknown-key","severity":"error","file":".takt/pieces/bad.yaml","line":2,"column":1,"end_line":2,"end_column":9,"path":"movments","message":"unknown key `movments`","label":"not a key of a piece","hint":"did you mean `movements`?"},{"v":1,"type":"diagnostic","code":"workflow/unmonitored-cycle","severity":"note","file":".takt/pieces/it.yaml","line":4,"column":11,"end_line":4,"end_column":15,"path":"movements[0].name","message":"`plan` can repeat until the iteration limit"}],"bounds":[{"definition":"it","file":".takt/pieces/it.yaml","most_calls":6}]}"#);
    assert_eq!(json(&project, &["check", "--format", "json"]), json(&project, &["check", "--json"]));
}

// K-43
#[test]
fn check_gives_a_log_for_code_scanning() {
    let project = project(ONE, "");
    project.write(".takt/pieces/bad.yaml", "name: bad\nmovments: []\n");
    let outcome = project.saihai(["check", "--format", "sarif"]).run().exits(2);
    let log: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let lines: Vec<String> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            let (file, line) = (&place["artifactLocation"], &place["region"]["startLine"]);
            format!("{} {} {} {line}", result["ruleId"], file["uriBaseId"], file["uri"])
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    "piece/unknown-key" "%SRCROOT%" ".takt/pieces/bad.yaml" 2
    "workflow/unmonitored-cycle" "%SRCROOT%" ".takt/pieces/it.yaml" 4
    "#);
}

// K-3, P-60
#[test]
fn prompt_gives_the_text_and_what_we_added() {
    insta::assert_snapshot!(json(&project(ONE, ""), &["prompt", "it", "--json"]), @r###"{"v":1,"type":"prompt","stage":"plan","turn":"plan","text":"## Execution Context\n- Working directory: PROJECT\n- Piece: one\n- Movement: plan\n- Iteration: 1 / 3\n- Movement iteration: 1\n\n## User Task\n(the task)\n\n---\n## Status Output (required)\nAfter all work and report output is finished, output one of the following tags at the very end.\nChoose only the one that best matches the result of your work.\n\n[STEP:0] = done\n[STEP:1] = again\n[STEP:2] = stop\n","added_tokens":87}"###);
}

// K-3, C-77
#[test]
fn rehearse_tells_ends_and_exits_never_taken() {
    insta::assert_snapshot!(json(&project(REVIEWED, ""), &["rehearse", "it", "--json"]), @r#"{"v":1,"type":"rehearsal","runs":4,"ends":[{"end":"failed: no_match","runs":2,"path":["plan"]},{"end":"completed: complete","runs":1,"path":["plan","verify"]},{"end":"failed: abort","runs":1,"path":["plan","verify","plan"]}],"untaken":[]}"#);
}

//! Files of hats: reading, checking, ejecting and drawing them.

use saihai_tests::Project;

use super::{RING, project, run};
use crate::support::PROGRAM;

/// A file with every key of an orchestrator-hybrid project, as its users write them.
const PUBLIC: &str = r#"
version: "3.0"
backend:
  type: claude
  model: sonnet
preset: tdd
create_pr: true
auto: true
loop:
  max_iterations: 40
  completion_promise: "LOOP_COMPLETE"
  idle_timeout_secs: 1800
gates:
  after_plan: true
  after_implementation: false
  before_pr: true
session:
  manager: auto
  prefix: orch
  capture_interval: 500
  native: {}
worktree:
  enabled: true
  base_dir: ".worktrees"
  copy_files:
    - ".env"
labels:
  enabled: true
  prefix: orch
dependency:
  resolve: true
state:
  use_github_labels: true
  use_scratchpad: true
  scratchpad_path: ".agent/scratchpad.md"
  label_prefix: orch
hats:
  refactorer:
    name: "🔎 レビュアー"
    triggers: ["tests.passing"]
    publishes: ["code.written", "LOOP_COMPLETE"]
    instructions: |
      変更を読み、直すところがあれば EVENT: code.written、なければ LOOP_COMPLETE だけを一行に出力してください。
"#;

// H-17
#[test]
fn a_file_of_the_public_tool_loads_and_runs_unchanged() {
    let project = project(PUBLIC, &["EVENT: tests.passing", "LOOP_COMPLETE"]);
    let checked = project.saihai(["check", "orch"]).run().exits(0);
    insta::assert_snapshot!(codes(&checked.stdout), @r"
    warning[hats/no-effect]: `version` has no effect here
    note[hats/gate-alias]: `after_plan` means the gate `pre-loop`: no hat publishes `plan.ready`
    warning[hats/no-effect]: `session.manager` has no effect here
    warning[hats/no-effect]: `session.prefix` has no effect here
    warning[hats/no-effect]: `session.capture_interval` has no effect here
    warning[hats/no-effect]: `session.native` has no effect here
    warning[hats/no-effect]: `state.use_scratchpad` has no effect here
    warning[hats/no-effect]: `state.scratchpad_path` has no effect here
    ");
    // The file requires a worktree, which needs a repository.
    for arguments in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "--message", "first"]] {
        project.git(arguments).run().exits(0);
    }
    let outcome = run(&project).exits(0);
    let path = project.journal().path_taken().join(" ");
    assert!(
        path.ends_with("gate/pre-loop tester refactorer"),
        "the preset's hats and its own: {path}\n{outcome}"
    );
    assert!(project.root().join(".worktrees").is_dir(), "{outcome}");
    let prompt = project.journal().prompt("refactorer");
    assert!(prompt.contains("# Hat: 🔎 レビュアー\n変更を読み"), "{prompt}");
    for (wrong, key) in [
        ("max_iterations: 0", "must be at least 1, not `0`"),
        ("max_iterations: many", "max_iterations` must be a whole number"),
    ] {
        let file = PUBLIC.replace("max_iterations: 40", wrong);
        let refused = run(&self::project(&file, &[])).exits(2);
        assert!(refused.stderr.contains("error[hats/bad-"), "{refused}");
        assert!(refused.stderr.contains(key) && refused.stderr.contains("orch.yml:10:19"), "{refused}");
    }
}

/// Returns the severity and the code of every diagnostic, one per line.
fn codes(checked: &str) -> String {
    let first =
        |line: &&str| line.starts_with("error[") || line.starts_with("warning[") || line.starts_with("note[");
    checked.lines().filter(first).map(|line| line.to_owned() + "\n").collect()
}

// H-10, H-63, HC-4
#[test]
fn everything_wrong_is_said_at_once_with_file_place_and_help() {
    let hats = "hats:
  a: {name: A, triggers: [], publishes: [], instructions: x}
  b: {name: \"\", triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}
  c: {name: C, triggers: [a.b], trigers: [x], publishes: [LOOP_COMPLETE], instructions: x}
";
    let project = project(hats, &[]);
    insta::assert_snapshot!(run(&project).exits(2).stderr, @r#"
    error[hats/bad-value]: `hats.a.triggers` must not be empty
    --> orch.yml:2:26
      |
    2 |   a: {name: A, triggers: [], publishes: [], instructions: x}
      |                          ^^ no trigger
      = help: only the hat `default` may have none: it is reached when no trigger matches

    error[hats/bad-value]: `hats.b.name` must not be blank
    --> orch.yml:3:13
      |
    3 |   b: {name: "", triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}
      |             ^^ blank
      = help: write its display name, such as `🧪 Tester`

    error[hats/unknown-key]: unknown key `hats.c.trigers`
    --> orch.yml:4:33
      |
    4 |   c: {name: C, triggers: [a.b], trigers: [x], publishes: [LOOP_COMPLETE], instructions: x}
      |                                 ^^^^^^^ not a key of a hat
      = help: did you mean `triggers`?
    "#);
    assert!(!project.root().join(".saihai/runs").exists());
}

// H-13, HC-6
#[test]
fn an_id_of_any_script_and_its_instructions_reach_the_prompt_byte_for_byte() {
    let hats = "hats:\n  試験🧪:\n    name: \"🧪 試験\"\n    triggers: [task.start]\n    publishes: [LOOP_COMPLETE]\n    instructions: \"  {{issue_title}}\\tを見る 🧪  \\n\\n\\n\"\n";
    let project = project(hats, &[]);
    let shown = project.saihai(["prompt", "orch", "試験🧪", "--task", "T"]).run().exits(0);
    assert!(shown.stdout.contains("# Hat: 🧪 試験\n  {{issue_title}}\tを見る 🧪  \n\n\n\n"), "{shown}");
    let checked = project.saihai(["check", "orch"]).run().exits(0);
    assert!(checked.stdout.contains("warning[hats/unexpanded-variable]"), "{checked}");
    let named = |id: &str| hats.replace("試験🧪", id);
    for id in ["\"a b\"", "a/b", "a\\b", "(base)", "a)", "\"\"", "\"a\\u0007b\"", &"x".repeat(65)] {
        let refused = self::project(&named(id), &[]).saihai(["check", "orch"]).run().exits(2);
        assert!(refused.stdout.contains("cannot be the id of a hat"), "{id}: {refused}");
    }
    self::project(&named(&"試".repeat(64)), &[]).saihai(["check", "orch"]).run().exits(0);
}

// HC-10
#[test]
fn what_is_odd_is_warned_of_and_only_forbidden_where_that_is_wanted() {
    let hats =
        format!("{RING}  idle: {{name: I, triggers: [never], publishes: [nobody], instructions: x}}\n");
    let odd = project(&hats, &["LOOP_COMPLETE"]);
    let checked = odd.saihai(["check", "orch"]).run().exits(0);
    insta::assert_snapshot!(codes(&checked.stdout), @r"
    warning[hats/unreachable]: no published topic leads to `idle`
    warning[hats/unhandled-topic]: no hat takes `nobody`: a turn without a hat would follow
    ");
    odd.saihai(["check", "orch", "--strict"]).run().exits(2);
    run(&odd).exits(0);
    let example = r#"
hats:
  tester:
    name: "🧪 Tester"
    triggers: ["task.start", "code.written"]
    publishes: ["tests.failing", "tests.passing"]
    instructions: |
      あなたはテストエンジニアです。
      まず失敗するテストを書き、実装後はテストを実行して結果を報告してください。
"#;
    let seed = project(example, &["LOOP_COMPLETE"]);
    let checked = seed.saihai(["check", "orch"]).run().exits(0);
    insta::assert_snapshot!(codes(&checked.stdout), @r"
    warning[hats/unhandled-topic]: no hat takes `tests.failing`: a turn without a hat would follow
    warning[hats/unhandled-topic]: no hat takes `tests.passing`: a turn without a hat would follow
    ");
    run(&seed).exits(0);
    assert_eq!(seed.journal().path_taken(), ["tester"]);
}

// H-6, HC-31, HC-45
#[test]
fn what_is_wrong_is_said_before_there_is_a_run() {
    for count in ["0", "-1", "1.5", "\"abc\""] {
        let project = project(&RING.replace("max_iterations: 30", &format!("max_iterations: {count}")), &[]);
        let refused = run(&project).exits(2);
        assert!(refused.stderr.contains("max_iterations"), "{refused}");
        assert!(!project.root().join(".saihai/runs").exists());
    }
    let sound = project(RING, &["LOOP_COMPLETE"]);
    for count in ["0", "-1", "1.5", "abc"] {
        sound.saihai(["run", "orch", "x", "--max-iterations", count]).run().exits(2);
    }
    // A path names exactly one file, with no search for others.
    sound.write("mine.yml", RING.replace("tester:", "first:"));
    let before = sound.snapshot();
    sound.saihai(["run", "nowhere.yml", "x", "--script", "script.yaml"]).run().exits(2);
    assert_eq!(sound.snapshot(), before, "`orch.yml` is untouched and not run");
    assert!(!sound.root().join(".saihai/runs").exists());
    sound.saihai(["run", "mine.yml", "x", "--script", "script.yaml"]).run().exits(0);
    assert_eq!(sound.journal().path_taken(), ["first"]);
}

// H-7
#[test]
fn a_file_is_of_hats_by_its_name_or_its_keys_and_read_by_the_rules_of_its_kind() {
    let bare = "hats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE]}\n";
    let whole = bare.replace("]}", "], instructions: x}");
    let project = Project::new(PROGRAM);
    let check = |file: &str, text: &str| {
        project.write(file, text);
        let checked = project.saihai(["check", file]).run();
        (checked.code.expect("an exit code"), codes(&checked.stdout))
    };
    for file in ["orch.yml", "orch.yaml", ".orch.yml"] {
        // No key marks this file as hats; its name does.
        assert_eq!(check(file, "max_iterations: 3\n"), (0, String::new()), "{file}");
        assert_eq!(check(file, &whole), (0, String::new()), "{file}");
    }
    assert_eq!(check("ralph.yml", "core: {guardrails: [Be careful.]}\n"), (0, String::new()));
    assert_eq!(check("mine.yml", &whole), (0, String::new()));
    assert_eq!(check("mine.yml", "event_loop: {max_iterations: 3}\n"), (0, String::new()));
    // Files of ralph require fewer keys of a hat.
    for key in ["event_loop: {}", "cli: {}", "core: {}"] {
        assert_eq!(check("mine.yml", &format!("{key}\n{bare}")), (0, String::new()), "{key}");
    }
    let (code, said) = check("mine.yml", bare);
    assert!(code == 2 && said.contains("hats/missing-key"), "{said}");
    let (code, said) = check("mine.yml", &format!("{whole}movements: []\n"));
    assert!(code == 2 && said.contains("written in two dialects at once"), "{said}");
}

// HC-42
#[test]
fn a_session_manager_and_a_misspelt_backend_are_told() {
    let hats = |top: &str| project(&format!("{top}\n{RING}"), &["LOOP_COMPLETE"]);
    let idle = hats("session: {manager: auto, prefix: orch, capture_interval: 500}");
    let checked = idle.saihai(["check", "orch"]).run().exits(0);
    assert_eq!(codes(&checked.stdout).matches("warning[hats/no-effect]").count(), 3, "{checked}");
    run(&idle).exits(0);
    let refused = run(&hats("session: {manager: tmux}")).exits(2);
    assert!(refused.stderr.contains("error[hats/not-supported]"), "{refused}");
    assert!(refused.stderr.contains("saihai log -f"), "{refused}");
    let misspelt = hats("backend: cluade").saihai(["run", "orch", "T"]).run().exits(2);
    assert!(misspelt.stderr.contains("error[hats/unknown-provider]"), "{misspelt}");
    assert!(misspelt.stderr.contains("did you mean `claude`?"), "{misspelt}");
}

// H-8
#[test]
fn a_preset_is_ejected_once() {
    let project = Project::new(PROGRAM);
    project.saihai(["eject", "hats:tdd"]).run().exits(0);
    let ejected = project.read("orch.yml");
    project.saihai(["eject", "hats:tdd"]).run().exits(2);
    assert_eq!(project.read("orch.yml"), ejected);
    project.saihai(["check", "orch", "--strict"]).run().exits(0);
    project.saihai(["rehearse", "orch"]).run().exits(0);
    for name in ["hats:simple", "hats:tdd", "hats:spec-driven", "tdd"] {
        project.saihai(["check", name, "--strict"]).run().exits(0);
    }
}

// The prompt shows the event that activates the hat, not the first event of the run.
#[test]
fn the_prompt_of_a_hat_is_shown_with_an_event_of_its_own() {
    let project = project(RING, &[]);
    let shown = |hat: &str| project.saihai(["prompt", "orch", hat, "--task", "T"]).run().exits(0).stdout;
    assert!(shown("tester").contains("# Event\ntask.start\n"), "{}", shown("tester"));
    assert!(shown("coder").contains("# Event\ntests.failing\n"), "{}", shown("coder"));
}

#[test]
fn hats_are_drawn_with_the_topics_that_lead_from_one_to_the_other() {
    let gated = format!("gates: [tests.passing, post-completion]\nmax_activations: 4\n{RING}");
    let project = project(&gated, &[]);
    let drawn = project.saihai(["graph", "orch"]).run().exits(0).stdout;
    insta::assert_snapshot!(drawn, @r#"
    flowchart TD
        n0["tester"]
        n1["coder"]
        n2["closer"]
        n3{"gate/tests.passing"}
        n4{"gate/post-completion"}
        n5(["COMPLETE"])
        n6(["ABORT"])
        n0 -->|"tests.failing"| n1
        n0 -->|"tests.passing"| n3
        n1 ==>|"code.written"| n0
        n2 ==>|"code.written"| n0
        n2 -->|"LOOP_COMPLETE"| n4
        n3 -->|"yes"| n2
        n3 -->|"no"| n6
        n4 -->|"yes"| n5
        n4 -->|"no"| n6
    "#);
    let default = "  default: {name: D, triggers: [], publishes: [code.written], instructions: x}\n  glob: {name: G, triggers: [\"build.*\"], publishes: [LOOP_COMPLETE], instructions: x}\n";
    project.write("orch.yml", format!("{RING}{default}"));
    let drawn = project.saihai(["graph", "orch"]).run().exits(0).stdout;
    insta::assert_snapshot!(drawn, @r#"
    flowchart TD
        n0["tester"]
        n1["coder"]
        n2["closer"]
        n3["default"]
        n4["glob"]
        n5(["COMPLETE"])
        n0 -->|"tests.failing"| n1
        n0 -->|"tests.passing"| n2
        n1 ==>|"code.written"| n0
        n2 ==>|"code.written"| n0
        n2 -->|"LOOP_COMPLETE"| n5
        n3 ==>|"code.written"| n0
        n4 -->|"LOOP_COMPLETE"| n5
    "#);
    for format in ["dot", "svg"] {
        let drawn = project.saihai(["graph", "orch", "--format", format]).run().exits(0).stdout;
        for what in ["tester", "tests.failing", "default"] {
            assert!(drawn.contains(what), "{what}: {drawn}");
        }
    }
}

// Transitions that the file does not define appear under their own name.
#[test]
fn a_run_of_hats_is_drawn_with_the_ways_it_took() {
    let gated = format!("auto: true\ngates: {{pre-loop: false}}\n{RING}");
    let project = project(&gated, &["hm", "EVENT: deploy.now", "EVENT: tests.failing", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    let drawn = project.saihai(["graph", "last"]).run().exits(0).stdout;
    let time = regex::Regex::new(r" · [0-9.]+ m?s").expect("a pattern");
    insta::assert_snapshot!(time.replace_all(&drawn, ""), @r##"
    flowchart TD
        n0["tester<br/>×1"]
        n1["coder<br/>×1"]
        n2["closer"]
        n3["(base)<br/>×1"]
        n4{"gate/post-completion<br/>×1"}
        n5(["COMPLETE"])
        n6(["ABORT"])
        n0 -->|"tests.failing"| n1
        n0 -->|"tests.passing"| n2
        n1 ==>|"code.written"| n0
        n2 ==>|"code.written"| n0
        n2 -->|"LOOP_COMPLETE"| n4
        n3 -->|"LOOP_COMPLETE"| n4
        n4 -->|"yes ×1"| n5
        n4 -->|"no"| n6
        n3 ==>|"tests.failing ×1"| n1
        n1 -->|"closing word ×1"| n4
        n0 -->|"deploy.now ×1"| n3
        n0 ==>|"nothing reported ×1"| n0
        linkStyle 6,8,9,10,11 stroke:#2563eb,stroke-width:3px
    "##);
}

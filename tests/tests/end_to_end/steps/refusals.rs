//! Mistakes in an agent or on the command line: reported before a run starts.

use insta::assert_snapshot;
use serde_json::json;

use super::{AGENT, REGISTRY, agent, registry, tailor};

/// Returns stderr of a refused run, and checks that no run started.
fn refused(project: &saihai_tests::Project, arguments: &[&str]) -> String {
    let outcome = project.saihai(["run", "tailor"].iter().chain(arguments)).run().exits(2);
    assert!(!project.root().join(".saihai/runs").exists(), "{outcome}");
    outcome.stderr
}

// Case 2
#[test]
fn three_mistakes_are_one_report_and_no_run() {
    let (mut agent, mut registry) = (agent(), registry());
    agent["behaviour"] = json!({});
    agent["behavior"]["allowedTools"] = json!("Read");
    registry["steps"]["quote"]["check"]["onFail"] = json!({"next": "mesure"});
    let project = tailor();
    project.write(AGENT, serde_json::to_string_pretty(&agent).unwrap());
    project.write(REGISTRY, serde_json::to_string_pretty(&registry).unwrap());
    assert_snapshot!(refused(&project, &["--customer", "Sato", "--script", "walk.yaml"]), @r#"
    error[steps/bad-type]: `allowedTools` must be a list of text, not text
    --> .agent/tailor/agent.json:3:21
      |
    3 |     "allowedTools": "Read",
      |                     ^^^^^^ text
      = help: write `["Read"]`

    error[steps/unknown-key]: unknown key `behaviour`
     --> .agent/tailor/agent.json:11:3
       |
    11 |   "behaviour": {},
       |   ^^^^^^^^^^^ not a key of an agent
       = help: did you mean `behavior`?

    error[steps/unknown-step]: step `mesure` does not exist
     --> .agent/tailor/steps_registry.json:25:19
       |
    25 |           "next": "mesure"
       |                   ^^^^^^^^ no step has this id
       = help: did you mean `measure`?
    "#);
}

// S-19, case 1
#[test]
fn a_comma_too_many_is_told_by_its_place() {
    let project = tailor();
    project.write(AGENT, "{\n  \"version\": \"1.0.0\",\n}\n");
    assert_snapshot!(refused(&project, &[]), @r#"
    error[steps/syntax]: this is not valid JSON: a comma after the last item
    --> .agent/tailor/agent.json:2:21
      |
    2 |   "version": "1.0.0",
      |                     ^
      = help: remove the comma
    "#);
}

// S-12, case 39
#[test]
fn what_is_typed_must_fit_the_agents_parameters() {
    assert_snapshot!(refused(&tailor(), &["--script", "walk.yaml"]), @r#"
    error[steps/missing-parameter]: the parameter `customer` is not given
    --> .agent/tailor/agent.json:1:252
      |
    1 | …s measure and makes a quote.","name":"tailor","parameters":{"customer":{"cli":"--customer","description":"who orders","r…
      |                                                              ^^^^^^^^^^
      = help: add `--customer VALUE`
    "#);
    assert_snapshot!(refused(&tailor(), &["--custmer", "x"]), @r"
    error: there is no flag `--custmer` of `saihai run`
      = help: did you mean `--customer`?
    ");
    assert_snapshot!(refused(&tailor(), &["--customer"]), @"error: `--customer` needs a value");
    assert_snapshot!(refused(&tailor(), &["--customer", "x", "--set", "cut=slim"]), @r"
    error[steps/unknown-parameter]: this agent has no parameter `cut`
      = help: it has `customer`
    ");
}

// K-20
#[test]
fn a_piece_takes_no_values() {
    let outcome = tailor().saihai(["run", "minimal", "x", "--set", "a=b"]).run().exits(2);
    assert_snapshot!(outcome.stderr, @r"
    error[workflow/unknown-parameter]: `minimal` has no parameter `a`
      = help: only step agents have parameters; put it into the task
    ");
}

// S-20, S-49, case 2, case 23
#[test]
fn a_fall_back_is_a_warning_and_forbidden_where_strict() {
    let mut registry = registry();
    registry["steps"]["measure"]["prompt"] = json!({"path": "gone.md", "fallback": "system.md"});
    let project = tailor();
    project.write(REGISTRY, registry.to_string());
    let arguments = ["--customer", "Sato", "--script", "walk.yaml"];
    let strict: Vec<&str> = arguments.into_iter().chain(["--strict"]).collect();
    assert!(refused(&project, &strict).contains("Using fallback: .agent/tailor/prompts/system.md"));
    let outcome = project.saihai(["run", "tailor"].into_iter().chain(arguments)).run().exits(0);
    let warned = "Configuration warnings:\nwarning[steps/prompt-fallback]: Using fallback: .agent/tailor/prompts/system.md\n";
    assert!(outcome.stderr.contains(warned), "{outcome}");
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    let prompt = |stage: &str, part: &str, source: &str, file: &str| {
        let file = format!(".agent/tailor/prompts/{file}");
        json!({"stage": stage, "part": part, "source": source, "file": file})
    };
    let expected = [
        prompt("measure", "prompt", "fallback", "system.md"),
        prompt("quote", "prompt", "primary", "order/quote/text/f_default.md"),
        prompt("quote", "check", "primary", "order/quote/check/f_default.md"),
    ];
    assert_eq!(shown[0]["prompts"], json!(expected), "the journal knows it");
    let explained = project.saihai(["explain", "last"]).run().exits(0).stdout;
    assert!(
        explained.contains("       prompt from the fallback `.agent/tailor/prompts/system.md`\n"),
        "{explained}"
    );
    let table = project.saihai(["show", "last"]).run().exits(0).stdout;
    let line = table.lines().find(|line| line.starts_with("measure ") && line.ends_with(" fallback"));
    assert!(line.is_some(), "{table}");
}

// S-49, case 23: the warning and the ban also apply to the fallback of all prompts.
#[test]
fn the_fall_back_of_all_prompts_is_a_warning_and_forbidden_where_strict() {
    let mut agent = agent();
    agent["prompts"]["fallbackDir"] = json!("spares");
    let project = tailor();
    let file = ".agent/tailor/prompts/order/measure/text/f_default.md";
    std::fs::remove_file(project.root().join(file)).expect("it was there");
    project.write(AGENT, agent.to_string());
    project.write(".agent/tailor/spares/order/measure/text/f_default.md", "Measure well, {uv-customer}.\n");
    let arguments = ["--customer", "Sato", "--script", "walk.yaml"];
    let used = "Using global fallback: .agent/tailor/spares/order/measure/text/f_default.md";
    let flag: Vec<&str> = arguments.into_iter().chain(["--strict"]).collect();
    assert!(refused(&project, &flag).contains(used));
    let all = || project.saihai(["run", "tailor"].into_iter().chain(arguments));
    let set = all().env("SAIHAI_STRICT", "true").run().exits(2);
    assert!(set.stderr.contains(used) && project.runs().is_empty(), "{set}");
    let done = all().run().exits(0);
    assert!(done.stderr.contains(&format!("warning[steps/prompt-fallback]: {used}")), "{done}");
    assert!(project.journal().prompt("measure").starts_with("Measure well, Sato.\n"));
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["prompts"][0]["source"], json!("global_fallback"));
}

// S-8: a step that uses the task needs one
#[test]
fn a_step_that_reads_the_task_needs_one() {
    let mut registry = registry();
    registry["steps"]["measure"]["usesStdin"] = json!(true);
    let project = tailor();
    project.write(REGISTRY, registry.to_string());
    assert_snapshot!(refused(&project, &["--customer", "Sato"]), @r#"
    error: `tailor` needs a task
      = help: pass a task: `saihai run tailor "fix the login"`
    "#);
}

// S-12: the help lists the agent's own flags after the flags of every run.
#[test]
fn the_help_of_a_command_lists_the_flags_of_the_agent_it_is_about() {
    for command in ["run", "rehearse", "prompt"] {
        let shown = tailor().saihai([command, "tailor", "--help"]).run().exits(0).stdout;
        let (_, own) = shown.split_once("Flags of tailor:\n").expect("a heading of their own");
        let line = own.lines().next().map(str::trim);
        assert_eq!(line, Some("--customer <CUSTOMER>  who orders (required)"), "{command}");
        let bare = tailor().saihai([command, "--help"]).run().exits(0).stdout;
        assert!(!bare.contains("Flags of"), "{bare}");
    }
    let twice = json!({"type": "string", "cli": "--x"});
    let wrong = json!({"parameters": {"a": twice, "b": twice, "model": {"type": "string", "cli": "--model"},
        "c": {"type": "string", "cli": "--"}, "d": {"type": "string", "cli": "--a b"}}});
    let project = tailor();
    project.write(".agent/wrong/agent.json", wrong.to_string());
    let shown = project.saihai(["run", "wrong", "--help"]).run().exits(0).stdout;
    assert_eq!(shown.matches("--x <").count(), 1, "{shown}");
    assert_eq!(shown.matches("--model <").count(), 1, "{shown}");
}

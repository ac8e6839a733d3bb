//! Finding, listing and showing step agents.

use insta::assert_snapshot;

use super::tailor;

// S-2, K-11
#[test]
fn a_name_of_two_dialects_is_asked_for_by_dialect_or_path() {
    let project = tailor();
    let piece = "name: tailor\nmovements: [{name: m, rules: [{condition: done, next: COMPLETE}]}]\n";
    project.write(".takt/pieces/tailor.yaml", piece);
    assert_snapshot!(project.saihai(["check", "tailor"]).run().exits(2).stdout, @"
    error[workflow/ambiguous-definition]: the name `tailor` means `.takt/pieces/tailor.yaml` (piece) and `.agent/tailor/agent.json` (steps)
      = help: ask for `piece:tailor` or `steps:tailor`

    1 error
    ");
    for asked in ["steps:tailor", ".agent/tailor", ".agent/tailor/agent.json", "./.agent/tailor/"] {
        let outcome = project.saihai(["check", asked]).run().exits(0);
        assert!(
            outcome.stdout.starts_with("tailor: ok (at most 12 iterations, 36 agent calls)\n"),
            "{asked}"
        );
    }
}

// S-2
#[test]
fn an_agent_that_is_not_there_is_told_with_those_that_are() {
    assert_snapshot!(tailor().saihai(["check", "steps:taylor"]).run().exits(2).stdout, @"
    error[steps/unknown-agent]: no agent is named `taylor`; the step agents are `tailor`, `iterator` and `reviewer`
      = help: did you mean `tailor`?

    1 error
    ");
    assert_snapshot!(tailor().saihai(["run", "taylor", "x"]).run().exits(2).stderr, @r"
    error[piece/unknown-piece]: no definition is named `taylor`; looked in `.saihai/pieces`, `.takt/pieces`, `.takt/workflows`, `~/.config/saihai/pieces`, `~/.takt/pieces` and `~/.takt/workflows` and among the built-in ones; the step agents are `tailor`, `iterator` and `reviewer`
      = help: did you mean `tailor`?
    ");
}

// S-71, K-3
#[test]
fn an_agent_is_drawn_rehearsed_and_its_prompts_are_shown() {
    let project = tailor();
    assert_snapshot!(project.saihai(["check", "tailor"]).run().exits(0).stdout, @"
    tailor: ok (at most 12 iterations, 36 agent calls)
      measure: .agent/tailor/prompts/order/measure/text/f_default.md
        customer: the parameter `customer`
      quote: .agent/tailor/prompts/order/quote/text/f_default.md
        measure_height: the output `height` of step `measure`
        customer: the parameter `customer`
      quote (check): .agent/tailor/prompts/order/quote/check/f_default.md
    no errors in 1 file
    ");
    project.saihai(["check", "tailor", "--json"]).run().exits(0);
    assert_snapshot!(project.saihai(["graph", "tailor"]).run().exits(0).stdout, @r#"
    flowchart TD
        n0["measure"]
        n1["quote"]
        n2(["COMPLETE"])
        n0 --> n1
        n1 -->|"ok"| n2
        n1 ==>|"exhausted"| n0
        n1 ==>|"ng"| n1
    "#);
    assert_snapshot!(project.saihai(["prompt", "tailor", "quote", "--customer", "Sato"]).run().exits(0).stdout, @"Height (the height of measure) cm for Sato.");
    assert_snapshot!(project.saihai(["rehearse", "tailor"]).run().exits(0).stdout, @"
    2 runs, every exit taken
        1  completed: Flow completed at quote
           measure → quote
        1  failed: step_failed
           measure → quote → measure
    ");
    project.saihai(["run", "tailor", "--customer", "Sato", "--script", "walk.yaml"]).run().exits(0);
    let explained = project.saihai(["explain", "last", "-v"]).run().exits(0).stdout;
    // The time of an event differs from run to run.
    let steady = |line: &str| match line.split_once("  ") {
        Some((time, rest)) if !time.is_empty() => format!("          {rest}"),
        Some(_) | None => line.to_owned(),
    };
    assert_snapshot!(explained.lines().map(steady).collect::<Vec<_>>().join("\n"), @r#"
    measure → quote — 採寸結果です。
    rule 0 “always”, the only way
    event 7, iteration 1, visit 1, round 1, 1 in a row
    quote → again: "ng" — which currency?
    question about `quote`, answered {"message":"which currency?","result":"ng"}:
      > Is the quote right?
      > 
      > Reply with exactly one ```json block of this form:
      > ```json
      > {
      >   "message": "string",
      >   "result": "ok|ng"
      > }
      > ```
    answer:
      > ```json
      > {"result": "ng", "message": "which currency?"}
      > ```
    rule 1 “ng”, by judge
    event 16, iteration 2, visit 1, round 1, 1 in a row
    quote → completed: "ok" — 300 EUR.
    question about `quote`, answered {"result":"ok"}:
      > Is the quote right?
      > 
      > Reply with exactly one ```json block of this form:
      > ```json
      > {
      >   "message": "string",
      >   "result": "ok|ng"
      > }
      > ```
    answer:
      > ```json
      > {"result": "ok"}
      > ```
    rule 0 “ok”, by judge
    event 24, iteration 3, visit 1, round 2, 1 in a row
    "#);
    let listed = project.saihai(["list"]).run().exits(0).stdout;
    let line = listed.lines().find(|line| line.starts_with("tailor ")).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_snapshot!(words.join(" "), @"tailor steps project .agent/tailor/agent.json Takes measure and makes a quote.");
    let mut named = super::agent();
    named["displayName"] = "Tailor & Son".into();
    project.write(super::AGENT, named.to_string());
    let listed = project.saihai(["list"]).run().exits(0).stdout;
    assert!(listed.contains("  Tailor & Son: Takes measure and makes a quote.\n"), "{listed}");
}

/// The project contains no file of a built-in agent.
#[test]
fn a_built_in_agent_names_its_prompts_by_their_place_in_it() {
    let project = tailor();
    let shown = project.saihai(["check", "iterator"]).run().exits(0).stdout;
    assert!(shown.contains("  verify: prompts/iterate/verify/task/f_default.md (built-in)\n"), "{shown}");
    let told = project.saihai(["check", "iterator", "--json"]).run().exits(0).stdout;
    assert!(!shown.contains(".agent/") && !told.contains(".agent/"), "{shown}{told}");
    assert!(told.contains(r#""file":"prompts/iterate/verify/task/f_default.md""#), "{told}");
}

// S-6: any other missing value is an error, as the tests of each table show.
#[test]
fn the_defaults_of_the_format_are_listed_with_their_places() {
    let shown = tailor().saihai(["config", "steps"]).run().exits(0).stdout;
    assert_snapshot!(shown, @r#"
    agent.json: behavior.completionConfig.match = "contains"
    agent.json: behavior.completionConfig.resourceType = "github-issue"
    agent.json: behavior.completionConfig.terminalPhases = ["complete"]
    agent.json: behavior.completionConfig.conditions.config.match = "contains"
    agent.json: behavior.completionConfig.conditions.config.resourceType = "github-issue"
    agent.json: behavior.completionConfig.conditions.config.terminalPhases = ["complete"]
    agent.json: behavior.sandboxConfig.enabled = true
    agent.json: parameters = {}
    agent.json: parameters.required = false
    agent.json: actions.types = []
    agent.json: actions.outputFormat = "action"
    agent.json: actions.handlers = {}
    agent.json: progress.still = 2
    agent.json: progress.same = 3
    agent.json: progress.back = 4
    agent.json: progress.grow = 3
    agent.json: progress.spend = 50
    agent.json: runner.flow.schemas.base = "schemas/"
    agent.json: runner.verdict.config.match = "contains"
    agent.json: runner.verdict.config.resourceType = "github-issue"
    agent.json: runner.verdict.config.terminalPhases = ["complete"]
    agent.json: runner.verdict.config.conditions.config.match = "contains"
    agent.json: runner.verdict.config.conditions.config.resourceType = "github-issue"
    agent.json: runner.verdict.config.conditions.config.terminalPhases = ["complete"]
    agent.json: runner.boundaries.sandbox.enabled = true
    agent.json: runner.integrations.github.defaultClosureAction = "close"
    agent.json: runner.actions.types = []
    agent.json: runner.actions.outputFormat = "action"
    agent.json: runner.actions.handlers = {}
    agent.json: runner.integrations.github.labels.completion.add = []
    agent.json: runner.integrations.github.labels.completion.remove = []
    agent.json: displayName = "{name}"
    agent.json: actions = {"enabled":false}
    agent.json: github = {"enabled":false}
    steps_registry.json: steps.prompt.edition = "default"
    steps_registry.json: steps.iterations.min = 1
    steps_registry.json: steps.check.prompt.edition = "default"
    steps_registry.json: steps.check.onPass.maxRetries = 3
    steps_registry.json: steps.check.onFail.maxRetries = 3
    steps_registry.json: steps.customVariables = []
    steps_registry.json: steps.customVariables.required = false
    steps_registry.json: steps.usesStdin = false
    steps_registry.json: steps.inputs.required = true
    steps_registry.json: steps.inputs.onMissing = "error"
    steps_registry.json: steps.outputSchema.$strict = false
    steps_registry.json: steps.outputSchema.KEY.required = true
    steps_registry.json (agentId): pathTemplate = "{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md"
    steps_registry.json (agentId): pathTemplateNoAdaptation = "{c1}/{c2}/{c3}/f_{edition}.md"
    steps_registry.json (agentId): userPromptsBase = ".agent/{agentId}/prompts"
    steps_registry.json (agentId): steps.edition = "default"
    steps_registry.json (agentId): steps.address.edition = "default"
    steps_registry.json (agentId): steps.usesStdin = false
    steps_registry.json (agentId): steps.structuredGate.failFast = true
    steps_registry.json (agentId): failurePatterns.edition = "default"
    steps_registry.json (agentId): failurePatterns.address.edition = "default"
    steps_registry.json (agentId): failurePatterns.params = []
    steps_registry.json (agentId): validationSteps.onFailure.action = "retry"
    steps_registry.json (agentId): validationSteps.onFailure.maxAttempts = 3
    "#);
    let explained = tailor().saihai(["config", "steps", "--explain"]).run().exits(0).stdout;
    assert!(explained.lines().skip(1).all(|line| line.ends_with("default")), "{explained}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let everything = tailor().saihai(["config", "--explain"]).run().exits(0).stdout;
    let everything: Vec<String> = everything.lines().map(words).collect();
    assert!(explained.lines().all(|line| everything.contains(&words(line))), "{everything:?}");
    assert!(everything.iter().any(|line| line.starts_with("limits.hard_iterations 100 ")), "{everything:?}");
}

//! Variables: their sources, and variables without one.

use saihai_model::Json;
use serde_json::json;

use super::{Project, shown, turn};

const QUOTE: &str = "prompts/order/quote/text/f_default.md";

fn quote(text: &str) -> Project {
    Project::tailor()
        .file(QUOTE, text)
        .agent("/parameters/tone", json!({"type": "string", "description": "d", "cli": "--tone"}))
}

fn sent(project: &Project) -> String {
    shown(&turn(&project.workflow(), "quote").prompt)
}

// S-47, case 19
#[test]
fn values_are_put_in_literally_and_once() {
    let project =
        quote("{uv-customer} {uv-tone}").given(&[("customer", "{uv-tone} US$& and $$5"), ("tone", "X")]);
    assert_eq!(sent(&project), "{uv-tone} US$& and $$5 X");
}

// S-47, S-50
#[test]
fn a_text_without_variables_is_sent_byte_for_byte() {
    let text = "\n  {not-one} { uv-x }\t\r\n\n";
    assert_eq!(sent(&quote(text)), text);
}

// S-51, case 20
#[test]
fn a_variable_nobody_supplies_is_an_error_with_a_suggestion() {
    insta::assert_snapshot!(quote("{uv-measure_heigth} {uv-frobnicate}").said(), @r"
    error steps/unknown-variable prompts/order/quote/text/f_default.md:1:1 nothing supplies the variable `{uv-measure_heigth}` (did you mean `measure_height`?)
    error steps/unknown-variable prompts/order/quote/text/f_default.md:1:21 nothing supplies the variable `{uv-frobnicate}` (add it to `variables` and give it with `--set frobnicate=VALUE`, or make it a parameter)
    ");
    let nothing = quote("{uv-phase} {uv-max_checks} {uv-issue_number} {uv-answer}");
    insta::assert_snapshot!(nothing.given(&[("customer", "Sato")]).said(), @r"
    error steps/unknown-variable prompts/order/quote/text/f_default.md:1:1 `{uv-phase}` has no value in this agent (only `phaseCompletion` has phases)
    error steps/unknown-variable prompts/order/quote/text/f_default.md:1:12 `{uv-max_checks}` has no value in this agent (only `checkBudget` has a number of checks)
    error steps/unknown-variable prompts/order/quote/text/f_default.md:1:28 `{uv-issue_number}` has no value in this agent (the run has no issue: add `--issue N`)
    error steps/unknown-variable prompts/order/quote/text/f_default.md:1:46 `{uv-answer}` has no value in this agent (only a step with a `gate` has an answer)
    ");
    insta::assert_snapshot!(quote("{uv-} {uv-a b}").said(), @r"
    warning steps/malformed-variable prompts/order/quote/text/f_default.md:1:1 this looks like a variable but is not one (write `{uv-NAME}`)
    warning steps/malformed-variable prompts/order/quote/text/f_default.md:1:7 this looks like a variable but is not one (write `{uv-NAME}`)
    ");
}

// S-51, case 20
#[test]
fn what_is_optional_may_be_empty_and_an_empty_value_is_one() {
    assert_eq!(
        sent(&quote("[{uv-tone}] [{uv-measure_note}]").given(&[("customer", "x")])),
        "[] [<measure.note>]"
    );
    assert_eq!(sent(&quote("[{uv-customer}]").given(&[("customer", "")])), "[]");
    let workflow = quote("{uv-measure_note}").workflow();
    assert_eq!(
        turn(&workflow, "quote").needs,
        [("measure".into(), "height".to_owned())],
        "only what is required"
    );
}

// S-51: a turn does not start without the outputs that its check shows.
#[test]
fn what_only_a_check_shows_is_needed_before_the_turn_too() {
    let check = |text: &str| {
        let project = Project::tailor()
            .registry("/steps/quote/inputs", json!({}))
            .registry("/steps/quote/outputSchema", json!({"price": {"type": "number"}}))
            .file(QUOTE, "Quote.")
            .file("prompts/order/quote/check/f_default.md", text);
        turn(&project.workflow(), "quote").needs.clone()
    };
    assert_eq!(check("Is {uv-measure_height} right?"), [("measure".into(), "height".to_owned())]);
    assert_eq!(check("Is {uv-quote_price} right? {uv-measure_note}"), [], "its own is there by then");
}

#[test]
fn saihai_has_variables_of_its_own() {
    let all = "{uv-task} {uv-agent_name} {uv-step} {uv-iteration} {uv-completed_iterations} {uv-max_iterations} \
               {uv-remaining} {uv-previous_response} {uv-previous_summary} {uv-check_message} {uv-check_count}";
    insta::assert_snapshot!(sent(&quote(all)), @"<Task> tailor quote <Iteration> <CompletedIterations> <MaxIterations> <RemainingIterations> <Previous> <Previous> <CheckMessage> <Checks>");
}

// S-12
#[test]
fn the_number_of_an_issue_is_known_by_the_flag_or_by_a_parameter() {
    let text = "{uv-issue_number}";
    assert_eq!(sent(&quote(text)), "(the issue_number)");
    let about = quote(text).options(|options| options.issue = saihai_model::IssueNumber::new(12));
    assert_eq!(sent(&about), "12");
    assert_eq!(about.workflow().issue, saihai_model::IssueNumber::new(12));
    let parameter = json!({"type": "number", "description": "d", "cli": "--issue"});
    let by_parameter = |value| {
        quote(text)
            .agent("/parameters/issue", parameter.clone())
            .given(&[("customer", "x"), ("issue", value)])
    };
    assert_eq!(sent(&by_parameter("7")), "7");
    insta::assert_snapshot!(by_parameter("0.5").said(), @"error steps/bad-parameter the parameter `issue` is not an issue number: `0.5`");
}

#[test]
fn a_task_no_prompt_shows_is_added_to_the_first_one() {
    let workflow = Project::tailor().workflow();
    assert!(shown(&turn(&workflow, "measure").prompt).ends_with("\n\n## Task\n<Task>"));
    assert!(!shown(&turn(&workflow, "quote").prompt).contains("Task"));
    let workflow = quote("{uv-task}").workflow();
    assert!(!shown(&turn(&workflow, "measure").prompt).contains("Task"));
}

// S-11, case 18
#[test]
fn two_sources_of_one_variable_are_an_error() {
    let collides = Project::tailor().agent(
        "/parameters/measure_height",
        json!({"type": "string", "description": "d", "cli": "--height"}),
    );
    insta::assert_snapshot!(collides.said(), @"error steps/variable-collision steps_registry.json:8:9 `uv-measure_height` would be the parameter `measure_height` and the output `height` of step `measure` (rename one of them)");
    let step = |key: &str| json!({"prompt": {"path": "system.md"}, "next": "quote", "outputSchema": {key: {"type": "string"}}});
    let project = Project::tailor()
        .registry("/steps/a", step("b_c"))
        .registry("/steps/a_b", step("c"))
        .registry("/steps/measure/next", json!("a"))
        .registry("/steps/a/next", json!("a_b"));
    insta::assert_snapshot!(project.said(), @"error steps/variable-collision steps_registry.json:19:9 `uv-a_b_c` would be the output `b_c` of step `a` and the output `c` of step `a_b` (rename one of them)");
    // Also if neither step declares its output.
    let bare = |next: &str| json!({"prompt": {"path": "system.md"}, "next": next});
    let project = Project::tailor()
        .registry("/steps/a", bare("a_b"))
        .registry("/steps/a_b", bare("quote"))
        .registry("/steps/measure/next", json!("a"))
        .registry("/steps/quote/inputs", json!({"a.b_c": true, "a_b.c": true}));
    assert!(
        project
            .said()
            .contains("`uv-a_b_c` would be the output `b_c` of step `a` and the output `c` of step `a_b`"),
        "{}",
        project.said()
    );
    let own = Project::tailor()
        .agent("/parameters/task", json!({"type": "string", "description": "d", "cli": "--task"}));
    insta::assert_snapshot!(own.said(), @"error steps/variable-collision agent.json:21:5 `uv-task` would be a variable of Saihai's own and the parameter `task` (rename one of them)");
    let alias =
        Project::tailor().registry("/steps/quote/inputs", json!({"customer": {"from": "measure.height"}}));
    insta::assert_snapshot!(alias.said(), @"error steps/variable-collision steps_registry.json:44:19 `uv-customer` would be the parameter `customer` and the output `height` of step `measure` (rename one of them)");
}

// S-41, S-43, case 22
#[test]
fn inputs_are_written_in_three_forms_and_split_at_the_last_dot() {
    let alias = quote("{uv-h} {uv-measure_height}")
        .registry("/steps/quote/inputs", json!({"h": {"from": "measure.height"}}));
    assert_eq!(sent(&alias), "<measure.height> <measure.height>");
    let wrapper = json!({"from_step": "measure", "variables": ["height", "measure.note"]});
    let wrapper = quote("{uv-measure_height} {uv-measure_note}").registry("/steps/quote/inputs", wrapper);
    assert_eq!(sent(&wrapper), "<measure.height> <measure.note>");
    let dotted = quote("{uv-initial_issue_height}")
        .registry("/steps/initial.issue", json!({"prompt": {"path": "system.md"}, "next": "quote"}))
        .registry("/steps/measure/next", json!("initial.issue"))
        .registry("/steps/quote/inputs", json!({"x": {"from": "initial.issue.height"}}));
    assert_eq!(sent(&dotted), "<initial.issue.height>");
    let wrong = json!({"x": {"from": "height"}, "y": {"form": "measure.height"}, "measure.note": false});
    insta::assert_snapshot!(quote("").file(QUOTE, "x").registry("/steps/quote/inputs", wrong).said(), @r"
    error steps/bad-value steps_registry.json:43:25 `measure.note` must be `true` or a mapping (remove it if it is not used)
    error steps/bad-value steps_registry.json:45:19 `height` names no output of a step (write `STEP.KEY`, such as `measure.height`)
    error steps/bad-value steps_registry.json:47:9 `y` names no output of a step (write `STEP.KEY`, such as `measure.height`)
    error steps/unknown-key steps_registry.json:48:11 unknown key `form` (did you mean `from`?)
    ");
}

// S-51
#[test]
fn an_input_must_come_before_its_user() {
    let inputs = |value| Project::tailor().registry("/steps/measure/inputs", value);
    insta::assert_snapshot!(inputs(json!({"quote.price": true})).said(), @r#"warning steps/input-not-always-there steps_registry.json:7:9 step `quote` does not run before step `measure` on every path (add `"onMissing": "skip"`, or a `default`)"#);
    insta::assert_snapshot!(inputs(json!({"nobody.price": true})).said(), @"error steps/unknown-step steps_registry.json:7:9 step `nobody` does not exist");
    assert_eq!(inputs(json!({"quote.price": {"required": false}})).said(), "");
    let typo = Project::tailor().registry("/steps/quote/inputs", json!({"measure.heigth": true}));
    insta::assert_snapshot!(typo.said(), @"warning steps/unknown-output steps_registry.json:43:9 step `measure` declares no output `heigth` (did you mean `height`?)");
    let endless = Project::tailor()
        .dropping("steps_registry.json", "/steps/quote/check")
        .registry("/steps/quote/terminal", json!(true))
        .registry("/steps/measure/inputs", json!({"quote.price": true}));
    insta::assert_snapshot!(endless.said(), @"error steps/input-never-there steps_registry.json:7:9 step `quote` never runs before step `measure` (run it earlier, or make the input optional)");
}

// S-8, S-51
#[test]
fn declared_variables_must_be_used_and_can_be_given() {
    let declares = |names: saihai_model::Json| quote("{uv-shop}").registry("/steps/quote/variables", names);
    insta::assert_snapshot!(declares(json!(["uv-shop", "customer"])).said(), @"warning steps/unused-variable steps_registry.json:52:9 the variable `customer` is not used in this step");
    assert_eq!(sent(&declares(json!(["shop"])).given(&[("customer", "x"), ("shop", "Ginza")])), "Ginza");
    assert_eq!(sent(&declares(json!(["shop"]))), "(the shop)", "whoever only looks need not give it");
    insta::assert_snapshot!(declares(json!(["shop"])).given(&[("customer", "x")]).said(), @"error steps/unknown-variable steps_registry.json:51:9 the variable `shop` has no value (give it with `--set shop=VALUE`)");
}

// S-12
#[test]
fn what_has_another_source_cannot_be_given() {
    let project = quote("{uv-task}").registry("/steps/quote/variables", json!(["task"]));
    insta::assert_snapshot!(project.given(&[("customer", "x"), ("task", "y")]).said(), @"error steps/unknown-parameter `task` cannot be given: it is a variable of Saihai's own");
}

#[test]
fn every_text_is_known_with_its_file_and_the_sources_of_its_variables() {
    let texts = quote("{uv-measure_height} {uv-iteration} {uv-customer} {uv-customer}").load().texts;
    let lines: Vec<String> = texts
        .iter()
        .map(|used| {
            let file = used.text.file.replace(".agent/tailor/prompts/", "");
            format!("{} {file} {:?}", used.text.stage, used.variables)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    measure order/measure/text/f_default.md [("customer", "the parameter `customer`")]
    quote order/quote/text/f_default.md [("measure_height", "the output `height` of step `measure`"), ("iteration", "a variable of Saihai's own"), ("customer", "the parameter `customer`")]
    quote order/quote/check/f_default.md []
    "#);
}

// S-8
#[test]
fn custom_variables_are_written_without_a_prefix() {
    let custom = json!([
        {"name": "input", "source": "stdin"},
        {"name": "customer", "source": "parameter", "required": true},
        {"name": "measure_height", "source": "context"},
        {"name": "issue", "source": "github"},
        {"name": "issue_title", "source": "github"},
    ]);
    let project = quote("{input}|{customer}|{measure_height}|{issue}|{issue_title}|{other}")
        .registry("/steps/quote/customVariables", custom);
    let looked_at =
        "<Task>|(the customer)|<measure.height>|(the issue_number)|<Subject(\"issue_title\")>|{other}";
    assert_eq!(sent(&project), looked_at);
    let without = project.given(&[("customer", "Sato")]);
    assert_eq!(sent(&without), "<Task>|Sato|<measure.height>|||{other}", "nothing of it is required");
    let about = without.options(|options| options.issue = saihai_model::IssueNumber::new(12));
    assert_eq!(sent(&about), "<Task>|Sato|<measure.height>|12|<Subject(\"issue_title\")>|{other}");
    let project = quote("{input_text}").registry("/steps/quote/usesStdin", json!(true));
    assert_eq!(sent(&project), "<Task>");
    assert!(project.load().needs_task);
    assert!(!Project::tailor().load().needs_task, "K-12");
    let wrong = json!([{"name": "weight", "source": "github"}, {"name": "title", "source": "github", "required": true}]);
    let project = quote("{weight} {title}").registry("/steps/quote/customVariables", wrong);
    insta::assert_snapshot!(project.given(&[("customer", "Sato")]).said(), @r"
    error steps/unknown-variable steps_registry.json:44:19 an issue has no `weight` (it has `issue_number`, `issue_title`, `issue_body` and `issue_labels`)
    error steps/unknown-variable steps_registry.json:48:19 nothing supplies `title` from `github` (add `--issue N`)
    ");
    let computed = json!([{"name": "x", "source": "computed"}, {"name": "missing", "source": "parameter", "required": true}]);
    let project = quote("{x} {missing}").registry("/steps/quote/customVariables", computed);
    insta::assert_snapshot!(project.said(), @r"
    error steps/not-supported steps_registry.json:45:21 computed variables are not supported (compute the value first and pass it as a parameter)
    error steps/unknown-variable steps_registry.json:48:19 nothing supplies `missing` from `parameter` (declare it in `parameters` of `agent.json`)
    ");
}

#[test]
fn a_role_can_use_what_is_known_before_the_run() {
    let project = Project::tailor().file("prompts/system.md", "You serve {uv-customer} as {uv-agent_name}.");
    let workflow = project.given(&[("customer", "Sato")]).workflow();
    assert_eq!(turn(&workflow, "quote").persona, Some("You serve Sato as tailor.".into()));
    let late = Project::tailor().file("prompts/system.md", "{uv-iteration} {uv-measure_height}");
    insta::assert_snapshot!(late.said(), @r"
    error steps/unknown-variable prompts/system.md:1:1 `{uv-iteration}` has no value in a role (a role can use parameters; move the rest into a prompt)
    error steps/unknown-variable prompts/system.md:1:16 `{uv-measure_height}` has no value in a role (a role can use parameters; move the rest into a prompt)
    ");
}

// A declared variable counts, even if no text uses it.
#[test]
fn a_custom_variable_comes_from_where_it_says() {
    let custom = |text: &str, custom: Json| {
        quote(text).registry("/steps/quote/customVariables", custom).given(&[("customer", "Sato")])
    };
    let task = custom("{input}", json!([{"name": "input", "source": "stdin", "required": true}]));
    assert!(task.load().needs_task);
    let optional = custom("{input}", json!([{"name": "input", "source": "stdin"}]));
    assert!(!optional.load().needs_task);
    let unused = json!([{"name": "issue", "source": "github", "required": true}, {"name": "input", "source": "stdin"}]);
    insta::assert_snapshot!(custom("Quote.", unused).said(), @r"
    warning steps/unused-variable steps_registry.json:44:19 the variable `issue` is not used in this step
    error steps/unknown-variable steps_registry.json:44:19 nothing supplies `issue` from `github` (add `--issue N`)
    warning steps/unused-variable steps_registry.json:49:19 the variable `input` is not used in this step
    ");
    let output = json!([{"name": "measure_height", "source": "parameter", "required": true}]);
    insta::assert_snapshot!(custom("{measure_height}", output).said(), @"error steps/unknown-variable steps_registry.json:44:19 nothing supplies `measure_height` from `parameter` (declare it in `parameters` of `agent.json`)");
}

#[test]
fn a_name_may_be_written_with_its_prefix_wherever_one_is_listed() {
    let wrapped = json!({"from_step": "measure", "variables": ["uv-height"]});
    let project = quote("{uv-measure_height} {uv-cut}")
        .registry("/steps/quote/inputs", wrapped)
        .agent("/parameters/uv-cut", json!({"type": "string", "cli": "--cut", "description": "which"}))
        .given(&[("customer", "Sato"), ("uv-cut", "slim")]);
    assert_eq!(project.said(), "");
    assert_eq!(sent(&project), "<measure.height> slim");
}

// The wrapper for several steps, and a missing default.
#[test]
fn inputs_of_several_steps_are_taken_from_each() {
    let fit = json!({"prompt": {"path": "system.md"}, "next": "quote", "outputSchema": {"height": {"type": "number"}}});
    let project = quote("{uv-measure_height} {uv-fit_height}")
        .registry("/steps/fit", fit)
        .registry("/steps/measure/next", json!("fit"))
        .registry("/steps/quote/inputs", json!({"from_steps": ["measure", "fit"], "variables": ["height"]}));
    assert_eq!((project.said().as_str(), sent(&project).as_str()), ("", "<measure.height> <fit.height>"));
    let needs: Vec<String> =
        turn(&project.workflow(), "quote").needs.iter().map(|(step, key)| format!("{step}.{key}")).collect();
    assert_eq!(needs, ["measure.height", "fit.height"]);
    let inputs = json!({"measure.height": {"onMissing": "default"}});
    insta::assert_snapshot!(quote("Quote.").registry("/steps/quote/inputs", inputs).said(), @r#"error steps/missing-key steps_registry.json:43:27 `"onMissing": "default"` needs a `default`"#);
}

// An output is never available without its step's name.
#[test]
fn an_output_has_no_name_without_its_step() {
    insta::assert_snapshot!(quote("{uv-height}").said(), @"error steps/unknown-variable prompts/order/quote/text/f_default.md:1:1 nothing supplies the variable `{uv-height}` (add it to `variables` and give it with `--set height=VALUE`, or make it a parameter)");
}

// Issue 25: `check` and `run` agree about steps that nothing reaches
#[test]
fn a_variable_that_only_an_unreached_step_lacks_is_a_warning() {
    let island = json!({"prompt": {"c1": "order", "c2": "island", "c3": "text"}, "next": "measure", "variables": ["colour"]});
    let project = || {
        let project = Project::tailor().registry("/steps/island", island.clone());
        project.file("prompts/order/island/text/f_default.md", "Needs {uv-nothing} and {uv-colour}.\n")
    };
    insta::assert_snapshot!(project().said(), @"
    warning steps/unknown-variable prompts/order/island/text/f_default.md:1:7 nothing supplies the variable `{uv-nothing}`, and no step leads to `island` (add it to `variables` and give it with `--set nothing=VALUE`, or make it a parameter)
    warning workflow/unreachable steps_registry.json:5:5 nothing leads to step `island`
    ");
    let run = project().given(&[("customer", "Sato")]);
    assert!(run.load().workflow.is_some(), "{}", run.said());
    assert!(run.said().contains("warning steps/unknown-variable"), "{}", run.said());
    // A step that runs needs its variables.
    let reached = project()
        .registry("/steps/measure/next", json!("island"))
        .registry("/steps/island/next", json!("quote"));
    assert!(reached.said().contains("error steps/unknown-variable"), "{}", reached.said());
}

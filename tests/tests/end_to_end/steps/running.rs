//! Runs of a step agent: its flags, prompts and gates.

use insta::assert_snapshot;
use saihai_tests::{Outcome, Project, story};
use serde_json::json;

use super::{REGISTRY, registry, tailor};

fn run(project: &Project, arguments: &[&str]) -> Outcome {
    let all = ["run", "tailor"].iter().chain(arguments).chain(&["--script", "walk.yaml"]);
    project.saihai(all).run()
}

// S-8, case 15
#[test]
fn an_agent_goes_through_its_steps_until_the_check_passes() {
    let project = tailor();
    let outcome = run(&project, &["--customer", "Sato"]).exits(0);
    assert!(outcome.stdout.contains("Flow completed at quote"), "{outcome}");
    assert_snapshot!(story(&project.journal()), @r"
    enter measure
    leave measure by only rule 0 [-] -> stage quote
    enter quote
      question about quote
    leave quote by judge rule 1 [ng] -> again
      question about quote
    leave quote by judge rule 0 [ok] -> complete
    finished: completed Flow completed at quote
    ");
    let prompts: Vec<String> =
        project.journal().prompts().into_iter().map(|(stage, text)| format!("{stage}: {text}")).collect();
    assert_snapshot!(prompts.join("\n"), @r#"
    measure.1.1.1: Measure Sato.

    Reply with exactly one ```json block of this form:
    ```json
    {
      "properties": {
        "height": {
          "type": "number"
        },
        "note": {
          "type": "string"
        }
      },
      "required": [
        "height"
      ],
      "type": "object"
    }
    ```

    quote.1.1.1: Height 175 cm for Sato.

    quote.1.1.2: Is the quote right?

    Reply with exactly one ```json block of this form:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```

    quote.1.2.1: Height 175 cm for Sato.

    quote.1.2.2: Is the quote right?

    Reply with exactly one ```json block of this form:
    ```json
    {
      "message": "string",
      "result": "ok|ng"
    }
    ```
    "#);
}

// K-5, K-12
#[test]
fn a_task_is_added_to_the_first_prompt_and_not_needed() {
    let project = tailor();
    run(&project, &["--customer", "Sato"]).exits(0);
    assert!(project.runs()[0].ends_with("-tailor"), "{:?}", project.runs());
    let project = tailor();
    run(&project, &["A suit for a wedding", "--customer", "Sato"]).exits(0);
    assert!(project.journal().prompt("measure").ends_with("\n## Task\nA suit for a wedding"));
}

// S-12, case 39
#[test]
fn parameters_are_flags_or_settings() {
    let check = |arguments: &[&str], expected: &str| {
        let project = tailor();
        run(&project, arguments).exits(0);
        assert!(project.journal().prompt("measure").starts_with(expected), "{arguments:?}");
    };
    check(&["--customer=Sato"], "Measure Sato.\n");
    check(&["--set", "customer=a=b"], "Measure a=b.\n");
    check(&["--set", "uv-customer=x"], "Measure x.\n");
    check(&["--customer", "{uv-customer} $&"], "Measure {uv-customer} $&.\n");
}

// S-12: flags of each type, omitted flags, and a variable that only a step declares.
#[test]
fn flags_are_read_by_the_types_of_their_parameters() {
    let mut agent = super::agent();
    agent["parameters"] = json!({
        "fast": {"type": "boolean", "cli": "--fast", "description": "in a hurry"},
        "colours": {"type": "array", "cli": "--colour", "description": "which"},
        "size": {"type": "number", "cli": "--size", "description": "how large", "default": 52,
            "validation": {"min": 30, "max": 70}},
    });
    let mut registry = registry();
    registry["steps"]["measure"]["variables"] = json!(["uv-shop"]);
    let text = "[{uv-fast}] [{uv-colours}] [{uv-size}] [{uv-shop}]\n";
    let project = || {
        let project = tailor();
        project.write(super::AGENT, agent.to_string()).write(REGISTRY, registry.to_string());
        project.write(".agent/tailor/prompts/order/measure/text/f_default.md", text);
        project.write(".agent/tailor/prompts/order/quote/text/f_default.md", "Height {uv-measure_height}.\n");
        project
    };
    let sent = |arguments: &[&str]| {
        let project = project();
        let all: Vec<&str> = arguments.iter().chain(&["--set", "shop=Ginza"]).copied().collect();
        run(&project, &all).exits(0);
        project.journal().prompt("measure").lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(sent(&[]), "[] [] [52] [Ginza]");
    let typed = ["--fast", "--colour", "red", "--colour", "blue,green", "--size", "48"];
    assert_eq!(sent(&typed), r#"[true] [["red","blue","green"]] [48] [Ginza]"#);
    assert_eq!(sent(&["--fast=false", "--set", "colours=red"]), r#"[false] [["red"]] [52] [Ginza]"#);
    for (wrong, why) in [("--size=9", "`9` is less than 30"), ("--size=inf", "is not a finite number")] {
        let refused = run(&project(), &[wrong, "--set", "shop=Ginza"]).exits(2);
        assert!(refused.stderr.contains(why), "{refused}");
    }
}

// S-73
#[test]
fn a_gate_waits_for_a_person_before_its_step() {
    let gated = || {
        let mut registry = registry();
        registry["steps"]["measure"]["gate"] = json!("Is the customer there?");
        let project = tailor();
        project.write(REGISTRY, registry.to_string());
        project.write(".agent/tailor/prompts/order/measure/text/f_default.md", "Measure ({uv-answer}).\n");
        run(&project, &["--customer", "Sato"]).exits(6);
        project
    };
    let project = gated();
    project.saihai(["answer", "last", "yes", "on a stool", "--no-resume"]).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
    assert!(project.journal().prompt("measure").starts_with("Measure (on a stool).\n"));
    let project = gated();
    project.saihai(["answer", "last", "no", "--no-resume"]).run().exits(0);
    assert!(story(&project.journal()).ends_with("finished: declined\n"), "{}", story(&project.journal()));
    project.saihai(["resume", "last"]).run().exits(3);
}

// S-4, case 27
#[test]
fn what_is_edited_during_a_run_changes_nothing() {
    let mut registry = registry();
    registry["steps"]["quote"]["gate"] = json!("Go on?");
    let project = tailor();
    project.write(REGISTRY, registry.to_string());
    run(&project, &["--customer", "Sato"]).exits(6);
    std::fs::remove_dir_all(project.root().join(".agent")).expect("the agent's directory");
    project.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
    let prompts = project.journal().prompts();
    let quote = prompts.iter().find(|(call, _)| call == "quote.1.1.1").map(|(_, text)| text.as_str());
    assert!(quote.is_some_and(|text| text.starts_with("Height 175 cm for Sato.\n")), "{prompts:?}");
}

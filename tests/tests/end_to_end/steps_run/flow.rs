//! Transitions of a step agent: the order of an iteration, failing steps, inputs and names.

use saihai_tests::{Project, story};
use serde_json::{Value, json};

use super::{ANY, agent, completes, for_ever, returned, run};

fn machine(steps: &Value, replies: &[(&str, &str)]) -> Project {
    agent(&completes("stepMachine", &json!({})), &json!({}), steps, &said(replies))
}

/// Returns replies for these steps in order; `step#judge` is the step's check.
fn said(replies: &[(&str, &str)]) -> String {
    let line = |(step, text): &(&str, &str)| format!("  - {{for: '{step}', text: {}}}\n", Value::from(*text));
    replies.iter().map(line).collect()
}

/// Returns the events of the last run by name and subject.
fn happened(project: &Project) -> Vec<String> {
    let events = project.saihai(["log", "last", "--json"]).run().exits(0).json();
    let named = events.iter().filter_map(|line| {
        let (_, entry) = line["event"].as_object()?.iter().next()?;
        let (name, body) = entry.as_object()?.iter().next()?;
        let call = &body["call"];
        let about = match name.as_str() {
            "asked" | "replied" | "performed" => call["n"].to_string(),
            "exited" => body["stage"].as_str()?.to_owned(),
            "finished" => body["ending"]["completed"].as_str()?.to_owned(),
            _ => return None,
        };
        Some(format!("{name} {about}"))
    });
    named.collect()
}

// S-24, S-35: an iteration has a fixed order: reply, output and its correction, action, check, transition,
// completion, limit. Only one of these happens at a time, and nothing follows the completion.
#[test]
fn an_iteration_does_everything_in_its_order() {
    let steps = json!({
        "a": {
            "outputSchema": {"height": {"type": "number"}},
            "check": {"onPass": {"complete": true}, "onFail": {"retry": true}},
        },
        "b": {"next": "a"},
    });
    let acting = json!({"actions": {"enabled": true, "types": ["note"], "handlers": {"note": "file"}}});
    let replies = said(&[
        ("a", "```action\n{\"type\": \"note\", \"content\": \"kept\"}\n```\n{\"height\": \"tall\"}"),
        ("a", "{\"height\": 5}"),
        ("a#judge", "{\"result\": \"ok\"}"),
    ]);
    let project = agent(&completes("stepMachine", &json!({"maxIterations": 1})), &acting, &steps, &replies);
    run(&project, &[]).exits(0);
    let expected = [
        "asked 1",
        "replied 1",
        "asked 2",
        "replied 2",
        "performed 3",
        "asked 4",
        "replied 4",
        "exited a",
        "finished Flow completed at a",
    ];
    assert_eq!(happened(&project), expected);
}

/// Runs a step with these answers to its check. Returns whether it passed, the number of questions, and the project.
fn checked(answers: &[&str]) -> (bool, usize, Project) {
    let steps = json!({
        "a": {"outputSchema": {"height": {"type": "number"}},
            "check": {"onPass": {"complete": true}, "onFail": {"next": "b"}}},
        "b": {"terminal": true},
    });
    let mut replies = vec![("a", "{\"height\": 5}")];
    replies.extend(answers.iter().map(|text| ("a#judge", *text)));
    let done = said(&replies) + "  - {for: b, text: done, times: \"*\"}\n";
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, &done);
    project.write(".agent/it/prompts/check.md", "Is {uv-a_height} right?\n");
    project.write(".agent/it/prompts/b.md", "[{uv-check_message}]\n");
    let ended = run(&project, &[]);
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["loop"]["success"], json!(true), "{ended}");
    let asked = project.journal().asked().keys().filter(|call| call.starts_with("a.")).count() - 1;
    (project.journal().path_taken() == ["a"], asked, project)
}

// S-37, case 13
#[test]
fn a_check_is_read_by_its_form_and_never_by_a_word_in_it() {
    for passed in ["\"OK \"", "\"ok\"", "\"pass\"", "\" True\"", "true"] {
        let answer = format!("{{\"result\": {passed}}}");
        assert_eq!((checked(&[&answer]).0, checked(&[&answer]).1), (true, 1), "{passed}");
    }
    for failed in ["\"ng\"", "\"FAIL\"", "\"false\"", "false"] {
        let answer = format!("{{\"result\": {failed}, \"message\": \"too wide\"}}");
        let (passed, asked, project) = checked(&[&answer]);
        assert_eq!((passed, asked), (false, 1), "{failed}");
        assert_eq!(project.journal().prompt("b"), "[too wide]\n");
    }
    let (passed, asked, project) = checked(&["I would say result: ok", "{\"result\": \"ok\"}"]);
    assert_eq!((passed, asked), (true, 2), "prose is asked about once more");
    let questions: Vec<String> = project.journal().prompts().into_iter().map(|(_, text)| text).collect();
    let form = "Reply with exactly one ```json block of this form:\n```json\n{\n  \"message\": \"optional\",\n  \"result\": \"ok|ng\"\n}\n```\n";
    assert_eq!(questions[1], format!("Is 5 right?\n\n{form}"), "the output of this very round");
    assert_eq!(questions[2], format!("Your answer could not be read.\n\n{form}"));
    for unreadable in [["{\"result\": null}"; 2], ["{\"result\": \"not ok\"}"; 2], ["{\"ok\": true}"; 2]] {
        let (passed, asked, project) = checked(&unreadable);
        assert_eq!((passed, asked), (false, 2), "{unreadable:?}");
        assert_eq!(project.journal().prompt("b"), "[unreadable check reply]\n");
        let explained = project.saihai(["explain", "last"]).run().exits(0).stdout;
        assert!(explained.contains("a judge read the reply of `a`: unreadable check reply\n"), "{explained}");
    }
}

// S-40: a terminal step does its work first. A failed step takes its own exit, and no step repeats for ever.
#[test]
fn a_flow_ends_only_where_it_says_so_and_a_step_that_fails_never_goes_on_as_if_it_had_not() {
    let project = machine(&json!({"a": {"terminal": true}}), &[("a", "done")]);
    run(&project, &[]).exits(0);
    assert_eq!(project.journal().asked().len(), 1, "the last step is worked");
    let wrong = [("a", "no JSON"), ("a", "none either"), ("b", "done")];
    let schema = json!({"x": {"type": "number"}});
    let check = json!({"onPass": {"complete": true}, "onFail": {"next": "b"}});
    let steps = json!({"a": {"outputSchema": schema, "check": check}, "b": {"terminal": true}});
    let project = machine(&steps, &wrong);
    run(&project, &[]).exits(0);
    assert_eq!(
        story(&project.journal()),
        "enter a\n  correction\nleave a by output [] -> stage b\nenter b\nleave b by only rule 0 [-] -> complete\nfinished: completed Flow completed at b\n",
        "the check is not asked"
    );
    let explained = project.saihai(["explain", "last"]).run().exits(0).stdout;
    assert!(explained.contains("       its output is invalid: no JSON object\n"), "{explained}");
    let project =
        machine(&json!({"a": {"outputSchema": schema, "next": "b"}, "b": {"terminal": true}}), &wrong);
    run(&project, &[]).exits(1);
    assert_eq!(returned(&project)["completionReason"], json!("step_failed"));
    let fallback = json!({"a": {"check": {"onPass": {"complete": true}, "onFail": {"fallback": "a"}}}});
    let never =
        "  - {for: 'a#judge', text: '{\"result\": \"ng\"}', times: \"*\"}\n  - {text: x, times: \"*\"}\n";
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &fallback, never);
    run(&project, &[]).exits(1);
    let expected = json!({
        "success": false,
        "completionReason": "step_failed",
        "error": "step `a` failed: it led to itself more than 10 times in a row",
        "iterations": 11,
    });
    assert_eq!(returned(&project), expected);
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE"}));
    let project = agent(&keyword, &json!({}), &json!({"a": {"next": "a"}}), ANY);
    run(&project, &[]).exits(1);
    assert_eq!(returned(&project), expected);
}

// S-41, case 21: a step sees the outputs of all earlier steps. A missing required input ends the run before the turn.
#[test]
fn a_step_sees_the_outputs_of_all_before_it_and_is_not_asked_without_what_it_needs() {
    let steps = json!({
        "a": {"next": "b"},
        "b": {"next": "c"},
        "c": {"terminal": true, "inputs": {
            "a.height": true,
            "b.colour": {"required": false, "default": "grey"},
            "size": {"from": "a.size", "onMissing": "skip"},
        }},
    });
    let of = |first: &str, second: &str| {
        let project = machine(&steps, &[("a", first), ("b", second), ("c", "done")]);
        project.write(".agent/it/prompts/c.md", "[{uv-a_height}] [{uv-b_colour}] [{uv-size}]\n");
        project
    };
    let project = of("{\"height\": 175, \"size\": {\"eu\": 52}}", "{\"colour\": \"blue\"}");
    run(&project, &[]).exits(0);
    assert_eq!(project.journal().prompt("c"), "[175] [blue] [{\"eu\":52}]\n");
    let project = of("{\"height\": true}", "no JSON at all");
    run(&project, &[]).exits(0);
    assert_eq!(project.journal().prompt("c"), "[true] [grey] []\n");
    let project = of("{\"height\": null}", "{\"colour\": \"blue\"}");
    let failed = run(&project, &[]).exits(1);
    assert!(failed.stderr.contains("MissingRequiredInput: a.height"), "{failed}");
    assert_eq!(project.journal().path_taken(), ["a", "b", "c"]);
    assert_eq!(project.journal().asked().len(), 2, "`c` was not asked");
    assert_eq!(returned(&project)["error"], json!("MissingRequiredInput: a.height"));
}

// S-11 at run time, case 18: undeclared outputs are compared when they arrive.
#[test]
fn an_output_that_would_be_a_second_source_of_a_variable_fails_its_step() {
    let steps = json!({"a": {"next": "a_b"}, "a_b": {"next": "c"}, "c": {"terminal": true}});
    let replies = [("a", "{\"b_c\": 1}"), ("a_b", "{\"c\": 2}"), ("c", "done")];
    let project = machine(&steps, &replies);
    let failed = run(&project, &[]).exits(1);
    let error = "step `a_b` failed: its output is invalid: `c` would be a second source of `a_b_c`, which is the output `b_c` of `a`";
    assert!(failed.stderr.contains(error), "{failed}");
    assert_eq!(returned(&project)["completionReason"], json!("step_failed"));
    let mut checked = steps.clone();
    checked["a_b"] = json!({"check": {"onPass": {"complete": true}, "onFail": {"next": "c"}}});
    let project = machine(&checked, &replies);
    run(&project, &[]).exits(0);
    assert_eq!(project.journal().path_taken(), ["a", "a_b", "c"], "its own way out, and no check");
    assert_eq!(project.journal().asked().len(), 3);
    let mut declared = steps.clone();
    declared["a_b"]["outputSchema"] = json!({"d": {"type": "number"}});
    let corrected = [replies[0], ("a_b", "{\"c\": 2, \"d\": 1}"), ("a_b", "{\"d\": 1}"), replies[2]];
    let project = machine(&declared, &corrected);
    run(&project, &[]).exits(0);
    let prompts = project.journal().prompts();
    let correction = prompts.iter().find(|(call, _)| call == "a_b.1.1.2").map(|(_, text)| text.as_str());
    let wrong = "Your output violates the schema: `c` would be a second source of `a_b_c`, which is the output `b_c` of `a`. Return only the corrected JSON.";
    assert_eq!(correction, Some(wrong), "one with a schema is corrected once, like everything else in it");
    let parameter = json!({"parameters": {"a_b_c": {"type": "string", "cli": "--it", "description": "x"}}});
    let flow = completes("stepMachine", &json!({}));
    let project = agent(&flow, &parameter, &steps, &said(&[("a", "{\"b_c\": 1}")]));
    let failed = run(&project, &["--it", "x"]).exits(1);
    assert!(failed.stderr.contains("which is the parameter `a_b_c`"), "{failed}");
    let project =
        machine(&steps, &[("a", "{\"b_c\": 1}"), ("a_b", "{\"c\": null, \"d\": 2}"), ("c", "done")]);
    run(&project, &[]).exits(0);
}

// Case 29: a run that waits for a rate limit does not block other runs.
#[test]
fn a_rate_limit_is_waited_out_while_other_runs_go_on() {
    let replies =
        "  - {fail: {class: rate_limited, message: slow down, retry_after: 7}}\n  - {text: 'DONE'}\n";
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE"}));
    let project = agent(&keyword, &json!({}), &for_ever(), replies);
    project.write("other.yaml", "script: 1\nreplies:\n  - {text: 'DONE'}\n");
    let began = std::time::Instant::now();
    let mut limited = project.saihai(["run", "it", "--script", "script.yaml"]).start();
    limited.wait_for_note("rate_limited");
    project.saihai(["run", "it", "--script", "other.yaml"]).run().exits(0);
    let states = project.saihai(["runs", "--state", "running"]).run().exits(0).stdout;
    assert_eq!(states.lines().count(), 2, "the first one still waits: {states}");
    limited.finish().exits(0);
    assert!(began.elapsed() >= std::time::Duration::from_secs(7));
}

// The turns of a visit also count without a check.
#[test]
fn a_step_without_a_check_goes_on_after_its_turns() {
    let steps = json!({"a": {"next": "b", "iterations": {"min": 2}}, "b": {"terminal": true}});
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, ANY);
    run(&project, &[]).exits(0);
    let asked: Vec<String> = project.journal().asked().into_keys().collect();
    assert_eq!(asked, ["a.1.1.1", "a.1.2.1", "b.1.1.1"]);
}

// Case 11
#[test]
fn two_steps_whose_checks_send_the_work_to_each_other_stop_at_the_hard_limit() {
    let check = |other: &str| json!({"check": {"onPass": {"complete": true}, "onFail": {"next": other}}});
    let never = "  - {for: 'a#judge', text: '{\"result\": \"ng\"}', times: \"*\"}\n  - {for: 'b#judge', text: '{\"result\": \"ng\"}', times: \"*\"}\n";
    let steps = json!({"a": check("b"), "b": check("a")});
    let replies = format!("{never}{ANY}");
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, &replies);
    run(&project, &[]).exits(5);
    let asked: Vec<String> = project.journal().asked().into_keys().collect();
    let of = |which: &str| asked.iter().filter(|call| call.ends_with(which)).count();
    assert_eq!((of(".1.1"), of(".1.2"), asked.len()), (100, 100, 200), "as many checks as work turns");
    assert_eq!(returned(&project)["completionReason"], json!("emergency_stop"));
}

//! Inputs of a step agent's prompts, handlers and actions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::Project;
use serde_json::{Value, json};

use super::{ANY, agent, blocks, completes, for_ever, run, summaries};

/// All variables that Saihai defines, in one line.
const ALL: &str = "{uv-task}|{uv-agent_name}|{uv-step}|{uv-iteration}|{uv-completed_iterations}|{uv-max_iterations}|{uv-remaining}|{uv-previous_response}|{uv-previous_summary}|{uv-check_message}|{uv-check_count}|{uv-max_checks}|{uv-completion_keyword}|{uv-phase}|{uv-issue_number}";

// S-52
#[test]
fn every_variable_of_saihais_own_has_its_value_and_a_task_nobody_shows_is_added() {
    let conditions = json!([
        {"type": "keywordSignal", "config": {"completionKeyword": "DONE"}},
        {"type": "checkBudget", "config": {"maxChecks": 5}},
        {"type": "phaseCompletion"},
    ]);
    let config = json!({"operator": "or", "conditions": conditions, "maxIterations": 9});
    let acting = json!({
        "actions": {"enabled": true, "types": ["project-plan"]},
        "parameters": {"issue": {"type": "number", "cli": "--issue", "description": "which"}},
    });
    let steps =
        json!({"a": {"check": {"onPass": {"next": "b"}, "onFail": {"retry": true}}}, "b": {"next": "a"}});
    let plan = blocks(&[json!({"type": "project-plan"})]);
    let replies = plan
        + "  - {for: 'a#judge', text: '{\"result\": \"ng\", \"message\": \"too wide\"}'}\n  - {text: DONE}\n  - {for: 'a#judge', text: '{\"result\": \"ok\"}'}\n";
    let project = agent(&completes("composite", &config), &acting, &steps, &replies);
    project.write(".agent/it/prompts/a.md", ALL);
    project.write(".saihai/issues/7-coat.md", "# A coat\n");
    run(&project, &["Sew a coat", "--set", "issue=7", "--no-worktree"]).exits(0);
    let prompts = project.journal().prompts();
    let of = |wanted: &str| prompts.iter().find(|(call, _)| call == wanted).map(|(_, text)| text.as_str());
    assert_eq!(of("a.1.1.1"), Some("Sew a coat|it|a|1|0|9|8||||0|5|DONE|preparation|7"));
    let before = "```action\n{\"type\":\"project-plan\"}\n```\n";
    let again = format!("Sew a coat|it|a|2|1|9|7|{before}|{before}|too wide|1|5|DONE|processing|7");
    assert_eq!(of("a.1.2.1"), Some(again.as_str()));
    std::fs::remove_dir_all(project.run_directory()).expect("it is ours");
    // With `--issue` the issue decides, and the prompts still show the values of the agent's own type.
    run(&project, &["--issue", "7", "--no-worktree", "--max-iterations", "1"]).exits(5);
    assert_eq!(project.journal().prompts()[0].1, "# Issue 7: A coat|it|a|1|0|1|0||||0|5|DONE||7");
    let steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    for (language, heading) in [("en", "## Task"), ("ja", "## タスク")] {
        let spoken = json!({"language": language});
        let project = agent(&completes("stepMachine", &json!({})), &spoken, &steps, ANY);
        run(&project, &["Sew a coat"]).exits(0);
        assert_eq!(project.journal().prompt("a"), format!("Do a.\n\n{heading}\nSew a coat"));
        assert_eq!(project.journal().prompt("b"), "Do b.\n", "only the first is told");
    }
}

/// Installs an agent program without memory between turns, which prints the files `1`, `2`, … one after the other.
fn forgetful(project: &Project, protocol: &str, replies: &[&str]) {
    for (index, reply) in replies.iter().enumerate() {
        fs::write(project.home().join(format!("{}", index + 1)), reply).expect("a reply");
    }
    let program = project.home().join("forgetful.sh");
    let home = project.home();
    let home = home.display();
    let body = format!(
        "#!/bin/sh\nn=$(ls {home}/heard.* 2>/dev/null | wc -l)\nn=$((n + 1))\ncat > {home}/heard.$n\ncat {home}/$n\n"
    );
    fs::write(&program, body).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let settings = format!(
        "provider = \"forgetful\"\n[providers.forgetful]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\nprotocol = \"{protocol}\"\n",
        program.display()
    );
    project.write("../home/.config/saihai/config.toml", settings);
}

fn heard(project: &Project, number: usize) -> String {
    fs::read_to_string(project.home().join(format!("heard.{number}"))).expect("it was asked")
}

// S-55
#[test]
fn a_provider_without_sessions_is_told_what_was_said_before_each_prompt_that_goes_on() {
    let steps = json!({
        "a": {"check": {"onPass": {"next": "b"}, "onFail": {"retry": true}}},
        "b": {"terminal": true},
    });
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, ANY);
    let long = format!("begin {} end", "身".repeat(4_500));
    forgetful(&project, "text", &[&long, "{\"result\": \"ok\"}", "done"]);
    project.saihai(["run", "it"]).run().exits(0);
    let known = "{\"lastActions\":[],\"lastToolsUsed\":[]}";
    let end = format!("…{} end", "身".repeat(3_996));
    let carried = format!("## Carried over from the previous iteration\n\n{end}\n\n{known}\n\n");
    assert!(heard(&project, 1).ends_with("Do a.\n") && !heard(&project, 1).contains("Carried"));
    for (number, prompt) in [(2, "Is it right?\n"), (3, "Do b.\n")] {
        let heard = heard(&project, number);
        assert!(heard.contains(&format!("{carried}{prompt}")), "{number}: {heard}");
    }
    let japanese = json!({"language": "ja"});
    let project = agent(&completes("stepMachine", &json!({})), &japanese, &steps, ANY);
    forgetful(&project, "text", &["短い", "{\"result\": \"ok\"}", "done"]);
    project.saihai(["run", "it"]).run().exits(0);
    let carried = format!("## 前イテレーションからの引き継ぎ\n\n短い\n\n{known}\n\nDo b.\n");
    assert!(heard(&project, 3).contains(&carried), "{}", heard(&project, 3));
}

// S-62: the complete input of a handler.
#[test]
fn a_handler_is_told_everything_by_its_name() {
    let custom = completes("custom", &json!({"handlerPath": "handler.sh"}));
    let parameter = json!({"parameters": {
        "cut": {"type": "string", "cli": "--cut", "description": "which"},
        "seams": {"type": "number", "cli": "--seams", "description": "how many"},
        "lined": {"type": "boolean", "cli": "--lined", "description": "whether", "default": false},
        "cloths": {"type": "array", "cli": "--cloth", "description": "of what"},
        "note": {"type": "string", "cli": "--note", "description": "what else"},
    }});
    let replies = "  - {text: '{\"height\": 5}'}\n  - {text: 'second'}\n";
    let project = agent(&custom, &parameter, &for_ever(), replies);
    super::handler(
        &project,
        "cat > told; grep -q '\"iteration\":2' told && echo '{\"complete\": true, \"reason\": \"it fits\"}' || echo '{\"complete\": false}'",
    );
    let given = ["--cut", "slim", "--seams", "4", "--cloth", "wool,silk"];
    run(&project, &[&["--trust-project"][..], &given].concat()).exits(0);
    let mut told: Value = serde_json::from_str(&project.read("told")).expect("one JSON object");
    let summary = told["summary"].take();
    let expected = json!({
        "agent": "it",
        "iteration": 2,
        "stepId": "b",
        "parameters": {"cut": "slim", "seams": 4, "lined": false, "cloths": ["wool", "silk"], "note": null},
        "outputs": {"a": {"height": 5}},
        "carry": {
            "previousResponse": "second",
            "accumulatedContext": {"lastActions": [], "lastToolsUsed": []},
        },
        "summary": null,
    });
    assert_eq!(told, expected);
    assert_eq!(summary["iteration"], json!(2));
    assert_eq!(summary["assistantResponses"], json!(["second"]));
    let answers: Vec<Value> =
        project.journal().facts("performed").map(|fact| fact["outcome"]["done"]["label"].clone()).collect();
    assert_eq!(answers, [json!("open"), json!("reached")], "its answers are in the journal");
}

fn with_actions(actions: &Value, reply: &str) -> Project {
    let once = completes("iterationBudget", &json!({"maxIterations": 1}));
    let replies = format!("  - {{text: {}}}\n", Value::from(reply));
    let project = agent(&once, &json!({"actions": actions}), &for_ever(), &replies);
    run(&project, &[]).exits(0);
    project
}

// S-64
#[test]
fn blocks_are_found_by_their_fence_and_type_and_what_only_looks_like_one_is_told() {
    let reply = "```action\n{\"type\": \"note\"}\n```\n\
                 ```action\n{\"type\": \"note\", \"content\": \"c\", \"who\": \"me\", \"n\": 1}\n```\n\
                 ```action x\n{\"type\": \"note\", \"content\": \"another info string\"}\n```\n\
                 ```action\n{\"type\": \"note\",}\n```\n\
                 ```action\n{\"type\": \"foreign\"}\n```\n\
                 ```json\n{\"type\": \"note\"}\n```\n";
    let project = with_actions(&json!({"enabled": true, "types": ["note"]}), reply);
    let told = &summaries(&project)[0];
    let expected = json!([
        {"type": "note", "content": "", "metadata": {}},
        {"type": "note", "content": "c", "metadata": {"who": "me", "n": 1}},
    ]);
    assert_eq!(told["detectedActions"], expected);
    let errors = told["errors"].as_array().expect("a list");
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[1].as_str().is_some_and(|error| error.contains("foreign")), "{errors:?}");
    let reply = "```json\n{\"type\": \"note\"}\n```\n```json\n{\"type\": \"x\"}\n```\n";
    let project = with_actions(&json!({"enabled": true, "types": ["note"], "outputFormat": "json"}), reply);
    let told = &summaries(&project)[0];
    assert_eq!(told["detectedActions"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["errors"], json!([]), "other JSON is simply no action");
    let off =
        with_actions(&json!({"enabled": false, "types": ["note"]}), "```action\n{\"type\": \"note\"}\n```\n");
    assert_eq!(summaries(&off)[0]["detectedActions"], json!([]));
    let signal = completes("structuredSignal", &json!({"signalType": "sewn", "requiredFields": ["seam"]}));
    let replies = blocks(&[json!({"type": "sewn"})]) + &blocks(&[json!({"type": "sewn", "seam": 1})]);
    let project = agent(&signal, &json!({}), &for_ever(), &replies);
    run(&project, &[]).exits(0);
    assert_eq!(summaries(&project).as_array().map(Vec::len), Some(2), "detected though actions are off");
}

// The texts and actions of an iteration are those of all its replies.
#[test]
fn what_a_correction_says_belongs_to_its_iteration() {
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "ALL SEWN"}));
    let measured = json!({"height": {"type": "number"}});
    let steps = json!({"a": {"next": "b", "outputSchema": measured}, "b": {"next": "a"}});
    let actions = json!({"actions": {"enabled": true, "types": ["add"], "handlers": {"add": "file"}}});
    let first = format!("I measured.\n{}", add("first "));
    let second = format!("{}{}```json\n{{\"height\": 175}}\n```", add("first "), add("second "));
    let last = format!("{}It is ALL SEWN.\n```json\n{{\"height\": 176}}\n```", add("third"));
    let replies = [first.as_str(), &second, "on", "no JSON", &last];
    let replies = replies.map(|text| format!("  - {{text: {}}}\n", Value::from(text))).concat();
    let project = agent(&keyword, &actions, &steps, &replies);
    project.write(".agent/it/prompts/b.md", "Before: {uv-previous_response}\n");
    run(&project, &[]).exits(0);
    assert_eq!(project.read("output.md"), "first second third", "each once");
    let told = summaries(&project);
    assert_eq!(told.as_array().map(Vec::len), Some(3), "the word of a correction counts: {told}");
    assert_eq!(told[0]["assistantResponses"], json!([first, second]));
    assert_eq!(told[0]["actionResults"].as_array().map(Vec::len), Some(2));
    let errors = json!([
        "output: no JSON object",
        "the `add` block repeats an earlier one; Saihai does not run it again"
    ]);
    assert_eq!(told[0]["errors"], errors);
    assert_eq!(project.journal().prompt("b").trim_end(), format!("Before: {first}\n{second}"));
}

fn add(content: &str) -> String {
    format!("```action\n{}\n```\n", json!({"type": "add", "content": content}))
}

// A reply consists of all its messages, as in its summary.
#[test]
fn a_word_and_a_block_count_in_whichever_message_of_a_reply_they_stand() {
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "ALL SEWN"}));
    let actions = json!({"actions": {"enabled": true, "types": ["add"], "handlers": {"add": "file"}}});
    let project = agent(&keyword, &actions, &for_ever(), ANY);
    let earlier = format!("It is ALL SEWN.\n{}", add("earlier "));
    let last = format!("Now I tidy up.\n{}", add("later"));
    let reply = [json!({"type": "text", "text": earlier}), json!({"type": "done", "text": last})];
    forgetful(&project, "json", &[&reply.map(|line| format!("{line}\n")).concat()]);
    project.saihai(["run", "it"]).run().exits(0);
    let told = summaries(&project);
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(told[0]["assistantResponses"], json!([earlier, last]));
    assert_eq!(told[0]["detectedActions"].as_array().map(Vec::len), Some(2));
    assert_eq!((project.read("output.md").as_str(), &told[0]["errors"]), ("earlier later", &json!([])));
}

// S-60: a word alone on a line of an earlier message counts. The last message has it in a sentence.
#[test]
fn a_keyword_alone_on_a_line_of_an_earlier_message_counts() {
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE", "match": "line"}));
    let project = agent(&keyword, &json!({}), &for_ever(), ANY);
    let reply =
        [json!({"type": "text", "text": "DONE"}), json!({"type": "done", "text": "I am DONE with it."})];
    forgetful(&project, "json", &[&reply.map(|line| format!("{line}\n")).concat()]);
    project.saihai(["run", "it"]).run().exits(0);
    assert_eq!(summaries(&project).as_array().map(Vec::len), Some(1));
}

// S-66
#[test]
fn each_kind_of_handler_does_what_it_is_named_for() {
    let actions = json!({
        "enabled": true,
        "types": ["plain", "log", "add", "complete"],
        "handlers": {"log": "builtin:log", "add": "file"},
    });
    let block = |value: Value| format!("```action\n{value}\n```\n");
    let reply = [
        json!({"type": "plain", "content": "nobody handles it"}),
        json!({"type": "log", "content": "for the log"}),
        json!({"type": "add", "content": "a"}),
        json!({"type": "add", "content": "b"}),
        json!({"type": "add", "content": "c", "filename": "own.md", "mode": "append"}),
        json!({"type": "add", "content": "d", "filename": "own.md", "mode": "write"}),
        json!({"type": "complete", "content": "signalled"}),
    ];
    let reply: String = reply.into_iter().map(block).collect();
    let twice = completes("iterationBudget", &json!({"maxIterations": 2}));
    let replies = format!("  - {{text: {}}}\n", Value::from(reply));
    let project = agent(&twice, &json!({"actions": actions}), &for_ever(), &replies);
    run(&project, &[]).exits(0);
    let results: Vec<Value> = summaries(&project)[0]["actionResults"].as_array().cloned().unwrap_or_default();
    assert_eq!(results.len(), 6, "a signal is no action: {results:?}");
    assert!(results.iter().all(|result| result["success"] == json!(true)), "{results:?}");
    assert_eq!((project.read("output.md"), project.read("own.md")), ("ab".to_owned(), "d".to_owned()));
    let log = project.saihai(["log", "last"]).run().exits(0).stdout;
    assert!(log.contains("nobody handles it") && log.contains("for the log"), "{log}");
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["loop"]["completionReason"], json!("signalled"));
}

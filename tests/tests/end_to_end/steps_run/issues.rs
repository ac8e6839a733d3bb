//! Step agents and their issues: waiting for a state, blocks that reach GitHub, and the effects of closing.

use saihai_connect::forge::testing::{ForgeServer, ForgeState, Wrong};
use saihai_tests::{Invocation, Outcome, Project};
use serde_json::{Value, json};

use super::{ANY, agent, blocks, completes, for_ever, returned, summaries};

fn forge() -> ForgeServer {
    let mut state = ForgeState::default();
    state.issue(12, "Sew a coat", &["doing"]).body = "Of wool.".to_owned();
    ForgeServer::start(state)
}

fn reaching(project: &Project, server: &ForgeServer, arguments: &[&str]) -> Invocation {
    project.write(".saihai/config.toml", "[work]\nrepo = \"me/tool\"\n");
    project.saihai(arguments).env("GITHUB_API_URL", server.url()).env("GITHUB_TOKEN", "a-token-of-ours")
}

const ABOUT: [&str; 7] = ["run", "it", "--issue", "12", "--no-worktree", "--script", "script.yaml"];

/// The exit code of a run that reached its limit of iterations while its issue was open.
const STILL_OPEN: i32 = 5;

fn run(project: &Project, server: &ForgeServer) -> Outcome {
    reaching(project, server, &ABOUT).run()
}

fn waiting(steps: &Value) -> Project {
    agent(&completes("externalState", &json!({"resourceType": "github-issue"})), &json!({}), steps, ANY)
}

// S-34, S-60, case 33
#[test]
fn an_issue_that_is_closed_needs_no_turn_and_an_open_one_is_looked_at_after_each() {
    let (server, project) = (forge(), waiting(&for_ever()));
    let open = json!({"number": 12, "title": "Sew a coat", "body": "x", "state": "open"}).to_string();
    server.change(|state| state.issues.get_mut(&12).expect("it is there").closed = true);
    run(&project, &server).exits(0);
    let expected = json!({"success": true, "completionReason": "Issue #12 is closed", "iterations": 0});
    assert_eq!(returned(&project), expected);
    // One look for the task, one before the first turn, and one after it.
    server.goes_wrong("GET", "/repos/me/tool/issues/12", Wrong::Body(open), 3);
    run(&project, &server).exits(0);
    let expected = json!({"success": true, "completionReason": "Issue #12 is closed", "iterations": 2});
    assert_eq!(returned(&project), expected);
    assert_eq!(server.writes(), [""; 0]);
}

// S-60, S-61, S-69, case 33
#[test]
fn a_flow_that_ends_while_its_issue_is_open_fails_and_a_forge_that_fails_parks() {
    let (server, project) = (forge(), waiting(&json!({"a": {"terminal": true}})));
    run(&project, &server).exits(1);
    let expected = json!({
        "success": false,
        "completionReason": "flow_ended",
        "error": "flow ended at a, but issue #12 is open",
        "iterations": 1,
    });
    assert_eq!(returned(&project), expected);
    let project = waiting(&for_ever());
    let set = ["run", "it", "--set", "issue=12", "--script", "script.yaml"];
    let refused = reaching(&project, &server, &set).run().exits(2);
    assert!(refused.stderr.contains("this agent has no parameter `issue`"), "{refused}");
    let parameter = json!({"issue": {"type": "number", "cli": "--issue", "description": "which"}});
    let config = completes("externalState", &json!({}));
    let project = agent(&config, &json!({"parameters": parameter}), &for_ever(), ANY);
    let none = reaching(&project, &server, &["run", "it", "--script", "script.yaml"]).run().exits(2);
    assert!(none.stderr.contains("add `--issue N`, or give the parameter `issue`"), "{none}");
    let wrong = Wrong::Status(401, "Bad credentials".to_owned());
    server.goes_wrong("GET", "/repos/me/tool/issues/12", wrong, 1);
    let parked = reaching(&project, &server, &set).run().exits(4);
    assert!(parked.stderr.contains("no rights for issue #12: Bad credentials"), "{parked}");
    assert_eq!(returned(&project)["iterations"], json!(0), "nothing was asked meanwhile");
    server.change(|state| state.issues.get_mut(&12).expect("it is there").closed = true);
    reaching(&project, &server, &["resume", "last"]).run().exits(0);
    assert_eq!(returned(&project)["completionReason"], json!("Issue #12 is closed"));
}

fn acting(replies: &[Value]) -> Project {
    let more = json!({
        "github": {"enabled": true},
        "actions": {"enabled": true, "types": ["bug", "word"],
            "handlers": {"bug": "github-issue", "word": "github-comment"}},
    });
    let once = completes("iterationBudget", &json!({"maxIterations": 1}));
    agent(&once, &more, &for_ever(), &blocks(replies))
}

// Case 33: Saihai retries a failing forge a limited number of times, which costs no iteration.
#[test]
fn a_forge_that_fails_for_ever_parks_the_run() {
    let (server, project) = (forge(), waiting(&for_ever()));
    let look = "/repos/me/tool/issues/12";
    let open = json!({"number": 12, "title": "Sew a coat", "body": "x", "state": "open"}).to_string();
    // One look for the task, and one before the first turn.
    server.goes_wrong("GET", look, Wrong::Body(open), 2);
    server.goes_wrong("GET", look, Wrong::Status(503, "busy".to_owned()), 1_000);
    project.write("../home/.config/saihai/config.toml", "[retry]\ntransient = 2\n");
    let parked = run(&project, &server).exits(4);
    assert!(parked.stderr.contains("busy"), "{parked}");
    let returned = returned(&project);
    assert_eq!(
        (&returned["completionReason"], &returned["iterations"]),
        (&json!("provider_failed"), &json!(1))
    );
    assert_eq!(project.journal().asked().len(), 1, "one turn, whose end was never known");
    let failed =
        project.journal().facts("performed").filter(|fact| fact["outcome"]["failed"].is_object()).count();
    assert_eq!(failed, 2);
}

// S-65, S-67
#[test]
fn blocks_open_issues_and_comment_on_them_and_what_fails_stops_nothing() {
    let server = forge();
    let long = "The left sleeve is two centimetres shorter than the right one, cc @all.\nFixes #3";
    let project = acting(&[
        json!({"type": "bug", "content": long, "labels": ["found"], "assignee": "me"}),
        json!({"type": "bug", "title": "Short", "content": "x", "labels": "bug"}),
        json!({"type": "word", "content": "Sewn."}),
        json!({"type": "word", "content": "Here too.", "issue": "#13"}),
        json!({"type": "word", "content": "Nowhere.", "issue": 99}),
        json!({"type": "bug"}),
        json!({"type": "bug", "title": "Odd", "labels": ["a", 1]}),
    ]);
    run(&project, &server).exits(STILL_OPEN);
    let state = server.state();
    let made = &state.issues[&13];
    assert_eq!(made.title, "The left sleeve is two centimetres shorter than th", "fifty characters of it");
    assert_eq!((&made.labels, &made.assignees), (&vec!["found".to_owned()], &vec!["me".to_owned()]));
    assert!(made.body.contains("`@all`") && !made.body.contains("\nFixes #3"), "{}", made.body);
    let short = &state.issues[&14];
    assert_eq!((short.title.as_str(), short.labels.as_slice()), ("Short", &["bug".to_owned()][..]));
    let said =
        |number: u64| state.issues[&number].comments.iter().map(|one| one.body.clone()).collect::<Vec<_>>();
    assert_eq!((said(12), said(13)), (vec!["Sewn.".to_owned()], vec!["Here too.".to_owned()]));
    let results = summaries(&project)[0]["actionResults"].clone();
    assert_eq!(results[0], json!({"success": true, "result": {"issue": 13}}));
    assert_eq!(results[4]["success"], json!(false), "{results}");
    assert_eq!(results[5], json!({"success": false, "error": "it has neither a `title` nor a `content`"}));
    let odd = json!({"success": false, "error": "its `labels` are neither a text nor a list of texts"});
    assert_eq!((&results[6], state.issues.len()), (&odd, 3), "nothing is opened without them");
}

// S-65, P4
#[test]
fn what_may_have_been_done_is_told_and_not_done_again() {
    let (server, project) = (forge(), acting(&[json!({"type": "bug", "content": "Loose."})]));
    server.goes_wrong("POST", "/repos/me/tool/issues", Wrong::CutAfter, 1);
    run(&project, &server).exits(STILL_OPEN);
    assert_eq!(server.writes(), ["POST /repos/me/tool/issues"]);
    let result = summaries(&project)[0]["actionResults"][0].clone();
    let error = result["error"].as_str().unwrap_or_default();
    assert!(error.ends_with("it is unknown if this was done, and Saihai does not repeat it"), "{result}");
}

/// Creates an agent of the later format with one closing step.
fn closing(action: &str) -> Project {
    let project =
        agent(&completes("stepMachine", &json!({})), &json!({}), &json!({"a": {"terminal": true}}), "");
    let agent = json!({
        "version": "1.13.0", "name": "it",
        "runner": {
            "flow": {"systemPromptPath": "prompts/system.md", "prompts": {"registry": "steps_registry.json"}},
            "verdict": {"type": "poll:state", "config": {"maxIterations": 4}},
            "boundaries": {"allowedTools": [], "permissionMode": "plan"},
            "integrations": {"github": {
                "enabled": true, "defaultClosureAction": action,
                "labels": {"completion": {"add": ["done"], "remove": ["doing"]}},
            }},
        },
    });
    let registry = json!({
        "agentId": "it", "version": "1.0.0", "entryStep": "a",
        "steps": {"a": {
            "stepKind": "closure", "promptPath": "a.md",
            "structuredGate": {"allowedIntents": ["closing", "repeat"], "intentField": "intent"},
            "transitions": {"closing": {"target": null}, "repeat": {"target": "a"}},
        }},
    });
    project.write(".agent/it/agent.json", agent.to_string());
    project.write(".agent/it/steps_registry.json", registry.to_string());
    project.write("script.yaml", "script: 1\nreplies:\n  - {text: '{\"intent\": \"repeat\"}'}\n  - {text: '{\"intent\": \"closing\"}'}\n");
    project
}

// S-61
#[test]
fn closing_closes_or_labels_the_issue_once_before_the_run_is_complete() {
    let check = |action: &str, labels: &[&str], closed: bool, writes: usize, reason: &str| {
        let (server, project) = (forge(), closing(action));
        run(&project, &server).exits(0);
        let kept = server.state().issues[&12].clone();
        assert_eq!(
            (kept.labels.as_slice(), kept.closed),
            (labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>().as_slice(), closed),
            "{action}"
        );
        assert_eq!(server.writes().len(), writes, "{action}: {:?}", server.writes());
        let returned = returned(&project);
        assert_eq!((&returned["completionReason"], &returned["iterations"]), (&json!(reason), &json!(2)));
    };
    check("close", &["doing"], true, 1, "Issue #12 is closed");
    check("label-and-close", &["done"], true, 3, "Issue #12 is closed");
    check("label-only", &["done"], false, 2, "Flow completed at a");
}

// With the forge `local`, nothing leaves the machine: Saihai reads the issue and does not change it.
#[test]
fn what_closes_an_issue_is_refused_where_nothing_may_leave_the_machine() {
    let (server, project) = (forge(), closing("label-and-close"));
    let call = reaching(&project, &server, &ABOUT);
    project.write(".saihai/config.toml", "[work]\nrepo = \"me/tool\"\nforge = \"local\"\n");
    let refused = call.run();
    assert_ne!(refused.code, Some(0), "{refused}");
    let said = "`work.forge` is `local`: Saihai reads issues, but does not change them";
    assert!(format!("{refused}").contains(said), "{refused}");
    assert_eq!(server.writes(), [""; 0]);
}

// S-8
#[test]
fn a_prompt_can_show_the_issue_the_run_is_about() {
    let (server, project) = (forge(), acting(&[json!({"type": "unheard"})]));
    let registry = json!({
        "version": "1.0.0", "basePath": "prompts", "entryStep": "a",
        "steps": {"a": {
            "prompt": {"path": "a.md"}, "terminal": true,
            "customVariables": [
                {"name": "issue_title", "source": "github"}, {"name": "issue_body", "source": "github"},
                {"name": "issue_labels", "source": "github"},
            ],
        }},
    });
    project.write(".agent/it/steps_registry.json", registry.to_string());
    project.write(
        ".agent/it/prompts/a.md",
        "{uv-issue_number}: {issue_title} ({issue_labels})\n{issue_body}\n{uv-task}",
    );
    run(&project, &server).exits(1);
    let prompt = project.journal().prompt("a");
    assert!(prompt.starts_with("12: Sew a coat (doing)\nOf wool.\n# Issue"), "{prompt}");
}

fn git(project: &Project, arguments: &[&str]) {
    let identity = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
    let mut git = std::process::Command::new("git");
    let done = git.args(identity).args(arguments).current_dir(project.root()).output().expect("git");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// Creates an agent that writes a file, in a repository with an issue in a folder.
fn in_a_repository(worktree: &Value) -> Project {
    let more = json!({
        "worktree": worktree,
        "actions": {"enabled": true, "types": ["note"], "handlers": {"note": "file"}},
    });
    let once = completes("iterationBudget", &json!({"maxIterations": 1}));
    let project = agent(&once, &more, &for_ever(), &blocks(&[json!({"type": "note", "content": "sewn"})]));
    project.write(".saihai/issues/12.md", "# Sew a coat\n");
    let identity = "[user]\n\tname = U Ser\n\temail = user@example.com\n";
    std::fs::write(project.home().join(".gitconfig"), identity).expect("a configuration");
    for arguments in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-q", "-m", "first"]] {
        git(&project, arguments);
    }
    project
}

// K-23, I-2
#[test]
fn an_agent_says_whether_it_works_in_a_working_tree_of_its_own_and_where() {
    let on_issue = ["run", "it", "--issue", "12", "--script", "script.yaml"];
    let check = |worktree: Value, place: &str| {
        let project = in_a_repository(&worktree);
        project.saihai(on_issue).run().exits(STILL_OPEN);
        let written = std::fs::read_to_string(project.root().join(place).join("output.md"));
        assert_eq!(written.expect("it works there"), "sewn", "{worktree}");
        assert_eq!(project.root().join("output.md").exists(), place == ".", "{worktree}");
    };
    check(json!({"enabled": true}), ".worktrees/issue-12");
    check(json!({"enabled": true, "root": "trees"}), "trees/issue-12");
    check(json!({"enabled": false}), ".");
    // Flags override `config.json`, which overrides `agent.json`.
    let project = in_a_repository(&json!({"enabled": false, "root": "trees"}));
    project.write(".agent/it/config.json", r#"{"worktree": {"enabled": true, "root": "machine"}}"#);
    project.saihai(on_issue).run().exits(STILL_OPEN);
    assert_eq!(project.read("machine/issue-12/output.md"), "sewn");
    assert!(!project.root().join("output.md").exists());
    project.saihai(["run", "it", "--no-worktree", "--script", "script.yaml"]).run().exits(0);
    assert_eq!(project.read("output.md"), "sewn");
    let project = in_a_repository(&json!({"enabled": true}));
    project.saihai(["run", "it", "--script", "script.yaml"]).run().exits(0);
    let own = format!(".worktrees/{}/output.md", project.runs()[0]);
    assert_eq!(project.read(&own), "sewn", "also where it is about no issue");
    assert!(!project.root().join("output.md").exists());
}

#[test]
fn a_parameter_with_the_flag_of_the_issue_is_filled_wherever_that_is_said() {
    let told = |arguments: &[&str]| {
        let project = in_a_repository(&json!({"enabled": false}));
        let mut file: Value = serde_json::from_str(&project.read(".agent/it/agent.json")).expect("JSON");
        let ticket = json!({"type": "number", "cli": "--issue", "description": "which", "required": true});
        file["parameters"] = json!({"ticket": ticket});
        project.write(".agent/it/agent.json", file.to_string());
        project.write(".agent/it/prompts/a.md", "Sew {uv-ticket}.\n");
        git(&project, &["commit", "-q", "-a", "-m", "second"]);
        project.saihai([arguments, &["--script", "script.yaml"]].concat()).run().exits(STILL_OPEN);
        project.journal().prompt("a").lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(told(&["run", "--issue", "12", "it"]), "Sew 12.");
    assert_eq!(told(&["run", "it", "--issue=12"]), "Sew 12.");
    assert_eq!(told(&["work", "--issues", "12", "--definition", "it", "--auto"]), "Sew 12.");
}

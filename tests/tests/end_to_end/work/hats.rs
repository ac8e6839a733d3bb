//! Hats and step agents that work on an issue, and the keys of their own files.

use super::github::Scene;
use super::{auto, commit, git, outcomes, repository, work};
use saihai_tests::Project;

const HATS: &str = "hats:\n  coder:\n    name: Coder\n    triggers: [task.start]\n    publishes: [LOOP_COMPLETE]\n    instructions: Work.\n";
const REPLY: &str = "  - {text: 'Done. LOOP_COMPLETE', writes: [{path: f, content: x}]}\n";

fn with(keys: &str) -> Project {
    let project = repository(REPLY);
    project.write("orch.yml", format!("{keys}{HATS}"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"orch\"\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

// I-24: the issue is the message of the first event, and the keyword starts delivery.
#[test]
fn hats_work_on_an_issue_and_their_keyword_opens_its_delivery() {
    let project = with("auto: true\n");
    let outcome = work(&project, &[]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    let journal = project.journal();
    assert!(journal.prompts()[0].1.contains("# Issue 7: Login fails"), "{:?}", journal.prompts());
    let by: Vec<&str> = journal.facts("answered").filter_map(|answer| answer["by"].as_str()).collect();
    assert_eq!(by, ["auto"; 2], "`auto` of the file says yes at both questions, and each is asked once");
}

/// Returns the gate at which the work waits with these keys in the file.
fn waits_at(keys: &str) -> String {
    let project = with(keys);
    let outcome = work(&project, &[]).run();
    let place = outcome.stdout.split("an answer at `").nth(1).and_then(|rest| rest.split('`').next());
    place.map_or_else(|| format!("{:?}", outcomes(&outcome)), str::to_owned)
}

// H-58: an empty list of gates disables them all; a missing list leaves the choice to `work`.
#[test]
fn an_empty_list_of_gates_is_no_silence() {
    for keys in ["gates: []\n", "gates: {}\n"] {
        assert_eq!(waits_at(keys), r##"["#7 branch-ready"]"##, "{keys}");
    }
    assert_eq!(waits_at(""), "pre-loop");
}

// H-57
#[test]
fn gates_of_the_file_are_those_of_the_work() {
    for (names, gate) in [
        (["pre-loop", "pre_loop", "after_plan"], "pre-loop"),
        (["post-completion", "post_completion", "after_implementation"], "post-completion"),
        (["before-pr", "before_pr", "before-pr, before_pr"], "before-pr"),
    ] {
        for name in names {
            assert_eq!(waits_at(&format!("gates: [{name}]\n")), gate, "{name}");
        }
        assert_eq!(waits_at(&format!("gates: {{{gate}: true}}\n")), gate);
    }
    let planned = "  planner:\n    name: P\n    triggers: [task.start]\n    publishes: [plan.ready]\n    instructions: Plan.\n";
    for name in ["after_plan", "plan.ready"] {
        let project = with(&format!("gates: [{name}]\n"));
        let hats =
            HATS.replace("task.start", "plan.ready").replacen("hats:\n", &format!("hats:\n{planned}"), 1);
        project.write("orch.yml", format!("gates: [{name}]\n{hats}"));
        project
            .write("script.yaml", format!("script: 1\nreplies:\n  - {{text: 'EVENT: plan.ready'}}\n{REPLY}"));
        let checked = project.saihai(["check", "orch"]).run().exits(0);
        assert_eq!(checked.stdout.contains("means the gate `plan.ready`"), name == "after_plan", "{checked}");
        let outcome = work(&project, &[]).run().exits(6);
        assert!(outcome.stdout.contains("an answer at `plan.ready`"), "{outcome}");
    }
    let nobody = with("gates: [nothing]\n");
    assert!(nobody.saihai(["check", "orch"]).run().exits(2).stdout.contains("hats/unreachable-gate"));
    // The last gate comes after the commit. A yes continues the run, and each gate asks once.
    let project = with("gates: [before-pr]\n");
    work(&project, &[]).run().exits(6);
    assert_eq!(git(&project, &["show", "feature/issue-7:f"]), "x");
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    assert_eq!(outcomes(&work(&project, &[]).run().exits(0)), ["#7 branch-ready"]);
    assert_eq!(project.journal().facts("answered").count(), 1);
}

// H-58: for `run` and `work`.
#[test]
fn auto_of_the_file_says_which_gates_ask() {
    let run = |keys: &str, flags: &[&str]| {
        let project = with(keys);
        let all = [&["run", "orch", "T", "--script", "script.yaml"], flags].concat();
        let outcome = project.saihai(all).run();
        let answers = project.journal().facts("answered").count();
        (outcome.code, project.journal().path_taken().join(" "), answers)
    };
    let ends = |path: &str, answers| (Some(0), path.to_owned(), answers);
    let waits = |path: &str| (Some(6), path.to_owned(), 0);
    assert_eq!(run("", &[]), ends("coder", 0), "a plain file asks nobody");
    assert_eq!(run("gates: [post-completion]\n", &[]), waits("coder gate/post-completion"));
    assert_eq!(run("auto: false\n", &[]), waits("gate/pre-loop"));
    assert_eq!(run("auto: false\ngates: {pre-loop: false}\n", &[]), waits("coder gate/post-completion"));
    let both = "gate/pre-loop coder gate/post-completion";
    assert_eq!(run("auto: true\n", &[]), ends(both, 2));
    assert_eq!(run("auto: false\n", &["--auto"]), ends(both, 2));
    // Without keys in the file, `work` uses its own three gates or those of the settings.
    assert_eq!(waits_at(""), "pre-loop");
    assert_eq!(waits_at("auto: false\n"), "pre-loop");
    assert_eq!(waits_at("auto: false\ngates: {pre-loop: false}\n"), "post-completion");
    assert_eq!(waits_at("auto: false\ngates: {pre-loop: false, post-completion: false}\n"), "before-pr");
    let silent = with("");
    silent.write(".saihai/config.toml", "[work]\ndefinition = \"orch\"\ngates = []\n");
    assert_eq!(outcomes(&work(&silent, &[]).run().exits(0)), ["#7 branch-ready"]);
}

// H-59
#[test]
fn who_says_no_to_hats_keeps_the_files_and_gets_no_pull_request() {
    let scene = Scene::new(REPLY, |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let planned = "gates: [task.go, before-pr]\ncreate_pr: true\nhats:\n  first: {name: F, triggers: [task.start], publishes: [task.go], instructions: x}\n";
    let hats = HATS.replace("hats:\n", "").replace("task.start", "task.go");
    scene.project.write("orch.yml", format!("{planned}{hats}"));
    scene
        .project
        .write("script.yaml", format!("script: 1\nreplies:\n  - {{text: 'EVENT: task.go look'}}\n{REPLY}"));
    let call = || {
        let arguments = [
            "work",
            "--script",
            "script.yaml",
            "--repo",
            "me/tool",
            "--label",
            "saihai",
            "--definition",
            "orch",
        ];
        let call = scene.project.saihai(arguments).env("GITHUB_API_URL", scene.server.url());
        call.env("GITHUB_TOKEN", "ghp_canary0000000000000000000000000000").run()
    };
    // Without a terminal, the run waits at the topic. Text given with a yes joins the event.
    call().exits(6);
    let run = scene.project.runs()[0].clone();
    scene.project.saihai(["answer", &run, "yes", "but quickly"]).run().exits(0);
    call().exits(6);
    let prompt = scene.project.journal().prompt("coder");
    assert!(prompt.contains("> look\n> but quickly\n"), "{prompt}");
    scene.project.saihai(["answer", &run, "no"]).run().exits(0);
    let outcome = call().exits(3);
    assert_eq!(outcomes(&outcome), ["#7 declined"], "{outcome}");
    assert!(scene.server.state().pull_requests.is_empty());
    assert_eq!(git(&scene.project, &["show", "feature/issue-7:f"]), "x", "files stay");
}

// Keys that configure issue work: pull request, labels, dependencies, worktree directory, copied files.
#[test]
fn what_the_file_says_of_pull_requests_labels_and_dependencies_counts() {
    let keys = "auto: true\ncreate_pr: false\nlabels: {enabled: true, prefix: hats}\ndependency: {resolve: true}\nworktree: {base_dir: trees, copy_files: [.env]}\n";
    let scene = Scene::new(REPLY, |state| {
        state.issue(7, "Login fails", &["saihai"]).body = "Depends on #8".to_owned();
        state.issue(8, "First", &[]);
    });
    scene.project.write("orch.yml", format!("{keys}{HATS}"));
    scene.project.write(".env", "KEY=1\n");
    let outcome = scene.work(&["--label", "saihai", "--definition", "orch", "--keep"]);
    // Saihai also works on 8. It is pushed but not merged, so 7 waits for it.
    let rows = outcomes(&outcome);
    assert_eq!(rows, ["#8 branch-ready", "#7 waiting"], "{outcome}");
    let state = scene.server.state();
    assert!(state.pull_requests.is_empty());
    assert_eq!(state.issues[&8].labels, ["hats:completed"]);
    assert!(scene.project.root().join("trees/issue-8/.env").exists());
}

// `create_pr`: the file overrides the settings.
#[test]
fn whether_there_is_a_pull_request_is_said_by_the_file_or_else_by_the_settings() {
    for (keys, settings, opened) in
        [("create_pr: true\n", "pull_request = false", 1), ("", "pull_request = false", 0), ("", "", 1)]
    {
        let scene = Scene::new(REPLY, |state| {
            state.issue(7, "Login fails", &["saihai"]);
        });
        scene.project.write("orch.yml", format!("auto: true\n{keys}{HATS}"));
        scene.project.write(".saihai/config.toml", format!("[work]\ndefinition = \"orch\"\n{settings}\n"));
        let outcome = scene.work(&["--label", "saihai"]).exits(0);
        assert_eq!(scene.server.state().pull_requests.len(), opened, "{keys}{settings}: {outcome}");
    }
}

#[test]
fn a_flag_counts_for_more_than_the_file() {
    let scene = Scene::new(REPLY, |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    scene.project.write("orch.yml", format!("auto: true\ncreate_pr: true\n{HATS}"));
    let outcome = scene.work(&["--label", "saihai", "--definition", "orch", "--no-pr"]).exits(0);
    assert!(scene.server.state().pull_requests.is_empty(), "{outcome}");
}

// If the file disables worktrees, the run uses the user's checkout.
#[test]
fn a_file_that_wants_no_worktree_has_none_in_a_run() {
    let project = with("worktree: {enabled: false}\n");
    project.saihai(["run", "orch", "--issue", "7", "--auto", "--script", "script.yaml"]).run().exits(0);
    assert!(project.root().join("f").exists());
    assert!(!project.root().join(".worktrees").exists());
    // `work` still creates a worktree, because it delivers a branch, and says so.
    let worked = auto(&project, &[]).exits(0);
    assert!(
        worked.stderr.contains("note: `orch` disables worktrees, but `saihai work` always uses one"),
        "{worked}"
    );
}

// The dependency settings of a definition apply to the issues that use it.
#[test]
fn dependencies_are_worked_on_as_well_for_the_issues_of_the_file_that_says_so() {
    let project = repository(REPLY);
    project.write("orch.yml", format!("dependency: {{resolve: true}}\n{HATS}"));
    let issue = |number: u32, definition: &str, after: &str| {
        let text = format!("---\ndefinition: {definition}\nlabels: [l{number}]\n---\n# Issue\n\n{after}\n");
        project.write(&format!(".saihai/issues/{number}.md"), text);
    };
    issue(1, "orch", "Depends on #2");
    issue(2, "orch", "Depends on #3");
    issue(3, "it", "Depends on #4");
    issue(4, "it", "");
    issue(5, "it", "Depends on #6");
    issue(6, "it", "");
    commit(&project);
    let listed = |flags: &[&str]| {
        let arguments = [&["work", "--list", "--json", "--issues", "1,5"], flags].concat();
        let outcome = project.saihai(arguments).run().exits(0);
        let shown = |one: &serde_json::Value| match one["blocked"].as_str() {
            Some(why) => format!("{} ({why})", one["issue"]),
            None => one["issue"].to_string(),
        };
        outcome.json().iter().map(shown).collect::<Vec<String>>()
    };
    assert_eq!(listed(&[]), ["3 (#4 is open)", "2", "1", "5 (#6 is open)"]);
    assert_eq!(listed(&["--resolve-deps"]), ["4", "3", "2", "1", "6", "5"]);
    assert_eq!(listed(&["--ignore-deps"]), ["1", "5"]);
}

//! The base of the work, and reports about it.

use saihai_tests::{Outcome, Project};
use serde_json::Value;

use super::github::Scene;
use super::{auto, commit, git, outcomes, repository, work, writes};

// I-13: the base comes from the flag, the issue, the settings, or the checkout, in this order. Saihai
// guesses nothing.
#[test]
fn the_base_is_that_of_the_flag_the_issue_the_settings_or_the_checkout() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "---\nbase: release\n---\n# Seven\n");
    project.write(".saihai/issues/8.md", "# Eight\n");
    commit(&project);
    for branch in ["release", "dev", "hot"] {
        git(&project, &["branch", branch]);
    }
    let bases = |flags: &[&str]| {
        let outcome = work(&project, &[&["--list", "--json"], flags].concat()).run().exits(0);
        let base = |item: &Value| item["base"].as_str().expect("a base").to_owned();
        outcome.json().iter().map(base).collect::<Vec<String>>()
    };
    assert_eq!(bases(&[]), ["release", "main"]);
    assert_eq!(bases(&["--base", "hot"]), ["hot", "hot"]);
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nbase = \"dev\"\n");
    assert_eq!(bases(&[]), ["release", "dev"]);
    auto(&project, &["--issues", "8"]).exits(0);
    let journal = project.journal();
    let base = &journal.facts("started").next().expect("a start")["delivery"]["base"];
    let commit = git(&project, &["rev-parse", "dev"]);
    assert_eq!((&base["branch"], &base["commit"]), (&"dev".into(), &commit.into()));
    // A missing base, and a detached HEAD without a configured base.
    let absent = auto(&project, &["--issues", "7", "--base", "nowhere"]).exits(2);
    assert!(absent.stderr.contains("nowhere"), "{absent}");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\n");
    git(&project, &["checkout", "--quiet", "--detach"]);
    project.write(".saihai/issues/9.md", "# Nine\n");
    auto(&project, &["--issues", "9"]).exits(2);
    assert_eq!(project.runs().len(), 1);
}

// I-13: on a forge, the base is its default branch at the start of the item.
#[test]
fn the_base_of_a_forge_is_what_it_holds_at_that_moment() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Seven", &["saihai"]);
    });
    let tree = scene.remote(&["rev-parse", "main^{tree}"]);
    let newer = scene.remote(&["commit-tree", "-p", "main", "-m", "newer", &tree]);
    scene.remote(&["update-ref", "refs/heads/main", &newer]);
    scene.work(&["--label", "saihai"]).exits(0);
    assert_eq!(scene.remote(&["rev-parse", "feature/issue-7~1"]), newer);
    assert_ne!(git(&scene.project, &["rev-parse", "main"]), newer, "no branch of the user moves");
}

// The push remote identifies the repository.
#[test]
fn the_remote_of_the_settings_names_the_repository() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "Seven", &["saihai"]);
    });
    let path = git(&scene.project, &["remote", "get-url", "origin"]);
    git(&scene.project, &["remote", "set-url", "origin", "https://github.com/other/fork.git"]);
    git(&scene.project, &["remote", "add", "upstream", "https://github.com/me/tool.git"]);
    git(&scene.project, &["remote", "set-url", "--push", "upstream", &path]);
    scene.project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nremote = \"upstream\"\n");
    let arguments = ["work", "--script", "script.yaml", "--auto", "--label", "saihai"];
    let call = scene.project.saihai(arguments).env("GITHUB_API_URL", scene.server.url());
    let outcome = call.env("GITHUB_TOKEN", "a-token-4711").run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    let others =
        scene.server.requests().into_iter().filter(|request| !request.path.starts_with("/repos/me/tool"));
    assert_eq!(others.count(), 0);
}

// I-39: Saihai does not populate submodules, and the plan says so.
#[test]
fn a_plan_says_that_submodules_stay_empty() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Seven\n");
    commit(&project);
    let plan = || work(&project, &["--list"]).run().exits(0).stdout;
    assert!(!plan().contains("submodules"), "{}", plan());
    project.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ../x\n");
    commit(&project);
    assert!(plan().contains("submodules stay empty in worktrees\n"), "{}", plan());
}

// I-52: the text has the language of the definition and a readable length.
#[test]
fn a_pull_request_says_what_was_done_in_the_language_of_its_definition() {
    let body = |piece: &str| {
        let reply = format!(
            "  - {{text: '{} [STEP:0]', writes: [{{path: f, content: x}}]}}\n",
            "word ".repeat(2_000)
        );
        let scene = Scene::new(&reply, |state| {
            state.issue(7, "Seven", &["saihai"]);
        });
        scene.project.write(".saihai/pieces/it.yaml", piece);
        scene.work(&["--label", "saihai"]).exits(0);
        let state = scene.server.state();
        let one = state.pull_requests.values().next().expect("a pull request").clone();
        assert_eq!((one.title.as_str(), one.head.as_str()), ("Seven (#7)", "feature/issue-7"));
        one.body
    };
    let english = body(super::PIECE);
    let japanese = body(
        "name: it\nmovements: [{name: fix, edit: true, instruction: '課題を直してください。', rules: [{condition: 終わった, next: COMPLETE}, {condition: だめ, next: ABORT}]}]\n",
    );
    for (body, headings) in [
        (&english, ["## Summary", "## Changes", "## Issue"]),
        (&japanese, ["## 概要", "## 変更内容", "## 関連Issue"]),
    ] {
        for heading in headings {
            assert!(body.contains(heading), "{heading}: {body}");
        }
        assert!(body.contains("Closes #7") && body.contains("<!-- saihai:issue=7 run="), "{body}");
        assert!(body.contains("| `fix` | 1 | 1 |"), "{body}");
        let words = body.matches("word ").count() * "word ".len();
        assert!((3_000..=4_000).contains(&words), "{words}");
    }
}

// I-75: people and programs get the same result, on the screen and in files.
#[test]
fn a_result_is_the_same_on_the_screen_in_files_and_for_programs() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Seven\n");
    project.write(".saihai/issues/8.md", "# Eight\n\nDepends on #404\n");
    commit(&project);
    let outcome = auto(&project, &["--json"]).exits(1);
    let said = outcome.json();
    let items: Vec<&Value> = said.iter().filter(|one| one["type"] == "item").collect();
    let results: Vec<(&Value, &Value)> = items.iter().map(|one| (&one["issue"], &one["outcome"])).collect();
    assert_eq!(results.len(), 2, "{outcome}");
    let whole = said.last().expect("the whole");
    assert_eq!((&whole["type"], &whole["items"], &whole["exit"]), (&"batch".into(), &2.into(), &1.into()));
    let batch = whole["batch"].as_str().expect("its name");
    let file = |name: &str| project.read(&format!(".saihai/batches/{batch}/{name}"));
    let kept: Value = serde_json::from_str(&file("result.json")).expect("JSON");
    // Compares each object with all its fields. Programs receive each one as it ends.
    let of_programs = items.iter().map(|item| {
        let mut item = (*item).clone();
        let fields = item.as_object_mut().expect("an object");
        fields.remove("v");
        fields.remove("type");
        item
    });
    let mut of_programs: Vec<Value> = of_programs.collect();
    of_programs.sort_by_key(|item| item["issue"].as_u64());
    assert_eq!(kept["items"], Value::Array(of_programs));
    let seven = &kept["items"].as_array().expect("items").iter().find(|item| item["issue"] == 7).expect("it");
    assert_eq!((&seven["branch"], &seven["turns"]), (&"feature/issue-7".into(), &1.into()), "{seven}");
    assert!(seven["time_ms"].is_u64() && seven["cost_usd"].is_number(), "{seven}");
    let again = auto(&project, &[]).exits(1);
    let columns = ["ISSUE", "OUTCOME", "REASON", "BRANCH", "PULL REQUEST", "TURNS", "COST", "TIME"];
    let head = again.stdout.lines().next().expect("a head");
    assert!(columns.iter().all(|column| head.contains(column)), "{head}");
    for item in kept["items"].as_array().expect("items") {
        let (number, outcome) = (&item["issue"], item["outcome"].as_str().expect("a word"));
        assert!(results.iter().any(|(one, word)| *one == number && *word == outcome), "{kept}");
        assert!(outcomes(&again).contains(&format!("#{number} {outcome}")), "{again}");
        assert!(file("result.md").contains(&format!("| #{number} |")), "{}", file("result.md"));
    }
}

/// Creates a definition with two turns and a limit of one.
fn limited() -> Project {
    let project =
        repository(&format!("  - {{text: 'Planned. [STEP:0]', for: plan}}\n{}", writes("fixed.txt")));
    project.write(
        ".saihai/pieces/it.yaml",
        "name: it\nmax_iterations: 1\nmovements:\n  - {name: plan, rules: [{condition: on, next: fix}]}\n  - {name: fix, edit: true, rules: [{condition: done, next: COMPLETE}]}\n",
    );
    project.write(".saihai/issues/7.md", "# Seven\n");
    commit(&project);
    project
}

// I-72: the report of a limit names the command that raises it, and that command is enough.
#[test]
fn who_met_a_limit_is_told_what_to_raise_and_how() {
    let project = limited();
    let told = |code: i32| auto(&project, &[]).exits(code);
    let met = told(5);
    assert_eq!(outcomes(&met), ["#7 limited"]);
    let command = "saihai resume last --max-iterations 2";
    for outcome in [&met, &told(5)] {
        assert!(outcome.stdout.contains(&format!("#7: continue with `{command}`\n")), "{outcome}");
        assert!(outcome.stdout.contains("#7: `saihai work --retry` starts again\n"), "{outcome}");
    }
    project.saihai(command.split(' ').skip(1).chain(["--auto"])).run().exits(0);
    assert_eq!(outcomes(&told(0)), ["#7 branch-ready"]);
    assert_eq!(project.runs().len(), 1);
    let project = limited();
    let met = auto(&project, &["--budget", "turns=1"]).exits(5);
    assert!(met.stdout.contains("#7: continue with `saihai resume last --"), "{met}");
}

// I-72: Saihai reports the edit, and the run keeps its original text.
#[test]
fn an_issue_that_was_edited_meanwhile_is_said_to_be() {
    let project = limited();
    let edited = |outcome: &Outcome| {
        outcome.stderr.contains("note: #7 was edited after its run started; the run keeps the earlier text")
    };
    assert!(!edited(&auto(&project, &[]).exits(5)));
    assert!(!edited(&auto(&project, &[]).exits(5)));
    project.write(".saihai/issues/7.md", "# Seven\n\nAnd another thing.\n");
    let outcome = auto(&project, &[]).exits(5);
    assert!(edited(&outcome), "{outcome}");
    let run = project.runs()[0].clone();
    project.saihai(["resume", &run, "--max-iterations", "5", "--auto"]).run().exits(0);
    assert!(!project.journal().prompt("fix").contains("And another thing."));
}

// The budget of an issue covers all its runs.
#[test]
fn the_budget_of_an_issue_counts_its_earlier_runs() {
    let project =
        repository(&format!("  - {{text: 'No. [STEP:1]', prompt: Seven}}\n{}", writes("fixed.txt")));
    let settings = "[work]\ndefinition = \"it\"\n[work.budget_per_issue]\nturns = 2\n";
    project.write(".saihai/config.toml", settings).write(".saihai/issues/7.md", "# Seven\n");
    commit(&project);
    for _ in 0..2 {
        assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(1)), ["#7 failed"]);
    }
    let outcome = auto(&project, &["--retry"]).exits(5);
    assert_eq!(outcomes(&outcome), ["#7 limited"]);
    assert_eq!(project.runs().len(), 2, "a third could ask nobody");
    let raise = "raise `budget_per_issue` in `[work]` (2 turns for all its runs), then start again with `saihai work --retry`";
    assert!(outcome.stdout.contains(&format!("#7: {raise}\n")), "{outcome}");
    project.write(".saihai/config.toml", settings.replace('2', "3"));
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(1)), ["#7 failed"]);
}

// I-72: the same holds for budgets, without hints that only help against other limits.
#[test]
fn who_spent_a_budget_is_told_which_one_to_raise_and_how() {
    let piece = |project: &Project| {
        let text = std::fs::read_to_string(project.root().join(".saihai/pieces/it.yaml")).expect("a piece");
        project.write(".saihai/pieces/it.yaml", text.replace("max_iterations: 1", "max_iterations: 9"));
    };
    let hints = |outcome: &Outcome| -> Vec<String> {
        let of = outcome.stdout.lines().filter_map(|line| line.strip_prefix("#7: "));
        of.filter(|hint| !hint.starts_with("its files")).map(str::to_owned).collect()
    };
    // The budget of a call: the next call has a full budget again.
    let project = limited();
    piece(&project);
    let met = auto(&project, &["--budget", "turns=1"]).exits(5);
    let resume = "continue with `saihai resume last --budget turns=2`; its total budget was 1 turn";
    assert_eq!(hints(&met), [resume, "`saihai work --retry` starts again"]);
    // The budget of the issue: a new run could not ask an agent.
    let project = limited();
    piece(&project);
    let settings = "[work]\ndefinition = \"it\"\n[work.budget_per_issue]\nturns = 1\n";
    project.write(".saihai/config.toml", settings);
    let met = auto(&project, &[]).exits(5);
    let run = project.runs()[0].clone();
    let resume = "continue with `saihai resume last --budget turns=2`; its total budget was 1 turn";
    let raise = "raise `budget_per_issue` in `[work]` (1 turn for all its runs), then start again with `saihai work --retry`";
    for outcome in [&met, &auto(&project, &[]).exits(5)] {
        assert_eq!(hints(outcome), [resume, raise]);
    }
    assert_eq!(hints(&auto(&project, &["--retry"]).exits(5)), [raise]);
    assert_eq!(project.runs().len(), 1);
    project.saihai(["resume", &run, "--budget", "turns=2", "--auto"]).run().exits(0);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
}

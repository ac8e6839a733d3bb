//! Cases of the work on forge issues.

use std::time::Duration;

use saihai_tests::Live;

use super::github::Scene;
use super::{branches, git, outcomes, writes};

const LABELLED: [&str; 2] = ["--label", "saihai"];

fn scene(replies: &str) -> Scene {
    Scene::new(replies, |state| {
        state.issue(7, "Login fails", &["saihai"]);
    })
}

/// Returns the reply of an agent that runs a shell command and finishes.
fn runs(command: &str) -> String {
    format!("  - {{text: 'Done. [STEP:0]', for: fix, runs: [{{argv: [sh, -c, '{command}']}}]}}\n")
}

// I-3, case 3
#[test]
fn fifty_processes_at_once_make_one_run_and_one_pull_request() {
    let scene = scene("");
    let go = scene.project.home().join("go");
    let waits = format!("while ! test -e {}; do sleep 0.1; done; echo x > f", go.display());
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{}", runs(&waits)));
    let mut calls: Vec<Live> = (0..50).map(|_| scene.call(&["--issues", "7"]).start()).collect();
    // The lock file names its owner once a process holds it.
    let lock = scene.project.root().join(".git/saihai/issue-7.lock");
    let owner = loop {
        let note = std::fs::read_to_string(&lock).unwrap_or_default();
        if let Some(owner) = note.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) {
            break owner;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    };
    let place = calls.iter().position(|call| call.pid() == owner).expect("one of them");
    let owner = calls.remove(place);
    for other in calls {
        let outcome = other.finish().exits(0);
        assert_eq!(outcomes(&outcome), ["#7 elsewhere"], "{outcome}");
        assert!(outcome.stdout.contains(&format!("process {}", owner.pid())), "{outcome}");
    }
    std::fs::write(go, "").expect("a file");
    assert_eq!(outcomes(&owner.finish().exits(0)), ["#7 pr-created"]);
    assert_eq!((scene.project.runs().len(), scene.server.state().pull_requests.len()), (1, 1));
    assert_eq!(branches(&scene.project), ["feature/issue-7", "main"]);
}

// I-44, case 20
#[test]
fn no_before_the_loop_leaves_no_branch_no_worktree_no_label_and_no_turn() {
    let scene = scene(&writes("fixed.txt"));
    scene.asking(&LABELLED).run().exits(6);
    let run = scene.project.runs()[0].clone();
    scene.project.saihai(["answer", &run, "no"]).run().exits(0);
    let outcome = scene.asking(&LABELLED).run().exits(3);
    assert_eq!(outcomes(&outcome), ["#7 declined"]);
    assert_eq!(branches(&scene.project), ["main"]);
    assert_eq!(scene.remote(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(!scene.project.root().join(".worktrees/issue-7").exists());
    assert_eq!(scene.project.journal().prompts().len(), 0);
    let state = scene.server.state();
    assert_eq!(state.issues[&7].labels, ["saihai"]);
    assert_eq!((state.pull_requests.len(), state.issues[&7].comments.len()), (0, 0));
}

// Case 23
#[test]
fn a_text_that_is_too_long_is_cut_for_the_agent_and_kept_whole() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        let body = format!("{}last-words-4711", "x".repeat(300_000 - "last-words-4711".len()));
        state.issue(7, "Long", &["saihai"]).body = body;
    });
    let outcome = scene.work(&LABELLED).exits(0);
    assert!(outcome.stderr.contains("warning: #7: 200,000 characters of its text omitted"), "{outcome}");
    let prompt = scene.project.journal().prompt("fix");
    assert!(prompt.contains("[The text of this issue goes on for 200000 more characters.]"), "no note");
    assert!(!prompt.contains("last-words-4711"), "it was cut");
    let run = scene.project.run_directory();
    let found = std::process::Command::new("grep").args(["-rl", "last-words-4711"]).arg(run).output();
    assert!(!found.expect("grep").stdout.is_empty(), "the whole of it is in the run");
}

// I-49, cases 25 and 26
#[test]
fn what_an_agent_committed_itself_becomes_a_pull_request_and_nothing_becomes_none() {
    let own = scene(&runs("echo x > own && git add own && git commit -qm own"));
    assert_eq!(outcomes(&own.work(&LABELLED).exits(0)), ["#7 pr-created"]);
    assert_eq!(own.remote(&["log", "--format=%s", "main..feature/issue-7"]), "own");
    let nothing = scene("  - {text: 'Nothing to do. [STEP:0]'}\n");
    assert_eq!(outcomes(&nothing.work(&LABELLED).exits(0)), ["#7 no-changes"]);
    assert_eq!(nothing.remote(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(nothing.server.state().pull_requests.is_empty());
}

// Case 28
#[test]
fn a_repository_among_the_files_is_not_pushed_and_stays() {
    let scene =
        scene(&runs("git init -q inner && cd inner && echo x > f && git add f && git commit -qm inner"));
    let outcome = scene.work(&LABELLED).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed"]);
    assert!(outcome.stdout.contains("embedded-repository"), "{outcome}");
    assert_eq!(scene.remote(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(scene.server.state().pull_requests.is_empty());
    let inner = scene.project.root().join(".worktrees/issue-7/inner");
    assert!(inner.join("f").exists() && inner.join(".git").exists());
}

/// Installs a trap for every program that git can start by itself. Each trap leaves a file.
const TRAPS: &str = r#"
spring() { echo "touch $SPRUNG/$1"; }
common=$(git rev-parse --git-common-dir)
for hook in pre-commit commit-msg post-commit post-checkout post-merge pre-push reference-transaction post-index-change; do
  printf '#!/bin/sh\n%s\n' "$(spring hook-$hook)" > "$common/hooks/$hook"
  chmod +x "$common/hooks/$hook"
done
printf '* filter=own diff=own merge=own\n' > "$common/info/attributes"
git config filter.own.clean "$(spring clean); cat"
git config filter.own.smudge "$(spring smudge); cat"
git config diff.own.textconv "$(spring textconv); cat"
git config diff.external "$(spring external)"
git config merge.own.driver "$(spring driver)"
git config core.sshCommand "$(spring ssh)"
git config gpg.program "$(spring gpg)"
git config credential.helper "!$(spring credential)"
git config remote.origin.url "ext::sh -c $SPRUNG/remote"
git config protocol.ext.allow always
git config core.fsmonitor "$(spring fsmonitor); true"
"#;

// I-37, case 37
#[test]
fn nothing_that_one_agent_sets_up_runs_while_the_work_of_another_is_handed_over() {
    let scene = Scene::new("", |state| {
        state.issue(1, "First", &["saihai"]);
        state.issue(2, "Second", &["saihai"]);
    });
    let (home, sprung) = (scene.project.home(), scene.project.home().join("sprung"));
    std::fs::create_dir(&sprung).expect("a directory");
    let script = home.join("traps.sh");
    std::fs::write(&script, TRAPS.replace("$SPRUNG", &sprung.display().to_string())).expect("a script");
    let first = format!(
        "  - {{text: 'Done. [STEP:0]', prompt: First, writes: [{{path: one, content: x}}], runs: [{{argv: [sh, {}]}}]}}\n",
        script.display()
    );
    let second = "  - {text: 'Done. [STEP:0]', prompt: Second, writes: [{path: two, content: x}, {path: kept.txt, content: y}]}\n";
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{first}{second}"));
    // Saihai also keeps using the remote address that it read at the start.
    let outcome = scene.work(&["--label", "saihai", "--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#1 merged", "#2 merged"]);
    assert_eq!(
        (scene.remote(&["show", "main:one"]), scene.remote(&["show", "main:two"])),
        ("x".into(), "x".into())
    );
    let ran = || {
        let entries = std::fs::read_dir(&sprung).expect("it").map(|one| one.expect("it").file_name());
        entries.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ran(), Vec::<String>::new());
    // Proves that the traps work: an unprotected git triggers them.
    git(&scene.project, &["status", "--short"]);
    assert!(ran().contains(&"fsmonitor".to_owned()), "{:?}", ran());
}

// I-27, case 9: a mention of an issue is no dependency, and a dependency on another repository causes a
// warning
#[test]
fn prose_code_comments_quotes_and_other_repositories_hold_nobody_back() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        let bodies = [
            "No longer blocked by #5",
            "This needs work, see #9",
            "```\nBlocked by #5\n```",
            "<!-- Depends on #5 -->",
            "> Blocked by #5",
            "Depends on o/r#12",
        ];
        for (number, body) in (11..).zip(bodies) {
            state.issue(number, "N", &["saihai"]).body = body.to_owned();
        }
        state.issue(5, "Open", &[]);
        state.issue(9, "Open", &[]);
    });
    let listed = scene.work(&["--label", "saihai", "--list", "--json"]).exits(0);
    let after: Vec<_> = listed.json().iter().map(|item| item["after"].clone()).collect();
    assert_eq!(after, vec![serde_json::json!([]); 6], "{listed}");
    let outcome = scene.work(&LABELLED).exits(0);
    assert_eq!(outcomes(&outcome).len(), 6, "{outcome}");
    let done = |row: &String| row.ends_with("pr-created");
    assert!(outcomes(&outcome).iter().all(done), "{outcome}");
    let warning = "warning: #16 depends on o/r#12, which is in another repository and is ignored";
    assert_eq!(
        outcome.stderr.matches("which is in another repository and is ignored").count(),
        1,
        "{outcome}"
    );
    assert!(outcome.stderr.contains(warning), "{outcome}");
}

// Case 21: on the forge
#[test]
fn a_title_is_text_in_commit_pull_request_and_table() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "$(touch x) `y` \"z\" ; \n --force", &["saihai"]);
    });
    let outcome = scene.work(&LABELLED).exits(0);
    let title = "$(touch x) `y` \"z\" ; --force";
    assert_eq!(scene.server.state().pull_requests[&8].title, format!("{title} (#7)"));
    assert_eq!(scene.remote(&["log", "-1", "--format=%s", "feature/issue-7"]), format!("{title} (#7)"));
    let plan = outcome.stderr.lines().find(|line| line.starts_with("#7 ")).unwrap_or_default();
    assert!(plan.contains("$(touch x) `y` \"z\" ;") && plan.contains("--force"), "{outcome}");
    let files = scene.remote(&["ls-tree", "-r", "--name-only", "feature/issue-7"]);
    assert!(files.lines().all(|file| file != "x"), "{files}");
    assert!(!scene.project.root().join("x").exists());
}

// Anyone can choose the title of an issue; only `Closes #7` comes from Saihai.
#[test]
fn a_title_closes_no_other_issue_and_calls_nobody() {
    let scene = Scene::new(&writes("fixed.txt"), |state| {
        state.issue(7, "fixes #1 @admin", &["saihai"]);
    });
    scene.work(&LABELLED).exits(0);
    assert_eq!(scene.server.state().pull_requests[&8].title, "fixes # 1 @ admin (#7)");
    let message = scene.remote(&["log", "-1", "--format=%B", "feature/issue-7"]);
    assert!(message.starts_with("fixes # 1 @ admin (#7)\n\nCloses #7\n\n"), "{message}");
}

// I-40: the content of each gate when the cost of a turn is known
#[test]
fn each_gate_shows_item_base_turns_and_cost_and_the_later_ones_the_commit_and_its_files() {
    let project = super::repository("");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    super::commit(&project);
    let agent = project.home().join("agent.sh");
    std::fs::write(&agent, "#!/bin/sh\ncat > /dev/null\necho x > fixed.txt\necho '[STEP:0]'\n").expect("it");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&agent, mode).expect("it can be run");
    let own = project.home().join(".config/saihai");
    std::fs::create_dir_all(&own).expect("a directory");
    let settings = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\", \"edit\"]\nprice = {{turn = 0.5}}\n",
        agent.display()
    );
    std::fs::write(own.join("config.toml"), settings).expect("settings");
    let base = git(&project, &["rev-parse", "main"]);
    let about = format!("#7 | #7 Login fails, from `main` at {}", &base[..10]);
    let gates = ["pre-loop", "post-completion"];
    for gate in gates {
        let parked = project.saihai(["work"]).run().exits(6);
        assert!(parked.stdout.contains(&format!("an answer at `{gate}`")), "{parked}");
        assert!(parked.stdout.contains(&about), "{parked}");
        if gate == "pre-loop" {
            assert!(parked.stdout.contains("#7 | up to 20 turns; up to $10.0000"), "{parked}");
            assert_eq!(branches(&project), ["main"]);
        } else {
            let commit = git(&project, &["rev-parse", "feature/issue-7"]);
            let shown = format!("#7 | commit {commit}, 1 turn, $0.5000\n#7 |   fixed.txt");
            assert!(parked.stdout.contains(&shown), "{parked}");
        }
        let run = project.runs()[0].clone();
        project.saihai(["answer", &run, "yes"]).run().exits(0);
    }
    assert_eq!(outcomes(&project.saihai(["work"]).run().exits(0)), ["#7 branch-ready"]);
}

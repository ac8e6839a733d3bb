//! The address that work is pushed to is the person's own, also in a call after the one in which an agent changed it.

use std::path::PathBuf;

use saihai_connect::forge::testing::ForgeState;

use super::github::Scene;
use super::{branches, git, git_in, outcomes, writes};

const BOTH: [&str; 2] = ["--label", "saihai"];

/// A scene in which the agent of the first issue does that, and a second bare repository that is not the person's.
fn scene(does: &str, says: &str) -> (Scene, PathBuf) {
    let first = format!(
        "  - {{text: '{says}', prompt: 'Login fails', writes: [{{path: f, content: x}}], runs: [{{argv: [sh, does.sh]}}]}}\n"
    );
    let scene = Scene::new(&format!("{first}{}", writes("two.txt")), |state: &mut ForgeState| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let evil = scene.project.root().parent().expect("a parent").join("evil.git");
    let path = evil.to_str().expect("a path").to_owned();
    git(&scene.project, &["clone", "--quiet", "--bare", ".", &path]);
    let does = does.replace("EVIL", &path);
    scene.project.write("does.sh", does);
    git(&scene.project, &["add", "does.sh"]);
    git(&scene.project, &["commit", "--quiet", "--message", "does"]);
    git(&scene.project, &["push", "--quiet", "origin", "main"]);
    (scene, evil)
}

fn pushed(evil: &std::path::Path) -> String {
    git_in(evil, &["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"])
}

/// Another issue, which the next call would hand over.
fn another(scene: &Scene) {
    scene.server.change(|state| {
        state.issue(8, "Another", &["saihai"]);
    });
}

// I-37
#[test]
fn an_address_that_an_agent_set_and_a_person_declined_is_pushed_to_by_no_later_call() {
    for (does, put_back) in [
        ("git config remote.origin.url EVIL\n", "git config --replace-all remote.origin.url ORIGIN"),
        ("git config remote.origin.pushurl EVIL\n", "git config --unset-all remote.origin.pushurl"),
    ] {
        let (scene, evil) = scene(does, "Done. [STEP:0]");
        let origin = git(&scene.project, &["remote", "get-url", "origin"]);
        let (was, is) = (origin.clone(), evil.display().to_string());
        let asked = scene.work(&BOTH).exits(6);
        assert!(asked.stdout.contains("an answer at `changed-configuration`"), "{asked}");
        let run = scene.project.runs()[0].clone();
        let journal = scene.project.journal();
        let said = journal
            .facts("performed")
            .filter_map(|done| done["outcome"]["done"]["output"]["changed"].as_str());
        let shown = format!("- the remote `origin` is now `{is}`, and was `{was}`");
        assert!(said.collect::<String>().ends_with(&shown), "{shown}");
        another(&scene);
        let put_back = put_back.replace("ORIGIN", &was);
        let expected = |way: &str| {
            format!(
                "error: the remote `origin` is now `{is}`: that was set during the run `{run}`, and nobody has agreed to it\n  = help: it was `{was}`; to put it back: `{put_back}`\n{way}"
            )
        };
        // Nobody has answered yet.
        let open = scene.work(&BOTH).exits(2);
        let agree = format!("  = help: to agree to it: `saihai answer {run} yes`\n");
        assert_eq!(open.stderr, expected(&agree));
        scene.project.saihai(["answer", &run, "no"]).run().exits(0);
        for trusting in [&[][..], &["--trust-project"]] {
            let refused = scene.work(&[&BOTH[..], trusting].concat()).exits(2);
            assert_eq!(refused.stderr, expected(""));
        }
        // Nor is anything read there: an issue is an instruction to an agent.
        scene.project.write(
            ".saihai/config.toml",
            "[work]\ndefinition = \"it\"\nrepo = \"me/tool\"\nsource = \"github\"\n",
        );
        let asked = scene.server.requests().len();
        for place in [&[][..], &["--no-worktree"]] {
            let words = [&["run", "it", "--issue", "8", "--script", "script.yaml"], place].concat();
            let call = scene.project.saihai(words).env("GITHUB_API_URL", scene.server.url());
            assert_eq!(call.env("GITHUB_TOKEN", "canary-token-4711").run().exits(2).stderr, expected(""));
        }
        assert_eq!(scene.server.requests().len(), asked);
        assert_eq!((pushed(&evil).as_str(), scene.project.runs().len()), ("", 1));
        // As it is told.
        let words: Vec<&str> = put_back.split(' ').skip(1).collect();
        git(&scene.project, &words);
        let after = scene.work(&BOTH).exits(3);
        assert_eq!(outcomes(&after), ["#7 declined", "#8 pr-created"]);
        assert_eq!(pushed(&evil), "");
        assert_eq!(
            scene.remote(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]),
            "feature/issue-8"
        );
        assert!(branches(&scene.project).contains(&"feature/issue-7".to_owned()));
    }
}

// Whoever agrees to it has it, and what they set themselves is nobody's business.
#[test]
fn an_address_that_a_person_agreed_to_or_set_is_their_own() {
    let (scene, evil) = scene("git config remote.origin.url EVIL\n", "Done. [STEP:0]");
    scene.work(&BOTH).exits(6);
    let run = scene.project.runs()[0].clone();
    scene.project.saihai(["answer", &run, "yes"]).run().exits(0);
    let outcome = scene.work(&BOTH).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created"]);
    another(&scene);
    scene.server.change(|state| state.git = Some(evil.clone()));
    let outcome = scene.work(&BOTH).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created", "#8 pr-created"]);
    // Each went to what was the person's own when it began.
    assert_eq!(pushed(&evil), "feature/issue-8");
    let third = evil.with_file_name("third.git");
    git(&scene.project, &["clone", "--quiet", "--bare", ".", third.to_str().expect("a path")]);
    git(&scene.project, &["remote", "set-url", "origin", third.to_str().expect("a path")]);
    assert_eq!(outcomes(&scene.work(&BOTH).exits(0)), ["#7 pr-created", "#8 pr-created"]);
}

// Of a run that never came to its commit nobody has seen what its agent changed.
#[test]
fn an_address_that_changed_around_a_run_that_came_to_no_commit_is_a_persons_to_say() {
    let (scene, evil) = scene("git config remote.origin.url EVIL\n", "No. [STEP:1]");
    let was = git(&scene.project, &["remote", "get-url", "origin"]);
    assert_eq!(outcomes(&scene.work(&BOTH).exits(1)), ["#7 failed"]);
    let (run, is) = (scene.project.runs()[0].clone(), evil.display().to_string());
    another(&scene);
    let refused = scene.work(&BOTH).exits(2);
    let expected = format!(
        "error: the remote `origin` is now `{is}`: that was set during the run `{run}` or since, and it is not known by whom\n  = help: it was `{was}`; to put it back: `git config --replace-all remote.origin.url {was}`\n  = help: if it is yours, say so once with `--trust-project`\n"
    );
    assert_eq!(refused.stderr, expected);
    assert_eq!(pushed(&evil), "");
    scene.server.change(|state| state.git = Some(evil.clone()));
    let trusted = scene.work(&[&BOTH[..], &["--trust-project"]].concat()).exits(1);
    assert_eq!(outcomes(&trusted), ["#7 failed", "#8 pr-created"]);
    assert_eq!(outcomes(&scene.work(&BOTH).exits(1)), ["#7 failed", "#8 pr-created"], "once is enough");
}

//! Interrupted or deleted work never counts as the work of a person.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::Project;

use super::{auto, commit, git, outcomes, repository, work, writes};

/// A git filter that once kills git and the Saihai process above it.
const STOPS: &str = r#"#!/bin/sh
here=$(dirname "$0")
cat
[ -e "$here/stop" ] || exit 0
at=$$
above=
while at=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$at/status") && [ "$at" -gt 1 ]; do
    above="$at $above"
    case "$(cat "/proc/$at/comm")" in saihai*) rm "$here/stop"; kill -9 $above; exit 1 ;; esac
done
"#;

/// Configures the user's git to filter `*.dat` with this program. Its argument is `clean` or `smudge`.
fn filtered(project: &Project, program: &str) {
    let filter = project.home().join("filter.sh");
    fs::write(&filter, program).expect("a filter");
    fs::set_permissions(&filter, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let configuration = project.home().join(".gitconfig");
    let own = fs::read_to_string(&configuration).expect("a configuration");
    let way = |way: &str| format!("\t{way} = {} {way}\n", filter.display());
    let own = format!("{own}[filter \"own\"]\n\trequired = true\n{}{}", way("clean"), way("smudge"));
    fs::write(&configuration, own).expect("a configuration");
    project.write(".gitattributes", "*.dat filter=own\n");
}

// I-36: Saihai recreates a worktree with only some of its files. The missing files were not deleted by a
// person.
#[test]
fn a_worktree_that_was_half_made_is_made_again() {
    let project = repository(&writes("fixed.txt"));
    filtered(&project, STOPS);
    project.write("a.txt", "a\n").write("m.dat", "m\n").write("z.txt", "z\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    fs::write(project.home().join("stop"), "").expect("a mark");
    let stopped = work(&project, &["--auto", "--merge"]).run();
    assert_eq!(stopped.code, None, "it was stopped: {stopped}");
    assert!(project.root().join(".worktrees/issue-7/a.txt").exists(), "in the middle");
    assert!(!project.root().join(".worktrees/issue-7/z.txt").exists(), "in the middle");

    let outcome = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 merged"]);
    let changed = git(&project, &["diff", "--name-status", "main", "saihai/merge/main"]);
    assert_eq!(changed, "A\tfixed.txt", "the agent's file and nothing else");
}

// I-72: an approved commit survives the deletion of its branch.
#[test]
fn a_branch_that_is_gone_comes_back_at_the_commit_that_was_agreed_to() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"post-completion\"]\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    work(&project, &[]).run().exits(6);
    git(&project, &["worktree", "remove", "--force", ".worktrees/issue-7"]);
    git(&project, &["branch", "--quiet", "-D", "feature/issue-7"]);
    project.saihai(["answer", &project.runs()[0], "yes"]).run().exits(0);
    let outcome = work(&project, &[]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["show", "feature/issue-7:fixed.txt"]), "fixed.txt");
}

// I-72: if nothing was committed, Saihai reports the loss instead of continuing silently.
#[test]
fn a_branch_that_is_gone_with_its_work_is_missed() {
    let project = repository("  - {text: 'Wait. [STEP:0]', writes: [{path: f, content: x}]}\n");
    let piece = "name: it\nmovements: [{name: fix, edit: true, rules: [{condition: done, next: look}]}, \
                 {name: look, rules: [{condition: done, next: COMPLETE}]}]\n";
    project.write(".saihai/pieces/it.yaml", piece);
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\n[budget]\nturns = 1\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &[]).exits(5);
    git(&project, &["worktree", "remove", "--force", ".worktrees/issue-7"]);
    git(&project, &["branch", "--quiet", "-D", "feature/issue-7"]);
    let outcome = project.saihai(["resume", &project.runs()[0], "--budget", "turns=5"]).run();
    assert!(outcome.stderr.contains("the branch `feature/issue-7` was deleted with its work"), "{outcome}");
    assert_eq!(outcome.code, Some(2), "{outcome}");
}

/// A filter that stores file contents in the same directory as `git-lfs`.
const KEEPS: &str = r#"#!/bin/sh
store=$(git config lfs.storage || echo "$(git rev-parse --path-format=absolute --git-common-dir)/lfs")
mkdir -p "$store"
case "$1" in
clean) cat > "$store/new" && name=$(cksum < "$store/new" | tr ' ' -) && mv "$store/new" "$store/$name" && echo "$name" ;;
smudge) read -r name && cat "$store/$name" ;;
esac
"#;

// I-37, I-48: contents stored by the user's filter stay in the git directory, where the filter looks for
// them.
#[test]
fn what_a_filter_keeps_for_itself_is_kept() {
    let project = repository(&writes("new.dat"));
    filtered(&project, KEEPS);
    project.write("old.dat", "old\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    // The user's own git applies the filter too.
    let mut add = std::process::Command::new("git");
    add.args(["add", "--all"]).current_dir(project.root());
    assert!(add.env("HOME", project.home()).status().expect("git").success());
    git(&project, &["commit", "--quiet", "--message", "one"]);
    let outcome = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    let pointer = git(&project, &["show", "feature/issue-7:new.dat"]);
    assert_eq!(project.read(&format!(".git/lfs/{pointer}")), "new.dat\n");
    let old = git(&project, &["show", "feature/issue-7:old.dat"]);
    assert_eq!(project.read(&format!(".git/lfs/{old}")), "old\n");
}

// I-31: the waiting merge conflicts with the base, so no new branch can contain both.
#[test]
fn a_dependant_does_not_begin_without_what_it_depends_on() {
    let project = repository("  - {text: 'Done. [STEP:0]', writes: [{path: kept.txt, content: theirs}]}\n");
    project.write(".saihai/issues/1.md", "# One\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &["--merge"]).exits(0)), ["#1 merged"]);
    project.write("kept.txt", "mine\n");
    project.write(".saihai/issues/2.md", "---\ndepends_on: [1]\n---\n# Two\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(6);
    assert_eq!(outcomes(&outcome), ["#2 waiting", "#1 merged"]);
    let said = "`saihai/merge/main` and `main` conflict in `kept.txt`";
    assert!(
        outcome.stdout.contains(said) && outcome.stdout.contains("git merge saihai/merge/main"),
        "{outcome}"
    );
    assert_eq!(project.runs().len(), 1, "nothing was begun");
}

// I-65: a locked worktree is one that a person wants to keep.
#[test]
fn a_worktree_that_a_person_has_locked_stays() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"post-completion\"]\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    work(&project, &[]).run().exits(6);
    git(&project, &["worktree", "lock", ".worktrees/issue-7"]);
    project.saihai(["answer", &project.runs()[0], "yes"]).run().exits(0);
    let outcome = work(&project, &[]).run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    assert_eq!(project.read(".worktrees/issue-7/fixed.txt"), "fixed.txt\n");
}

// The next call deletes temporary files of a killed process: a merged tree, its worktree, git directories.
#[test]
fn what_was_killed_during_verify_leaves_nothing_behind() {
    let project = repository(&writes("fixed.txt"));
    let (begun, go) = (project.home().join("begun"), project.home().join("go"));
    let verify = format!("test -e {} || {{ touch {}; sleep 600; }}", go.display(), begun.display());
    let settings = format!("[work]\ndefinition = \"it\"\nverify = [\"sh\", \"-c\", \"{verify}\"]\n");
    project.write(".saihai/config.toml", settings).write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let place = project.home().join("tmp");
    fs::create_dir(&place).expect("a directory");
    let left = || {
        let entries = fs::read_dir(&place).expect("it").map(|entry| entry.expect("it").file_name());
        let names = entries.map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("saihai-")).count()
    };
    let call = || work(&project, &["--auto", "--merge", "--trust-project"]).env("TMPDIR", &place);
    let live = call().start();
    while !begun.exists() {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    live.signal(rustix::process::Signal::KILL);
    assert_eq!(live.finish().code, None);
    assert!(left() > 0, "it was in the middle");
    assert_eq!(git(&project, &["worktree", "list"]).lines().count(), 3);
    fs::write(go, "").expect("a mark");
    assert_eq!(outcomes(&call().run().exits(0)), ["#7 merged"]);
    assert_eq!((left(), git(&project, &["worktree", "list"]).lines().count()), (0, 1));
}

// All runs of a batch share one script. A run that is resumed alone leaves the replies for the others unused.
#[test]
fn one_issue_of_a_scripted_batch_is_resumed_without_the_replies_of_the_others() {
    let reply = |issue: u32| {
        format!(
            "  - {{prompt: Issue {issue}, text: 'Done. [STEP:0]', writes: [{{path: f{issue}, content: x}}]}}\n"
        )
    };
    let project = repository(&format!("{}{}", reply(1), reply(2)));
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ngates = [\"pre-loop\"]\n");
    project.write(".saihai/issues/1.md", "# Issue 1\n");
    project.write(".saihai/issues/2.md", "# Issue 2\n");
    let script = project.read("script.yaml").replace("script: 1\n", "script: 1\nstrict: true\n");
    project.write("script.yaml", script);
    commit(&project);
    work(&project, &[]).run().exits(6);
    let run = project.runs()[0].clone();
    project.saihai(["answer", &run, "yes"]).run().exits(0);
    let resumed = project.saihai(["resume", &run]).run().exits(0);
    assert!(!resumed.stderr.contains("Issue 2"), "{resumed}");
}

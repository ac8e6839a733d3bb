//! Hostile or careless agents and issues.

use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::Project;

use super::github::Scene;
use super::{auto, commit, git, outcomes, repository, writes};

fn with(argv: &str) -> Project {
    with_more(argv, "")
}

/// Creates a project whose agent runs a shell command, followed by `more` replies.
fn with_more(argv: &str, more: &str) -> Project {
    let first = format!("  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, -c, '{argv}']}}]}}\n");
    let project = repository(&format!("{first}{more}"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

// case 21
#[test]
fn a_title_is_text_wherever_it_goes() {
    let project = repository(&writes("fixed.txt"));
    project
        .write(".saihai/issues/7.md", "---\ntitle: \"$(touch x) `y` \\\"z\\\" ; \\n --force\"\n---\nBody.\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    let subject = git(&project, &["log", "-1", "--format=%s", "feature/issue-7"]);
    assert_eq!(subject, "$(touch x) `y` \"z\" ; --force (issue-7)");
    assert!(!project.root().join("x").exists() && !project.root().join(".worktrees/issue-7/x").exists());
}

// case 23
#[test]
fn a_very_long_issue_is_cut_for_the_agent() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", format!("# Long\n\n{}", "word ".repeat(60_000)));
    commit(&project);
    let outcome = auto(&project, &[]).exits(0);
    assert!(outcome.stderr.contains("warning: #7: 199,999 characters of its text omitted"), "{outcome}");
    let prompt = project.journal().prompt("fix");
    assert!(prompt.contains("[The text of this issue goes on for "), "{}", prompt.len());
}

// case 27
#[test]
fn an_agent_that_left_its_branch_is_not_delivered_and_its_commits_are_kept() {
    let project =
        with("git checkout -q -b elsewhere; echo x > lost.txt; git add lost.txt; git commit -qm lost");
    let outcome = auto(&project, &[]).exits(1);
    assert!(outcome.stdout.contains("branch-changed"), "{outcome}");
    assert_eq!(git(&project, &["show", "refs/saihai/rescue/issue-7/1:lost.txt"]), "x");
}

// case 28
#[test]
fn a_repository_in_the_repository_is_refused_and_stays() {
    let project = with("git init -q inner; echo x > inner/file");
    let outcome = auto(&project, &[]).exits(1);
    assert!(outcome.stdout.contains("embedded-repository"), "{outcome}");
    assert_eq!(project.read(".worktrees/issue-7/inner/file"), "x\n");
}

// I-50: an agent replaced the repository of its worktree, so its commits exist nowhere else.
#[test]
fn a_repository_in_the_place_of_the_worktrees_own_is_refused_and_stays_until_a_person_has_kept_it() {
    let project = with(
        "rm .git; git init -q; echo x > f; git add f; git -c user.name=A -c user.email=a@b.c commit -qm own",
    );
    let outcome = auto(&project, &[]).exits(1);
    assert!(
        outcome.stdout.contains("embedded-repository: `.git` of the worktree is now another"),
        "{outcome}"
    );
    let worktree = project.root().join(".worktrees/issue-7");
    assert_eq!(super::git_in(&worktree, &["log", "--format=%s"]), "own");
    let cleaned = project.saihai(["work", "--clean"]).run().exits(0);
    assert!(cleaned.stdout.contains("has not delivered it"), "{cleaned}");
    // Follows the advice in the message.
    let kept = project.home().join("kept");
    assert!(outcome.stdout.contains(&format!("`mv {}/.git DIR && git worktree repair`", worktree.display())));
    std::fs::rename(worktree.join(".git"), &kept).expect("it can be moved");
    git(&project, &["worktree", "repair"]);
    project.write("script.yaml", "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]'}\n");
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["show", "feature/issue-7:f"]), "x");
    assert_eq!(super::git_in(&kept, &["--git-dir", ".", "log", "--format=%s"]), "own");
}

// Git cannot store a pipe, so a person decides. Afterwards Saihai pays for no second turn.
#[test]
fn a_pipe_in_the_place_of_a_file_waits_for_a_person_and_then_goes_on() {
    let project = with("echo x > f; rm kept.txt; mkfifo kept.txt");
    let outcome = auto(&project, &[]).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"]);
    let worktree = project.root().join(".worktrees/issue-7");
    let said = format!(
        "git cannot store pipes, sockets and devices: replace `kept.txt` in `{}` with files, or remove them",
        worktree.display()
    );
    assert!(outcome.stdout.contains(&said), "{outcome}");
    std::fs::remove_file(worktree.join("kept.txt")).expect("it can be removed");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["diff", "--name-status", "main", "feature/issue-7"]), "A\tf\nD\tkept.txt");
}

// Finished work never omits files of an agent silently, and cleanup never deletes them.
#[test]
fn what_git_passes_over_waits_for_a_person_and_then_goes_on() {
    let project = with("echo x > f; mkdir -p s/.git .GIT; echo w > s/.git/w; echo v > .GIT/v");
    let outcome = auto(&project, &[]).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"]);
    let worktree = project.root().join(".worktrees/issue-7");
    let said = format!("make `.GIT`, `s/.git` in `{}` readable, rename it", worktree.display());
    assert!(outcome.stdout.contains(&said), "{outcome}");
    std::fs::rename(worktree.join("s/.git"), worktree.join("s/kept")).expect("it can be renamed");
    std::fs::remove_dir_all(worktree.join(".GIT")).expect("it can be removed");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["diff", "--name-status", "main", "feature/issue-7"]), "A\tf\nA\ts/kept/w");
}

// I-2, I-3: work in a copied project changes only the copy.
#[test]
fn a_copied_project_leaves_the_worktrees_of_the_first_one_alone() {
    let (first, copy) = (with("echo x > f; mkdir .GIT; echo v > .GIT/v"), with(""));
    auto(&first, &[]).exits(6);
    std::fs::remove_dir_all(copy.root()).expect("it can be removed");
    let copied = std::process::Command::new("cp").arg("-a").args([first.root(), copy.root()]).status();
    assert!(copied.expect("there is a cp").success());
    let before = first.snapshot();
    let outcome = auto(&copy, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 blocked"]);
    let said = format!("it was started in `{}", first.root().join(".worktrees/issue-7").display());
    assert!(outcome.stdout.contains(&said), "{outcome}");
    std::fs::remove_dir_all(copy.root().join(".worktrees/issue-7/.GIT")).expect("it can be removed");
    copy.write("script.yaml", "script: 1\nreplies:\n  - {text: 'Done. [STEP:0]'}\n");
    assert_eq!(outcomes(&auto(&copy, &["--retry"]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&copy, &["show", "feature/issue-7:f"]), "x");
    assert_eq!(first.snapshot().differences(&before), Vec::<std::path::PathBuf>::new());
}

const TWO: &str = "name: it\nmovements:\n  - {name: plan, edit: true, rules: [{condition: done, next: fix}]}\n  - {name: fix, edit: true, rules: [{condition: done, next: COMPLETE}]}\n";

// I-72: Saihai reports a worktree that disappears during a run. The next call creates it again from the
// branch.
#[test]
fn a_worktree_that_was_removed_between_turns_is_said_and_made_again() {
    let project =
        with_more(r#"echo x > f; git add f; git commit -qm mine; rm -rf "$PWD""#, &writes("more.txt"));
    project.write(".saihai/pieces/it.yaml", TWO);
    let outcome = auto(&project, &[]).exits(4);
    assert_eq!(outcomes(&outcome), ["#7 provider"]);
    let worktree = project.root().join(".worktrees/issue-7");
    let said = format!("missing: the directory `{}` is missing", worktree.display());
    assert!(outcome.stdout.contains(&said), "{outcome}");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(
        git(&project, &["log", "--format=%s", "main..feature/issue-7"]),
        "Login fails (issue-7)\nmine"
    );
    assert_eq!(git(&project, &["diff", "--name-status", "main", "feature/issue-7"]), "A\tf\nA\tmore.txt");
}

#[test]
fn a_worktree_that_was_removed_before_the_commit_waits_where_its_branch_has_commits() {
    let project = with(r#"echo x > f; git add f; git commit -qm mine; echo y > lost; rm -rf "$PWD""#);
    let outcome = auto(&project, &[]).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"]);
    assert!(outcome.stdout.contains("was deleted with its uncommitted changes; continue, and Saihai creates it again from `feature/issue-7`, which has commits"), "{outcome}");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["log", "--format=%s", "main..feature/issue-7"]), "mine");
}

#[test]
fn a_worktree_that_was_removed_before_anything_was_committed_is_no_success() {
    let project = with(r#"echo y > lost; git worktree remove --force "$PWD""#);
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed"]);
    assert!(outcome.stdout.contains("was deleted with its uncommitted changes; `feature/issue-7` has no commits: `saihai work --retry` starts again"), "{outcome}");
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("fixed.txt")));
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
}

// The value of a known secret does not leave the machine.
#[test]
fn a_secret_among_the_files_is_refused() {
    let project = with("echo a-very-secret-value-4711 > f");
    let call = super::work(&project, &["--auto"]).env("MY_API_KEY", "a-very-secret-value-4711");
    let outcome = call.run().exits(1);
    assert!(outcome.stdout.contains("secret: found a secret in `f`"), "{outcome}");
}

// A token as short as a word would match ordinary files. Saihai reports once that it does not search for
// it.
#[test]
fn a_token_that_is_too_short_is_not_looked_for() {
    let scene = super::github::Scene::new(&writes("fixed.txt"), |state| {
        for number in [7, 8] {
            state.issue(number, "Login fails", &["saihai"]);
        }
    });
    let outcome = scene.call(&["--label", "saihai"]).env("GITHUB_TOKEN", "x").run().exits(0);
    assert_eq!(outcomes(&outcome), ["#7 pr-created", "#8 pr-created"]);
    assert_eq!(outcome.stderr.matches("the token is shorter than 8 characters").count(), 1, "{outcome}");
}

// case 36
#[test]
fn what_an_agent_hid_from_git_is_rescued_before_its_worktree_goes() {
    let project = with("echo /notes/ >> .gitignore; mkdir notes; echo x > notes/plan.md");
    let outcome = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 branch-ready"]);
    assert!(outcome.stdout.contains("git worktree add DIR refs/saihai/rescue/issue-7/1"), "{outcome}");
    assert_eq!(git(&project, &["show", "refs/saihai/rescue/issue-7/1:notes/plan.md"]), "x");
}

// case 37: configuration that one agent leaves in the repository never runs during the work on another
// issue.
#[test]
fn nothing_that_an_agent_configures_is_ever_run_by_us() {
    let project = repository(
        "  - {text: 'Done. [STEP:0]', runs: [{argv: [sh, hostile.sh]}], writes: [{path: f, content: x}]}\n",
    );
    let hostile = "C=$(git rev-parse --git-common-dir)\nP=\"touch $C/canary\"\n\
        git config core.fsmonitor \"$P; false\"\ngit config core.sshCommand \"$P\"\ngit config diff.external \"$P\"\n\
        git config filter.x.clean \"$P; cat\"\ngit config filter.x.smudge \"$P; cat\"\ngit config merge.x.driver \"$P\"\n\
        git config remote.origin.url \"ext::sh -c '$P'\"\ngit config core.hooksPath \"$C/evil\"\nmkdir -p $C/evil $C/info\n\
        echo '* filter=x merge=x diff=x' > $C/info/attributes\n\
        for h in pre-commit post-checkout reference-transaction post-merge pre-push; do printf '#!/bin/sh\\n%s\\n' \"$P\" > $C/evil/$h; \
        chmod +x $C/evil/$h; cp $C/evil/$h $C/hooks/$h; done\nrm -f $C/canary\necho x > own-$$\n";
    project.write("hostile.sh", hostile);
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n");
    commit(&project);
    let outcome = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#1 merged", "#2 merged"], "{outcome}");
    assert!(!project.root().join(".git/canary").exists(), "something of it ran");
}

#[test]
fn files_that_are_copied_for_the_agent_are_never_committed() {
    let project = repository(&writes("fixed.txt"));
    project.write(".gitignore", ".env\n");
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\ncopy_files = [\".env\"]\n");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project.write(".env", "KEY=1\n");
    auto(&project, &["--keep", "--trust-project"]).exits(0);
    assert_eq!(project.read(".worktrees/issue-7/.env"), "KEY=1\n");
    assert_eq!(git(&project, &["ls-tree", "-r", "--name-only", "feature/issue-7", ".env"]), "");
}

// Saihai does not deliver an issue after its lock was deleted, and reports the reason.
#[test]
fn a_lock_that_is_gone_ends_the_delivery() {
    let project = with("echo x > f; rm $(git rev-parse --git-common-dir)/saihai/issue-7.lock");
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed"]);
    assert!(outcome.stdout.contains("lock-lost: `"), "{outcome}");
    assert!(!outcome.stdout.contains("lock-lost: lock-lost"), "{outcome}");
    assert_eq!(git(&project, &["rev-parse", "feature/issue-7"]), git(&project, &["rev-parse", "main"]));
}

// I-50: Saihai finds a token that only `gh` knows before delivery, with any command that continues the run.
// The journal does not store the token either.
#[test]
fn the_token_of_gh_is_not_handed_over_also_where_a_run_is_resumed() {
    const TOKEN: &str = "canary-token-4711";
    let scene = Scene::new("", |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    let home = scene.project.home();
    let (programs, settings) = (home.join("programs"), home.join(".config/saihai"));
    for directory in [&programs, &settings] {
        std::fs::create_dir_all(directory).expect("a directory");
    }
    let program = |name: &str, text: &str| {
        let path = programs.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
        path.display().to_string()
    };
    program("gh", &format!("test \"$1 $2\" = 'auth token' && echo {TOKEN}"));
    let agent =
        program("agent", &format!("cat > /dev/null; echo x {TOKEN} > f; echo 'It is {TOKEN}. [STEP:0]'"));
    let own = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{agent}\"\nhonours = [\"readonly\", \"edit\"]\n"
    );
    std::fs::write(settings.join("config.toml"), own).expect("settings");
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let call = |arguments: &[&str]| {
        let call = scene.project.saihai(arguments).env("GITHUB_API_URL", scene.server.url());
        call.without_env("GITHUB_TOKEN").env("PATH", &path).run()
    };
    call(&["work", "--repo", "me/tool", "--label", "saihai"]).exits(6);
    let run = scene.project.runs()[0].clone();
    call(&["answer", &run, "yes"]).exits(0);
    let resumed = call(&["resume", &run, "--auto"]).exits(1);
    assert!(format!("{resumed}").contains("secret") && !format!("{resumed}").contains(TOKEN), "{resumed}");
    let journal = std::fs::read_to_string(scene.project.run_directory().join("journal.ndjson")).expect("it");
    assert!(journal.contains("It is ") && !journal.contains(TOKEN), "{journal}");
    assert_eq!(scene.remote(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(scene.server.state().pull_requests.is_empty());
}

// C-55: Saihai also redacts a token from script output when no variable contains it.
#[test]
fn the_token_of_gh_is_kept_nowhere_though_a_script_says_it() {
    const TOKEN: &str = "canary-token-4711";
    let replies = format!("  - {{text: 'It is {TOKEN}. [STEP:0]', writes: [{{path: f, content: x}}]}}\n");
    let scene = Scene::new("", |state| {
        state.issue(7, "Login fails", &["saihai"]);
    });
    // Stays uncommitted: otherwise the delivered commit would contain the token.
    scene.project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    let programs = scene.project.home().join("programs");
    std::fs::create_dir_all(&programs).expect("a directory");
    let gh = programs.join("gh");
    std::fs::write(&gh, format!("#!/bin/sh\ntest \"$1 $2\" = 'auth token' && echo {TOKEN}\n")).expect("it");
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let call = scene.call(&["--label", "saihai"]).without_env("GITHUB_TOKEN");
    let outcome = call.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).run().exits(0);
    assert!(!format!("{outcome}").contains(TOKEN), "{outcome}");
    let body = scene.server.state().pull_requests.values().next().expect("one").body.clone();
    assert!(body.contains("It is [redacted:GITHUB_TOKEN]."), "{body}");
    let run = scene.project.run_directory();
    let found = std::process::Command::new("grep").args(["-rl", TOKEN]).arg(&run).output().expect("grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

//! Agents that hide their work or damage its worktree.

use saihai_tests::Journal;

use super::{auto, commit, git, outcomes, repository, work, writes};

fn agent(does: &str) -> String {
    format!("  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, -c, '{does}']}}]}}\n")
}

// I-48, I-65: rules in `info/exclude` would hide the work of every later issue.
#[test]
fn rules_that_an_agent_left_for_later_issues_lose_nothing() {
    let hides = "echo docs/plan.md >> $(git rev-parse --git-common-dir)/info/exclude; echo x > f";
    let project = repository(&agent(hides));
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n");
    commit(&project);
    auto(&project, &["--issues", "1"]).exits(0);
    let two = agent("mkdir -p docs; echo paid for > docs/plan.md");
    project.write("script.yaml", format!("script: 1\nreplies:\n{two}"));
    let outcome = auto(&project, &["--issues", "2"]).exits(0);
    assert_eq!(outcomes(&outcome), ["#2 no-changes"], "{outcome}");
    assert!(
        outcome.stdout.contains("#2: kept: `git worktree add DIR refs/saihai/rescue/issue-2/1`"),
        "{outcome}"
    );
    assert_eq!(git(&project, &["show", "refs/saihai/rescue/issue-2/1:docs/plan.md"]), "paid for");
}

// I-65: files ignored by the user's global rules are not work.
#[test]
fn what_the_users_own_rules_hide_is_not_rescued() {
    let project = repository(&agent("echo x > f; echo x > notes.own"));
    let own = project.home().join(".gitconfig");
    let text = std::fs::read_to_string(&own).expect("a configuration");
    std::fs::write(own, text + "[core]\n\texcludesFile = ~/own-rules\n").expect("it");
    std::fs::write(project.home().join("own-rules"), "*.own\n").expect("it");
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["for-each-ref", "refs/saihai/rescue"]), "");
    assert!(!project.root().join(".worktrees/issue-7").exists());
}

// I-50, case 28: the invented address of a submodule does not deliver its files.
#[test]
fn a_repository_among_the_files_is_found_though_it_is_called_a_submodule() {
    let cloned = "git init -q vendor && cd vendor && echo x > x && git add x && git commit -qm inner && cd .. && \
                  git config -f .gitmodules submodule.v.path vendor && \
                  git config -f .gitmodules submodule.v.url https://example.com/v && git add -A && git commit -qm outer";
    let project = repository(&agent(cloned));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    // A second call pays for no turn while the repository is still there.
    for flags in [&[][..], &["--retry"]] {
        let outcome = auto(&project, flags).exits(1);
        assert_eq!(outcomes(&outcome), ["#7 failed"], "{outcome}");
        let why = "embedded-repository: the files contain another repository: `vendor`; only a person can add a submodule";
        assert!(outcome.stdout.contains(why), "{outcome}");
        assert_eq!(project.read(".worktrees/issue-7/vendor/x"), "x\n");
        assert_eq!(project.runs().len(), 1);
    }
}

// I-47: Saihai would pay for a turn on another branch and could not deliver its work.
#[test]
fn a_retry_in_a_worktree_on_another_branch_is_refused_before_it_is_paid_for() {
    let project = repository(&agent("git switch --quiet --create mine; echo x > f"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    auto(&project, &[]).exits(1);
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("fixed.txt")));
    let outcome = auto(&project, &["--retry"]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 blocked"], "{outcome}");
    let worktree = project.root().join(".worktrees/issue-7").display().to_string();
    let way = format!("`git -C {worktree} switch feature/issue-7` fixes it");
    assert!(outcome.stdout.contains(&way), "{outcome}");
    let retried = project.runs().pop().expect("a second run");
    let journal = project.root().join(".saihai/runs").join(retried).join("journal.ndjson");
    assert_eq!(Journal::read(&journal).facts("replied").count(), 0);
    git(&project, &["-C", &worktree, "switch", "--quiet", "feature/issue-7"]);
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
}

// For a worktree that git no longer lists, the message is accurate and names a way out.
#[test]
fn files_whose_worktree_is_off_the_list_are_said_to_be_there_and_can_be_moved_away() {
    let takes_away = "echo x > f; rm -r $(git rev-parse --git-dir)";
    let project = repository(&agent(takes_away));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    let worktree = project.root().join(".worktrees/issue-7");
    let way = format!("its files still exist: keep them with `mv {} DIR`", worktree.display());
    assert!(outcome.stdout.contains(&way), "{outcome}");
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("fixed.txt")));
    let refused = work(&project, &["--auto", "--retry"]).run().exits(1);
    assert!(refused.stdout.contains("is not a worktree of Saihai; move it away"), "{refused}");
    std::fs::rename(&worktree, project.home().join("kept")).expect("it is moved");
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
}

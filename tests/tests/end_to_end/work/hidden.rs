//! Work that an agent hides, or whose place it spoils.

use std::process::Command;

use saihai_tests::Journal;

use super::{auto, commit, git, outcomes, repository, work, writes};

fn agent(does: &str) -> String {
    format!("  - {{text: 'Done. [STEP:0]', runs: [{{argv: [sh, -c, '{does}']}}]}}\n")
}

// I-38, I-48, I-65: rules in `info/exclude` hide the work of every later issue.
#[test]
fn rules_that_an_agent_left_for_later_issues_are_shown_to_a_person_and_lose_nothing() {
    let hides = "echo docs/plan.md >> $(git rev-parse --git-common-dir)/info/exclude; echo x > f";
    let project = repository(&agent(hides));
    project.write(".saihai/issues/1.md", "# One\n");
    project.write(".saihai/issues/2.md", "# Two\n");
    commit(&project);
    let outcome = auto(&project, &["--issues", "1"]).exits(6);
    assert!(outcome.stdout.contains("an answer at `changed-configuration`"), "{outcome}");
    assert!(outcome.stdout.contains("- `info/exclude`"), "{outcome}");
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

// I-65: what the user has git ignore everywhere is nobody's work.
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

// I-50, case 28: an address that an agent made up gives nobody the files.
#[test]
fn a_repository_among_the_files_is_found_though_it_is_called_a_submodule() {
    let cloned = "git init -q vendor && cd vendor && echo x > x && git add x && git commit -qm inner && cd .. && \
                  git config -f .gitmodules submodule.v.path vendor && \
                  git config -f .gitmodules submodule.v.url https://example.com/v && git add -A && git commit -qm outer";
    let project = repository(&agent(cloned));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    // Asked for again nothing is paid as long as it is there.
    for flags in [&[][..], &["--retry"]] {
        let outcome = auto(&project, flags).exits(1);
        assert_eq!(outcomes(&outcome), ["#7 failed"], "{outcome}");
        let why = "embedded-repository: another repository is among the files: `vendor`; a submodule is added by a person";
        assert!(outcome.stdout.contains(why), "{outcome}");
        assert_eq!(project.read(".worktrees/issue-7/vendor/x"), "x\n");
        assert_eq!(project.runs().len(), 1);
    }
}

const HOOK: &str = "h=$(git rev-parse --git-common-dir)/hooks; mkdir -p $h; echo echo > $h/post-checkout; chmod +x $h/post-checkout";

// I-38: what is left for all worktrees is there also where no work was left beside it.
#[test]
fn a_hook_that_an_agent_left_instead_of_work_waits_for_a_person() {
    let project = repository(&agent(HOOK));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(6);
    assert_eq!(outcomes(&outcome), ["#7 waiting"], "{outcome}");
    assert!(outcome.stdout.contains("an answer at `changed-configuration-alone`"), "{outcome}");
    assert!(outcome.stdout.contains("- `hooks/post-checkout`"), "{outcome}");
    project.saihai(["answer", "last", "yes"]).run().exits(0);
    let outcome = auto(&project, &[]).exits(0);
    assert_eq!(outcomes(&outcome), ["#7 no-changes"], "{outcome}");
    let told = "changed during the run, for all worktrees: `hooks/post-checkout`";
    assert!(outcome.stdout.contains(told), "{outcome}");
}

#[test]
fn what_an_agent_left_for_all_worktrees_is_told_where_its_run_failed_or_delivers_nothing() {
    let project = repository(&agent(&format!("{HOOK}; git init --quiet inner; echo x > inner/f")));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed"], "{outcome}");
    let told = "changed during the run, for all worktrees: `hooks/post-checkout`";
    assert!(outcome.stdout.contains(told), "{outcome}");
    // One that never comes to its commit.
    let stuck = agent(HOOK).replace("STEP:0", "STEP:1");
    let project = repository(&stuck);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    assert_eq!(outcomes(&outcome), ["#7 failed"], "{outcome}");
    let told =
        "changed since the run began, for all worktrees: `hooks/post-checkout`; your git may start a program";
    assert!(outcome.stdout.contains(told), "{outcome}");
    let placed = repository(&agent(HOOK));
    placed.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&placed);
    let outcome =
        placed.saihai(["run", "it", "--issue", "7", "--auto", "--script", "script.yaml"]).run().exits(0);
    assert!(outcome.stderr.contains(told), "{outcome}");
}

// I-40: who put commits on the base meanwhile, an agent or a person, cannot be told; that somebody did can.
#[test]
fn a_base_that_moved_during_the_run_is_told() {
    let moves =
        "echo x > f; git add f; git commit --quiet -m x; git update-ref refs/heads/main HEAD; echo y > g";
    let project = repository(&agent(moves));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &["--merge"]).exits(0);
    assert!(outcome.stdout.contains("for all worktrees: `refs/heads/main`"), "{outcome}");
}

// I-46, I-71: nobody waits for the other end of a pipe in the place of a file of ours, and nothing is paid for twice.
#[test]
fn a_pipe_in_the_place_of_a_lock_or_a_journal_is_refused() {
    let project = repository(&writes("fixed.txt"));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let pipe = |path: &str| {
        let path = project.root().join(path);
        std::fs::remove_file(&path).unwrap_or(());
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        path
    };
    std::fs::create_dir_all(project.root().join(".git/saihai")).expect("a directory");
    let lock = pipe(".git/saihai/issue-7.lock");
    let outcome = auto(&project, &[]).exits(4);
    assert_eq!(outcomes(&outcome), ["#7 provider"], "{outcome}");
    assert!(outcome.stdout.contains("issue-7.lock`: it is not a file"), "{outcome}");
    assert!(project.runs().is_empty(), "{outcome}");
    std::fs::remove_file(lock).expect("it goes");
    auto(&project, &[]).exits(0);
    let run = format!(".saihai/runs/{}", project.runs()[0]);
    pipe(&format!("{run}/lock"));
    for look in [&["runs"][..], &["show", "last"], &["work", "--list"]] {
        project.saihai(look).run().exits(0);
    }
    let journal = pipe(&format!("{run}/journal.ndjson"));
    let outcome = auto(&project, &["--retry"]).exits(1);
    std::fs::remove_file(journal).expect("it goes");
    assert_eq!(outcomes(&outcome), ["#7 unknown"], "{outcome}");
    assert!(outcome.stdout.contains("journal.ndjson`: it is not a file"), "{outcome}");
}

// I-47: a turn in a worktree that is on another branch would be paid for, and its work delivered for nobody.
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
    let way = format!("`git -C {worktree} switch feature/issue-7` puts it right");
    assert!(outcome.stdout.contains(&way), "{outcome}");
    let retried = project.runs().pop().expect("a second run");
    let journal = project.root().join(".saihai/runs").join(retried).join("journal.ndjson");
    assert_eq!(Journal::read(&journal).facts("replied").count(), 0);
    git(&project, &["-C", &worktree, "switch", "--quiet", "feature/issue-7"]);
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
}

// What is said of a worktree that git does not know any more is true, and leads out of it.
#[test]
fn files_whose_worktree_is_off_the_list_are_said_to_be_there_and_can_be_moved_away() {
    let takes_away = "echo x > f; rm -r $(git rev-parse --git-dir)";
    let project = repository(&agent(takes_away));
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let outcome = auto(&project, &[]).exits(1);
    let worktree = project.root().join(".worktrees/issue-7");
    let way = format!("its files are still there: `mv {} DIR` keeps them and makes room", worktree.display());
    assert!(outcome.stdout.contains(&way), "{outcome}");
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", writes("fixed.txt")));
    let refused = work(&project, &["--auto", "--retry"]).run().exits(1);
    assert!(refused.stdout.contains("move it away to make room"), "{refused}");
    std::fs::rename(&worktree, project.home().join("kept")).expect("it is moved");
    assert_eq!(outcomes(&auto(&project, &["--retry"]).exits(0)), ["#7 branch-ready"]);
}

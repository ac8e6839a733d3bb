//! Temporary failures of git. They never lose work that agents were paid for.

use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::{Journal, Project};

use super::{auto, branches, commit, git, outcomes, repository, work, writes};

/// Creates a repository that signs commits, with a program that refuses its uses of these numbers. Saihai
/// tries once.
fn signed(refused: &str) -> Project {
    let project = repository(&writes("fixed.txt"));
    let home = project.home();
    let program = home.join("sign");
    let text = format!(
        "#!/bin/sh\ncat > /dev/null\ncd {} && n=$(($(cat uses 2>/dev/null || echo 0) + 1)) && echo $n > uses\n\
         case ' {refused} ' in *\" $n \"*) echo 'the key is locked' >&2; exit 2;; esac\n\
         printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n\
         printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2\n",
        home.display()
    );
    std::fs::write(&program, text).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let settings = std::fs::read_to_string(home.join(".gitconfig")).expect("a configuration");
    let signing = format!(
        "{settings}[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = x\n[gpg]\n\tprogram = {}\n",
        program.display()
    );
    std::fs::write(home.join(".gitconfig"), signing).expect("a configuration");
    once(&project);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    git(&project, &["switch", "--quiet", "-c", "other"]);
    project
}

/// Limits every operation to one attempt, so that the test does not wait for retries.
fn once(project: &Project) {
    project.write(
        ".saihai/config.toml",
        "[work]\ndefinition = \"it\"\nbase = \"main\"\n[retry]\ntransient = 1\n",
    );
}

fn replies(project: &Project) -> usize {
    let runs = project.root().join(".saihai/runs");
    let journals = project.runs().into_iter().map(|run| runs.join(run).join("journal.ndjson"));
    journals.map(|journal| Journal::read(&journal).facts("replied").count()).sum()
}

// I-72: finished but undelivered work continues at the same delivery step, also with `resume`.
#[test]
fn a_commit_or_merge_that_cannot_be_signed_is_made_once_it_can_and_no_turn_is_paid_again() {
    let project = signed("1 3");
    let main = git(&project, &["rev-parse", "main"]);
    let first = auto(&project, &["--merge"]).exits(4);
    assert_eq!(outcomes(&first), ["#7 provider"], "{first}");
    assert!(first.stdout.contains("`git commit-tree` failed: error: gpg failed to sign the data"), "{first}");
    assert!(
        first
            .stdout
            .contains("#7: run the same command again to repeat this step; agents are not called again"),
        "{first}"
    );
    assert_eq!(git(&project, &["rev-parse", "feature/issue-7"]), main, "nothing was committed");
    assert_eq!(project.read(".worktrees/issue-7/fixed.txt"), "fixed.txt\n", "and nothing lost");

    let second = auto(&project, &["--merge"]).exits(4);
    assert_eq!(outcomes(&second), ["#7 provider"], "{second}");
    assert_eq!(git(&project, &["rev-parse", "main"]), main, "it is committed and not merged");
    assert_eq!(git(&project, &["show", "feature/issue-7:fixed.txt"]), "fixed.txt");

    let third = project.saihai(["resume", "last"]).run().exits(0);
    assert!(third.stdout.contains("merged"), "{third}");
    assert_eq!(git(&project, &["show", "main:fixed.txt"]), "fixed.txt");
    assert_eq!(branches(&project), ["main", "other"]);
    assert_eq!((replies(&project), project.runs().len()), (1, 1));
}

// After a full disk or a missing directory, Saihai retries a few times and then parks the run.
#[test]
fn what_the_disk_refuses_is_done_once_it_does_not() {
    let project = repository("");
    let place = project.home().join("temporary");
    std::fs::create_dir(&place).expect("a directory");
    let reply = format!(
        "  - {{text: 'Done. [STEP:0]', writes: [{{path: f, content: x}}], runs: [{{argv: [rm, -rf, {}]}}]}}\n",
        place.display()
    );
    project.write("script.yaml", format!("script: 1\nreplies:\n{reply}"));
    once(&project);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let call = || work(&project, &["--auto"]).env("TMPDIR", &place);
    let first = call().run().exits(4);
    assert_eq!(outcomes(&first), ["#7 provider"], "{first}");
    assert!(first.stdout.contains("cannot make a directory in"), "{first}");
    std::fs::create_dir(&place).expect("a directory");
    assert_eq!(outcomes(&call().run().exits(0)), ["#7 branch-ready"]);
    assert_eq!((replies(&project), project.runs().len()), (1, 1));
}

// If only a person can fix it, Saihai reports it at once, with the next step.
#[test]
fn a_base_that_was_removed_is_merged_into_once_it_is_back() {
    let reply = "  - {text: 'Done. [STEP:0]', writes: [{path: f, content: x}], runs: [{argv: [git, branch, -q, -D, dev]}]}\n";
    let project = repository(reply);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    git(&project, &["branch", "dev"]);
    let first = auto(&project, &["--base", "dev", "--merge"]).exits(6);
    assert_eq!(outcomes(&first), ["#7 waiting"], "{first}");
    assert!(first.stdout.contains("git: there is no branch `dev`"), "{first}");
    git(&project, &["branch", "dev", "main"]);
    let second = auto(&project, &["--base", "dev", "--merge"]).exits(0);
    assert_eq!(outcomes(&second), ["#7 merged"], "{second}");
    assert_eq!(git(&project, &["show", "dev:f"]), "x");
    assert_eq!((replies(&project), project.runs().len()), (1, 1));
}

// A permanent refusal of git is not retried. The message names the file and the fix, and no agent runs
// again.
#[test]
fn a_file_that_git_refuses_waits_until_it_is_fixed() {
    let project = repository(
        "  - {text: 'Done. [STEP:0]', writes: [{path: mixed.txt, content: \"one\\r\\ntwo\\n\"}]}\n",
    );
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    let own = project.home().join(".gitconfig");
    let text = std::fs::read_to_string(&own).expect("a configuration");
    std::fs::write(own, text + "[core]\n\tautocrlf = input\n\tsafecrlf = true\n").expect("it");
    once(&project);
    for _ in 0..2 {
        let first = auto(&project, &[]).exits(6);
        assert_eq!(outcomes(&first), ["#7 waiting"], "{first}");
        let why = "#7: git: a file of the worktree cannot be committed: CRLF would be replaced by LF in mixed.txt; give the \
                   file the line ends that git would, or let git change them: `git config core.safecrlf warn`";
        assert!(first.stdout.contains(why), "{first}");
        assert_eq!(project.read(".worktrees/issue-7/mixed.txt"), "one\r\ntwo\n");
    }
    project.write(".worktrees/issue-7/mixed.txt", "one\ntwo\n");
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!((replies(&project), project.runs().len()), (1, 1));
}

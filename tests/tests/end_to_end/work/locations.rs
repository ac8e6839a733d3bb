//! Locations of worktrees, reports and the git directory.

use saihai_tests::Project;

use super::{auto, branches, commit, git, outcomes, repository, work};

const LEAVES: &str = "  - {text: 'Done. [STEP:0]', writes: [{path: docs/new.md, content: x}], times: '*'}\n";

fn seven() -> Project {
    let project = repository(LEAVES);
    project.write(".saihai/issues/7.md", "# Login fails\n");
    project.write("docs/old.md", "old\n");
    project
}

fn hidden(project: &Project) -> String {
    std::fs::read_to_string(project.root().join(".git/info/exclude")).unwrap_or_default()
}

// I-35, I-48: Saihai does not hide a directory with tracked files, so that it delivers new files there.
#[test]
fn a_directory_of_reports_in_which_git_keeps_files_stays_in_sight() {
    let project = seven();
    project.write(".saihai/config.toml", "reports_dir = \"docs\"\n[work]\ndefinition = \"it\"\n");
    commit(&project);
    assert_eq!(outcomes(&auto(&project, &[]).exits(0)), ["#7 branch-ready"]);
    assert_eq!(git(&project, &["show", "feature/issue-7:docs/new.md"]), "x");
    assert!(!hidden(&project).contains("/docs/"), "{}", hidden(&project));
    project.write("docs/mine.md", "mine\n");
    assert!(git(&project, &["status", "--porcelain"]).contains("?? docs/mine.md"));
}

// I-35: worktrees need a directory without tracked files, in any spelling.
#[test]
fn worktrees_are_not_put_among_files_that_git_keeps() {
    for root in ["docs", ".", "docs/../docs", "./docs/"] {
        let project = seven();
        project.write(
            ".saihai/config.toml",
            format!("[work]\ndefinition = \"it\"\nworktree_root = \"{root}\"\n"),
        );
        commit(&project);
        for flags in [&["--auto"][..], &["--list"]] {
            let refused = work(&project, flags).run().exits(2);
            assert!(
                refused.stderr.starts_with("error: `work.worktree_root` cannot be `"),
                "{root}: {refused}"
            );
            assert!(refused.stderr.contains("`: git keeps files there"), "{root}: {refused}");
        }
        assert_eq!(
            (branches(&project), hidden(&project).contains("Saihai")),
            (vec!["main".to_owned()], false)
        );
    }
    let project = seven();
    project.write(".saihai/config.toml", "[work]\ndefinition = \"it\"\nworktree_root = \"wt/x/../y\"\n");
    commit(&project);
    auto(&project, &["--keep"]).exits(0);
    assert!(hidden(&project).contains("/wt/y/"), "{}", hidden(&project));
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
}

// I-39: the git directory can be elsewhere, as in a submodule.
#[test]
fn a_repository_whose_directory_lies_elsewhere_is_worked_on() {
    let project = seven();
    commit(&project);
    let elsewhere = project.home().join("elsewhere.git").display().to_string();
    git(&project, &["init", "--quiet", "--separate-git-dir", &elsewhere]);
    let merged = auto(&project, &["--merge"]).exits(0);
    assert_eq!(outcomes(&merged), ["#7 merged"]);
    assert!(merged.stdout.contains("git merge --ff-only saihai/merge/main"), "main is checked out: {merged}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    let super_project = repository("");
    commit(&super_project);
    let path = project.root().display().to_string();
    git(&super_project, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &path, "part"]);
    let part = super_project.root().join("part");
    let call = super_project.saihai(["work", "--list", "--definition", "it"]).directory(&part);
    let listed = call.run().exits(0);
    assert!(listed.stdout.contains("#7"), "{listed}");
}

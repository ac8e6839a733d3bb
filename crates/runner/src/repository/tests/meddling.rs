//! What agents change of a repository so that a person sees something else than is handed over.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// What changed since, and whether it waits for a person.
fn changed(work: &Work, before: &Shared) -> Vec<(String, bool)> {
    let changes = before.changes(&work.repository.shared().unwrap());
    changes.into_iter().map(|change| (change.name, change.executes)).collect()
}

// I-38
#[test]
fn what_git_reaches_from_its_configuration_is_looked_at_as_well() {
    let scene = Scene::new();
    scene.git(&["config", "include.path", "extra.inc"]);
    scene.git(&["config", "includeIf.onbranch:other.path", "~/more.inc"]);
    scene.git(&["config", "core.hooksPath", ".git/myhooks"]);
    let inner = Scene::new();
    scene.git(&["submodule", "--quiet", "add", &inner.made.root().display().to_string(), "lib/sub"]);
    scene.made.commit("with a submodule");
    let work = Work::on(scene);
    let before = work.repository.shared().unwrap();
    assert_eq!(changed(&work, &before), []);
    work.scene.write("repository/.git/extra.inc", "[include]\n\tpath = ../../home/other.inc\n");
    work.scene.write("home/other.inc", "[core]\n\tfsmonitor = evil\n");
    work.scene.write("home/more.inc", "[user]\n\tname = evil\n[alias]\n\tst = !evil\n");
    for hook in ["myhooks/post-checkout", "modules/lib/sub/hooks/post-checkout"] {
        work.scene.write(&format!("repository/.git/{hook}"), "#!/bin/sh\n");
        let hook = work.scene.beside(&format!("repository/.git/{hook}"));
        fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    git(&work.scene.made.root().join("lib/sub"), &["config", "core.sshCommand", "evil"]);
    let shown: String = changed(&work, &before)
        .iter()
        .map(|(name, executes)| {
            let home = work.scene.beside("").display().to_string();
            format!("{}: {executes}\n", name.replace(&home, "…/"))
        })
        .collect();
    insta::assert_snapshot!(shown, @r"
    ../../home/other.inc core.fsmonitor: true
    .git/myhooks/post-checkout: true
    …/home/more.inc alias.st: true
    …/home/more.inc user.name: false
    extra.inc include.path: true
    modules/lib/sub/config core.sshcommand: true
    modules/lib/sub/hooks/post-checkout: true
    ");
    // Where it was begun before these were looked at, nothing is said of what was there.
    let mut older = serde_json::to_value(&before).unwrap();
    older.as_object_mut().unwrap().retain(|name, _| name.starts_with("config") || name.starts_with("work"));
    let older: Shared = serde_json::from_value(older).unwrap();
    assert_eq!(older.changes(&before), []);
}

// I-40, I-43, I-38: a person at a gate looks with plain git, and would be shown what stands in the place of what is merged.
#[test]
fn an_object_in_the_place_of_another_is_not_gone_by_and_is_told() {
    let work = Work::new();
    let before = work.repository.shared().unwrap();
    work.write("evil.sh", "evil\n");
    work.git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "-m", "x"]);
    let evil = work.git(&["rev-parse", "HEAD"]);
    let harmless = work.git(&[
        "commit-tree",
        "-p",
        &work.base.commit,
        "-m",
        "x",
        &format!("{}^{{tree}}", work.base.commit),
    ]);
    work.git(&["replace", &evil, &harmless]);
    work.scene.write("repository/.git/info/grafts", &format!("{evil}\n"));
    assert_eq!(work.git(&["diff", "--name-only", &work.base.commit, "HEAD"]), "");
    let ready = work.ready();
    assert_eq!((ready.files, ready.commit), (vec![PathBuf::from("evil.sh")], evil.clone()));
    assert_eq!(
        changed(&work, &before),
        [("info/grafts".to_owned(), true), (format!("refs/replace/{evil}"), true)]
    );
}

// I-50: whatever is named in `shallow` would hide all that was committed before it.
#[test]
fn a_history_that_an_agent_cut_off_is_looked_through_all_the_same() {
    let work = Work::new();
    work.write("key", "a secret value\n");
    work.git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "-m", "with it"]);
    work.git(&["rm", "--quiet", "key"]);
    work.write("a.txt", "two\n");
    work.git(&["commit", "--quiet", "--all", "-m", "without it"]);
    work.scene.write("repository/.git/shallow", &format!("{}\n", work.git(&["rev-parse", "HEAD"])));
    for repository in [work.repository.clone(), work.scene.repository()] {
        let finalizing = Finalizing {
            worktree: &work.worktree,
            base: &work.base,
            title: "x",
            run: "a-run",
            copied: &[],
            secrets: &[b"a secret value".to_vec()],
        };
        let finalized = repository.finalize(finalizing, &work.lock).unwrap();
        let Finalized::Failed { problem, .. } = finalized else { panic!("{finalized:?}") };
        assert_eq!(problem.word(), "secret");
    }
}

#[test]
fn a_repository_that_git_refuses_to_read_is_not_said_to_lack_a_branch() {
    let work = Work::new();
    assert_eq!(work.repository.tip("refs/heads/none").unwrap(), None);
    let config = work.scene.beside("repository/.git/config");
    let own = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{own}[core]\n\trepositoryformatversion = 99\n")).unwrap();
    let error = work.repository.base("main").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.lasts()),
        ("`git rev-parse` failed: fatal: Expected git repo version <= 1, found 99", Lasts::AWhile)
    );
}

// I-40: whatever an agent puts on the branch beside the base would come into the base with the next merge, and by the hint of it.
#[test]
fn a_branch_beside_the_base_that_we_did_not_make_is_not_built_on() {
    let work = Work::new();
    let before = work.repository.shared().unwrap();
    work.write("evil.sh", "evil\n");
    work.git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "-m", "Merge feature/issue-8 into main\n\nSaihai-Issue: 8"]);
    work.git(&["branch", "saihai/merge/main", "HEAD"]);
    work.git(&["reset", "--quiet", "--hard", &work.base.commit]);
    work.write("a.txt", "two\n");
    let ready = work.ready();
    let merging = Merging { item: &item(7), base: "main", commit: &ready.commit, title: "t", run: "r" };
    let said = "`saihai/merge/main` is not where Saihai left it: somebody else has put commits there";
    let error = work.repository.merge(merging, None, &work.lock).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.lasts()), (said, Lasts::UntilMended));
    insta::assert_snapshot!(
        error.remedy().unwrap(),
        @"look at them, `git log --stat main..saihai/merge/main`: take them in yourself, or `git branch -D saihai/merge/main`"
    );
    assert_eq!(work.repository.beginning("main").unwrap_err().to_string(), said);
    assert!(!work.repository.has_merged("main", &work.git(&["rev-parse", "saihai/merge/main"])).unwrap());
    assert!(!work.repository.waits_beside("main").unwrap());
    assert_eq!(changed(&work, &before), [("refs/heads/saihai/merge/main".to_owned(), true)]);
    work.git(&["branch", "-D", "saihai/merge/main"]);
    assert!(matches!(work.repository.merge(merging, None, &work.lock).unwrap(), Merged::Done { .. }));
    // What we merged ourselves is no change.
    assert_eq!(changed(&work, &before), []);
    assert!(work.repository.waits_beside("main").unwrap());
}

// I-50: files of a place outside would be committed, and that place removed.
#[test]
fn a_link_in_the_place_of_worktrees_is_not_followed() {
    for link in [".worktrees", ".worktrees/issue-7"] {
        let work = Work::new();
        let outside = work.scene.beside("outside");
        let path = work.scene.made.root().join(link);
        fs::rename(&path, &outside).unwrap();
        symlink(&outside, &path).unwrap();
        let found = work.repository.worktree(&item(7), Path::new(".worktrees"));
        assert_eq!(found.unwrap_err().to_string(), format!("`{}` is a symbolic link", path.display()));
        let finalized = work.try_finalize(&[]).unwrap_err();
        assert_eq!(finalized.to_string(), format!("`{}` is a symbolic link", path.display()));
        let cleaning = CleaningUp {
            worktree: &work.worktree,
            base: &work.base,
            copied: &[],
            merged_into: &[],
            own_rules: None,
        };
        assert!(work.repository.clean_up(cleaning, &work.lock).is_err());
        assert!(outside.exists());
    }
}

// I-46: git would wait for whoever writes into it, for as long as a git may take.
#[test]
fn a_pipe_that_the_configuration_includes_is_named_and_not_waited_for() {
    let work = Work::new();
    let (common, pipe) = (work.scene.made.root().join(".git"), work.scene.beside("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = |path: &Path| format!("a pipe is in the place of a file that git reads: `{}`", path.display());
    let before = fs::read_to_string(common.join("config")).unwrap();
    let inner = work.scene.beside("inner.inc");
    fs::write(&inner, "[includeIf \"gitdir:/\"] path = pipe\n").unwrap();
    for (path, named) in [(&pipe, &pipe), (&inner, &pipe)] {
        fs::write(common.join("config"), format!("{before}[include]\n\tPath = \"{}\"\n", path.display()))
            .unwrap();
        assert_eq!(work.scene.open().unwrap_err().to_string(), said(named));
        let error = work.try_finalize(&[]).unwrap_err();
        assert_eq!((error.to_string(), error.lasts()), (said(named), Lasts::UntilMended));
    }
    // One that includes itself is looked at once.
    fs::write(&inner, format!("[include]\n\tpath = {}\n", inner.display())).unwrap();
    fs::write(common.join("config"), before).unwrap();
    work.scene.open().unwrap();
}

//! Commits of the work that an agent left.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::tests::*;

#[track_caller]
pub(super) fn problem(work: &Work) -> (String, Option<RescueOutcome>) {
    problem_of(work.finalize())
}

#[track_caller]
pub(super) fn problem_of(finalized: CommitWorkOutcome) -> (String, Option<RescueOutcome>) {
    match finalized {
        CommitWorkOutcome::Failed { problem, rescued } => (format!("{}: {problem}", problem.word()), rescued),
        other @ (CommitWorkOutcome::Ready(_)
        | CommitWorkOutcome::NoChanges
        | CommitWorkOutcome::Special { .. }
        | CommitWorkOutcome::Untaken { .. }) => {
            panic!("{other:?}")
        }
    }
}

// I-48
#[test]
fn what_the_agent_left_becomes_a_commit_of_the_user() {
    let work = Work::new();
    work.write("a.txt", "two\n").write("new/b.txt", "b\n");
    let ready = work.ready();
    assert_eq!(work.git(&["rev-parse", "HEAD", "HEAD^{tree}"]), format!("{}\n{}", ready.commit, ready.tree));
    assert_eq!(ready.files, [Path::new("a.txt"), Path::new("new/b.txt")]);
    let format = "--format=%an <%ae> %cn <%ce>%n%B";
    insta::assert_snapshot!(work.git(&["log", "-1", format]), @r"
    U Ser <user@example.com> U Ser <user@example.com>
    Make it so (#7)

    Closes #7

    Saihai-Issue: 7
    Saihai-Run: a-run
    ");
    assert_eq!(work.git(&["status", "--porcelain"]), "");
    assert_eq!(work.repository.tree_of("feature/issue-7").unwrap(), Some(ready.tree));
}

// I-48
#[test]
fn the_message_for_an_issue_of_a_folder_closes_nothing() {
    let item = of(7, WorkItemSource::Folder);
    insta::assert_snapshot!(item.message("Make it so", "a-run"), @r"
    Make it so (issue-7)

    Saihai-Issue: 7
    Saihai-Run: a-run
    ");
}

// A repeated call after a crash finds the commit and does not create another.
#[test]
fn finalizing_again_finds_the_commit() {
    let work = Work::new();
    work.write("a.txt", "two\n");
    let ready = work.ready();
    assert_eq!(work.ready(), ready);
    assert_eq!(work.git(&["rev-list", "--count", "main..HEAD"]), "1");
}

// I-48
#[test]
fn commits_of_the_agent_stay_as_they_are() {
    let work = Work::new();
    work.write("a.txt", "two\n").git(&["commit", "--quiet", "--all", "-m", "by the agent"]);
    let tip = work.git(&["rev-parse", "HEAD"]);
    assert_eq!(work.ready().commit, tip);
    work.write("a.txt", "three\n");
    let ready = work.ready();
    assert_eq!(work.git(&["rev-parse", "HEAD^"]), tip);
    assert_eq!(work.git(&["rev-parse", "HEAD"]), ready.commit);
}

#[test]
fn nothing_changed_is_nothing_to_deliver_and_a_commit_without_a_change_is_something() {
    let work = Work::new();
    assert_eq!(work.finalize(), CommitWorkOutcome::NoChanges);
    work.git(&["commit", "--quiet", "--allow-empty", "-m", "empty"]);
    assert_eq!(work.ready().files, Vec::<PathBuf>::new());
}

#[test]
fn everything_the_agent_did_to_files_is_in_the_commit() {
    let scene = Scene::new();
    scene.made.write("gone", "x\n").write("file", "x\n").write("directory/x", "x\n").write("linked/x", "x\n");
    scene.made.write("hidden", "x\n").write("skipped", "x\n").write("mode", "x\n").commit("more");
    let work = Work::on(scene);
    let path = |name: &str| work.worktree.path().join(name);
    fs::remove_file(path("gone")).unwrap();
    fs::remove_file(path("file")).unwrap();
    work.write("file/now-a-directory", "y\n");
    fs::remove_dir_all(path("directory")).unwrap();
    work.write("directory", "now a file\n");
    fs::rename(path("linked"), path("moved")).unwrap();
    symlink("moved", path("linked")).unwrap();
    fs::set_permissions(path("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    // Marks in the agent's own index hide nothing.
    work.git(&["update-index", "--assume-unchanged", "hidden"]);
    work.git(&["update-index", "--skip-worktree", "skipped"]);
    work.write("hidden", "changed\n").write("skipped", "changed\n");
    fs::write(path("").join(std::ffi::OsStr::from_bytes(b"odd\n\xff name")), "odd").unwrap();
    work.write("--option", "x\n").write(":(top)magic", "x\n");
    work.ready();
    let listed =
        work.git(&["-c", "core.quotePath=true", "ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]);
    insta::assert_snapshot!(listed, @r#"
    100644 --option
    100644 :(top)magic
    100644 a.txt
    100644 directory
    100644 file/now-a-directory
    100644 hidden
    120000 linked
    100755 mode
    100644 moved/x
    100644 "odd\n\377 name"
    100644 skipped
    "#);
    assert_eq!(work.git(&["show", "HEAD:hidden", "HEAD:skipped"]), "changed\nchanged");
}

// I-48
#[test]
fn ignored_files_and_copied_ones_are_not_committed() {
    let scene = Scene::new();
    scene.made.write(".gitignore", "*.log\n").commit("rules");
    scene.made.write(".env", "KEY=1\n");
    let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
    scene.write("home/.gitconfig", &format!("{own}[core]\n\texcludesFile = ~/own-rules\n"));
    scene.write("home/own-rules", "*.own\n").write("repository/.git/info/exclude", "*.mine\n");
    let work = Work::with_copies(scene, &[".env"]);
    work.write("x.log", "").write("x.own", "").write("x.mine", "").write("new.txt", "new\n");
    assert_eq!(work.ready().files, [Path::new("new.txt")]);
}

// The rules from before the agent apply.
#[test]
fn rules_that_an_agent_puts_into_the_repository_hide_nothing() {
    let work = Work::new();
    work.scene.write("repository/.git/info/exclude", "*.txt\n");
    work.write("new.txt", "new\n");
    assert_eq!(work.ready().files, [Path::new("new.txt")]);
}

// I-47
#[test]
fn an_agent_on_another_branch_has_its_work_rescued() {
    let work = Work::new();
    work.git(&["switch", "--quiet", "-c", "mine"]);
    work.write("a.txt", "two\n").git(&["commit", "--quiet", "--all", "-m", "elsewhere"]);
    let elsewhere = work.git(&["rev-parse", "HEAD"]);
    work.write("b.txt", "left\n");
    let (said, rescued) = problem(&work);
    insta::assert_snapshot!(said, @"branch-changed: the worktree is on branch `mine` instead of its own branch");
    let rescued = rescued.unwrap();
    insta::assert_snapshot!(rescued.hint().unwrap(), @"git worktree add DIR refs/saihai/rescue/issue-7/1");
    let reference = rescued.reference.unwrap();
    work.git(&["merge-base", "--is-ancestor", &elsewhere, &reference]);
    assert_eq!(work.git(&["show", &format!("{reference}:b.txt")]), "left");
    assert_eq!(work.git(&["rev-parse", "feature/issue-7"]), work.base.commit);
    work.git(&["switch", "--quiet", "--detach"]);
    insta::assert_snapshot!(problem(&work).0, @"branch-changed: the worktree is on no branch instead of its own branch");
}

// I-47
#[test]
fn a_rewritten_history_is_not_delivered_and_rescued() {
    let scene = Scene::new();
    scene.made.write("a.txt", "two\n").commit("second");
    let work = Work::on(scene);
    work.git(&["reset", "--quiet", "--soft", "HEAD^"]);
    work.git(&["commit", "--quiet", "-m", "instead"]);
    let tip = work.git(&["rev-parse", "HEAD"]);
    let (said, rescued) = problem(&work);
    assert_eq!(said, format!("history-rewritten: the branch no longer descends from {}", work.base.commit));
    work.git(&["merge-base", "--is-ancestor", &tip, &rescued.unwrap().reference.unwrap()]);
}

// I-50
#[test]
fn another_repository_among_the_files_is_not_delivered() {
    let work = Work::new();
    work.git(&["init", "--quiet", "vendor/thing"]);
    work.write("vendor/thing/x", "x\n").write("b.txt", "b\n");
    let expected = "embedded-repository: the files contain another repository: `vendor/thing/`";
    assert_eq!(problem(&work).0, expected);
    // Also if the agent has already staged it as a gitlink, which git accepts.
    git(&work.worktree.path().join("vendor/thing"), &["add", "--all"]);
    git(&work.worktree.path().join("vendor/thing"), &["commit", "--quiet", "-m", "inner"]);
    work.git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "-m", "with a pointer"]);
    let expected = "embedded-repository: the files contain another repository: `vendor/thing`";
    assert_eq!(problem(&work).0, expected);
    assert_eq!(fs::read_to_string(work.worktree.path().join("vendor/thing/x")).unwrap(), "x\n");
    // An address in `.gitmodules` does not prove that the files are available.
    work.write(
        ".gitmodules",
        "[submodule \"thing\"]\n\tpath = vendor/thing\n\turl = https://example.com/thing\n",
    );
    let expected = "embedded-repository: the files contain another repository: `vendor/thing`; only a person can add a submodule: merge a base that has it into the branch, or remove it from the branch, then `saihai work --retry`";
    assert_eq!(problem(&work).0, expected);
    assert!(work.repository.embeds(&work.worktree, &work.base, &[]).unwrap());
    assert_eq!(fs::read_to_string(work.worktree.path().join("vendor/thing/x")).unwrap(), "x\n");
}

// I-50: a submodule of the base is known, also at another path or another commit.
#[test]
fn a_submodule_of_the_base_can_be_moved_and_set_to_another_commit() {
    let (scene, inner) = (Scene::new(), Scene::new());
    scene.git(&["submodule", "--quiet", "add", &inner.made.root().display().to_string(), "sub"]);
    scene.made.commit("with a submodule");
    let work = Work::on(scene);
    work.git(&["mv", "sub", "lib"]);
    work.git(&["commit", "--quiet", "--message", "moved"]);
    assert_eq!(work.ready().files, [".gitmodules", "lib", "sub"].map(Path::new));
    assert!(!work.repository.embeds(&work.worktree, &work.base, &[]).unwrap());
    let scene = Scene::new();
    scene.git(&["submodule", "--quiet", "add", &inner.made.root().display().to_string(), "sub"]);
    scene.made.commit("with a submodule");
    let work = Work::on(scene);
    let newer = work.git(&["rev-parse", "HEAD"]);
    work.git(&["update-index", "--cacheinfo", &format!("160000,{newer},sub")]);
    work.git(&["commit", "--quiet", "--message", "newer"]);
    assert_eq!(work.ready().files, [Path::new("sub")]);
}

// Git refuses the form of a file until a person changes it. The message names the file and the fix.
#[test]
fn a_file_in_a_form_that_git_does_not_take_is_named_and_waits_for_a_person() {
    let check = |attributes: &str, settings: &str, content: &[u8], expected: &str| {
        let scene = Scene::new();
        let own = fs::read_to_string(scene.beside("home/.gitconfig")).unwrap();
        scene.write("home/.gitconfig", &format!("{own}{settings}"));
        let work = Work::on(scene);
        work.write(".gitattributes", attributes);
        let file = work.worktree.path().join("b.txt");
        fs::write(&file, content).unwrap();
        let error = work.try_finalize(&[]).unwrap_err();
        assert_eq!(format!("{error}; {}", error.remedy().unwrap()), expected);
        assert_eq!(error.lasts(), RepositoryErrorDuration::UntilFixed);
        assert_eq!(fs::read(&file).unwrap(), content);
        // Once fixed, it is delivered.
        fs::write(&file, "").unwrap();
        assert!(work.ready().files.contains(&PathBuf::from("b.txt")));
    };
    let encoding = "write the file in the encoding that `working-tree-encoding` in `.gitattributes` names, or correct that line";
    check(
        "*.txt working-tree-encoding=UTF-16LE\n",
        "",
        b"odd",
        &format!(
            "a file of the worktree cannot be committed: failed to encode 'b.txt' from UTF-16LE to UTF-8; {encoding}"
        ),
    );
    check(
        "*.txt working-tree-encoding=UTF-16\n",
        "",
        b"even",
        &format!(
            "a file of the worktree cannot be committed: BOM is required in 'b.txt' if encoded as UTF-16; {encoding}"
        ),
    );
    let ends =
        "give the file the line ends that git would, or let git change them: `git config core.safecrlf warn`";
    check(
        "",
        "[core]\n\tautocrlf = input\n\tsafecrlf = true\n",
        b"one\r\ntwo\n",
        &format!("a file of the worktree cannot be committed: CRLF would be replaced by LF in b.txt; {ends}"),
    );
}

// I-50
#[test]
fn a_large_file_is_not_delivered_even_if_it_is_gone_again() {
    let work = Work::new();
    let large = fs::File::create(work.worktree.path().join("large")).unwrap();
    large.set_len(50_000_000).unwrap();
    work.git(&["add", "large"]);
    work.git(&["commit", "--quiet", "-m", "large"]);
    work.ready();
    large.set_len(50_000_001).unwrap();
    work.git(&["add", "large"]);
    work.git(&["commit", "--quiet", "-m", "larger"]);
    work.git(&["rm", "--quiet", "large"]);
    work.git(&["commit", "--quiet", "-m", "gone"]);
    insta::assert_snapshot!(problem(&work).0, @"large-file: `large` has 50000001 bytes, more than 50 MB");
}

// I-50
#[test]
fn a_secret_is_not_delivered_wherever_it_is() {
    let secret = ["", "correct-horse-battery"];
    let found = |spoil: &dyn Fn(&Work)| {
        let work = Work::new();
        work.write("clean.txt", "correct-horse\n");
        spoil(&work);
        let tip = work.git(&["rev-parse", "HEAD"]);
        let (said, _) = problem_of(work.finalize_without(&secret));
        assert_eq!(work.git(&["rev-parse", "HEAD"]), tip);
        said.replace(&tip, "TIP")
    };
    let in_a_file = found(&|work| {
        work.write("deep/b.txt", "x=correct-horse-battery\n");
    });
    let in_a_name = found(&|work| {
        work.write("correct-horse-battery", "");
    });
    let in_a_message = found(&|work| {
        work.git(&["commit", "--quiet", "--allow-empty", "-m", "uses correct-horse-battery"]);
    });
    insta::assert_snapshot!(format!("{in_a_file}\n{in_a_name}\n{in_a_message}"), @r"
    secret: found a secret in `deep/b.txt`
    secret: found a secret in the name of a file in `/`
    secret: found a secret in the message of commit TIP
    ");
    let work = Work::new();
    work.write("clean.txt", "correct-horse\n");
    assert!(matches!(work.finalize_without(&secret), CommitWorkOutcome::Ready(_)));
}

// The secret has already left the machine, and this work does not add it.
#[test]
fn what_the_base_holds_is_not_held_against_the_work() {
    let scene = Scene::new();
    scene
        .made
        .write("deep/b.txt", "x=correct-horse-battery\n")
        .commit("careless")
        .write("c", "")
        .commit("later");
    let work = Work::on(scene);
    work.write("deep/new.txt", "new\n");
    assert!(matches!(work.finalize_without(&["correct-horse-battery"]), CommitWorkOutcome::Ready(_)));
}

#[test]
fn without_its_lock_nothing_is_committed() {
    let work = Work::new();
    work.write("a.txt", "two\n");
    fs::remove_file(work.scene.beside("repository/.git/saihai/issue-7.lock")).unwrap();
    let finalizing = CommitWorkRequest {
        worktree: &work.worktree,
        base: &work.base,
        title: "x",
        run: "a-run",
        copied: &[],
        secrets: &[],
    };
    let finalized = work.repository.finalize(finalizing, &work.lock);
    assert!(matches!(finalized, Err(RepositoryError::LockLost { .. })), "{finalized:?}");
    assert_eq!(work.git(&["rev-parse", "HEAD"]), work.base.commit);
}

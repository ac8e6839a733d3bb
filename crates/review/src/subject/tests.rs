//! Subjects of real repositories and directories.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use saihai_model::Subject;

use super::*;
use saihai_config::DiskSource;
use saihai_git::testing::Repository;

use crate::revision::{RevisionSource, file_at_revision};

fn at_revision(repository: &Repository, revision: &str) -> Result<RevisionSource<DiskSource>, SubjectError> {
    RevisionSource::of(DiskSource, repository.root(), revision)
}

fn found() -> ReviewBase {
    ReviewBase::Found { remote: "origin".into() }
}

fn shown(subject: &Subject) -> String {
    let lines = subject.files.iter().map(|file| {
        let mut line = file.path.clone();
        line.extend(file.previous.iter().map(|old| format!(" (was {old})")));
        line.extend(file.left_out.iter().map(|why| format!(" [{}]", why.name())));
        if file.lossy {
            line.push_str(" lossy");
        }
        let changed = file.text.lines().filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        });
        changed.for_each(|change| line.push_str(&format!("\n  {change}")));
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

// Issue 25: ranges and single commits, whatever the working tree holds
#[test]
fn a_range_and_a_commit_are_what_their_commits_change() {
    let repository = Repository::new();
    repository.write("a", "1\n").commit("first");
    repository.git(&["switch", "--quiet", "--create", "topic"]);
    repository.write("b", "2\n").commit("second");
    repository.write("c", "3\n").commit("third");
    repository.git(&["switch", "--quiet", "main"]);
    repository.write("a", "1\nx\n").commit("elsewhere");
    repository.write("a", "edited\n").write("new", "untracked\n");
    let root = repository.root();
    let range = changes_of_range(root, "main", "topic").unwrap();
    assert_eq!(shown(&range.subject), "b\n  +2\nc\n  +3");
    assert_eq!(Git::open(root).unwrap().unwrap().commit("topic").unwrap(), Some(range.head));
    let commit = changes_of_commit(root, "topic").unwrap();
    assert_eq!(shown(&commit.subject), "c\n  +3");
    let SubjectMode::Changes { base, merge_base, head, .. } = commit.subject.mode else { panic!("changes") };
    assert_eq!((base.as_str(), merge_base.is_some(), head), ("topic^", true, Some(commit.head)));
    let first = changes_of_commit(root, "main~1").unwrap();
    assert_eq!(shown(&first.subject), "a\n  +1");
    let refused = |base: &str, head: &str| changes_of_range(root, base, head).unwrap_err().to_string();
    assert_eq!(refused("main", "nowhere"), "the revision `nowhere` does not exist here");
    repository.git(&["switch", "--quiet", "--force", "--orphan", "alone"]);
    repository.write("z", "9\n").commit("alone");
    assert_eq!(refused("topic", "alone"), "`topic` and `alone` have no common history here");
    assert!(changes_of_commit(root, "nowhere").is_err());
}

// R-28, R-33
#[test]
fn commits_edits_and_new_files_count_from_where_the_branch_left_its_base() {
    let repository = Repository::new();
    repository.write("kept", "same\n").write("old name", "a\nb\nc\nd\n").write("gone", "x\n");
    repository.write(".gitignore", "secret.env\n").commit("first");
    repository.git(&["switch", "--quiet", "--create", "topic"]);
    repository.write("committed", "1\n").commit("second");
    repository.git(&["mv", "old name", "new name"]);
    repository.write("staged", "2\n").git(&["add", "staged"]);
    repository.write("kept", "edited\n").write("new.py", "no end").write("empty", "");
    repository.write("secret.env", "KEY=1\n").write(".saihai/runs/x/journal.ndjson", "{}\n");
    fs::remove_file(repository.root().join("gone")).unwrap();
    fs::write(repository.root().join("latin"), b"caf\xe9\n").unwrap();
    fs::write(repository.root().join("logo.png"), b"\x89PNG\0\0").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", repository.root().join("link")).unwrap();
    // Commits on the base in the meantime are not ours.
    repository.git(&["branch", "--quiet", "-f", "elsewhere", "main"]);
    let subject = changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap();
    insta::assert_snapshot!(shown(&subject), @"
    committed
      +1
    empty
    gone
      -x
    kept
      -same
      +edited
    latin lossy
      +caf�
    link
      +/etc/passwd
    logo.png [binary]
    new name (was old name)
    new.py
      +no end
    staged
      +2
    ");
    let without = changes(repository.root(), &found(), UntrackedFiles::LeftOut).unwrap();
    let paths: Vec<&str> = without.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["committed", "gone", "kept", "new name", "staged"]);
}

// R-28
#[test]
fn the_base_is_the_remotes_branch_then_main_then_master() {
    let repository = Repository::new();
    repository.write("a", "1\n").commit("first");
    let base = |repository: &Repository| match changes(repository.root(), &found(), UntrackedFiles::Counted) {
        Ok(Subject { mode: saihai_model::SubjectMode::Changes { base, .. }, .. }) => base,
        other => panic!("{other:?}"),
    };
    assert_eq!(base(&repository), "main");
    repository.git(&["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
    repository.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    assert_eq!(base(&repository), "origin/trunk");
    let other = Repository::new();
    other.write("a", "1\n").commit("first").git(&["branch", "--quiet", "-m", "master"]);
    assert_eq!(base(&other), "master");
    other.git(&["branch", "--quiet", "-m", "own"]);
    let refused = changes(other.root(), &found(), UntrackedFiles::Counted).unwrap_err();
    assert!(matches!(refused, SubjectError::NoBase), "{refused}");
}

// Tags arrive with every fetch, and git prefers them
#[test]
fn a_tag_called_like_the_base_hides_nothing() {
    let repository = Repository::new();
    repository.write("a", "1\n").commit("first");
    repository.git(&["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
    repository.git(&["switch", "--quiet", "--create", "topic"]);
    repository.write("a", "2\n").commit("second");
    for tag in ["main", "origin/trunk", "refs/heads/main", "HEAD", "topic"] {
        repository.git(&["tag", tag, "HEAD"]);
    }
    let seen = |base: &ReviewBase| {
        changes(repository.root(), base, UntrackedFiles::Counted).map(|subject| subject.files.len())
    };
    assert_eq!(seen(&found()).unwrap(), 1, "main is the branch");
    repository.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    assert_eq!(seen(&found()).unwrap(), 1, "origin/trunk is the branch of the remote");
    assert_eq!(seen(&ReviewBase::Named("refs/heads/main".into())).unwrap(), 1);
    assert_eq!(seen(&ReviewBase::Named("HEAD~1".into())).unwrap(), 1);
    let refused = |name: &str| seen(&ReviewBase::Named(name.to_owned())).unwrap_err().to_string();
    assert_eq!(refused("main"), "`main` could mean `refs/heads/main` or `refs/tags/main`");
    assert_eq!(refused("main^{}~0"), "`main^{}~0` could mean `refs/heads/main` or `refs/tags/main`");
    let of_remote = "`origin/trunk` could mean `refs/remotes/origin/trunk` or `refs/tags/origin/trunk`";
    assert_eq!(refused("origin/trunk"), of_remote);
    let usual = seen(&ReviewBase::Usual("origin/trunk".into())).unwrap_err();
    assert_eq!(usual.to_string(), of_remote);
    let source = at_revision(&repository, "origin/trunk").unwrap_err();
    assert_eq!(source.to_string(), of_remote);
    let git = Git::open(repository.root()).unwrap().unwrap();
    assert_eq!(git.branch().unwrap().as_deref(), Some("topic"));
}

#[test]
fn a_bare_repository_has_no_files_to_review() {
    let repository = Repository::new();
    repository.write("a", "1\n").commit("first").git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let inside = [repository.root().join("bare.git"), repository.root().join(".git")];
    for root in inside {
        let refused = changes(&root, &found(), UntrackedFiles::Counted).unwrap_err().to_string();
        assert!(refused.contains("is a bare repository, or the inside of one"), "{refused}");
    }
    // A checkout of a bare repository has ordinary files.
    let bare = repository.root().join("bare.git");
    let out = std::process::Command::new("git")
        .args(["worktree", "add", "--quiet", "../tree"])
        .current_dir(&bare)
        .status()
        .unwrap();
    assert!(out.success());
    assert!(
        changes(&repository.root().join("tree"), &found(), UntrackedFiles::Counted).unwrap().files.is_empty()
    );
}

// R-69
#[test]
fn links_are_followed_inside_of_the_commit_that_decides() {
    let repository = Repository::new();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, repository.root().join(name)).unwrap();
    };
    repository.write("lib/g.toml", "name = 1\n").write(".saihai/agents/README", "x\n");
    link("../../lib/g.toml", ".saihai/agents/guard.toml");
    link("/nowhere", ".saihai/agents/notes");
    repository.commit("first").write("lib/g.toml", "name = 2\n");
    let source = at_revision(&repository, "HEAD").unwrap();
    let read = |source: &RevisionSource<DiskSource>| {
        saihai_config::Source::read(source, &repository.root().join(".saihai/agents/guard.toml"), 100)
    };
    assert_eq!(read(&source).unwrap(), b"name = 1\n");
    let file = |path: &str| file_at_revision(repository.root(), "HEAD", path);
    assert_eq!(file("lib/g.toml").unwrap().as_deref(), Some(&b"name = 1\n"[..]));
    assert_eq!(file("lib/h.toml").unwrap(), None);
    assert!(matches!(file("lib").unwrap_err(), SubjectError::Elsewhere { .. }));
    link("/etc/hostname", ".saihai/agents/out.toml");
    repository.commit("second");
    let refused = at_revision(&repository, "HEAD").unwrap_err().to_string();
    assert_eq!(refused, "`.saihai/agents/out.toml` is a link in `HEAD`: its target is not read from there");
    let tip = repository.root().join(".saihai");
    fs::remove_dir_all(&tip).unwrap();
    let commit = Git::open(repository.root()).unwrap().unwrap().commit("HEAD").unwrap().unwrap();
    repository.git(&["rm", "--quiet", "-r", "--cached", ".saihai"]);
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},.saihai")]);
    repository.git(&["commit", "--quiet", "--message", "third"]);
    let refused = at_revision(&repository, "HEAD").unwrap_err().to_string();
    assert_eq!(refused, "`.saihai` is a submodule in `HEAD`: its target is not read from there");
}

// R-28, R-32: case 29
#[test]
fn an_unchanged_tree_is_an_empty_subject_and_no_commit_yet_is_all_new() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    let subject = changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap();
    insta::assert_snapshot!(shown(&subject), @"
    a
      +1
    ");
    repository.commit("first");
    let subject = changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap();
    assert!(subject.files.is_empty());
}

// The usual base of the project does not exist before the first commit
#[test]
fn before_the_first_commit_the_usual_base_is_not_missed() {
    let repository = Repository::new();
    repository.write("a", "1\n");
    let usual = ReviewBase::Usual("develop".into());
    insta::assert_snapshot!(shown(&changes(repository.root(), &usual, UntrackedFiles::Counted).unwrap()), @"
    a
      +1
    ");
    let named = changes(repository.root(), &ReviewBase::Named("develop".into()), UntrackedFiles::Counted)
        .unwrap_err();
    assert_eq!(named.to_string(), "the revision `develop` does not exist here");
    repository.commit("first");
    let missed = changes(repository.root(), &usual, UntrackedFiles::Counted).unwrap_err();
    assert_eq!(missed.to_string(), "the revision `develop` does not exist here");
}

// A file that is too large is a gap and a binary file is none, tracked or not
#[test]
fn a_text_that_is_too_large_is_not_taken_for_binary() {
    let repository = Repository::new();
    let large = "one line of many\n".repeat(1_300_000);
    repository.write("tracked", &large).write("gone", &large).write("staged", "1\n").commit("first");
    repository.write("tracked", &format!("{large}more\n")).write("new", &large);
    repository.write("staged", &large).git(&["add", "staged"]);
    fs::remove_file(repository.root().join("gone")).unwrap();
    fs::write(repository.root().join("film"), [vec![0; 16], large.into_bytes()].concat()).unwrap();
    let subject =
        changes(repository.root(), &ReviewBase::Named("HEAD".into()), UntrackedFiles::Counted).unwrap();
    insta::assert_snapshot!(shown(&subject), @"
    film [binary]
    gone [too-large]
    new [too-large]
    staged [too-large]
    tracked [too-large]
    ");
}

// An attribute may mark a binary file as text. A NUL after the first 8 KiB does not make a file binary
#[test]
fn what_is_not_text_by_its_content_is_left_out_whatever_its_attributes_say() {
    let repository = Repository::new();
    let far = format!("{}\0\n", "a line of text\n".repeat(700));
    repository.write(".gitattributes", "*.bin diff\n*.txt diff\n");
    repository.write("near.bin", "1\n\0\n").write("away.bin", &format!("\0\n{far}")).write("far.bin", &far);
    repository.write("was.bin", "\0\n").write("plain.txt", "1\n").commit("first");
    repository.write("near.bin", "2\n\0\n").write("away.bin", &format!("\0\n{far}more\n"));
    repository.write("far.bin", &format!("{far}more\n")).write("was.bin", "1\n").write("plain.txt", "2\n");
    let subject =
        changes(repository.root(), &ReviewBase::Named("HEAD".into()), UntrackedFiles::Counted).unwrap();
    insta::assert_snapshot!(shown(&subject), @"
    away.bin [binary]
    far.bin
      +more
    near.bin [binary]
    plain.txt
      -1
      +2
    was.bin [binary]
    ");
}

// R-33: a change includes its attributes and could hide its content behind them
#[test]
fn what_is_text_by_its_content_is_compared_whatever_its_attributes_say() {
    let repository = Repository::new();
    let moved = "1\n2\n3\n4\n5\n6\n7\n8\n";
    repository.write("kept.py", "1\n").write("gone.py", "x\n").write("old.py", moved).write("own.txt", "1\n");
    repository.write("logo.png", "\0 1\n").write("large.py", "1\n").commit("first");
    repository.git(&["switch", "--quiet", "--create", "topic"]);
    repository.write(".gitattributes", "[attr]quiet -diff\n*.py binary\n*.sh quiet\n*.png -diff\n");
    repository.write(".git/info/attributes", "*.txt -diff\n");
    repository.git(&["mv", "old.py", "new.py"]);
    repository.write("new.py", &format!("{moved}9\n")).write("kept.py", "2\n").write("own.txt", "2\n");
    repository.write("bad.sh", "run\n").write("logo.png", "\0 2\n");
    repository.write("large.py", &"one line of many\n".repeat(1_300_000));
    fs::remove_file(repository.root().join("gone.py")).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.py");
    fs::write(repository.root().join(name), "x = 1\n").unwrap();
    repository.git(&["add", "--all"]);
    let directory = changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap();
    insta::assert_snapshot!(shown(&directory), @"
    .gitattributes
      +[attr]quiet -diff
      +*.py binary
      +*.sh quiet
      +*.png -diff
    bad.sh
      +run
    caf�.py lossy
      +x = 1
    gone.py
      -x
    kept.py
      -1
      +2
    large.py [too-large]
    logo.png [binary]
    new.py (was old.py)
      +9
    own.txt
      -1
      +2
    ");
    repository.commit("second");
    let committed = proposed(repository.root(), 1, ("main", "main"), "topic").unwrap();
    assert_eq!(shown(&committed), shown(&directory));
}

// Names are bytes
#[cfg(target_os = "linux")]
#[test]
fn a_new_file_whose_name_is_not_utf_8_is_reviewed() {
    let repository = Repository::new();
    repository.write("a", "1\n").commit("first");
    fs::write(repository.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9.py")), "x = 1\n").unwrap();
    insta::assert_snapshot!(shown(&changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap()), @"
    caf�.py
      +x = 1
    ");
}

// Git decides what is ignored, and it never ignores tracked files
#[test]
fn whole_directories_are_what_git_has_and_would_take() {
    let repository = Repository::new();
    repository.write("src/a", "1\n").write("src/kept.log", "1\n").git(&["add", "--force", "."]);
    repository.write(".gitignore", "*.log\n").write(".ignore", "a\n").write("src/b.log", "1\n");
    repository.write("src/new", "1\n").write("src/gone", "1\n").git(&["add", "src/gone"]);
    fs::remove_file(repository.root().join("src/gone")).unwrap();
    let root = repository.root();
    let paths = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let subject = whole_files(root, root, &names).unwrap();
        subject.files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(&["src"]), ["src/a", "src/kept.log", "src/new"]);
    assert_eq!(paths(&["**/*.log"]), ["src/kept.log"]);
    assert_eq!(paths(&["src/b.log"]), ["src/b.log"], "who is named is meant");
    let outside = whole_files(&root.join("src"), root, &[".".to_owned()]).unwrap_err();
    assert_eq!(outside.to_string(), "`.` is outside the project");
}

// R-28: case 29
#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let repository = Repository::new();
    repository.write("a", "1\n").commit("first");
    let refusal = |base: &str| {
        changes(repository.root(), &ReviewBase::Named(base.into()), UntrackedFiles::Counted)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refusal("nowhere"), "the revision `nowhere` does not exist here");
    assert_eq!(refusal("--output=x"), "the revision `--output=x` does not exist here");
    repository.git(&["switch", "--quiet", "--orphan", "alone"]);
    repository.write("b", "1\n").commit("alone");
    assert_eq!(refusal("main"), "`main` and the current commit have no common history here");
    let nowhere = tempfile::tempdir().unwrap();
    let refused = changes(nowhere.path(), &found(), UntrackedFiles::Counted).unwrap_err();
    assert!(matches!(refused, SubjectError::NoRepository(_)), "{refused}");
}

// R-28
#[test]
fn whole_files_are_named_found_below_directories_or_taken_by_patterns() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let write = |path: &str, text: &[u8]| {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("src/a.py", b"+1\n");
    write("src/deep/b.py", b"+2\n");
    write("src/out/c.py", b"+3\n");
    write("src/.gitignore", b"out\n");
    write("logo.png", b"\0");
    write("inner/d.py", b"+4\n");
    let check = |current: &str, names: &[&str], expected: &str| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let subject = whole_files(root, &root.join(current), &names);
        let text = subject.map_or_else(|error| format!("refused: {error}"), |subject| shown(&subject));
        assert_eq!(text, expected, "{names:?}");
    };
    check("", &["src/a.py", "logo.png"], "logo.png [binary]\nsrc/a.py\n  +1");
    check("", &["src"], "src/.gitignore\nsrc/a.py\n  +1\nsrc/deep/b.py\n  +2");
    check("", &["src/**/*.py"], "src/a.py\n  +1\nsrc/deep/b.py\n  +2");
    check("src", &["a.py", "./a.py", "../inner"], "inner/d.py\n  +4\nsrc/a.py\n  +1");
    check("", &["src/a.py", "x", "*.rb"], "refused: `x`, `*.rb` do not exist");
    check("", &["/etc/hostname"], "refused: `/etc/hostname` is outside the project");
    std::os::unix::fs::symlink("/etc/hostname", root.join("link")).unwrap();
    check("", &["link"], "refused: `link` is outside the project");
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    let refused = whole_files(root, root, &["pipe".into()]).unwrap_err().to_string();
    assert!(refused.ends_with("it is not an ordinary file"), "{refused}");
    let missing = whole_files(Path::new("/nowhere"), root, &[]).unwrap_err();
    assert!(matches!(missing, SubjectError::Io { .. }));
}

// R-38, R-47: a report shows only files of the project, regardless of links
#[test]
fn a_deleted_file_and_one_behind_a_link_have_no_whole_text() {
    let repository = Repository::new();
    repository.write("src/config", "old\n").write("env", "KEY=old\n").write("kept", "1\n").commit("first");
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("config"), "secret\n").unwrap();
    repository.git(&["switch", "--quiet", "--create", "topic"]);
    repository.git(&["rm", "--quiet", "-r", "src"]).git(&["rm", "--quiet", "--cached", "env"]);
    std::os::unix::fs::symlink(elsewhere.path(), repository.root().join("src")).unwrap();
    repository.write(".gitignore", "env\n").write("kept", "2\n").commit("second");
    let subject = changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap();
    let paths: Vec<&str> = subject.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [".gitignore", "env", "kept", "src", "src/config"]);
    let kept = frozen(repository.root(), &subject);
    assert_eq!(kept["texts"], serde_json::json!({".gitignore": "env\n", "kept": "2\n"}));
    // Reading any of them by name fails too.
    let whole = |path: &str| whole(repository.root(), Path::new(path));
    assert_eq!(
        ["src/config", ".git/config", "../x", "kept"].map(whole),
        [None, None, None, Some("2\n".into())]
    );
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_named() {
    let repository = Repository::new();
    repository.write("a.py", "x = 1\n").commit("first");
    fs::remove_file(repository.root().join("a.py")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(repository.root().join("a.py")).status().unwrap();
    assert!(pipe.success());
    let refused =
        changes(repository.root(), &ReviewBase::Named("HEAD".into()), UntrackedFiles::Counted).unwrap_err();
    assert_eq!(refused.to_string(), "`a.py` is a pipe, a socket or a device, but git tracks a file there");
}

// R-28: embedded repositories are listed, or refused if named
#[test]
fn other_repositories_among_whole_files_are_left_out_and_listed() {
    let repository = Repository::new();
    repository.write("k.py", "1\n").write("lib/a.py", "1\n").commit("first");
    repository
        .write("nested/b.py", "1\n")
        .write("nested/src/b.py", "1\n")
        .git(&["init", "--quiet", "nested"]);
    let root = repository.root();
    let whole = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        whole_files(root, root, &names)
    };
    let paths = |names: &[&str]| {
        let files = whole(names).unwrap().files.into_iter();
        let left_out = |why: saihai_model::SubjectOmission| format!(" [{}]", why.name());
        files.map(|file| file.path + &file.left_out.map(left_out).unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&["."]), ["k.py", "lib/a.py", "nested [submodule]"]);
    assert_eq!(paths(&["**/*.py"]), ["k.py", "lib/a.py", "nested [submodule]"]);
    assert_eq!(paths(&["*.py"]), ["k.py"]);
    assert_eq!(paths(&["lib"]), ["lib/a.py"]);
    for named in ["nested", "nested/src"] {
        let refused = whole(&[named]).unwrap_err().to_string();
        assert_eq!(refused, "`nested` is another repository", "{named}");
    }
    // A submodule whose files were not fetched.
    repository.git(&["-C", "nested", "add", "--all"]);
    repository.git(&["-C", "nested", "commit", "--quiet", "--message", "inner"]).commit("second");
    fs::remove_dir_all(root.join("nested")).unwrap();
    fs::create_dir(root.join("nested")).unwrap();
    assert_eq!(paths(&["."]), ["k.py", "lib/a.py", "nested [submodule]"]);
    assert_eq!(whole(&["nested"]).unwrap_err().to_string(), "`nested` is another repository");
}

// Issue 25: patterns search what `git diff` shows.
#[test]
fn a_diff_has_short_hashes_and_readable_paths() {
    let repository = Repository::new();
    repository.write("試験.py", "a\n").commit("first");
    repository.git(&["switch", "--quiet", "--create", "topic"]);
    repository.write("試験.py", "b\n");
    let subject = changes(repository.root(), &found(), UntrackedFiles::Counted).unwrap();
    insta::assert_snapshot!(subject.files[0].text, @"
    diff --git a/試験.py b/試験.py
    index 7898192..6178079 100644
    --- a/試験.py
    +++ b/試験.py
    @@ -1 +1 @@
    -a
    +b
    ");
}

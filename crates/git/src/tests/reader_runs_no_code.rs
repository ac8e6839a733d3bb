//! Repositories that try to make us run programs.

use crate::diff::ChangedFile;
use crate::diff::FileDiff;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::git_reader::*;
use crate::testing::Repository;

/// A repository with one change, and a program that leaves a trace when it runs.
struct Trap {
    repository: Repository,
    program: String,
    trace: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let repository = Repository::new();
        repository.write("a.txt", "one\n").commit("first");
        repository.write("a.txt", "two\n");
        let trace = repository.root().join("../trace");
        let program = repository.root().join("../trap");
        fs::write(&program, format!("#!/bin/sh\ntouch '{}'\ncat\n", trace.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { program: program.display().to_string(), repository, trace }
    }

    /// Runs the git commands of a review.
    fn look(&self) -> Vec<ChangedFile> {
        let git = Git::open(self.repository.root()).unwrap().unwrap();
        let head = git.commit("HEAD").unwrap().unwrap();
        git.merge_base(&head, &head).unwrap();
        git.remote_default("origin").unwrap();
        git.untracked().unwrap();
        git.changed(&[&head]).unwrap()
    }

    #[track_caller]
    fn check(&self) {
        let changed = self.look();
        assert!(!self.trace.exists(), "something ran");
        let paths: Vec<&str> = changed.iter().map(|one| one.path.as_str()).collect();
        assert!(paths.contains(&"a.txt"), "{paths:?}");
    }

    fn configure(&self, key: &str) {
        self.repository.git(&["config", key, &self.program]);
    }
}

//
#[test]
fn a_file_system_monitor_does_not_run() {
    let trap = Trap::new();
    trap.configure("core.fsmonitor");
    trap.check();
}

//
#[test]
fn a_pager_does_not_run() {
    let trap = Trap::new();
    trap.configure("core.pager");
    trap.configure("pager.diff");
    trap.check();
}

//
#[test]
fn an_external_diff_does_not_run() {
    let trap = Trap::new();
    trap.configure("diff.external");
    trap.configure("diff.own.command");
    trap.repository.write(".gitattributes", "*.txt diff=own\n");
    trap.check();
}

//
#[test]
fn a_text_conversion_does_not_run() {
    let trap = Trap::new();
    trap.configure("diff.own.textconv");
    trap.repository.write(".gitattributes", "*.txt diff=own\n");
    trap.check();
}

//
#[test]
fn a_filter_that_only_the_repository_describes_does_not_run() {
    let trap = Trap::new();
    for kind in ["clean", "smudge", "process"] {
        trap.configure(&format!("filter.own.{kind}"));
    }
    trap.repository.git(&["config", "filter.own.required", "true"]);
    trap.repository.write(".gitattributes", "*.txt filter=own\n");
    trap.check();
    // The name of a filter may contain the end of a key, or bytes that are not UTF-8.
    for name in [&b"a=b"[..], b"a.b=c", b"\xff"] {
        let trap = Trap::new();
        let program = trap.program.as_bytes();
        let described = [b"[filter \"", name, b"\"]\n\tclean = ", program, b"\n"].concat();
        let path = trap.repository.root().join(".git/config");
        let config = [fs::read(&path).unwrap(), described].concat();
        fs::write(&path, config).unwrap();
        let attributes = [b"*.txt filter=", name, b"\n"].concat();
        fs::write(trap.repository.root().join(".gitattributes"), attributes).unwrap();
        trap.check();
    }
    // A filter may come from an included file.
    let trap = Trap::new();
    let included = format!("[filter \"own\"]\n\tclean = {}\n", trap.program);
    trap.repository.write(".git/more", &included);
    trap.repository.git(&["config", "include.path", "more"]);
    trap.repository.write(".gitattributes", "*.txt filter=own\n");
    trap.check();
}

//
#[test]
fn hooks_do_not_run() {
    let trap = Trap::new();
    for hook in ["post-index-change", "post-checkout", "fsmonitor-watchman"] {
        let path = trap.repository.root().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&trap.program, &path).unwrap();
    }
    trap.check();
}

//
#[test]
fn an_alias_does_not_replace_a_command() {
    let trap = Trap::new();
    trap.repository.git(&["config", "alias.diff", &format!("!{}", trap.program)]);
    trap.check();
}

//
#[test]
fn a_repository_cannot_say_that_its_files_lie_elsewhere() {
    let trap = Trap::new();
    trap.repository.git(&["config", "core.worktree", "/"]);
    trap.check();
}

//
#[test]
fn a_dirty_submodule_is_not_looked_into() {
    let trap = Trap::new();
    let inner = Repository::new();
    inner.write("x", "1\n").commit("inner");
    let from = inner.root().display().to_string();
    trap.repository.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
    trap.repository.commit("with a submodule");
    trap.repository.write("a.txt", "three\n").write("sub/x", "2\n");
    trap.repository.git(&["-C", "sub", "config", "core.fsmonitor", &trap.program]);
    trap.repository.git(&["-C", "sub", "config", "diff.external", &trap.program]);
    trap.check();
}

// the user's own diff settings have no effect either
#[test]
fn settings_of_diffs_change_nothing() {
    let trap = Trap::new();
    let plain = trap.look();
    let settings = [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.context", "0"),
        ("diff.renames", "false"),
        ("diff.algorithm", "histogram"),
        ("diff.colorMoved", "zebra"),
        ("diff.relative", "true"),
        ("diff.submodule", "log"),
        ("diff.suppressBlankEmpty", "true"),
        ("color.ui", "always"),
        ("core.quotePath", "false"),
        ("core.abbrev", "12"),
    ];
    for (key, value) in settings {
        trap.repository.git(&["config", key, value]);
    }
    assert_eq!(trap.look(), plain);
    let FileDiff::Text(text) = &plain[0].section else { panic!("{plain:?}") };
    let text = String::from_utf8_lossy(text);
    assert!(text.starts_with("diff --git a/a.txt b/a.txt\n") && text.ends_with("-one\n+two\n"), "{text}");
}

//
#[test]
fn looking_changes_nothing_in_the_repository() {
    let trap = Trap::new();
    let index = trap.repository.root().join(".git/index");
    let before = fs::read(&index).unwrap();
    trap.look();
    assert_eq!(fs::read(&index).unwrap(), before);
}

#[test]
fn what_is_no_revision_is_none() {
    let trap = Trap::new();
    let git = Git::open(trap.repository.root()).unwrap().unwrap();
    for none in ["", "nowhere", "--all", "-1", "HEAD:a.txt"] {
        assert_eq!(git.commit(none).unwrap(), None, "{none}");
    }
    assert!(git.commit("HEAD").unwrap().is_some());
    assert!(Git::open(Path::new("/")).unwrap().is_none());
}

// Opening a pipe waits for its other end.
#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let repository = Repository::new();
    repository.write("a.txt", "one\n").commit("first");
    let git = Git::open(repository.root()).unwrap().unwrap();
    let before = git.standing(&[]).unwrap();
    fs::remove_file(repository.root().join("a.txt")).unwrap();
    let made = Command::new("mkfifo").arg(repository.root().join("a.txt")).status();
    assert!(made.unwrap().success());
    let after = git.standing(&[]).unwrap();
    assert!(after.is_some() && after != before);
}

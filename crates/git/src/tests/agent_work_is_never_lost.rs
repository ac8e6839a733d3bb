//! All leftovers of an agent against all ways to remove its worktree: nothing is lost.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;

use crate::tests::*;

/// A leftover of an agent. It contains a unique text that must not be lost.
struct Leftover {
    name: &'static str,
    leave: fn(&Path, &str),
}

const LEFTOVERS: [Leftover; 33] = [
    Leftover { name: "modified", leave: |at, text| write(&at.join("a.txt"), text) },
    Leftover { name: "untracked", leave: |at, text| write(&at.join("new/er"), text) },
    Leftover {
        name: "staged",
        leave: |at, text| {
            write(&at.join("s"), text);
            git(at, &["add", "s"]);
        },
    },
    Leftover {
        name: "staged-and-gone",
        leave: |at, text| {
            write(&at.join("s"), text);
            git(at, &["add", "s"]);
            fs::remove_file(at.join("s")).unwrap();
        },
    },
    Leftover {
        name: "staged-in-a-split-index",
        leave: |at, text| {
            git(at, &["update-index", "--split-index"]);
            write(&at.join("s"), text);
            git(at, &["add", "s"]);
            fs::remove_file(at.join("s")).unwrap();
        },
    },
    Leftover {
        name: "hidden-by-a-rule-of-its-own",
        leave: |at, text| {
            write(&at.join(".gitignore"), "notes/\n");
            write(&at.join("notes/x"), text);
        },
    },
    Leftover {
        name: "marked-as-unchanged",
        leave: |at, text| {
            git(at, &["update-index", "--assume-unchanged", "a.txt"]);
            write(&at.join("a.txt"), text);
        },
    },
    Leftover {
        name: "marked-to-be-skipped",
        leave: |at, text| {
            git(at, &["update-index", "--skip-worktree", "a.txt"]);
            write(&at.join("a.txt"), text);
        },
    },
    Leftover { name: "binary", leave: |at, text| write(&at.join("b"), &format!("\0\u{1}{text}\0")) },
    Leftover { name: "large", leave: |at, text| write(&at.join("l"), &text.repeat(100_000)) },
    Leftover { name: "link", leave: |at, text| symlink(text, at.join("link")).unwrap() },
    Leftover { name: "line-break", leave: |at, text| write(&at.join("line\nbreak"), text) },
    Leftover {
        name: "no-utf-8",
        leave: |at, text| write(&at.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), text),
    },
    Leftover { name: "option", leave: |at, text| write(&at.join("--force"), text) },
    Leftover {
        name: "own-commit",
        leave: |at, text| {
            write(&at.join("a.txt"), text);
            git(at, &["commit", "--quiet", "--all", "-m", "own"]);
        },
    },
    Leftover {
        name: "amended-commit",
        leave: |at, text| {
            write(&at.join("a.txt"), text);
            git(at, &["commit", "--quiet", "--all", "-m", "own"]);
            write(&at.join("a.txt"), "other");
            git(at, &["commit", "--quiet", "--all", "--amend", "-m", "other"]);
        },
    },
    Leftover {
        name: "detached-commit",
        leave: |at, text| {
            git(at, &["switch", "--quiet", "--detach"]);
            write(&at.join("a.txt"), text);
            git(at, &["commit", "--quiet", "--all", "-m", "detached"]);
            git(at, &["switch", "--quiet", "-"]);
        },
    },
    Leftover {
        name: "stash",
        leave: |at, text| {
            write(&at.join("a.txt"), text);
            git(at, &["stash", "--quiet"]);
        },
    },
    Leftover {
        name: "other-branch",
        leave: |at, text| {
            git(at, &["switch", "--quiet", "-c", "other"]);
            write(&at.join("a.txt"), text);
        },
    },
    Leftover {
        name: "embedded-repository",
        leave: |at, text| {
            git(at, &["init", "--quiet", "inner"]);
            write(&at.join("inner/x"), text);
        },
    },
    Leftover {
        name: "repository-of-its-own",
        leave: |at, text| {
            fs::remove_file(at.join(".git")).unwrap();
            git(at, &["init", "--quiet"]);
            git(at, &["commit", "--quiet", "--allow-empty", "-m", "own"]);
            // Plain text, so that the search finds it.
            write(&at.join(".git/description"), text);
        },
    },
    Leftover {
        name: "beside-a-pipe",
        leave: |at, text| {
            fs::remove_file(at.join("a.txt")).unwrap();
            assert!(Command::new("mkfifo").arg(at.join("a.txt")).status().unwrap().success());
            write(&at.join("new"), text);
        },
    },
    Leftover {
        name: "mode",
        leave: |at, text| {
            write(&at.join("m"), text);
            fs::set_permissions(at.join("m"), fs::Permissions::from_mode(0o755)).unwrap();
        },
    },
    Leftover { name: "empty", leave: |at, text| write(&at.join(text), "") },
    Leftover {
        name: "deleted",
        leave: |at, text| {
            fs::remove_file(at.join("a.txt")).unwrap();
            write(&at.join("b"), text);
        },
    },
    Leftover {
        name: "case-twin",
        leave: |at, text| {
            write(&at.join("twin"), "other");
            write(&at.join("TWIN"), text);
        },
    },
    Leftover {
        name: "in-a-directory-that-nobody-may-read",
        leave: |at, text| {
            write(&at.join("s/w"), text);
            fs::set_permissions(at.join("s"), fs::Permissions::from_mode(0o000)).unwrap();
        },
    },
    Leftover {
        name: "too-deep-for-a-path",
        leave: |at, text| {
            let line = "n=0; while [ $n -lt 400 ]; do mkdir directory-$n && cd -P directory-$n || exit 1; n=$((n+1)); done";
            let line = format!("{line}; printf '%s' '{text}' > w");
            assert!(Command::new("sh").args(["-c", &line]).current_dir(at).status().unwrap().success());
        },
    },
    Leftover { name: "in-what-is-called-git", leave: |at, text| write(&at.join("s/.git/w"), text) },
    Leftover { name: "called-git", leave: |at, text| write(&at.join("s/.git"), text) },
    Leftover { name: "called-git-in-capitals", leave: |at, text| write(&at.join(".GIT/w"), text) },
    Leftover { name: "called-git-by-its-short-name", leave: |at, text| write(&at.join("git~1"), text) },
    Leftover {
        name: "repository-without-its-head",
        leave: |at, text| {
            git(at, &["init", "--quiet", "inner"]);
            // Plain text, so that the search finds it.
            write(&at.join("inner/.git/description"), text);
            fs::remove_file(at.join("inner/.git/HEAD")).unwrap();
        },
    },
];

/// Returns all texts in worktrees on disk or in objects that a ref holds.
fn found(scene: &Scene) -> BTreeSet<&'static str> {
    let root = scene.made.root();
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    // Both tools handle paths that are too long for others.
    said("chmod", &["-R", "u+rwX", ".worktrees"]);
    let mut held = said("tar", &["--create", "--file=-", ".worktrees"]);
    let objects = scene.git(&["rev-list", "--objects", "--no-object-names", "--all"]);
    let mut dump = Command::new("git");
    dump.args(["cat-file", "--batch"]).current_dir(scene.made.root());
    held.extend(crate::git_program::feed(&mut dump, "cat-file", format!("{objects}\n").as_bytes()).unwrap());
    let is_held = |text: &str| memchr::memmem::find(&held, text.as_bytes()).is_some();
    LEFTOVERS.iter().map(|one| one.name).filter(|name| is_held(&text(name))).collect()
}

fn text(name: &str) -> String {
    format!("<{name}>")
}

/// Creates each leftover in its own worktree, removes all worktrees, and searches for the texts.
fn check(end: impl Fn(&Repository, &Worktree, &BaseCommit)) {
    check_some(&LEFTOVERS, end);
}

fn check_some(leftovers: &[Leftover], end: impl Fn(&Repository, &Worktree, &BaseCommit)) {
    let scene = Scene::new();
    let repository = scene.repository();
    let base = repository.base("main").unwrap();
    for (number, leftover) in (1..).zip(leftovers) {
        let worktree = scene.place(number);
        (leftover.leave)(worktree.path(), &text(leftover.name));
        end(&repository, &worktree, &base);
        if leftover.name == "other-branch" && worktree.path().exists() {
            // Two worktrees cannot be on one branch.
            git(worktree.path(), &["switch", "--quiet", "--detach"]);
        }
    }
    let found = found(&scene);
    let lost: Vec<&str> = leftovers.iter().map(|one| one.name).filter(|name| !found.contains(name)).collect();
    assert_eq!(lost, [""; 0]);
}

/// Returns true if file modes apply to the test's user. As root, runs the test again as an unprivileged user.
fn is_nobody_special(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let home = tempfile::tempdir().unwrap();
    let nobody = 65_534;
    std::os::unix::fs::chown(home.path(), Some(nobody), Some(nobody)).unwrap();
    let mut again = Command::new("/proc/self/exe");
    again.args(["--exact", &format!("tests::agent_work_is_never_lost::{test}")]);
    again.uid(nobody).gid(nobody).env("TMPDIR", home.path()).env("HOME", home.path()).current_dir("/");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

fn finalize(repository: &Repository, worktree: &Worktree, base: &BaseCommit) -> CommitWorkOutcome {
    let finalizing = CommitWorkRequest {
        worktree,
        base,
        title: "t",
        run: "r",
        copied: &[],
        secrets: &[b"not there".to_vec()],
    };
    repository.finalize(finalizing, &lock_of(repository, worktree.item())).unwrap()
}

fn clean_up(repository: &Repository, worktree: &Worktree, base: &BaseCommit) -> CleanUpOutcome {
    let cleaning = CleanUpRequest { worktree, base, copied: &[], merged_into: &base.holders() };
    repository.clean_up(cleaning, &lock_of(repository, worktree.item())).unwrap()
}

#[test]
fn t50_nothing_is_lost_when_a_completed_item_is_cleaned_up() {
    check(|repository, worktree, base| {
        finalize(repository, worktree, base);
        clean_up(repository, worktree, base);
    });
}

#[test]
fn t50_nothing_is_lost_when_a_failed_item_is_cleaned_up() {
    check(|repository, worktree, base| {
        clean_up(repository, worktree, base);
    });
}

#[test]
fn t50_nothing_is_lost_of_what_the_user_may_not_read() {
    if !is_nobody_special("t50_nothing_is_lost_of_what_the_user_may_not_read") {
        return;
    }
    let unreadable =
        LEFTOVERS.iter().position(|one| one.name == "in-a-directory-that-nobody-may-read").unwrap();
    check_some(&LEFTOVERS[unreadable..=unreadable], |repository, worktree, base| {
        let paths = vec![PathBuf::from("s")];
        assert_eq!(finalize(repository, worktree, base), CommitWorkOutcome::Untaken { paths });
        let kept = CleanUpOutcome::Kept(KeptWorktreeReason::Untaken { path: PathBuf::from("s") });
        assert_eq!(clean_up(repository, worktree, base), kept);
    });
}

#[test]
fn t50_nothing_is_lost_when_files_are_gone_after_a_rescue_and_the_worktree_is_made_again() {
    check(|repository, worktree, base| {
        let rescued =
            repository.rescue(worktree, &base.commit, &[], RescueCondition::WhatNothingHolds).unwrap();
        if rescued.left.is_empty() && rescued.untaken.is_empty() {
            fs::remove_dir_all(worktree.path()).unwrap();
            let placed = repository.place(PlaceItemRequest {
                item: worktree.item(),
                base,
                worktree_root: Path::new(".worktrees"),
                copy_files: &[],
                ours: BranchOwnership::ByJournal,
                refill: WorktreeContent::Rescue,
            });
            placed.unwrap();
        }
    });
}

// Control: without it, the search above could find every text anywhere.
#[test]
fn what_is_removed_without_us_is_found_to_be_lost() {
    let scene = Scene::new();
    let worktree = scene.place(1);
    (LEFTOVERS[1].leave)(worktree.path(), &text(LEFTOVERS[1].name));
    assert_eq!(found(&scene), BTreeSet::from(["untracked"]));
    fs::remove_file(worktree.path().join("new/er")).unwrap();
    assert_eq!(found(&scene), BTreeSet::new());
}

//! Ends all git processes at once. This test has its own process, because the end applies to the whole process.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_git::GitEnvironment;
use saihai_git::Repository;

#[test]
fn a_git_that_runs_is_ended_and_none_begins_any_more() {
    let place = tempfile::tempdir().expect("a directory");
    let (program, mark) = (place.path().join("git"), place.path().join("runs"));
    fs::write(&program, format!("#!/bin/sh\ntouch '{}'\nsleep 600\n", mark.display())).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let path = format!("{}:/usr/bin:/bin", place.path().display());
    let environment = GitEnvironment::of([(OsString::from("PATH"), OsString::from(path))]);
    let open = || Repository::open(place.path(), &environment).expect_err("it says nothing").to_string();
    let ended = "`git rev-parse` was stopped: Saihai is quitting";
    std::thread::scope(|scope| {
        let opening = scope.spawn(open);
        while !mark.exists() {
            std::thread::yield_now();
        }
        saihai_git::end_all_git();
        assert_eq!(opening.join().expect("no panic"), ended);
    });
    assert_eq!(open(), ended);
}

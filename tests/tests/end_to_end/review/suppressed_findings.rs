//! Suppressed findings.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

const LIST: &str = ".saihai/review-ignore.toml";

/// Creates a project with one agent that reports one finding.
fn project() -> Project {
    reviewed_by(&[("a", "")])
}

// A fingerprint suppresses one finding, but no other finding on the same line
#[test]
fn a_finding_is_suppressed_by_its_fingerprint_alone() {
    let project = project();
    let found = one("main/a", "important");
    let told = report(&review(&project, &found, &["--json"]).exits(1));
    let fingerprint = told["findings"][0]["fingerprint"].as_str().expect("a fingerprint").to_owned();
    let entry =
        |fingerprint: &str| format!("[[ignore]]\nfingerprint = \"{fingerprint}\"\nreason = \"agreed\"\n");
    project.write(LIST, entry(&fingerprint));
    commit_only(&project, LIST);
    let told = report(&review(&project, &found, &["--json"]).exits(0));
    assert_eq!(told["findings"], serde_json::json!([]), "{told}");
    assert_eq!(told["suppressed"][0]["fingerprint"], fingerprint.as_str(), "{told}");
    assert_eq!(told["suppressed"][0]["reason"], "agreed", "{told}");

    project.write(LIST, entry("0123456789abcdef"));
    commit_only(&project, LIST);
    review(&project, &found, &[]).exits(1);
}

/// Commits one file and leaves the reviewed change uncommitted.
fn commit_only(project: &Project, path: &str) {
    git(project, &["add", path]);
    git(project, &["commit", "--quiet", "--message", "a decision", "--", path]);
}

// Saihai reports an unreadable list instead of reviewing without it
#[test]
fn a_list_that_cannot_be_read_ends_the_review_before_anybody_is_asked() {
    let check = |put: &dyn Fn(&std::path::Path), why: &str| {
        let project = project();
        put(&project.root().join(LIST));
        let outcome = review(&project, &none("main/a"), &[]).exits(2);
        let expected = format!(
            "error[review/file]: cannot read `{LIST}`: {why}\n  = help: it is a text file of at most 1 MiB\n"
        );
        assert!(outcome.stderr.contains(&expected), "{outcome}");
        assert_eq!(project.begun().len(), 0);
    };
    check(&|path| fs::create_dir(path).expect("a directory"), "it is a directory, not a file");
    check(&|path| symlink("nowhere", path).expect("a link"), "it is a link that leads to no file");
    check(&|path| symlink("review-ignore.toml", path).expect("a link"), "it is a link that leads to no file");
    let socket = |path: &std::path::Path| {
        drop(std::os::unix::net::UnixListener::bind(path).expect("a socket"));
    };
    check(&socket, "it is a pipe, a socket or a device, not a file");
}

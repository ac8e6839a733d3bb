use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::super::{ForgeTokenError, find_token};

fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// Creates a `gh` program in its own directory, with this script.
fn gh(directory: &Path, text: &str) -> String {
    let program = directory.join("gh");
    std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    format!("{}:/usr/bin:/bin", directory.display())
}

// The sources of I-18
#[tokio::test]
async fn a_token_is_that_of_the_variable_else_the_one_gh_keeps_for_the_host() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = gh(directory.path(), "[ \"$*\" = \"auth token --hostname ghe.example\" ] && echo kept-by-gh");
    let both = environment(&[("GITHUB_TOKEN", " from-variable\n"), ("PATH", &path)]);
    let found = find_token("ghe.example", &both).await.expect("a token");
    assert_eq!(found.secret(), "from-variable");
    let only_gh = environment(&[("GITHUB_TOKEN", ""), ("PATH", &path)]);
    let found = find_token("ghe.example", &only_gh).await.expect("a token");
    assert_eq!(found.secret(), "kept-by-gh");
    let missing = find_token("github.com", &only_gh).await.expect_err("another host");
    assert_eq!(
        missing.to_string(),
        "no token for `github.com`; set `GITHUB_TOKEN`, or log in with `gh auth login --hostname github.com`"
    );
}

#[tokio::test]
async fn what_cannot_be_a_token_is_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let failing = gh(directory.path(), "echo not-logged-in; exit 1");
    let nothing = tempfile::tempdir().expect("a directory");
    let missing = ForgeTokenError::Missing { host: "github.com".to_owned() };
    let empty = nothing.path().to_str().expect("a path").to_owned();
    for path in [failing, empty] {
        assert_eq!(find_token("github.com", &environment(&[("PATH", &path)])).await, Err(missing.clone()));
    }
    let odd = environment(&[("GITHUB_TOKEN", "two words")]);
    assert_eq!(find_token("github.com", &odd).await, Err(ForgeTokenError::Malformed));
}

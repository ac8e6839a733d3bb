//! Tests of the tools for git history.

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::http::tools::ModelTool;
use crate::http::tools::history::{BLAME, DIFF, LOG, SHOW};
use crate::http::tools::{ToolContext, ToolStop};
use serde_json::{Value, json};

/// Creates a repository with two commits and an ignored file that contains a key.
fn repository() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| git_in(place.path(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    fs::write(place.path().join(".gitignore"), ".env\n").unwrap();
    fs::write(place.path().join("a.py"), "one = 1\n").unwrap();
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "the first"]);
    fs::write(place.path().join("a.py"), "one = 1\ntwo = 2\n").unwrap();
    git(&["commit", "--quiet", "--all", "--message", "the second"]);
    fs::write(place.path().join(".env"), "KEY=1\n").unwrap();
    place
}

fn git_in(place: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(place)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", "2026-02-06T08:56:00Z")
        .env("GIT_COMMITTER_DATE", "2026-02-06T08:56:00Z")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn run(place: &Path, tool: &ModelTool, input: &Value) -> Result<String, String> {
    let (halt, _guard) = ToolStop::after_a_while();
    let reach = ToolContext::open(&place.display().to_string(), "", halt).unwrap();
    tool.run(&reach, input)
}

fn equal(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_inclusive([' ', '\n', '.']) {
        let bare = word.trim_end_matches([' ', '\n', '.']).trim_start_matches('^');
        let is_hash = bare.len() >= 7 && bare.chars().all(|c| c.is_ascii_hexdigit());
        shown.push_str(&if is_hash { word.replace(bare, "<hash>") } else { word.to_owned() });
    }
    shown
}

//
#[test]
fn history_is_told_in_four_ways() {
    let place = repository();
    let said = |tool: &ModelTool, input: Value| equal(&run(place.path(), tool, &input).unwrap());
    assert!(said(&DIFF, json!({"from": "HEAD~1", "context": 0})).contains("@@ -"));
    assert_snapshot!(said(&DIFF, json!({"from": "HEAD~1", "paths": ["a.py"], "context": 1})), @"
diff --git a/a.py b/a.py
index <hash>..<hash> 100644
--- a/a.py
+++ b/a.py
@@ -1 +1,2 @@
 one = 1
+two = 2
");
    assert_snapshot!(said(&LOG, json!({"max": 1})), @"<hash> 2026-02-06 T: the second");
    assert_snapshot!(said(&SHOW, json!({"rev": "HEAD~1", "path": "a.py"})), @"one = 1");
    assert_snapshot!(said(&BLAME, json!({"path": "a.py", "start_line": 2, "end_line": 2})), @"<hash> (T 2026-02-06 2) two = 2");
    assert_eq!(said(&DIFF, json!({"from": "HEAD"})), "[nothing]\n");
}

// R-38, case 42
#[test]
fn what_could_write_or_lead_elsewhere_is_refused() {
    let place = repository();
    let before = listed(place.path());
    let refused = |tool: &ModelTool, input: Value| run(place.path(), tool, &input).unwrap_err();
    assert_eq!(refused(&DIFF, json!({"from": "--output=f"})), "`--output=f` is not a revision");
    assert_eq!(refused(&DIFF, json!({"from": "HEAD", "to": "HEAD..main"})), "`HEAD..main` is not a revision");
    assert_eq!(refused(&SHOW, json!({"rev": "HEAD:.env"})), "`HEAD:.env` is not a revision");
    assert!(refused(&SHOW, json!({"rev": "HEAD", "path": ".env"})).contains("ignored by git"));
    assert!(refused(&BLAME, json!({"path": "../x"})).contains("inside the working directory"));
    assert!(refused(&LOG, json!({"paths": [".git/config"]})).contains("belongs to git"));
    assert!(refused(&DIFF, json!({"from": "nowhere"})).contains("nowhere"));
    assert_eq!(refused(&LOG, json!({"output": "f"})), "`git_log` has no argument `output`");
    assert_eq!(listed(place.path()), before, "nothing is written");
}

//
#[test]
fn nothing_a_repository_is_set_to_run_is_run() {
    let place = repository();
    let marker = place.path().join("ran");
    let program = format!("touch {}; cat", marker.display());
    let config = format!(
        "[diff]\n\texternal = {program}\n[core]\n\tpager = {program}\n\tfsmonitor = {program}\n[log]\n\tshowSignature = true\n\
         [gpg]\n\tprogram = {program}\n[diff \"evil\"]\n\ttextconv = {program}\n\tcommand = {program}\n"
    );
    let path = place.path().join(".git/config");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &config).unwrap();
    fs::write(place.path().join(".git/info/attributes"), "*.py diff=evil\n").unwrap();
    for (tool, input) in [
        (&DIFF, json!({"from": "HEAD~1"})),
        (&LOG, json!({})),
        (&SHOW, json!({"rev": "HEAD"})),
        (&SHOW, json!({"rev": "HEAD", "path": "a.py"})),
        (&BLAME, json!({"path": "a.py"})),
    ] {
        run(place.path(), tool, &input).unwrap();
        assert!(!marker.exists(), "{} ran something", tool.name);
    }
}

// a submodule has a configuration of its own, so git must not run inside it.
#[test]
fn nothing_a_submodule_is_set_to_run_is_run() {
    let (place, inner) = (repository(), repository());
    let git = |directory: &Path, arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"]);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = git.args(arguments).current_dir(directory).output().unwrap();
        assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let from = inner.path().display().to_string();
    git(place.path(), &["submodule", "--quiet", "add", &from, "sub"]);
    git(place.path(), &["commit", "--quiet", "--message", "with a submodule"]);
    let marker = place.path().join("ran");
    let program = format!("touch {}; cat", marker.display());
    git(&place.path().join("sub"), &["config", "diff.external", &program]);
    git(place.path(), &["config", "diff.submodule", "diff"]);
    for (tool, input) in [(&DIFF, json!({"from": "HEAD~1"})), (&SHOW, json!({"rev": "HEAD"}))] {
        let said = run(place.path(), tool, &input).unwrap();
        assert!(said.contains("Subproject commit"), "{said}");
        assert!(!marker.exists(), "{} ran something", tool.name);
    }
}

// an ignored file may have been committed once, and stays hidden
#[test]
fn a_file_that_is_ignored_now_is_not_read_from_the_past() {
    let place = repository();
    let git = |arguments: &[&str]| git_in(place.path(), arguments);
    fs::create_dir(place.path().join("deploy")).unwrap();
    fs::write(place.path().join("deploy/key.pem"), "SECRET-1\n").unwrap();
    fs::write(place.path().join("deploy/run.sh"), "run one\n").unwrap();
    fs::write(place.path().join("token"), "SECRET-2\n").unwrap();
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "with secrets"]);
    fs::write(place.path().join(".gitignore"), ".env\n*.pem\ntoken\n").unwrap();
    git(&["rm", "--quiet", "--cached", "deploy/key.pem"]);
    git(&["mv", "token", "renamed"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "without them"]);
    fs::write(place.path().join("renamed"), "nothing\n").unwrap();
    git(&["commit", "--quiet", "--all", "--message", "nothing is left"]);
    let told = |tool: &ModelTool, input: Value| run(place.path(), tool, &input).unwrap();
    for (input, shown) in [
        (json!({"from": "HEAD~3", "to": "HEAD~2"}), true),
        (json!({"from": "HEAD~3", "to": "HEAD~2", "paths": ["deploy"]}), true),
        (json!({"from": "HEAD~2", "to": "HEAD"}), false),
    ] {
        let text = told(&DIFF, input.clone());
        assert!(!text.contains("SECRET") && text.contains("left out"), "{input}: {text}");
        assert_eq!(text.contains("run one"), shown, "{input}: {text}");
    }
    let text = told(&SHOW, json!({"rev": "HEAD~2"}));
    assert!(text.contains("with secrets") && text.contains("run one"), "{text}");
    assert!(!text.contains("SECRET") && text.contains("[2 files are left out"), "{text}");
    git(&["rm", "--quiet", "--cached", "renamed"]);
    fs::write(place.path().join(".gitignore"), ".env\n*.pem\ntoken\nrenamed\n").unwrap();
    git(&["commit", "--quiet", "--message", "only what is ignored"]);
    let text = told(&SHOW, json!({"rev": "HEAD"}));
    assert!(text.contains("only what is ignored") && !text.contains("nothing"), "{text}");
    assert_eq!(
        told(&DIFF, json!({"from": "HEAD~1"})),
        "[1 file is left out: it is ignored by git or belongs to it]\n"
    );
}

// Attributes are project files: a change could use them to hide its files
#[test]
fn what_is_text_is_compared_whatever_attributes_say() {
    let place = repository();
    fs::write(place.path().join(".gitattributes"), "*.py -diff\n").unwrap();
    let text = run(place.path(), &DIFF, &json!({"from": "HEAD~1"})).unwrap();
    assert!(text.contains("+two = 2"), "{text}");
    let text = run(place.path(), &SHOW, &json!({"rev": "HEAD"})).unwrap();
    assert!(text.contains("+two = 2"), "{text}");
}

// The output is always limited
#[test]
fn a_change_of_very_many_files_is_cut() {
    let place = repository();
    for number in 0..1_500 {
        fs::write(place.path().join(format!("{number:0>60}.py")), "x = 1\n").unwrap();
    }
    git_in(place.path(), &["add", "--all"]);
    git_in(place.path(), &["commit", "--quiet", "--message", "many"]);
    let text = run(place.path(), &DIFF, &json!({"from": "HEAD~1"})).unwrap();
    assert!(text.len() <= 64 * 1024 && text.ends_with("[cut; ask for less]\n"), "{}", text.len());
    assert!(text.contains(&format!("{:0>60}.py", 100)), "{}", text.len());
}

fn listed(place: &Path) -> Vec<String> {
    let names = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

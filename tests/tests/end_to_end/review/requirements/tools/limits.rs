//! Limits of the tools that a model can use.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use saihai_tests::Live;

use super::super::super::pull_requests::said;
use super::*;

// R-38, case 42
#[test]
fn a_model_looks_only_at_what_it_may_and_nothing_else_is_run_or_written() {
    let slow = a_git_that_never_ends();
    paths_lead_nowhere_else_and_revisions_are_no_options();
    git_runs_nothing_of_what_it_is_set_to_run();
    an_answer_has_at_most_64_kibibytes();
    // Each tool call has thirty seconds. Most of them passed during the other tests.
    let (project, model, live) = slow;
    let outcome = live.finish().exits(0);
    assert_eq!(answers(&model), ["error: took longer than 30 seconds; ask for less"], "{outcome}");
    drop(project);
}

/// Starts a review whose model asks for a git command that never ends.
fn a_git_that_never_ends() -> (Project, ApiServer, Live) {
    let project = reviewed_by(&[("a", "allowed_tools = [\"git_read\"]\n")]);
    let git = "#!/bin/sh\ncase \"$*\" in *never-ends*) exec sleep 600;; esac\nexec /usr/bin/env PATH=/usr/bin:/bin git \"$@\"\n";
    project.write("../home/bin/git", git);
    let program = project.home().join("bin/git");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let model = model(&[("git_log", json!({"rev": "never-ends"}))]);
    let path = format!("{}:/usr/bin:/bin", project.home().join("bin").display());
    let live = review_by(&project, &model, "").env("PATH", path).start();
    (project, model, live)
}

fn paths_lead_nowhere_else_and_revisions_are_no_options() {
    let project = reviewed_by(&[("a", "allowed_tools = [\"file_read\", \"git_read\"]\nmax_turns = 100\n")]);
    project.write(".gitignore", "script.yaml\n.env\nbuild/\n").write("src/in.py", "inside = 1\n");
    commit(&project);
    project.write("src/in.py", "inside = 2\n");
    git(&project, &["commit", "--quiet", "--all", "--message", "the last"]);
    project.write("../secret", "canary\n").write(".env", "KEY=canary\n").write("build/made.py", "canary\n");
    let root = project.root();
    for (target, name) in
        [("../secret", "out"), ("..", "up"), (".env", "near"), (".git", "of-git"), ("src", "within")]
    {
        symlink(target, root.join(name)).expect("a link");
    }
    let made = Command::new("mkfifo").arg(root.join("pipe")).status().expect("mkfifo");
    assert!(made.success());
    // The first review creates Saihai's own files, so that the second one changes nothing.
    conversation(&project, &[]);
    let before = files(&project);
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let log = |path: &str| ("git_log", json!({ "paths": [path] }));
    let diff = |from: &str| ("git_diff", json!({ "from": from }));
    let calls = [
        read("src/in.py"),
        read("../secret"),
        read("src/../../secret"),
        read("/etc/passwd"),
        read("out"),
        read("up/secret"),
        read("near"),
        read(".env"),
        read("build/made.py"),
        read(".git/config"),
        read("of-git/config"),
        read("src/.git/config"),
        read("src"),
        read("pipe"),
        ("list_files", json!({"dir": ".."})),
        ("list_files", json!({"dir": "up"})),
        ("list_files", json!({})),
        ("grep", json!({"pattern": "canary"})),
        ("grep", json!({"pattern": "canary", "path": "out"})),
        ("git_show", json!({"rev": "HEAD", "path": "src/in.py"})),
        ("git_show", json!({"rev": "HEAD", "path": ".env"})),
        ("git_show", json!({"rev": "HEAD", "path": "../secret"})),
        ("git_blame", json!({"path": "src/in.py", "rev": "--contents=x"})),
        ("git_blame", json!({"path": ".git/config"})),
        log("src/*.py"),
        log(":(top)src/in.py"),
        log(":!kept.py"),
        log("--all"),
        log("../secret"),
        diff("--output=x"),
        diff("-O"),
        diff("HEAD..main"),
        diff("HEAD:.env"),
        diff(".hidden"),
        diff("HEAD --output=x"),
        ("git_show", json!({"rev": "--textconv"})),
        read("within/in.py"),
    ];
    insta::assert_snapshot!(conversation(&project, &calls), @r#"
    read_file {"path":"src/in.py"}
        1	inside = 2
    read_file {"path":"../secret"}
        error: `../secret` is not a relative path that stays inside the working directory
    read_file {"path":"src/../../secret"}
        error: `src/../../secret` is not a relative path that stays inside the working directory
    read_file {"path":"/etc/passwd"}
        error: `/etc/passwd` is not a relative path that stays inside the working directory
    read_file {"path":"out"}
        error: `out` goes through the symbolic link `out`
    read_file {"path":"up/secret"}
        error: `up/secret` goes through the symbolic link `up`
    read_file {"path":"near"}
        error: `near` goes through the symbolic link `near`
    read_file {"path":".env"}
        error: `.env` is ignored by git and stays unread
    read_file {"path":"build/made.py"}
        error: `build/made.py` is ignored by git and stays unread
    read_file {"path":".git/config"}
        error: `.git/config` belongs to git
    read_file {"path":"of-git/config"}
        error: `of-git/config` goes through the symbolic link `of-git`
    read_file {"path":"src/.git/config"}
        error: `src/.git/config` belongs to git
    read_file {"path":"src"}
        error: `src` is not a file
    read_file {"path":"pipe"}
        error: `pipe` is not a file
    list_files {"dir":".."}
        error: `..` is not a relative path that stays inside the working directory
    list_files {"dir":"up"}
        error: `up` goes through the symbolic link `up`
    list_files {}
        .gitignore
        .saihai/agents/a.toml
        .saihai/config.toml
        kept.py
        src/in.py
        store.py
    grep {"pattern":"canary"}
        [no line matches]
    grep {"path":"out","pattern":"canary"}
        error: `out` goes through the symbolic link `out`
    git_show {"path":"src/in.py","rev":"HEAD"}
        inside = 2
    git_show {"path":".env","rev":"HEAD"}
        error: `.env` is ignored by git and stays unread
    git_show {"path":"../secret","rev":"HEAD"}
        error: `../secret` is not a relative path that stays inside the working directory
    git_blame {"path":"src/in.py","rev":"--contents=x"}
        error: `--contents=x` is not a revision
    git_blame {"path":".git/config"}
        error: `.git/config` belongs to git
    git_log {"paths":["src/*.py"]}
        [nothing]
    git_log {"paths":[":(top)src/in.py"]}
        [nothing]
    git_log {"paths":[":!kept.py"]}
        [nothing]
    git_log {"paths":["--all"]}
        [nothing]
    git_log {"paths":["../secret"]}
        error: `../secret` is not a relative path that stays inside the working directory
    git_diff {"from":"--output=x"}
        error: `--output=x` is not a revision
    git_diff {"from":"-O"}
        error: `-O` is not a revision
    git_diff {"from":"HEAD..main"}
        error: `HEAD..main` is not a revision
    git_diff {"from":"HEAD:.env"}
        error: `HEAD:.env` is not a revision
    git_diff {"from":".hidden"}
        error: `.hidden` is not a revision
    git_diff {"from":"HEAD --output=x"}
        error: `HEAD --output=x` is not a revision
    git_show {"rev":"--textconv"}
        error: `--textconv` is not a revision
    read_file {"path":"within/in.py"}
        error: `within/in.py` goes through the symbolic link `within`
    "#);
    for (length, expected) in [(200, "bad revision"), (201, "is not a revision")] {
        let shown = conversation(&project, &[("git_log", json!({"rev": "x".repeat(length)}))]);
        assert!(shown.contains(expected), "{length}: {shown}");
    }
    assert!(changed(&project, &before).is_empty(), "{:?}", changed(&project, &before));
}

fn git_runs_nothing_of_what_it_is_set_to_run() {
    let project = reviewed_by(&[("a", "allowed_tools = [\"git_read\"]\n")]);
    project.write("lost.py", "lost = 1\n");
    commit(&project);
    let lost = said(&project.root(), &["rev-parse", "HEAD:lost.py"]);
    git(&project, &["rm", "--quiet", "lost.py"]);
    commit(&project);
    project.write("new.py", "new = 1\n");
    // Part of the history exists only on the remote, and git would fetch it on demand.
    fs::remove_file(project.root().join(".git/objects").join(&lost[..2]).join(&lost[2..]))
        .expect("an object");
    let elsewhere = repository();
    let [marker, trace] = ["ran", "trace"].map(|name| project.home().join(name));
    let program = project.home().join("program");
    project.write("../home/program", format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", marker.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let program = program.display().to_string();
    let settings = format!(
        "[core]\n\tpager = {program}\n\tfsmonitor = {program}\n\thooksPath = ../hooks\n\taskPass = {program}\n\
         [diff]\n\texternal = {program}\n[diff \"own\"]\n\ttextconv = {program}\n\tcommand = {program}\n\
         [log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n[credential]\n\thelper = {program}\n\
         [extensions]\n\tpartialClone = origin\n\
         [remote \"origin\"]\n\tpromisor = true\n\turl = {0}\n\tuploadpack = {program}\n",
        elsewhere.root().display()
    );
    let configuration =
        project.read(".git/config").replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    project.write(".git/config", configuration + &settings).write(".git/info/attributes", "*.py diff=own\n");
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"] {
        let path = format!("../hooks/{hook}");
        project.write(&path, project.read("../home/program"));
        fs::set_permissions(project.root().join(path), fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let calls = [
        ("git_diff", json!({"from": "HEAD~2"})),
        ("git_log", json!({"max": 1})),
        ("git_show", json!({"rev": "HEAD~2"})),
        ("git_show", json!({"rev": "HEAD", "path": "kept.py"})),
        ("git_blame", json!({"path": "kept.py"})),
        ("git_show", json!({"rev": "HEAD~1", "path": "lost.py"})),
    ];
    let model = model(&calls);
    let mut review = review_by(&project, &model, "");
    let other = elsewhere.root().join(".git").display().to_string();
    for name in [
        "GIT_PAGER",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "GIT_EDITOR",
        "GIT_SSH",
        "GIT_PROXY_COMMAND",
        "PAGER",
    ] {
        review = review.env(name, &program);
    }
    let review =
        review.env("GIT_DIR", &other).env("GIT_WORK_TREE", elsewhere.root()).env("GIT_TRACE", &trace);
    let review = review.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "diff.external");
    let outcome = review.env("GIT_CONFIG_VALUE_0", &program).run().exits(0);
    let heard = answers(&model);
    assert!(heard[..5].iter().all(|answer| !answer.starts_with("error")), "{heard:#?}");
    assert!(heard[5].starts_with("error: "), "{heard:#?}");
    let ran = fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!((ran.as_str(), trace.exists()), ("", false), "{outcome}");
}

fn an_answer_has_at_most_64_kibibytes() {
    let project = reviewed_by(&[("a", "allowed_tools = [\"file_read\", \"git_read\"]\n")]);
    project.write("long.py", "a line of many = 1\n".repeat(50_000));
    commit(&project);
    let calls = [
        ("read_file", json!({"path": "long.py"})),
        ("grep", json!({"pattern": "line"})),
        ("git_show", json!({"rev": "HEAD", "path": "long.py"})),
        ("git_diff", json!({"from": "HEAD~1"})),
        ("git_blame", json!({"path": "long.py"})),
    ];
    project.write("kept.py", "print(2)\n");
    let model = model(&calls);
    review_by(&project, &model, "").run().exits(0);
    for ((tool, _), answer) in calls.iter().zip(answers(&model)) {
        assert!((32_000..=65_536).contains(&answer.len()), "{tool}: {}", answer.len());
        assert!(
            answer.trim_end().lines().last().is_some_and(|line| line.starts_with("[cut; ")),
            "{tool}: {answer}"
        );
    }
}

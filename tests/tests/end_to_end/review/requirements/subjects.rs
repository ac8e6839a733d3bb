//! Subjects of a review: branches, pull requests and files.

use std::fs;
use std::path::Path;

use saihai_tests::{Answer, ApiServer};
use serde_json::json;

use super::super::pull_requests::{CANARY, left, proposed, said};
use super::*;

// R-28
#[test]
fn a_subject_is_what_a_branch_changed_what_a_pull_request_proposes_or_whole_files() {
    everything_since_the_branch_left_its_base_is_compared_in_one_way();
    the_base_is_what_was_said_last_or_else_the_usual_branch();
    what_cannot_be_compared_is_refused_and_before_the_first_commit_all_is_new();
    a_pull_request_is_compared_where_it_left_its_base_and_looked_at_apart();
    whole_files_are_named_listed_and_found_with_and_without_git();
    what_stands_alone_is_a_file_or_a_revision_and_never_guessed();
}

/// Creates a branch with a commit, a rename, a deletion and edits of all kinds, whose base has moved.
fn branch() -> Project {
    let project = reviewed_by(&[("a", "")]);
    fs::remove_file(project.root().join("store.py")).expect("a file");
    let lines: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    project.write("old.py", &lines).write("gone.py", "gone = 1\n").write("edited.py", &lines);
    project.write(".gitignore", "script.yaml\nsecret.env\n");
    commit(&project);
    git(&project, &["switch", "--quiet", "--create", "topic"]);
    project.write("committed.py", "committed = 1\n");
    commit(&project);
    git(&project, &["switch", "--quiet", "main"]);
    project.write("of_the_base.py", "later = 1\n");
    commit(&project);
    git(&project, &["switch", "--quiet", "topic"]);
    git(&project, &["mv", "old.py", "new.py"]);
    fs::remove_file(project.root().join("gone.py")).expect("a file");
    project.write("staged.py", "staged = 1\n");
    git(&project, &["add", "staged.py"]);
    project.write("edited.py", lines.replace("line 5", "line five"));
    project.write("untracked.py", "untracked = 1\n").write("secret.env", "KEY=1\n");
    project
}

fn everything_since_the_branch_left_its_base_is_compared_in_one_way() {
    let project = branch();
    // The user's own diff settings must not affect the comparison.
    let marker = project.home().join("ran");
    let program = format!("touch {}; cat", marker.display());
    let own = format!(
        "[diff]\n\texternal = {program}\n\trenames = false\n\tcontext = 0\n\tnoprefix = true\n\tmnemonicPrefix = true\n\
         \tinterHunkContext = 9\n\talgorithm = patience\n\tsubmodule = log\n[color]\n\tui = always\n\tdiff = always\n\
         [core]\n\tpager = {program}\n[diff \"own\"]\n\ttextconv = {program}\n\tcommand = {program}\n"
    );
    project.write("../home/.gitconfig", own);
    project.write(".git/info/attributes", "*.py diff=own\n");
    let (told, prompt) = reviewed(&project, &[]);
    assert_eq!((&told["mode"], &told["base"]), (&"diff".into(), &"main".into()));
    let hashes = regex::Regex::new("index [0-9a-f]+\\.\\.[0-9a-f]+").expect("a pattern");
    insta::assert_snapshot!(hashes.replace_all(&shown(&prompt), "index <hash>..<hash>"), @"
    - committed.py
    - edited.py
    - gone.py
    - new.py <- old.py
    - staged.py
    - untracked.py

    diff --git a/committed.py b/committed.py
    new file mode 100644
    index <hash>..<hash>
    --- /dev/null
    +++ b/committed.py
    @@ -0,0 +1 @@
    +committed = 1
    diff --git a/edited.py b/edited.py
    index <hash>..<hash> 100644
    --- a/edited.py
    +++ b/edited.py
    @@ -2,7 +2,7 @@ line 1
     line 2
     line 3
     line 4
    -line 5
    +line five
     line 6
     line 7
     line 8
    diff --git a/gone.py b/gone.py
    deleted file mode 100644
    index <hash>..<hash>
    --- a/gone.py
    +++ /dev/null
    @@ -1 +0,0 @@
    -gone = 1
    diff --git a/old.py b/new.py
    similarity index 100%
    rename from old.py
    rename to new.py
    diff --git a/staged.py b/staged.py
    new file mode 100644
    index <hash>..<hash>
    --- /dev/null
    +++ b/staged.py
    @@ -0,0 +1 @@
    +staged = 1
    diff --git a/untracked.py b/untracked.py
    new file mode 100644
    --- /dev/null
    +++ b/untracked.py
    @@ -0,0 +1,1 @@
    +untracked = 1
    ");
    assert!(!marker.exists(), "a program of the user's own was run");
    let (_, prompt) = reviewed(&project, &["--no-untracked"]);
    let expected = ["committed.py", "edited.py", "gone.py", "new.py <- old.py", "staged.py"];
    assert_eq!(listed(&prompt), expected);

    lines_are_those_of_the_new_version(&project);
}

/// Checks that each line is classified as added, near a change, or elsewhere.
fn lines_are_those_of_the_new_version(project: &Project) {
    let issue = |file: &str, line: u32| {
        format!(
            "{{severity: nitpick, description: \"{file}, line {line}\", location: {{file_path: {file}, line_number: {line}}}}}"
        )
    };
    let places = [("edited.py", 5), ("edited.py", 2), ("edited.py", 9), ("committed.py", 1), ("kept.py", 1)];
    let issues: Vec<String> = places.iter().map(|(file, line)| issue(file, *line)).collect();
    let replies =
        format!("  - {{for: main/a, structured: {{issues: [{}], overall_score: 5}}}}\n", issues.join(", "));
    let told = report(&review(project, &replies, &["--json", "--no-cache"]).exits(0));
    let mut anchors: Vec<String> = told["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|one| {
            format!(
                "{} {}",
                one["message"].as_str().unwrap_or_default(),
                one["anchor"].as_str().unwrap_or_default()
            )
        })
        .collect();
    anchors.sort();
    insta::assert_snapshot!(anchors.join("\n"), @"
    committed.py, line 1 added
    edited.py, line 2 context
    edited.py, line 5 added
    edited.py, line 9 file
    kept.py, line 1 outside
    ");
}

fn the_base_is_what_was_said_last_or_else_the_usual_branch() {
    let project = reviewed_by(&[("a", "")]);
    commit(&project);
    git(&project, &["branch", "--quiet", "--move", "topic"]);
    let points = [
        "refs/remotes/origin/trunk",
        "refs/heads/main",
        "refs/heads/set",
        "refs/heads/named",
        "refs/heads/typed",
    ];
    for (point, file) in points.iter().zip(1..) {
        git(&project, &["update-ref", point, "HEAD"]);
        project.write(&format!("{file}.py"), "x = 1\n");
        commit(&project);
    }
    git(&project, &["symbolic-ref", "refs/remotes/origin/HEAD", points[0]]);
    let against = |arguments: &[&str]| {
        let (told, prompt) = reviewed(&project, arguments);
        let first = listed(&prompt).into_iter().find(|file| file.ends_with(".py"));
        format!("{} {}", told["base"].as_str().unwrap_or_default(), first.unwrap_or_default())
    };
    assert_eq!(against(&[]), "origin/trunk 1.py");
    let settings = project.read(".saihai/config.toml");
    project.write(".saihai/config.toml", format!("[review]\nbase = \"set\"\n{settings}"));
    assert_eq!(against(&[]), "set 3.py");
    assert_eq!(against(&["named"]), "named 4.py");
    assert_eq!(against(&["--base", "typed"]), "typed 5.py");
    project.write(".saihai/config.toml", settings);
    git(&project, &["symbolic-ref", "--delete", "refs/remotes/origin/HEAD"]);
    assert_eq!(against(&[]), "main 2.py");
    git(&project, &["branch", "--quiet", "--move", "main", "master"]);
    assert_eq!(against(&[]), "master 2.py");
}

fn what_cannot_be_compared_is_refused_and_before_the_first_commit_all_is_new() {
    let project = reviewed_by(&[("a", "")]);
    git(&project, &["switch", "--quiet", "--orphan", "alone"]);
    project.write("b.py", "b = 1\n").write(".gitignore", "script.yaml\n");
    commit(&project);
    insta::assert_snapshot!(seen(&review(&project, &none("main/a"), &["main"])), @"
    error: `main` and the current commit have no common history here
      = help: a shallow clone lacks it: `git fetch --unshallow` downloads the history
    ? 2
    ");
    assert_eq!(project.runs(), [""; 0]);

    let project = Project::new(PROGRAM);
    git(&project, &["init", "--quiet", "--initial-branch=main"]);
    project.write(".saihai/agents/a.toml", agent("a", "")).write(".gitignore", "script.yaml\n.saihai\n");
    project.write("first.py", "first = 1\n");
    let (_, prompt) = reviewed(&project, &["--agent", "a"]);
    insta::assert_snapshot!(shown(&prompt), @"
    - .gitignore
    - first.py

    diff --git a/.gitignore b/.gitignore
    new file mode 100644
    --- /dev/null
    +++ b/.gitignore
    @@ -0,0 +1,2 @@
    +script.yaml
    +.saihai
    diff --git a/first.py b/first.py
    new file mode 100644
    --- /dev/null
    +++ b/first.py
    @@ -0,0 +1,1 @@
    +first = 1
    ");
}

fn a_pull_request_is_compared_where_it_left_its_base_and_looked_at_apart() {
    let (project, server, head) = proposed(&[("a", "allowed_tools = [\"file_read\"]\n")]);
    // The base has moved on the remote, and this clone has not fetched it.
    let other = project.root().join("../other");
    said(&other, &["switch", "--quiet", "--detach", "HEAD~1"]);
    fs::write(other.join("of_the_base.py"), "later = 1\n").expect("a file");
    said(&other, &["add", "--all"]);
    said(&other, &["commit", "--quiet", "--message", "later"]);
    said(&other, &["push", "--quiet", "origin", "HEAD:refs/heads/main"]);
    let before = left(&project);

    // Tools read files at the head of the pull request, which the checkout does not contain.
    let read = |path: &str| Answer::tool("read_file", json!({ "path": path }));
    let answer = r#"{"issues": [], "overall_score": 9}"#;
    let api = ApiServer::start(|_| [read("store.py"), read("local.py"), Answer::text(answer)]);
    let settings = "../home/.config/saihai/config.toml";
    let model = format!("model = \"m\"\nbase_url = \"{}/v1\"\n", api.url());
    project.write(settings, format!("provider = \"openai\"\n[providers.openai]\n{model}"));
    let asked = || {
        let call =
            project.saihai(["review", "--pr", "7", "--json", "--no-cache"]).env("GITHUB_TOKEN", CANARY);
        call.env("GITHUB_API_URL", server.url()).env("OPENAI_API_KEY", "sk-of-the-test")
    };
    let told = report(&asked().run().exits(0));
    assert_eq!(
        (&told["mode"], &told["base"], &told["head"]),
        (&"pr".into(), &"main".into(), &head.clone().into())
    );
    let prompt = project.journal().prompt("main");
    assert_eq!(listed(&prompt), ["store.py"], "{prompt}");
    assert!(prompt.contains("+    return db.execute(query)\n"), "{prompt}");
    let requests = api.asked();
    let heard = requests.last().expect("a request").body.to_string();
    assert!(heard.contains("return db.execute(query)"), "{heard}");
    assert!(heard.contains("`local.py` could not be read: No such file"), "{heard}");
    assert_eq!(left(&project), before);

    // An agent program runs in a detached checkout of that head.
    let notes = project.home().join("notes");
    let program = format!(
        "cat > /dev/null\n{{ pwd; ls; git rev-parse HEAD; git symbolic-ref --quiet HEAD || echo detached; }} > '{}'\n\
         echo '{answer}'\n",
        notes.display()
    );
    project.write("../home/agent.sh", program);
    let home = project.home().display().to_string();
    let command = format!(
        "kind = \"command\"\nprogram = \"sh\"\nargs = [\"{home}/agent.sh\"]\nhonours = [\"readonly\"]\n"
    );
    project.write(settings, format!("provider = \"mine\"\n[providers.mine]\n{command}"));
    asked().run().exits(0);
    let notes = fs::read_to_string(notes).expect("what the program saw");
    let (place, rest) = notes.split_once('\n').expect("a directory");
    assert_eq!(rest, format!("kept.py\nstore.py\n{head}\ndetached\n"));
    assert_ne!(Path::new(place), project.root());
    assert!(!Path::new(place).exists(), "`{place}` is still there");
    assert_eq!(left(&project), before);
}

fn whole_files_are_named_listed_and_found_with_and_without_git() {
    for with_git in [true, false] {
        let project = Project::new(PROGRAM);
        if with_git {
            git(&project, &["init", "--quiet", "--initial-branch=main"]);
        }
        project.write(".saihai/agents/a.toml", agent("a", ""));
        project.write("src/one.py", "one = 1\n").write("src/deep/two.py", "two = 2\n");
        project.write("src/.gitignore", "made\n").write("src/made/three.py", "three = 3\n");
        project.write("four.rs", "four();\n");
        let files = |arguments: &[&str]| {
            let (told, prompt) = reviewed(&project, &[&["--agent", "a"], arguments].concat());
            assert_eq!(told["mode"], "files");
            prompt
        };
        let all = ["src/.gitignore", "src/deep/two.py", "src/one.py"];
        assert_eq!(listed(&files(&["src"])), all);
        assert_eq!(listed(&files(&["src/**/*.py"])), all[1..]);
        assert_eq!(listed(&files(&["src", "four.rs"])), [&["four.rs"], &all[..]].concat());
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown(&files(&["src/one.py", "four.rs"])), @"
            - four.rs
            - src/one.py

            --- four.rs
            four();
            --- src/one.py
            one = 1
            ");
        }
    }
}

fn what_stands_alone_is_a_file_or_a_revision_and_never_guessed() {
    let project = reviewed_by(&[("a", "")]);
    commit(&project);
    git(&project, &["branch", "--quiet", "both"]);
    git(&project, &["branch", "--quiet", "revision"]);
    project.write("both/x.py", "x = 1\n").write("path", "path\n");
    let mode = |argument: &str| {
        let (told, prompt) = reviewed(&project, &[argument]);
        format!("{} {:?}", told["mode"].as_str().unwrap_or_default(), listed(&prompt))
    };
    assert_eq!(mode("path"), r#"files ["path"]"#);
    assert_eq!(mode("revision"), r#"diff ["both/x.py", "path"]"#);
    assert_eq!(mode("./both"), r#"files ["both/x.py"]"#);
    let refused = |arguments: &[&str]| seen(&review(&project, &none("main/a"), arguments).exits(2));
    insta::assert_snapshot!(refused(&["both"]), @"
    error: `both` is both a revision and a file
      = help: `saihai review --base both` reviews the changes since that revision
      = help: `saihai review ./both` reviews the file or directory
    ? 2
    ");
    insta::assert_snapshot!(refused(&["neither"]), @"
    error: `neither` is neither a revision nor a file here
      = help: `git fetch` downloads revisions that only the remote has
    ? 2
    ");
    insta::assert_snapshot!(refused(&["123"]), @"
    error: `123` is neither a revision nor a file here
      = help: `saihai review --pr 123` reviews a pull request
    ? 2
    ");
    insta::assert_snapshot!(refused(&["path", "gone", "revision", "lost"]), @"
    error: `gone`, `revision`, `lost` do not exist
    ? 2
    ");
}

//! What a model may look with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use saihai_connect::forge::testing::{ForgeServer, ForgeState};
use saihai_tests::{Answer, ApiServer, Invocation, Live};
use serde_json::{Value, json};

use super::super::proposed::said;
use super::*;

const NOTHING_FOUND: &str = r#"{"issues": [], "overall_score": 9}"#;

/// A service whose model first asks for these tools and then finds nothing.
fn model(calls: &[(&str, Value)]) -> ApiServer {
    let calls = calls.iter().map(|(tool, input)| Answer::tool(*tool, input.clone()));
    let script: Vec<Answer> = calls.chain([Answer::text(NOTHING_FOUND)]).collect();
    ApiServer::start(|_| script)
}

/// A review by that model alone.
fn review_by(project: &Project, model: &ApiServer, further: &str) -> Invocation {
    let provider = format!("[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n", model.url());
    project
        .write("../home/.config/saihai/config.toml", format!("provider = \"openai\"\n{provider}{further}"));
    project.saihai(["review", "--json", "--jobs", "1", "--no-cache"]).env("OPENAI_API_KEY", "sk-of-the-test")
}

/// What each call of a tool was answered with.
fn answers(model: &ApiServer) -> Vec<String> {
    let last = model.asked().pop().expect("a request").body;
    let messages = last["messages"].as_array().expect("messages").iter();
    let of_tools = messages.filter(|message| message["role"] == "tool");
    of_tools.map(|message| message["content"].as_str().expect("a text").to_owned()).collect()
}

/// The tools that were offered with a request, each with what it takes: `?` is what may be left out, `≤` the most it may be.
fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let shown = tools.iter().map(|tool| {
        let parameters = &tool["function"]["parameters"];
        assert_eq!(parameters["additionalProperties"], false, "{tool}");
        let required = parameters["required"].as_array().cloned().unwrap_or_default();
        let properties = parameters["properties"].as_object().expect("properties").iter();
        let arguments = properties.map(|(name, property)| {
            let optional = if required.contains(&name.as_str().into()) { "" } else { "?" };
            let most = property["maximum"].as_u64().map(|most| format!(" ≤ {most}")).unwrap_or_default();
            format!("{name}{optional}{most}")
        });
        let arguments: Vec<String> = arguments.collect();
        format!("{} {{{}}}", tool["function"]["name"].as_str().expect("a name"), arguments.join(", "))
    });
    shown.collect()
}

// R-37
#[test]
fn an_agent_has_the_tools_its_file_names_and_each_takes_only_what_it_says() {
    names_are_categories_tools_and_known_foreign_words();
    what_a_tool_does_not_take_is_told_to_the_model_and_not_run();
    the_forge_is_looked_at_through_its_connection();
    without_the_setting_the_web_is_closed_and_the_agent_reviews_without_it();
    what_would_write_or_run_is_refused_with_the_category_to_use();
}

fn names_are_categories_tools_and_known_foreign_words() {
    let lists = [
        r#"["file_read"]"#,
        r#"["git_read"]"#,
        r#"["gh_read"]"#,
        r#"["web_fetch"]"#,
        r#"["git_blame", "pr_view"]"#,
        r#"["Read"]"#,
        r#"["Grep"]"#,
        r#"["Glob"]"#,
        r#"["LS"]"#,
        r#"["WebFetch"]"#,
        "[]",
    ];
    let agents: Vec<(String, String)> = lists
        .iter()
        .zip(10..)
        .map(|(list, n)| (format!("a{n}"), format!("allowed_tools = {list}\n")))
        .collect();
    let agents: Vec<(&str, &str)> = agents.iter().map(|(name, further)| (&**name, &**further)).collect();
    let project = reviewed_by(&agents);
    let model = model(&[]);
    let outcome =
        review_by(&project, &model, "[review]\nweb = true\n[work]\nrepo = \"me/tool\"\n").run().exits(0);
    assert!(!outcome.stderr.contains("warning"), "{outcome}");
    let told = report(&outcome);
    assert!(statuses(&told).iter().all(|status| status.ends_with(" success")), "{told:#}");
    let requests = model.asked();
    assert_eq!(requests.len(), lists.len());
    let shown = lists.iter().zip(&requests).map(|(list, request)| {
        let offered = offered(&request.body).into_iter().map(|tool| format!("\n    {tool}"));
        format!("{list}{}\n", offered.collect::<String>())
    });
    insta::assert_snapshot!(shown.collect::<String>(), @r#"
    ["file_read"]
        read_file {lines? ≤ 2000, path, start_line?}
        list_files {dir?, glob?}
        grep {glob?, path?, pattern}
    ["git_read"]
        git_diff {context? ≤ 50, from, paths?, to?}
        git_log {max? ≤ 100, paths?, rev?}
        git_show {path?, rev}
        git_blame {end_line?, path, rev?, start_line?}
    ["gh_read"]
        pr_view {number}
        issue_view {number}
    ["web_fetch"]
        web_fetch {url}
    ["git_blame", "pr_view"]
        git_blame {end_line?, path, rev?, start_line?}
        pr_view {number}
    ["Read"]
        read_file {lines? ≤ 2000, path, start_line?}
    ["Grep"]
        grep {glob?, path?, pattern}
    ["Glob"]
        list_files {dir?, glob?}
    ["LS"]
        list_files {dir?, glob?}
    ["WebFetch"]
        web_fetch {url}
    []
    "#);
}

/// Calls of every tool, with what it takes and with what it does not.
fn right_and_wrong_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": "store.py", "start_line": 2, "lines": 1})),
        ("read_file", json!({"path": "store.py", "lines": 2001})),
        ("read_file", json!({"path": "store.py", "start_line": 0})),
        ("read_file", json!({"path": "store.py", "write": "x"})),
        ("read_file", json!({})),
        ("list_files", json!({"dir": ".", "glob": "*.py"})),
        ("list_files", json!({"delete": true})),
        ("grep", json!({"pattern": "db\\.", "path": "store.py", "glob": "*.py"})),
        ("grep", json!({"pattern": "(a+)+$", "path": "slow.py"})),
        ("grep", json!({"pattern": "("})),
        ("grep", json!({"pattern": "a", "exec": "touch x"})),
        ("git_diff", json!({"from": "HEAD", "to": "HEAD", "paths": ["kept.py"], "context": 50})),
        ("git_diff", json!({"from": "HEAD", "context": 51})),
        ("git_diff", json!({"from": "HEAD", "output": "x"})),
        ("git_log", json!({"rev": "HEAD", "paths": ["gone.py"], "max": 100})),
        ("git_log", json!({"max": 101})),
        ("git_log", json!({"format": "%x"})),
        ("git_show", json!({"rev": "HEAD", "path": "kept.py"})),
        ("git_show", json!({"rev": "HEAD", "textconv": true})),
        ("git_blame", json!({"path": "gone.py", "rev": "HEAD", "start_line": 1, "end_line": 1})),
        ("git_blame", json!({"path": "kept.py", "contents": "x"})),
        ("pr_view", json!({"number": "7"})),
        ("issue_view", json!({"number": 7, "comment": "x"})),
        ("web_fetch", json!({"url": "https://example.com/", "body": "x"})),
        ("bash", json!({"command": "touch x"})),
    ]
}

fn what_a_tool_does_not_take_is_told_to_the_model_and_not_run() {
    let tools =
        "allowed_tools = [\"file_read\", \"git_read\", \"gh_read\", \"web_fetch\"]\nmax_turns = 100\n";
    let project = reviewed_by(&[("a", tools)]);
    // An expression that takes a backtracking engine longer than anybody waits.
    project.write("slow.py", format!("{}!\n", "a".repeat(100)));
    conversation(&project, &[]);
    let before = files(&project);
    let calls = right_and_wrong_calls();
    let model = model(&calls);
    review_by(&project, &model, "[review]\nweb = true\n[work]\nrepo = \"me/tool\"\n").run().exits(0);
    insta::assert_snapshot!(told(&calls, &answers(&model)), @r#"
    read_file {"lines":1,"path":"store.py","start_line":2}
        2	    return db.execute(query)
    read_file {"lines":2001,"path":"store.py"}
        error: `lines` must be a whole number from 1 to 2000
    read_file {"path":"store.py","start_line":0}
        error: `start_line` must be a whole number from 1 to 18446744073709551615
    read_file {"path":"store.py","write":"x"}
        error: `read_file` has no argument `write`
    read_file {}
        error: `path` is missing
    list_files {"dir":".","glob":"*.py"}
        kept.py
        slow.py
        store.py
    list_files {"delete":true}
        error: `list_files` has no argument `delete`
    grep {"glob":"*.py","path":"store.py","pattern":"db\\."}
        store.py:2:    return db.execute(query)
    grep {"path":"slow.py","pattern":"(a+)+$"}
        [no line matches]
    grep {"pattern":"("}
        error: `pattern` is no regular expression: regex parse error:
            (
            ^
        error: unclosed group
    grep {"exec":"touch x","pattern":"a"}
        error: `grep` has no argument `exec`
    git_diff {"context":50,"from":"HEAD","paths":["kept.py"],"to":"HEAD"}
        [nothing]
    git_diff {"context":51,"from":"HEAD"}
        error: `context` must be a whole number from 0 to 50
    git_diff {"from":"HEAD","output":"x"}
        error: `git_diff` has no argument `output`
    git_log {"max":100,"paths":["gone.py"],"rev":"HEAD"}
        [nothing]
    git_log {"max":101}
        error: `max` must be a whole number from 1 to 100
    git_log {"format":"%x"}
        error: `git_log` has no argument `format`
    git_show {"path":"kept.py","rev":"HEAD"}
        print(1)
    git_show {"rev":"HEAD","textconv":true}
        error: `git_show` has no argument `textconv`
    git_blame {"end_line":1,"path":"gone.py","rev":"HEAD","start_line":1}
        error: fatal: no such path gone.py in HEAD
    git_blame {"contents":"x","path":"kept.py"}
        error: `git_blame` has no argument `contents`
    pr_view {"number":"7"}
        error: `number` must be a whole number from 1 to 18446744073709551615
    issue_view {"comment":"x","number":7}
        error: `issue_view` has no argument `comment`
    web_fetch {"body":"x","url":"https://example.com/"}
        error: `web_fetch` has no argument `body`
    bash {"command":"touch x"}
        error: there is no tool `bash`; known: read_file, list_files, grep, git_diff, git_log, git_show, git_blame, pr_view, issue_view, web_fetch
    "#);
    assert!(changed(&project, &before).is_empty(), "{:?}", changed(&project, &before));
}

fn the_forge_is_looked_at_through_its_connection() {
    let mut state = ForgeState::default();
    state.issue(3, "It leaks", &["bug"]).body = "Nobody closes the file.".to_owned();
    state.pull_request(7, "topic", "0123456789012345678901234567890123456789").title = "Close it".to_owned();
    let forge = ForgeServer::start(state);
    let project = reviewed_by(&[("a", "allowed_tools = [\"gh_read\"]\n")]);
    let model = model(&[("issue_view", json!({"number": 3})), ("pr_view", json!({"number": 7}))]);
    let review = review_by(&project, &model, "[work]\nrepo = \"me/tool\"\n");
    review.env("GITHUB_API_URL", forge.url()).env("GITHUB_TOKEN", "t-0815").run().exits(0);
    let told = answers(&model);
    assert!(told[0].contains("#3 It leaks") && told[0].contains("Nobody closes the file."), "{told:?}");
    assert!(told[1].contains("#7 Close it"), "{told:?}");
    assert_eq!(forge.writes(), [""; 0]);
}

fn without_the_setting_the_web_is_closed_and_the_agent_reviews_without_it() {
    let project = reviewed_by(&[
        ("a", "allowed_tools = [\"Read\", \"web_fetch\"]\n"),
        ("b", "allowed_tools = [\"WebFetch\"]\n"),
    ]);
    let model = model(&[("web_fetch", json!({"url": "https://example.com/"}))]);
    let outcome = review_by(&project, &model, "").run().exits(0);
    assert_eq!(statuses(&report(&outcome)), ["a success", "b success"]);
    let warnings: Vec<&str> = outcome.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(warnings.len(), 1, "{outcome}");
    assert!(warnings[0].contains("`web_fetch` needs `web = true` in `[review]`"), "{outcome}");
    let requests = model.asked();
    let names: Vec<_> = requests.iter().map(|request| offered(&request.body)).collect();
    let read = vec!["read_file {lines? ≤ 2000, path, start_line?}".to_owned()];
    assert_eq!(names, [read.clone(), read, Vec::new()]);
    let heard = requests[1].body["messages"].to_string();
    assert!(heard.contains("there is no tool `web_fetch`; known: read_file"), "{heard}");
}

fn what_would_write_or_run_is_refused_with_the_category_to_use() {
    let words = ["Write", "Edit", "Bash", "run_git"];
    let names = ["a-write", "b-edit", "c-bash", "d-run-git"];
    let lists = words.map(|word| format!("allowed_tools = [\"file_read\", \"{word}\"]\n"));
    let agents: Vec<(&str, &str)> = names.into_iter().zip(lists.iter().map(String::as_str)).collect();
    let project = reviewed_by(&agents);
    let outcome = project.saihai(["check", ".saihai/agents"]).run().exits(2);
    insta::assert_snapshot!(outcome.stdout, @r#"
    error[review/tool]: `Write` cannot be used: a reviewer only reads
    --> .saihai/agents/a-write.toml:6:31
      |
    6 | allowed_tools = ["file_read", "Write"]
      |                               ^^^^^^^ not allowed
      = help: use the category `file_read`

    error[review/tool]: `Edit` cannot be used: a reviewer only reads
    --> .saihai/agents/b-edit.toml:6:31
      |
    6 | allowed_tools = ["file_read", "Edit"]
      |                               ^^^^^^ not allowed
      = help: use the category `file_read`

    error[review/tool]: `Bash` cannot be used: a reviewer only reads
    --> .saihai/agents/c-bash.toml:6:31
      |
    6 | allowed_tools = ["file_read", "Bash"]
      |                               ^^^^^^ not allowed
      = help: use the category `git_read`

    error[review/tool]: `run_git` cannot be used: a reviewer only reads
    --> .saihai/agents/d-run-git.toml:6:31
      |
    6 | allowed_tools = ["file_read", "run_git"]
      |                               ^^^^^^^^^ not allowed
      = help: use the category `git_read`
    "#);
    let model = model(&[]);
    let outcome = review_by(&project, &model, "").run().exits(0);
    assert!(outcome.stderr.contains("no agent applies"), "{outcome}");
    assert!(model.asked().is_empty(), "somebody was asked");
}

/// Every file of a project but what is kept of runs, by its bytes.
fn files(project: &Project) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![project.root()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let kind = fs::symlink_metadata(&path).expect("what it is").file_type();
            if kind.is_dir() && !path.ends_with(".saihai") {
                open.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).expect("a file");
                files.insert(path, bytes);
            } else {
                files.insert(path, Vec::new());
            }
        }
    }
    files
}

/// What is there and was not, was there and is not, or is another.
fn changed(project: &Project, before: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let now = files(project);
    let names: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
}

// R-38, case 42
#[test]
fn a_model_looks_only_at_what_it_may_and_nothing_else_is_run_or_written() {
    let slow = a_git_that_never_ends();
    paths_lead_nowhere_else_and_revisions_are_no_options();
    git_runs_nothing_of_what_it_is_set_to_run();
    an_answer_has_at_most_64_kibibytes();
    // Each call has thirty seconds, which have passed since the beginning for the most part.
    let (project, model, live) = slow;
    let outcome = live.finish().exits(0);
    assert_eq!(answers(&model), ["error: took longer than 30 seconds; ask for less"], "{outcome}");
    drop(project);
}

/// A review whose model asks for something that git never comes to the end of.
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

/// Calls of tools with what came of each, one below the other.
fn conversation(project: &Project, calls: &[(&str, Value)]) -> String {
    let model = model(calls);
    review_by(project, &model, "").run().exits(0);
    told(calls, &answers(&model))
}

/// Calls of tools, each with its answer.
fn told(calls: &[(&str, Value)], answers: &[String]) -> String {
    assert_eq!(answers.len(), calls.len());
    let lines = calls.iter().zip(answers).map(|((tool, input), answer)| {
        format!("{tool} {input}\n    {}\n", answer.trim_end().replace('\n', "\n    "))
    });
    lines.collect()
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
    // What a review itself puts in order is there when the second one begins.
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
        error: `--contents=x` is no revision
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
        error: `--output=x` is no revision
    git_diff {"from":"-O"}
        error: `-O` is no revision
    git_diff {"from":"HEAD..main"}
        error: `HEAD..main` is no revision
    git_diff {"from":"HEAD:.env"}
        error: `HEAD:.env` is no revision
    git_diff {"from":".hidden"}
        error: `.hidden` is no revision
    git_diff {"from":"HEAD --output=x"}
        error: `HEAD --output=x` is no revision
    git_show {"rev":"--textconv"}
        error: `--textconv` is no revision
    read_file {"path":"within/in.py"}
        error: `within/in.py` goes through the symbolic link `within`
    "#);
    for (length, expected) in [(200, "bad revision"), (201, "is no revision")] {
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
    // Part of the history is only at the remote, which would be asked for it.
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

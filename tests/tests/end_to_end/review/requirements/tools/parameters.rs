//! Tools of an agent and their parameters.

use saihai_connect::forge::testing::{ForgeServer, ForgeState};

use super::*;

/// Formats the tools of a request with their parameters: `?` marks an optional one, `≤` a maximum.
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

/// Returns valid and invalid calls of every tool.
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
    // A backtracking engine would take far too long for this expression.
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
        error: `pattern` is not a regular expression: regex parse error:
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

    a-write: 1 error
    b-edit: 1 error
    c-bash: 1 error
    d-run-git: 1 error
    4 errors in 4 files
    "#);
    let model = model(&[]);
    let outcome = review_by(&project, &model, "").run().exits(0);
    assert!(outcome.stderr.contains("no agent applies"), "{outcome}");
    assert!(model.asked().is_empty(), "somebody was asked");
}

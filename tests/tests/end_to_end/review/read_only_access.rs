//! Read-only access of review agents.

use std::path::Path;

use saihai_connect::forge::testing::{ForgeServer, ForgeState};
use saihai_tests::{Answer, ApiServer, FakeAgent};
use serde_json::{Value, json};

use super::*;

pub(super) const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_saihai-fake-agent");

fn warnings(outcome: &Outcome) -> Vec<&str> {
    outcome.stderr.lines().filter_map(|line| line.trim().strip_prefix("warning: ")).collect()
}

/// Returns settings for a program that finds nothing and cannot enforce read-only access.
fn loose(settings: &str) -> String {
    let answer = r#"{"issues": [], "overall_score": 9}"#;
    let program = format!("program = \"sh\"\nargs = [\"-c\", '''cat > /dev/null; echo '{answer}' ''']\n");
    format!("provider = \"mine\"\n[providers.mine]\nkind = \"command\"\n{program}{settings}")
}

// R-39
#[test]
fn programs_review_with_what_only_looks_and_whatever_changes_all_the_same_is_named_by_phase() {
    let tools = "allowed_tools = [\"file_read\", \"git_read\"]\n";
    let early = format!("{tools}phase = \"early\"\n");
    let project = reviewed_by(&[("a", &early), ("b", tools), ("c", "phase = \"final\"\n")]);
    let answer = |writes: Value| json!({"structured": {"issues": [], "overall_score": 9}, "writes": writes});
    let answers = json!([
        answer(json!({"kept.py": "2\n"})),
        answer(json!({".gitignore": "x\n", "new.py": "3\n"})),
        answer(json!({})),
    ]);
    let fake = FakeAgent::install(&project, Path::new(FAKE_AGENT), &["claude"], &answers);
    let outcome = fake.saihai(["review", "--provider", "claude"]).run().exits(0);
    let given: Vec<String> = fake.calls().iter().filter_map(|call| call.after("--tools")).collect();
    assert_eq!(given, ["Read,Glob,LS,Grep", "Read,Glob,LS,Grep", ""]);
    let sources: Vec<String> =
        fake.calls().iter().filter_map(|call| call.after("--setting-sources")).collect();
    assert_eq!(sources, ["user"; 3], "the change could bring hooks along");
    let expected = [
        "agents review without `git_diff`, `git_log`, `git_show` and `git_blame`: `claude` does not offer them to read-only agents",
        "files changed while phase `early` reviewed them: `kept.py`",
        "files changed while phase `main` reviewed them: `.gitignore`",
    ];
    assert_eq!(warnings(&outcome), expected, "{outcome}");

    // Saihai does not ask an agent without enforced read-only access unless the settings allow it.
    let settings = "../home/.config/saihai/config.toml";
    project.write(settings, loose(""));
    insta::assert_snapshot!(seen(&project.saihai(["review"]).run().exits(2)), @"
    error[provider/cannot-enforce]: provider `mine` cannot enforce `readonly`, which `a` requires
      = help: if the program enforces it itself, set `[providers.mine] honours`; to allow it anyway, set `allow_unconfined = true` in `[review]`
    ? 2
    ");
    assert_eq!(project.begun().len(), 1);
    project.write(settings, loose("[review]\nallow_unconfined = true\n"));
    project.saihai(["review"]).run().exits(0);
}

const TOKEN: &str = "canary-token-0816";

// Saihai reads the forge with a token that no model sees and no file stores
#[test]
fn issues_and_pull_requests_are_looked_at_for_a_model_that_never_sees_the_token() {
    let mut state = ForgeState::default();
    state.issue(3, "It leaks", &["bug"]).body = "Nobody closes the file.".to_owned();
    let forge = ForgeServer::start(state);
    let project = reviewed_by(&[("a", "allowed_tools = [\"gh_read\"]\n")]);
    let answer = r#"{"issues": [], "overall_score": 9}"#;
    let server =
        ApiServer::start(|_| [Answer::tool("issue_view", json!({"number": 3})), Answer::text(answer)]);
    let settings = format!(
        "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n[work]\nrepo = \"me/tool\"\n",
        server.url()
    );
    project.write("../home/.config/saihai/config.toml", settings);
    let review = project.saihai(["review", "--json"]).env("OPENAI_API_KEY", "sk-of-the-test");
    let review = review.env("GITHUB_API_URL", forge.url()).env("GITHUB_TOKEN", TOKEN);
    let outcome = review.run().exits(0);
    assert_eq!(statuses(&report(&outcome)), ["a success"], "{outcome}");
    let requests = server.asked();
    let offered: Vec<_> = requests[0].body["tools"].as_array().expect("tools").iter().collect();
    let offered: Vec<_> =
        offered.iter().map(|tool| tool["function"]["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(offered, ["pr_view", "issue_view"]);
    let told = requests[1].body.to_string();
    assert!(told.contains("#3 It leaks") && told.contains("Nobody closes the file."), "{told}");
    assert!(requests.iter().all(|request| !request.body.to_string().contains(TOKEN)));
    assert!(!project.snapshot_contains(TOKEN), "the token was kept");
    assert_eq!(forge.writes(), [""; 0]);
}

// The web is off unless the settings enable it. Even then, addresses of this machine stay unreachable
#[test]
fn a_page_is_fetched_only_where_the_settings_open_the_web() {
    let answer = r#"{"issues": [], "overall_score": 9}"#;
    let fetch = || Answer::tool("web_fetch", json!({"url": "https://127.0.0.1:1/"}));
    let tools = "allowed_tools = [\"file_read\", \"web_fetch\"]\n";
    let reviewed = |web: bool| {
        let project = reviewed_by(&[("a", tools)]);
        let server = ApiServer::start(|_| [fetch(), Answer::text(answer)]);
        let settings = format!(
            "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n[review]\nweb = {web}\n",
            server.url()
        );
        project.write("../home/.config/saihai/config.toml", settings);
        let outcome = project.saihai(["review"]).env("OPENAI_API_KEY", "sk-of-the-test").run().exits(0);
        let warned = warnings(&outcome).join("\n");
        (warned, server.asked()[1].body["messages"].to_string())
    };
    let (warned, told) = reviewed(false);
    assert_eq!(
        warned,
        "agents review without `web_fetch`: `openai` does not offer them to read-only agents; `web_fetch` needs `web = true` in `[review]`"
    );
    assert!(told.contains("there is no tool `web_fetch`; known: read_file, list_files, grep"), "{told}");
    let (warned, told) = reviewed(true);
    assert_eq!(warned, "");
    assert!(told.contains("`127.0.0.1` is not on the public web"), "{told}");
}

// An API agent cannot read ignored files, regardless of the ignore list that names them
#[test]
fn a_model_reads_nothing_that_the_users_own_list_makes_git_ignore() {
    let project = reviewed_by(&[("a", "allowed_tools = [\"file_read\"]\n")]);
    project.write("../home/.config/git/ignore", "*.key\n");
    project.write(".git/info/exclude", "*.secret\n");
    project
        .write("id.key", "canary-key\n")
        .write("db.secret", "canary-secret\n")
        .write("notes", "canary-notes\n");
    let read = |path: &str| Answer::tool("read_file", json!({ "path": path }));
    let list = || Answer::tool("list_files", json!({}));
    let answer = Answer::text(r#"{"issues": [], "overall_score": 9}"#);
    let server = ApiServer::start(|_| [read("id.key"), read("db.secret"), read("notes"), list(), answer]);
    let settings = format!(
        "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n",
        server.url()
    );
    project.write("../home/.config/saihai/config.toml", settings);
    project.saihai(["review"]).env("OPENAI_API_KEY", "sk-of-the-test").run().exits(0);
    let sent = server.asked().last().expect("a request").body.to_string();
    for path in ["id.key", "db.secret"] {
        assert!(sent.contains(&format!("`{path}` is ignored by git and stays unread")), "{sent}");
        assert!(!sent.contains(&format!("{path}\\n")), "`{path}` is listed: {sent}");
    }
    assert!(sent.contains("canary-notes") && sent.contains("notes\\n"), "{sent}");
    assert!(!sent.contains("canary-key") && !sent.contains("canary-secret"), "{sent}");
}

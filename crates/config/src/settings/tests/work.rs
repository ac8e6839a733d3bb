use saihai_model::{IssueSource, MergeMethod, RepositoryName};

use super::*;

#[test]
fn every_key_of_work_is_read() {
    let text = r#"
        [work]
        definition = "default"
        definitions = { bug = "tdd", docs = "docs" }
        source = "github"
        from = "todo"
        repo = "me/tool"
        api = "https://github.example.com/api/v3"
        forge = "github"
        remote = "upstream"
        base = "next"
        branch_prefix = "work/"
        jobs = 4
        gates = ["before-pr", "pre-loop"]
        gate_timeout = "2h"
        pull_request = false
        draft = true
        merge = true
        merge_method = "squash"
        checks_timeout = "5m"
        merge_without_checks = true
        verify = ["cargo", "test"]
        worktree_root = "../trees"
        copy_files = [".env"]
        labels = false
        label_prefix = "bot"
        comments = "trusted"
        cleanup = "never"
        budget = { usd = 5 }
        budget_per_issue = { turns = 40 }
        every = "15s"
    "#;
    let work = World { trust_project: true, ..World::default() }.project(text).settings().work;
    let expected = WorkSettings {
        definition: Some("default".to_owned()),
        definitions: [("bug", "tdd"), ("docs", "docs")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
        source: Some(IssueSource::Github),
        from: "/p/todo".into(),
        repo: RepositoryName::parse("me/tool"),
        api: "https://github.example.com/api/v3".to_owned(),
        forge: Some(ForgeKind::Github),
        remote: "upstream".to_owned(),
        base: Some("next".to_owned()),
        branch_prefix: "work/".to_owned(),
        jobs: 4,
        gates: vec![WorkGate::PreLoop, WorkGate::BeforePr],
        gate_timeout: Some(Millis::seconds(7200)),
        pull_request: false,
        draft: true,
        merge: true,
        merge_method: MergeMethod::Squash,
        checks_timeout: Millis::seconds(300),
        merge_without_checks: true,
        verify: Some(vec!["cargo".to_owned(), "test".to_owned()]),
        worktree_root: "/p/../trees".into(),
        copy_files: vec![".env".to_owned()],
        labels: false,
        label_prefix: "bot".to_owned(),
        comments: Comments::Trusted,
        cleanup: CleanUp::Never,
        budget: Budget { usd: Usd::from_dollars(5.0), ..Budget::default() },
        budget_per_issue: Budget { turns: Some(40), ..Budget::default() },
        every: Millis::seconds(15),
    };
    assert_eq!(work, expected);
}

#[test]
fn what_is_not_said_of_work_has_its_default_and_paths_stand_below_the_project() {
    let work = World::default().settings().work;
    assert_eq!(
        work,
        WorkSettings {
            from: "/p/.saihai/issues".into(),
            worktree_root: "/p/.worktrees".into(),
            ..WorkSettings::default()
        }
    );
    let moved = World::default().variable("GITHUB_API_URL", "https://ghe.example/api/v3").settings().work;
    assert_eq!(moved.api, "https://ghe.example/api/v3");
    let both = World::default()
        .variable("GITHUB_API_URL", "https://ghe.example/api/v3")
        .user("[work]\napi = \"http://127.0.0.1:8080\"\n")
        .settings();
    assert_eq!(both.work.api, "http://127.0.0.1:8080");
    assert_snapshot!(origin(&both, "work.api"), @r#"work.api = "http://127.0.0.1:8080" (/home/me/.config/saihai/config.toml:2)"#);
}

#[test]
fn a_flag_of_work_wins_and_is_shown_as_the_origin() {
    let settings = World::default().project("[work]\njobs = 2\n").flag("--jobs", "work.jobs", "3").settings();
    assert_eq!(settings.work.jobs, 3);
    assert_snapshot!(origin(&settings, "work.jobs"), @"work.jobs = 3 (--jobs)");
    assert_snapshot!(World::default().flag("--jobs", "work.jobs", "0").wrong(), @"
    error[settings/bad-value]: `jobs` must be between 1 and 256, not `0`
    --> --jobs:1:1
      |
    1 | 0
      | ^ not allowed
    ");
}

#[test]
fn every_wrong_value_of_work_is_told_with_its_place() {
    let wrong = World::default().user(
        "[work]\nrepo = \"tool\"\napi = \"http://example.org\"\nbranch_prefix = \"my work/\"\nbase = \"-x\"\nremote = \"\"\nlabel_prefix = \"a,b\"\nforge = \"local\"\nmerge_method = \"squash\"\n",
    );
    assert_snapshot!(wrong.wrong(), @r#"
    error[settings/bad-value]: `repo` cannot be `tool`: it is not `OWNER/NAME`
    --> /home/me/.config/saihai/config.toml:2:8
      |
    2 | repo = "tool"
      |        ^^^^^^ not allowed
      = help: write `repo = "me/tool"`

    error[settings/bad-value]: `api` cannot be `http://example.org`: it would send a token without encryption
    --> /home/me/.config/saihai/config.toml:3:7
      |
    3 | api = "http://example.org"
      |       ^^^^^^^^^^^^^^^^^^^^ not allowed
      = help: write `https://HOST`; `http:` is for this machine alone

    error[settings/bad-value]: `branch_prefix` cannot be `my work/`: `my work/issue-1` is not a branch name: it must not contain a space, a control character or `~`, `^`, `:`, `?`, `*`, `[`, `\`
    --> /home/me/.config/saihai/config.toml:4:17
      |
    4 | branch_prefix = "my work/"
      |                 ^^^^^^^^^^ not allowed
      = help: write `feature/`

    error[settings/bad-value]: `base` cannot be `-x`: it is not a branch name: it begins with `-`
    --> /home/me/.config/saihai/config.toml:5:8
      |
    5 | base = "-x"
      |        ^^^^ not allowed
      = help: write the branch alone, such as `main`

    error[settings/bad-value]: `remote` cannot be ``: it is not a remote name: it is empty
    --> /home/me/.config/saihai/config.toml:6:10
      |
    6 | remote = ""
      |          ^^ not allowed
      = help: `git remote` lists the remotes

    error[settings/bad-value]: `label_prefix` cannot be `a,b`: it must not contain a comma, a colon or control characters
    --> /home/me/.config/saihai/config.toml:7:16
      |
    7 | label_prefix = "a,b"
      |                ^^^^^ not allowed
      = help: write a word, such as `saihai`

    error[settings/bad-value]: `merge_method` cannot be `squash`: the forge `local` supports only `merge`
    --> /home/me/.config/saihai/config.toml:9:16
      |
    9 | merge_method = "squash"
      |                ^^^^^^^^ not allowed
    "#);
}

#[test]
fn every_wrong_kind_of_work_is_told_with_its_place() {
    let wrong = World::default().user(
        "[work]\ngates = [\"before-pull\"]\nverify = \"cargo test\"\njobs = \"two\"\nevery = \"1s\"\nsource = \"jira\"\nmerge = \"yes\"\nbranch_prefx = \"\"\n",
    );
    assert_snapshot!(wrong.wrong(), @r#"
    error[settings/bad-value]: `gates[0]` must be `pre-loop`, `post-completion` or `before-pr`, not `before-pull`
    --> /home/me/.config/saihai/config.toml:2:10
      |
    2 | gates = ["before-pull"]
      |          ^^^^^^^^^^^^^ not one of them

    error[settings/bad-type]: `verify` must be a list of text, not text
    --> /home/me/.config/saihai/config.toml:3:10
      |
    3 | verify = "cargo test"
      |          ^^^^^^^^^^^^ text
      = help: write `["cargo", "test"]`

    error[settings/bad-type]: `jobs` must be a whole number, not text
    --> /home/me/.config/saihai/config.toml:4:8
      |
    4 | jobs = "two"
      |        ^^^^^ text
      = help: write a whole number, between 1 and 256

    error[settings/bad-value]: `work.every` must be at least `15s`
    --> /home/me/.config/saihai/config.toml:5:9
      |
    5 | every = "1s"
      |         ^^^^ not allowed

    error[settings/bad-value]: `source` must be `folder` or `github`, not `jira`
    --> /home/me/.config/saihai/config.toml:6:10
      |
    6 | source = "jira"
      |          ^^^^^^ not one of them

    error[settings/bad-type]: `merge` must be `true` or `false`, not text
    --> /home/me/.config/saihai/config.toml:7:9
      |
    7 | merge = "yes"
      |         ^^^^^ text
      = help: write `true`

    error[settings/unknown-key]: unknown key `branch_prefx`
    --> /home/me/.config/saihai/config.toml:8:1
      |
    8 | branch_prefx = ""
      | ^^^^^^^^^^^^ not a key of `work`
      = help: did you mean `branch_prefix`?
    "#);
}

#[test]
fn plain_http_is_for_this_machine_alone() {
    let check = |api: &str, right: bool| {
        let wrong = World::default().user(&format!("[work]\napi = {api:?}\n")).wrong();
        assert_eq!(wrong.is_empty(), right, "{api}: {wrong}");
    };
    for right in [
        "https://api.github.com",
        "http://127.0.0.1:80",
        "http://localhost:3000/api",
        "http://[::1]:9",
        "http://127.9.9.9",
    ] {
        check(right, true);
    }
    for wrong in [
        "http://example.org",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "http://127.0.0.1@example.org",
        "https://me:secret@example.org",
        "ftp://127.0.0.1",
        "api.github.com",
        "https://",
        "https://example.org/?q",
    ] {
        check(wrong, false);
    }
}

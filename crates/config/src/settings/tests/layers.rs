use super::*;

#[test]
fn later_layers_win_key_by_key_and_say_so() {
    // K-30, K-case 9
    let world = World::default()
        .user("provider = \"claude\"\n[retry]\ntransient = 9\ncrashed = 3\n")
        .project("provider = \"codex\"\n\n[retry]\ncrashed = 5\n")
        .variable("SAIHAI_PROVIDER", "script")
        .variable("SAIHAI_RETRY__MAX_WAIT", "2h")
        .flag("--run-timeout", "limits.run_timeout", "90s");
    let settings = world.settings();
    assert_eq!(settings.provider, Some(ProviderName::from("script")));
    let retry = Retry { transient: 9, crashed: 5, max_wait: Millis::seconds(7200), ..Retry::default() };
    assert_eq!(settings.retry(), retry);
    assert_eq!(settings.limits.run_timeout, Some(Millis::seconds(90)));
    assert_snapshot!(origin(&settings, "provider"), @r#"provider = "script" (SAIHAI_PROVIDER)"#);
    assert_snapshot!(origin(&settings, "retry"), @r#"
    retry.transient = 9 (/home/me/.config/saihai/config.toml:3)
    retry.rate_limited = 6 (default)
    retry.crashed = 5 (.saihai/config.toml:4)
    retry.max_wait = "2h" (SAIHAI_RETRY__MAX_WAIT)
    retry.short_wait = "90s" (default)
    retry.on_quota = "park" (default)
    "#);
    assert_snapshot!(origin(&settings, "limits"), @r#"
    limits.hard_iterations = 100 (default)
    limits.run_timeout = "90s" (--run-timeout)
    "#);
}

#[test]
fn without_any_file_the_defaults_of_the_tables_hold() {
    // K-30: the defaults in the tables match the effective ones.
    let settings = World::default().settings();
    let work = WorkSettings {
        from: "/p/.saihai/issues".into(),
        worktree_root: "/p/.worktrees".into(),
        ..WorkSettings::default()
    };
    assert_eq!(settings, Settings { reports_dir: "/p/.saihai/reports".into(), work, ..Settings::default() });
    let listed: String = settings.list().iter().map(|one| format!("{} = {}\n", one.key, one.value)).collect();
    assert_snapshot!(listed, @r#"
    language = "en"
    strict = false
    reports_dir = ".saihai/reports"
    default_session = "refresh"
    judge_fallback = true
    verdict = "auto"
    checks = []
    sandbox_required = false
    sandbox_network = "open"
    sandbox_read = []
    sandbox_write = []
    limits.hard_iterations = 100
    retry.transient = 4
    retry.rate_limited = 6
    retry.crashed = 2
    retry.max_wait = "6h"
    retry.short_wait = "90s"
    retry.on_quota = "park"
    telemetry.otel = false
    mcp.gates = "person"
    review.concurrency = 4
    review.timeout = "600s"
    review.max_turns = 30
    review.fail_on = "important"
    review.fail_scope = "file"
    review.min_confidence = 0
    review.max_diff_bytes = 300000
    review.max_chunks = 1
    review.require_all = false
    review.cache = true
    review.web = false
    review.allow_unconfined = false
    work.from = ".saihai/issues"
    work.remote = "origin"
    work.branch_prefix = "feature/"
    work.jobs = 1
    work.gates = ["pre-loop","post-completion","before-pr"]
    work.pull_request = true
    work.draft = false
    work.merge = false
    work.merge_method = "merge"
    work.checks_timeout = "60m"
    work.merge_without_checks = false
    work.worktree_root = ".worktrees"
    work.copy_files = []
    work.labels = true
    work.label_prefix = "saihai"
    work.comments = "none"
    work.cleanup = "delivered"
    work.every = "60s"
    distributed.namespace = "default"
    distributed.queue = "saihai"
    distributed.slots = 1
    distributed.on_busy = "reject"
    "#);
    let written = "strict = false\nreports_dir = \".takt/reports\"\ndefault_session = \"refresh\"\njudge_fallback = true\n[limits]\nhard_iterations = 100\n[retry]\ntransient = 4\nrate_limited = 6\ncrashed = 2\nmax_wait = \"6h\"\nshort_wait = \"90s\"\non_quota = \"park\"\n[providers.claude]\nargs = []\nenv_pass = []\nturn_timeout = \"60m\"\nidle_timeout = \"15m\"\n";
    let said = World::default().user(written).settings();
    assert_eq!(said.retry(), settings.retry());
    assert_eq!(said.limits, settings.limits);
    assert_eq!(said.short_wait, settings.short_wait);
    assert_eq!(said.provider("claude"), settings.provider("claude"));
    assert_eq!(
        (said.strict, said.default_session, said.judge_fallback),
        (settings.strict, settings.default_session, settings.judge_fallback)
    );
}

#[test]
fn everything_the_kernel_needs_is_typed() {
    let world = World::default().user(
        "language = \"ja\"\nstrict = true\nmax_permission = \"edit-only\"\nreports_dir = \"out\"\ndefault_session = \"continue\"\njudge_fallback = false\n[limits]\nhard_iterations = 7\nrun_timeout = \"2h\"\nconcurrency = 3\n[budget]\nusd = 2.5\ntokens = 1000\nturns = 4\nminutes = 1.5\n[retry]\non_quota = \"fail\"\nshort_wait = 5\n",
    );
    let settings = world.settings();
    assert_eq!(settings.language, Language::Japanese);
    assert!(settings.strict && !settings.judge_fallback);
    assert_eq!(settings.max_permission, Some(Permission::Edit { commands: false }));
    assert_eq!(settings.reports_dir, Path::new("/home/me/.config/saihai/out"));
    assert_eq!(settings.default_session, SessionDefault::Continue);
    let limits =
        LimitSettings { hard_iterations: 7, run_timeout: Some(Millis::seconds(7200)), concurrency: Some(3) };
    assert_eq!(settings.limits, limits);
    let budget = Budget {
        usd: Some(Usd(2_500_000)),
        tokens: Some(1000),
        turns: Some(4),
        time: Some(Millis::seconds(90)),
    };
    assert_eq!(settings.budget, budget);
    assert!(!settings.retry().wait_for_quota);
    assert_eq!(settings.short_wait, Millis::seconds(5));
}

#[test]
fn paths_are_relative_to_where_they_were_written() {
    // K-6
    let file = |world: World| world.settings().script_file().unwrap();
    let text = "[providers.script]\nfile = \"s.yaml\"\n";
    assert_eq!(file(World::default().user(text)), Path::new("/home/me/.config/saihai/s.yaml"));
    let trusted = || World::default().variable("SAIHAI_TRUST_PROJECT", "1");
    assert_eq!(file(trusted().project(text)), Path::new("/p/s.yaml"));
    let home = "[providers.script]\nfile = \"~/s.yaml\"\n";
    assert_eq!(file(trusted().project(home)), Path::new("/home/me/s.yaml"));
    assert_eq!(file(World::default().variable("SAIHAI_SCRIPT", "/x/s.yaml")), Path::new("/x/s.yaml"));
}

#[test]
fn the_language_is_that_of_the_locale_unless_it_is_set() {
    let language = |world: World| world.settings().language;
    assert_eq!(language(World::default()), Language::English);
    assert_eq!(language(World::default().variable("LANG", "ja_JP.UTF-8")), Language::Japanese);
    assert_eq!(
        language(World::default().variable("LANG", "ja_JP").variable("LC_ALL", "C")),
        Language::English
    );
    assert_eq!(
        language(World::default().variable("LANG", "ja_JP").user("language = \"en\"")),
        Language::English
    );
}

#[test]
fn variables_of_providers_find_their_names_again() {
    let world = World::default()
        .user("[providers.my-agent]\nkind = \"command\"\nprogram = \"agent\"\n")
        .variable("SAIHAI_PROVIDERS__MY_AGENT__MODEL", "large")
        .variable("SAIHAI_PROVIDERS__CLAUDE__ARGS", "[\"--x\", \"y\"]")
        .variable("SAIHAI_STRICT", "1");
    let settings = world.settings();
    assert_eq!(settings.model_of(&"my-agent".into()), Some("large".to_owned()));
    assert_eq!(settings.provider("claude").unwrap().args, ["--x", "y"]);
    assert!(settings.strict);
}

#[test]
fn an_unknown_variable_is_warned_about_and_those_of_agents_are_left_alone() {
    // K-30
    let world = World::default()
        .variable("SAIHAI_RETRY__MAX_WIAT", "2h")
        .variable("SAIHAI_RETRY", "2h")
        .variable("SAIHAI_RUN", "x")
        .variable("SAIHAI_RUN_DIRECTORY", "/x")
        .variable("SAIHAI_TURN", "x")
        .variable("SAIHAI_PERMISSION", "full")
        .variable("SAIHAI_TRUST_PROJECT", "0")
        .variable("SAIHAI_PROVIDER", "");
    assert_snapshot!(world.wrong(), @"
    warning[settings/unknown-key]: the variable `SAIHAI_RETRY__MAX_WIAT` is unknown and has no effect
      = help: did you mean `SAIHAI_RETRY__MAX_WAIT`?

    warning[settings/unknown-key]: the variable `SAIHAI_RETRY` is unknown and has no effect
    ");
}

#[test]
fn wrong_variables_and_flags_are_shown_like_files() {
    let world = World::default()
        .variable("SAIHAI_RETRY__MAX_WAIT", "soon")
        .variable("SAIHAI_LIMITS__CONCURRENCY", "many")
        .variable("SAIHAI_PROVIDERS__CLAUDE__ARGS", "--x")
        .variable("SAIHAI_PROVIDER", "cluade")
        .flag("--max-permission", "max_permission", "full");
    assert_snapshot!(world.wrong(), @r#"
    error[settings/bad-value]: `max_permission` must be `readonly`, `edit-only` or `edit`, not `full`
    --> --max-permission:1:1
      |
    1 | full
      | ^^^^ not one of them

    error[settings/bad-type]: `concurrency` must be a whole number, not text
    --> SAIHAI_LIMITS__CONCURRENCY:1:1
      |
    1 | many
      | ^^^^ text
      = help: write a whole number, between 1 and 1024

    error[settings/unknown-provider]: no provider is named `cluade`
    --> SAIHAI_PROVIDER:1:1
      |
    1 | cluade
      | ^^^^^^ `provider`
      = help: did you mean `claude`?

    error[settings/syntax]: this is not valid JSON: invalid number
    --> SAIHAI_PROVIDERS__CLAUDE__ARGS:1:1
      |
    1 | --x
      | ^

    error[settings/bad-value]: `max_wait` is not a duration: `soon`
    --> SAIHAI_RETRY__MAX_WAIT:1:1
      |
    1 | soon
      | ^^^^ here
      = help: a duration is written as "90s", "30m", "2h" or a whole number of seconds
    "#);
}

use std::path::Path;

use insta::assert_snapshot;
use saihai_model::{Budget, Millis, Permission, ProviderName, Retry, Usd};

use super::*;
use crate::diagnostic::{Colour, to_human};
use crate::source::MemorySource;

const USER: &str = "/home/me/.config/saihai/config.toml";
const PROJECT: &str = "/p/.saihai/config.toml";

/// A user, a project and an environment to load settings from.
#[derive(Default)]
struct World {
    source: MemorySource,
    variables: Vec<(String, String)>,
    flags: Vec<SettingFlag>,
    trust_project: bool,
}

impl World {
    fn user(mut self, text: &str) -> Self {
        self.source.add(USER, text);
        self
    }

    fn project(mut self, text: &str) -> Self {
        self.source.add(PROJECT, text);
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn flag(mut self, flag: &str, key: &str, value: &str) -> Self {
        self.flags.push(SettingFlag { flag: flag.to_owned(), key: key.to_owned(), value: value.to_owned() });
        self
    }

    fn load(&self) -> (Settings, String) {
        let mut diagnostics = Diagnostics::new();
        let home = ("HOME".to_owned(), "/home/me".to_owned());
        let variables = Variables::new(self.variables.iter().cloned().chain([home]));
        let user = variables.user_directory();
        let from = SettingsFrom {
            root: Path::new("/p"),
            user: user.as_deref(),
            current: Path::new("/p"),
            variables: &variables,
            flags: &self.flags,
            trust_project: self.trust_project,
        };
        let settings = Settings::load(&self.source, &from, &mut diagnostics);
        (settings, to_human(&diagnostics.sorted(), Colour::Never))
    }

    /// The settings, where nothing is wrong.
    fn settings(&self) -> Settings {
        let (settings, wrong) = self.load();
        assert_eq!(wrong, "");
        settings
    }

    fn wrong(&self) -> String {
        self.load().1
    }
}

fn origin(settings: &Settings, key: &str) -> String {
    let listed = settings.find(key).unwrap();
    let lines = listed.iter().map(|one| format!("{} = {} ({})\n", one.key, one.value, one.origin));
    lines.collect()
}

mod layers {
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
        retry.short_wait = "60s" (default)
        retry.on_quota = "park" (default)
        "#);
        assert_snapshot!(origin(&settings, "limits"), @r#"
        limits.hard_iterations = 100 (default)
        limits.run_timeout = "90s" (--run-timeout)
        "#);
    }

    #[test]
    fn without_any_file_the_defaults_of_the_tables_hold() {
        // K-30: what the tables publish is what is in force.
        let settings = World::default().settings();
        assert_eq!(settings, Settings { reports_dir: "/p/.takt/reports".into(), ..Settings::default() });
        let listed: String =
            settings.list().iter().map(|one| format!("{} = {}\n", one.key, one.value)).collect();
        assert_snapshot!(listed, @r#"
        language = "en"
        strict = false
        reports_dir = ".takt/reports"
        default_session = "refresh"
        judge_fallback = true
        limits.hard_iterations = 100
        retry.transient = 4
        retry.rate_limited = 6
        retry.crashed = 2
        retry.max_wait = "6h"
        retry.short_wait = "60s"
        retry.on_quota = "park"
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
        let written = "strict = false\nreports_dir = \".takt/reports\"\ndefault_session = \"refresh\"\njudge_fallback = true\n[limits]\nhard_iterations = 100\n[retry]\ntransient = 4\nrate_limited = 6\ncrashed = 2\nmax_wait = \"6h\"\nshort_wait = \"60s\"\non_quota = \"park\"\n[providers.claude]\nargs = []\nenv_pass = []\nturn_timeout = \"60m\"\nidle_timeout = \"15m\"\n";
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
        let limits = LimitSettings {
            hard_iterations: 7,
            run_timeout: Some(Millis::seconds(7200)),
            concurrency: Some(3),
        };
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
        assert_eq!(file(World::default().project(text)), Path::new("/p/s.yaml"));
        assert_eq!(
            file(World::default().project("[providers.script]\nfile = \"~/s.yaml\"\n")),
            Path::new("/home/me/s.yaml")
        );
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
            .variable("SAIHAI_TURN", "x")
            .variable("SAIHAI_PERMISSION", "full")
            .variable("SAIHAI_TRUST_PROJECT", "0")
            .variable("SAIHAI_PROVIDER", "");
        assert_snapshot!(world.wrong(), @"
        warning[settings/unknown-key]: the variable `SAIHAI_RETRY__MAX_WIAT` is not known and has no effect
          = help: did you mean `SAIHAI_RETRY__MAX_WAIT`?

        warning[settings/unknown-key]: the variable `SAIHAI_RETRY` is not known and has no effect
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

        error[settings/unknown-provider]: no provider is named `cluade`
        --> SAIHAI_PROVIDER:1:1
          |
        1 | cluade
          | ^^^^^^ `provider`
          = help: did you mean `claude`?

        error[settings/syntax]: this is not valid JSON: a number cannot be written so
        --> SAIHAI_PROVIDERS__CLAUDE__ARGS:1:1
          |
        1 | --x
          | ^

        error[settings/bad-value]: `max_wait` is no duration: `soon`
        --> SAIHAI_RETRY__MAX_WAIT:1:1
          |
        1 | soon
          | ^^^^ here
          = help: a duration is written as "90s", "30m", "2h" or a whole number of seconds
        "#);
    }
}

mod wrong {
    use super::*;

    #[test]
    fn every_misspelt_key_is_an_error_with_a_suggestion() {
        // K-case 10, K-30
        let world = World::default().project(
            "providr = \"claude\"\n[retry]\nmax_wiat = \"6h\"\n[providers.claude]\nmodle = \"x\"\n[providers.claude.price]\nper_turn = 1\n[review]\nfail_no = \"critical\"\n[review.agents.code-reviewer]\nenable = true\n[work]\njob = 2\n[distributed]\nserv = \"x\"\n[budget]\neuro = 3\n",
        );
        assert_snapshot!(world.wrong(), @r#"
        error[settings/unknown-key]: unknown key `providr`
        --> .saihai/config.toml:1:1
          |
        1 | providr = "claude"
          | ^^^^^^^ not a key of the settings
          = help: did you mean `provider`?

        error[settings/unknown-key]: unknown key `max_wiat`
        --> .saihai/config.toml:3:1
          |
        3 | max_wiat = "6h"
          | ^^^^^^^^ not a key of `retry`
          = help: did you mean `max_wait`?

        error[settings/unknown-key]: unknown key `modle`
        --> .saihai/config.toml:5:1
          |
        5 | modle = "x"
          | ^^^^^ not a key of a provider
          = help: did you mean `model`?

        error[settings/unknown-key]: unknown key `per_turn`
        --> .saihai/config.toml:7:1
          |
        7 | per_turn = 1
          | ^^^^^^^^ not a key of a price
          = help: a price has the keys `input`, `output`, `cached` and `turn`

        error[settings/unknown-key]: unknown key `fail_no`
        --> .saihai/config.toml:9:1
          |
        9 | fail_no = "critical"
          | ^^^^^^^ not a key of `review`
          = help: did you mean `fail_on`?

        error[settings/unknown-key]: unknown key `enable`
         --> .saihai/config.toml:11:1
           |
        11 | enable = true
           | ^^^^^^ not a key of a review agent's settings
           = help: did you mean `enabled`?

        error[settings/unknown-key]: unknown key `job`
         --> .saihai/config.toml:13:1
           |
        13 | job = 2
           | ^^^ not a key of `work`
           = help: did you mean `jobs`?

        error[settings/unknown-key]: unknown key `serv`
         --> .saihai/config.toml:15:1
           |
        15 | serv = "x"
           | ^^^^ not a key of `distributed`
           = help: `distributed` has the keys `server`, `namespace`, `queue`, `slots`, `blobs` and `on_busy`

        error[settings/unknown-key]: unknown key `euro`
         --> .saihai/config.toml:17:1
           |
        17 | euro = 3
           | ^^^^ not a key of a budget
           = help: a budget has the keys `usd`, `tokens`, `turns` and `minutes`
        "#);
    }

    #[test]
    fn wrong_types_and_values_are_told_with_what_is_allowed() {
        let world = World::default().user(
            "language = \"fr\"\nstrict = \"yes\"\nmax_permission = \"full\"\n[limits]\nhard_iterations = 0\nconcurrency = 2000\n[budget]\nusd = 0\ntokens = 1.5\nminutes = 1e30\n[retry]\ntransient = 101\nmax_wait = \"forever\"\non_quota = \"wait\"\n",
        );
        assert_snapshot!(world.wrong(), @r#"
        error[settings/bad-value]: `language` must be `ja` or `en`, not `fr`
        --> /home/me/.config/saihai/config.toml:1:12
          |
        1 | language = "fr"
          |            ^^^^ not one of them

        error[settings/bad-type]: `strict` must be `true` or `false`, not text
        --> /home/me/.config/saihai/config.toml:2:10
          |
        2 | strict = "yes"
          |          ^^^^^ text
          = help: write `true`

        error[settings/bad-value]: `max_permission` must be `readonly`, `edit-only` or `edit`, not `full`
        --> /home/me/.config/saihai/config.toml:3:18
          |
        3 | max_permission = "full"
          |                  ^^^^^^ not one of them

        error[settings/bad-value]: `hard_iterations` must be between 1 and 100000, not `0`
        --> /home/me/.config/saihai/config.toml:5:19
          |
        5 | hard_iterations = 0
          |                   ^ not allowed

        error[settings/bad-value]: `concurrency` must be between 1 and 1024, not `2000`
        --> /home/me/.config/saihai/config.toml:6:15
          |
        6 | concurrency = 2000
          |               ^^^^ not allowed

        error[settings/bad-value]: `usd` must be a number greater than 0, not `0`
        --> /home/me/.config/saihai/config.toml:8:7
          |
        8 | usd = 0
          |       ^ not allowed

        error[settings/bad-type]: `tokens` must be a whole number, not a number
        --> /home/me/.config/saihai/config.toml:9:10
          |
        9 | tokens = 1.5
          |          ^^^ a number

        error[settings/bad-value]: `minutes` is an amount that cannot be counted
         --> /home/me/.config/saihai/config.toml:10:11
           |
        10 | minutes = 1e30
           |           ^^^^ not allowed

        error[settings/bad-value]: `transient` must be between 1 and 100, not `101`
         --> /home/me/.config/saihai/config.toml:12:13
           |
        12 | transient = 101
           |             ^^^ not allowed

        error[settings/bad-value]: `max_wait` is no duration: `"forever"`
         --> /home/me/.config/saihai/config.toml:13:12
           |
        13 | max_wait = "forever"
           |            ^^^^^^^^^ here
           = help: a duration is written as "90s", "30m", "2h" or a whole number of seconds

        error[settings/bad-value]: `on_quota` must be `park` or `fail`, not `wait`
         --> /home/me/.config/saihai/config.toml:14:12
           |
        14 | on_quota = "wait"
           |            ^^^^^^ not one of them
        "#);
    }

    #[test]
    fn keys_of_later_groups_are_known_and_checked() {
        let right = "[review]\nprovider = \"claude\"\nconcurrency = 4\ntimeout = 600\nfail_on = \"never\"\nbudget = { usd = 1 }\n[review.agents.x]\nenabled = false\n[work]\ndefinition = \"d\"\ndefinitions = { bug = \"fix\" }\nrepo = \"a/b\"\ngates = [\"before-pr\"]\nevery = \"15s\"\nbudget_per_issue = { turns = 3 }\n[distributed]\non_busy = \"queue\"\nslots = 2\n";
        World::default().user(right).settings();
        let wrong = "[review]\nprovider = \"cluade\"\nconcurrency = 65\ntimeout = \"25h\"\nmin_confidence = 101\nbudget = { usd = -1 }\n[review.agents.x]\nprovider = \"nobody\"\n[work]\nsource = \"gitlab\"\njobs = 0\ngates = [\"after\"]\nverify = \"make\"\nevery = \"5s\"\n[distributed]\nslots = \"2\"\n";
        assert_snapshot!(World::default().user(wrong).wrong(), @r#"
        error[settings/unknown-provider]: no provider is named `cluade`
        --> /home/me/.config/saihai/config.toml:2:12
          |
        2 | provider = "cluade"
          |            ^^^^^^^^ `review.provider`
          = help: did you mean `claude`?

        error[settings/bad-value]: `concurrency` must be between 1 and 64, not `65`
        --> /home/me/.config/saihai/config.toml:3:15
          |
        3 | concurrency = 65
          |               ^^ not allowed

        error[settings/bad-value]: `review.timeout` must be at most `24h`
        --> /home/me/.config/saihai/config.toml:4:11
          |
        4 | timeout = "25h"
          |           ^^^^^ not allowed

        error[settings/bad-value]: `min_confidence` must be between 0 and 100, not `101`
        --> /home/me/.config/saihai/config.toml:5:18
          |
        5 | min_confidence = 101
          |                  ^^^ not allowed

        error[settings/bad-value]: `usd` must be a number greater than 0, not `-1`
        --> /home/me/.config/saihai/config.toml:6:18
          |
        6 | budget = { usd = -1 }
          |                  ^^ not allowed

        error[settings/unknown-provider]: no provider is named `nobody`
        --> /home/me/.config/saihai/config.toml:8:12
          |
        8 | provider = "nobody"
          |            ^^^^^^^^ `review.agents.x.provider`
          = help: known are `claude`, `codex`, `opencode`, `gemini`, `copilot`, `acp`, `command`, `anthropic`, `openai` and `script`; others need a table `[providers.NAME]`

        error[settings/bad-value]: `source` must be `folder` or `github`, not `gitlab`
         --> /home/me/.config/saihai/config.toml:10:10
           |
        10 | source = "gitlab"
           |          ^^^^^^^^ not one of them
           = help: did you mean `github`?

        error[settings/bad-value]: `jobs` must be between 1 and 256, not `0`
         --> /home/me/.config/saihai/config.toml:11:8
           |
        11 | jobs = 0
           |        ^ not allowed

        error[settings/bad-value]: `gates[0]` must be `pre-loop`, `post-completion` or `before-pr`, not `after`
         --> /home/me/.config/saihai/config.toml:12:10
           |
        12 | gates = ["after"]
           |          ^^^^^^^ not one of them

        error[settings/bad-type]: `verify` must be a list of text, not text
         --> /home/me/.config/saihai/config.toml:13:10
           |
        13 | verify = "make"
           |          ^^^^^^ text
           = help: write `["make"]`

        error[settings/bad-value]: `work.every` must be at least `15s`
         --> /home/me/.config/saihai/config.toml:14:9
           |
        14 | every = "5s"
           |         ^^^^ not allowed

        error[settings/bad-type]: `slots` must be a whole number, not text
         --> /home/me/.config/saihai/config.toml:16:9
           |
        16 | slots = "2"
           |         ^^^ text
           = help: write `2` without quotes
        "#);
    }

    #[test]
    fn a_file_that_is_no_toml_is_one_error() {
        assert_snapshot!(World::default().project("provider = claude\n[retry\n").wrong(), @"
        error[settings/syntax]: this is not valid TOML: unclosed table, expected `]`
        --> .saihai/config.toml:2:7
          |
        2 | [retry
          |       ^
        ");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_and_a_missing_one_is_nothing() {
        let mut world = World::default();
        world.source.add("/p/.saihai/config.toml/x", "");
        assert_snapshot!(world.wrong(), @"
        error[settings/bad-file]: cannot read `.saihai/config.toml`: it is a directory, not a file
        --> .saihai/config.toml
        ");
    }
}

mod budgets {
    use super::*;

    #[test]
    fn a_budget_has_any_of_four_keys() {
        // K-35
        let all = Budget {
            usd: Some(Usd(5_000_000)),
            tokens: Some(2_000_000),
            turns: Some(40),
            time: Some(Millis::seconds(90 * 60)),
        };
        assert_eq!(parse_budget("usd=5,tokens=2000000,turns=40,minutes=90"), Ok(all));
        assert_eq!(parse_budget(" minutes = 0.5 ").unwrap().time, Some(Millis::seconds(30)));
    }

    #[test]
    fn a_budget_that_cannot_be_meant_names_the_four_keys() {
        // K-case 8
        let wrong = |text: &str| parse_budget(text).unwrap_err().to_string();
        assert_snapshot!(wrong("5"), @"`5` has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas");
        assert_snapshot!(wrong("token=5"), @"`token` is none of the keys `usd`, `tokens`, `turns` and `minutes`; did you mean `tokens`?");
        assert_snapshot!(wrong("usd=1,usd=2"), @"`usd` is given twice");
        assert_snapshot!(wrong("turns=1.5"), @"`1.5` is no value for `turns`; it must be a whole number greater than 0");
        for text in [
            "",
            "usd",
            "usd=",
            "usd=-1",
            "usd=0",
            "usd=nan",
            "usd=inf",
            "usd=1e300",
            "tokens=0",
            "minutes=x",
            "usd=1,",
        ] {
            assert!(parse_budget(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_budget_in_dollars_needs_turns_whose_cost_is_known() {
        // K-35, K-case 8
        let settings = World::default()
            .user("[providers.priced]\nkind = \"codex\"\nprice = { input = 1.25, output = 10 }\n[providers.tool]\nkind = \"command\"\nprogram = \"tool\"\n")
            .settings();
        let budget = Budget { usd: Some(Usd(1_000_000)), ..Budget::default() };
        let check = |names: &[&str]| {
            let names: Vec<ProviderName> = names.iter().map(|name| ProviderName::from(*name)).collect();
            to_human(&settings.check_budget(&budget, &names), Colour::Never)
        };
        assert_eq!(check(&["claude", "opencode", "script", "priced"]), "");
        assert_snapshot!(check(&["codex", "tool"]), @"
        error[provider/no-price]: a budget in `usd` cannot be kept: `codex` does not say what its turns cost
          = help: set `[providers.codex] price`, or give the budget in `tokens`, `turns` or `minutes`

        error[provider/no-price]: a budget in `usd` cannot be kept: `tool` does not say what its turns cost
          = help: set `[providers.tool] price`, or give the budget in `tokens`, `turns` or `minutes`
        ");
        let turns = Budget { turns: Some(1), ..Budget::default() };
        assert!(settings.check_budget(&turns, [&ProviderName::from("codex")]).is_empty());
    }
}

mod discovery {
    use super::*;

    #[test]
    fn the_project_is_the_git_top_level_or_the_nearest_that_holds_its_files() {
        // K-10
        let check = |files: &[&str], directory: &str, expected: &str| {
            let source = MemorySource::new(files.iter().map(|file| (*file, "")));
            assert_eq!(project_root(&source, Path::new(directory)), Path::new(expected), "{files:?}");
        };
        check(&["/a/.git/HEAD", "/a/b/.saihai/config.toml"], "/a/b/c", "/a");
        check(&["/a/b/.git"], "/a/b/c", "/a/b");
        check(&["/a/.takt/pieces/x.yaml", "/a/b/orch.yml"], "/a/b/c", "/a/b");
        check(&["/a/.agent/x/agent.json"], "/a/b", "/a");
        check(&["/a/.hachimoku/agents/x.toml"], "/a/b", "/a");
        check(&["/other/.git/HEAD"], "/a/b", "/a/b");
    }

    #[cfg(not(windows))]
    #[test]
    fn the_user_directory_follows_the_rules_of_the_system() {
        // K-10
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            assert_eq!(Variables::new(pairs).user_directory().as_deref(), expected.map(Path::new));
        };
        check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")], Some("/x/saihai"));
        check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "")], Some("/h/.config/saihai"));
        check(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "relative")], Some("/h/.config/saihai"));
        check(&[], None);
    }
}

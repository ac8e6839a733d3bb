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
      = help: write a whole number, at least 1

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

    error[settings/bad-value]: `max_wait` is not a duration: `"forever"`
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

    error[settings/bad-value]: `review.timeout` must be between `1s` and `24h`
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

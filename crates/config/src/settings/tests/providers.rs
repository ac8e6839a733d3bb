use saihai_model::{Price, Protocol, ProviderKind};

use super::*;

fn provider(text: &str, name: &str) -> ProviderSettings {
    World::default().user(text).settings().provider(name).unwrap()
}

#[test]
fn every_key_of_a_provider_is_read() {
    // C-10
    let text = r#"
[providers.mine]
kind = "command"
program = "/opt/agent"
args = ["--model", "{model}", "{persona_file}"]
model = "m"
env_pass = ["MY_TOKEN"]
env = { MODE = "x" }
system_prompt = "You are."
tools = []
honours = ["readonly", "edit"]
turn_timeout = "5m"
idle_timeout = 0
max_prompt = 1000
fallback = "claude"
price = { input = 1.5, output = 2, cached = 0, turn = 0.1 }
protocol = "json"
"#;
    let expected = ProviderSettings {
        program: Some("/opt/agent".to_owned()),
        args: ["--model", "{model}", "{persona_file}"].map(str::to_owned).to_vec(),
        model: Some("m".to_owned()),
        env_pass: vec!["MY_TOKEN".to_owned()],
        env: IndexMap::from([("MODE".to_owned(), "x".to_owned())]),
        system_prompt: Some("You are.".to_owned()),
        tools: Some(Vec::new()),
        honours: vec!["readonly".to_owned(), "edit".to_owned()],
        turn_timeout: Some(Millis::seconds(300)),
        idle_timeout: None,
        max_prompt: Some(1000),
        fallback: Some("claude".into()),
        price: Price {
            input: Some(Usd(1_500_000)),
            output: Some(Usd(2_000_000)),
            cached: Some(Usd(0)),
            turn: Some(Usd(100_000)),
        },
        protocol: Protocol::Json,
        ..ProviderSettings::new(ProviderKind::Command)
    };
    assert_eq!(provider(text, "mine"), expected);
}

#[test]
fn keys_of_single_kinds_are_read_for_them() {
    // C-10
    assert!(provider("[providers.claude]\nedit_mode = \"acceptEdits\"\n", "claude").accept_edits);
    assert!(provider("[providers.gemini]\ntrust = true\n", "gemini").trust);
    let openai =
        provider("[providers.local]\nkind = \"openai\"\nbase_url = \"http://localhost:8080/v1\"\n", "local");
    assert_eq!(openai.base_url.as_deref(), Some("http://localhost:8080/v1"));
}

#[test]
fn layers_of_one_provider_are_merged_key_by_key() {
    let world = World::default()
        .user("[providers.claude]\nmodel = \"small\"\nturn_timeout = \"1m\"\n[providers.claude.env]\nA = \"1\"\nB = \"1\"\n")
        .project("[providers.claude]\nmodel = \"large\"\n");
    let claude = world.settings().provider("claude").unwrap();
    assert_eq!((claude.model.as_deref(), claude.turn_timeout), (Some("large"), Some(Millis::seconds(60))));
    assert_eq!(claude.env.len(), 2);
}

#[test]
fn fallbacks_reach_the_retry_policy() {
    // C-35
    let settings = World::default().user("[providers.claude]\nfallback = \"codex\"\n").settings();
    assert_eq!(settings.retry().fallback, [(ProviderName::from("claude"), ProviderName::from("codex"))]);
}

#[test]
fn a_misspelt_provider_is_never_another_one() {
    // C-10, Connections case 19
    let text = "provider = \"cluade\"\n[providers.codx]\nmodel = \"x\"\n[providers.mine]\nmodel = \"y\"\n[providers.claude]\nfallback = \"codexx\"\n[providers.other]\nkind = \"gemni\"\n";
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/unknown-provider]: no provider is named `cluade`
    --> /home/me/.config/saihai/config.toml:1:12
      |
    1 | provider = "cluade"
      |            ^^^^^^^^ `provider`
      = help: did you mean `claude`?

    error[settings/unknown-provider]: the provider `codx` is not built in and needs a `kind`
    --> /home/me/.config/saihai/config.toml:3:9
      |
    3 | model = "x"
      |         ^^^ in this table
      = help: did you mean `codex`?

    error[settings/unknown-provider]: the provider `mine` is not built in and needs a `kind`
    --> /home/me/.config/saihai/config.toml:5:9
      |
    5 | model = "y"
      |         ^^^ in this table
      = help: `kind` is one of `claude`, `codex`, `opencode`, `gemini`, `copilot`, `acp`, `command`, `anthropic`, `openai` or `script`

    error[settings/unknown-provider]: no provider is named `codexx`
    --> /home/me/.config/saihai/config.toml:7:12
      |
    7 | fallback = "codexx"
      |            ^^^^^^^^ `providers.claude.fallback`
      = help: did you mean `codex`?

    error[settings/bad-value]: `kind` must be `claude`, `codex`, `opencode`, `gemini`, `copilot`, `acp`, `command`, `anthropic`, `openai` or `script`, not `gemni`
    --> /home/me/.config/saihai/config.toml:9:8
      |
    9 | kind = "gemni"
      |        ^^^^^^^ not one of them
      = help: did you mean `gemini`?
    "#);
}

#[test]
fn programs_and_arguments_that_cannot_be_set_are_refused() {
    // C-10, Connections case 20
    let text = r#"
[providers.gemini]
args = ["--yolo"]
program = "./agent"
[providers.claude]
args = ["--permission-mode=plan", "--add-dir", "/x", "-p"]
program = ""
[providers.codex]
args = ["-s", "danger-full-access", "--model", "x"]
[providers.mine]
kind = "opencode"
args = ["--auto"]
"#;
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/bad-value]: the argument `--yolo` of `gemini` is set by Saihai itself
    --> /home/me/.config/saihai/config.toml:3:9
      |
    3 | args = ["--yolo"]
      |         ^^^^^^^^ cannot be set
      = help: the definition sets the permission of a turn, and `max_permission` limits it

    error[settings/bad-value]: `program` must be a bare name or an absolute path, not `./agent`
    --> /home/me/.config/saihai/config.toml:4:11
      |
    4 | program = "./agent"
      |           ^^^^^^^^^ a relative path
      = help: programs in the working directory of an agent are not trusted

    error[settings/bad-value]: the argument `--permission-mode` of `claude` is set by Saihai itself
    --> /home/me/.config/saihai/config.toml:6:9
      |
    6 | args = ["--permission-mode=plan", "--add-dir", "/x", "-p"]
      |         ^^^^^^^^^^^^^^^^^^^^^^^^ cannot be set
      = help: the definition sets the permission of a turn, and `max_permission` limits it

    error[settings/bad-value]: the argument `-p` of `claude` is set by Saihai itself
    --> /home/me/.config/saihai/config.toml:6:54
      |
    6 | args = ["--permission-mode=plan", "--add-dir", "/x", "-p"]
      |                                                      ^^^^ cannot be set

    error[settings/bad-value]: `program` must not be empty
    --> /home/me/.config/saihai/config.toml:7:11
      |
    7 | program = ""
      |           ^^

    error[settings/bad-value]: the argument `-s` of `codex` is set by Saihai itself
    --> /home/me/.config/saihai/config.toml:9:9
      |
    9 | args = ["-s", "danger-full-access", "--model", "x"]
      |         ^^^^ cannot be set
      = help: the definition sets the permission of a turn, and `max_permission` limits it

    error[settings/bad-value]: the argument `--model` of `codex` is set by Saihai itself
    --> /home/me/.config/saihai/config.toml:9:37
      |
    9 | args = ["-s", "danger-full-access", "--model", "x"]
      |                                     ^^^^^^^^^ cannot be set
      = help: set `model` instead

    error[settings/bad-value]: the argument `--auto` of `opencode` is set by Saihai itself
     --> /home/me/.config/saihai/config.toml:12:9
       |
    12 | args = ["--auto"]
       |         ^^^^^^^^ cannot be set
       = help: the definition sets the permission of a turn, and `max_permission` limits it
    "#);
}

#[test]
fn placeholders_of_commands_are_checked() {
    // C-70, Connections case 42
    let text = "[providers.mine]\nkind = \"command\"\nprogram = \"x\"\nargs = [\"{modle}\", \"{model}-{cwd}\", \"{ }\", \"{}\", \"{\", \"{Json}\", \"{what}\"]\n";
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/bad-value]: unknown placeholder `{modle}`
    --> /home/me/.config/saihai/config.toml:4:9
      |
    4 | args = ["{modle}", "{model}-{cwd}", "{ }", "{}", "{", "{Json}", "{what}"]
      |         ^^^^^^^^^
      = help: did you mean `model`?

    error[settings/bad-value]: unknown placeholder `{what}`
    --> /home/me/.config/saihai/config.toml:4:65
      |
    4 | args = ["{modle}", "{model}-{cwd}", "{ }", "{}", "{", "{Json}", "{what}"]
      |                                                                 ^^^^^^^^
      = help: known are `model`, `session`, `cwd`, `permission`, `persona_file` and `schema_file`
    "#);
}

#[test]
fn addresses_and_variables_that_cannot_be_meant_are_refused() {
    // C-10
    let text = r#"
[providers.openai]
base_url = "ftp://x"
[providers.anthropic]
base_url = "https://user:secret@api.example.com/v1"
[providers.other]
kind = "openai"
base_url = "https://"
[providers.claude]
env_pass = ["AWS_*", "", "OK"]
env = { "A=B" = "x", "C*" = "y" }
"#;
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/bad-value]: `providers.anthropic.base_url` must not contain a user name or password
    --> /home/me/.config/saihai/config.toml
      = help: keys are passed in variables: see `env_pass`

    error[settings/bad-value]: `base_url` must start with `https://` or `http://` and contain a host
    --> /home/me/.config/saihai/config.toml:3:12
      |
    3 | base_url = "ftp://x"
      |            ^^^^^^^^^ not such an address

    error[settings/bad-value]: `base_url` must start with `https://` or `http://` and contain a host
    --> /home/me/.config/saihai/config.toml:8:12
      |
    8 | base_url = "https://"
      |            ^^^^^^^^^^ not such an address

    error[settings/bad-value]: a variable must be named in full, without `*`
     --> /home/me/.config/saihai/config.toml:10:13
       |
    10 | env_pass = ["AWS_*", "", "OK"]
       |             ^^^^^^^ names more than one

    error[settings/bad-value]: `` is not a variable name
     --> /home/me/.config/saihai/config.toml:10:22
       |
    10 | env_pass = ["AWS_*", "", "OK"]
       |                      ^^

    error[settings/bad-value]: `A=B` is not a variable name
     --> /home/me/.config/saihai/config.toml:11:17
       |
    11 | env = { "A=B" = "x", "C*" = "y" }
       |                 ^^^

    error[settings/bad-value]: a variable must be named in full, without `*`
     --> /home/me/.config/saihai/config.toml:11:29
       |
    11 | env = { "A=B" = "x", "C*" = "y" }
       |                             ^^^ names more than one
    "#);
}

#[test]
fn keys_of_another_kind_are_errors_or_warnings() {
    // C-10
    let text = r#"
[providers.claude]
protocol = "json"
file = "x.yaml"
trust = true
honours = ["edit"]
base_url = "https://example.com"
[providers.codex]
edit_mode = "acceptEdits"
[providers.script]
program = "x"
"#;
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/no-effect]: `protocol` has no effect on `claude`
    --> /home/me/.config/saihai/config.toml:3:12
      |
    3 | protocol = "json"
      |            ^^^^^^
      = help: it is for `command`

    error[settings/no-effect]: `file` has no effect on `claude`
    --> /home/me/.config/saihai/config.toml:4:8
      |
    4 | file = "x.yaml"
      |        ^^^^^^^^
      = help: it is for `script`

    error[settings/no-effect]: `trust` has no effect on `claude`
    --> /home/me/.config/saihai/config.toml:5:9
      |
    5 | trust = true
      |         ^^^^
      = help: it is for `gemini`

    warning[settings/no-effect]: `honours` has no effect on `claude`
    --> /home/me/.config/saihai/config.toml:6:11
      |
    6 | honours = ["edit"]
      |           ^^^^^^^^
      = help: it is for `acp` and `command`

    warning[settings/no-effect]: `base_url` has no effect on `claude`
    --> /home/me/.config/saihai/config.toml:7:12
      |
    7 | base_url = "https://example.com"
      |            ^^^^^^^^^^^^^^^^^^^^^
      = help: it is for `anthropic` and `openai`

    error[settings/no-effect]: `edit_mode` has no effect on `codex`
    --> /home/me/.config/saihai/config.toml:9:13
      |
    9 | edit_mode = "acceptEdits"
      |             ^^^^^^^^^^^^^
      = help: it is for `claude`

    warning[settings/no-effect]: `program` has no effect on `script`
     --> /home/me/.config/saihai/config.toml:11:11
       |
    11 | program = "x"
       |           ^^^
    "#);
}

#[test]
fn numbers_out_of_range_are_refused() {
    // C-10
    let text = "[providers.codex]\nturn_timeout = -1\nmax_prompt = 0\nprice = { input = -1, turn = \"x\" }\nedit_mode = \"plan\"\nhonours = [\"all\"]\n";
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/bad-value]: `turn_timeout` is not a duration: `-1`
    --> /home/me/.config/saihai/config.toml:2:16
      |
    2 | turn_timeout = -1
      |                ^^ here
      = help: a duration is written as "90s", "30m", "2h" or a whole number of seconds

    error[settings/bad-value]: `max_prompt` must be at least 1, not `0`
    --> /home/me/.config/saihai/config.toml:3:14
      |
    3 | max_prompt = 0
      |              ^ not allowed

    error[settings/bad-value]: `input` must be a number of at least 0, not `-1`
    --> /home/me/.config/saihai/config.toml:4:19
      |
    4 | price = { input = -1, turn = "x" }
      |                   ^^ not allowed

    error[settings/bad-type]: `turn` must be a number, not text
    --> /home/me/.config/saihai/config.toml:4:30
      |
    4 | price = { input = -1, turn = "x" }
      |                              ^^^ text

    error[settings/bad-value]: `edit_mode` must be `acceptEdits`, not `plan`
    --> /home/me/.config/saihai/config.toml:5:13
      |
    5 | edit_mode = "plan"
      |             ^^^^^^ not one of them

    error[settings/bad-value]: `honours[0]` must be `readonly`, `edit` or `full`, not `all`
    --> /home/me/.config/saihai/config.toml:6:12
      |
    6 | honours = ["all"]
      |            ^^^^^ not one of them
    "#);
}

#[test]
fn fallbacks_in_a_circle_are_told_once() {
    // C-10
    let text = "[providers.claude]\nfallback = \"codex\"\n[providers.codex]\nfallback = \"gemini\"\n[providers.gemini]\nfallback = \"codex\"\n[providers.copilot]\nfallback = \"copilot\"\n";
    assert_snapshot!(World::default().user(text).wrong(), @r#"
    error[settings/fallback-cycle]: fallbacks form a cycle: codex → gemini → codex
    --> /home/me/.config/saihai/config.toml:6:12
      |
    6 | fallback = "codex"
      |            ^^^^^^^ leads back

    error[settings/fallback-cycle]: fallbacks form a cycle: copilot → copilot
    --> /home/me/.config/saihai/config.toml:8:12
      |
    8 | fallback = "copilot"
      |            ^^^^^^^^^ leads back
    "#);
}

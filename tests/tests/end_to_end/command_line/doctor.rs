//! `saihai doctor`. C-86.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::{Invocation, Project};

use super::support::PROGRAM;

/// A project on a machine with only these programs.
struct Machine(Project);

impl Machine {
    fn new(programs: &[(&str, &str)], settings: &str) -> Self {
        let project = Project::new(PROGRAM);
        let bin = project.home().join("bin");
        fs::create_dir_all(&bin).expect("a directory");
        for (name, script) in programs {
            let file = bin.join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a program");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("an executable file");
        }
        let directory = project.home().join(".config/saihai");
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("config.toml"), settings).expect("settings");
        Self(project)
    }

    fn doctor(&self, more: &[&str]) -> Invocation {
        let path = self.0.home().join("bin");
        self.0.saihai(["doctor"].iter().chain(more)).env("PATH", path)
    }

    fn provider(&self, name: &str) -> serde_json::Value {
        let outcome = self.doctor(&["--json"]).run();
        let found = outcome.json()[0]["providers"].as_array().expect("providers").clone();
        let provider = found.into_iter().find(|one| one["provider"] == name);
        provider.unwrap_or_else(|| panic!("no `{name}`\n{outcome}"))
    }
}

// Connections case 43
#[test]
fn a_machine_without_agents_is_no_failure_unless_the_settings_name_one() {
    let bare = Machine::new(&[], "");
    let outcome = bare.doctor(&[]).run().exits(0);
    assert!(outcome.stdout.contains("git was not found"), "{outcome}");
    for agent in ["claude", "codex", "opencode", "gemini", "copilot"] {
        assert_eq!(bare.provider(agent)["found"], false, "{agent}");
        assert!(outcome.stdout.contains(&format!("not found: `{agent}`")), "{agent}: {outcome}");
    }
    let claude = Machine::new(&[], "provider = \"claude\"\n");
    assert_eq!(claude.doctor(&[]).run().code, Some(4));
    let named = Machine::new(
        &[],
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"my-agent\"\n",
    );
    let outcome = named.doctor(&[]).run().exits(4);
    assert!(outcome.stdout.contains("not found: `my-agent`"), "{outcome}");
    assert_eq!(named.provider("mine")["found"], false);
    assert_eq!(named.provider("mine")["named"], true);
}

// C-86
#[test]
fn a_program_says_its_version_and_git_is_found() {
    let settings = "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"my-agent\"\n";
    let machine = Machine::new(
        &[("my-agent", "echo 'my agent v3.14.15 (beta)'"), ("git", "echo git version 2.43.0")],
        settings,
    );
    let outcome = machine.doctor(&[]).run().exits(0);
    assert!(outcome.stdout.contains("3.14.15") && outcome.stdout.contains("git 2.43.0"), "{outcome}");
    let mine = machine.provider("mine");
    assert_eq!((&mine["version"], &mine["found"]), (&"3.14.15".into(), &true.into()));
}

// C-86: prints names of variables, never their values.
#[test]
fn no_key_is_ever_shown() {
    let machine = Machine::new(
        &[("my-agent", "env; echo $OPENAI_API_KEY")],
        "[providers.mine]\nkind = \"command\"\nprogram = \"my-agent\"\nenv = { MY_TOKEN = \"canary-of-settings\" }\n",
    );
    for format in [&[][..], &["--json"][..]] {
        let doctor = machine.doctor(format).env("OPENAI_API_KEY", "canary-of-variables");
        let outcome = doctor.run().exits(0);
        assert!(outcome.stdout.contains("OPENAI_API_KEY"), "{outcome}");
        assert!(!format!("{outcome}").contains("canary"), "{outcome}");
    }
}

// C-86: reports the login state of each program without a network.
#[test]
fn a_login_is_a_credential_or_a_key() {
    let programs = [
        ("claude", "case $1 in auth) echo '{\"loggedIn\":true}';; *) echo 2.1.325;; esac"),
        ("codex", "case $1 in login) exit 1;; *) echo codex-cli 0.166.0;; esac"),
        ("opencode", "case $1 in auth) printf '|\\n└  2 credentials\\n';; *) echo 1.18.33;; esac"),
        ("gemini", "echo 0.61.0"),
        ("copilot", "echo 1.0.102"),
    ];
    let machine = Machine::new(&programs, "");
    let logins = |machine: &Machine, variables: &[&str]| {
        let doctor = machine.doctor(&["--json"]);
        let doctor = variables.iter().fold(doctor, |doctor, name| doctor.env(name, "canary"));
        let outcome = doctor.run().exits(0);
        assert!(!format!("{outcome}").contains("canary"), "{outcome}");
        let found = outcome.json()[0]["providers"].as_array().expect("providers").clone();
        let told = found.iter().map(|one| {
            let key = one["key"].as_str().map(|key| format!(" {key}")).unwrap_or_default();
            format!(
                "{}: {}{key}",
                one["provider"].as_str().unwrap_or_default(),
                one["login"].as_str().unwrap_or_default()
            )
        });
        told.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(logins(&machine, &[]), @"
    anthropic: unknown
    claude: in
    codex: out
    copilot: unknown
    gemini: unknown
    openai: unknown
    opencode: in
    ");
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "COPILOT_GITHUB_TOKEN", "GH_TOKEN"];
    insta::assert_snapshot!(logins(&machine, &keys), @"
    anthropic: key_set ANTHROPIC_API_KEY
    claude: in
    codex: key_set OPENAI_API_KEY
    copilot: key_set COPILOT_GITHUB_TOKEN
    gemini: key_set GOOGLE_API_KEY
    openai: key_set OPENAI_API_KEY
    opencode: in
    ");
}

// U-20: an API of one's own gets the first variable that `env_pass` names as its key, and not the usual one.
#[test]
fn the_key_of_an_api_is_the_variable_that_its_settings_pass_on() {
    let settings = "[providers.router]\nkind = \"openai\"\nbase_url = \"https://router.example/v1\"\nenv_pass = [\"ROUTER_KEY\"]\n";
    let machine = Machine::new(&[], settings);
    let router = |variable: &str| {
        let outcome = machine.doctor(&["--json"]).env(variable, "canary").run();
        let found = outcome.json()[0]["providers"].as_array().expect("providers").clone();
        let router = found.into_iter().find(|one| one["provider"] == "router").expect("the provider");
        (router["login"].clone(), router["key"].clone())
    };
    assert_eq!(router("ROUTER_KEY"), ("key_set".into(), "ROUTER_KEY".into()));
    assert_eq!(router("OPENAI_API_KEY"), ("unknown".into(), serde_json::Value::Null));
}

// C-86: reports the host of the repository and the variable for its token, and hides credentials in the address.
#[test]
fn the_forge_is_known_by_the_remote_and_its_token_by_name() {
    let git = "case $1 in --version) echo git version 2.43.0;; *) echo 'remote.origin.url https://me:canary@github.com/me/tool.git';; esac";
    let machine = Machine::new(&[("git", git)], "");
    let outcome = machine.doctor(&[]).run().exits(0);
    let line = "the remote repository is `me/tool` at `github.com`; `GITHUB_TOKEN` is not set, and `gh` is not installed";
    assert!(outcome.stdout.contains(line), "{outcome}");
    let outcome = machine.doctor(&["--json"]).env("GITHUB_TOKEN", "canary").run().exits(0);
    let forge = serde_json::json!({"host": "github.com", "repository": "me/tool", "github": true, "token": "GITHUB_TOKEN", "gh": false});
    assert_eq!(outcome.json()[0]["forge"], forge);
    assert!(!format!("{outcome}").contains("canary"), "{outcome}");
    // `GH_HOST`, which `gh` also reads, names a GitHub Enterprise host.
    let own = Machine::new(&[("git", &git.replace("github.com", "Git.Example.com"))], "");
    let outcome = own.doctor(&[]).run().exits(0);
    let line = "the remote repository `me/tool` at `git.example.com` is not on GitHub; if `git.example.com` is a GitHub of your own, set `GH_HOST`";
    assert!(outcome.stdout.contains(line), "{outcome}");
    let outcome = own.doctor(&["--json"]).env("GH_HOST", "git.example.com").run().exits(0);
    assert_eq!(outcome.json()[0]["forge"]["github"], true, "{outcome}");
    let bare = Machine::new(&[], "");
    assert_eq!(
        bare.doctor(&["--json"]).run().exits(0).json()[0]["forge"],
        serde_json::json!({"github": false, "gh": false})
    );
}

// C-44, C-57, C-86
#[test]
fn what_can_be_given_and_ended_here_is_said_as_it_is() {
    let machine = Machine::new(&[("claude", "echo 2.1.325"), ("codex", "echo 0.166.0")], "");
    let outcome = machine.doctor(&["--json"]).run().exits(0);
    let expected = match saihai_connect::Containment::here() {
        saihai_connect::Containment::ControlGroup => "cgroup",
        saihai_connect::Containment::Search => "subreaper",
        saihai_connect::Containment::ProcessGroup => "process group",
    };
    assert_eq!(outcome.json()[0]["process_tree"], expected);
    let root = rustix::process::geteuid().is_root();
    assert_eq!(outcome.json()[0]["root"], root);
    assert_eq!(machine.provider("claude")["full"], !root, "it refuses root");
    assert_eq!(machine.provider("codex")["full"], true);
    assert_eq!(machine.provider("openai")["full"], false, "it can only look");
    let told = machine.doctor(&[]).run().exits(0).stdout;
    assert_eq!(told.contains("permission `full` is not available to root with `claude`"), root, "{told}");
}

// U-20
#[test]
fn doctor_ends_with_what_to_write_where() {
    let last = |machine: &Machine| {
        let outcome = machine.doctor(&[]).run();
        outcome.stdout.lines().last().unwrap_or_default().to_owned()
    };
    let version = "case $1 in auth) echo '{\"loggedIn\":true}';; *) echo 2.1.325;; esac";
    let found = Machine::new(&[("claude", version)], "");
    assert_eq!(
        last(&found),
        "next: add `provider = \"claude\"` to `.saihai/config.toml`, or pass `--provider claude`"
    );
    let out = Machine::new(&[("codex", "case $1 in login) exit 1;; *) echo codex-cli 0.166.0;; esac")], "");
    assert_eq!(
        last(&out),
        "next: log in to `codex`, then add `provider = \"codex\"` to `.saihai/config.toml`"
    );
    let bare = Machine::new(&[], "");
    assert_eq!(last(&bare), "then add `provider = \"NAME\"` to `.saihai/config.toml`");
    let set = Machine::new(&[("claude", version)], "provider = \"claude\"\n");
    assert!(last(&set).starts_with("`claude` is the default provider"), "{}", last(&set));
    let missing = Machine::new(&[("claude", version)], "provider = \"codex\"\n");
    assert!(last(&missing).contains("install it with") && last(&missing).contains("`provider = \"claude\"`"));
}

// U-20: a traceback names versions too, but not that of the program
#[test]
fn a_program_that_fails_has_no_version_and_is_not_recommended() {
    let traceback = "echo 'File \"/opt/python3.11.2/agent.py\"' >&2; exit 1";
    let broken = Machine::new(&[("claude", traceback)], "");
    let claude = broken.provider("claude");
    assert_eq!((&claude["found"], &claude["version"]), (&true.into(), &serde_json::Value::Null));
    let outcome = broken.doctor(&[]).run().exits(0);
    assert!(!outcome.stdout.contains("add `provider = \"claude\"`"), "{outcome}");
}

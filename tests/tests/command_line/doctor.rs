//! `saihai doctor`. C-86.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::{Invocation, Project};

use crate::support::PROGRAM;

/// A project whose machine has these programs and no others.
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

// C case 43
#[test]
fn a_machine_without_agents_is_no_failure_unless_the_settings_name_one() {
    let bare = Machine::new(&[], "");
    let outcome = bare.doctor(&[]).run().exits(0);
    assert!(outcome.stdout.contains("git was not found"), "{outcome}");
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

// C-86: names of variables, never what is in them.
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

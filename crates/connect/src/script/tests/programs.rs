//! Programs of a scripted reply.

use std::fs;

use insta::assert_snapshot;
use saihai_model::{ProviderKind, ProviderSettings, ScriptReply};

use super::say::reply;
use super::stage::{EDIT, Stage, failure, runs};

// C-75: `runs` use no shell; any other exit code is a crash.
#[tokio::test]
async fn programs_are_run_without_a_shell_and_must_end_as_the_script_says() {
    let said = ScriptReply {
        runs: vec![runs(&["touch", "$(touch x); y"], 0), runs(&["false"], 1), runs(&["true"], 3)],
        ..reply("-> ok")
    };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(EDIT)).await;
    assert_snapshot!(failure(&answer), @"crashed: script:ok: `true` ended with exit code 0 instead of 3");
    assert_snapshot!(stage.files(), @r#"$(touch x); y: """#);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_crash_that_names_it() {
    let said = ScriptReply { runs: vec![runs(&["no-such-program-of-ours"], 0)], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said], |_| {});
    let answer = stage.answer(stage.ask(EDIT)).await;
    assert_snapshot!(failure(&answer), @"crashed: script:ok: `no-such-program-of-ours` could not be started: No such file or directory (os error 2)");
}

// C-54: a program gets the allowed variables, its run and its turn.
#[tokio::test]
async fn a_program_sees_only_the_allowed_environment() {
    let said = ScriptReply { runs: vec![runs(&["sh", "-c", "env > out"], 0)], ..reply("-> ok") };
    let mut stage = Stage::new(vec![said], |with| {
        let ours = [("PATH", "/usr/bin:/bin"), ("OPENAI_API_KEY", "secret"), ("LC_ALL", "C"), ("MINE", "1")];
        with.environment = ours.map(|(name, value)| (name.into(), value.into())).to_vec();
        let env_pass = vec!["MINE".into()];
        let settings = ProviderSettings { env_pass, ..ProviderSettings::new(ProviderKind::Script) };
        with.settings.insert("script".into(), settings);
    });
    stage.answer(stage.ask(EDIT)).await.unwrap();
    let out = fs::read_to_string(stage.path().join("out")).unwrap();
    // Ignore the shell's own variables.
    let mut lines: Vec<_> = out
        .lines()
        .filter(|line| !["PWD=", "SHLVL=", "_=", "OLDPWD="].iter().any(|own| line.starts_with(own)))
        .collect();
    lines.sort_unstable();
    assert_snapshot!(lines.join("\n"), @"
    LC_ALL=C
    MINE=1
    NO_COLOR=1
    PATH=/usr/bin:/bin
    SAIHAI_RUN=20260206-085600-task
    SAIHAI_RUN_DIRECTORY=/
    SAIHAI_TURN=implement.1.1.1
    TERM=dumb
    ");
}

//! A secret from the environment appears in no file and no output. C-55, Connections case 34.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::{Outcome, Project};

use crate::support::PROGRAM;

const VARIABLE: &str = "OPENAI_API_KEY";
const CANARY: &str = "canary-7Qx2mV9k";
/// The replacement for the secret.
const REDACTED: &str = "[redacted:OPENAI_API_KEY]";

/// Fails if the secret is in a project file, a command's output or any view of the run.
fn nowhere(project: &Project, allowed: &[&str], outcomes: &[Outcome]) {
    for (path, bytes) in files(project) {
        let holds = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!holds || allowed.contains(&path.as_str()), "it stands in `{path}`");
        assert!(!path.contains("7qx2mv9k"), "it gave `{path}` its name");
    }
    let views: [&[&str]; 5] =
        [&["show", "last"], &["log", "last"], &["log", "last", "--json"], &["explain", "last"], &["runs"]];
    let views = views.map(|arguments| project.saihai(arguments).run().exits(0));
    for outcome in outcomes.iter().chain(&views) {
        assert!(!outcome.stdout.contains(CANARY) && !outcome.stderr.contains(CANARY), "{outcome}");
    }
}

/// Returns every file below the root, with its relative path and its content.
fn files(project: &Project) -> Vec<(String, Vec<u8>)> {
    let (mut files, mut open) = (Vec::new(), vec![project.root()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory of the project") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(project.root()).expect("it is below the root");
                files.push((name.display().to_string(), fs::read(&path).expect("a file of the project")));
            }
        }
    }
    files
}

#[test]
fn a_secret_in_task_reply_report_tool_failure_and_answer_is_kept_nowhere() {
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/pieces/it.yaml",
        format!(
            "name: it\nmovements:\n  - name: work\n    instruction_template: 'Use {CANARY} for {{task}}'\n    report: out.md\n    rules:\n      - {{condition: ask, next: last, requires_user_input: true}}\n  - name: last\n    rules: [{{condition: done, next: COMPLETE}}]\n"
        ),
    );
    let long = format!("{} {CANARY}\\n", "x".repeat(20_000));
    project.write(
        "script.yaml",
        format!(
            "script: 1\nreplies:\n  - {{for: work, fail: {{class: crashed, message: 'bad key {CANARY}'}}}}\n  - for: work\n    text: \"{long}```markdown\\nkey {CANARY}\\n```\\n[STEP:0]\"\n    tools_used: [{{name: Bash, input: {{command: 'echo {CANARY}'}}, output: '{CANARY}', duration_ms: 1}}, {{name: Read, input: {{path: a}}, output: \"{long}\", duration_ms: 1}}]\n  - {{for: last, text: 'it was {CANARY} [STEP:0]'}}\n"
        ),
    );
    let run = project
        .saihai(["run", "it", &format!("log in with {CANARY}"), "--script", "script.yaml", "--json"])
        .env(VARIABLE, CANARY)
        .run()
        .exits(6);
    let answered = project
        .saihai(["answer", "last", &format!("try {CANARY}"), "--no-resume"])
        .env(VARIABLE, CANARY)
        .run()
        .exits(0);
    let resumed = project.saihai(["resume", "last"]).env(VARIABLE, CANARY).run().exits(0);
    assert!(resumed.stdout.contains(&format!("it was {REDACTED}")), "{resumed}");
    let reports = project.reports();
    assert_eq!(reports[0].1.trim_end(), format!("key {REDACTED}"));
    nowhere(&project, &[".takt/pieces/it.yaml", "script.yaml"], &[run, answered, resumed]);
}

#[test]
fn a_secret_that_an_agent_prints_in_parts_is_kept_nowhere() {
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/pieces/it.yaml",
        "name: it\nmovements:\n  - {name: work, rules: [{condition: done, next: COMPLETE}]}\n",
    );
    let agent = project.home().join("agent.sh");
    let (_, end) = CANARY.split_at(CANARY.len() - 6);
    let program = format!(
        "#!/bin/sh\ncat >/dev/null\nprintf 'key %s' \"${{{VARIABLE}%??????}}\"\nprintf '%s\\n' '{end}'\necho '[STEP:0]'\necho \"${VARIABLE}\" >&2\n"
    );
    fs::write(&agent, program).expect("a program");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("an executable file");
    let directory = project.home().join(".config/saihai");
    fs::create_dir_all(&directory).expect("a directory");
    let settings = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\nenv_pass = [\"{VARIABLE}\"]\n",
        agent.display()
    );
    fs::write(directory.join("config.toml"), settings).expect("settings");
    let run = project.saihai(["run", "it", "The task."]).env(VARIABLE, CANARY).run().exits(0);
    assert!(run.stdout.contains(&format!("key {REDACTED}")), "{run}");
    nowhere(&project, &[], &[run]);
}

// The live file receives the secret in pieces, each of which looks harmless.
#[test]
fn a_secret_that_is_shown_in_parts_is_never_shown() {
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/pieces/it.yaml",
        "name: it\nmovements:\n  - {name: work, rules: [{condition: done, next: COMPLETE}]}\n",
    );
    let (first, rest) = CANARY.split_at(6);
    project.write(
        "mock.json",
        format!("[{{\"content\": \"[STEP:0]\", \"text_chunks\": [\"key {first}\", \"{rest} is it\\n\"], \"wait_for_abort\": true}}]"),
    );
    let arguments = ["run", "it", "The task.", "--script", "mock.json", "--json"];
    let mut live = project.saihai(arguments).env(VARIABLE, CANARY).start();
    live.wait_for("\"asked\"");
    let mut followed = project.saihai(["log", "last", "-f"]).start();
    assert!(followed.wait_for("is it").contains(&format!("work | key {REDACTED} is it")));
    let shown = files(&project).into_iter().filter(|(path, _)| path.contains("/live/"));
    let shown: Vec<u8> = shown.flat_map(|(_, bytes)| bytes).collect();
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.contains(REDACTED) && !shown.contains(rest), "{shown}");
    live.signal(rustix::process::Signal::INT);
    let run = live.finish().exits(3);
    nowhere(&project, &[], &[run, followed.finish()]);
}

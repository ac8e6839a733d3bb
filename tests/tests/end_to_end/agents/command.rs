//! Custom agent programs. C-70 to C-72.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use saihai_tests::Project;
use serde_json::{Value, json};

use super::{fake, two_movements};
use crate::support::PROGRAM;

/// The user's settings for the program.
const SETTINGS: &str = "[providers.mine]\nkind = \"command\"\nprogram = \"mine\"\nargs = [\"--session\", \"{session}\"]\nprotocol = \"json\"\nhonours = [\"readonly\"]\nsystem_prompt = \"Be brief.\"\n";

// C-22, C-72
#[test]
fn a_program_of_ones_own_is_asked_in_json() {
    let project = two_movements("mine");
    project.write("../home/.config/saihai/config.toml", SETTINGS);
    let fake = fake(&project, "mine", &json!([{"text": "a [STEP:0]"}, {"text": "b [STEP:0]"}]));
    fake.saihai(["run", "it", "The task."]).run().exits(0);
    let calls = fake.calls();
    assert_eq!(calls[0].arguments(), "--json-protocol");
    assert_eq!(calls[1].arguments(), "--session 01a1e076-0000-7000-8000-000000000001 --json-protocol");
    let asked: Value = serde_json::from_str(calls[0].input()).unwrap();
    assert_eq!((&asked["persona"], &asked["permission"]), (&json!("Be brief."), &json!("readonly")));
    assert_eq!(calls[0].variable("SAIHAI_PERMISSION"), Some("readonly"));
}

// C-52: Saihai keeps a very long reply whole, passes on its end, and says which file has the rest.
#[test]
fn of_a_very_long_reply_the_end_is_passed_on_and_the_whole_can_be_found() {
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/pieces/it.yaml",
        "name: it\nmovements:\n  - {name: work, rules: [{condition: ok, next: COMPLETE}]}\n",
    );
    let agent = project.home().join("agent.sh");
    let long = "#!/bin/sh\ncat > input\necho first\nyes 'a line of a long reply' | head -c 5000000\necho\necho '[STEP:0]'\n";
    fs::write(&agent, long).expect("a program");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let settings = format!(
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"{}\"\nhonours = [\"readonly\"]\n",
        agent.display()
    );
    project.write("../home/.config/saihai/config.toml", settings);
    let run = project.saihai(["run", "it", "T"]).run().exits(0);
    let transcript = project.run_directory().join("scratch/work.1.1.1-1.out");
    let whole = fs::read_to_string(&transcript).expect("a transcript");
    assert!(whole.starts_with("first\n") && whole.ends_with("[STEP:0]\n"));
    assert!(!run.stdout.contains("first\n") && run.stdout.len() < whole.len());
    let warning = format!(
        "only the end of a reply of {} bytes is passed on; all of it is in {}",
        whole.len(),
        transcript.display()
    );
    let views = [["show", "last"], ["log", "last"]].map(|view| project.saihai(view).run().exits(0));
    for told in [&run, &views[0], &views[1]] {
        assert!(format!("{}{}", told.stdout, told.stderr).contains(&warning), "{warning}: {}", told.stderr);
    }
}

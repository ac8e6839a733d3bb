//! A program of one's own. C-70 to C-72.

use serde_json::{Value, json};

use super::{fake, two_movements};

/// What the user's settings say of it.
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

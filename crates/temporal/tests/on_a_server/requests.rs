//! Requests of a person to a run on a server, with the usual commands.

use serde_json::json;

use crate::setting::{Setting, shown, wait_for};

const ASKING: &str = "\
name: asking
max_movements: 5
initial_movement: propose
movements:
  - name: propose
    instruction_template: 'Propose: {task}'
    rules: [{condition: ready, next: work, requires_user_input: true}]
  - name: work
    instruction_template: 'Do it. {task}'
    rules: [{condition: done, next: COMPLETE}]
";
const REPLIES: &str = "\
script: 1
replies:
  - {for: propose, text: 'Which colour? [STEP:0]'}
  - {for: work, text: 'painted [STEP:0]'}
";

// A gate is answered and a note reaches the next prompt. The journal here is only a copy meanwhile.
#[test]
fn a_gate_is_answered_and_a_note_is_shown_by_the_usual_commands() {
    let setting = Setting::new();
    setting.write("project/.saihai/pieces/asking.yaml", ASKING);
    setting.write("project/replies.yaml", REPLIES);
    let _worker = setting.worker("worker", 1);
    let run = setting.submit("asking", &["--script", "replies.yaml"]);
    wait_for("the gate", || {
        let pulled = setting.saihai(&["pull", &run]).output().unwrap();
        pulled.status.success() && setting.done(&["show", &run]).contains("Which colour?")
    });
    setting.done(&["tell", &run, "keep the old parser", "--to", "work"]);
    setting.done(&["answer", &run, "blue"]);
    let journal = setting.journal_of(&run);
    let prompts = journal.iter().filter(|record| record["fact"]["asked"]["call"]["stage"] == "work");
    let prompts: String = prompts.map(|record| record["fact"]["asked"]["prompt"].to_string()).collect();
    assert!(prompts.contains("blue") && prompts.contains("keep the old parser"), "{prompts}");
    let finished = journal.last().unwrap();
    assert_eq!(finished["decision"]["finished"]["ending"], json!({"completed": "complete"}), "{finished}");
    // An ended run belongs to the project again.
    let told = setting.saihai(&["tell", &run, "more"]).output().unwrap();
    assert!(String::from_utf8_lossy(&told.stderr).contains("is already completed"), "{}", shown(&told));
}

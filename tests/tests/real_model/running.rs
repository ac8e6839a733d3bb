//! Whole runs.

use std::fs;
use std::time::Duration;

use saihai_tests::Project;
use serde_json::Value;

use crate::model::Model;

/// Time for six answers of a model with one thread on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// A piece that ends with any replies: after its second movement, by a rule, without a match, or at its limit.
const DEFINITION: &str = "
name: it
language: en
max_iterations: 3
movements:
  - name: greet
    session_key: mine
    instruction_template: 'Say hello to {task}.'
    rules: [{condition: hello was said, next: thank}, {condition: something else, next: thank}]
  - name: thank
    session_key: mine
    session: continue
    instruction_template: 'Say thank you.'
    rules: [{condition: thanks were said, next: COMPLETE}, {condition: something else, next: ABORT}]
";

// C-81: a whole piece on each interface.
#[test]
fn a_piece_runs_to_an_end() {
    let model = Model::start();
    for provider in ["openai", "anthropic"] {
        let project = Project::new(env!("CARGO_BIN_EXE_saihai-faulty"));
        project.write(".takt/pieces/it.yaml", DEFINITION);
        let settings = project.home().join(".config/saihai");
        fs::create_dir_all(&settings).expect("a place for settings");
        let base = model.base(provider);
        let text = format!("provider = \"{provider}\"\n[providers.{provider}]\nbase_url = \"{base}\"\n");
        fs::write(settings.join("config.toml"), text).expect("settings");
        let outcome = project.saihai(["run", "it", "Aki", "--json"]).patience(PATIENCE).run();
        let journal = project.journal();
        let replied: Vec<&Value> = journal.facts("replied").collect();
        let failed: Vec<&Value> = journal.facts("failed").collect();
        // A small model may generate until it is cut off; no other failure is allowed here.
        for fact in &failed {
            let message = fact["failure"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("cut off by the limit"), "{provider}: {outcome}");
        }
        let expected = if failed.is_empty() { [0, 1, 5] } else { [4, 4, 4] };
        assert!(outcome.code.is_some_and(|code| expected.contains(&code)), "{provider}: {outcome}");
        assert!(!replied.is_empty() || !failed.is_empty(), "{provider}: {outcome}");
        for fact in replied.iter().chain(&failed) {
            assert!(fact["usage"]["input"].as_u64().is_some_and(|tokens| tokens > 0), "{provider}: {fact}");
            assert!(fact["usage"]["output"].as_u64().is_some_and(|tokens| tokens > 0), "{provider}: {fact}");
        }
    }
}

//! Step agents on the command line: their files, their own flags, and messages about both.

mod later_format;
mod listing;
mod refusals;
mod running;

use saihai_tests::Project;
use serde_json::{Value, json};

use crate::support::PROGRAM;

const AGENT: &str = ".agent/tailor/agent.json";
const REGISTRY: &str = ".agent/tailor/steps_registry.json";

/// Creates the agent of the format's own example: measure, then quote until the check passes.
fn tailor() -> Project {
    let project = Project::new(PROGRAM);
    project.write(AGENT, agent().to_string()).write(REGISTRY, registry().to_string());
    let prompts = [
        ("system.md", "You are a tailor.\n"),
        ("order/measure/text/f_default.md", "Measure {uv-customer}.\n"),
        ("order/quote/text/f_default.md", "Height {uv-measure_height} cm for {uv-customer}.\n"),
        ("order/quote/check/f_default.md", "Is the quote right?\n"),
    ];
    for (path, text) in prompts {
        project.write(&format!(".agent/tailor/prompts/{path}"), text);
    }
    project.write("walk.yaml", format!("script: 1\nreplies:\n{WALK}"));
    project
}

const WALK: &str = r#"
  - {for: measure, text: "採寸結果です。\n```json\n{\"height\": 175}\n```"}
  - {for: quote, text: "Around 300."}
  - {for: quote#judge, text: "```json\n{\"result\": \"ng\", \"message\": \"which currency?\"}\n```"}
  - {for: quote, text: "300 EUR."}
  - {for: quote#judge, text: "```json\n{\"result\": \"ok\"}\n```"}
"#;

fn agent() -> Value {
    json!({
        "version": "1.0.0", "name": "tailor", "description": "Takes measure and makes a quote.",
        "behavior": {
            "systemPromptPath": "prompts/system.md", "completionType": "stepMachine",
            "completionConfig": {"maxIterations": 12}, "allowedTools": ["Read"], "permissionMode": "plan"
        },
        "parameters": {
            "customer": {"type": "string", "description": "who orders", "required": true, "cli": "--customer"}
        },
        "prompts": {"registry": "steps_registry.json"}
    })
}

fn registry() -> Value {
    json!({
        "version": "1.0.0", "basePath": "prompts", "entryStep": "measure",
        "steps": {
            "measure": {
                "prompt": {"c1": "order", "c2": "measure", "c3": "text"}, "next": "quote",
                "outputSchema": {"height": {"type": "number"}, "note": {"type": "string", "required": false}}
            },
            "quote": {
                "prompt": {"c1": "order", "c2": "quote", "c3": "text"}, "inputs": {"measure.height": true},
                "check": {
                    "prompt": {"c1": "order", "c2": "quote", "c3": "check"},
                    "responseFormat": {"result": "ok|ng", "message": "string"},
                    "onPass": {"complete": true},
                    "onFail": {"retry": true, "maxRetries": 2, "onExhausted": "measure"}
                }
            }
        }
    })
}

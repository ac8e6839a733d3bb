//! Calls of the verdict tool, through the MCP server that Saihai names.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::answer::Tool;

/// Starts the server and calls the tool with each input. Returns the calls as used tools; none without a server.
pub(crate) fn report(server: &Value, inputs: &[Value]) -> Vec<Tool> {
    let Some(program) = server["command"].as_str() else { return Vec::new() };
    let arguments = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut started = Command::new(program);
    started.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = started.spawn().expect("the server starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut ask = |method: &str, params: &Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(input, "{request}").expect("the server reads");
        let line = lines.next().expect("an answer").expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")["result"].clone()
    };
    ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    let tools = ask("tools/list", &json!({}));
    let name = tools["tools"][0]["name"].as_str().expect("a tool").to_owned();
    let call = |arguments: &Value| {
        let said = ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let output = said["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        Tool { name: format!("mcp__saihai-turn__{name}"), input: arguments.clone(), output }
    };
    let used = inputs.iter().map(call).collect();
    drop(input);
    child.wait().expect("the server ends with its input");
    used
}

//! A client of `saihai mcp`: one JSON-RPC message per line.

use serde_json::{Value, json};

use crate::{Invocation, Live, Outcome};

/// A running `saihai mcp`, after the handshake.
#[derive(Debug)]
pub struct McpClient {
    live: Live,
    sent: u64,
    /// Fields of `_meta` in every request.
    meta: Value,
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

impl McpClient {
    /// Starts the server and opens a session, as the agent programs do.
    #[track_caller]
    pub fn start(mcp: Invocation) -> Self {
        let mut client = Self::unopened(mcp);
        client.initialize(json!({}));
        client
    }

    /// Starts the server for a client that knows tasks.
    #[track_caller]
    pub fn start_with_tasks(mcp: Invocation) -> Self {
        let mut client = Self::unopened(mcp);
        client.initialize(json!({"extensions": {TASKS: {}}}));
        client
    }

    /// Starts the server for a client of the protocol without sessions, which knows tasks.
    pub fn without_session(mcp: Invocation) -> Self {
        let mut client = Self::unopened(mcp);
        client.meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
        });
        client
    }

    /// Starts the server and says nothing.
    pub fn unopened(mcp: Invocation) -> Self {
        Self { live: mcp.start(), sent: 0, meta: Value::Null }
    }

    #[track_caller]
    fn initialize(&mut self, capabilities: Value) {
        let client = json!({"name": "test", "version": "1"});
        let opened = self.request(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client}),
        );
        assert_eq!(opened["result"]["serverInfo"]["name"], "saihai", "{opened}");
        self.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    }

    /// Sends any line.
    pub fn line(&mut self, line: &str) {
        self.live.send_line(line);
    }

    /// Sends a request and returns the whole response.
    #[track_caller]
    pub fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.sent += 1;
        if !self.meta.is_null() {
            params["_meta"] = self.meta.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params});
        self.line(&request.to_string());
        self.response(self.sent)
    }

    #[track_caller]
    fn response(&mut self, id: u64) -> Value {
        let line = self.live.wait_for(&format!("\"id\":{id},"));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Calls a tool and returns its result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        response.get("result").unwrap_or_else(|| panic!("{response}")).clone()
    }

    /// Calls a tool that succeeds, and returns its answer.
    #[track_caller]
    pub fn answer(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        let answer = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text for older clients");
        assert_eq!(serde_json::from_str::<Value>(text).expect("the same as JSON"), answer);
        answer
    }

    /// Calls a tool that refuses, and returns its words.
    #[track_caller]
    pub fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().expect("its words").to_owned()
    }

    /// Looks at a run until it no longer works.
    #[track_caller]
    pub fn settled(&mut self, run: &str) -> Value {
        loop {
            let status = self.answer("get_run", json!({"run": run}));
            if status["state"] != "working" {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Closes stdin and waits for the end of the server.
    pub fn close(self) -> Outcome {
        self.live.finish()
    }
}

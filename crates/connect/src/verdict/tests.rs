//! The server of the verdict tool: calls that count, and calls that must not.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use saihai_model::{Json, ReportedVerdict};
use serde_json::json;

use super::*;

fn tool() -> VerdictTool {
    VerdictTool { options: vec![(0, "approved".to_owned()), (1, "needs_fix".to_owned())], server: None }
}

fn open() -> (VerdictServer, PathBuf) {
    let (server, command) = VerdictServer::open(tool(), Some(Path::new("/bin/sh"))).unwrap();
    assert_eq!((command.program.as_str(), command.arguments[0].as_str()), ("/bin/sh", relay::ARGUMENT));
    (server, PathBuf::from(&command.arguments[1]))
}

/// A client of a server.
struct Client(BufReader<UnixStream>);

impl Client {
    async fn connect(directory: &Path, key: &str) -> Self {
        let mut stream = UnixStream::connect(directory.join(SOCKET)).await.unwrap();
        stream.write_all(format!("{key}\n").as_bytes()).await.unwrap();
        Self(BufReader::new(stream))
    }

    async fn of(directory: &Path) -> Self {
        Self::connect(directory, &std::fs::read_to_string(directory.join(KEY_FILE)).unwrap()).await
    }

    /// Sends a message and returns the answer; nothing if the connection is over.
    async fn say(&mut self, message: &Json) -> Option<Json> {
        self.0.get_mut().write_all(format!("{message}\n").as_bytes()).await.ok()?;
        let mut line = String::new();
        self.0.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn call(&mut self, arguments: &Json) -> Option<String> {
        let params = json!({ "name": "saihai_verdict", "arguments": arguments });
        let said =
            self.say(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })).await?;
        let error = if said["result"]["isError"] == json!(true) { "error: " } else { "" };
        Some(format!("{error}{}", said["result"]["content"][0]["text"].as_str().unwrap()))
    }
}

fn verdict(label: &str) -> Json {
    json!({ "verdict": label, "reason": "I looked." })
}

fn reported(number: usize, calls: u32) -> VerdictToolResult {
    let reason = "I looked.".to_owned();
    VerdictToolResult::Reported(ReportedVerdict { number, reason, findings: Vec::new(), calls })
}

// N-1
#[tokio::test]
async fn a_client_is_offered_the_labels_of_this_stage_and_the_last_valid_call_counts() {
    let (server, directory) = open();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&directory.join(KEY_FILE))), (0o700, 0o600));
    let mut client = Client::of(&directory).await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}});
    assert_eq!(
        client.say(&hello).await.unwrap()["result"],
        json!({
            "protocolVersion": "2025-03-26",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "saihai", "version": env!("CARGO_PKG_VERSION") },
            "instructions": "Call saihai_verdict once, after the work and before your last message.",
        })
    );
    let list = client.say(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"})).await.unwrap();
    assert_eq!(list["id"], "a");
    assert_eq!(list["result"]["tools"][0]["name"], "saihai_verdict");
    let labels = &list["result"]["tools"][0]["inputSchema"]["properties"]["verdict"]["enum"];
    assert_eq!(*labels, json!(["approved", "needs_fix"]));
    let recorded = |label| {
        format!(
            "Recorded: {label}. Now write your last message in the required form. It does not change the verdict."
        )
    };
    assert_eq!(client.call(&verdict("approved")).await, Some(recorded("approved")));
    assert_eq!(client.call(&verdict("needs_fix")).await, Some(recorded("needs_fix")));
    // Bad input: a foreign label after a valid call changes nothing.
    assert_eq!(
        client.call(&verdict("merged")).await.as_deref(),
        Some("error: `merged` is not a verdict of this turn; use `approved`, `needs_fix`")
    );
    let unknown = client.say(&json!({"jsonrpc": "2.0", "id": 9, "method": "resources/list"})).await.unwrap();
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(server.close(), (reported(1, 2), Vec::new()));
}

// Issue 26, bad input: another process, another call's key, and a call after the turn
#[tokio::test]
async fn a_process_without_the_key_of_this_call_cannot_report_a_verdict() {
    let (server, directory) = open();
    let (other, of_other) = open();
    let others_key = std::fs::read_to_string(of_other.join(KEY_FILE)).unwrap();
    let mut agent = Client::of(&directory).await;
    agent.call(&verdict("needs_fix")).await.unwrap();
    for key in ["", "00000000000000000000000000000000", &others_key] {
        assert_eq!(Client::connect(&directory, key).await.call(&verdict("approved")).await, None, "{key}");
    }
    let (result, warnings) = server.close();
    assert_eq!(result, reported(1, 1));
    assert_eq!(
        warnings,
        ["a process without the key of this call tried to report its verdict; it was refused"]
    );
    // A replay after the turn reaches neither this call nor the other one.
    assert_eq!(agent.call(&verdict("approved")).await, None);
    assert!(!directory.exists());
    let nothing = VerdictToolResult::Missing(VerdictToolProblem::NotStarted(String::new()));
    assert_eq!(other.close(), (nothing, Vec::new()));
}

// Issue 26, bad input: 10 MB
#[tokio::test]
async fn a_large_or_broken_call_is_refused_and_the_next_one_counts() {
    let (server, directory) = open();
    let mut client = Client::of(&directory).await;
    let large = json!({ "verdict": "approved", "reason": "x".repeat(10_000_000) });
    let refused = "error: `reason` is too long: use at most 1000 characters";
    assert_eq!(client.call(&large).await.as_deref(), Some(refused));
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    client.0.get_mut().write_all(b"[]\n\n{\"method\":\"notifications/initialized\"}\n").await.unwrap();
    assert_eq!(client.say(&ping).await, Some(json!({"jsonrpc": "2.0", "id": 1, "result": {}})));
    client.0.get_mut().write_all(b"not JSON\n").await.unwrap();
    assert_eq!(client.say(&ping).await.unwrap()["error"]["code"], -32700);
    drop(client);
    let mut endless = Client::of(&directory).await;
    let junk = vec![b'x'; LONGEST_MESSAGE + 1];
    // The server hangs up while we still write.
    let _ = endless.0.get_mut().write_all(&junk).await;
    assert_eq!(endless.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await, None);
    assert_eq!(
        server.close().0,
        VerdictToolResult::Missing(VerdictToolProblem::Refused(refused["error: ".len()..].to_owned()))
    );
}

// N-1: the next channel, and its reason
#[tokio::test]
async fn a_server_that_was_not_started_or_not_called_says_so() {
    let (server, directory) = open();
    drop(Client::of(&directory).await.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await);
    assert_eq!(server.close().0, VerdictToolResult::Missing(VerdictToolProblem::NotCalled));
    let problem = |launcher: Option<&Path>| VerdictServer::open(tool(), launcher).err().unwrap().to_string();
    assert_eq!(problem(None), "this caller names no program for it");
    assert_eq!(problem(Some(Path::new("/gone/saihai"))), "`/gone/saihai` is gone");
}

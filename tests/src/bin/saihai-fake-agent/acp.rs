//! Imitates an agent that speaks the Agent Client Protocol: it answers each input line.

use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

use crate::Printed;
use crate::answer::Answer;
use crate::fault::Fault;
use crate::home::Home;
use crate::voice;

/// Returns true for the protocol's own program name, and for the ACP arguments of programs with
/// several modes.
pub(crate) fn is_meant(name: &str, words: &[String]) -> bool {
    name == "acp" || matches!(words.first().map(String::as_str), Some("acp" | "--acp"))
}

/// Answers until its input ends or the script demands a fault or an exit. The caller prints the
/// last answer then.
pub(crate) fn answer(home: &Home, words: &[String]) -> anyhow::Result<(Printed, Option<Fault>)> {
    let mut session = home.new_session();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let Ok(asked) = serde_json::from_str::<Value>(&line) else { continue };
        let id = &asked["id"];
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}),
            Some("session/new") => {
                home.remember(&session, 1);
                json!({"sessionId": session})
            }
            Some("session/load") => {
                session = asked["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
                if home.session(&session).is_none() {
                    let error = json!({"code": -32002, "message": "session not found"});
                    tell(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
                    continue;
                }
                Value::Null
            }
            Some("session/prompt") => {
                let answer = home.next(words, &asked["params"]["prompt"][0]["text"].to_string(), None);
                if answer.forget {
                    home.forget(&session);
                }
                let printed = turn(&answer, &session, id);
                if answer.fault == Some(Fault::ClosesInput) {
                    voice::close_input()?;
                }
                if answer.fault.is_some() || answer.exit.is_some() || answer.no_end {
                    return Ok((printed, answer.fault));
                }
                printed.lines.iter().try_for_each(tell)?;
                continue;
            }
            _ => continue,
        };
        tell(&json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
    }
    Ok((Printed::default(), None))
}

fn turn(answer: &Answer, session: &str, id: &Value) -> Printed {
    let update = |update: Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}});
    let mut printed = Printed { code: answer.exit.unwrap_or(0), ..Printed::default() };
    if let Some(status) = answer.status {
        let error = json!({"code": status, "message": "as the script says"});
        printed.lines.push(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        return printed;
    }
    for (number, tool) in answer.tools.iter().enumerate() {
        let id = format!("call_{number}");
        printed.lines.push(update(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": tool.name, "kind": "other",
            "status": "in_progress", "rawInput": tool.input,
        })));
        printed.lines.push(update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
        })));
    }
    printed.lines.push(update(json!({
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": answer.text},
    })));
    if let Some(cost) = &answer.cost {
        let cost = json!({"amount": cost, "currency": "USD"});
        printed.lines.push(update(json!({"sessionUpdate": "usage_update", "cost": cost})));
    }
    if !answer.no_end {
        printed.lines.push(json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": "end_turn"}}));
    }
    printed
}

fn tell(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}

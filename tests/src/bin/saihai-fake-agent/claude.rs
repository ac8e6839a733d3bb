//! Imitates Claude Code: the events of version 2.1.325 that Saihai uses.

use serde_json::{Value, json};

use crate::Printed;
use crate::answer::Answer;
use crate::arguments::{Given, Grammar};
use crate::home::Home;
use crate::verdicts;

const GRAMMAR: Grammar = Grammar {
    alone: &["-p", "--verbose", "--strict-mcp-config", "--fork-session"],
    valued: &[
        "--output-format",
        "--model",
        "--permission-mode",
        "--setting-sources",
        "--tools",
        "--allowedTools",
        "--disallowedTools",
        "--mcp-config",
        "--append-system-prompt-file",
        "--system-prompt-snapshot",
        "--json-schema",
        "--max-budget-usd",
        "--max-turns",
        "--session-id",
        "--resume",
    ],
};

/// Cost of one answer in dollars.
const PRICE: f64 = 0.0006;

pub(crate) fn answer(home: &Home, words: &[String], input: &str) -> Printed {
    let given = match GRAMMAR.read(words) {
        Ok(given) => given,
        Err(flag) => return Printed::complaint(format!("error: unknown option '{flag}'\n")),
    };
    let persona = given
        .value("--append-system-prompt-file")
        .map(|file| std::fs::read_to_string(file).unwrap_or_else(|error| format!("{file}: {error}")));
    let (session, before) = match (given.value("--resume"), given.value("--session-id")) {
        (Some(id), _) => match home.session(id) {
            Some(before) => (id.to_owned(), before),
            None => return lost(home, words, input, id),
        },
        (None, Some(id)) if home.session(id).is_some() => {
            return Printed::complaint(format!("Error: Session ID {id} is already in use.\n"));
        }
        (None, id) => (id.map_or_else(|| home.new_session(), str::to_owned), 0),
    };
    let mut answer = home.next(words, input, persona);
    let config: Option<Value> = given.value("--mcp-config").and_then(|text| serde_json::from_str(text).ok());
    if let Some(config) = config {
        answer.tools.extend(verdicts::report(&config["mcpServers"]["saihai-turn"], &answer.verdicts));
    }
    if !answer.forget {
        home.remember(&session, before + 1);
    }
    let mut printed = Printed::default();
    printed.lines.push(init(&given, &session));
    let budget = given.value("--max-budget-usd").and_then(|dollars| dollars.parse::<f64>().ok());
    match (answer.status, budget) {
        (Some(status), _) => failed(&mut printed, status, &session),
        // Like the real program: it checks the budget after the first answer, which is already
        // paid.
        (None, Some(budget)) if budget < PRICE => outspent(&mut printed, budget, &session, before + 1),
        (None, _) => succeeded(&mut printed, &answer, &session, before + 1),
    }
    if answer.no_end {
        printed.lines.pop();
    }
    printed.code = answer.exit.unwrap_or(printed.code);
    printed
}

/// Reports a missing session. The call is recorded and consumes an answer like any other.
fn lost(home: &Home, words: &[String], input: &str, id: &str) -> Printed {
    home.next(words, input, None);
    let words = format!("No conversation found with session ID: {id}");
    let end = json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": id,
        "total_cost_usd": 0, "errors": [words], "permission_denials": [],
    });
    Printed { lines: vec![end], complaints: format!("{words}\n"), code: 1 }
}

fn init(given: &Given, session: &str) -> Value {
    let tools = given.value("--tools").unwrap_or("Bash,Edit,Glob,Grep,Read,Write");
    let tools: Vec<&str> = tools.split(',').filter(|tool| !tool.is_empty()).collect();
    json!({
        "type": "system", "subtype": "init", "session_id": session, "tools": tools,
        "permissionMode": given.value("--permission-mode").unwrap_or("default"),
    })
}

fn succeeded(printed: &mut Printed, answer: &Answer, session: &str, answers: u64) {
    for (number, tool) in answer.tools.iter().enumerate() {
        let id = format!("toolu_{number}");
        let call = json!({"type": "tool_use", "id": id, "name": tool.name, "input": tool.input});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": tool.output});
        printed.lines.push(spoken("assistant", &call, session));
        printed.lines.push(spoken("user", &result, session));
    }
    printed.lines.push(spoken("assistant", &json!({"type": "text", "text": answer.text}), session));
    let mut end = json!({
        "type": "result", "subtype": "success", "is_error": false, "api_error_status": null,
        "terminal_reason": "completed", "stop_reason": "end_turn", "result": answer.text,
        "session_id": session, "permission_denials": [],
        // Like the real program: tokens of this answer, cost of the whole session.
        "usage": {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0},
        "total_cost_usd": PRICE * f64::from(u32::try_from(answers).unwrap_or(u32::MAX)),
    });
    if let Some(cost) = &answer.cost {
        end["total_cost_usd"] = cost.clone();
    }
    if let Some(structured) = &answer.structured {
        end["structured_output"] = structured.clone();
    }
    printed.lines.push(end);
}

fn outspent(printed: &mut Printed, budget: f64, session: &str, answers: u64) {
    printed.lines.push(json!({
        "type": "result", "subtype": "error_max_budget_usd", "is_error": true,
        "terminal_reason": "budget_exhausted", "errors": [format!("Reached maximum budget (${budget})")],
        "session_id": session, "permission_denials": [],
        "total_cost_usd": PRICE * f64::from(u32::try_from(answers).unwrap_or(u32::MAX)),
    }));
    printed.code = 1;
}

fn failed(printed: &mut Printed, status: u16, session: &str) {
    let words = format!("API Error: {status} as the script says");
    let retry = json!({
        "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 2, "error_status": status,
    });
    printed.lines.push(retry);
    printed.lines.push(json!({
        "type": "result", "subtype": "success", "is_error": true, "api_error_status": status,
        "terminal_reason": "api_error", "result": words, "session_id": session, "total_cost_usd": 0,
        "permission_denials": [],
    }));
    printed.code = 1;
}

fn spoken(who: &str, block: &Value, session: &str) -> Value {
    json!({
        "type": who, "message": {"role": who, "content": [block]}, "session_id": session,
        "parent_tool_use_id": null,
    })
}

//! Imitates a user's own program with the JSON protocol (C-72).

use serde_json::{Value, json};

use crate::Printed;
use crate::home::Home;

pub(crate) fn answer(home: &Home, words: &[String], input: &str) -> Printed {
    if words.last().map(String::as_str) != Some("--json-protocol") {
        return Printed { code: 64, ..Printed::complaint("only the JSON protocol is spoken here\n") };
    }
    let ask: Value = match serde_json::from_str(input) {
        Ok(ask) => ask,
        // The input was not read.
        Err(_) if input.is_empty() => Value::Null,
        Err(error) => return Printed { code: 65, ..Printed::complaint(format!("{error}\n")) },
    };
    let answer = home.next(words, input, ask["persona"].as_str().map(str::to_owned));
    let mut printed = Printed::default();
    let session = ask["session"].as_str().map_or_else(|| home.new_session(), str::to_owned);
    home.remember(&session, home.session(&session).unwrap_or(0) + 1);
    printed.lines.push(json!({"type": "session", "id": session}));
    for (number, tool) in answer.tools.iter().enumerate() {
        let line = |status: &str| json!({"type": "tool", "id": number, "name": tool.name, "status": status, "input": tool.input, "output": tool.output});
        printed.lines.extend([line("started"), line("done")]);
    }
    printed.lines.push(
        json!({"type": "usage", "input": 90, "output": 12, "cost_usd": answer.cost.unwrap_or(json!(0.01))}),
    );
    printed.lines.push(match answer.status {
        Some(429) => {
            json!({"type": "failed", "class": "rate_limited", "message": "slow down", "retry_after": 0})
        }
        Some(401) => json!({"type": "failed", "class": "auth", "message": "bad key"}),
        Some(status) => {
            let class = if status >= 500 { "transient" } else { "crashed" };
            json!({"type": "failed", "class": class, "message": format!("status {status}")})
        }
        None => json!({"type": "done", "text": answer.text, "structured": answer.structured}),
    });
    if answer.no_end {
        printed.lines.pop();
    }
    printed.code = answer.exit.unwrap_or(0);
    printed
}

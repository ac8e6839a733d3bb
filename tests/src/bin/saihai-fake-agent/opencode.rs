//! Imitates OpenCode: the events of version 1.18.33 that Saihai uses.

use serde_json::json;

use crate::Printed;
use crate::arguments::Grammar;
use crate::home::Home;

const GRAMMAR: Grammar =
    Grammar { alone: &["--auto"], valued: &["--format", "--title", "-m", "--agent", "-s"] };

/// Returns true for a request that only lists the agents. It is not a turn, so faults do not apply.
pub(crate) fn is_question(words: &[String]) -> bool {
    words == ["agent", "list"]
}

pub(crate) fn agents() -> &'static str {
    "build (primary)\nsaihai-readonly (primary)\nsaihai-edit (primary)"
}

pub(crate) fn answer(home: &Home, words: &[String], input: &str) -> Printed {
    let given = match GRAMMAR.read(words) {
        Ok(given) => given,
        Err(flag) => return Printed::complaint(format!("Unknown argument: {flag}\n")),
    };
    let rest: Vec<&str> = given.rest.iter().map(String::as_str).collect();
    if rest != ["run"] {
        return Printed::complaint(format!("Unknown argument: {}\n", rest.join(" ")));
    }
    let answer = home.next(words, input, None);
    let (session, before) = match given.value("-s") {
        None => (format!("ses_{}", home.new_session()), 0),
        Some(id) => match home.session(id) {
            Some(before) => (id.to_owned(), before),
            None => return Printed::complaint("Error: Session not found\n"),
        },
    };
    if !answer.forget {
        home.remember(&session, before + 1);
    }
    let mut printed = Printed::default();
    if let Some(status) = answer.status {
        printed.lines.push(
            json!({"type": "error", "sessionID": session, "error": {"name": "APIError", "data": {
                "message": "as the script says", "statusCode": status, "isRetryable": false,
            }}}),
        );
        printed.code = answer.exit.unwrap_or(1);
        return printed;
    }
    for (number, tool) in answer.tools.iter().enumerate() {
        printed.lines.push(json!({"type": "tool_use", "sessionID": session, "part": {
            "tool": tool.name, "callID": format!("call_{number}"),
            "state": {"status": "completed", "input": tool.input, "output": tool.output},
        }}));
    }
    printed.lines.push(json!({"type": "text", "sessionID": session, "part": {
        "messageID": "msg_1", "type": "text", "text": answer.text,
    }}));
    printed.lines.push(json!({"type": "step_finish", "sessionID": session, "part": {
        "reason": "stop", "cost": answer.cost.unwrap_or(json!(0.0006)),
        "tokens": {"input": 100, "output": 20, "reasoning": 0, "cache": {"read": 0, "write": 0}},
    }}));
    if answer.no_end {
        printed.lines.pop();
    }
    printed.code = answer.exit.unwrap_or(0);
    printed
}

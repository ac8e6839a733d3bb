//! Imitates Copilot CLI: the events of version 1.0.102 that Saihai uses.

use serde_json::json;

use crate::Printed;
use crate::arguments::Grammar;
use crate::home::Home;

const GRAMMAR: Grammar = Grammar {
    alone: &[
        "--no-color",
        "--no-ask-user",
        "--disable-builtin-mcps",
        "--allow-all-tools",
        "--no-custom-instructions",
    ],
    valued: &[
        "--output-format",
        "--model",
        "--available-tools",
        "--deny-tool",
        "--allow-tool",
        "--additional-mcp-config",
        "--session-id",
        "--resume",
    ],
};

pub(crate) fn answer(home: &Home, words: &[String], input: &str) -> Printed {
    let given = match GRAMMAR.read(words) {
        Ok(given) if given.rest.is_empty() => given,
        Ok(given) => {
            return Printed::complaint(format!("error: unknown command '{}'\n", given.rest.join(" ")));
        }
        Err(flag) => return Printed::complaint(format!("error: unknown option '{flag}'\n")),
    };
    let answer = home.next(words, input, None);
    let (session, before) = match (given.value("--resume"), given.value("--session-id")) {
        (Some(id), _) => match home.session(id) {
            Some(before) => (id.to_owned(), before),
            None => return Printed::complaint(format!("Error: No session, task, or name matched '{id}'\n")),
        },
        // Like the real program: it silently resumes a known id.
        (None, Some(id)) => (id.to_owned(), home.session(id).unwrap_or(0)),
        (None, None) => (home.new_session(), 0),
    };
    if !answer.forget {
        home.remember(&session, before + 1);
    }
    let mut printed = Printed::default();
    if let Some(status) = answer.status {
        let kind = match status {
            401 | 403 => "authentication",
            429 => "rate_limit",
            _ => "query",
        };
        printed.lines.push(json!({"type": "session.error", "data": {
            "errorType": kind, "statusCode": status, "message": "as the script says",
        }}));
        printed.code = 1;
    } else {
        for (number, tool) in answer.tools.iter().enumerate() {
            let id = format!("call_{number}");
            printed.lines.push(json!({"type": "tool.execution_start", "data": {
                "toolCallId": id, "toolName": tool.name, "arguments": tool.input,
            }}));
            printed.lines.push(json!({"type": "tool.execution_complete", "data": {
                "toolCallId": id, "success": true, "result": {"content": tool.output},
            }}));
        }
        printed.lines.push(json!({"type": "assistant.message", "data": {
            "content": answer.text, "toolRequests": [], "turnId": "1",
        }}));
    }
    if !answer.no_end {
        let usage = json!({"premiumRequests": 0});
        printed
            .lines
            .push(json!({"type": "result", "sessionId": session, "exitCode": printed.code, "usage": usage}));
    }
    printed.code = answer.exit.unwrap_or(printed.code);
    printed
}

//! Imitates Gemini CLI: the events of version 0.61.0 that Saihai uses.

use serde_json::json;

use crate::Printed;
use crate::answer::Answer;
use crate::arguments::Grammar;
use crate::home::Home;

const GRAMMAR: Grammar = Grammar {
    alone: &["--skip-trust"],
    valued: &["-o", "-m", "--approval-mode", "--policy", "--session-id", "--resume"],
};

pub(crate) fn answer(home: &Home, words: &[String], input: &str) -> Printed {
    let given = match GRAMMAR.read(words) {
        Ok(given) if given.rest.is_empty() => given,
        Ok(given) => return Printed::complaint(format!("Unknown argument: {}\n", given.rest.join(" "))),
        Err(flag) => return Printed::complaint(format!("Unknown argument: {flag}\n")),
    };
    let answer = home.next(words, input, None);
    let (session, before) = match (given.value("--resume"), given.value("--session-id")) {
        (Some(id), _) => match home.session(id) {
            Some(before) => (id.to_owned(), before),
            None => {
                let words = format!("Error resuming session: Invalid session identifier \"{id}\".\n");
                return Printed { code: 42, ..Printed::complaint(words) };
            }
        },
        (None, Some(id)) if home.session(id).is_some() => {
            return Printed { code: 42, ..Printed::complaint(format!("Session ID {id} already exists\n")) };
        }
        (None, id) => (id.map_or_else(|| home.new_session(), str::to_owned), 0),
    };
    if !answer.forget {
        home.remember(&session, before + 1);
    }
    let mut printed = Printed::default();
    printed.lines.push(json!({"type": "init", "session_id": session, "model": "gemini-2.5-pro"}));
    match answer.status {
        Some(status) => failed(&mut printed, status),
        None => succeeded(&mut printed, &answer),
    }
    if answer.no_end {
        printed.lines.pop();
    }
    printed.code = answer.exit.unwrap_or(printed.code);
    printed
}

fn succeeded(printed: &mut Printed, answer: &Answer) {
    for (number, tool) in answer.tools.iter().enumerate() {
        let id = format!("w_{number}");
        printed.lines.push(
            json!({"type": "tool_use", "tool_name": tool.name, "tool_id": id, "parameters": tool.input}),
        );
        printed
            .lines
            .push(json!({"type": "tool_result", "tool_id": id, "status": "success", "output": tool.output}));
    }
    printed
        .lines
        .push(json!({"type": "message", "role": "assistant", "content": answer.text, "delta": true}));
    printed.lines.push(json!({"type": "result", "status": "success", "stats": {
        "input_tokens": 300, "output_tokens": 60, "cached": 0, "tool_calls": answer.tools.len(),
    }}));
}

fn failed(printed: &mut Printed, status: u16) {
    let body = json!({"error": {"code": status, "message": "as the script says"}});
    let message = format!("[API Error: {body}]");
    printed.lines.push(json!({"type": "result", "status": "error", "error": {"message": message}}));
    printed.code = if status == 401 { 145 } else { 1 };
}

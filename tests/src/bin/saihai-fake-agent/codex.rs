//! Imitates Codex: the events of version 0.166.0 that Saihai uses.

use serde_json::json;

use crate::Printed;
use crate::answer::Answer;
use crate::arguments::Grammar;
use crate::home::Home;

const GRAMMAR: Grammar = Grammar {
    alone: &["--json", "--skip-git-repo-check"],
    valued: &["--disable", "-s", "-C", "-m", "--output-schema", "-c"],
};

pub(crate) fn answer(home: &Home, words: &[String], input: &str) -> Printed {
    let given = match GRAMMAR.read(words) {
        Ok(given) => given,
        Err(flag) => return usage(&flag),
    };
    let rest: Vec<&str> = given.rest.iter().map(String::as_str).collect();
    let thread = match rest.as_slice() {
        ["exec", "-"] => None,
        ["exec", "resume", thread, "-"] => Some(*thread),
        other => return usage(&other.join(" ")),
    };
    let answer = home.next(words, input, None);
    let (thread, before) = match thread {
        None => (home.new_session(), 0),
        Some(thread) => match home.session(thread) {
            Some(before) => (thread.to_owned(), before),
            None => {
                return Printed::complaint(format!(
                    "Error: thread/resume: thread/resume failed: no rollout found for thread id {thread} (code -32600)\n"
                ));
            }
        },
    };
    if !answer.forget {
        home.remember(&thread, before + 1);
    }
    let mut printed = Printed::default();
    printed.lines.push(json!({"type": "thread.started", "thread_id": thread}));
    printed.lines.push(json!({"type": "turn.started"}));
    match answer.status {
        Some(status) => failed(&mut printed, status),
        None => succeeded(&mut printed, &answer, before + 1),
    }
    if answer.no_end {
        printed.lines.pop();
    }
    printed.code = answer.exit.unwrap_or(printed.code);
    printed
}

fn usage(flag: &str) -> Printed {
    Printed { code: 2, ..Printed::complaint(format!("error: unexpected argument '{flag}' found\n")) }
}

fn succeeded(printed: &mut Printed, answer: &Answer, answers: u64) {
    for (number, tool) in answer.tools.iter().enumerate() {
        let item = |status: &str, output: &str| {
            json!({
                "id": format!("item_{number}"), "type": "command_execution", "command": tool.input,
                "aggregated_output": output, "status": status,
            })
        };
        printed.lines.push(json!({"type": "item.started", "item": item("in_progress", "")}));
        printed.lines.push(json!({"type": "item.completed", "item": item("completed", &tool.output)}));
    }
    let text = answer.structured.as_ref().map_or_else(|| answer.text.clone(), ToString::to_string);
    printed.lines.push(
        json!({"type": "item.completed", "item": {"id": "last", "type": "agent_message", "text": text}}),
    );
    // Like the real program: tokens of the whole thread.
    let counted =
        json!({"input_tokens": 200 * answers, "cached_input_tokens": 0, "output_tokens": 40 * answers});
    printed.lines.push(json!({"type": "turn.completed", "usage": counted}));
}

fn failed(printed: &mut Printed, status: u16) {
    let message = match status {
        429 => "exceeded retry limit, last status: 429 Too Many Requests".to_owned(),
        500.. => "We’re currently experiencing high demand, which may cause temporary errors.".to_owned(),
        status => format!("unexpected status {status}: as the script says"),
    };
    printed.lines.push(json!({"type": "error", "message": message}));
    printed.lines.push(json!({"type": "turn.failed", "error": {"message": message}}));
    printed.code = 1;
}

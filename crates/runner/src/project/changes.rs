//! The file changes of a run's turns, as far as the journal shows them.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use saihai_connect::{Asked, Player, Taken};
use saihai_model::{Failure, Json, Place, ScriptEdit, ScriptReply, ScriptWrite, ToolUse, Workflow};
use saihai_view::{AttemptResult, AttemptView, CallView};

use crate::{Error, LoadedRun};

/// One event of an attempt, as input for the player of a script.
enum Step<'a> {
    Asked { call: &'a CallView, attempt: &'a AttemptView },
    Ended { call: &'a CallView, failure: Option<&'a Failure> },
}

/// Returns all events by number.
fn steps(run: &LoadedRun) -> Vec<(u64, Step<'_>)> {
    let mut steps = Vec::new();
    for call in &run.view.calls {
        for attempt in &call.attempts {
            steps.push((attempt.seq, Step::Asked { call, attempt }));
            match &attempt.result {
                AttemptResult::Open => {}
                AttemptResult::Replied { seq, .. } => steps.push((*seq, Step::Ended { call, failure: None })),
                AttemptResult::Failed { seq, failed, .. } => {
                    steps.push((*seq, Step::Ended { call, failure: Some(&failed.failure) }));
                }
            }
        }
    }
    steps.sort_by_key(|(seq, _)| *seq);
    steps
}

/// The known file changes of a run.
pub(super) struct Changes {
    /// The replies of the run's script, by the number of the ask.
    scripted: BTreeMap<usize, ScriptReply>,
    directory: String,
}

#[derive(Debug, Default)]
pub(super) struct Changed {
    reply: ScriptReply,
    /// True if the turn may have changed more files.
    pub(super) unknown: bool,
}

/// The provider name of a script.
const SCRIPT: &str = "script";
/// Agent tools that change no files, by lower-case name.
const LOOKS: [&str; 14] = [
    "read",
    "grep",
    "glob",
    "ls",
    "list",
    "search",
    "view",
    "webfetch",
    "websearch",
    "todowrite",
    "todoread",
    "notebookread",
    "read_file",
    "list_directory",
];

impl Changes {
    /// Replays the script of a run, if it has one, to find the reply to each ask.
    pub(super) fn of(run: &LoadedRun) -> Result<Self, Error> {
        let mut scripted = BTreeMap::new();
        let player = run.directory.script()?.and_then(|script| Player::new(script).ok());
        if let Some(mut player) = player {
            let (mut asks, mut prompts) = (0, BTreeMap::new());
            for (_, step) in steps(run) {
                match step {
                    Step::Ended { call, failure } => player.ended(&call.id, failure),
                    Step::Asked { call, attempt } => {
                        if let Some(prompt) = attempt.prompt.as_ref().filter(|_| player.reads_prompts()) {
                            prompts.insert(&call.id, run.directory.text(prompt)?);
                        }
                        let prompt = prompts.get(&call.id).map_or("", String::as_str);
                        if let Some(reply) = taken(&mut player, &run.workflow, call, prompt) {
                            scripted.insert(asks, reply);
                        }
                        asks += 1;
                    }
                }
            }
        }
        Ok(Self { scripted, directory: run.view.start.directory.clone() })
    }

    /// Returns the changes of an ask's turn.
    pub(super) fn made(&self, ask: usize, tools: Vec<ToolUse>, may_change: bool) -> Changed {
        if let Some(reply) = self.scripted.get(&ask) {
            let reply = ScriptReply {
                writes: reply.writes.clone(),
                edits: reply.edits.clone(),
                runs: reply.runs.clone(),
                tools_used: reply.tools_used.clone(),
                ..ScriptReply::default()
            };
            return Changed { reply, unknown: false };
        }
        let mut changed = Changed { unknown: may_change && tools.is_empty(), ..Changed::default() };
        for tool in tools.iter().filter(|_| may_change) {
            changed.take_in(tool, &self.directory);
        }
        changed.reply.tools_used = tools;
        changed
    }
}

/// Returns the script's reply to an ask, if the script was asked.
fn taken(player: &mut Player, workflow: &Workflow, call: &CallView, prompt: &str) -> Option<ScriptReply> {
    let place = call.place;
    let turns = workflow.stage(&call.id.stage)?.turns();
    let turn = match place {
        Place::Main(index) | Place::Check(index) => turns.get(index),
        Place::Exit | Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_) => None,
    };
    if turn.is_some_and(|turn| turn.provider.as_str() != SCRIPT) {
        return None;
    }
    let role = turn.and_then(|turn| turn.role.as_deref());
    match player.take(&Asked { call: &call.id, turn: turn.map(|turn| &turn.id), place, role, prompt }) {
        Taken::Reply { reply, .. } => Some(reply.as_ref().clone()),
        Taken::Generic { .. } | Taken::Missing(_) => None,
    }
}

impl Changed {
    /// Adds these changes to a reply.
    pub(super) fn put_into(self, reply: ScriptReply) -> ScriptReply {
        let ScriptReply { writes, edits, runs, tools_used, .. } = self.reply;
        ScriptReply { writes, edits, runs, tools_used, ..reply }
    }

    /// Adds a tool call. A script plays writes before edits, so a later write drops earlier edits of the same
    /// file.
    fn take_in(&mut self, tool: &ToolUse, directory: &str) {
        let text = |keys: &[&str]| {
            let input = tool.input.as_ref()?;
            keys.iter().find_map(|key| input.get(key).and_then(Json::as_str)).map(str::to_owned)
        };
        let path = text(&["file_path", "path", "filePath"]).and_then(|path| inside(&path, directory));
        let everywhere = ["replace_all", "replaceAll"];
        let everywhere = everywhere.iter().any(|key| {
            tool.input.as_ref().and_then(|input| input.get(key)).and_then(Json::as_bool) == Some(true)
        });
        let edit =
            (text(&["old_string", "oldString", "find"]), text(&["new_string", "newString", "replace"]));
        match (tool.name.to_ascii_lowercase().as_str(), path, text(&["content"]), edit) {
            ("write" | "write_file", Some(path), Some(content), _) => {
                self.reply.edits.retain(|edit| edit.path != path);
                self.reply.writes.retain(|write| write.path != path);
                self.reply.writes.push(ScriptWrite { path, content });
            }
            ("edit" | "replace", Some(path), _, (Some(find), Some(replace)))
                if !everywhere && !find.is_empty() =>
            {
                self.reply.edits.push(ScriptEdit { path, find, replace });
            }
            (name, ..) if LOOKS.contains(&name) => {}
            _ => self.unknown = true,
        }
    }
}

/// Returns a path relative to the agent's directory, if it is inside.
fn inside(path: &str, directory: &str) -> Option<String> {
    let path = Path::new(path);
    let path = if path.is_absolute() { path.strip_prefix(directory).ok()? } else { path };
    let stays = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (stays && path.components().next().is_some()).then(|| path.to_str().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(tools: &[(&str, Json)], expected: &str) {
        let changes = Changes { scripted: BTreeMap::new(), directory: "/proj".to_owned() };
        let tools = tools.iter().map(|(name, input)| ToolUse {
            name: (*name).to_owned(),
            input: Some(input.clone()),
            output: None,
            duration_ms: 0,
        });
        let changed = changes.made(0, tools.collect(), true);
        let writes =
            changed.reply.writes.iter().map(|write| format!("write {}={}", write.path, write.content));
        let edits = changed
            .reply
            .edits
            .iter()
            .map(|edit| format!("edit {}:{}>{}", edit.path, edit.find, edit.replace));
        let unknown = changed.unknown.then(|| "unknown".to_owned());
        let said: Vec<String> = writes.chain(edits).chain(unknown).collect();
        assert_eq!(said.join(", "), expected);
    }

    // C-75
    #[test]
    fn what_tools_wrote_and_edited_is_known_and_what_commands_did_is_not() {
        let write = json!({"file_path": "/proj/a.txt", "content": "x"});
        let edit = json!({"file_path": "/proj/a.txt", "old_string": "x", "new_string": "y"});
        check(&[("Write", write.clone()), ("Edit", edit.clone())], "write a.txt=x, edit a.txt:x>y");
        check(&[("Edit", edit.clone()), ("Write", write.clone())], "write a.txt=x");
        check(
            &[("Read", json!({"file_path": "/proj/a.txt"})), ("write", json!({"path": "b", "content": ""}))],
            "write b=",
        );
        check(&[("Write", write), ("Bash", json!({"command": "make"}))], "write a.txt=x, unknown");
        check(&[("Write", json!({"file_path": "/elsewhere/a", "content": "x"}))], "unknown");
        check(&[("Write", json!({"file_path": "../a", "content": "x"}))], "unknown");
        let everywhere = json!({"path": "a", "find": "x", "replace": "y", "replace_all": true});
        check(&[("edit", everywhere)], "unknown");
        check(&[], "unknown");
    }
}

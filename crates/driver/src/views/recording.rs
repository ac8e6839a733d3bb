//! Records a run as a script that replays it, with the file changes of its turns (C-75).

use std::collections::BTreeMap;
use std::path::{Component, Path};

use saihai_config::of_target;
use saihai_connect::{ScriptAsk, ScriptChoice, ScriptPlayer, UnscriptedProgram};
use saihai_model::{
    Answer, CallFailed, CallId, Expectation, ExpectedPrompt, Failure, FailureClass, Json, Millis, Permission,
    Reading, Replied, RoundPosition, Script, ScriptAnswer, ScriptEdit, ScriptFailure, ScriptReply,
    ScriptTarget, ScriptWrite, Start, Text, ToolUse, VerdictChannel, Visits, Workflow,
};
use saihai_view::{AttemptResult, AttemptView, CallView, RunState};

use crate::blobs::sha256;
use crate::driver::read_tools;
use crate::{DriverError, LoadedRun};

/// A run as a script, and the parts that no script can replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The replies in the order of the asks, and the expectations for a replay.
    pub script: Script,
    /// Turns with unknown file changes, by their name in a script.
    pub unknown: Vec<String>,
    pub cancelled: bool,
}

/// The file changes of one turn, as far as its tools show them.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnFileChanges {
    pub call: CallId,
    pub place: RoundPosition,
    /// Files that the turn wrote whole.
    pub writes: Vec<ScriptWrite>,
    pub edits: Vec<ScriptEdit>,
    /// True if the turn may have changed more: it ran commands, or its provider reports no tools.
    pub is_partial: bool,
}

/// The wait of a replayed failure, if the recorded one named a time.
const SHORT_WAIT: Millis = Millis(1_000);

impl LoadedRun {
    /// Returns the file changes of all turns that were allowed to change files and have replied, in order.
    pub fn file_changes(&self) -> Result<Vec<TurnFileChanges>, DriverError> {
        let changes = FileChanges::of(self)?;
        let mut turns = Vec::new();
        for (index, ask) in self.recorded_asks().iter().enumerate() {
            let Some(reply) = ask.reply().filter(|_| may_change(&self.workflow, ask.call)) else { continue };
            let tools = read_tools(&self.directory, &reply.tools_used)?;
            let changed = changes.made(index, tools, true);
            turns.push(TurnFileChanges {
                call: ask.call.id.clone(),
                place: ask.call.place,
                is_partial: changed.unknown || !changed.reply.runs.is_empty(),
                writes: changed.reply.writes,
                edits: changed.reply.edits,
            });
        }
        Ok(turns)
    }

    fn recorded_asks(&self) -> Vec<RecordedAsk<'_>> {
        let mut asks: Vec<RecordedAsk<'_>> = Vec::new();
        for call in &self.view.calls {
            let last = call.attempts.len().saturating_sub(1);
            asks.extend(call.attempts.iter().enumerate().map(|(index, attempt)| RecordedAsk {
                call,
                attempt,
                is_last: index == last,
            }));
        }
        asks.sort_by_key(|ask| ask.attempt.seq);
        asks
    }

    /// Records the run so far.
    pub fn recording(&self) -> Result<Recording, DriverError> {
        let asks = self.recorded_asks();
        let changes = FileChanges::of(self)?;
        let mut unknown = Vec::new();
        let mut replies = Vec::new();
        // A stopped attempt, or one that died with its process, was usually repeated. Then the later one
        // counts.
        for (index, ask) in asks.iter().enumerate().filter(|(_, ask)| ask.has_spoken() || ask.is_last) {
            let reply = ask.script_reply(self)?;
            let tools =
                ask.reply().map(|reply| read_tools(&self.directory, &reply.tools_used)).transpose()?;
            let may_change = may_change(&self.workflow, ask.call);
            let changed = changes.made(index, tools.unwrap_or_default(), may_change);
            if changed.unknown {
                let name = reply.target.as_ref().map_or_else(String::new, of_target);
                unknown.push(format!("{name} at visit {}", ask.call.id.visit));
            }
            replies.push(changed.put_into(reply));
        }
        let start = &self.view.start;
        let script = Script {
            strict: true,
            lenient_roles: false,
            replies,
            task: Some(self.directory.text(&start.task)?),
            expect: Some(self.expectation()?),
            answers: self.view.answers.iter().map(answer).collect(),
            interactive: Some(start.interactive),
            recorded: Some(self.directory.id().to_owned()),
        };
        Ok(Recording { script, unknown, cancelled: self.view.cancelled })
    }
}

struct RecordedAsk<'a> {
    call: &'a CallView,
    attempt: &'a AttemptView,
    /// True for the last attempt of the call.
    is_last: bool,
}

impl RecordedAsk<'_> {
    /// Returns true if the attempt replied, or failed by itself.
    fn has_spoken(&self) -> bool {
        match &self.attempt.result {
            AttemptResult::Open => false,
            AttemptResult::Replied { .. } => true,
            AttemptResult::Failed { failed, .. } => failed.failure.class != FailureClass::Cancelled,
        }
    }

    fn reply(&self) -> Option<&Replied> {
        match &self.attempt.result {
            AttemptResult::Replied { reply, .. } => Some(reply),
            AttemptResult::Failed { .. } | AttemptResult::Open => None,
        }
    }

    fn script_reply(&self, run: &LoadedRun) -> Result<ScriptReply, DriverError> {
        let reply = ScriptReply {
            target: Some(target(&run.workflow, self.call)),
            visits: Some(Visits::These(vec![self.call.id.visit])),
            ..ScriptReply::default()
        };
        Ok(match &self.attempt.result {
            AttemptResult::Replied { reply: came, .. } => ScriptReply {
                text: Some(with_plain_tag(run.directory.text(said(came))?, &came.reading)),
                structured: came.reading.output.clone().filter(|_| came.reading.exit.is_none()),
                exit: came.reading.exit,
                usage: came.usage.clone(),
                cost: came.cost,
                ..reply
            },
            AttemptResult::Failed { failed, .. } if self.has_spoken() => ScriptReply {
                fail: Some(failure(failed)),
                usage: failed.usage.clone(),
                cost: failed.cost,
                ..reply
            },
            // It was stopped because of another turn, and a replay stops it again.
            AttemptResult::Failed { .. } | AttemptResult::Open => ScriptReply { hang: true, ..reply },
        })
    }
}

/// Returns everything that was carried on. A script sends it as one message. A program is quoted as it printed.
fn said(reply: &Replied) -> &Text {
    reply.spoken.as_ref().filter(|_| reply.reading.exit.is_none()).unwrap_or(&reply.text)
}

/// Adds the tag of a verdict that did not come as a plain tag: a script has neither the verdict tool nor the word of a call.
fn with_plain_tag(text: String, reading: &Reading) -> String {
    let tagged = reading.tag.as_ref().and_then(|tag| tag.number);
    let number = match reading.channel {
        Some(VerdictChannel::Tool) => {
            reading.verdict.as_ref().map(|verdict| verdict.number).filter(|number| tagged != Some(*number))
        }
        Some(VerdictChannel::Nonce) => tagged,
        Some(VerdictChannel::Schema) | None => None,
    };
    match number {
        Some(number) => format!("{}\n\n[STEP:{number}]", text.trim_end()),
        None => text,
    }
}

fn answer(answer: &Answer) -> ScriptAnswer {
    ScriptAnswer {
        gate: answer.call.stage.clone(),
        visits: Some(Visits::These(vec![answer.call.visit])),
        label: answer.label.clone(),
        text: answer.text.clone(),
    }
}

/// Returns true if a call was allowed to change files.
fn may_change(workflow: &Workflow, call: &CallView) -> bool {
    let turns = workflow.stage(&call.id.stage).map(|stage| stage.turns()).unwrap_or_default();
    match call.place {
        RoundPosition::Main(index) => {
            // A program is expected to look, not to change.
            turns
                .get(index)
                .is_some_and(|turn| turn.permission != Permission::ReadOnly && turn.program.is_none())
        }
        _ => false,
    }
}

fn failure(failed: &CallFailed) -> ScriptFailure {
    let failure = &failed.failure;
    let waits =
        failure.until.is_some() || matches!(failure.class, FailureClass::RateLimited | FailureClass::Quota);
    ScriptFailure {
        class: failure.class,
        message: failure.message.clone(),
        retry_after: waits.then_some(SHORT_WAIT),
        until: None,
    }
}

fn target(workflow: &Workflow, call: &CallView) -> ScriptTarget {
    let turns = workflow.stage(&call.id.stage).map(|stage| stage.turns()).unwrap_or_default();
    let (index, judge) = match call.place {
        RoundPosition::Main(index) => (Some(index), false),
        RoundPosition::Check(index) => (Some(index), true),
        RoundPosition::Exit => (None, true),
        RoundPosition::Report(_)
        | RoundPosition::Block(_)
        | RoundPosition::Proof(_)
        | RoundPosition::Outside(_) => (None, false),
    };
    // The only turn of a stage needs no name.
    let turn = index.filter(|_| turns.len() > 1).and_then(|index| turns.get(index));
    ScriptTarget { stage: call.id.stage.clone(), turn: turn.map(|turn| turn.id.clone()), judge }
}

impl LoadedRun {
    /// Returns the outcome so far, the entered stages and the digests of the prompts. Prompts that differ
    /// only in the run's directories have the same digest.
    pub fn expectation(&self) -> Result<Expectation, DriverError> {
        let outcome = match &self.state {
            RunState::Ended { ending } => Some(ending.outcome().to_owned()),
            RunState::Running { .. } | RunState::Interrupted | RunState::Ready | RunState::Parked { .. } => {
                None
            }
        };
        let stages = self.view.visits.iter().map(|visit| visit.stage.clone()).collect();
        // A call answers its last prompt, but calls are listed by their first prompt.
        let mut calls: Vec<_> = self.view.calls.iter().filter(|call| call.prompt().is_some()).collect();
        calls.sort_by_key(|call| {
            call.attempts.iter().find(|attempt| attempt.prompt.is_some()).map(|one| one.seq)
        });
        let prompts =
            calls.into_iter().filter_map(|call| Some((call, call.prompt()?))).map(|(call, prompt)| {
                let prompt = without_directories(&self.directory.text(prompt)?, &self.view.start);
                Ok(ExpectedPrompt { call: call.id.clone(), sha256: sha256(prompt.as_bytes()) })
            });
        Ok(Expectation {
            outcome,
            stages: Some(stages),
            prompts: prompts.collect::<Result<_, DriverError>>()?,
        })
    }
}

/// Replaces directories by placeholders, the report directory first: it is usually in the project.
fn without_directories(prompt: &str, start: &Start) -> String {
    let named = [(&start.report_directory, "{report_directory}"), (&start.directory, "{directory}")];
    named
        .into_iter()
        .filter(|(directory, _)| directory.len() > 1)
        .fold(prompt.to_owned(), |prompt, (directory, name)| prompt.replace(directory.as_str(), name))
}

/// One event of an attempt, as input for the player of a script.
enum AskEvent<'a> {
    Asked { call: &'a CallView, attempt: &'a AttemptView },
    Ended { call: &'a CallView, failure: Option<&'a Failure> },
}

/// Returns all events by number.
fn ask_events(run: &LoadedRun) -> Vec<(u64, AskEvent<'_>)> {
    let mut events = Vec::new();
    for call in &run.view.calls {
        for attempt in &call.attempts {
            events.push((attempt.seq, AskEvent::Asked { call, attempt }));
            match &attempt.result {
                AttemptResult::Open => {}
                AttemptResult::Replied { seq, .. } => {
                    events.push((*seq, AskEvent::Ended { call, failure: None }))
                }
                AttemptResult::Failed { seq, failed, .. } => {
                    events.push((*seq, AskEvent::Ended { call, failure: Some(&failed.failure) }));
                }
            }
        }
    }
    events.sort_by_key(|(seq, _)| *seq);
    events
}

/// The known file changes of a run.
struct FileChanges {
    /// The replies of the run's script, by the number of the ask.
    scripted: BTreeMap<usize, ScriptReply>,
    directory: String,
}

#[derive(Debug, Default)]
struct TurnChanges {
    reply: ScriptReply,
    /// True if the turn may have changed more files.
    unknown: bool,
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

impl FileChanges {
    /// Replays the script of a run, if it has one, to find the reply to each ask.
    fn of(run: &LoadedRun) -> Result<Self, DriverError> {
        let mut scripted = BTreeMap::new();
        let player = run.directory.script()?.and_then(|script| ScriptPlayer::new(script).ok());
        if let Some(mut player) = player {
            let (mut asks, mut prompts) = (0, BTreeMap::new());
            for (_, step) in ask_events(run) {
                match step {
                    AskEvent::Ended { call, failure } => player.ended(&call.id, failure),
                    AskEvent::Asked { call, attempt } => {
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
    fn made(&self, ask: usize, tools: Vec<ToolUse>, may_change: bool) -> TurnChanges {
        if let Some(reply) = self.scripted.get(&ask) {
            let reply = ScriptReply {
                writes: reply.writes.clone(),
                edits: reply.edits.clone(),
                runs: reply.runs.clone(),
                tools_used: reply.tools_used.clone(),
                ..ScriptReply::default()
            };
            return TurnChanges { reply, unknown: false };
        }
        let mut changed = TurnChanges { unknown: may_change && tools.is_empty(), ..TurnChanges::default() };
        for tool in tools.iter().filter(|_| may_change) {
            changed.take_in(tool, &self.directory);
        }
        changed.reply.tools_used = tools;
        changed
    }
}

/// Returns the script's reply to an ask, if the script was asked.
fn taken(
    player: &mut ScriptPlayer,
    workflow: &Workflow,
    call: &CallView,
    prompt: &str,
) -> Option<ScriptReply> {
    let place = call.place;
    let turns = workflow.stage(&call.id.stage)?.turns();
    let turn = match place {
        RoundPosition::Main(index) | RoundPosition::Check(index) => turns.get(index),
        _ => None,
    };
    let is_program =
        turn.is_some_and(|turn| turn.program.is_some()) && matches!(place, RoundPosition::Main(_));
    if !is_program && turn.is_some_and(|turn| turn.provider.as_str() != SCRIPT) {
        return None;
    }
    let role = turn.and_then(|turn| turn.role.as_deref());
    let turn = turn.map(|turn| &turn.id);
    let program = is_program.then_some(UnscriptedProgram::Runs);
    match player.take(&ScriptAsk { call: &call.id, turn, place, role, prompt, program }) {
        ScriptChoice::Reply { reply, .. } => Some(reply.as_ref().clone()),
        ScriptChoice::Generic { .. } | ScriptChoice::Missing(_) | ScriptChoice::RunProgram => None,
    }
}

impl TurnChanges {
    /// Adds these changes to a reply.
    fn put_into(self, reply: ScriptReply) -> ScriptReply {
        let ScriptReply { writes, edits, runs, tools_used, .. } = self.reply;
        ScriptReply { writes, edits, runs, tools_used, ..reply }
    }

    /// Adds a tool call. A script plays writes before edits, so a later write drops the file's earlier edits.
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
        let changes = FileChanges { scripted: BTreeMap::new(), directory: "/proj".to_owned() };
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

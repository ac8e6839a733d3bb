//! One turn: a conversation with a model until its answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use saihai_model::{
    Ask, Failure, FailureClass, Permission, Progress, ProviderAnswer, ProviderRefusal, Reply, ToolUse,
    TurnLimit, Usage, VerdictTool, VerdictToolProblem, VerdictToolResult,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::fits;
use crate::agents::turn_log::sum_of_usage;
use crate::http::ModelService;
use crate::http::api::{AnswerStop, ModelAnswer, ModelToolCall};
use crate::http::api::{ModelRequest, ToolResult};
use crate::http::exchange::{ModelExchange, timed_out};
use crate::http::tools::{ModelTool, ToolContext, ToolStop};
use crate::http::{session, tools};
use crate::redact::{Redaction, Redactor};
use crate::structured::Structured;
use crate::structured::{ANSWER, SchemaForm};
use crate::verdict::{VerdictEvent, recorded, verdict_of};

/// Default maximum number of model calls in a turn (C-82).
const CALLS: u32 = 50;
/// Default maximum prompt length in bytes; the APIs accept requests of 32 MB.
const PROMPT: u64 = 30_000_000;

type Tell<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// An ask and its service.
pub(crate) struct HttpTurn {
    pub(super) ask: Ask,
    pub(super) service: ModelService,
}

/// The result of a complete turn.
struct FinishedTurn {
    conversation: ModelConversation,
    /// The structured answer, if the API has a separate field for it.
    given: Option<Value>,
}

#[derive(Default)]
struct ModelConversation {
    messages: Vec<Value>,
    /// Number of messages from earlier turns.
    earlier: usize,
    responses: Vec<String>,
    tools_used: Vec<ToolUse>,
    denied: u32,
    warnings: Vec<String>,
    /// Calls of the verdict tool, in order.
    verdicts: Vec<VerdictEvent>,
}

/// The state of a turn that is not over.
#[derive(Default)]
struct TurnSoFar {
    spent: Usage,
    /// Text of the last answer so far.
    said: String,
}

impl HttpTurn {
    pub(crate) async fn answer(self, progress: Tell<'_>, stop: CancellationToken) -> ProviderAnswer {
        let cancelled = || ProviderRefusal::from(Failure::new(FailureClass::Cancelled, "stopped"));
        if stop.is_cancelled() {
            return Err(cancelled());
        }
        let timeout = self.ask.timeout.or(self.service.settings.turn_timeout);
        let deadline = async {
            match timeout {
                Some(timeout) => {
                    tokio::time::sleep(Duration::from_millis(timeout.0)).await;
                    timeout
                }
                None => std::future::pending().await,
            }
        };
        let mut meanwhile = TurnSoFar::default();
        let form = self.ask.schema.as_ref().map(SchemaForm::new);
        let told = tokio::select! {
            biased;
            told = self.converse(form.as_ref(), progress, &mut meanwhile) => told,
            () = stop.cancelled() => Err(cancelled()),
            limit = deadline => Err(timed_out(limit).into()),
        };
        // Nothing stops the turn from here on: a complete answer counts (P2).
        let answered = match told {
            Ok(told) => self.reply(told, form.as_ref()).await.map_err(ProviderRefusal::from),
            Err(refusal) => Err(refusal),
        };
        let TurnSoFar { spent: usage, said } = meanwhile;
        answered.map(|reply| Reply { usage: usage.clone(), ..reply }).map_err(|refusal| {
            let message = self.service.redacted(&refusal.failure.message);
            let said = Some(said).filter(|said| !said.trim().is_empty());
            ProviderRefusal { failure: Failure { message, ..refusal.failure }, usage, said, ..refusal }
        })
    }

    async fn converse(
        &self,
        form: Option<&SchemaForm>,
        progress: Tell<'_>,
        meanwhile: &mut TurnSoFar,
    ) -> Result<FinishedTurn, ProviderRefusal> {
        self.check()?;
        let exchange = ModelExchange::open(&self.service)?;
        let (tools, unknown) = tools::named(self.tools(), self.service.web);
        let mut conversation = self.begin().await?;
        conversation.warnings = self.without(&unknown);
        // A verdict by the tool needs one more call.
        let more = u32::from(self.verdict().is_some());
        for _ in 0..self.ask.max_calls.unwrap_or(CALLS).max(1).saturating_add(more) {
            let request = ModelRequest {
                model: self.service.model(&self.ask),
                system: self.system(),
                messages: &conversation.messages,
                tools: &tools,
                verdict: self.verdict(),
                form,
                is_streamed: true,
            };
            let spoken = self.listen(&exchange, &request, progress, meanwhile).await?;
            let calls = conversation.take(spoken, &meanwhile.spent)?;
            let given = calls.iter().find(|call| call.name == ANSWER && form.is_some()).cloned();
            if calls.is_empty() || given.is_some() {
                conversation.close(self, &calls);
                return Ok(FinishedTurn { conversation, given: given.and_then(|call| call.input.ok()) });
            }
            let done = self.use_tools(calls, &tools, progress, &mut conversation).await;
            conversation.messages.extend(self.service.api.results(&done));
        }
        let most = self.ask.max_calls.unwrap_or(CALLS).max(1);
        let failure = bad_request(format!("the model still asked for tools after {most} calls"));
        Err(Failure { limit: Some(TurnLimit::Calls), ..failure }.into())
    }

    /// Checks everything that can be checked before the first request.
    fn check(&self) -> Result<(), Failure> {
        let name = &self.service.name;
        if self.ask.permission != Permission::ReadOnly {
            let level = self.ask.permission.name();
            return Err(bad_request(format!("`{name}` is read-only: it cannot have permission `{level}`")));
        }
        fits(self.ask.prompt.len(), self.service.settings.max_prompt.unwrap_or(PROMPT), name)?;
        if self.service.model(&self.ask).is_none() && !self.service.is_local() {
            return Err(bad_request(format!(
                "`{name}` needs a model; set `providers.{name}.model` or give `--model`"
            )));
        }
        Ok(())
    }

    /// Loads the earlier messages and adds the prompt.
    async fn begin(&self) -> Result<ModelConversation, Failure> {
        let mut messages = match self.ask.session.clone() {
            None => Vec::new(),
            Some(id) => {
                let (scratch, api) = (PathBuf::from(&self.ask.scratch), self.service.api);
                let loaded = tokio::task::spawn_blocking(move || session::load(&scratch, api, &id)).await;
                match loaded.map_err(|lost| Failure::new(FailureClass::Crashed, lost.to_string()))? {
                    Ok(messages) => messages,
                    Err(lost @ session::SessionFileError::Lost { .. }) => {
                        return Err(Failure::new(FailureClass::SessionLost, lost.to_string()));
                    }
                    Err(long @ session::SessionFileError::TooLong { .. }) => {
                        return Err(bad_request(long.to_string()));
                    }
                }
            }
        };
        let earlier = messages.len();
        messages.push(self.service.api.prompt(&self.ask.prompt));
        Ok(ModelConversation { messages, earlier, ..ModelConversation::default() })
    }

    /// Returns the tools of the definition, or else of the settings (C-22).
    fn tools(&self) -> Option<&[String]> {
        self.ask.tools.as_deref().or(self.service.settings.tools.as_deref())
    }

    /// Returns the verdict tool. A turn without any tools may have a model that cannot use them.
    fn verdict(&self) -> Option<&VerdictTool> {
        let has_tools = self.tools().is_none_or(|tools| !tools.is_empty());
        self.ask.verdict.as_ref().filter(|_| has_tools)
    }

    /// Returns the role, for the system prompt (C-22, C-23).
    fn system(&self) -> Option<&str> {
        let role = self.ask.persona.as_deref().or(self.service.settings.system_prompt.as_deref());
        role.filter(|role| !role.trim().is_empty())
    }

    async fn listen(
        &self,
        exchange: &ModelExchange<'_>,
        request: &ModelRequest<'_>,
        progress: Tell<'_>,
        meanwhile: &mut TurnSoFar,
    ) -> Result<ModelAnswer, ProviderRefusal> {
        let TurnSoFar { spent, said } = meanwhile;
        said.clear();
        let body = |is_streamed| {
            let body = self.service.api.body(&ModelRequest { is_streamed, ..*request });
            serde_json::to_vec(&body).expect("it has text keys only")
        };
        let mut listener = self.service.api.listener();
        let before = spent.clone();
        let mut shown = RedactedText::new(&self.service.redactor);
        let mut hear = |data: &str| {
            let mut tell = |text: &str| {
                if let Some(text) = shown.more(text) {
                    said.push_str(&text);
                    progress(Progress::Text(text));
                }
            };
            let heard = listener.hear(data, &mut tell);
            *spent = sum_of_usage(&before, &listener.usage());
            heard
        };
        exchange.hear(&body, &mut hear).await?;
        if let Some(text) = shown.rest() {
            said.push_str(&text);
            progress(Progress::Text(text));
        }
        let mut spoken = listener.spoken();
        self.service.redactor.json(&mut spoken.message);
        let inputs = spoken.calls.iter_mut().filter_map(|call| call.input.as_mut().ok());
        inputs.for_each(|input| self.service.redactor.json(input));
        Ok(ModelAnswer { text: self.service.redacted(&spoken.text), ..spoken })
    }

    /// Runs all tools of one answer concurrently. The results are in the order of the calls.
    async fn use_tools(
        &self,
        calls: Vec<ModelToolCall>,
        tools: &[&'static ModelTool],
        progress: Tell<'_>,
        conversation: &mut ModelConversation,
    ) -> Vec<ToolResult> {
        let begun = Instant::now();
        let mut running = Vec::new();
        for call in calls {
            let shown = shown(&call);
            progress(Progress::ToolStarted(shown.clone()));
            // The guard stops tools whose turn was dropped.
            let (halt, guard) = ToolStop::after_a_while();
            let task = match self.verdict().filter(|_| call.name == VerdictTool::NAME) {
                Some(tool) => {
                    let called = match &call.input {
                        Ok(input) => tool.check(input),
                        Err(text) => Err(format!("the arguments are not JSON: {}", brief(text))),
                    };
                    let said = called.as_ref().map(|verdict| recorded(tool, verdict)).map_err(Clone::clone);
                    conversation.verdicts.push(VerdictEvent::Called(called));
                    tokio::spawn(async { (said, false) })
                }
                None => self.start(&call, tools, halt),
            };
            running.push((call, shown, task, guard));
        }
        let mut done = Vec::new();
        for (call, shown, task, guard) in running {
            let (said, was_denied) = task.await.unwrap_or_else(|lost| (Err(lost.to_string()), false));
            drop(guard);
            if was_denied {
                conversation.denied += 1;
                progress(Progress::Denied(shown.clone()));
            }
            progress(Progress::ToolFinished(shown));
            let said = said.map(|text| self.service.redacted(&text));
            conversation.tools_used.push(ToolUse {
                name: call.name.clone(),
                input: Some(call.input.clone().unwrap_or_else(Value::String)),
                output: Some(match &said {
                    Ok(text) => json!(text),
                    Err(why) => json!({ "error": why }),
                }),
                duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            done.push(ToolResult { call, said });
        }
        done
    }

    /// Starts a tool. The result also says if the call was denied.
    fn start(&self, call: &ModelToolCall, tools: &[&'static ModelTool], halt: ToolStop) -> Running {
        let tool = tools.iter().copied().find(|tool| tool.name == call.name);
        let (call, directory, run) = (call.clone(), self.ask.directory.clone(), self.ask.run.clone());
        let viewer = self.service.viewer.clone();
        let names: Vec<_> = tools.iter().map(|tool| tool.name).collect();
        tokio::task::spawn_blocking(move || {
            let Some(tool) = tool else {
                let known = if names.is_empty() {
                    "there is none at all".to_owned()
                } else {
                    format!("known: {}", names.join(", "))
                };
                return (Err(format!("there is no tool `{}`; {known}", brief(&call.name))), true);
            };
            let input = match call.input {
                Ok(input) => input,
                Err(text) => return (Err(format!("the arguments are not JSON: {}", brief(&text))), false),
            };
            let reach = ToolContext::open(&directory, &run, halt).map(|reach| reach.viewing(viewer));
            let said = reach.and_then(|reach| tool.run(&reach, &input));
            (said, false)
        })
    }

    /// Builds the reply, and saves the conversation for later turns.
    async fn reply(&self, told: FinishedTurn, form: Option<&SchemaForm>) -> Result<Reply, Failure> {
        let FinishedTurn { mut conversation, given } = told;
        let verdict = self.ask.verdict.as_ref().map(|_| match self.verdict() {
            Some(_) => verdict_of(std::mem::take(&mut conversation.verdicts)),
            None => VerdictToolResult::Missing(VerdictToolProblem::NotOffered),
        });
        let mut text = conversation.responses.last().cloned().unwrap_or_default();
        let value = form.and_then(|form| {
            let object = given.or_else(|| serde_json::from_str(text.trim()).ok())?;
            Some(form.open(object))
        });
        let structured = Structured::of(&self.ask, value.clone(), &text);
        // The text repeats a value from a separate field or from our wrapper object.
        if let Some(value) =
            value.filter(|value| serde_json::from_str(text.trim()).ok().as_ref() != Some(value))
        {
            text = value.to_string();
        }
        if text.trim().is_empty() && structured.value.is_none() && conversation.tools_used.is_empty() {
            return Err(Failure::new(FailureClass::Crashed, "the answer is empty"));
        }
        let (scratch, api) = (PathBuf::from(&self.ask.scratch), self.service.api);
        let (after, added) =
            (self.ask.session.clone(), conversation.messages[conversation.earlier..].to_vec());
        let saved =
            tokio::task::spawn_blocking(move || session::save(&scratch, api, after.as_deref(), &added)).await;
        let saved = saved.map_err(|lost| Failure::new(FailureClass::Crashed, lost.to_string()))?;
        // A failed save does not discard an answer that was paid for.
        let (session, warning) = match saved {
            Ok(id) => (Some(id), None),
            Err(error) => (None, Some(format!("the session was not kept: {error}"))),
        };
        Ok(Reply {
            text: self.service.redacted(&text),
            responses: conversation.responses,
            structured: structured.value,
            structured_error: structured.error,
            verdict,
            session,
            tools_used: conversation.tools_used,
            denied: conversation.denied,
            warnings: conversation.warnings.into_iter().chain(warning).collect(),
            ..Reply::default()
        })
    }

    /// Returns a warning about unknown tools of the definition, only at the start of a conversation.
    fn without(&self, unknown: &[String]) -> Vec<String> {
        if unknown.is_empty() || self.ask.session.is_some() {
            return Vec::new();
        }
        let names: Vec<_> = unknown.iter().map(|name| format!("`{name}`")).collect();
        vec![format!("`{}` has no tool {}", self.service.name, names.join(", "))]
    }
}

impl ModelConversation {
    /// Adds an answer and returns its tool calls.
    fn take(&mut self, spoken: ModelAnswer, spent: &Usage) -> Result<Vec<ModelToolCall>, Failure> {
        match spoken.stop {
            AnswerStop::Complete => {}
            AnswerStop::Limit(limit) => {
                let after = spent.output.map(|output| format!(" after {output} tokens")).unwrap_or_default();
                let failure = bad_request(format!("the answer was cut off by the limit `{limit}`{after}"));
                return Err(Failure { limit: Some(TurnLimit::Output), ..failure });
            }
            AnswerStop::Declined(words) if words.trim().is_empty() => {
                return Err(Failure::new(FailureClass::Refused, "the model declined to answer"));
            }
            AnswerStop::Declined(words) => return Err(crate::agent::failure(FailureClass::Refused, &words)),
        }
        self.messages.push(spoken.message);
        if !spoken.text.trim().is_empty() {
            self.responses.push(spoken.text);
        }
        Ok(spoken.calls)
    }

    /// Answers every open call. APIs reject a conversation with a call that has no result.
    fn close(&mut self, turn: &HttpTurn, calls: &[ModelToolCall]) {
        if calls.is_empty() {
            return;
        }
        let done: Vec<ToolResult> = calls
            .iter()
            .map(|call| match call.name.as_str() {
                ANSWER => ToolResult { call: call.clone(), said: Ok("received".to_owned()) },
                _ => {
                    ToolResult { call: call.clone(), said: Err("not done: the answer was given".to_owned()) }
                }
            })
            .collect();
        self.messages.extend(turn.service.api.results(&done));
    }
}

type Running = tokio::task::JoinHandle<(Result<String, String>, bool)>;

/// Summarizes a call: the tool and its main argument.
fn shown(call: &ModelToolCall) -> String {
    let input = call.input.as_ref().ok();
    let words = ["path", "pattern", "dir", "glob"].iter().filter_map(|name| input?.get(name)?.as_str());
    let name = brief(&call.name);
    words.fold(name, |shown, word| format!("{shown} {}", brief(word)))
}

fn brief(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(100).collect()
}

fn bad_request(message: String) -> Failure {
    Failure::new(FailureClass::BadRequest, message)
}

/// Text that arrives and is displayed in parts. It finds secrets that are split between parts, so a part may
/// wait for the next one.
pub(super) struct RedactedText {
    redaction: Redaction,
    /// Redacted bytes, which may end with an incomplete character.
    clean: Vec<u8>,
}

impl RedactedText {
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        Self { redaction: redactor.stream(), clean: Vec::new() }
    }

    /// Adds a part and returns the text that can be displayed now.
    pub(super) fn more(&mut self, part: &str) -> Option<String> {
        self.redaction.push(part.as_bytes(), &mut self.clean);
        self.whole_characters()
    }

    /// Returns the rest at the end of the stream.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.redaction.finish(&mut self.clean);
        self.whole_characters()
    }

    fn whole_characters(&mut self) -> Option<String> {
        let end = match std::str::from_utf8(&self.clean) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.clean.drain(..end).collect();
        String::from_utf8(text).ok().filter(|text| !text.is_empty())
    }
}

//! Replies: turns the result of an ask into a fact, stores its texts and tool calls, and tracks session counters.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use saihai_config::Language;
use saihai_engine::{CallResult, Run};
use saihai_model::{
    CallFailed, CarriedWords, ExpectedReply, Fact, Failure, FailureClass, Json, Meter, Millis, Moment,
    ProviderRefusal, Purpose, Reading, Replied, Reply, ReplyBlock, RoundPosition, Text, ToolUse, ToolUsed,
    Turn, Usage, Usd, VerdictToolResult,
};

use serde::{Deserialize, Serialize};

use super::running_calls::{AskContext, TaskResult};
use crate::blobs::Blobs;
use crate::run_session::HeldRun;
use crate::{DriverError, RunDirectory};
use saihai_review::ReviewCache;

/// Upper limit for a provider's retry-after. Longer values count as missing (C-34).
const LONGEST_WAIT: Millis = Millis(31 * 24 * 3_600_000);

pub(super) fn fact(held: &HeldRun, about: AskContext, result: TaskResult) -> Fact {
    let now = held.clock().now();
    match result {
        TaskResult::Answer(answer) => match *answer {
            Ok(mut reply) => {
                held.secrets().reply(&mut reply);
                replied(held, about, reply, now)
            }
            Err(mut refusal) => {
                held.secrets().refusal(&mut refusal);
                refused(held, about, refusal, now)
            }
        },
        TaskResult::Outcome(outcome) => {
            failed(about, Failure::new(FailureClass::Crashed, format!("the provider returned {outcome:?}")))
        }
        TaskResult::Panicked(said) => {
            let message = held.secrets().text(format!("the provider panicked: {said}"));
            failed(about, Failure::new(FailureClass::Crashed, message))
        }
        TaskResult::Abandoned => {
            failed(about, Failure::new(FailureClass::Cancelled, "it did not stop in time"))
        }
    }
}

/// Returns the fact of a cached answer, or gives the ask back if there is none.
pub(super) fn cached(held: &HeldRun, about: AskContext, purpose: Purpose) -> Result<Fact, Box<AskContext>> {
    let known = || {
        let name = cache_key(held, &about).filter(|_| purpose == Purpose::Work)?;
        cache(held).get(name)
    };
    let Some(output) = known() else { return Err(Box::new(about)) };
    let text = output.to_string();
    let reply = Reply { text, structured: Some(output), cost: Some(Usd(0)), ..Reply::default() };
    let mut fact = replied(held, about, reply, held.clock().now());
    if let Fact::Replied(reply) = &mut fact {
        reply.cached = true;
    }
    Ok(fact)
}

/// Returns the cache key of an ask.
fn cache_key<'a>(held: &'a HeldRun, about: &AskContext) -> Option<&'a str> {
    match held.workflow().wanted(&about.call.stage, about.place)? {
        ExpectedReply::Work(reads) => reads.output.as_ref()?.kept_as.as_deref(),
        ExpectedReply::Answer(..) => None,
    }
}

fn cache(held: &HeldRun) -> ReviewCache {
    ReviewCache::of_run(held.directory().path())
}

/// Caches a correct answer for repeated asks. A failure here is only a warning.
fn cache_reply(held: &HeldRun, about: &AskContext, reading: &mut Reading) {
    // the key names one provider's answer, not the answer of its fallback.
    let is_own = turn(held, about).is_some_and(|turn| turn.provider == about.provider);
    let (Some(name), Some(output), true) =
        (cache_key(held, about).filter(|_| is_own), &reading.output, reading.violations.is_empty())
    else {
        return;
    };
    if let Err(error) = cache(held).put(name, output, held.directory().disk()) {
        reading.warnings.push(format!("cannot cache the answer: {error}"));
    }
}

fn replied(held: &HeldRun, about: AskContext, mut reply: Reply, now: Moment) -> Fact {
    let wanted = held.workflow().wanted(&about.call.stage, about.place);
    if reply.text.trim().is_empty() && reply.exit.is_none() {
        match (&reply.structured, reported_reason(&reply)) {
            (Some(structured), _) => reply.text = structured.to_string(),
            (None, Some(reason)) => reply.text = reason,
            (None, None) if carries_all(wanted) && !reply.tools_used.is_empty() => {}
            (None, None) => return silent(about, reply),
        }
    }
    let nonce = held.run().nonce(&about.call, about.place);
    let mut reading = read(wanted, &about.prompt, &nonce, &mut reply);
    if let (RoundPosition::Main(0), Some(output), true) =
        (about.place, &reading.output, reading.violations.is_empty())
    {
        reading.violations = held.run().collisions(held.workflow(), &about.call.stage, output);
    }
    let corrected = held.run().corrected(&about.call).filter(|_| carries_all(wanted));
    if let Some(first) = corrected {
        drop_repeated(&first.reading, &mut reading);
    }
    cache_reply(held, &about, &mut reading);
    let cost = about.cost(reply.cost, &reply.usage);
    if cost.is_none() && about.is_counted {
        // T-64: the budget still applies, only less exactly.
        reading
            .warnings
            .push("the cost of the turn is unknown; Saihai counts the reserved amount".to_owned());
    }
    let carried = findings(held, &about, wanted, &reading).or_else(|| program_result(held, &about, &reply));
    let (spoken, messages) = match carried {
        Some(carried) => (Some(carried), Vec::new()),
        None => spoken(wanted, &reply.responses),
    };
    let so_far = corrected.and_then(|first| so_far(held, first, spoken.as_ref().unwrap_or(&reply.text)));
    let StoredReply { text, spoken, so_far, tools_used } =
        match StoredReply::new(&held.directory().blobs(), reply.text, [spoken, so_far], reply.tools_used) {
            Ok(kept) => kept,
            Err((path, source)) => {
                let (path, message) = (path.display().to_string(), source.to_string());
                return Fact::StorageFailed { call: Some(about.call), path, message };
            }
        };
    Fact::Replied(Box::new(Replied {
        text,
        spoken,
        messages,
        so_far,
        session: reply.session,
        cost,
        usage: reply.usage,
        tools_used,
        metered: reply.metered,
        denied: reply.denied,
        duration: now.since(about.began),
        revision: None,
        cached: false,
        tree: None,
        reading,
        provider: Some(about.provider),
        call: about.call,
    }))
}

/// Returns the reason of a verdict, for an agent that ends its turn with the call of the verdict tool.
fn reported_reason(reply: &Reply) -> Option<String> {
    match &reply.verdict {
        Some(VerdictToolResult::Reported(verdict)) => {
            Some(verdict.reason.clone()).filter(|reason| !reason.is_empty())
        }
        Some(VerdictToolResult::Missing(_)) | None => None,
    }
}

/// The parts of a reply that may go into blobs.
struct StoredReply {
    text: Text,
    spoken: Option<Text>,
    so_far: Option<Text>,
    tools_used: Vec<ToolUsed>,
}

impl StoredReply {
    fn new(
        blobs: &Blobs,
        text: String,
        [spoken, so_far]: [Option<String>; 2],
        tools: Vec<ToolUse>,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let spoken = spoken.map(|spoken| blobs.keep(spoken)).transpose()?;
        let so_far = so_far.map(|so_far| blobs.keep(so_far)).transpose()?;
        Ok(Self { text: blobs.keep(text)?, spoken, so_far, tools_used: store_tools(blobs, tools)? })
    }
}

/// Drops blocks that an earlier message of the same iteration already requested.
fn drop_repeated(earlier: &Reading, later: &mut Reading) {
    let blocks = std::mem::take(&mut later.blocks).into_iter();
    let (repeated, new): (Vec<ReplyBlock>, _) = blocks.partition(|block| earlier.blocks.contains(block));
    later.blocks = new;
    let told = |block: ReplyBlock| {
        format!("the `{}` block repeats an earlier one; Saihai does not run it again", block.kind)
    };
    later.warnings.extend(repeated.into_iter().map(told));
}

/// Prepends the blocks, warnings and keywords of an earlier message.
fn put_before(later: &mut Reading, mut earlier: Reading) {
    drop_repeated(&earlier, later);
    earlier.blocks.append(&mut later.blocks);
    earlier.warnings.append(&mut later.warnings);
    (later.blocks, later.warnings) = (earlier.blocks, earlier.warnings);
    let new = earlier.keywords.into_iter().filter(|word| !later.keywords.contains(word));
    later.keywords.extend(new.collect::<Vec<_>>());
}

/// Joins all messages of a round, from the first to its correction (S-54). A damaged first text is reported
/// when the run shows it.
fn so_far(held: &HeldRun, first: &CallResult, correction: &str) -> Option<String> {
    let said = held.directory().text(first.text.as_ref()?).ok()?;
    let texts = [said.as_str(), correction];
    let texts: Vec<&str> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
    Some(texts.join("\n"))
}

/// Reads a reply and adds the provider's own warnings.
fn read(wanted: Option<ExpectedReply<'_>>, prompt: &str, nonce: &str, reply: &mut Reply) -> Reading {
    let call = saihai_judge::CallVerdict { nonce: Some(nonce), tool: reply.verdict.as_ref() };
    let said = saihai_judge::ReplyText { text: &reply.text, structured: reply.structured.as_ref() };
    let mut reading = match (wanted, reply.exit) {
        (Some(ExpectedReply::Work(reads)), Some(exit)) => {
            saihai_judge::read_program(reads, &reply.text, exit)
        }
        (Some(wanted), _) => saihai_judge::read_call(wanted, prompt, said, call),
        (None, _) => Reading::default(),
    };
    if let Some(ExpectedReply::Work(reads)) = wanted.filter(|_| carries_all(wanted)) {
        // Skip messages whose lines are part of the last text. A word inside a sentence does not count.
        let last = format!("\n{}\n", reply.text.trim());
        let is_earlier = |message: &&String| !last.contains(&format!("\n{}\n", message.trim()));
        for message in reply.responses.iter().rev().filter(is_earlier) {
            put_before(&mut reading, saihai_judge::overheard(reads, prompt, message));
        }
    }
    reading.warnings.append(&mut reply.warnings);
    // Drop the provider's schema error if our reading is valid. Ours is more lenient: a nullable field may be
    // missing.
    let is_right = reading.output.is_some() && reading.violations.is_empty();
    reading.warnings.extend(reply.structured_error.take().filter(|_| !is_right));
    reading
}

/// Returns the turn that an ask belongs to.
fn turn<'a>(held: &'a HeldRun, about: &AskContext) -> Option<&'a Turn> {
    let turns = held.workflow().stage(&about.call.stage)?.turns();
    match about.place {
        RoundPosition::Main(index) => turns.get(index),
        _ => None,
    }
}

/// Returns the findings if the workflow carries them on.
fn findings(
    held: &HeldRun,
    about: &AskContext,
    wanted: Option<ExpectedReply<'_>>,
    reading: &Reading,
) -> Option<String> {
    let Some(ExpectedReply::Work(reads)) = wanted else { return None };
    let CarriedWords::Findings { language } = &reads.carry else { return None };
    let agent = turn(held, about).and_then(|turn| turn.role.as_deref()).unwrap_or_default();
    let root = Path::new(&held.start().directory);
    Some(saihai_review::findings_for_agents(
        agent,
        reading,
        root,
        Language::named(language).unwrap_or_default(),
    ))
}

/// Returns the text that later prompts show instead of a program's output.
fn program_result(held: &HeldRun, about: &AskContext, reply: &Reply) -> Option<String> {
    let program = turn(held, about)?.program.as_ref()?;
    Some(program.result_text(&reply.text, reply.exit?))
}

/// Returns all messages, if the workflow carries them on and they exceed the final text. Also returns the
/// length of each message.
fn spoken(wanted: Option<ExpectedReply<'_>>, responses: &[String]) -> (Option<String>, Vec<u64>) {
    let said: Vec<&str> =
        responses.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    if !carries_all(wanted) || said.len() < 2 {
        return (None, Vec::new());
    }
    (Some(said.join("\n")), said.iter().map(|text| text.len() as u64).collect())
}

/// Returns true if the workflow carries every message on. An empty round is then not a failure (S-54).
fn carries_all(wanted: Option<ExpectedReply<'_>>) -> bool {
    matches!(wanted, Some(ExpectedReply::Work(reads)) if reads.carry == CarriedWords::AllMessages)
}

/// Builds the fact of a reply without text: a failed turn, never judged (P-35), whose cost counts.
fn silent(about: AskContext, reply: Reply) -> Fact {
    let failure = Failure::new(FailureClass::Crashed, "the agent replied without any text");
    Fact::Failed(Box::new(CallFailed {
        provider: Some(about.provider.clone()),
        cost: about.cost(reply.cost, &reply.usage),
        usage: reply.usage,
        session: reply.session,
        metered: reply.metered,
        ..CallFailed::new(about.call, failure)
    }))
}

/// Builds the fact of a failed attempt. Its cost counts too (C-26).
fn refused(held: &HeldRun, about: AskContext, refusal: ProviderRefusal, now: Moment) -> Fact {
    let ProviderRefusal { mut failure, retry_after, usage, cost, session, metered, said } = refusal;
    if let Some(file) = failure.unwritten.take() {
        return Fact::StorageFailed { call: Some(about.call), path: file.path, message: file.cause };
    }
    let retry_after = retry_after.filter(|after| *after <= LONGEST_WAIT);
    failure.until = failure.until.or(retry_after.map(|after| now.plus(after)));
    let spent = Usage { cumulative: false, ..usage.clone() } != Usage::default();
    Fact::Failed(Box::new(CallFailed {
        provider: Some(about.provider.clone()),
        cost: if spent { about.cost(cost, &usage) } else { cost },
        usage,
        session,
        metered,
        output: said.and_then(|said| found_in(held, &about, &said)),
        ..CallFailed::new(about.call, failure)
    }))
}

/// Returns the requested output, as far as the agent gave it before it failed.
fn found_in(held: &HeldRun, about: &AskContext, text: &str) -> Option<Json> {
    let wanted = held.workflow().wanted(&about.call.stage, about.place)?;
    match wanted {
        ExpectedReply::Work(reads) if reads.output.is_some() => {}
        ExpectedReply::Work(_) | ExpectedReply::Answer(..) => return None,
    }
    let said = saihai_judge::ReplyText { text, structured: None };
    saihai_judge::read(wanted, &about.prompt, said).output
}

/// Builds the fact of an attempt that failed without a message of its provider.
fn failed(about: AskContext, failure: Failure) -> Fact {
    let provider = Some(about.provider);
    Fact::Failed(Box::new(CallFailed { provider, ..CallFailed::new(about.call, failure) }))
}

impl AskContext {
    /// Returns the cost from the provider, else from the price in the settings (C-81).
    fn cost(&self, said: Option<Usd>, usage: &Usage) -> Option<Usd> {
        said.or_else(|| self.price.cost(usage))
    }
}

/// Stores the inputs and results of tool calls. Long values are durable in blobs when this returns.
fn store_tools(blobs: &Blobs, tools: Vec<ToolUse>) -> Result<Vec<ToolUsed>, (PathBuf, io::Error)> {
    let keep = |tool: ToolUse| {
        let (input, long_input) = store_value(blobs, tool.input)?;
        let (output, long_output) = store_value(blobs, tool.output)?;
        let (name, duration_ms) = (tool.name, tool.duration_ms);
        Ok(ToolUsed { name, input, long_input, output, long_output, duration_ms })
    };
    tools.into_iter().map(keep).collect()
}

/// Returns a short value inline, or stores a long one as a blob.
fn store_value(
    blobs: &Blobs,
    value: Option<Json>,
) -> Result<(Option<Json>, Option<Text>), (PathBuf, io::Error)> {
    let Some(value) = value else { return Ok((None, None)) };
    let text = value.to_string();
    if text.len() <= ToolUsed::INLINE_LIMIT {
        return Ok((Some(value), None));
    }
    Ok((None, Some(blobs.keep_bytes(text.as_bytes())?)))
}

/// Reads tool calls back, with the values from blobs.
pub(crate) fn read_tools(directory: &RunDirectory, tools: &[ToolUsed]) -> Result<Vec<ToolUse>, DriverError> {
    let value = |short: &Option<Json>, long: &Option<Text>| match long {
        Some(text) => {
            let json = serde_json::from_str(&directory.text(text)?);
            json.map(Some).map_err(|error| directory.bad_text(text, &error.to_string()))
        }
        None => Ok(short.clone()),
    };
    let read = |tool: &ToolUsed| {
        Ok(ToolUse {
            name: tool.name.clone(),
            input: value(&tool.input, &tool.long_input)?,
            output: value(&tool.output, &tool.long_output)?,
            duration_ms: tool.duration_ms,
        })
    };
    tools.iter().map(read).collect()
}

/// The last counters of every session that may continue. The driver passes them with the next ask in the same
/// session, and the provider subtracts them from its totals.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct SessionMeters(BTreeMap<String, Meter>);

/// Number of sessions above which ended ones are forgotten. Only a few sessions of a run continue.
const MANY: usize = 64;

impl SessionMeters {
    /// Records the counters of a call that was asked in `asked` and came back in `session`.
    pub(crate) fn note(&mut self, asked: Option<&str>, session: Option<&str>, metered: Option<&Meter>) {
        if let (Some(session), Some(metered)) = (session.or(asked), metered) {
            self.0.insert(session.to_owned(), metered.clone());
        }
    }

    /// Returns the counters of one session alone.
    pub(crate) fn only(&self, session: Option<&str>) -> Self {
        let found = session.and_then(|session| self.0.get_key_value(session));
        Self(found.map(|(session, meter)| (session.clone(), meter.clone())).into_iter().collect())
    }

    pub(super) fn of(&self, session: Option<&str>) -> Option<Meter> {
        self.0.get(session?).cloned()
    }

    /// Forgets sessions that the run cannot continue, once there are many.
    pub(super) fn forget_ended(&mut self, run: &Run) {
        if self.0.len() > MANY {
            self.0.retain(|session, _| run.sessions().any(|kept| kept == session));
        }
    }
}

/// Returns the session and the counters in a fact.
pub(crate) fn session_meter(fact: &Fact) -> Option<(Option<String>, Meter)> {
    match fact {
        Fact::Replied(reply) => Some((reply.session.clone(), reply.metered.clone()?)),
        Fact::Failed(failed) => Some((failed.session.clone(), failed.metered.clone()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::{RecordEntry, ScriptReply};
    use serde_json::json;

    use super::*;
    use crate::DriveOptions;
    use crate::testing::{Project, drive, fixed, stage, turn, workflow};

    /// Returns the tool calls of the only reply of a run, as its journal has them.
    async fn journaled(project: &Project, tools: &[ToolUse]) -> Vec<ToolUsed> {
        let reply =
            ScriptReply { text: Some("done".into()), tools_used: tools.to_vec(), ..ScriptReply::default() };
        let script = saihai_model::Script { replies: vec![reply], ..saihai_model::Script::default() };
        let only =
            workflow(vec![("work", stage(vec![turn("work", vec![fixed("Work.")])], &[("", "COMPLETE")]))]);
        drive(project.start(only, script).unwrap(), DriveOptions::default()).await.0.unwrap();
        let mut kept = Vec::new();
        project
            .last()
            .read(&mut |record| {
                if let RecordEntry::Fact(Fact::Replied(reply)) = record.entry {
                    kept = reply.tools_used;
                }
            })
            .unwrap();
        kept
    }

    // C-20
    #[tokio::test(start_paused = true)]
    async fn what_a_tool_was_given_and_answered_is_a_blob_where_it_is_over_4_kib() {
        let project = Project::new();
        // The JSON of a string is two bytes longer than the string.
        let (edge, long) = ("x".repeat(4 * 1024 - 2), "x".repeat(4 * 1024 - 1));
        let tools = [
            ToolUse {
                name: "Read".into(),
                input: Some(json!(edge)),
                output: Some(json!(long)),
                duration_ms: 1,
            },
            ToolUse {
                name: "Write".into(),
                input: Some(json!({ "content": long })),
                output: None,
                duration_ms: 2,
            },
        ];
        let kept = journaled(&project, &tools).await;
        assert_eq!((&kept[0].input, &kept[0].long_input), (&tools[0].input, &None));
        assert_eq!((&kept[0].output, &kept[1].input, &kept[1].output), (&None, &None, &None));
        let lengths = [&kept[0].long_output, &kept[1].long_input].map(|text| text.as_ref().unwrap().bytes());
        assert_eq!(lengths, [4 * 1024 + 1, 4 * 1024 + 1 + "{\"content\":}".len() as u64]);
        assert!(!String::from_utf8_lossy(&project.journal()).contains(&long));
        assert_eq!(read_tools(&project.last(), &kept).unwrap(), tools, "and is read back as it was");
    }

    // C-20, T-13
    #[tokio::test(start_paused = true)]
    async fn a_blob_of_a_tool_that_is_damaged_is_named() {
        let project = Project::new();
        let long = json!("x".repeat(5_000));
        let kept = journaled(
            &project,
            &[ToolUse { name: "Read".into(), input: None, output: Some(long), duration_ms: 1 }],
        )
        .await;
        let Some(Text::Blob { hash, .. }) = &kept[0].long_output else { panic!("{kept:?}") };
        std::fs::write(project.last().blobs().path(hash), "x").unwrap();
        let message = read_tools(&project.last(), &kept).unwrap_err().to_string();
        assert!(
            message.contains(hash) && message.contains("its blob has 1 bytes instead of 5002"),
            "{message}"
        );
    }

    fn meter(cost: u64) -> Meter {
        Meter { cost: Some(Usd(cost)), ..Meter::default() }
    }

    #[test]
    fn the_last_counters_of_a_session_are_known_also_after_a_failed_attempt() {
        // C-26, C-27
        let mut meters = SessionMeters::default();
        meters.note(None, Some("a"), Some(&meter(1)));
        meters.note(Some("a"), None, Some(&meter(2)));
        meters.note(Some("a"), Some("b"), Some(&meter(9)));
        meters.note(Some("a"), Some("a"), None);
        assert_eq!(meters.of(Some("a")), Some(meter(2)));
        assert_eq!(meters.of(Some("b")), Some(meter(9)));
        assert_eq!((meters.of(Some("c")), meters.of(None)), (None, None));
    }

    #[test]
    fn sessions_that_cannot_go_on_are_forgotten_once_there_are_many() {
        let mut meters = SessionMeters::default();
        for number in 0..200 {
            meters.note(None, Some(&format!("session {number}")), Some(&meter(1)));
            meters.forget_ended(&Run::new());
            assert!(meters.0.len() <= MANY + 1);
        }
    }
}

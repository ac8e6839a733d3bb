//! Turns the result of an ask into a fact and stores its text.

use std::io;
use std::path::{Path, PathBuf};

use saihai_config::Language;
use saihai_engine::Done;
use saihai_model::{
    Block, CallFailed, Fact, Failure, FailureClass, Json, Millis, Moment, Place, Purpose, Reading, Refusal,
    Replied, Reply, Spoken, Text, ToolUse, ToolUsed, Turn, Usage, Usd, Wanted,
};

use super::calls::{About, Came};
use crate::blobs::Blobs;
use crate::owned::Owned;
use crate::review::Cache;
use crate::tools_used;

/// Upper limit for a provider's retry-after. Longer values count as missing (C-34).
const LONGEST_WAIT: Millis = Millis(31 * 24 * 3_600_000);

pub(super) fn fact(owned: &Owned, about: About, came: Came) -> Fact {
    let now = owned.clock().now();
    match came {
        Came::Answer(answer) => match *answer {
            Ok(mut reply) => {
                owned.secrets().reply(&mut reply);
                replied(owned, about, reply, now)
            }
            Err(mut refusal) => {
                owned.secrets().refusal(&mut refusal);
                refused(owned, about, refusal, now)
            }
        },
        Came::Outcome(outcome) => {
            failed(about, Failure::new(FailureClass::Crashed, format!("the provider came to {outcome:?}")))
        }
        Came::Panicked(said) => {
            let message = owned.secrets().text(format!("the provider panicked: {said}"));
            failed(about, Failure::new(FailureClass::Crashed, message))
        }
        Came::Abandoned => failed(about, Failure::new(FailureClass::Cancelled, "it did not stop in time")),
    }
}

/// Returns the fact of a cached answer, or gives the ask back if there is none.
pub(super) fn kept(owned: &Owned, about: About, purpose: Purpose) -> Result<Fact, Box<About>> {
    let known = || {
        let name = kept_as(owned, &about).filter(|_| purpose == Purpose::Work)?;
        cache(owned).get(name)
    };
    let Some(output) = known() else { return Err(Box::new(about)) };
    let text = output.to_string();
    let reply = Reply { text, structured: Some(output), cost: Some(Usd(0)), ..Reply::default() };
    let mut fact = replied(owned, about, reply, owned.clock().now());
    if let Fact::Replied(reply) = &mut fact {
        reply.cached = true;
    }
    Ok(fact)
}

/// Returns the cache key of an ask.
fn kept_as<'a>(owned: &'a Owned, about: &About) -> Option<&'a str> {
    match owned.workflow().wanted(&about.call.stage, about.place)? {
        Wanted::Work(reads) => reads.output.as_ref()?.kept_as.as_deref(),
        Wanted::Answer(..) => None,
    }
}

fn cache(owned: &Owned) -> Cache {
    Cache::of_run(owned.directory().path())
}

/// Caches a correct answer for repeated asks. A failure here is only a warning.
fn keep(owned: &Owned, about: &About, reading: &mut Reading) {
    // the key names one provider's answer, not the answer of its fallback.
    let is_own = turn(owned, about).is_some_and(|turn| turn.provider == about.provider);
    let (Some(name), Some(output), true) =
        (kept_as(owned, about).filter(|_| is_own), &reading.output, reading.violations.is_empty())
    else {
        return;
    };
    if let Err(error) = cache(owned).put(name, output, owned.directory().disk()) {
        reading.warnings.push(format!("the answer could not be kept for later: {error}"));
    }
}

fn replied(owned: &Owned, about: About, mut reply: Reply, now: Moment) -> Fact {
    let wanted = owned.workflow().wanted(&about.call.stage, about.place);
    if reply.text.trim().is_empty() {
        match &reply.structured {
            Some(structured) => reply.text = structured.to_string(),
            None if carries_all(wanted) && !reply.tools_used.is_empty() => {}
            None => return silent(about, reply),
        }
    }
    let mut reading = read(wanted, &about.prompt, &mut reply);
    if let (Place::Main(0), Some(output), true) =
        (about.place, &reading.output, reading.violations.is_empty())
    {
        reading.violations = owned.run().collisions(owned.workflow(), &about.call.stage, output);
    }
    let corrected = owned.run().corrected(&about.call).filter(|_| carries_all(wanted));
    if let Some(first) = corrected {
        drop_repeated(&first.reading, &mut reading);
    }
    keep(owned, &about, &mut reading);
    let cost = about.cost(reply.cost, &reply.usage);
    if cost.is_none() && about.is_counted {
        // T-64: the budget still applies, only less exactly.
        reading
            .warnings
            .push("what the turn cost is not known; what was set aside for it is counted".to_owned());
    }
    let (spoken, messages) = match findings(owned, &about, wanted, &reading) {
        Some(findings) => (Some(findings), Vec::new()),
        None => spoken(wanted, &reply.responses),
    };
    let so_far = corrected.and_then(|first| so_far(owned, first, spoken.as_ref().unwrap_or(&reply.text)));
    let Kept { text, spoken, so_far, tools_used } =
        match Kept::new(&owned.directory().blobs(), reply.text, [spoken, so_far], reply.tools_used) {
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
        reading,
        provider: Some(about.provider),
        call: about.call,
    }))
}

/// The parts of a reply that may go into blobs.
struct Kept {
    text: Text,
    spoken: Option<Text>,
    so_far: Option<Text>,
    tools_used: Vec<ToolUsed>,
}

impl Kept {
    fn new(
        blobs: &Blobs,
        text: String,
        [spoken, so_far]: [Option<String>; 2],
        tools: Vec<ToolUse>,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let spoken = spoken.map(|spoken| blobs.keep(spoken)).transpose()?;
        let so_far = so_far.map(|so_far| blobs.keep(so_far)).transpose()?;
        Ok(Self { text: blobs.keep(text)?, spoken, so_far, tools_used: tools_used::keep(blobs, tools)? })
    }
}

/// Drops blocks that an earlier message of the same iteration already requested.
fn drop_repeated(earlier: &Reading, later: &mut Reading) {
    let blocks = std::mem::take(&mut later.blocks).into_iter();
    let (repeated, new): (Vec<Block>, _) = blocks.partition(|block| earlier.blocks.contains(block));
    later.blocks = new;
    let told = |block: Block| format!("the `{}` block is there already: it is not done again", block.kind);
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
fn so_far(owned: &Owned, first: &Done, correction: &str) -> Option<String> {
    let said = owned.directory().text(first.text.as_ref()?).ok()?;
    let texts = [said.as_str(), correction];
    let texts: Vec<&str> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
    Some(texts.join("\n"))
}

/// Reads a reply and adds the provider's own warnings.
fn read(wanted: Option<Wanted<'_>>, prompt: &str, reply: &mut Reply) -> Reading {
    let said = saihai_judge::Said { text: &reply.text, structured: reply.structured.as_ref() };
    let mut reading = wanted.map_or_else(Reading::default, |wanted| saihai_judge::read(wanted, prompt, said));
    if let Some(Wanted::Work(reads)) = wanted.filter(|_| carries_all(wanted)) {
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
fn turn<'a>(owned: &'a Owned, about: &About) -> Option<&'a Turn> {
    let turns = owned.workflow().stage(&about.call.stage)?.turns();
    match about.place {
        Place::Main(index) => turns.get(index),
        Place::Check(_)
        | Place::Exit
        | Place::Report(_)
        | Place::Block(_)
        | Place::Proof(_)
        | Place::Outside(_) => None,
    }
}

/// Returns the findings if the workflow carries them on.
fn findings(owned: &Owned, about: &About, wanted: Option<Wanted<'_>>, reading: &Reading) -> Option<String> {
    let Some(Wanted::Work(reads)) = wanted else { return None };
    let Spoken::Findings { language } = &reads.carry else { return None };
    let agent = turn(owned, about).and_then(|turn| turn.role.as_deref()).unwrap_or_default();
    let root = Path::new(&owned.start().directory);
    Some(crate::review::passed_on(agent, reading, root, Language::named(language).unwrap_or_default()))
}

/// Returns all messages, if the workflow carries them on and they exceed the final text. Also returns the
/// length of each message.
fn spoken(wanted: Option<Wanted<'_>>, responses: &[String]) -> (Option<String>, Vec<u64>) {
    let said: Vec<&str> =
        responses.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    if !carries_all(wanted) || said.len() < 2 {
        return (None, Vec::new());
    }
    (Some(said.join("\n")), said.iter().map(|text| text.len() as u64).collect())
}

/// Returns true if the workflow carries every message on. A round of work without a message is then no
/// failure (S-54).
fn carries_all(wanted: Option<Wanted<'_>>) -> bool {
    matches!(wanted, Some(Wanted::Work(reads)) if reads.carry == Spoken::AllMessages)
}

/// Builds the fact of a reply without text. It is a failed turn, never a result to judge (P-35), but its cost
/// counts.
fn silent(about: About, reply: Reply) -> Fact {
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
fn refused(owned: &Owned, about: About, refusal: Refusal, now: Moment) -> Fact {
    let Refusal { mut failure, retry_after, usage, cost, session, metered, said } = refusal;
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
        output: said.and_then(|said| found_in(owned, &about, &said)),
        ..CallFailed::new(about.call, failure)
    }))
}

/// Returns the requested output, as far as the agent gave it before it failed.
fn found_in(owned: &Owned, about: &About, text: &str) -> Option<Json> {
    let wanted = owned.workflow().wanted(&about.call.stage, about.place)?;
    match wanted {
        Wanted::Work(reads) if reads.output.is_some() => {}
        Wanted::Work(_) | Wanted::Answer(..) => return None,
    }
    let said = saihai_judge::Said { text, structured: None };
    saihai_judge::read(wanted, &about.prompt, said).output
}

/// Builds the fact of an attempt that failed without a message of its provider.
fn failed(about: About, failure: Failure) -> Fact {
    let provider = Some(about.provider);
    Fact::Failed(Box::new(CallFailed { provider, ..CallFailed::new(about.call, failure) }))
}

impl About {
    /// Returns the cost from the provider, else from the price in the settings (C-81).
    fn cost(&self, said: Option<Usd>, usage: &Usage) -> Option<Usd> {
        said.or_else(|| self.price.cost(usage))
    }
}

//! Chooses the reply for an ask.
//!
//! The state is a fold over asks and their outcomes. The journal has both, so a new process continues exactly
//! where the old one stopped. A reply belongs to its call from the ask until its outcome is recorded. A call
//! gets the same reply again if the process died, the call was stopped, or the reply's actions failed. A
//! retry after a scripted failure gets the next reply.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use regex::Regex;
use saihai_model::{CallId, Failure, FailureClass, RoundPosition, Script, ScriptReply, Times, TurnId};

use super::scenario_tags::with_own_tags;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: `prompt` is not a regular expression: {message}")]
pub struct BadScript {
    pub origin: String,
    pub message: String,
}

/// The parts of an ask that a script can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptAsk<'a> {
    /// The call, including its stage and visit.
    pub call: &'a CallId,
    /// The turn that this is, or is about; absent for the question of an exit.
    pub turn: Option<&'a TurnId>,
    /// The kind of result: work of the stage, or a question about it.
    pub place: RoundPosition,
    pub role: Option<&'a str>,
    /// The prompt; used only if [`ScriptPlayer::reads_prompts`].
    pub prompt: &'a str,
    /// The treatment of a program without a reply; absent if an agent is asked.
    pub program: Option<UnscriptedProgram>,
}

/// The treatment of a program without a reply in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnscriptedProgram {
    Runs,
    /// Rehearsals run no programs.
    LacksReply,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ScriptChoice {
    Reply {
        reply: Arc<ScriptReply>,
        /// Number of the ask, from 1.
        number: u32,
        /// The same call got this reply before, and its effects are unknown.
        again: bool,
    },
    /// The script has no reply and allows that.
    Generic {
        /// Number of the ask, from 1.
        number: u32,
    },
    /// The script has no reply but needs one.
    Missing(MissingReply),
    /// The script leaves the program alone: it runs.
    RunProgram,
}

/// An ask without a reply in the script.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingReply {
    /// Stage, turn if there is one, and a mark for questions, in the script's notation.
    pub asked: String,
    pub visit: u32,
}

impl fmt::Display for MissingReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the script has no reply for `{}` at visit {}", self.asked, self.visit)
    }
}

/// A reply with fewer uses than the script demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedReply {
    pub origin: String,
    pub used: u32,
    pub times: u32,
}

impl fmt::Display for UnusedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.used, self.times) {
            (0, 1) => write!(f, "{}: this reply was not used", self.origin),
            (used, times) => write!(f, "{}: this reply was used {used} of {times} times", self.origin),
        }
    }
}

/// The unused replies of a script, and the asks without a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptAccounts {
    /// Unused replies fail the command.
    pub strict: bool,
    /// Unused replies, in the script's order.
    pub left: Vec<UnusedReply>,
    /// Asks without a reply, each once, sorted by name.
    pub missing: Vec<MissingReply>,
}

#[derive(Debug, Clone)]
pub struct ScriptPlayer {
    strict: bool,
    lenient_roles: bool,
    lines: Vec<ScriptLine>,
    /// Lines that can still be used, in the script's order.
    open: VecDeque<usize>,
    /// Replies of calls without a recorded outcome.
    held: BTreeMap<CallId, HeldReply>,
    missing: BTreeSet<MissingReply>,
    asks: u32,
}

#[derive(Debug, Clone)]
struct ScriptLine {
    reply: Arc<ScriptReply>,
    prompt: Option<Regex>,
    used: u32,
}

#[derive(Debug, Clone, Copy)]
struct HeldReply {
    /// Absent if the script had no reply.
    line: Option<usize>,
    number: u32,
}

impl ScriptPlayer {
    pub fn new(script: Script) -> Result<Self, BadScript> {
        let lines: Vec<_> = script.replies.into_iter().map(ScriptLine::new).collect::<Result<_, _>>()?;
        Ok(Self {
            strict: script.strict,
            lenient_roles: script.lenient_roles,
            open: (0..lines.len()).collect(),
            lines,
            held: BTreeMap::new(),
            missing: BTreeSet::new(),
            asks: 0,
        })
    }

    /// Takes the reply for an ask.
    pub fn take(&mut self, asked: &ScriptAsk<'_>) -> ScriptChoice {
        if let Some(held) = self.held.get(asked.call) {
            return self.taken(asked, *held, Again::Yes);
        }
        if asked.program == Some(UnscriptedProgram::Runs) && self.find(asked).is_none() {
            return ScriptChoice::RunProgram;
        }
        self.asks = self.asks.saturating_add(1);
        let line = self.find(asked).map(|place| self.use_up(place));
        let held = HeldReply { line, number: self.asks };
        // A hang has no outcome to wait for: it is over when anything ends it.
        if !line.is_some_and(|line| self.lines[line].reply.hang) {
            self.held.insert(asked.call.clone(), held);
        }
        if line.is_none() {
            self.missing.insert(MissingReply::of(asked));
        }
        self.taken(asked, held, Again::No)
    }

    /// Counts an ask from before this process took over the run.
    pub fn already_asked(&mut self, asked: &ScriptAsk<'_>) {
        self.take(asked);
    }

    /// Counts the outcome of a call: the journal has its reply (`None`) or failure.
    pub fn ended(&mut self, call: &CallId, failure: Option<&Failure>) {
        let Some(held) = self.held.get(call) else { return };
        let reply = held.line.map(|line| &*self.lines[line].reply);
        // A reply that could not be delivered stays for the next try of the call.
        if !failure.is_some_and(|failure| kept_from_saying(reply, failure)) {
            self.held.remove(call);
        }
    }

    /// Returns true if any reply has a condition on the prompt.
    pub fn reads_prompts(&self) -> bool {
        self.lines.iter().any(|line| line.prompt.is_some())
    }

    /// Returns the unused replies and the asks without a reply.
    pub fn accounts(&self) -> ScriptAccounts {
        ScriptAccounts {
            strict: self.strict,
            left: self.lines.iter().filter_map(ScriptLine::left).collect(),
            missing: self.missing.iter().cloned().collect(),
        }
    }

    /// Returns the position in `open` of the first line for this ask.
    fn find(&self, asked: &ScriptAsk<'_>) -> Option<usize> {
        let first = |wanted: &dyn Fn(&ScriptLine) -> bool| {
            self.open.iter().position(|line| {
                let line = &self.lines[*line];
                wanted(line) && line.is_for(asked)
            })
        };
        if self.lenient_roles {
            first(&|line| line.reply.role.is_some()).or_else(|| first(&|line| line.reply.role.is_none()))
        } else {
            first(&|_| true)
        }
    }

    fn use_up(&mut self, place: usize) -> usize {
        let number = self.open[place];
        let line = &mut self.lines[number];
        line.used = line.used.saturating_add(1);
        if line.is_spent() {
            self.open.remove(place);
        }
        number
    }

    fn taken(&self, asked: &ScriptAsk<'_>, held: HeldReply, again: Again) -> ScriptChoice {
        match held.line {
            Some(line) => ScriptChoice::Reply {
                reply: match self.lenient_roles {
                    true => with_own_tags(&self.lines[line].reply, asked.turn_name()),
                    false => Arc::clone(&self.lines[line].reply),
                },
                number: held.number,
                again: again == Again::Yes,
            },
            None if self.strict => ScriptChoice::Missing(MissingReply::of(asked)),
            None => ScriptChoice::Generic { number: held.number },
        }
    }
}

/// Returns true if the failure is not the scripted outcome: the reply was stopped, or its actions failed. A
/// deadline that its own delay exceeds is its own outcome.
fn kept_from_saying(reply: Option<&ScriptReply>, failure: &Failure) -> bool {
    let scripted = reply.and_then(|reply| reply.fail.as_ref()).map(|fail| fail.class);
    if scripted == Some(failure.class) {
        return false;
    }
    let acts = reply.is_some_and(|reply| {
        let says = reply.text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let does = !(reply.writes.is_empty() && reply.edits.is_empty() && reply.runs.is_empty());
        does && (says || reply.structured.is_some() || scripted.is_some())
    });
    match failure.class {
        // The directory of the turn was missing.
        FailureClass::Cancelled | FailureClass::Missing => true,
        FailureClass::Crashed | FailureClass::BadRequest => acts,
        FailureClass::Auth
        | FailureClass::RateLimited
        | FailureClass::Quota
        | FailureClass::Transient
        | FailureClass::SessionLost
        | FailureClass::Refused => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

impl MissingReply {
    fn of(asked: &ScriptAsk<'_>) -> Self {
        Self { asked: asked.name(), visit: asked.call.visit }
    }
}

impl ScriptAsk<'_> {
    fn is_question(&self) -> bool {
        match self.place {
            RoundPosition::Check(_) | RoundPosition::Exit => true,
            RoundPosition::Main(_)
            | RoundPosition::Report(_)
            | RoundPosition::Block(_)
            | RoundPosition::Proof(_)
            | RoundPosition::Outside(_) => false,
        }
    }

    fn turn_name(&self) -> &str {
        self.turn.map_or(self.call.stage.as_str(), TurnId::as_str)
    }

    /// Returns the name in the script's notation.
    fn name(&self) -> String {
        // A single turn often has the name of its stage, so do not repeat it.
        let turn = self.turn.filter(|turn| turn.as_str() != self.call.stage.as_str());
        let turn = turn.map(|turn| format!("/{turn}")).unwrap_or_default();
        let judge = if self.is_question() { "#judge" } else { "" };
        format!("{}{turn}{judge}", self.call.stage)
    }
}

impl ScriptLine {
    fn new(reply: ScriptReply) -> Result<Self, BadScript> {
        let prompt = reply.prompt.as_deref().map(Regex::new).transpose();
        let prompt =
            prompt.map_err(|error| BadScript { origin: reply.origin.clone(), message: error.to_string() })?;
        Ok(Self { reply: Arc::new(reply), prompt, used: 0 })
    }

    fn is_for(&self, asked: &ScriptAsk<'_>) -> bool {
        let reply = &self.reply;
        let fits_performer = match asked.program {
            None => reply.exit.is_none(),
            // A reply for anything, or for all turns of a stage, is meant for agents.
            Some(_) => reply.target.as_ref().is_some_and(|target| {
                let turn = target.turn.as_ref().map_or(target.stage.as_str(), TurnId::as_str);
                asked.turn.is_some_and(|own| own.as_str() == turn)
            }),
        };
        fits_performer
            && reply.target.as_ref().is_none_or(|target| {
                target.stage == asked.call.stage
                    && target.turn.as_ref().is_none_or(|turn| Some(turn) == asked.turn)
                    && target.judge == asked.is_question()
            })
            && reply.role.as_deref().is_none_or(|role| Some(role) == asked.role)
            && reply.visits.as_ref().is_none_or(|visits| visits.contains(asked.call.visit))
            && self.prompt.as_ref().is_none_or(|prompt| prompt.is_match(asked.prompt))
    }

    fn is_spent(&self) -> bool {
        match self.reply.times {
            Times::Exactly(times) => self.used >= times,
            Times::Always => false,
        }
    }

    fn left(&self) -> Option<UnusedReply> {
        match self.reply.times {
            Times::Exactly(times) if self.used < times => {
                Some(UnusedReply { origin: self.reply.origin.clone(), used: self.used, times })
            }
            Times::Exactly(_) | Times::Always => None,
        }
    }
}

//! Which reply an ask gets.
//!
//! The state is a fold over what was asked and what became of it, both of which stand in the journal, so a new
//! process that is told them goes on exactly where the old one was. A reply belongs to its call from the ask until
//! its outcome is recorded: a call that is made again because the process died, because it was stopped, or because what
//! the reply was to do could not be done gets the same reply again; one that is tried again after its scripted failure
//! gets the next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use regex::Regex;
use saihai_model::{CallId, Failure, FailureClass, Place, Script, ScriptReply, Times, TurnId};

/// A script that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: `prompt` is not a regular expression: {message}")]
pub struct BadScript {
    pub origin: String,
    /// What is wrong with it.
    pub message: String,
}

/// What a script needs to know of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The call; its stage and visit are those of the ask.
    pub call: &'a CallId,
    /// The turn it is, or is about; absent for the question of an exit.
    pub turn: Option<&'a TurnId>,
    /// Where its result belongs: with the work of the stage, or with the questions about it.
    pub place: Place,
    pub role: Option<&'a str>,
    /// The prompt; it is looked at only where [`Player::reads_prompts`].
    pub prompt: &'a str,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// A reply of the script.
    Reply {
        reply: Arc<ScriptReply>,
        /// The number of the ask, from 1.
        number: u32,
        /// The same call was given it before, and what it did then is not known.
        again: bool,
    },
    /// The script has nothing for it, and does not mind.
    Generic {
        /// The number of the ask, from 1.
        number: u32,
    },
    /// The script should have had something for it.
    Missing(Missing),
}

/// An ask for which a script had no reply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The stage, the turn where there is one, and whether it was a question: as a script names it.
    pub asked: String,
    pub visit: u32,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the script has no reply for `{}` at visit {}", self.asked, self.visit)
    }
}

/// A reply that was used less often than the script says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub origin: String,
    /// How often it was used.
    pub used: u32,
    /// How often it was to be.
    pub times: u32,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.used, self.times) {
            (0, 1) => write!(f, "{}: this reply was not used", self.origin),
            (used, times) => write!(f, "{}: this reply was used {used} of {times} times", self.origin),
        }
    }
}

/// What a script still holds and what it lacked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Whether what is left over fails the command.
    pub strict: bool,
    /// Replies left over, in the script's order.
    pub left: Vec<Left>,
    /// Asks it had nothing for, each once, in order of their names.
    pub missing: Vec<Missing>,
}

#[derive(Debug, Clone)]
pub struct Player {
    strict: bool,
    lenient_roles: bool,
    lines: Vec<Line>,
    /// The lines that can still be used, in the script's order.
    open: VecDeque<usize>,
    /// What calls were given whose outcome is not recorded.
    held: BTreeMap<CallId, Held>,
    missing: BTreeSet<Missing>,
    asks: u32,
}

#[derive(Debug, Clone)]
struct Line {
    reply: Arc<ScriptReply>,
    prompt: Option<Regex>,
    used: u32,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    /// Absent where the script had nothing.
    line: Option<usize>,
    number: u32,
}

impl Player {
    /// A player at the beginning of a script.
    pub fn new(script: Script) -> Result<Self, BadScript> {
        let lines: Vec<_> = script.replies.into_iter().map(Line::new).collect::<Result<_, _>>()?;
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
    pub fn take(&mut self, asked: &Asked<'_>) -> Taken {
        if let Some(held) = self.held.get(asked.call) {
            return self.taken(asked, *held, Again::Yes);
        }
        self.asks = self.asks.saturating_add(1);
        let line = self.find(asked).map(|place| self.use_up(place));
        let held = Held { line, number: self.asks };
        // A hang has no outcome to wait for: whatever ends it has ended it.
        if !line.is_some_and(|line| self.lines[line].reply.hang) {
            self.held.insert(asked.call.clone(), held);
        }
        if line.is_none() {
            self.missing.insert(Missing::of(asked));
        }
        self.taken(asked, held, Again::No)
    }

    /// Counts an ask that was made before this process took the run over.
    pub fn already_asked(&mut self, asked: &Asked<'_>) {
        self.take(asked);
    }

    /// Counts what became of a call: its reply (`None`) or failure stands in the journal.
    pub fn ended(&mut self, call: &CallId, failure: Option<&Failure>) {
        let Some(held) = self.held.get(call) else { return };
        let reply = held.line.map(|line| &*self.lines[line].reply);
        // Whoever could not say what he had to say still has to when the call is made again.
        if !failure.is_some_and(|failure| kept_from_saying(reply, failure)) {
            self.held.remove(call);
        }
    }

    /// Whether any reply has a condition on the prompt.
    pub fn reads_prompts(&self) -> bool {
        self.lines.iter().any(|line| line.prompt.is_some())
    }

    /// What the script still holds and what it lacked.
    pub fn accounts(&self) -> Accounts {
        Accounts {
            strict: self.strict,
            left: self.lines.iter().filter_map(Line::left).collect(),
            missing: self.missing.iter().cloned().collect(),
        }
    }

    /// The place in `open` of the first line for this ask.
    fn find(&self, asked: &Asked<'_>) -> Option<usize> {
        let first = |wanted: &dyn Fn(&Line) -> bool| {
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

    fn taken(&self, asked: &Asked<'_>, held: Held, again: Again) -> Taken {
        match held.line {
            Some(line) => Taken::Reply {
                reply: Arc::clone(&self.lines[line].reply),
                number: held.number,
                again: again == Again::Yes,
            },
            None if self.strict => Taken::Missing(Missing::of(asked)),
            None => Taken::Generic { number: held.number },
        }
    }
}

/// Whether a failure is not what the reply was to say: it was stopped, or what it was to do could not be done. A deadline
/// that its own delay passed is its own doing.
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
        // The directory of the turn was gone.
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

impl Missing {
    fn of(asked: &Asked<'_>) -> Self {
        Self { asked: asked.name(), visit: asked.call.visit }
    }
}

impl Asked<'_> {
    fn is_question(&self) -> bool {
        match self.place {
            Place::Check(_) | Place::Exit => true,
            Place::Main(_) | Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_) => {
                false
            }
        }
    }

    /// As a script would name it.
    fn name(&self) -> String {
        // A lone turn often bears its stage's name; saying it twice helps nobody.
        let turn = self.turn.filter(|turn| turn.as_str() != self.call.stage.as_str());
        let turn = turn.map(|turn| format!("/{turn}")).unwrap_or_default();
        let judge = if self.is_question() { "#judge" } else { "" };
        format!("{}{turn}{judge}", self.call.stage)
    }
}

impl Line {
    fn new(reply: ScriptReply) -> Result<Self, BadScript> {
        let prompt = reply.prompt.as_deref().map(Regex::new).transpose();
        let prompt =
            prompt.map_err(|error| BadScript { origin: reply.origin.clone(), message: error.to_string() })?;
        Ok(Self { reply: Arc::new(reply), prompt, used: 0 })
    }

    fn is_for(&self, asked: &Asked<'_>) -> bool {
        let reply = &self.reply;
        reply.target.as_ref().is_none_or(|target| {
            target.stage == asked.call.stage
                && target.turn.as_ref().is_none_or(|turn| Some(turn) == asked.turn)
                && target.judge == asked.is_question()
        }) && reply.role.as_deref().is_none_or(|role| Some(role) == asked.role)
            && reply.visits.as_ref().is_none_or(|visits| visits.contains(asked.call.visit))
            && self.prompt.as_ref().is_none_or(|prompt| prompt.is_match(asked.prompt))
    }

    fn is_spent(&self) -> bool {
        match self.reply.times {
            Times::Exactly(times) => self.used >= times,
            Times::Always => false,
        }
    }

    fn left(&self) -> Option<Left> {
        match self.reply.times {
            Times::Exactly(times) if self.used < times => {
                Some(Left { origin: self.reply.origin.clone(), used: self.used, times })
            }
            Times::Exactly(_) | Times::Always => None,
        }
    }
}

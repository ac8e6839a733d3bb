//! What one agent program is to us.
//!
//! A module per program says, purely: what to start for an ask ([`Agent::invocation`]), what each line it prints means
//! ([`Listener::output`]) and what has come of it all in the end ([`Listener::end`]). Starting it, feeding it, watching
//! its deadlines, redacting its output and ending its whole process tree are the same for all of them and happen in
//! `attempt`. So a vendor's flag, event name or status code stands in one file (C-2), and its tests need no process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use saihai_model::{
    Ask, Failure, FailureClass, Millis, Permission, Progress, ProviderAnswer, ProviderKind, ProviderName,
    ProviderSettings, Reply,
};
use sha2::{Digest as _, Sha256};

/// How an agent program is spoken to. It holds no state: what lives for one ask is in its [`Listener`] (C-4).
pub(crate) trait Agent: Send + Sync {
    fn profile(&self) -> &'static Profile;

    /// What is started for an ask.
    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<Invocation, Failure>;

    /// Whether a silent process is a stuck one, so that `idle_timeout` holds (C-36).
    fn speaks_while_working(&self, settings: &ProviderSettings) -> bool {
        let _ = settings;
        true
    }

    /// Whether it keeps by itself to the most model calls of a turn; else they are counted, and it is ended.
    fn limits_calls(&self) -> bool {
        false
    }

    /// Whether it would refuse to work with such a permission for root (C-44).
    fn refuses_root(&self, permission: Permission, settings: &ProviderSettings) -> bool {
        let _ = (permission, settings);
        false
    }

    /// What must be seen to be so before the first ask, where that takes a process.
    fn probe(&self, ask: &Ask, settings: &ProviderSettings) -> Option<Probe> {
        let _ = (ask, settings);
        None
    }

    /// Who listens to what it prints.
    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn Listener>;

    /// What is said to a process that has stayed after an earlier turn of this session, and who listens to it then
    /// (C-67); `None` where none ever stays.
    fn going_on(&self, ask: &Ask, known: &Acquaintance) -> Option<(String, Box<dyn Listener>)> {
        let _ = (ask, known);
        None
    }

    /// A file of a project that it runs when it starts there, whatever it is told.
    fn code_of_project(&self, root: &Path) -> Option<PathBuf> {
        let _ = root;
        None
    }

    /// How one learns, without a network, whether somebody is logged in there (C-86).
    fn login(&self) -> Option<LoginProbe> {
        None
    }

    /// The variables in which a key for it may stand instead.
    fn keys(&self) -> &'static [&'static str] {
        &[]
    }
}

/// How one learns whether somebody is logged in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoginProbe {
    /// With what the program is started.
    pub(crate) arguments: &'static [&'static str],
    /// What it means that it says so.
    pub(crate) read: fn(&Probed) -> Login,
}

/// What a program said that was asked something about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probed {
    /// Its exit code; absent where a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it printed on its standard output and then on its standard error.
    pub(crate) output: String,
}

/// Whether somebody is logged in at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    In,
    Out,
    /// This variable holds a key; whether it is a good one is not known.
    Key(String),
    /// There is no way to tell without asking.
    Unknown,
}

/// What is always so of an agent program.
#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) kind: ProviderKind,
    /// The program's usual name; empty where the settings must name one.
    pub(crate) program: &'static str,
    /// How one gets it, as a command to be pasted; for `doctor` and for the message that it is missing.
    pub(crate) install: &'static str,
    /// The version it was tried with.
    pub(crate) tested: &'static str,
    /// Which of our variables it is given beside those every program gets (C-54).
    pub(crate) environment: &'static [&'static str],
    /// Every tool of its own that we know, by the names it offers to its model and those it reports. Empty where nothing is
    /// known of its tools.
    pub(crate) known_tools: &'static [&'static str],
    /// The longest prompt it takes, in bytes (C-24).
    pub(crate) max_prompt: u64,
}

/// What is started, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// The arguments after the program's name.
    pub(crate) arguments: Vec<String>,
    /// Variables that are set for it, over everything else but the user's own `env`.
    pub(crate) environment: Vec<(String, String)>,
    /// Files that must be there before it starts, by absolute path below [`Ask::scratch`].
    pub(crate) files: Vec<(String, String)>,
    /// What is written to its standard input, which is then closed unless it is spoken with.
    pub(crate) input: String,
}

/// A short run of a program that shows whether it can be trusted with an ask. It is not repeated once it has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Probe {
    /// The arguments after the program's name.
    pub(crate) arguments: Vec<String>,
    /// Variables that are set for it, as in an [`Invocation`].
    pub(crate) environment: Vec<(String, String)>,
    /// A line of its standard output that must be there.
    pub(crate) expected: String,
    /// What is said if it is not.
    pub(crate) otherwise: String,
}

pub(crate) trait Listener: Send {
    /// A line of its standard output, with the line end if there was one. Whatever is not understood is skipped (C-53).
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next;

    /// A line of its standard error.
    fn complaint(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        let _ = (line, tell);
        Next::GoOn
    }

    /// Whether its standard input stays open after the first words, for what [`Next::Say`] adds; it is closed when the
    /// turn is over.
    fn is_spoken_with(&self) -> bool {
        false
    }

    /// What is said to it when it is to stop, before it is told by a signal (C-56); only where it is spoken with.
    fn farewell(&mut self) -> Option<String> {
        None
    }

    /// Whether the process stays for the next turn of its session now that this one is over, and what is known of it then
    /// (C-67).
    fn stays(&self) -> Option<Acquaintance> {
        None
    }

    /// Whether a tool that the agent announced has not come back: a long silence is then no sign of trouble (C-36).
    fn is_busy(&self) -> bool;

    /// How long it may stay silent from now on where it said that it waits; it is ended then, and [`Self::end`] says what
    /// that means.
    fn pause(&self) -> Option<Millis> {
        None
    }

    /// What came of it. Where we ended it, for a stop, a deadline or an abort, before [`Next::Done`], only what it says
    /// to have spent is taken from the answer; it then sees the signal we sent.
    fn end(self: Box<Self>, end: &End) -> ProviderAnswer;
}

/// What is known of a process that stays for another turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acquaintance {
    /// The name by which it introduced itself.
    pub(crate) name: String,
    /// How many prompts it was given.
    pub(crate) prompts: u64,
}

/// What follows from a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    /// Say this to it, and listen on; only where it is spoken with.
    Say(String),
    /// That was the end of the turn: it has a short while to exit by itself, and then is ended (C-59).
    Done,
    /// It must be ended at once, and this is why.
    Abort(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) exit: Exit,
    /// What it printed on its standard error: the first and the last of it (C-52).
    pub(crate) complaints: String,
}

/// With what a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, after it had said that the turn is over.
    AfterDone,
}

impl Exit {
    /// Whether it does not speak against a reply.
    pub(crate) fn is_fine(self) -> bool {
        match self {
            Self::Code(code) => code == 0,
            Self::Signal(_) => false,
            Self::AfterDone => true,
        }
    }
}

/// A failure of a class, in a provider's words cut to a few lines.
pub(crate) fn failure(class: FailureClass, words: &str) -> Failure {
    const LONGEST: usize = 2_000;
    let words = words.trim();
    let end = words.char_indices().map(|(at, _)| at).nth(LONGEST);
    match end {
        Some(end) => Failure::new(class, format!("{} …", &words[..end])),
        None => Failure::new(class, words),
    }
}

/// A prompt with the role before it, for programs that have no slot for one (C-23).
pub(crate) fn with_persona(ask: &Ask) -> String {
    match &ask.persona {
        Some(persona) if !persona.trim().is_empty() => format!("{persona}\n\n---\n\n{}", ask.prompt),
        Some(_) | None => ask.prompt.clone(),
    }
}

/// Refuses a prompt that a provider would not take, before anything is started or sent (C-24).
pub(crate) fn fits(bytes: usize, most: u64, provider: &ProviderName) -> Result<(), Failure> {
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= most) {
        return Ok(());
    }
    let message = format!("prompt is {bytes} bytes, {provider} takes {most}");
    Err(failure(FailureClass::BadRequest, &message))
}

/// A name for something of this attempt alone, in the form of a random UUID: the id of a new session, a file's name.
/// It follows from the attempt, so the same attempt is always called the same, and no other one is.
pub(crate) fn unique_id(ask: &Ask) -> String {
    let name = format!("{}\n{}\n{}", ask.run, ask.call, ask.attempt);
    let digest = Sha256::digest(name.as_bytes());
    let mut bytes: Vec<u8> = digest.iter().copied().take(16).collect();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A warning where a read-only turn used tools that we have never seen held to looking (C-43).
pub(crate) fn unknown_tools(profile: &Profile, ask: &Ask, reply: &Reply) -> Option<String> {
    if ask.permission != Permission::ReadOnly || profile.known_tools.is_empty() {
        return None;
    }
    let names = reply.tools_used.iter().map(|used| used.name.as_str());
    let unknown: BTreeSet<&str> = names.filter(|name| !profile.known_tools.contains(name)).collect();
    if unknown.is_empty() {
        return None;
    }
    let names: Vec<String> = unknown.into_iter().map(|name| format!("`{name}`")).collect();
    Some(format!(
        "{} called {} in a read-only turn, which Saihai does not know and cannot tell to be harmless; it was tried with \
         version {}",
        profile.kind.name(),
        names.join(", "),
        profile.tested
    ))
}

/// The class of an HTTP status (C-32).
pub(crate) fn class_of_status(status: u16) -> FailureClass {
    match status {
        401 | 403 => FailureClass::Auth,
        402 => FailureClass::Quota,
        429 => FailureClass::RateLimited,
        408 | 409 | 500..=599 => FailureClass::Transient,
        400 | 404 | 413 | 422 => FailureClass::BadRequest,
        _ => FailureClass::Crashed,
    }
}

/// A wait in seconds as a provider names it; nonsense and more than a month count as not given (C-34).
pub(crate) fn wait_of_seconds(seconds: f64) -> Option<Millis> {
    const LONGEST: f64 = 31.0 * 24.0 * 60.0 * 60.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on the same line"
    )]
    (0.0..=LONGEST).contains(&seconds).then(|| Millis((seconds * 1000.0).ceil() as u64))
}

/// How a program ended that should not have ended so, in words: its exit and what it said last.
pub(crate) fn abrupt(profile: &Profile, what: &str, end: &End) -> Failure {
    let how = match end.exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::AfterDone => "ended by us".to_owned(),
    };
    let last: Vec<&str> =
        end.complaints.lines().rev().filter(|line| !line.trim().is_empty()).take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    let said = if last.is_empty() { String::new() } else { format!(": {}", last.join("\n")) };
    failure(FailureClass::Crashed, &format!("{} {what} ({how}){said}", profile.kind.name()))
}

#[cfg(test)]
mod tests {
    use saihai_model::ToolUse;

    use super::*;
    use crate::testing::ask;

    // C-60: a used session id is refused, so every attempt has one of its own.
    #[test]
    fn every_attempt_has_an_id_of_its_own_in_the_form_of_a_uuid() {
        let (first, second) = (ask(), Ask { attempt: 2, ..ask() });
        assert_eq!(unique_id(&first), unique_id(&first));
        assert_ne!(unique_id(&first), unique_id(&second));
        assert_ne!(unique_id(&first), unique_id(&Ask { run: "other".into(), ..ask() }));
        let id = unique_id(&first);
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(id.split('-').nth(2).is_some_and(|part| part.starts_with('4')), "{id}");
        assert!(id.split('-').nth(3).is_some_and(|part| part.starts_with(['8', '9', 'a', 'b'])), "{id}");
    }

    // C-43
    #[test]
    fn a_tool_that_is_not_known_is_a_warning_in_a_read_only_turn_only() {
        let profile = crate::agents::of(ProviderKind::Gemini).unwrap().profile();
        let named = |name: &str| ToolUse { name: name.to_owned(), ..ToolUse::default() };
        let tools_used = ["read_file", "teleport", "teleport", "beam"].map(named).to_vec();
        let reply = Reply { tools_used, ..Reply::default() };
        insta::assert_snapshot!(unknown_tools(profile, &ask(), &reply).unwrap(), @"gemini called `beam`, `teleport` in a read-only turn, which Saihai does not know and cannot tell to be harmless; it was tried with version 0.61.0");
        let editing = Ask { permission: Permission::Edit { commands: false }, ..ask() };
        assert_eq!(unknown_tools(profile, &editing, &reply), None);
        let known = Reply { tools_used: vec![named("glob")], ..Reply::default() };
        assert_eq!(unknown_tools(profile, &ask(), &known), None);
        let any = crate::agents::of(ProviderKind::Command).unwrap().profile();
        assert_eq!(unknown_tools(any, &ask(), &reply), None);
    }

    // C-32
    #[test]
    fn statuses_have_classes() {
        use FailureClass::{Auth, BadRequest, Crashed, Quota, RateLimited, Transient};
        let statuses = [200, 302, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 503, 529];
        let expected = [
            Crashed,
            Crashed,
            BadRequest,
            Auth,
            Quota,
            Auth,
            BadRequest,
            Transient,
            Transient,
            BadRequest,
            Crashed,
            BadRequest,
            RateLimited,
            Transient,
            Transient,
            Transient,
        ];
        assert_eq!(statuses.map(class_of_status), expected);
    }

    // C-34
    #[test]
    fn a_wait_that_makes_no_sense_is_none() {
        let all = [30.0, 0.0, 11.0541, -1.0, f64::NAN, f64::INFINITY, 2_678_401.0].map(wait_of_seconds);
        assert_eq!(
            all,
            [Some(Millis(30_000)), Some(Millis(0)), Some(Millis(11_055)), None, None, None, None]
        );
    }
}

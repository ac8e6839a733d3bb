//! The interface that every agent program implements.
//!
//! Each program has one module of pure code. It says what to start for an ask ([`AgentProgram::invocation`]),
//! what each printed line means ([`AgentListener::output`]) and what the result is ([`AgentListener::end`]).
//! `attempt` does the rest for all of them: it starts the process, feeds it, watches deadlines, redacts
//! output and ends the process tree. So a vendor's flags, event names and status codes are in one file (C-2),
//! and its tests need no process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use saihai_model::{
    Ask, Failure, FailureClass, Millis, Permission, Progress, ProviderAnswer, ProviderKind, ProviderName,
    ProviderSettings, Reply, VerdictServerCommand, VerdictTool,
};
use sha2::{Digest as _, Sha256};

/// An agent program. It has no state: the state of one ask is in its [`AgentListener`] (C-4).
pub(crate) trait AgentProgram: Send + Sync {
    fn profile(&self) -> &'static AgentProfile;

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure>;

    /// Returns true if a silent process is a stuck one, so that `idle_timeout` applies (C-36).
    fn speaks_while_working(&self, settings: &ProviderSettings) -> bool {
        let _ = settings;
        true
    }

    /// Returns true if the program limits model calls itself. Otherwise we count them and end it.
    fn limits_calls(&self) -> bool {
        false
    }

    /// Returns true if the program refuses this permission when it runs as root (C-44).
    fn refuses_root(&self, permission: Permission, settings: &ProviderSettings) -> bool {
        let _ = (permission, settings);
        false
    }

    /// Returns a check that must pass before the first ask, if it needs a process.
    fn probe(&self, ask: &Ask, settings: &ProviderSettings) -> Option<StartupCheck> {
        let _ = (ask, settings);
        None
    }

    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn AgentListener>;

    /// Returns the input for a process that stayed after an earlier turn of this session, and a new listener
    /// (C-67). Returns `None` for programs that never stay.
    fn going_on(&self, ask: &Ask, known: &IdleAgentFacts) -> Option<(String, Box<dyn AgentListener>)> {
        let _ = (ask, known);
        None
    }

    /// Finds a project file that the program executes at start, regardless of its arguments.
    fn code_of_project(&self, root: &Path) -> Option<PathBuf> {
        let _ = root;
        None
    }

    /// Returns the offline check of the user's login (C-86).
    fn login(&self) -> Option<LoginProbe> {
        None
    }

    /// Environment variables that may hold an API key instead of a login.
    fn keys(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A check of the user's login.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoginProbe {
    pub(crate) arguments: &'static [&'static str],
    /// Interprets the output of the check.
    pub(crate) read: fn(&ProbeOutput) -> Login,
}

/// The output of a program that was asked for its version or login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbeOutput {
    /// Exit code; absent if a signal ended the program.
    pub(crate) code: Option<i32>,
    /// Standard output, followed by standard error.
    pub(crate) output: String,
}

/// Login state at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    In,
    Out,
    /// The variable holds a key, which may or may not be valid.
    Key(String),
    /// Only a request could tell.
    Unknown,
}

/// Constant facts about an agent program.
#[derive(Debug)]
pub(crate) struct AgentProfile {
    pub(crate) kind: ProviderKind,
    /// The usual name of the program; empty if the settings must name one.
    pub(crate) program: &'static str,
    /// The install command to paste, for `doctor` and for the error about a missing program.
    pub(crate) install: &'static str,
    /// The version we tested with.
    pub(crate) tested: &'static str,
    /// Variables that the program gets in addition to the common ones (C-54).
    pub(crate) environment: &'static [&'static str],
    /// All built-in tools that we know, by their names for the model and in reports.
    pub(crate) known_tools: &'static [&'static str],
    /// Maximum prompt length in bytes (C-24).
    pub(crate) max_prompt: u64,
}

/// A program start: arguments, environment, files and input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentInvocation {
    /// Arguments after the program's name.
    pub(crate) arguments: Vec<String>,
    /// Variables that override everything except the user's own `env`.
    pub(crate) environment: Vec<(String, String)>,
    /// Files to write before the start, by absolute path below [`Ask::scratch`].
    pub(crate) files: Vec<(String, String)>,
    /// Text for standard input, which is then closed unless the listener talks to the program.
    pub(crate) input: String,
}

/// A short run that shows if a program is safe to use for an ask. It does not run again after it passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartupCheck {
    /// Arguments after the program's name.
    pub(crate) arguments: Vec<String>,
    /// Variables to set, as in an [`AgentInvocation`].
    pub(crate) environment: Vec<(String, String)>,
    /// A line that standard output must contain.
    pub(crate) expected: String,
    /// The error message for a missing line.
    pub(crate) otherwise: String,
}

pub(crate) trait AgentListener: Send {
    /// Handles a line of standard output, with its line end if any. Skips lines it does not know (C-53).
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep;

    /// Handles a line of standard error.
    fn complaint(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let _ = (line, tell);
        ListenerStep::GoOn
    }

    /// Returns true if standard input stays open until the end of the turn, for [`ListenerStep::Say`].
    fn is_spoken_with(&self) -> bool {
        false
    }

    /// Returns the request to stop, sent before a signal if standard input stays open (C-56).
    fn farewell(&mut self) -> Option<String> {
        None
    }

    /// Returns facts for the next turn, if the process stays for it (C-67).
    fn stays(&self) -> Option<IdleAgentFacts> {
        None
    }

    /// Returns true while an announced tool is running: a long silence is then normal (C-36).
    fn is_busy(&self) -> bool;

    /// Returns the maximum silence of an announced wait, after which the process is ended; see [`Self::end`].
    fn pause(&self) -> Option<Millis> {
        None
    }

    /// Returns the result. If a stop, a deadline or an abort came before [`ListenerStep::Done`], only the
    /// reported usage counts. The exit is then the signal we sent.
    fn end(self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer;
}

/// Facts about a process that stays for another turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdleAgentFacts {
    /// The name that the program reported.
    pub(crate) name: String,
    /// Number of prompts it has had.
    pub(crate) prompts: u64,
}

/// The reaction to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListenerStep {
    GoOn,
    /// Send this text and keep listening; only if standard input stays open.
    Say(String),
    /// The turn is over. The process has a short time to exit before it is ended (C-59).
    Done,
    /// End the process immediately, for this reason.
    Abort(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessEnd {
    pub(crate) exit: ProcessExit,
    /// The first and the last part of standard error (C-52).
    pub(crate) complaints: String,
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessExit {
    /// The process exited with this code.
    Code(i32),
    /// A signal that was not ours ended the process.
    Signal(i32),
    /// We ended the process after it reported the end of the turn.
    AfterDone,
}

impl ProcessExit {
    /// Returns true if the exit allows a reply.
    pub(crate) fn is_fine(self) -> bool {
        match self {
            Self::Code(code) => code == 0,
            Self::Signal(_) => false,
            Self::AfterDone => true,
        }
    }
}

/// Builds a failure and cuts the provider's message to a few lines.
pub(crate) fn failure(class: FailureClass, words: &str) -> Failure {
    const LONGEST: usize = 2_000;
    let words = words.trim();
    let end = words.char_indices().map(|(at, _)| at).nth(LONGEST);
    match end {
        Some(end) => Failure::new(class, format!("{} …", &words[..end])),
        None => Failure::new(class, words),
    }
}

/// Returns the prompt with the role before it, for programs without a separate role option (C-23).
pub(crate) fn with_persona(ask: &Ask) -> String {
    match &ask.persona {
        Some(persona) if !persona.trim().is_empty() => format!("{persona}\n\n---\n\n{}", ask.prompt),
        Some(_) | None => ask.prompt.clone(),
    }
}

/// Returns the server of the verdict tool that this ask offers.
pub(crate) fn verdict_server(ask: &Ask) -> Option<&VerdictServerCommand> {
    ask.verdict.as_ref()?.server.as_ref()
}

/// Rejects a prompt that is too long for a provider, before anything starts (C-24).
pub(crate) fn fits(bytes: usize, most: u64, provider: &ProviderName) -> Result<(), Failure> {
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= most) {
        return Ok(());
    }
    let message = format!("prompt is {bytes} bytes, {provider} takes {most}");
    Err(failure(FailureClass::BadRequest, &message))
}

/// Returns an id for this attempt in the form of a random UUID, for a new session or a file name. It is
/// derived from the attempt: the same attempt always gets the same id, and no other attempt gets it.
pub(crate) fn unique_id(ask: &Ask) -> String {
    let name = format!("{}\n{}\n{}", ask.run, ask.call, ask.attempt);
    let digest = Sha256::digest(name.as_bytes());
    let mut bytes: Vec<u8> = digest.iter().copied().take(16).collect();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Returns a warning if a read-only turn used tools that we do not know to be read-only (C-43).
pub(crate) fn unknown_tools(profile: &AgentProfile, ask: &Ask, reply: &Reply) -> Option<String> {
    if ask.permission != Permission::ReadOnly || profile.known_tools.is_empty() {
        return None;
    }
    let names = reply.tools_used.iter().map(|used| used.name.as_str());
    // Agents put the name of the server in front of it.
    let names = names.filter(|name| !(ask.verdict.is_some() && name.ends_with(VerdictTool::NAME)));
    let unknown: BTreeSet<&str> = names.filter(|name| !profile.known_tools.contains(name)).collect();
    if unknown.is_empty() {
        return None;
    }
    let names: Vec<String> = unknown.into_iter().map(|name| format!("`{name}`")).collect();
    Some(format!(
        "{} called {} in a read-only turn, which Saihai does not know, so it may write; Saihai was tested with \
         version {}",
        profile.kind.name(),
        names.join(", "),
        profile.tested
    ))
}

/// Describes an unexpected end of a program: its exit and its last output.
pub(crate) fn abrupt(profile: &AgentProfile, what: &str, end: &ProcessEnd) -> Failure {
    let how = match end.exit {
        ProcessExit::Code(code) => format!("exit code {code}"),
        ProcessExit::Signal(signal) => format!("signal {signal}"),
        ProcessExit::AfterDone => "stopped by Saihai".to_owned(),
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

    // C-60: the program rejects a used session id, so every attempt needs a new one.
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
        insta::assert_snapshot!(unknown_tools(profile, &ask(), &reply).unwrap(), @"gemini called `beam`, `teleport` in a read-only turn, which Saihai does not know, so it may write; Saihai was tested with version 0.61.0");
        let editing = Ask { permission: Permission::Edit { commands: false }, ..ask() };
        assert_eq!(unknown_tools(profile, &editing, &reply), None);
        let known = Reply { tools_used: vec![named("glob")], ..Reply::default() };
        assert_eq!(unknown_tools(profile, &ask(), &known), None);
        let any = crate::agents::of(ProviderKind::Command).unwrap().profile();
        assert_eq!(unknown_tools(any, &ask(), &reply), None);
    }
}

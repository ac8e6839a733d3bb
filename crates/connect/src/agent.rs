//! What one agent program is to us.
//!
//! A module per program says, purely: what to start for an ask ([`Agent::invocation`]), what each line it prints means
//! ([`Listener::output`]) and what has come of it all in the end ([`Listener::end`]). Starting it, feeding it, watching
//! its deadlines, redacting its output and ending its whole process tree are the same for all of them and happen in
//! `attempt`. So a vendor's flag, event name or status code stands in one file (C-2), and its tests need no process.

use saihai_model::{Ask, Failure, FailureClass, Progress, ProviderAnswer, ProviderKind, ProviderSettings};

/// How an agent program is spoken to. It holds no state: what lives for one ask is in its [`Listener`] (C-4).
pub(crate) trait Agent: Send + Sync {
    /// What is always so.
    fn profile(&self) -> &'static Profile;

    /// What is started for an ask.
    ///
    /// # Errors
    /// The ask can never succeed there: a prompt that is too long, a permission it cannot enforce.
    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<Invocation, Failure>;

    /// Who listens to what it prints.
    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn Listener>;
}

/// What is always so of an agent program.
#[derive(Debug)]
pub(crate) struct Profile {
    /// Which it is.
    pub(crate) kind: ProviderKind,
    /// The program's usual name; empty where the settings must name one.
    pub(crate) program: &'static str,
    /// How one gets it, as a command to be pasted; for `doctor` and for the message that it is missing.
    pub(crate) install: &'static str,
    /// The version it was tried with.
    pub(crate) tested: &'static str,
    /// Which of our variables it is given beside those every program gets (C-54).
    pub(crate) environment: &'static [&'static str],
    /// The longest prompt it takes, in bytes (C-24).
    pub(crate) max_prompt: u64,
    /// Whether a silent process is a stuck one, so that `idle_timeout` holds (C-36).
    pub(crate) speaks_while_working: bool,
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
    /// What is written to its standard input, which is then closed.
    pub(crate) input: String,
}

/// Listens to one process.
pub(crate) trait Listener: Send {
    /// A line of its standard output, with the line end if there was one. Whatever is not understood is skipped (C-53).
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next;

    /// A line of its standard error.
    fn complaint(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> Next {
        let _ = (line, tell);
        Next::GoOn
    }

    /// Whether a tool that the agent announced has not come back: a long silence is then no sign of trouble (C-36).
    fn is_busy(&self) -> bool;

    /// What came of it. Where we ended it, for a stop, a deadline or an abort, before [`Next::Done`], only what it says
    /// to have spent is taken from the answer; it then sees the signal we sent.
    fn end(self: Box<Self>, end: &End) -> ProviderAnswer;
}

/// What follows from a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Listen on.
    GoOn,
    /// That was the end of the turn: it has a short while to exit by itself, and then is ended (C-59).
    Done,
    /// It must be ended at once, and this is why.
    Abort(Failure),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    /// With what.
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

//! A validated workflow: its stages, and what each stage does.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::effect::{Action, ActionSpec};
use crate::exit::{Completion, Exit, Target, Topics};
use crate::ids::{Millis, ProviderName, RoundPosition, SessionKey, StageId, Topic, TurnId};
use crate::money::{Limits, Retry, Usd};
use crate::reads::{BlockUse, Choice, Method, Proof, Question, Reads};

use crate::{
    Breaker, FailureReason, IssueNumber, Json, LimitReason, OwnProvider, ProgramCommand, Prompt, Text,
    typed_command,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    pub entry: StageId,
    /// Stages in the definition's order.
    pub stages: IndexMap<StageId, Stage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Topics>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Monitor>,
    /// Detectors of cycles without progress. A stage is in at most one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<Breaker>,
    pub completion: Completion,
    /// Stages that belong together, such as those of a call. Entering a group starts the counts that prompts show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Vec<StageId>>,
    #[serde(default)]
    pub limits: Limits,
    #[serde(default)]
    pub retry: Retry,
    /// Stage that follows completion: delivery, or a review's report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub afterwards: Option<StageId>,
    /// Additional log files next to the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogFiles>,
    /// Provider that the definition describes itself, so that settings need not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<OwnProvider>,
    /// Issue of the run, if its actions access one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    /// Words of the engine in the right language.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub words: IndexMap<String, String>,
}

/// Log files, one for each run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFiles {
    pub name: String,
    pub directory: String,
    pub format: LogFormat,
    /// Number of files to keep, the newest ones.
    pub keep: u32,
    /// True to leave out details.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object per line.
    Jsonl,
    Text,
}

/// A node of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    pub title: String,
    pub does: Activity,
    pub exit: Exit,
    /// Bounds on the rounds of a visit.
    #[serde(default)]
    pub rounds: Rounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitLimit>,
    /// True for a stage outside the flow: not in the history, not a change of stage, output not carried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// Purpose in its author's words; shown to people, never to agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Agents work. Only this costs an iteration.
    Turns {
        /// Turns, all asked in one round.
        turns: Vec<Turn>,
        /// Maximum number of turns at the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_once: Option<u32>,
        on_failure: OnFailure,
        /// Separator between the outputs of several turns.
        #[serde(default)]
        between: String,
    },
    Gate(Gate),
    Action(ActionSpec),
}

/// Consequence of a turn's final failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The run waits until a person resumes it.
    Park,
    /// The failure is the turn's result.
    KeepGoing,
}

/// Bounds on the rounds of a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Minimum before the exit is asked.
    pub min: u32,
    pub max: Option<u32>,
    pub too_many: Target,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { min: 1, max: None, too_many: Target::failed(FailureReason::TooManyRounds) }
    }
}

/// Limit on the visits of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitLimit {
    pub max: u32,
    /// Substitute for the first visit over the limit; later ones hold the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_instead: Option<StageId>,
    /// Topic published then; its message is the replaced topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishes: Option<Topic>,
}

/// Expected contents of a call's reply.
#[derive(Debug, Clone, Copy)]
pub enum ExpectedReply<'a> {
    /// The parts to extract from a turn's reply.
    Work(&'a Reads),
    /// The answer to a question.
    Answer(&'a Choice, &'a Question),
}

/// A program that the run itself would start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCommand<'a> {
    pub argv: &'a [String],
    /// File that names the program, if the program is not a file of the definition.
    pub written: Option<&'a str>,
}

impl OwnCommand<'_> {
    /// Returns the command as typed in a shell.
    pub fn typed(&self) -> String {
        typed_command(self.argv)
    }
}

/// Maximum number of stages for a linear search.
const FEW: usize = 16;

impl Workflow {
    pub fn stage(&self, id: &StageId) -> Option<&Stage> {
        // For a few names a linear search is faster than hashing, and the engine searches many times per turn.
        if self.stages.len() > FEW {
            return self.stages.get(id);
        }
        self.stages.iter().find(|(name, _)| *name == id).map(|(_, stage)| stage)
    }

    /// Returns the breaker of the cycle that a stage is in, and its index.
    pub fn breaker_of(&self, stage: &StageId) -> Option<(usize, &Breaker)> {
        self.breakers.iter().enumerate().find(|(_, breaker)| breaker.stages.contains(stage))
    }

    /// Returns true if a breaker compares the files after a turn: the turn may edit, and a detector needs them.
    pub fn compares_files_after(&self, stage: &StageId, place: RoundPosition) -> bool {
        let RoundPosition::Main(index) = place else { return false };
        let may_edit = || {
            let turn = self.stage(stage).and_then(|stage| stage.turns().get(index));
            turn.is_some_and(|turn| turn.program.is_none() && turn.permission != Permission::ReadOnly)
        };
        self.breaker_of(stage).is_some_and(|(_, breaker)| breaker.compares_files()) && may_edit()
    }

    /// Returns true if the run ends with the report of a review.
    pub fn is_review(&self) -> bool {
        self.review_settings().is_some()
    }

    /// Returns the plan of a review, which the model does not interpret.
    pub fn review_settings(&self) -> Option<&Json> {
        let Activity::Action(action) = &self.stage(self.afterwards.as_ref()?)?.does else { return None };
        if let Action::ReviewReport { settings } = &action.does { Some(settings) } else { None }
    }

    /// Returns the expected contents of the reply at `place` of a stage.
    pub fn wanted(&self, stage: &StageId, place: RoundPosition) -> Option<ExpectedReply<'_>> {
        let stage = self.stage(stage)?;
        match place {
            RoundPosition::Main(index) => {
                stage.turns().get(index).map(|turn| ExpectedReply::Work(&turn.reads))
            }
            RoundPosition::Check(index) => {
                let choice = stage.turns().get(index)?.reads.choice.as_ref()?;
                choice.question().map(|question| ExpectedReply::Answer(choice, question))
            }
            RoundPosition::Exit => {
                let choice = stage.exit.question()?;
                choice.question().map(|question| ExpectedReply::Answer(choice, question))
            }
            RoundPosition::Report(_)
            | RoundPosition::Block(_)
            | RoundPosition::Proof(_)
            | RoundPosition::Outside(_) => None,
        }
    }
}

impl Workflow {
    /// Returns all actions that the run itself may perform.
    pub fn actions(&self) -> Vec<&ActionSpec> {
        let mut actions = self.completion.actions();
        for stage in self.stages.values() {
            if let Activity::Action(action) = &stage.does {
                actions.push(action);
            }
            actions.extend(stage.proofs().map(|proof| &proof.by));
            for blocks in stage.turns().iter().filter_map(|turn| turn.reads.blocks.as_ref()) {
                actions.extend(blocks.uses.values().filter_map(|used| match used {
                    BlockUse::Do(action) => Some(action),
                    BlockUse::Signal | BlockUse::Idle => None,
                }));
            }
        }
        actions
    }

    /// Returns the programs that the run itself would start.
    pub fn commands(&self) -> Vec<OwnCommand<'_>> {
        let commands = self.actions().into_iter().filter_map(|action| match &action.does {
            Action::Command { argv, written, .. } => Some(OwnCommand { argv, written: written.as_deref() }),
            _ => None,
        });
        let asked = self.provider.iter().filter(|provider| provider.written.is_some());
        let asked = asked.map(|own| OwnCommand { argv: &own.argv, written: own.written.as_deref() });
        let programs = self.stages.values().flat_map(Stage::turns).filter_map(|turn| turn.program.as_deref());
        let programs = programs.filter(|program| program.written.is_some());
        let programs =
            programs.map(|program| OwnCommand { argv: &program.argv, written: program.written.as_deref() });
        commands.chain(asked).chain(programs).collect()
    }
}

impl Stage {
    /// Returns its turns; none for gates and actions.
    pub fn turns(&self) -> &[Turn] {
        match &self.does {
            Activity::Turns { turns, .. } => turns,
            Activity::Gate(_) | Activity::Action(_) => &[],
        }
    }

    /// Returns the turns that ask an agent.
    pub fn agent_turns(&self) -> impl Iterator<Item = &Turn> {
        self.turns().iter().filter(|turn| turn.program.is_none())
    }

    /// Returns true if programs do all its turns, so that it asks no agent.
    pub fn runs_only_programs(&self) -> bool {
        !self.turns().is_empty() && self.agent_turns().next().is_none()
    }

    /// Returns the proofs of its turns' labels.
    pub fn proofs(&self) -> impl Iterator<Item = &Proof> {
        self.turns().iter().flat_map(|turn| &turn.reads.proofs)
    }
}

impl Choice {
    /// Returns the question among its methods.
    pub fn question(&self) -> Option<&Question> {
        self.found_by.iter().find_map(|method| match method {
            Method::Ask(question) => Some(question.as_ref()),
            Method::Tool
            | Method::Tag
            | Method::NonceTag
            | Method::Field(_)
            | Method::Findings(_)
            | Method::ExitCode(_)
            | Method::Only => None,
        })
    }
}

/// Prompt, provider and expected contents of the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    pub title: String,
    /// Purpose in its author's words; shown to people, never to agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Role for a provider's system slot. Empty if the prompt itself starts with the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Text>,
    /// Short name of the role, for scripts that match by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub prompt: Prompt,
    pub provider: ProviderName,
    /// Program that does the turn. Its prompt is its command line, its provider [`ProgramCommand::PROVIDER`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<ProgramCommand>>,
    /// Model; absent: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub permission: Permission,
    /// Permission in the definition, if a ceiling lowered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_permission: Option<Permission>,
    /// True if it must run in a sandbox (B-1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox_required: bool,
    /// Visible tools; absent: the provider's default; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    pub session: SessionPolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Deadline of all attempts, waits and corrections together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Millis>,
    /// Maximum number of model calls inside the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Estimated price until a first turn is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Usd>,
    /// Required stage outputs. If one is missing, the run fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<(StageId, String)>,
    /// Heading above its output in a combination of several turns.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// Parts to extract from the reply.
    #[serde(default)]
    pub reads: Reads,
}

/// Permission level of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    ReadOnly,
    /// Change files in its working directory.
    Edit {
        /// True to also run commands there without asking.
        commands: bool,
    },
    Full,
}

impl Permission {
    /// All levels, the lowest first.
    pub const ALL: [Self; 4] =
        [Self::ReadOnly, Self::Edit { commands: false }, Self::Edit { commands: true }, Self::Full];

    #[must_use]
    pub fn at_most(self, ceiling: Self) -> Self {
        if self.rank() <= ceiling.rank() { self } else { ceiling }
    }

    fn rank(self) -> u8 {
        match self {
            Self::ReadOnly => 0,
            Self::Edit { commands: false } => 1,
            Self::Edit { commands: true } => 2,
            Self::Full => 3,
        }
    }

    /// Returns the name in settings and environment variables: `readonly`, `edit-only`, `edit`, `full`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readonly",
            Self::Edit { commands: false } => "edit-only",
            Self::Edit { commands: true } => "edit",
            Self::Full => "full",
        }
    }
}

/// Provider session of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPolicy {
    Fresh,
    /// A new one, kept under this key for the turns that continue it.
    Renew(SessionKey),
    /// The last one kept under this key, or a new one if there is none.
    Continue(SessionKey),
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub question: Prompt,
    pub wants: Wants,
    #[serde(default)]
    pub mode: GateMode,
    /// After this time the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

/// Kind of answer that a gate accepts. The labels are `yes`, `no` and `answered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// Yes or no, with or without a text.
    YesNo,
    Text {
        max_chars: u32,
    },
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateMode {
    #[default]
    Person,
    /// Always yes, and recorded as automatic.
    Auto,
    /// A person, also under `--auto`. Only in runs of earlier versions.
    Insists,
}

/// A watched condition and its alarm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    pub watches: Watch,
    pub then: Alarm,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alarm {
    /// Redirect the run there, regardless of the exit.
    Go(Target),
    Hold(LimitReason),
}

/// Stages of the history that do not interrupt a watched cycle.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedStages {
    /// Stages that do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<StageId>,
    /// Stages that count as one while they follow each other. The first one stands for them in the cycle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Vec<StageId>>,
}

impl PassedStages {
    pub fn is_none(&self) -> bool {
        self.ignored.is_empty() && self.groups.is_empty()
    }

    /// Returns the group of a stage.
    pub fn group(&self, stage: &StageId) -> Option<&[StageId]> {
        self.groups.iter().find(|group| group.contains(stage)).map(Vec::as_slice)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// The history ends with these stages, `times` times in a row.
    Cycle {
        stages: Vec<StageId>,
        times: u32,
        /// True to fire only if the exit leads back into the cycle. Otherwise the monitor decides before the exit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        returning: bool,
        #[serde(default, skip_serializing_if = "PassedStages::is_none")]
        passed: PassedStages,
    },
    /// This many rounds in a row published nothing.
    Silent { times: u32 },
    /// One stage repeated the same topic, message and text this many times in a row.
    Same { times: u32 },
    /// One stage led to itself more often than this in a row.
    SelfEntries { times: u32 },
}

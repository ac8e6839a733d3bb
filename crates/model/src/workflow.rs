//! The validated model every definition lowers into; immutable for the whole run.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{
    Action, ActionSpec, BlockUse, Choice, Completion, Exit, Gate, IssueNumber, Limits, Method, Monitor,
    OwnProvider, Place, Proof, Question, Reads, Retry, StageId, Target, Topic, Topics, Turn,
};

/// How work is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    pub entry: StageId,
    /// All stages, in the definition's order.
    pub stages: IndexMap<StageId, Stage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topics: Option<Topics>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Monitor>,
    /// When the work is done.
    pub completion: Completion,
    /// How far a run may go.
    #[serde(default)]
    pub limits: Limits,
    /// What is done about failures.
    #[serde(default)]
    pub retry: Retry,
    /// Where a completed definition goes on: delivery, a review's report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub afterwards: Option<StageId>,
    /// Where what happens is also written down, beside the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogFiles>,
    /// The provider it describes itself, where it asks one that settings need not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<OwnProvider>,
    /// The issue a run is about, where what it does reaches one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueNumber>,
    /// What the engine may still have to say, in the right language.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub words: IndexMap<String, String>,
}

/// Files in which what happens in runs is also written down, one for each run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFiles {
    /// With what their names begin.
    pub name: String,
    pub directory: String,
    pub format: LogFormat,
    /// So many are kept, the newest ones.
    pub keep: u32,
    /// Whether details are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// A JSON object a line.
    Jsonl,
    /// A line of text a line.
    Text,
}

/// A node of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    pub title: String,
    pub does: Activity,
    pub exit: Exit,
    /// How many rounds a visit has.
    #[serde(default)]
    pub rounds: Rounds,
    /// How many visits it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitLimit>,
    /// It stands beside the flow: not in the history, not counted as going elsewhere, its output not carried.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// What it is for, in its author's words; shown to people, never to agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What happens in a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Agents are asked. Only this costs an iteration.
    Turns {
        /// The turns, all asked in one round.
        turns: Vec<Turn>,
        /// How many at the same time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_once: Option<u32>,
        /// What a turn's final failure means.
        on_failure: OnFailure,
        /// What stands between the outputs of several turns.
        #[serde(default)]
        between: String,
    },
    Gate(Gate),
    Action(ActionSpec),
}

/// What the final failure of a turn means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The run waits until somebody resumes it.
    Park,
    /// The failure is the turn's result.
    KeepGoing,
}

/// How many rounds a visit has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// So many before the exit is asked at all.
    pub min: u32,
    /// One more than this is not made.
    pub max: Option<u32>,
    pub too_many: Target,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { min: 1, max: None, too_many: Target::failed("too_many_rounds") }
    }
}

/// How many visits a stage takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitLimit {
    pub max: u32,
    /// Where the first visit too many goes, once; later ones hold the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_instead: Option<StageId>,
    /// What is published with it, its message the topic it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishes: Option<Topic>,
}

/// What is looked for in the reply of a call.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// The reads of a turn.
    Work(&'a Reads),
    /// The answer to a question.
    Answer(&'a Choice, &'a Question),
}

/// A program that a run itself would start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnCommand<'a> {
    /// Its arguments, the program first.
    pub argv: &'a [String],
    /// The file that says so, where the program is no file of the definition's.
    pub written: Option<&'a str>,
}

impl OwnCommand<'_> {
    /// What is run, as one would type it.
    pub fn typed(&self) -> String {
        match self.argv {
            [_, flag, command] if flag == "-c" => command.clone(),
            words => words.join(" "),
        }
    }
}

/// So many stages are looked through one by one.
const FEW: usize = 16;

impl Workflow {
    pub fn stage(&self, id: &StageId) -> Option<&Stage> {
        // Looking through a few names is faster than hashing one, and the engine looks many times a turn.
        if self.stages.len() > FEW {
            return self.stages.get(id);
        }
        self.stages.iter().find(|(name, _)| *name == id).map(|(_, stage)| stage)
    }

    /// What is looked for in the reply of the call at `place` of a stage.
    pub fn wanted(&self, stage: &StageId, place: Place) -> Option<Wanted<'_>> {
        let stage = self.stage(stage)?;
        match place {
            Place::Main(index) => stage.turns().get(index).map(|turn| Wanted::Work(&turn.reads)),
            Place::Check(index) => {
                let choice = stage.turns().get(index)?.reads.choice.as_ref()?;
                choice.question().map(|question| Wanted::Answer(choice, question))
            }
            Place::Exit => {
                let choice = stage.exit.question()?;
                choice.question().map(|question| Wanted::Answer(choice, question))
            }
            Place::Report(_) | Place::Block(_) | Place::Proof(_) | Place::Outside(_) => None,
        }
    }
}

impl Workflow {
    /// Everything a run itself may do.
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

    /// The programs that a run itself would start.
    pub fn commands(&self) -> Vec<OwnCommand<'_>> {
        let commands = self.actions().into_iter().filter_map(|action| match &action.does {
            Action::Command { argv, written, .. } => Some(OwnCommand { argv, written: written.as_deref() }),
            Action::IssueState
            | Action::FileState { .. }
            | Action::SaveReports
            | Action::WriteFile { .. }
            | Action::Log
            | Action::OpenIssue
            | Action::Comment
            | Action::CloseIssue { .. }
            | Action::Worktree
            | Action::Finalize
            | Action::Push
            | Action::PullRequest
            | Action::Checks
            | Action::Merge
            | Action::CleanUp
            | Action::ReviewReport { .. } => None,
        });
        let asked = self.provider.iter().filter(|provider| provider.written.is_some());
        let asked = asked.map(|own| OwnCommand { argv: &own.argv, written: own.written.as_deref() });
        commands.chain(asked).collect()
    }
}

impl Stage {
    /// Its turns; none for gates and actions.
    pub fn turns(&self) -> &[Turn] {
        match &self.does {
            Activity::Turns { turns, .. } => turns,
            Activity::Gate(_) | Activity::Action(_) => &[],
        }
    }

    /// What must be shown before the labels of its turns are gone by.
    pub fn proofs(&self) -> impl Iterator<Item = &Proof> {
        self.turns().iter().flat_map(|turn| &turn.reads.proofs)
    }
}

impl Choice {
    /// The question among its methods.
    pub fn question(&self) -> Option<&Question> {
        self.found_by.iter().find_map(|method| match method {
            Method::Ask(question) => Some(question.as_ref()),
            Method::Tag | Method::Field(_) | Method::Findings(_) => None,
        })
    }
}

//! The validated model of every definition; immutable for the whole run.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{
    Action, ActionSpec, BlockUse, Choice, Completion, Exit, Gate, IssueNumber, Limits, Method, Monitor,
    OwnProvider, Place, Proof, Question, Reads, Retry, StageId, Target, Topic, Topics, Turn,
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
    pub completion: Completion,
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
        Self { min: 1, max: None, too_many: Target::failed("too_many_rounds") }
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
pub enum Wanted<'a> {
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
        match self.argv {
            [_, flag, command] if flag == "-c" => command.clone(),
            words => words.join(" "),
        }
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

    /// Returns the expected contents of the reply at `place` of a stage.
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
    /// Returns its turns; none for gates and actions.
    pub fn turns(&self) -> &[Turn] {
        match &self.does {
            Activity::Turns { turns, .. } => turns,
            Activity::Gate(_) | Activity::Action(_) => &[],
        }
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
            Method::Tag | Method::Field(_) | Method::Findings(_) => None,
        })
    }
}

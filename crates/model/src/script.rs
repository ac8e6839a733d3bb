//! Scripted replies for tests of definitions, and the path they expect.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, Label, Millis, Moment, StageId, TurnId};
use crate::money::{ToolUse, Usage, Usd};

use crate::{FailureClass, Json, ProgramExit};

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// True if a missing reply fails its turn, and an unused one fails the command.
    pub strict: bool,
    /// True for a foreign scenario: replies with a role come first; an exhausted script replies generically.
    pub lenient_roles: bool,
    pub replies: Vec<ScriptReply>,
    /// Task of the recorded run; the default task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Expectation about a run that plays the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// Answers at gates, in place of a person. The first match applies, any number of times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ScriptAnswer>,
    /// True to play it as if a person sat at the terminal; absent: keep the actual state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// Id of the recorded run. Its replies changed the files of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
}

/// A scripted answer at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptAnswer {
    pub gate: StageId,
    /// Visits that it applies to; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<Visits>,
    pub label: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl ScriptAnswer {
    /// Returns true if it applies to a visit of a gate.
    pub fn is_for(&self, gate: &StageId, visit: u32) -> bool {
        self.gate == *gate && self.visits.as_ref().is_none_or(|visits| visits.contains(visit))
    }
}

/// A scripted reply or failure.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptReply {
    /// Position in the script, for messages: `file:line:column`, or `generated`.
    pub origin: String,
    /// Stage or turn that it is for; absent: any.
    pub target: Option<ScriptTarget>,
    /// Role of the turn that it is for.
    pub role: Option<String>,
    /// Visits of the stage that it applies to; absent: any.
    pub visits: Option<Visits>,
    /// Linear-time regular expression that the prompt must match.
    pub prompt: Option<String>,
    pub times: Times,
    pub text: Option<String>,
    /// Structured value; alone it also fills the text.
    pub structured: Option<Json>,
    /// End of the program that the reply replaces; absent: the reply of an agent, or the exit code 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<ProgramExit>,
    pub session: Option<String>,
    pub usage: Usage,
    pub cost: Option<Usd>,
    pub tools_used: Vec<ToolUse>,
    /// Number of model calls; absent: the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Duration on the run's clock.
    pub delay: Option<Millis>,
    pub fail: Option<ScriptFailure>,
    /// True to reply only when stopped.
    pub hang: bool,
    pub writes: Vec<ScriptWrite>,
    pub edits: Vec<ScriptEdit>,
    pub runs: Vec<ScriptRun>,
    /// Pieces of text shown while it runs.
    pub progress: Vec<String>,
}

/// Stage or turn that a scripted reply is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptTarget {
    pub stage: StageId,
    /// Only this turn of the stage.
    pub turn: Option<TurnId>,
    pub judge: bool,
}

/// Visits of a stage that a reply applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visits {
    These(Vec<u32>),
    From(u32),
}

impl Visits {
    pub fn contains(&self, visit: u32) -> bool {
        match self {
            Self::These(list) => list.contains(&visit),
            Self::From(first) => visit >= *first,
        }
    }
}

/// Number of uses of a scripted reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    Exactly(u32),
    Always,
}

impl Default for Times {
    fn default() -> Self {
        Self::Exactly(1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFailure {
    pub class: FailureClass,
    pub message: String,
    pub retry_after: Option<Millis>,
    pub until: Option<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptWrite {
    /// Relative to the working directory.
    pub path: String,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptEdit {
    /// Relative to the working directory.
    pub path: String,
    pub find: String,
    pub replace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptRun {
    /// Arguments, the program first; no shell.
    pub argv: Vec<String>,
    pub exit: i32,
}

/// Expected outcome, path and prompts of a run. Absent fields are not compared.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expectation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<Vec<StageId>>,
    /// Prompts in the order of the calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<ExpectedPrompt>,
}

/// A prompt that must not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedPrompt {
    pub call: CallId,
    /// SHA-256 of the prompt without the directories of the run.
    pub sha256: String,
}

/// A difference from the expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The run had another outcome.
    Outcome {
        expected: String,
        came: String,
    },
    /// The run took another path.
    Stages {
        /// First step that differs, from 1.
        step: usize,
        /// Expected stage; none if the run should have ended.
        expected: Option<StageId>,
        /// Actual stage; none if the run had ended.
        came: Option<StageId>,
    },
    Prompt {
        call: CallId,
    },
}

impl Expectation {
    /// Compares an actual run with this expectation. A call in only one of them does not count separately: the path or
    /// the script's replies show it.
    pub fn differences(&self, came: &Self) -> Vec<Difference> {
        let outcome = match (&self.outcome, &came.outcome) {
            (Some(expected), Some(came)) if expected != came => {
                Some(Difference::Outcome { expected: expected.clone(), came: came.clone() })
            }
            (Some(_) | None, _) => None,
        };
        let stages = match (&self.stages, &came.stages) {
            (Some(expected), Some(came)) => first_difference(expected, came),
            (Some(_) | None, _) => None,
        };
        let prompts = self.prompts.iter().filter(|expected| {
            let same_call = |prompt: &&ExpectedPrompt| prompt.call == expected.call;
            came.prompts.iter().find(same_call).is_some_and(|came| came.sha256 != expected.sha256)
        });
        let prompts = prompts.map(|prompt| Difference::Prompt { call: prompt.call.clone() });
        outcome.into_iter().chain(stages).chain(prompts).collect()
    }
}

fn first_difference(expected: &[StageId], came: &[StageId]) -> Option<Difference> {
    let longest = expected.len().max(came.len());
    let step = (0..longest).find(|step| expected.get(*step) != came.get(*step))?;
    let (expected, came) = (expected.get(step).cloned(), came.get(step).cloned());
    Some(Difference::Stages { step: step + 1, expected, came })
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |stage: &Option<StageId>| {
            stage.as_ref().map_or_else(|| "the end".to_owned(), |stage| format!("`{stage}`"))
        };
        match self {
            Self::Outcome { expected, came } => {
                write!(f, "the run was expected to be `{expected}` and is `{came}`")
            }
            Self::Stages { step, expected, came } => {
                write!(f, "step {step} was expected to be {} and is {}", place(expected), place(came))
            }
            Self::Prompt { call } => write!(f, "the prompt of `{call}` has changed since it was recorded"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(outcome: &str, stages: &[&str], prompts: &[(&str, &str)]) -> Expectation {
        let prompts = prompts.iter().map(|(call, sha256)| ExpectedPrompt {
            call: CallId::parse(call).unwrap(),
            sha256: (*sha256).to_owned(),
        });
        Expectation {
            outcome: Some(outcome.to_owned()),
            stages: Some(stages.iter().map(|stage| StageId::from(*stage)).collect()),
            prompts: prompts.collect(),
        }
    }

    fn check(expected: &Expectation, came: &Expectation, said: &[&str]) {
        let differences = expected.differences(came);
        assert_eq!(differences.iter().map(ToString::to_string).collect::<Vec<_>>(), said);
    }

    // C-75
    #[test]
    fn outcome_path_and_prompts_are_compared_each_for_itself() {
        let expected = expectation("completed", &["plan", "review"], &[("plan.1.1.1", "a")]);
        check(&expected, &expected, &[]);
        let longer = expectation("failed", &["plan", "review", "fix"], &[("plan.1.1.1", "b")]);
        check(
            &expected,
            &longer,
            &[
                "the run was expected to be `completed` and is `failed`",
                "step 3 was expected to be the end and is `fix`",
                "the prompt of `plan.1.1.1` has changed since it was recorded",
            ],
        );
        let shorter = expectation("completed", &["plan"], &[]);
        check(&expected, &shorter, &["step 2 was expected to be `review` and is the end"]);
    }

    #[test]
    fn what_is_left_open_is_not_compared() {
        let came = expectation("failed", &["plan"], &[("plan.1.1.1", "a")]);
        check(&Expectation::default(), &came, &[]);
    }

    #[test]
    fn a_call_is_read_as_it_is_displayed() {
        let call = CallId { stage: "v1.2/x".into(), visit: 3, round: 2, n: 1 };
        assert_eq!(CallId::parse(&call.to_string()), Some(call));
        for junk in ["", "plan", "plan.1.1", ".1.1.1", "plan.0.1.1", "plan.1.x.1"] {
            assert_eq!(CallId::parse(junk), None, "{junk}");
        }
    }
}

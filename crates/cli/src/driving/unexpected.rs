//! Differences between an ended run and its script (C-75).

use saihai::{Finish, LoadedRun, RunDirectory};
use saihai_model::{Difference, StageId};
use serde::Serialize;

use crate::error::{Error, exit};
use crate::terminal::Streams;

/// Unmet expectations and unused replies of a script.
#[derive(Debug, Default, Clone)]
pub(crate) struct Unexpected {
    list: Vec<UnexpectedObject>,
}

/// One difference, as programs see it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct UnexpectedObject {
    kind: Kind,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    came: Option<String>,
    /// True if it is only reported.
    #[serde(skip)]
    lenient: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Outcome,
    Stages,
    Prompt,
    Unused,
}

impl Unexpected {
    /// Compares an ended run with its script.
    pub(super) fn of(finish: &Finish, directory: &RunDirectory) -> Result<Self, Error> {
        let left = finish.accounts.left.iter().map(|left| UnexpectedObject {
            lenient: !finish.accounts.strict,
            ..UnexpectedObject::new(Kind::Unused, left.to_string())
        });
        let mut list: Vec<UnexpectedObject> = left.collect();
        if let Some(expected) = directory.script()?.and_then(|script| script.expect) {
            let differences = expected.differences(&LoadedRun::read(directory)?.expectation()?);
            list.extend(differences.into_iter().map(UnexpectedObject::of));
        }
        Ok(Self { list })
    }

    /// Returns the command's exit code, given the run's own `code`.
    pub(super) fn exit(&self, code: u8) -> u8 {
        if self.list.iter().any(|one| !one.lenient) { code.max(exit::FAILED) } else { code }
    }

    /// Prints all differences for a person.
    pub(super) fn complain(&self, streams: &mut Streams) {
        for one in &self.list {
            if one.lenient {
                streams.warning(&one.message);
            } else {
                streams.error(&one.message, &[]);
            }
        }
    }

    pub(super) fn list(&self) -> &[UnexpectedObject] {
        &self.list
    }
}

impl UnexpectedObject {
    fn new(kind: Kind, message: String) -> Self {
        Self { kind, message, call: None, step: None, expected: None, came: None, lenient: false }
    }

    fn of(difference: Difference) -> Self {
        let message = difference.to_string();
        let stage = |stage: Option<StageId>| stage.map(|stage| stage.to_string());
        match difference {
            Difference::Outcome { expected, came } => {
                Self { expected: Some(expected), came: Some(came), ..Self::new(Kind::Outcome, message) }
            }
            Difference::Stages { step, expected, came } => Self {
                step: Some(step),
                expected: stage(expected),
                came: stage(came),
                ..Self::new(Kind::Stages, message)
            },
            Difference::Prompt { call } => {
                Self { call: Some(call.to_string()), ..Self::new(Kind::Prompt, message) }
            }
        }
    }
}

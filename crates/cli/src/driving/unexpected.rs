//! How a run that has ended differs from what its script expects (C-75).

use saihai::{Finish, LoadedRun, RunDirectory};
use saihai_model::{Difference, StageId};
use serde::Serialize;

use crate::error::{Error, exit};
use crate::terminal::Streams;

/// What a script expected and did not get, and what it still holds.
#[derive(Debug, Default, Clone)]
pub(crate) struct Unexpected {
    list: Vec<UnexpectedObject>,
}

/// One difference, as a program is told it.
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
    /// Whether it is only told of.
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
    /// How a run that has ended differs from what its script expects.
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

    /// The command's exit code, where the run's own is `code`.
    pub(super) fn exit(&self, code: u8) -> u8 {
        if self.list.iter().any(|one| !one.lenient) { code.max(exit::FAILED) } else { code }
    }

    /// Says all of it to a person.
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

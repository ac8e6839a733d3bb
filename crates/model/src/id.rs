//! Names of things. Each is a string newtype, so that a stage can never be passed where a turn is meant.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A stage of a workflow.
    StageId
);
name!(
    /// A turn, unique within its stage.
    TurnId
);
name!(
    /// What a decider says, from a closed list: a condition's text, `ok`, `yes`, an action's result.
    Label
);
name!(
    /// The topic of a published event: the one open list.
    Topic
);
name!(
    /// Under which name a provider session is kept and continued.
    SessionKey
);
name!(
    /// A provider by the name it has in the settings.
    ProviderName
);

/// One call: the `n`-th of a round of a visit of a stage. Stable across restarts, so it is also the key under
/// which an outside effect is looked up before it is repeated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId {
    /// The stage it belongs to.
    pub stage: StageId,
    /// Which visit of the stage, from 1.
    pub visit: u32,
    /// Which round of the visit, from 1.
    pub round: u32,
    /// Which call of the round, from 1.
    pub n: u32,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.stage, self.visit, self.round, self.n)
    }
}

impl CallId {
    /// Reads what is displayed: `stage.visit.round.n`. A stage's own name may contain a dot.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(4, '.');
        let mut number = || parts.next()?.parse().ok().filter(|number| *number >= 1);
        let (n, round, visit) = (number()?, number()?, number()?);
        let stage = parts.next().filter(|stage| !stage.is_empty())?;
        Some(Self { stage: stage.into(), visit, round, n })
    }
}

/// Where in a round the result of a call belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The work itself: turn `i`, or 0 for a gate or an action.
    Main(usize),
    /// Saving the reports of turn `i`.
    Report(usize),
    /// The `i`-th action asked for by a block of the reply.
    Block(usize),
    /// The question that labels turn `i`.
    Check(usize),
    /// The question of the stage's exit.
    Exit,
    /// The `i`-th proof of what the stage's turns said.
    Proof(usize),
    /// The `i`-th outside condition of the completion.
    Outside(usize),
}

/// Why an agent is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The work of a turn.
    Work,
    /// The same again, with the violations of the last reply.
    Correction,
    Question,
}

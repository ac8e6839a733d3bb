//! Names, numbers of calls, and times.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

// A name is shared: every decision, draft and view of a run repeats it.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
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
    /// Result of a decision from a closed list: a condition's text, `ok`, `yes`, an action's result.
    Label
);
name!(
    /// The topic of a published event: the one open list.
    Topic
);
name!(
    /// Name under which a provider session is kept and continued.
    SessionKey
);
name!(
    /// Name of a provider in the settings.
    ProviderName
);

/// One call: the `n`-th of a round of a visit of a stage. It is stable across restarts. It is therefore also the lookup
/// key of an outside effect, checked before a repeat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId {
    pub stage: StageId,
    /// Visit of the stage, from 1.
    pub visit: u32,
    /// Round of the visit, from 1.
    pub round: u32,
    /// Call of the round, from 1.
    pub n: u32,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.stage, self.visit, self.round, self.n)
    }
}

impl CallId {
    /// Parses the displayed form `stage.visit.round.n`. A stage's own name may contain a dot.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(4, '.');
        let mut number = || parts.next()?.parse().ok().filter(|number| *number >= 1);
        let (n, round, visit) = (number()?, number()?, number()?);
        let stage = parts.next().filter(|stage| !stage.is_empty())?;
        Some(Self { stage: stage.into(), visit, round, n })
    }
}

/// Place of a call's result in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundPosition {
    /// The work itself: turn `i`, or 0 for a gate or an action.
    Main(usize),
    /// Saving the reports of turn `i`.
    Report(usize),
    /// The `i`-th action that a block of the reply requests.
    Block(usize),
    /// The question that labels turn `i`.
    Check(usize),
    /// The question of the stage's exit.
    Exit,
    /// The `i`-th proof of the labels of the stage's turns.
    Proof(usize),
    /// The `i`-th outside condition of the completion.
    Outside(usize),
}

/// Purpose of a call to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The work of a turn.
    Work,
    /// The same work again, with the violations of the last reply.
    Correction,
    Question,
}

/// Maximum number of task characters in a slug.
const LENGTH: usize = 30;

/// Turns a task into the readable end of a run id. Uses its first 30 characters in lower case. Replaces everything but
/// letters and digits of any script with a single `-`, and trims the ends. Returns `task` if nothing is left.
pub fn slug(task: &str) -> String {
    let mut slug = String::new();
    for character in task.trim().chars().take(LENGTH).flat_map(char::to_lowercase) {
        if character.is_alphanumeric() {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let end = slug.trim_end_matches('-').len();
    slug.truncate(end);
    if slug.is_empty() { "task".to_owned() } else { slug }
}

/// A point in time: milliseconds since 1970 in UTC. It comes only from facts; this crate reads no clock.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(pub u64);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Moment {
    #[must_use]
    pub fn plus(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    /// Creates a duration from whole seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::slug;

    // P-30, case 40
    #[test]
    fn a_slug_keeps_letters_and_digits_of_any_script() {
        let check = |task: &str, expected: &str| assert_eq!(slug(task), expected, "{task:?}");
        check("修正: ログイン画面!", "修正-ログイン画面");
        check("Fix   THE bug -- now", "fix-the-bug-now");
        check("  (a) b/../c  ", "a-b-c");
        check("!!!", "task");
        check("", "task");
        check("Größe ÄNDERN", "größe-ändern");
    }

    // P-30
    #[test]
    fn only_the_first_thirty_characters_count_and_a_cut_leaves_no_dash() {
        assert_eq!(slug(&"あ".repeat(40)), "あ".repeat(30));
        assert_eq!(slug("12345678901234567890123456789 tail"), "12345678901234567890123456789");
    }
}

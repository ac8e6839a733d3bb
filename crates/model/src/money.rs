//! Tokens, money, and the limits of a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{Millis, ProviderName};

use crate::Permission;

/// US dollars in millionths, so that sums are exact and the same on every machine.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    /// Converts an amount in dollars. Returns `None` for a negative, huge or non-numeric amount.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked on the same line"
        )]
        (micros.is_finite() && (0.0..1e15).contains(&micros)).then_some(Self(micros as u64))
    }

    /// Returns the amount in dollars, for display and JSON.
    #[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53 millionths")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.dollars())
    }
}

/// Tokens of one turn. Unknown is absent, never zero.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Part of the input that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Part of the output spent on thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// True if the numbers cover the whole session, because no earlier value was known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cumulative: bool,
}

impl Usage {
    pub fn tokens(&self) -> u64 {
        self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0))
    }
}

/// An actual or estimated cost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    pub usd: Usd,
    pub tokens: u64,
    pub turns: u64,
}

impl Cost {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            usd: Usd(self.usd.0.saturating_add(other.usd.0)),
            tokens: self.tokens.saturating_add(other.tokens),
            turns: self.turns.saturating_add(other.turns),
        }
    }
}

/// Hard upper bounds; absent keys do not bind.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Active time, without waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Millis>,
}

impl Budget {
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    pub fn allows(&self, cost: Cost, driven: Millis) -> bool {
        self.usd.is_none_or(|most| cost.usd <= most)
            && self.tokens.is_none_or(|most| cost.tokens <= most)
            && self.turns.is_none_or(|most| cost.turns <= most)
            && self.time.is_none_or(|most| driven < most)
    }

    /// Returns the budget that is left after a cost.
    #[must_use]
    pub fn less(&self, cost: Cost, driven: Millis) -> Self {
        Self {
            usd: self.usd.map(|most| Usd(most.0.saturating_sub(cost.usd.0))),
            tokens: self.tokens.map(|most| most.saturating_sub(cost.tokens)),
            turns: self.turns.map(|most| most.saturating_sub(cost.turns)),
            time: self.time.map(|most| Millis(most.0.saturating_sub(driven.0))),
        }
    }

    /// Adds an earlier cost to the budget.
    #[must_use]
    pub fn more(&self, cost: Cost, driven: Millis) -> Self {
        Self {
            usd: self.usd.map(|most| Usd(most.0.saturating_add(cost.usd.0))),
            tokens: self.tokens.map(|most| most.saturating_add(cost.tokens)),
            turns: self.turns.map(|most| most.saturating_add(cost.turns)),
            time: self.time.map(|most| Millis(most.0.saturating_add(driven.0))),
        }
    }

    /// Returns the share of the first of `by` parallel users. The first gets the remainder, so that no share is empty
    /// while money is left.
    #[must_use]
    pub fn divided(&self, by: u64) -> Self {
        let by = by.max(1);
        Self {
            usd: self.usd.map(|most| Usd(most.0.div_ceil(by))),
            tokens: self.tokens.map(|most| most.div_ceil(by)),
            turns: self.turns.map(|most| most.div_ceil(by)),
            time: self.time.map(|most| Millis(most.0.div_ceil(by))),
        }
    }

    /// Returns true if nothing is left in some key.
    pub fn is_spent(&self) -> bool {
        self.usd == Some(Usd(0))
            || self.tokens == Some(0)
            || self.turns == Some(0)
            || self.time == Some(Millis(0))
    }

    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        fn least<T: Ord + Copy>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            usd: least(self.usd, other.usd),
            tokens: least(self.tokens, other.tokens),
            turns: least(self.turns, other.turns),
            time: least(self.time, other.time),
        }
    }

    /// Replaces every key that `other` sets.
    #[must_use]
    pub fn replaced_by(&self, other: &Self) -> Self {
        Self {
            usd: other.usd.or(self.usd),
            tokens: other.tokens.or(self.tokens),
            turns: other.turns.or(self.turns),
            time: other.time.or(self.time),
        }
    }
}

/// One use of a tool by an agent.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<crate::Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<crate::Json>,
    #[serde(default)]
    pub duration_ms: u64,
}

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Maximum rounds of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Maximum rounds that the definition cannot raise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_rounds: Option<u32>,
    /// Maximum active time; also stops running calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Millis>,
    /// Maximum silence of an agent; absent means the provider's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Millis>,
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
}

/// Retry policy. The numbers count all attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// For timeouts, dropped connections and server errors.
    pub transient: u32,
    /// For rate limits without a reset time.
    pub rate_limited: u32,
    pub crashed: u32,
    /// True to count both kinds of failures together.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// True to retry an attempt that our own deadline ended.
    pub after_deadline: bool,
    /// Maximum wait for a rate limit.
    pub max_wait: Millis,
    /// True if a used-up quota has a wake-up time.
    pub wait_for_quota: bool,
    /// Provider that takes over when all attempts of another have failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<(ProviderName, ProviderName)>,
    /// Permissions that a fallback provider cannot enforce. It is not asked with such a permission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfit: Vec<(ProviderName, Permission)>,
}

impl Retry {
    /// Default of the setting `retry.short_wait`: a run without `--wait` waits up to this long instead of parking. It
    /// must exceed every wait for a rate limit without a reset time, up to 66 s. Otherwise runs park before the last
    /// attempt and the fallback.
    pub const SHORT_WAIT: Millis = Millis::seconds(90);
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            transient: 4,
            rate_limited: 6,
            crashed: 2,
            together: false,
            after_deadline: true,
            max_wait: Millis::seconds(6 * 3600),
            wait_for_quota: true,
            fallback: Vec::new(),
            unfit: Vec::new(),
        }
    }
}

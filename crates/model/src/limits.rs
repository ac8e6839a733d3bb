//! How far a run may go, and what is done about failures.

use serde::{Deserialize, Serialize};

use crate::{Budget, Millis, Permission, ProviderName};

/// How far a run may go.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Rounds of the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// The same, whatever the definition says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_rounds: Option<u32>,
    /// Time the run is driven; also ends what is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Millis>,
    /// How long an agent may say nothing; absent is as its provider is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Millis>,
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
}

/// What is done about failures. The numbers are attempts in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// For time-outs, dropped connections, server errors.
    pub transient: u32,
    /// For rate limits that name no time.
    pub rate_limited: u32,
    pub crashed: u32,
    /// Whether both kinds of failures count as one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// Whether an attempt that our own deadline ended is tried again.
    pub after_deadline: bool,
    /// The longest wait for a rate limit.
    pub max_wait: Millis,
    /// Whether a used-up quota has a wake-up time.
    pub wait_for_quota: bool,
    /// Who answers when all attempts are spent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<(ProviderName, ProviderName)>,
    /// What a fall-back cannot hold an agent to: with such a permission it is not asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfit: Vec<(ProviderName, Permission)>,
}

impl Retry {
    /// The default of the setting `retry.short_wait`: a run without `--wait` sits out waits up to this length. It must be longer
    /// than each wait for a rate limit that names no time, up to 66 s; else runs park before the last attempt and the fallback.
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

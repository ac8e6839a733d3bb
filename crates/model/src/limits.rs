//! Limits of a run, and its retry policy.

use serde::{Deserialize, Serialize};

use crate::{Budget, Millis, Permission, ProviderName};

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

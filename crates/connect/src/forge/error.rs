//! Errors of a forge.

use std::time::{Duration, SystemTime};

use saihai_model::{IssueNumber, Moment};
use serde::Deserialize;
use serde_json::Value;

use super::transport::{ForgeResponse, ForgeTransportError};

/// An error of a forge, by cause. `what` names the requested thing, `said` is the forge's own message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// It does not exist, or the token may not see it.
    #[error("{what} was not found")]
    NotFound { what: String },
    #[error("no rights for {what}: {said}")]
    NoRights { what: String, said: String },
    #[error("the forge's rate limit is reached")]
    RateLimited {
        /// The time of the next attempt, if the forge names one.
        until: Option<Moment>,
    },
    /// The forge is unreachable, broke off, or is out of order. A change may or may not have happened.
    #[error("{what} failed for now: {said}")]
    Transient { what: String, said: String },
    #[error("the answer about {what} cannot be understood at `{field}`: {said}")]
    Malformed { what: String, field: String, said: String },
    #[error("{what} was refused ({status}): {said}")]
    Refused { what: String, status: u16, said: String },
    /// The head of a pull request is not the expected commit.
    #[error("the head of {what} has moved")]
    HeadMoved { what: String },
    #[error("{0} is a pull request, not an issue")]
    IsPullRequest(IssueNumber),
    #[error("issue {number} was transferred to {to}")]
    Transferred { number: IssueNumber, to: String },
    /// Several things match, but only one can be meant.
    #[error("{what} is ambiguous: {said}")]
    Ambiguous { what: String, said: String },
}

impl ForgeError {
    /// Returns true if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. } | Self::RateLimited { .. })
    }

    pub(super) fn malformed(what: &str, field: &str, said: String) -> Self {
        Self::Malformed { what: what.to_owned(), field: field.to_owned(), said }
    }

    pub(super) fn of_transport(error: ForgeTransportError, what: &str) -> Self {
        let what = what.to_owned();
        match error {
            ForgeTransportError::TooLarge => Self::malformed(&what, ".", "it is too large".to_owned()),
            ForgeTransportError::LeadsTo(to) => Self::Refused {
                what,
                status: 302,
                said: format!("it leads to `{to}`, which is not followed"),
            },
            ForgeTransportError::Connection(said) => Self::Transient { what, said },
        }
    }

    /// Classifies an answer whose status is not a success.
    pub(super) fn of_refusal(response: &ForgeResponse, what: &str) -> Self {
        let what = what.to_owned();
        let message = message(response);
        let said = first_line(&message);
        match response.status.as_u16() {
            404 | 410 => Self::NotFound { what },
            403 if !is_rate_limit(response, &message) => Self::NoRights { what, said },
            403 | 429 => Self::RateLimited { until: retry_time(response, SystemTime::now()) },
            401 => Self::NoRights { what, said },
            408 | 500.. => Self::Transient { what, said },
            status => Self::Refused { what, status, said },
        }
    }
}

#[derive(Deserialize)]
struct RefusalBody {
    message: Option<String>,
    errors: Option<Vec<Value>>,
}

/// Returns the forge's message with its first detail, or the text of its page, or the name of the status.
fn message(response: &ForgeResponse) -> String {
    let body = serde_json::from_slice::<RefusalBody>(&response.body).ok();
    let errors = body.as_ref().and_then(|body| body.errors.as_ref());
    let first = errors.and_then(|errors| errors.first());
    let detail = first.and_then(|one| one["message"].as_str().or_else(|| one["code"].as_str()));
    let text = String::from_utf8_lossy(&response.body);
    let message = body.as_ref().and_then(|body| body.message.as_deref()).unwrap_or_else(|| text.trim());
    let message = match message {
        "" => response.status.canonical_reason().unwrap_or("unknown status"),
        message => message,
    };
    match detail {
        Some(detail) => format!("{message}: {detail}"),
        None => message.to_owned(),
    }
}

fn is_rate_limit(response: &ForgeResponse, message: &str) -> bool {
    let used_up = header(response, "x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
    used_up || header(response, "retry-after").is_some() || message.to_lowercase().contains("rate limit")
}

/// Maximum duration of a rate limit; later times are cut to it.
const LONGEST_LIMIT: Duration = Duration::from_secs(3_600);

/// Returns the time of the next attempt: after some seconds, or at a given time. Ignores a time in the past.
fn retry_time(response: &ForgeResponse, now: SystemTime) -> Option<Moment> {
    let seconds = |name: &str| header(response, name).and_then(|value| value.trim().parse::<u64>().ok());
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let latest = now + LONGEST_LIMIT;
    let after = seconds("retry-after").map(|wait| now.saturating_add(Duration::from_secs(wait)));
    let at = seconds("x-ratelimit-reset").map(Duration::from_secs);
    let moment = after.into_iter().chain(at).find(|moment| *moment > now)?.min(latest);
    u64::try_from(moment.as_millis()).ok().map(Moment)
}

fn header<'a>(response: &'a ForgeResponse, name: &str) -> Option<&'a str> {
    response.headers.get(name)?.to_str().ok()
}

/// Returns the first line, cut to 300 characters: a server's message may be of any length.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control());
    line.take(300).collect()
}

//! Why a forge did not do what it was asked.

use std::time::{Duration, SystemTime};

use octocrab::{Error, GitHubError};
use saihai_model::{IssueNumber, Moment};

use super::wire::Broken;

/// Why a forge did not do what it was asked, by its cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgeError {
    /// It is not there, or we may not know that it is.
    #[error("{what} was not found")]
    NotFound {
        /// What was looked for.
        what: String,
    },
    /// We may not.
    #[error("no rights for {what}: {said}")]
    NoRights {
        /// What was asked for.
        what: String,
        /// In the forge's own words.
        said: String,
    },
    /// Too much was asked for now.
    #[error("the forge's rate limit is reached")]
    RateLimited {
        /// When it can be asked again, where it says so.
        until: Option<Moment>,
    },
    /// It cannot be reached, broke off, or is out of order: later it may do. Whether an effect has happened is open.
    #[error("{what} failed for now: {said}")]
    Transient {
        /// What was asked for.
        what: String,
        /// What went wrong.
        said: String,
    },
    /// The answer is not what such an answer is.
    #[error("the answer about {what} cannot be understood at `{field}`: {said}")]
    Malformed {
        /// What was asked for.
        what: String,
        /// Where in the answer.
        field: String,
        /// What is wrong there.
        said: String,
    },
    /// It understood and refuses.
    #[error("{what} was refused ({status}): {said}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The status of the answer.
        status: u16,
        /// In the forge's own words.
        said: String,
    },
    /// The head of a pull request is not the commit that was meant.
    #[error("the head of {what} has moved")]
    HeadMoved {
        /// Which pull request.
        what: String,
    },
    /// Somebody asked for an issue by the number of a pull request.
    #[error("{0} is a pull request, not an issue")]
    IsPullRequest(IssueNumber),
    /// It is an issue of another repository by now.
    #[error("issue {number} was transferred to {to}")]
    Transferred {
        /// What it was here.
        number: IssueNumber,
        /// What it is there: `other/repo#12`.
        to: String,
    },
    /// More than one thing fits where there can be only one.
    #[error("{what} is ambiguous: {said}")]
    Ambiguous {
        /// What was looked for.
        what: String,
        /// What was found.
        said: String,
    },
}

impl ForgeError {
    /// Whether the same may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Transient { .. } | Self::RateLimited { .. } => true,
            Self::NotFound { .. }
            | Self::NoRights { .. }
            | Self::Malformed { .. }
            | Self::Refused { .. }
            | Self::HeadMoved { .. }
            | Self::IsPullRequest(_)
            | Self::Transferred { .. }
            | Self::Ambiguous { .. } => false,
        }
    }

    /// What an error of the client means, for what was asked.
    pub(super) fn of(error: &Error, what: &str) -> Self {
        let what = what.to_owned();
        match error {
            Error::GitHub { source, .. } => Self::of_answer(source, what, SystemTime::now()),
            Error::Json { source, .. } => {
                Self::Malformed { what, field: source.path().to_string(), said: source.inner().to_string() }
            }
            Error::Service { source, .. } => match source.downcast_ref::<Broken>() {
                Some(Broken::TooLarge) => Self::too_large(what),
                Some(Broken::Elsewhere(to)) => {
                    let said = format!("it leads to `{to}`, which is not followed");
                    Self::Refused { what, status: 302, said }
                }
                Some(Broken::Connection(said)) => Self::Transient { what, said: said.clone() },
                None => Self::Transient { what, said: source.to_string() },
            },
            other => Self::Malformed { what, field: ".".to_owned(), said: first_line(&other.to_string()) },
        }
    }

    fn too_large(what: String) -> Self {
        Self::Malformed { what, field: ".".to_owned(), said: "it is too large".to_owned() }
    }

    fn of_answer(answer: &GitHubError, what: String, now: SystemTime) -> Self {
        let said = first_line(&complaint(answer));
        match answer.status_code.as_u16() {
            404 | 410 => Self::NotFound { what },
            403 | 429 if is_rate_limit(answer) => Self::RateLimited { until: until(answer, now) },
            401 | 403 => Self::NoRights { what, said },
            429 => Self::RateLimited { until: until(answer, now) },
            408 | 500.. => Self::Transient { what, said },
            status => Self::Refused { what, status, said },
        }
    }
}

/// What the forge says, with the first detail it gives.
fn complaint(answer: &GitHubError) -> String {
    let first = answer.errors.iter().flatten().next();
    let detail = first.and_then(|one| one["message"].as_str().or_else(|| one["code"].as_str()));
    match detail {
        Some(detail) => format!("{}: {detail}", answer.message),
        None => answer.message.clone(),
    }
}

fn is_rate_limit(answer: &GitHubError) -> bool {
    let used_up = header(answer, "x-ratelimit-remaining").is_some_and(|left| left.trim() == "0");
    used_up || header(answer, "retry-after").is_some() || answer.message.to_lowercase().contains("rate limit")
}

/// A limit lasts an hour at most; whatever a forge says beyond that is looked at again then.
const LONGEST: Duration = Duration::from_secs(3_600);

/// When it can be asked again: after so many seconds, or at a time of its own. A time that is past says nothing.
fn until(answer: &GitHubError, now: SystemTime) -> Option<Moment> {
    let seconds = |name: &str| header(answer, name).and_then(|value| value.trim().parse::<u64>().ok());
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let latest = now + LONGEST;
    let after = seconds("retry-after").map(|wait| now.saturating_add(Duration::from_secs(wait)));
    let at = seconds("x-ratelimit-reset").map(Duration::from_secs);
    let moment = after.into_iter().chain(at).find(|moment| *moment > now)?.min(latest);
    u64::try_from(moment.as_millis()).ok().map(Moment)
}

fn header<'a>(answer: &'a GitHubError, name: &str) -> Option<&'a str> {
    answer.headers.as_ref()?.get(name)?.to_str().ok()
}

/// A short text on one line: what a server says is as long as it likes.
fn first_line(text: &str) -> String {
    const MOST: usize = 300;
    let line: String = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
    line.chars().take(MOST).collect()
}

//! Sends requests to a forge: one host, a deadline, a size limit, a cache of tagged answers, error classes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};
use saihai_model::{IssueNumber, Moment};
use serde::Deserialize;
use serde_json::Value;

use super::access::{ForgeAccess, ForgeAddress};
use crate::http::client::{client_for, first_line, read_body, redirect_target, root_cause};

/// The largest answer: a page of a hundred issues, each as long as a forge allows.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;
const MOST_REDIRECTS: usize = 5;

/// The reason for a missing or incomplete answer.
#[derive(Debug)]
pub(super) enum ForgeTransportError {
    TooLarge,
    /// A redirect or a page link leads to this address, and we do not follow it.
    LeadsTo(String),
    /// The connection failed, broke, or took too long.
    Connection(String),
}

#[derive(Debug, Clone)]
pub(super) struct ForgeResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

#[derive(Clone)]
pub(super) struct ForgeTransport {
    client: Client,
    pub(super) address: Arc<ForgeAddress>,
    bearer: HeaderValue,
    deadline: Duration,
    answers: Arc<AnswerCache>,
}

impl ForgeTransport {
    pub(super) fn open(access: &ForgeAccess) -> Result<Self, String> {
        // `follow` handles redirects, because it knows the method and the origin.
        let client = client_for(access.address.url(), Policy::none())?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", access.token.secret()))
            .map_err(|error| error.to_string())?;
        bearer.set_sensitive(true);
        Ok(Self {
            client,
            address: Arc::new(access.address.clone()),
            bearer,
            deadline: Duration::from_millis(access.deadline.0),
            answers: Arc::clone(&access.answers),
        })
    }

    /// Sends one request and returns its complete answer. An unchanged answer to a GET comes from the cache.
    pub(super) async fn send(
        &self,
        method: &Method,
        url: &str,
        body: Option<&[u8]>,
    ) -> Result<ForgeResponse, ForgeTransportError> {
        let is_cached = method == Method::GET;
        let tag = if is_cached { self.answers.tag(url) } else { None };
        let limit = self.deadline;
        let answer = tokio::time::timeout(limit, self.follow(method, url, body, tag)).await;
        let answer = answer.unwrap_or_else(|_| {
            Err(ForgeTransportError::Connection(format!("no answer within {} ms", limit.as_millis())))
        })?;
        Ok(if is_cached { self.answers.complete(url, answer) } else { answer })
    }

    /// Follows redirects of a GET within the forge's own origin. The token goes nowhere else.
    async fn follow(
        &self,
        method: &Method,
        url: &str,
        body: Option<&[u8]>,
        tag: Option<HeaderValue>,
    ) -> Result<ForgeResponse, ForgeTransportError> {
        let mut url = Url::parse(url).map_err(|_| ForgeTransportError::LeadsTo(url.to_owned()))?;
        for _ in 0..=MOST_REDIRECTS {
            if !self.address.has_origin_of(&url) {
                return Err(ForgeTransportError::LeadsTo(url.to_string()));
            }
            let mut request = self.client.request(method.clone(), url).header(AUTHORIZATION, &self.bearer);
            if let Some(tag) = &tag {
                request = request.header(IF_NONE_MATCH, tag);
            }
            if let Some(body) = body {
                request = request.header(CONTENT_TYPE, "application/json").body(body.to_vec());
            }
            let response = request.send().await.map_err(broken)?;
            url = match redirect_target(&response) {
                None => return complete(response).await,
                Some(to) if method == Method::GET => to,
                Some(to) => return Err(ForgeTransportError::LeadsTo(to.to_string())),
            };
        }
        Err(ForgeTransportError::LeadsTo("one address after the other".to_owned()))
    }
}

async fn complete(mut response: Response) -> Result<ForgeResponse, ForgeTransportError> {
    let body = read_body(&mut response, LARGEST_ANSWER + 1).await.map_err(broken)?;
    if body.len() > LARGEST_ANSWER {
        return Err(ForgeTransportError::TooLarge);
    }
    let headers = std::mem::take(response.headers_mut());
    Ok(ForgeResponse { status: response.status(), headers, body })
}

fn broken(error: reqwest::Error) -> ForgeTransportError {
    ForgeTransportError::Connection(root_cause(error))
}

/// Maximum number of cached answers, and their maximum total size.
const MOST_CACHED: usize = 1_000;
const MOST_CACHED_BYTES: usize = 64 * 1024 * 1024;

/// Answers by URL. The forge confirms an unchanged answer by its tag, without using the rate limit (I-76).
#[derive(Debug, Default)]
pub(super) struct AnswerCache(Mutex<CachedAnswers>);

#[derive(Debug, Default)]
struct CachedAnswers {
    by_url: HashMap<String, ForgeResponse>,
    bytes: usize,
}

impl AnswerCache {
    fn tag(&self, url: &str) -> Option<HeaderValue> {
        self.lock().by_url.get(url)?.headers.get(ETAG).cloned()
    }

    /// Replaces "not modified" with the cached answer, and caches an answer with a tag.
    fn complete(&self, url: &str, answer: ForgeResponse) -> ForgeResponse {
        let mut cached = self.lock();
        match answer.status {
            StatusCode::NOT_MODIFIED => cached.by_url.get(url).cloned().unwrap_or(answer),
            StatusCode::OK if answer.headers.contains_key(ETAG) => {
                cached.keep(url, answer.clone());
                answer
            }
            _ => answer,
        }
    }

    fn lock(&self) -> MutexGuard<'_, CachedAnswers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedAnswers {
    fn keep(&mut self, url: &str, answer: ForgeResponse) {
        self.bytes += answer.body.len();
        if self.by_url.len() >= MOST_CACHED || self.bytes > MOST_CACHED_BYTES {
            self.by_url.clear();
            self.bytes = answer.body.len();
        }
        if let Some(before) = self.by_url.insert(url.to_owned(), answer) {
            self.bytes -= before.body.len();
        }
    }
}

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
    #[error("cannot parse the answer about {what} at `{field}`: {said}")]
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

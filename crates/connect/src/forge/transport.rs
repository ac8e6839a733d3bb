//! Sends requests to a forge: one host only, a deadline, a size limit, and a cache of tagged answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, StatusCode, Url};

use super::access::{ForgeAccess, ForgeAddress};
use crate::http::client::{client_for, root_cause};

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

fn redirect_target(response: &Response) -> Option<Url> {
    let to = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    response.url().join(to.to_str().ok()?).ok()
}

async fn complete(mut response: Response) -> Result<ForgeResponse, ForgeTransportError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > LARGEST_ANSWER {
            return Err(ForgeTransportError::TooLarge);
        }
        body.extend_from_slice(&chunk);
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

//! One request, and its answer heard to the end.

use std::future::Future;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use saihai_model::{Failure, FailureClass, Millis, Refusal};

use crate::agent::failure;
use crate::http::client::{client_for, root_cause, same_origin};
use crate::http::events::Events;
use crate::http::retry_after::{retry_after, retry_after_ms};
use crate::http::service::Service;
use crate::http::spoken::Heard;
use crate::http::trouble::Trouble;

/// What is read of a refusal.
const COMPLAINT: usize = 64 * 1024;
/// The longest stream (C-52).
const STREAM: u64 = 256 * 1024 * 1024;
/// The most times a request is sent elsewhere.
const REDIRECTS: usize = 5;

/// The way to a service. Dropping what it does closes the connection at once.
pub(super) struct Exchange<'a> {
    service: &'a Service,
    client: Client,
}

impl<'a> Exchange<'a> {
    pub(super) fn open(service: &'a Service) -> Result<Self, Failure> {
        let client = client_for(&service.url, Policy::custom(follow))
            .map_err(|why| failure(FailureClass::Crashed, &format!("cannot set up HTTP: {why}")))?;
        Ok(Self { service, client })
    }

    /// Sends a request and lets the listener hear the answer, until it has heard the end.
    pub(super) async fn hear(
        &self,
        body: Vec<u8>,
        listen: &mut (dyn FnMut(&str) -> Result<Heard, Failure> + Send),
    ) -> Result<(), Refusal> {
        let mut request = self.client.post(self.service.url.clone()).header(CONTENT_TYPE, "application/json");
        for (name, value) in self.service.api.headers(self.key()) {
            request = request.header(name, value);
        }
        let response =
            self.patiently(request.body(body).send()).await?.map_err(|error| self.broken(error))?;
        let mut response = self.accept(response).await?;
        let mut events = Events::default();
        let mut bytes = 0_u64;
        while let Some(chunk) = self.patiently(response.chunk()).await?.map_err(|error| self.broken(error))? {
            bytes = bytes.saturating_add(chunk.len() as u64);
            if bytes > STREAM {
                let message = format!("output limit: a stream of more than {} MiB", STREAM / (1024 * 1024));
                return Err(Failure::new(FailureClass::Crashed, message).into());
            }
            let crashed =
                |error: crate::http::events::TooLong| failure(FailureClass::Crashed, &error.to_string());
            for data in events.feed(&chunk).map_err(crashed)? {
                if listen(&data)? == Heard::End {
                    return Ok(());
                }
            }
        }
        Err(Failure::new(FailureClass::Transient, "the stream ended before the answer was complete").into())
    }

    fn key(&self) -> Option<&str> {
        self.service.key.as_ref().map(|key| key.value.as_str())
    }

    /// The response, if an answer is being streamed in it.
    async fn accept(&self, mut response: Response) -> Result<Response, Refusal> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response).into());
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if status.is_success() && matches!(kind.as_str(), "text/event-stream" | "") {
            return Ok(response);
        }
        let retry_after = wait(response.headers());
        let body = self.complaint(&mut response).await?;
        let failure = match status.is_success() {
            false => Trouble::of_body(&body).with_status(status.as_u16()),
            true if body.contains("\"error\"") && kind == "application/json" => {
                Trouble::of_body(&body).in_stream()
            }
            true => {
                let url = &self.service.url;
                let message = format!(
                    "`{url}` answers with {kind} and not with a stream of events; is `base_url` right?"
                );
                failure(FailureClass::Crashed, &message)
            }
        };
        Err(Refusal { retry_after, ..Refusal::from(failure) })
    }

    fn redirected(&self, response: &Response) -> Failure {
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
        let message =
            format!("HTTP {} to `{to}`, which is not followed; set `base_url`", response.status().as_u16());
        failure(FailureClass::BadRequest, &message)
    }

    /// The beginning of what a server says instead of an answer.
    async fn complaint(&self, response: &mut Response) -> Result<String, Refusal> {
        let mut bytes = Vec::new();
        // A complaint that breaks off is still one.
        while let Ok(Some(chunk)) = self.patiently(response.chunk()).await? {
            bytes.extend_from_slice(&chunk[..chunk.len().min(COMPLAINT - bytes.len())]);
            if bytes.len() == COMPLAINT {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits for the next bytes, but not for ever (C-36).
    async fn patiently<T>(&self, bytes: impl Future<Output = T>) -> Result<T, Failure> {
        let Some(idle) = self.service.settings.idle_timeout else { return Ok(bytes.await) };
        let waited = tokio::time::timeout(Duration::from_millis(idle.0), bytes).await;
        waited.map_err(|_| timed_out(idle))
    }

    fn broken(&self, error: reqwest::Error) -> Failure {
        let host = self.service.url.host_str().unwrap_or_default();
        let what = if error.is_connect() { "cannot be reached" } else { "broke off" };
        failure(FailureClass::Transient, &format!("`{host}` {what}: {}", root_cause(error)))
    }
}

/// The failure of an attempt that took too long.
pub(super) fn timed_out(limit: Millis) -> Failure {
    let failure = Failure::new(FailureClass::Transient, format!("timed out after {} ms", limit.0));
    Failure { by_deadline: true, ..failure }
}

/// A prompt and a key go to the host that the person named, and to no other; and a request stays what it is.
fn follow(attempt: Attempt<'_>) -> Action {
    let keeps_its_body =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let stays = attempt.previous().first().is_some_and(|first| same_origin(first, attempt.url()));
    if keeps_its_body && stays && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn wait(headers: &HeaderMap) -> Option<Millis> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let exact = text("retry-after-ms").and_then(retry_after_ms);
    exact.or_else(|| retry_after(text("retry-after")?, SystemTime::now()))
}

//! One request and its complete answer.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use saihai_model::{Failure, FailureClass, Millis, Refusal};
use serde_json::Value;

use crate::agent::failure;
use crate::http::api::Api;
use crate::http::client::{client_for, root_cause, same_origin};
use crate::http::events::{Events, LONGEST};
use crate::http::retry_after::{retry_after, retry_after_ms};
use crate::http::service::Service;
use crate::http::spoken::Heard;
use crate::http::trouble::Trouble;

/// Maximum length of an error body.
const COMPLAINT: usize = 64 * 1024;
const STREAM: u64 = 256 * 1024 * 1024;
const REDIRECTS: usize = 5;

/// Handles the data of one event.
type Listen<'a> = &'a mut (dyn FnMut(&str) -> Result<Heard, Failure> + Send);

/// The result of a request.
enum Sent {
    Heard,
    /// The answer arrived in one piece, although we asked for a stream.
    HeardWhole,
    /// The server refused the request because it cannot stream.
    CannotStream,
}

enum Accepted {
    Stream(Response),
    Whole(String),
    CannotStream,
}

/// A connection to a service. Dropping its future closes the connection immediately.
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

    /// Sends a request and passes the answer to the listener until its end. `body` builds the request, for a
    /// stream or not.
    pub(super) async fn hear(
        &self,
        body: &(dyn Fn(bool) -> Vec<u8> + Sync),
        listen: Listen<'_>,
    ) -> Result<(), Refusal> {
        let cannot_stream = &self.service.cannot_stream;
        if !cannot_stream.load(Ordering::Relaxed) {
            match self.send(body(true), true, listen).await? {
                Sent::Heard => return Ok(()),
                Sent::HeardWhole => {
                    cannot_stream.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                Sent::CannotStream => cannot_stream.store(true, Ordering::Relaxed),
            }
        }
        self.send(body(false), false, listen).await.map(drop)
    }

    async fn send(&self, body: Vec<u8>, is_streamed: bool, listen: Listen<'_>) -> Result<Sent, Refusal> {
        let mut request = self.client.post(self.service.url.clone()).header(CONTENT_TYPE, "application/json");
        for (name, value) in self.service.api.headers(self.key()) {
            request = request.header(name, value);
        }
        let sending = request.body(body).send();
        // A server that does not stream is silent until the answer is complete.
        let response = if is_streamed { self.patiently(sending).await? } else { sending.await };
        let response = response.map_err(|error| self.broken(error))?;
        match self.accept(response, is_streamed).await? {
            Accepted::Stream(response) => self.hear_stream(response, listen).await.map(|()| Sent::Heard),
            Accepted::CannotStream => Ok(Sent::CannotStream),
            Accepted::Whole(body) => match listen(&body)? {
                Heard::End => Ok(Sent::HeardWhole),
                Heard::More | Heard::MayEnd => Err(self.no_answer("application/json").into()),
            },
        }
    }

    async fn hear_stream(&self, mut response: Response, listen: Listen<'_>) -> Result<(), Refusal> {
        let mut events = Events::default();
        let mut bytes = 0_u64;
        let mut last = Heard::More;
        loop {
            let chunk = match self.patiently(response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                _ if last == Heard::MayEnd => return Ok(()),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(self.broken(error).into()),
                Err(failure) => return Err(failure.into()),
            };
            bytes = bytes.saturating_add(chunk.len() as u64);
            if bytes > STREAM {
                let message = format!("output limit: a stream of more than {} MiB", STREAM / (1024 * 1024));
                return Err(Failure::new(FailureClass::Crashed, message).into());
            }
            let crashed =
                |error: crate::http::events::TooLong| failure(FailureClass::Crashed, &error.to_string());
            for data in events.feed(&chunk).map_err(crashed)? {
                last = listen(&data)?;
                if last == Heard::End {
                    return Ok(());
                }
            }
        }
        Err(Failure::new(FailureClass::Transient, "the stream ended before the answer was complete").into())
    }

    fn key(&self) -> Option<&str> {
        self.service.key.as_ref().map(|key| key.value.as_str())
    }

    /// Returns the response if it contains an answer.
    async fn accept(&self, mut response: Response, is_streamed: bool) -> Result<Accepted, Refusal> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response).into());
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if status.is_success() && matches!(kind.as_str(), "text/event-stream" | "") {
            return Ok(Accepted::Stream(response));
        }
        let retry_after = wait(response.headers());
        let is_whole = status.is_success() && kind == "application/json";
        let body = self.body(&mut response, is_whole, is_streamed).await?;
        let is_openai = self.service.api == Api::Openai;
        let failure = match status.is_success() {
            false if is_openai && is_streamed && refuses_streaming(status, &body) => {
                return Ok(Accepted::CannotStream);
            }
            false => Trouble::of_body(&body).with_status(status.as_u16()),
            true if is_whole && body.contains("\"error\"") && !is_answer(&body) => {
                Trouble::of_body(&body).in_stream()
            }
            true if is_whole => return Ok(Accepted::Whole(body)),
            true => self.no_answer(&kind),
        };
        Err(Refusal { retry_after, ..Refusal::from(failure) })
    }

    fn no_answer(&self, kind: &str) -> Failure {
        let url = &self.service.url;
        let message =
            format!("`{url}` answers with {kind} and not with a stream of events; is `base_url` right?");
        failure(FailureClass::Crashed, &message)
    }

    fn redirected(&self, response: &Response) -> Failure {
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
        let message =
            format!("HTTP {} to `{to}`, which is not followed; set `base_url`", response.status().as_u16());
        failure(FailureClass::BadRequest, &message)
    }

    /// Reads a body that is not a stream: a whole answer, or the start of an error.
    async fn body(
        &self,
        response: &mut Response,
        is_whole: bool,
        is_streamed: bool,
    ) -> Result<String, Refusal> {
        let most = if is_whole { LONGEST } else { COMPLAINT };
        let mut bytes = Vec::new();
        loop {
            let reading = response.chunk();
            let chunk = match if is_streamed { self.patiently(reading).await? } else { reading.await } {
                Ok(Some(chunk)) => chunk,
                Err(error) if is_whole => return Err(self.broken(error).into()),
                // An incomplete error body is still useful.
                Ok(None) | Err(_) => break,
            };
            bytes.extend_from_slice(&chunk[..chunk.len().min(most - bytes.len())]);
            if bytes.len() == most {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits for the next bytes, with a time limit (C-36).
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

/// Returns true if a body has choices. Then it is an answer, even if its text mentions an error.
fn is_answer(body: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|body| body["choices"].is_array())
}

/// Returns true if a server refuses a request because it does not support streaming or its options.
fn refuses_streaming(status: StatusCode, body: &str) -> bool {
    let body = body.to_lowercase().replace("upstream", "");
    matches!(status.as_u16(), 400 | 405 | 406 | 415 | 422 | 501) && body.contains("stream")
}

pub(super) fn timed_out(limit: Millis) -> Failure {
    let failure = Failure::new(FailureClass::Transient, format!("timed out after {} ms", limit.0));
    Failure { by_deadline: true, ..failure }
}

/// Follows a redirect only within the origin that the user named, because requests contain prompts and keys.
/// It refuses a redirect that would drop the body.
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

//! One request and its complete answer, which arrives as a stream of events or in one piece.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode};
use saihai_model::{Failure, FailureClass, Millis, ProviderRefusal};
use serde_json::Value;

use crate::agent::failure;
use crate::api_error::{ApiError, retry_after, wait_of_seconds};
use crate::http::ModelService;
use crate::http::api::ModelApi;
use crate::http::api::StreamState;
use crate::http::client::{client_for, media_type, root_cause, same_origin};

/// Maximum length of an error body.
const COMPLAINT: usize = 64 * 1024;
const STREAM: u64 = 256 * 1024 * 1024;
const REDIRECTS: usize = 5;

/// Handles the data of one event.
type Listen<'a> = &'a mut (dyn FnMut(&str) -> Result<StreamState, Failure> + Send);

/// The result of a request.
enum RequestResult {
    Heard,
    /// The answer arrived in one piece, although we asked for a stream.
    HeardWhole,
    /// The server refused the request because it cannot stream.
    CannotStream,
}

enum AcceptedResponse {
    Stream(Response),
    Whole(String),
    CannotStream,
}

/// A connection to a service. Dropping its future closes the connection immediately.
pub(super) struct ModelExchange<'a> {
    service: &'a ModelService,
    client: Client,
}

impl<'a> ModelExchange<'a> {
    pub(super) fn open(service: &'a ModelService) -> Result<Self, Failure> {
        let client = client_for(&service.url, Policy::custom(follow))
            .map_err(|why| failure(FailureClass::Crashed, &format!("cannot set up HTTP: {why}")))?;
        Ok(Self { service, client })
    }

    /// Sends a request and passes the whole answer to the listener. `body` builds it, for a stream or not.
    pub(super) async fn hear(
        &self,
        body: &(dyn Fn(bool) -> Vec<u8> + Sync),
        listen: Listen<'_>,
    ) -> Result<(), ProviderRefusal> {
        let cannot_stream = &self.service.cannot_stream;
        if !cannot_stream.load(Ordering::Relaxed) {
            match self.send(body(true), true, listen).await? {
                RequestResult::Heard => return Ok(()),
                RequestResult::HeardWhole => {
                    cannot_stream.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                RequestResult::CannotStream => cannot_stream.store(true, Ordering::Relaxed),
            }
        }
        self.send(body(false), false, listen).await.map(drop)
    }

    async fn send(
        &self,
        body: Vec<u8>,
        is_streamed: bool,
        listen: Listen<'_>,
    ) -> Result<RequestResult, ProviderRefusal> {
        let mut request = self.client.post(self.service.url.clone()).header(CONTENT_TYPE, "application/json");
        for (name, value) in self.service.api.headers(self.key()) {
            request = request.header(name, value);
        }
        let sending = request.body(body).send();
        // A server that does not stream is silent until the answer is complete.
        let response = if is_streamed { self.patiently(sending).await? } else { sending.await };
        let response = response.map_err(|error| self.broken(error))?;
        match self.accept(response, is_streamed).await? {
            AcceptedResponse::Stream(response) => {
                self.hear_stream(response, listen).await.map(|()| RequestResult::Heard)
            }
            AcceptedResponse::CannotStream => Ok(RequestResult::CannotStream),
            AcceptedResponse::Whole(body) => match listen(&body)? {
                StreamState::End => Ok(RequestResult::HeardWhole),
                StreamState::More | StreamState::MayEnd => Err(self.no_answer("application/json").into()),
            },
        }
    }

    async fn hear_stream(&self, mut response: Response, listen: Listen<'_>) -> Result<(), ProviderRefusal> {
        let mut events = EventStreamParser::default();
        let mut bytes = 0_u64;
        let mut last = StreamState::More;
        loop {
            let chunk = match self.patiently(response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                _ if last == StreamState::MayEnd => return Ok(()),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(self.broken(error).into()),
                Err(failure) => return Err(failure.into()),
            };
            bytes = bytes.saturating_add(chunk.len() as u64);
            if bytes > STREAM {
                let message = format!("output limit: a stream of more than {} MiB", STREAM / (1024 * 1024));
                return Err(Failure::new(FailureClass::Crashed, message).into());
            }
            let crashed = |error: EventTooLong| failure(FailureClass::Crashed, &error.to_string());
            for data in events.feed(&chunk).map_err(crashed)? {
                last = listen(&data)?;
                if last == StreamState::End {
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
    async fn accept(
        &self,
        mut response: Response,
        is_streamed: bool,
    ) -> Result<AcceptedResponse, ProviderRefusal> {
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirected(&response).into());
        }
        let kind = media_type(&response);
        if status.is_success() && matches!(kind.as_str(), "text/event-stream" | "") {
            return Ok(AcceptedResponse::Stream(response));
        }
        let retry_after = wait(response.headers());
        let is_whole = status.is_success() && kind == "application/json";
        let body = self.body(&mut response, is_whole, is_streamed).await?;
        let is_openai = self.service.api == ModelApi::Openai;
        let failure = match status.is_success() {
            false if is_openai && is_streamed && refuses_streaming(status, &body) => {
                return Ok(AcceptedResponse::CannotStream);
            }
            false => ApiError::of_body(&body).with_status(status.as_u16()),
            true if is_whole && body.contains("\"error\"") && !is_answer(&body) => {
                ApiError::of_body(&body).in_stream()
            }
            true if is_whole => return Ok(AcceptedResponse::Whole(body)),
            true => self.no_answer(&kind),
        };
        Err(ProviderRefusal { retry_after, ..ProviderRefusal::from(failure) })
    }

    fn no_answer(&self, kind: &str) -> Failure {
        let url = &self.service.url;
        let message = format!("`{url}` answers with {kind} instead of a stream of events; check `base_url`");
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
    ) -> Result<String, ProviderRefusal> {
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
    let exact = text("retry-after-ms")
        .and_then(|millis| wait_of_seconds(millis.trim().parse::<f64>().ok()? / 1000.0));
    exact.or_else(|| retry_after(text("retry-after")?, Some(Timestamp::now())))
}

/// Maximum length of an event. Without it, an event without an end would fill the memory.
pub(super) const LONGEST: usize = 8 * 1024 * 1024;

/// A parser of server-sent events. It only reads `data`: the APIs we use repeat the event's type there.
#[derive(Debug, Default)]
pub(super) struct EventStreamParser {
    line: Vec<u8>,
    /// The data of the incomplete event.
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed after it does not end another line.
    returned: bool,
    /// At least one byte was read: a byte order mark is valid only at the start.
    begun: bool,
}

/// An event without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("output limit: one event is longer than {} MiB", LONGEST / (1024 * 1024))]
pub(super) struct EventTooLong;

impl EventStreamParser {
    /// Adds bytes and returns the data of every event that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, EventTooLong> {
        let mut ended = Vec::new();
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                Some(_) | None => (part, None),
            };
            if end == Some(b'\n') && text.is_empty() && std::mem::take(&mut self.returned) {
                continue;
            }
            if self.line.len() + self.data.len() + text.len() > LONGEST {
                return Err(EventTooLong);
            }
            self.line.extend_from_slice(text);
            self.returned = end == Some(b'\r');
            if end.is_some() {
                ended.extend(self.end_line());
            }
        }
        Ok(ended)
    }

    fn end_line(&mut self) -> Option<String> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then(|| String::from_utf8_lossy(&data).into_owned());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[][..],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            // Comments, event names, ids and future fields.
            Some(_) | None => return None,
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(stream: &[u8]) -> Vec<String> {
        EventStreamParser::default().feed(stream).unwrap()
    }

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(all(stream.as_bytes()), expected);
    }

    #[test]
    fn an_event_is_its_data_and_ends_with_an_empty_line() {
        check("data: a\n\ndata:b\n\n", &["a", "b"]);
        check("event: x\nid: 7\n: a comment\ndata: {\"a\":1}\nretry: 3\n\n", &["{\"a\":1}"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check("data\n\ndata:\n\ndata:  two\n\n", &["", "", " two"]);
        check(": ping\n\n\n\nevent: nothing\n\n", &[]);
        check("data: never ends\n", &[]);
        check("database: no\n\ndata\tno: x\n\n", &[]);
    }

    #[test]
    fn lines_may_end_in_any_way_and_begin_with_a_byte_order_mark() {
        check("\u{feff}data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", &["a", "b", "c"]);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
    }

    // C-53
    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(all(b"data: a\xFFb\n\n"), ["a\u{fffd}b"]);
    }

    #[test]
    fn an_event_without_end_is_not_kept() {
        let mut events = EventStreamParser::default();
        events.feed(b"data: ").unwrap();
        let mebibyte = vec![b'x'; 1024 * 1024];
        let fed = (0..100).find(|_| events.feed(&mebibyte).is_err());
        assert_eq!(fed, Some(7));
        let mut lines = EventStreamParser::default();
        let line = [b"data: ", &mebibyte[..], b"\n"].concat();
        assert_eq!((0..100).find(|_| lines.feed(&line).is_err()), Some(7));
        assert_eq!(
            lines.feed(&line).unwrap_err().to_string(),
            "output limit: one event is longer than 8 MiB"
        );
    }

    proptest! {
        // C-81: a network may split a stream anywhere, even inside characters and line ends.
        #[test]
        fn however_a_stream_is_cut_its_events_are_the_same(
            lines in prop::collection::vec(
                ("(data: ?|event: |: |)", "[a計\u{1F600}\u{e9}: ]{0,6}", "(\n|\r\n|\r|\n\n|\r\n\r\n|\r\r)"), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        ) {
            let stream: String = lines.iter().map(|(field, text, end)| format!("{field}{text}{end}")).collect();
            let bytes = stream.as_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let mut events = EventStreamParser::default();
            let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let cut: Vec<String> = pieces.flat_map(|part| events.feed(part).unwrap()).collect();
            prop_assert_eq!(cut, all(bytes));
        }
    }
}

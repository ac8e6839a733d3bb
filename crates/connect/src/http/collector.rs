//! Posts telemetry to a collector: one address, a deadline, a few repeats when the collector asks for them.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use saihai_model::Millis;
use serde::Deserialize;

use crate::api_error::retry_after;
use crate::http::client::{client_for, first_line, read_body, root_cause};

/// Maximum number of times that one body is sent.
const MOST_ATTEMPTS: u32 = 4;
/// Wait before the second attempt, if the collector names none. It doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// A longer wait counts as a refusal.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum size of an answer; the rest is not read.
const LARGEST_ANSWER: usize = 64 * 1024;

/// A collector at one address. The headers can contain credentials, so they appear in no message.
pub struct CollectorClient {
    client: Client,
    url: Url,
    headers: HeaderMap,
    deadline: Duration,
}

/// Data that a collector rejected, although it accepted the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectorReceipt {
    pub rejected: u64,
    /// The collector's reason.
    pub said: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectorError {
    #[error("not the address of a collector: {why}")]
    BadAddress { why: String },
    #[error("the header `{name}` cannot be sent")]
    BadHeader { name: String },
    /// The connection failed or broke.
    #[error("cannot reach the collector: {cause}")]
    Unreachable { cause: String },
    #[error("the collector did not answer within {} ms", .limit.0)]
    TimedOut { limit: Millis },
    #[error("the collector refused the data with status {status}: {said}")]
    Refused { status: u16, said: String },
}

impl CollectorClient {
    pub fn open(url: &str, headers: &[(String, String)], deadline: Millis) -> Result<Self, CollectorError> {
        let bad = |why: String| CollectorError::BadAddress { why };
        let url = Url::parse(url).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("it begins with `{}:` and not with `https:` or `http:`", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("it must not contain a user name or password".to_owned()));
        }
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let refused = || CollectorError::BadHeader { name: name.clone() };
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
            value.set_sensitive(true);
            sent.insert(key, value);
        }
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // A redirect could carry the credentials elsewhere.
        let client =
            client_for(&url, Policy::none()).map_err(|cause| CollectorError::Unreachable { cause })?;
        Ok(Self { client, url, headers: sent, deadline: Duration::from_millis(deadline.0) })
    }

    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Sends a body. Repeats it while the collector says that it is overloaded, for at most half a minute of waiting.
    pub async fn post(&self, body: Vec<u8>) -> Result<CollectorReceipt, CollectorError> {
        let (mut attempt, mut wait) = (1, FIRST_WAIT);
        loop {
            let answer = tokio::time::timeout(self.deadline, self.send(body.clone())).await;
            let answer = answer.map_err(|_| CollectorError::TimedOut { limit: millis(self.deadline) })??;
            if (200..300).contains(&answer.status) {
                return Ok(receipt(&answer.body));
            }
            let pause = answer.retry_after.unwrap_or(wait);
            let is_overloaded = matches!(answer.status, 429 | 502 | 503 | 504);
            if !is_overloaded || attempt == MOST_ATTEMPTS || pause > LONGEST_WAIT {
                return Err(answer.refusal());
            }
            tokio::time::sleep(pause).await;
            (attempt, wait) = (attempt + 1, wait * 2);
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<CollectorAnswer, CollectorError> {
        let broken = |error| CollectorError::Unreachable { cause: root_cause(error) };
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(broken)?;
        let retry_after = wait_of(&response);
        let status = response.status().as_u16();
        let body = read_body(&mut response, LARGEST_ANSWER).await.map_err(broken)?;
        Ok(CollectorAnswer { status, retry_after, body })
    }
}

struct CollectorAnswer {
    status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

#[derive(Deserialize)]
struct RefusalBody {
    message: String,
}

impl CollectorAnswer {
    fn refusal(&self) -> CollectorError {
        let text = String::from_utf8_lossy(&self.body);
        let message = serde_json::from_slice::<RefusalBody>(&self.body).map(|body| body.message);
        let said = first_line(message.as_deref().unwrap_or_else(|_| text.trim()));
        let known = reqwest::StatusCode::from_u16(self.status).ok().and_then(|one| one.canonical_reason());
        let said = if said.is_empty() { known.unwrap_or("no reason given").to_owned() } else { said };
        CollectorError::Refused { status: self.status, said }
    }
}

fn wait_of(response: &Response) -> Option<Duration> {
    let value = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    retry_after(value, Some(Timestamp::now())).map(|Millis(wait)| Duration::from_millis(wait))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SuccessBody {
    partial_success: PartialSuccess,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    rejected_spans: JsonCount,
    rejected_data_points: JsonCount,
    error_message: String,
}

/// A count as a number or, as 64-bit integers of OTLP should be, as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum JsonCount {
    Number(u64),
    Text(String),
}

impl Default for JsonCount {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl JsonCount {
    fn value(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.parse().unwrap_or(0),
        }
    }
}

/// Reads the answer to an accepted request. Collectors may also answer with something else, which says nothing.
fn receipt(body: &[u8]) -> CollectorReceipt {
    let SuccessBody { partial_success: partial } = serde_json::from_slice(body).unwrap_or_default();
    let rejected = partial.rejected_spans.value().saturating_add(partial.rejected_data_points.value());
    CollectorReceipt { rejected, said: first_line(&partial.error_message) }
}

fn millis(length: Duration) -> Millis {
    Millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::loopback_server::{LoopbackServer, Piece, refusal};

    fn client(server: &LoopbackServer, deadline: Millis) -> CollectorClient {
        let headers = [("x-key".to_owned(), "sesame".to_owned())];
        CollectorClient::open(&format!("{}/v1/traces", server.url()), &headers, deadline).unwrap()
    }

    const DEADLINE: Millis = Millis::seconds(20);

    // V-33
    #[tokio::test]
    async fn an_overloaded_collector_is_asked_again() {
        let busy = refusal("429 Too Many Requests", "retry-after: 0\r\n", "{}");
        let done = refusal("200 OK", "", r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"old"}}"#);
        let server = LoopbackServer::start(vec![busy, done]).await;
        let receipt = client(&server, DEADLINE).post(b"{\"a\":1}".to_vec()).await.unwrap();
        assert_eq!(receipt, CollectorReceipt { rejected: 2, said: "old".to_owned() });
        let seen = server.seen();
        assert_eq!(seen.len(), 2);
        for request in seen {
            assert_eq!(request.line, "POST /v1/traces HTTP/1.1");
            assert_eq!((request.header("x-key"), request.body["a"].as_u64()), (Some("sesame"), Some(1)));
            assert_eq!(request.header("content-type"), Some("application/json"));
        }
    }

    // V-33
    #[tokio::test]
    async fn a_refusal_is_final_and_has_the_collectors_words() {
        let server =
            LoopbackServer::start(vec![refusal("400 Bad Request", "", r#"{"message":"no spans"}"#)]).await;
        let error = client(&server, DEADLINE).post(Vec::new()).await.unwrap_err();
        assert_eq!(error, CollectorError::Refused { status: 400, said: "no spans".to_owned() });
        assert_eq!(server.seen().len(), 1);
    }

    // V-33
    #[tokio::test]
    async fn a_long_wait_counts_as_a_refusal() {
        let busy = refusal("503 Service Unavailable", "retry-after: 600\r\n", "");
        let server = LoopbackServer::start(vec![busy]).await;
        let error = client(&server, DEADLINE).post(Vec::new()).await.unwrap_err();
        assert_eq!(error, CollectorError::Refused { status: 503, said: "Service Unavailable".to_owned() });
    }

    // V-32
    #[tokio::test]
    async fn a_collector_that_hangs_is_left() {
        let server = LoopbackServer::start(vec![vec![Piece::Hang]]).await;
        let error = client(&server, Millis(50)).post(Vec::new()).await.unwrap_err();
        assert_eq!(error, CollectorError::TimedOut { limit: Millis(50) });
    }

    // V-33
    #[test]
    fn addresses_and_headers_that_cannot_be_used_are_refused() {
        let open = |url: &str, headers: &[(String, String)]| {
            CollectorClient::open(url, headers, DEADLINE).err().map(|error| error.to_string())
        };
        assert_eq!(open("https://collector:4318/v1/traces", &[]), None);
        for url in ["collector", "grpc://collector", "http://a:b@collector"] {
            assert!(open(url, &[]).is_some(), "{url}");
        }
        let header = [("a\nb".to_owned(), "c".to_owned())];
        assert!(open("http://collector", &header).is_some());
    }
}

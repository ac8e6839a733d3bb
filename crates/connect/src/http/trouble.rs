//! Error responses of a server, and their failure classes (C-32).

use saihai_model::{Failure, FailureClass};
use serde_json::Value;

use crate::agent::failure;

/// An error of the server: the object under `error`, or the value in its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The type, in the server's word.
    kind: String,
    /// The code, as the server's word or number.
    code: String,
    message: String,
}

impl Trouble {
    /// Parses the body of an error response. A body that is not the usual JSON becomes the message.
    pub(super) fn of_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value),
            Err(_) => Self { message: plain(body), ..Self::default() },
        }
    }

    /// Reads an error value: either an object with `error`, or the error itself.
    pub(super) fn of(value: &Value) -> Self {
        let inner = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let word = |field: &str| {
            let text = inner[field].as_str().map(str::to_owned);
            text.or_else(|| inner[field].as_i64().map(|number| number.to_string())).unwrap_or_default()
        };
        let words = || ["message", "detail"].into_iter().map(word).find(|text| !text.is_empty());
        let message = inner.as_str().map(str::to_owned).or_else(words).unwrap_or_default();
        Self { kind: word("type"), code: word("code"), message }
    }

    /// Returns the failure of a response with this status.
    pub(super) fn with_status(&self, status: u16) -> Failure {
        let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|known| known.canonical_reason());
        let said = match reason {
            Some(reason) => format!("HTTP {status} {reason}"),
            None => format!("HTTP {status}"),
        };
        self.failure(self.class_of_status(status), &said)
    }

    /// Returns the failure of a stream that started successfully.
    pub(super) fn in_stream(&self) -> Failure {
        let numbered = self.code.parse().ok().filter(|status| (400..600).contains(status));
        let class = match numbered {
            Some(status) => self.class_of_status(status),
            None => self.class_of_words(),
        };
        let kind = [&self.kind, &self.code].into_iter().find(|word| !word.is_empty());
        self.failure(class, kind.map_or("error in the stream", String::as_str))
    }

    fn failure(&self, class: FailureClass, said: &str) -> Failure {
        if self.message.trim().is_empty() {
            failure(class, said)
        } else {
            failure(class, &format!("{said}: {}", self.message.trim()))
        }
    }

    fn class_of_status(&self, status: u16) -> FailureClass {
        match status {
            401 | 403 => FailureClass::Auth,
            402 => FailureClass::Quota,
            429 if self.is_quota() => FailureClass::Quota,
            429 => FailureClass::RateLimited,
            408 | 409 | 500..=599 => FailureClass::Transient,
            400 | 404 | 413 | 422 => FailureClass::BadRequest,
            _ => FailureClass::Crashed,
        }
    }

    fn class_of_words(&self) -> FailureClass {
        let is = |words: &[&str]| words.iter().any(|word| self.kind == *word || self.code == *word);
        if self.is_quota() {
            FailureClass::Quota
        } else if is(&["rate_limit_error", "rate_limit_exceeded"]) {
            FailureClass::RateLimited
        } else if is(&["authentication_error", "permission_error", "invalid_api_key"]) {
            FailureClass::Auth
        } else if is(&["overloaded_error", "api_error", "timeout_error", "server_error"]) {
            FailureClass::Transient
        } else if is(&[
            "invalid_request_error",
            "not_found_error",
            "request_too_large",
            "context_length_exceeded",
            "exceed_context_size_error",
        ]) {
            FailureClass::BadRequest
        } else {
            FailureClass::Crashed
        }
    }

    fn is_quota(&self) -> bool {
        let marks = ["insufficient_quota", "billing"];
        marks.iter().any(|mark| self.kind.contains(mark) || self.code.contains(mark))
    }
}

/// Returns the text of an HTML page as one line.
fn plain(body: &str) -> String {
    if !body.trim_start().starts_with('<') {
        return body.trim().to_owned();
    }
    let texts = body.split('<').filter_map(|part| part.split_once('>').map(|(_, text)| text.trim()));
    let words: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: &str) {
        let failure = Trouble::of_body(body).with_status(status);
        assert_eq!(format!("{}: {}", failure.class.name(), failure.message), expected);
    }

    // C-32, the rows for HTTP.
    #[test]
    fn every_status_has_its_class() {
        let class = |status| Trouble::default().with_status(status).class.name();
        let all: Vec<_> = [
            400, 401, 402, 403, 404, 405, 408, 409, 413, 418, 422, 429, 500, 502, 503, 504, 529, 599, 302,
            204,
        ]
        .into_iter()
        .map(|status| format!("{status} {}", class(status)))
        .collect();
        insta::assert_snapshot!(all.join("\n"), @"
        400 bad_request
        401 auth
        402 quota
        403 auth
        404 bad_request
        405 crashed
        408 transient
        409 transient
        413 bad_request
        418 crashed
        422 bad_request
        429 rate_limited
        500 transient
        502 transient
        503 transient
        504 transient
        529 transient
        599 transient
        302 crashed
        204 crashed
        ");
    }

    // C-32 and Connections case 41.
    #[test]
    fn too_many_requests_is_a_quota_where_the_server_says_so() {
        check(
            429,
            r#"{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}"#,
            "rate_limited: HTTP 429 Too Many Requests: slow down",
        );
        check(
            429,
            r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "quota: HTTP 429 Too Many Requests: pay",
        );
        check(
            429,
            r#"{"error":{"message":"pay","code":"billing_hard_limit_reached"}}"#,
            "quota: HTTP 429 Too Many Requests: pay",
        );
        check(
            402,
            r#"{"type":"error","error":{"type":"billing_error","message":"pay"}}"#,
            "quota: HTTP 402 Payment Required: pay",
        );
    }

    #[test]
    fn whatever_a_server_sends_is_said_in_a_line() {
        check(401, r#"{"error":"no key"}"#, "auth: HTTP 401 Unauthorized: no key");
        check(422, r#"{"detail":"no model"}"#, "bad_request: HTTP 422 Unprocessable Entity: no model");
        check(
            502,
            "<html><head><title>502</title></head>\n<body><h1>Bad gateway</h1></body></html>",
            "transient: HTTP 502 Bad Gateway: 502 Bad gateway",
        );
        check(500, "", "transient: HTTP 500 Internal Server Error");
        check(529, "[1]", "transient: HTTP 529");
        check(413, "too large\n", "bad_request: HTTP 413 Payload Too Large: too large");
    }

    #[test]
    fn a_long_complaint_is_cut() {
        let failure = Trouble::of_body(&"計".repeat(10_000)).with_status(400);
        assert_eq!(failure.message.chars().count(), 2_002);
    }

    #[test]
    fn an_error_inside_of_a_stream_is_classified_by_its_words_or_its_number() {
        let class = |error: &str| {
            let failure = Trouble::of(&serde_json::from_str(error).unwrap()).in_stream();
            format!("{}: {}", failure.class.name(), failure.message)
        };
        let all = [
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            r#"{"error":{"type":"rate_limit_error","message":"slow"}}"#,
            r#"{"error":{"type":"authentication_error"}}"#,
            r#"{"error":{"type":"billing_error","message":"pay"}}"#,
            r#"{"error":{"code":"context_length_exceeded","message":"long"}}"#,
            r#"{"error":{"code":503,"message":"later","type":"unavailable_error"}}"#,
            r#"{"error":{"code":429,"message":"later"}}"#,
            r#"{"error":{"message":"odd"}}"#,
        ]
        .map(class);
        insta::assert_snapshot!(all.join("\n"), @"
        transient: overloaded_error: Overloaded
        rate_limited: rate_limit_error: slow
        auth: authentication_error
        quota: billing_error: pay
        bad_request: context_length_exceeded: long
        transient: unavailable_error: later
        rate_limited: 429: later
        crashed: error in the stream: odd
        ");
    }
}

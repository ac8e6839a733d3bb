//! Errors of a model's HTTP API (C-32, C-34): sent to us, or passed on by an agent program.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use saihai_model::{Failure, FailureClass, Millis};
use serde_json::Value;

use crate::agent::failure;

/// An error of the server: the object under `error`, or the value in its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// The type, in the server's word.
    kind: String,
    /// The code, as the server's word or number.
    code: String,
    message: String,
}

impl ApiError {
    /// Parses the body of an error response. A body that is not the usual JSON becomes the message.
    pub(crate) fn of_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::of(&value),
            Err(_) => Self { message: plain(body), ..Self::default() },
        }
    }

    /// Reads an error value: either an object with `error`, or the error itself.
    pub(crate) fn of(value: &Value) -> Self {
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
    pub(crate) fn with_status(&self, status: u16) -> Failure {
        let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|known| known.canonical_reason());
        let said = match reason {
            Some(reason) => format!("HTTP {status} {reason}"),
            None => format!("HTTP {status}"),
        };
        self.failure(self.class_of_status(status), &said)
    }

    /// Returns the failure of a stream that started successfully.
    pub(crate) fn in_stream(&self) -> Failure {
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

    /// Returns the class of a status. Only the body distinguishes a quota from a rate limit.
    fn class_of_status(&self, status: u16) -> FailureClass {
        if status == 429 && self.is_quota() { FailureClass::Quota } else { class_of_status(status) }
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

/// Maps an HTTP status to a class (C-32).
pub(crate) fn class_of_status(status: u16) -> FailureClass {
    match status {
        401 | 403 => FailureClass::Auth,
        402 => FailureClass::Quota,
        429 => FailureClass::RateLimited,
        408 | 409 | 500..=599 => FailureClass::Transient,
        400 | 404 | 413 | 422 => FailureClass::BadRequest,
        _ => FailureClass::Crashed,
    }
}

/// Converts a provider's wait in seconds. Nonsense and waits of more than a month count as absent (C-34).
pub(crate) fn wait_of_seconds(seconds: f64) -> Option<Millis> {
    const LONGEST: f64 = 31.0 * 24.0 * 60.0 * 60.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on the same line"
    )]
    (0.0..=LONGEST).contains(&seconds).then(|| Millis((seconds * 1000.0).ceil() as u64))
}

/// Classifies an error that an agent passes on. Without a status the cause is unknown.
pub(crate) fn class_of_passed_on(status: Option<u16>, body: &str) -> FailureClass {
    match status {
        // The agent's own request was refused, so a retry cannot help, regardless of the exact status.
        Some(405 | 406 | 410..=422) => FailureClass::BadRequest,
        Some(status) => ApiError::of_body(body).class_of_status(status),
        None => FailureClass::Crashed,
    }
}

/// Parses `retry-after`: seconds, or a date, which needs the response's time. A past date means now.
pub(crate) fn retry_after(value: &str, now: Option<Timestamp>) -> Option<Millis> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return wait_of_seconds(seconds);
    }
    let wait = http_date(value)?.duration_since(now?);
    wait_of_seconds(wait.as_secs_f64().max(0.0))
}

/// Parses a date of an HTTP header.
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: &str) {
        let failure = ApiError::of_body(body).with_status(status);
        assert_eq!(format!("{}: {}", failure.class.name(), failure.message), expected);
    }

    // C-32, the rows for HTTP.
    #[test]
    fn every_status_has_its_class() {
        let class = |status| ApiError::default().with_status(status).class.name();
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
        let failure = ApiError::of_body(&"計".repeat(10_000)).with_status(400);
        assert_eq!(failure.message.chars().count(), 2_002);
    }

    #[test]
    fn an_error_inside_of_a_stream_is_classified_by_its_words_or_its_number() {
        let class = |error: &str| {
            let failure = ApiError::of(&serde_json::from_str(error).unwrap()).in_stream();
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

    // C-32
    #[test]
    fn an_agent_passes_on_the_status_and_the_body() {
        let check = |status, body, expected| assert_eq!(class_of_passed_on(status, body), expected);
        check(Some(429), "", FailureClass::RateLimited);
        check(Some(429), r#"{"error":{"code":"insufficient_quota"}}"#, FailureClass::Quota);
        check(Some(415), "", FailureClass::BadRequest);
        check(Some(503), "", FailureClass::Transient);
        check(None, "", FailureClass::Crashed);
    }

    /// Checks a value at 08:56:00 on 6 February 2026.
    #[track_caller]
    fn check_wait(value: &str, expected: Option<u64>) {
        let now = Timestamp::from_second(1_770_368_160).ok();
        assert_eq!(retry_after(value, now).map(|wait| wait.0), expected, "{value:?}");
    }

    // C-34
    #[test]
    fn a_wait_is_seconds_or_a_date() {
        check_wait("30", Some(30_000));
        check_wait(" 0 ", Some(0));
        check_wait("1.5", Some(1_500));
        check_wait("Fri, 06 Feb 2026 08:56:07 GMT", Some(7_000));
        check_wait("Fri, 06 Feb 2026 08:00:00 GMT", Some(0));
    }

    // C-34: a negative value, a wait over 31 days or anything but a number counts as absent.
    #[test]
    fn what_is_no_wait_is_not_given() {
        for value in
            ["NaN", "-1", "inf", "-inf", "", "soon", "2678401", "Fri, 06 Mar 2099 08:00:00 GMT", "1e400"]
        {
            check_wait(value, None);
        }
        check_wait("2678400", Some(2_678_400_000));
        assert_eq!(retry_after("Fri, 06 Feb 2026 08:56:07 GMT", None), None);
    }

    // C-34
    #[test]
    fn a_wait_that_makes_no_sense_is_none() {
        let all = [30.0, 0.0, 11.0541, -1.0, f64::NAN, f64::INFINITY, 2_678_401.0].map(wait_of_seconds);
        assert_eq!(
            all,
            [Some(Millis(30_000)), Some(Millis(0)), Some(Millis(11_055)), None, None, None, None]
        );
    }
}

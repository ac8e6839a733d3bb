//! Errors of the model's HTTP API, as an agent passes them on (C-32).

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use saihai_model::{FailureClass, Json, Millis};

use crate::agent::{class_of_status, wait_of_seconds};

/// The known parts of an error response.
#[derive(Debug, Default)]
pub(crate) struct Trouble<'a> {
    pub(crate) status: Option<u16>,
    pub(crate) body: &'a str,
    pub(crate) retry_after: Option<&'a str>,
    /// The `date` header: the time of the response.
    pub(crate) date: Option<&'a str>,
}

/// Classifies an error. Without a status the cause is unknown.
pub(crate) fn class(trouble: &Trouble<'_>) -> FailureClass {
    match trouble.status {
        Some(429) if names_a_quota(trouble.body) => FailureClass::Quota,
        // An agent's own request was refused, so a retry cannot help, regardless of the exact status.
        Some(405 | 406 | 410..=422) => FailureClass::BadRequest,
        Some(status) => class_of_status(status),
        None => FailureClass::Crashed,
    }
}

/// Returns the wait, given in seconds or as a date. Both dates are the server's, so our clock does not matter
/// (C-34).
pub(crate) fn wait(trouble: &Trouble<'_>) -> Option<Millis> {
    let wait = trouble.retry_after?.trim();
    if let Ok(seconds) = wait.parse() {
        return wait_of_seconds(seconds);
    }
    let (until, now) = (date(wait)?, date(trouble.date?)?);
    wait_of_seconds(until.duration_since(now).as_secs_f64())
}

fn date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// Returns true if `error.code` or `error.type` names a used-up quota.
fn names_a_quota(body: &str) -> bool {
    let Ok(body) = serde_json::from_str::<Json>(body) else { return false };
    let named = |key: &str| body["error"][key].as_str().unwrap_or_default();
    let marks = ["insufficient_quota", "billing"];
    marks.iter().any(|mark| named("code").contains(mark) || named("type").contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-34
    #[test]
    fn a_wait_is_given_in_seconds_or_as_a_date() {
        let check = |retry_after, date, expected: Option<u64>| {
            let trouble = Trouble { retry_after, date, ..Trouble::default() };
            assert_eq!(wait(&trouble), expected.map(Millis), "{retry_after:?}");
        };
        let now = Some("Mon, 16 Nov 2026 00:26:04 GMT");
        check(Some("3"), None, Some(3_000));
        check(Some("Mon, 16 Nov 2026 00:27:04 GMT"), now, Some(60_000));
        check(Some("Mon, 16 Nov 2026 00:25:04 GMT"), now, None);
        check(Some("Mon, 16 Nov 2026 00:27:04 GMT"), None, None);
        check(Some("soon"), now, None);
        check(None, now, None);
    }

    // C-32
    #[test]
    fn a_quota_is_told_from_a_rate_limit_by_what_the_body_names() {
        let check = |status, body, expected| {
            let trouble = Trouble { status: Some(status), body, ..Trouble::default() };
            assert_eq!(class(&trouble), expected, "{status} {body}");
        };
        check(429, "", FailureClass::RateLimited);
        check(429, r#"{"error":{"code":"rate_limit_exceeded"}}"#, FailureClass::RateLimited);
        check(429, r#"{"error":{"code":"insufficient_quota"}}"#, FailureClass::Quota);
        check(429, r#"{"error":{"type":"billing_hard_limit_reached","code":null}}"#, FailureClass::Quota);
        check(402, "", FailureClass::Quota);
        check(415, "", FailureClass::BadRequest);
        check(503, "", FailureClass::Transient);
        assert_eq!(class(&Trouble::default()), FailureClass::Crashed);
    }
}

//! The meaning of Codex's error messages. It has no error codes, only sentences (C-32).

use std::sync::LazyLock;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};
use regex::Regex;
use saihai_model::{FailureClass, Json, Moment};

use crate::agent::class_of_status;

/// Known sentences or parts of sentences. The first match counts.
const SENTENCES: [(&str, FailureClass); 15] = [
    ("no rollout found for thread id", FailureClass::SessionLost),
    ("Missing environment variable", FailureClass::Auth),
    ("Quota exceeded", FailureClass::Quota),
    ("hit your usage limit", FailureClass::Quota),
    ("insufficient_quota", FailureClass::Quota),
    ("rate limit exceeded", FailureClass::RateLimited),
    ("ran out of room in the model's context window", FailureClass::BadRequest),
    ("input_too_large", FailureClass::BadRequest),
    ("invalid_request_error", FailureClass::BadRequest),
    ("unexpected argument", FailureClass::BadRequest),
    ("content_filter", FailureClass::Refused),
    ("high demand", FailureClass::Transient),
    ("at capacity", FailureClass::Transient),
    ("stream disconnected", FailureClass::Transient),
    ("error sending request", FailureClass::Transient),
];

pub(super) fn class(message: &str) -> Option<FailureClass> {
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:unexpected status|last status:) (\d{3})").expect("the expression is a constant")
    });
    static NO_MODEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\bmodel\b.*(?:does not exist|is not supported)")
            .expect("the expression is a constant")
    });
    let sentence = SENTENCES.iter().find(|(part, _)| message.contains(part)).map(|(_, class)| *class);
    let status = || STATUS.captures(message)?.get(1)?.as_str().parse().ok().map(class_of_status);
    sentence.or_else(status).or_else(|| {
        let is_refused = is_body(message) || NO_MODEL.is_match(message);
        is_refused.then_some(FailureClass::BadRequest)
    })
}

/// Returns true if a message is only a response body. Codex reports status 400 this way, without the number.
fn is_body(message: &str) -> bool {
    serde_json::from_str::<Json>(message).is_ok_and(|body| body.is_object())
}

/// Reads the wait in a message: `try again in 11.054s`.
pub(super) fn wait_in_seconds(message: &str) -> Option<f64> {
    static WAIT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"try again in (\d+(?:\.\d+)?) ?(ms|s|seconds?)\b").expect("the expression is a constant")
    });
    let found = WAIT.captures(message)?;
    let number: f64 = found.get(1)?.as_str().parse().ok()?;
    Some(if found.get(2)?.as_str() == "ms" { number / 1000.0 } else { number })
}

/// The limit ends at some point within the named minute.
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// Maximum age of a time of day that means now. An older time of day means tomorrow.
const JUST_PAST: SignedDuration = SignedDuration::from_hours(1);

/// Returns when to try again: `try again at Jan 15th, 2027 8:00 AM`, or only a time of day, in local time.
///
/// Codex cuts off the seconds, so the result is the end of that minute. At its start the limit may still
/// apply.
pub(super) fn until(message: &str, now: &Zoned) -> Option<Moment> {
    static DAY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"try again at (?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}):(\d{2})[ \u{202f}]([AP]M)",
        )
        .expect("the expression is a constant")
    });
    let found = DAY.captures(message)?;
    let number = |index: usize| found.get(index)?.as_str().parse::<i16>().ok();
    let half = if found.get(6)?.as_str() == "PM" { 12 } else { 0 };
    let hour = i8::try_from(number(4)? % 12 + half).ok()?;
    let time = Time::new(hour, i8::try_from(number(5)?).ok()?, 0, 0).ok()?;
    let moment = match found.get(1) {
        Some(month) => {
            let day =
                jiff::civil::Date::new(number(3)?, month_of(month.as_str())?, i8::try_from(number(2)?).ok()?);
            at(day.ok()?.to_datetime(time), now.time_zone())?.checked_add(MINUTE).ok()?
        }
        None => next_time_of_day(time, now)?,
    };
    u64::try_from(moment.as_millisecond()).ok().map(Moment)
}

/// Returns the next end of the named minute. A minute that has just passed means now, so the result is one
/// minute from now. Without a time in the future the engine would wait for an hour.
fn next_time_of_day(time: Time, now: &Zoned) -> Option<Timestamp> {
    let just_past = now.timestamp().checked_sub(JUST_PAST).ok()?;
    // Around midnight, a time that has just passed belongs to yesterday.
    let days = [-1, 0, 1].into_iter().filter_map(|days: i64| now.date().checked_add(days.days()).ok());
    let mut moments =
        days.filter_map(|day| at(day.to_datetime(time), now.time_zone())?.checked_add(MINUTE).ok());
    let moment = moments.find(|moment| *moment > just_past)?;
    Some(if moment > now.timestamp() { moment } else { now.timestamp().checked_add(MINUTE).ok()? })
}

fn at(date: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_timestamp(date).ok()
}

fn month_of(name: &str) -> Option<i8> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let index = MONTHS.iter().position(|month| *month == name)?;
    i8::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-32: Codex drops the status of the provider's answer.
    #[test]
    fn an_unknown_model_is_a_bad_request() {
        let check = |said: &str, expected| assert_eq!(class(said), expected, "{said}");
        let bad = Some(FailureClass::BadRequest);
        check("The model `nope` does not exist", bad);
        check("The model `nope` does not exist or you do not have access to it.", bad);
        check(
            r#"{"detail":"The 'nope' model is not supported when using Codex with a ChatGPT account."}"#,
            bad,
        );
        check(r#"{"error":{"message":"no","type":null}}"#, bad);
        check(r#"{"error":{"code":"insufficient_quota"}}"#, Some(FailureClass::Quota));
        check("unexpected status 404 Not Found: no, url: http://x/v1/responses", bad);
        check("something else", None);
    }

    // C-34
    #[test]
    fn a_wait_is_read_in_seconds() {
        let said = [
            "Rate limit reached. Please try again in 11.054s.",
            "Please try again in 250ms.",
            "try again in 3 seconds",
            "try again in a while",
        ];
        assert_eq!(said.map(wait_in_seconds), [Some(11.054), Some(0.25), Some(3.0), None]);
    }

    // C-34: the named time is local time.
    #[test]
    fn a_time_is_read_by_the_clock_on_the_wall() {
        let now: Zoned = "2026-11-16T09:30:00+09:00[Asia/Tokyo]".parse().unwrap();
        let check = |said: &str, expected: Option<&str>| {
            let expected = expected.map(|time| {
                let time: Timestamp = time.parse().unwrap();
                Moment(u64::try_from(time.as_millisecond()).unwrap())
            });
            assert_eq!(until(said, &now), expected, "{said}");
        };
        check("or try again at Jan 15th, 2027 8:00 AM.", Some("2027-01-14T23:01:00Z"));
        check("try again at 12:05 PM.", Some("2026-11-16T03:06:00Z"));
        check("try again at 12:05 AM.", Some("2026-11-16T15:06:00Z"));
        check("try again at Feb 31st, 2027 8:00 AM.", None);
        check("try again at Foo 1st, 2027 8:00 AM.", None);
        check("try again later.", None);
    }

    // C-34: Codex cuts off the seconds, so a retry at the named time gets the same time again.
    #[test]
    fn a_time_of_day_that_has_just_passed_is_not_tomorrow() {
        let check = |now: &str, said: &str, expected: &str| {
            let now: Zoned = now.parse().unwrap();
            let expected: Timestamp = expected.parse().unwrap();
            let until = until(&format!("try again at {said}."), &now).map(|moment| moment.0);
            assert_eq!(until, u64::try_from(expected.as_millisecond()).ok(), "{said} at {now}");
        };
        check("2026-11-16T09:30:00Z[UTC]", "9:30 AM", "2026-11-16T09:31:00Z");
        check("2026-11-16T09:30:59Z[UTC]", "9:30 AM", "2026-11-16T09:31:00Z");
        check("2026-11-16T09:31:00Z[UTC]", "9:30 AM", "2026-11-16T09:32:00Z");
        check("2026-11-16T10:15:00Z[UTC]", "9:30 AM", "2026-11-16T10:16:00Z");
        check("2026-11-16T10:31:00Z[UTC]", "9:30 AM", "2026-11-17T09:31:00Z");
        check("2026-11-16T00:00:01Z[UTC]", "11:59 PM", "2026-11-16T00:01:01Z");
        check("2026-11-16T23:59:30Z[UTC]", "12:10 AM", "2026-11-17T00:11:00Z");
    }
}

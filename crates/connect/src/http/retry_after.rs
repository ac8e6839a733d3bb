//! The wait that a server asks for.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use saihai_model::Millis;

/// Maximum wait; a longer one counts as absent (C-34).
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);

/// Parses `retry-after`: seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Millis> {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(seconds) => wait(Duration::try_from_secs_f64(seconds).ok()?),
        Err(_) => {
            let at = DateTimeParser::new().parse_timestamp(value).ok()?;
            let now = Timestamp::try_from(now).ok()?;
            // A time in the past means now.
            wait(at.duration_since(now).try_into().unwrap_or_default())
        }
    }
}

/// Parses `retry-after-ms`, which some servers send in addition.
pub(super) fn retry_after_ms(value: &str) -> Option<Millis> {
    let millis = value.trim().parse::<f64>().ok()?;
    wait(Duration::try_from_secs_f64(millis / 1000.0).ok()?)
}

fn wait(length: Duration) -> Option<Millis> {
    if length > LONGEST {
        return None;
    }
    // Round up: a retry that is slightly too early is refused again.
    u64::try_from(length.as_micros().div_ceil(1000)).ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a value at 08:56:00 on 6 February 2026.
    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_368_160);
        assert_eq!(retry_after(value, now).map(|wait| wait.0), expected, "{value:?}");
    }

    // C-34
    #[test]
    fn a_wait_is_seconds_or_a_date() {
        check("30", Some(30_000));
        check(" 0 ", Some(0));
        check("1.5", Some(1_500));
        check("Fri, 06 Feb 2026 08:56:07 GMT", Some(7_000));
        check("Fri, 06 Feb 2026 08:00:00 GMT", Some(0));
    }

    // C-34: a negative value, a wait over 31 days or anything but a number counts as absent.
    #[test]
    fn what_is_no_wait_is_not_given() {
        for value in
            ["NaN", "-1", "inf", "-inf", "", "soon", "2678401", "Fri, 06 Mar 2099 08:00:00 GMT", "1e400"]
        {
            check(value, None);
        }
        check("2678400", Some(2_678_400_000));
    }

    #[test]
    fn milliseconds_are_read_where_a_server_sends_them() {
        assert_eq!(retry_after_ms("1200"), Some(Millis(1200)));
        assert_eq!(retry_after_ms("-3"), None);
        assert_eq!(retry_after_ms("x"), None);
    }
}

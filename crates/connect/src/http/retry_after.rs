//! When a server wants to be asked again.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use saihai_model::Millis;

/// What is longer is no answer to "when": it counts as not given (C-34).
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);

/// Reads the value of `retry-after`: seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Millis> {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(seconds) => wait(Duration::try_from_secs_f64(seconds).ok()?),
        Err(_) => {
            let at = DateTimeParser::new().parse_timestamp(value).ok()?;
            let now = Timestamp::try_from(now).ok()?;
            // What lies behind us means now.
            wait(at.duration_since(now).try_into().unwrap_or_default())
        }
    }
}

/// Reads the value of `retry-after-ms`, which some servers send beside it.
pub(super) fn retry_after_ms(value: &str) -> Option<Millis> {
    let millis = value.trim().parse::<f64>().ok()?;
    wait(Duration::try_from_secs_f64(millis / 1000.0).ok()?)
}

fn wait(length: Duration) -> Option<Millis> {
    if length > LONGEST {
        return None;
    }
    // Rounded up: a wait that is a little too short is a second refusal.
    u64::try_from(length.as_micros().div_ceil(1000)).ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen at 08:56:00 on 6 February 2026.
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

    // C-34: not a number, negative or over 31 days is not given.
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

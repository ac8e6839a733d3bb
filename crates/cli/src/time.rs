//! Formatting of times and durations, for programs and people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use saihai_model::{Millis, Moment};

/// Formats a time for programs: RFC 3339 in UTC, with milliseconds.
pub(crate) fn rfc3339(moment: Moment) -> String {
    format!("{:.3}", timestamp(moment))
}

/// Formats a date and time for people, in the local time zone.
pub(crate) fn local(moment: Moment) -> String {
    format(moment, TimeZone::system(), "%Y-%m-%d %H:%M:%S")
}

/// Formats a time of day for people, in the local time zone.
pub(crate) fn local_clock(moment: Moment) -> String {
    format(moment, TimeZone::system(), "%H:%M:%S")
}

/// Formats a future time for people. Includes the date only on another day.
pub(crate) fn local_until(moment: Moment, now: Moment) -> String {
    until(moment, now, &TimeZone::system())
}

/// Returns the wall clock time, which serves only for display.
pub(crate) fn now() -> Moment {
    Moment(u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0))
}

/// Formats a duration: `850 ms`, `12 s`, `3 m 05 s`, `2 h 10 m`.
pub(crate) fn length(millis: Millis) -> String {
    let seconds = millis.0 / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{} ms", millis.0),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} m {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} m"),
    }
}

/// Formats a duration like a stopwatch: `0:07`, `12:40`, `1:02:03`.
pub(crate) fn stopwatch(millis: Millis) -> String {
    let seconds = millis.0 / 1000;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

fn timestamp(moment: Moment) -> Timestamp {
    let millis = i64::try_from(moment.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

fn format(moment: Moment, zone: TimeZone, pattern: &str) -> String {
    timestamp(moment).to_zoned(zone).strftime(pattern).to_string()
}

fn until(moment: Moment, now: Moment, zone: &TimeZone) -> String {
    let day = |moment| timestamp(moment).to_zoned(zone.clone()).date();
    let pattern = if day(moment) == day(now) { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    format(moment, zone.clone(), pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Moment = Moment(1_770_368_160_123);

    #[test]
    fn programs_get_utc_with_milliseconds() {
        assert_eq!(rfc3339(MOMENT), "2026-02-06T08:56:00.123Z");
        assert_eq!(rfc3339(Moment(1_770_368_160_000)), "2026-02-06T08:56:00.000Z");
        // No value causes a panic.
        assert_eq!(rfc3339(Moment(u64::MAX)), "9999-12-30T22:00:00.999Z");
    }

    #[test]
    fn people_get_their_own_time_and_the_date_only_when_it_differs() {
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        assert_eq!(format(MOMENT, tokyo.clone(), "%H:%M:%S"), "17:56:00");
        assert_eq!(until(MOMENT.plus(Millis::seconds(3600)), MOMENT, &tokyo), "18:56:00");
        assert_eq!(until(MOMENT.plus(Millis::seconds(8 * 3600)), MOMENT, &tokyo), "2026-02-07 01:56:00");
    }

    #[test]
    fn lengths_read_well_at_every_size() {
        let all = [0, 850, 12_400, 185_000, 7_800_000].map(|millis| length(Millis(millis)));
        assert_eq!(all, ["0 ms", "850 ms", "12 s", "3 m 05 s", "2 h 10 m"]);
        let all = [7_000, 760_000, 3_723_000].map(|millis| stopwatch(Millis(millis)));
        assert_eq!(all, ["0:07", "12:40", "1:02:03"]);
    }
}

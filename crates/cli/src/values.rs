//! Parsers for flag values.

use saihai_model::{Budget, IssueNumber, Millis};

pub(crate) fn iterations(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err("write a whole number from 1 to 100000".to_owned()),
    }
}

pub(crate) fn issue(text: &str) -> Result<IssueNumber, String> {
    IssueNumber::parse(text).ok_or_else(|| "write the number of an issue, from 1 to 999999999".to_owned())
}

pub(crate) fn pull_request(text: &str) -> Result<u64, String> {
    match text.trim_start_matches('#').parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write the number of a pull request, from 1".to_owned()),
    }
}

pub(crate) fn event(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write the number of an event, as `saihai log` shows it".to_owned()),
    }
}

/// Parses a duration: `90s`, `30m`, `2h`, or whole seconds. Zero is useless as a limit and rejected.
pub(crate) fn duration(text: &str) -> Result<Millis, String> {
    match saihai_config::parse_duration(text) {
        Ok(Millis(0)) => Err("it must be longer than nothing".to_owned()),
        Ok(length) => Ok(length),
        Err(bad) => Err(bad.to_string()),
    }
}

/// Parses `--set`: a name, `=`, and any value.
pub(crate) fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Parses `--budget`: any of the four keys, each at most once.
pub(crate) fn budget(text: &str) -> Result<Budget, String> {
    saihai_config::parse_budget(text).map_err(|bad| bad.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // K-6
    #[test]
    fn durations_are_seconds_minutes_hours_or_a_bare_number_of_seconds() {
        assert_eq!(duration("90s"), Ok(Millis(90_000)));
        assert_eq!(duration("30m"), Ok(Millis(1_800_000)));
        assert_eq!(duration("2h"), Ok(Millis(7_200_000)));
        assert_eq!(duration("45"), Ok(Millis(45_000)));
        for junk in
            ["", "s", "0", "0s", "-1", "+1", "1.5h", "2 h", "2d", "１s", "99999999999999999999", "m30"]
        {
            assert!(duration(junk).is_err(), "{junk}");
        }
    }

    // S-12, case 39
    #[test]
    fn a_value_may_hold_anything_behind_the_first_equals_sign() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(setting("customer=Sato"), pair("customer", "Sato"));
        assert_eq!(setting("customer=a=b"), pair("customer", "a=b"));
        assert_eq!(setting("customer="), pair("customer", ""));
        for junk in ["", "customer", "=x"] {
            assert!(setting(junk).is_err(), "{junk}");
        }
    }

    #[test]
    fn iterations_are_one_to_a_hundred_thousand() {
        assert_eq!(iterations("1"), Ok(1));
        assert_eq!(iterations("100000"), Ok(100_000));
        for junk in ["0", "100001", "-1", "x", ""] {
            assert!(iterations(junk).is_err(), "{junk}");
        }
    }
}

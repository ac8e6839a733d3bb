//! Values of flags that are more than a text or a number.

use saihai_model::{Budget, Millis, Usd};

/// Reads `--max-iterations`.
pub(crate) fn iterations(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err("write a whole number from 1 to 100000".to_owned()),
    }
}

/// Reads the number of an event.
pub(crate) fn event(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write the number of an event, as `saihai log` shows it".to_owned()),
    }
}

/// Reads a length of time: `90s`, `30m`, `2h`, or whole seconds; none at all makes no sense as a limit.
pub(crate) fn duration(text: &str) -> Result<Millis, String> {
    match saihai_config::parse_duration(text) {
        Ok(Millis(0)) => Err("it must be longer than nothing".to_owned()),
        Ok(length) => Ok(length),
        Err(bad) => Err(bad.to_string()),
    }
}

/// Reads `--budget`: any of the four keys, each once.
pub(crate) fn budget(text: &str) -> Result<Budget, String> {
    let mut budget = Budget::default();
    for part in text.split(',') {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            format!(
                "`{part}` names no key; write `usd=5`, `tokens=2000000`, `turns=40` or `minutes=90`, joined by commas"
            )
        })?;
        let seen = match key.trim() {
            "usd" => budget.usd.replace(dollars(value)?).is_some(),
            "tokens" => budget.tokens.replace(count(value)?).is_some(),
            "turns" => budget.turns.replace(count(value)?).is_some(),
            "minutes" => budget.time.replace(minutes(value)?).is_some(),
            other => {
                return Err(format!("`{other}` is none of the keys `usd`, `tokens`, `turns` and `minutes`"));
            }
        };
        if seen {
            return Err(format!("`{}` is given twice", key.trim()));
        }
    }
    Ok(budget)
}

fn dollars(value: &str) -> Result<Usd, String> {
    let amount = positive(value)?;
    Usd::from_dollars(amount)
        .filter(|usd| usd.0 > 0)
        .ok_or_else(|| format!("`{value}` is no amount of dollars"))
}

fn count(value: &str) -> Result<u64, String> {
    match value.trim().parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err(format!("`{value}` is not a whole number above 0")),
    }
}

fn minutes(value: &str) -> Result<Millis, String> {
    let millis = (positive(value)? * 60_000.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on the same line"
    )]
    if (1.0..1e15).contains(&millis) {
        Ok(Millis(millis as u64))
    } else {
        Err(format!("`{value}` is too far"))
    }
}

fn positive(value: &str) -> Result<f64, String> {
    match value.trim().parse() {
        Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(number),
        _ => Err(format!("`{value}` is not a number above 0")),
    }
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

    // K-35
    #[test]
    fn a_budget_has_any_of_four_keys() {
        let all = budget("usd=5,tokens=2000000,turns=40,minutes=90").unwrap();
        assert_eq!(
            all,
            Budget {
                usd: Some(Usd(5_000_000)),
                tokens: Some(2_000_000),
                turns: Some(40),
                time: Some(Millis(5_400_000)),
            }
        );
        assert_eq!(budget("usd=0.25").unwrap().usd, Some(Usd(250_000)));
    }

    // K-35, K-case 8
    #[test]
    fn a_budget_that_cannot_be_meant_is_refused_and_the_keys_are_named() {
        insta::assert_snapshot!(budget("5").unwrap_err(), @"`5` names no key; write `usd=5`, `tokens=2000000`, `turns=40` or `minutes=90`, joined by commas");
        insta::assert_snapshot!(budget("euro=5").unwrap_err(), @"`euro` is none of the keys `usd`, `tokens`, `turns` and `minutes`");
        for junk in [
            "",
            "usd=",
            "usd=0",
            "usd=-1",
            "usd=NaN",
            "usd=inf",
            "turns=1.5",
            "turns=0",
            "usd=1,usd=2",
            "usd=1,",
        ] {
            assert!(budget(junk).is_err(), "{junk}");
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

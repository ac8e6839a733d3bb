//! Moments in a journal: `2026-02-06T08:56:00.123Z`, always in this form.
//!
//! Written by hand, because every line has one and a resume must cost little more than reading.

use saihai_model::Moment;

pub(super) const LENGTH: usize = 24;

const MILLIS_OF_DAY: u64 = 86_400_000;
/// Last moment that the form can show: the end of the year 9999.
const LAST: u64 = 253_402_300_799_999;

/// Writes a moment. Clamps later ones to the last moment: a wrong clock must not end a run.
pub(super) fn write(buffer: &mut Vec<u8>, at: Moment) {
    let millis = at.0.min(LAST);
    let (year, month, day) = date(millis / MILLIS_OF_DAY);
    let time = millis % MILLIS_OF_DAY;
    let (seconds, fraction) = (time / 1_000, time % 1_000);
    digits(buffer, year, 4);
    buffer.push(b'-');
    digits(buffer, month, 2);
    buffer.push(b'-');
    digits(buffer, day, 2);
    buffer.push(b'T');
    digits(buffer, seconds / 3_600, 2);
    buffer.push(b':');
    digits(buffer, seconds / 60 % 60, 2);
    buffer.push(b':');
    digits(buffer, seconds % 60, 2);
    buffer.push(b'.');
    digits(buffer, fraction, 3);
    buffer.push(b'Z');
}

/// Parses a moment; returns `None` for any other form.
pub(super) fn read(text: &[u8; LENGTH]) -> Option<Moment> {
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|(at, mark)| text[*at] != *mark) {
        return None;
    }
    let (year, month, day) = (number(&text[..4])?, number(&text[5..7])?, number(&text[8..10])?);
    let (hour, minute, second) = (number(&text[11..13])?, number(&text[14..16])?, number(&text[17..19])?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(Moment(days(year, month, day)? * MILLIS_OF_DAY + seconds * 1_000 + number(&text[20..23])?))
}

fn digits(buffer: &mut Vec<u8>, number: u64, count: u32) {
    for place in (0..count).rev() {
        let digit = number / 10_u64.pow(place) % 10;
        buffer.push(b'0' + u8::try_from(digit).expect("a digit is below ten"));
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

/// Years start in March, so that a leap day is the last day of its year. A cycle has 400 years.
const CYCLE: u64 = 146_097;
/// Days from the start of such a cycle, in March of the year 0, to 1970.
const BEFORE_1970: u64 = 719_468;

fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month > 2 { year } else { year.checked_sub(1)? };
    let (cycle, year) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_cycle = year * 365 + year / 4 - year / 100 + of_year;
    (cycle * CYCLE + of_cycle).checked_sub(BEFORE_1970)
}

fn date(days: u64) -> (u64, u64, u64) {
    let days = days + BEFORE_1970;
    let (cycle, of_cycle) = (days / CYCLE, days % CYCLE);
    let year = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(at: Moment) -> String {
        let mut buffer = Vec::new();
        write(&mut buffer, at);
        String::from_utf8(buffer).unwrap()
    }

    fn back(text: &str) -> Option<Moment> {
        read(text.as_bytes().try_into().unwrap())
    }

    #[test]
    fn moments_beyond_the_calendar_are_written_as_its_last() {
        assert_eq!(written(Moment(u64::MAX)), "9999-12-31T23:59:59.999Z");
        assert_eq!(written(Moment(0)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn what_is_no_moment_is_not_read_as_one() {
        for text in [
            "2026-02-06 08:56:00.123Z",
            "2026-13-06T08:56:00.123Z",
            "2026-02-06T24:56:00.123Z",
            "2026-02-06T08:56:00.12zZ",
            "1969-12-31T23:59:59.999Z",
            "0000-01-01T00:00:00.000Z",
        ] {
            assert_eq!(back(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

        // Compares with jiff.
        #[test]
        fn every_moment_is_written_as_the_calendar_says_and_read_back(millis in 0..253_402_207_200_000_u64) {
            let text = written(Moment(millis));
            let witness = jiff::Timestamp::from_millisecond(i64::try_from(millis).unwrap()).unwrap();
            prop_assert_eq!(&text, &format!("{witness:.3}"));
            prop_assert_eq!(back(&text), Some(Moment(millis)));
        }
    }
}

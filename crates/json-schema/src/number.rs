//! Numbers and equality in JSON Schema: `1` equals `1.0`, and decimals are exact.

use std::cmp::Ordering;

use serde_json::{Number, Value};

struct Decimal {
    mantissa: i128,
    exponent: i32,
}

/// Returns the exact decimal; `None` if it has too many digits.
fn decimal(number: &Number) -> Option<Decimal> {
    let text = number.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mut exponent: i32 = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    while mantissa != 0 && mantissa % 10 == 0 {
        (mantissa, exponent) = (mantissa / 10, exponent + 1);
    }
    Some(Decimal { mantissa, exponent: if mantissa == 0 { 0 } else { exponent } })
}

/// Scales both mantissas to the smaller exponent; `None` on overflow.
fn aligned(one: &Number, other: &Number) -> Option<(i128, i128)> {
    let (one, other) = (decimal(one)?, decimal(other)?);
    let exponent = one.exponent.min(other.exponent);
    let scaled = |number: &Decimal| number.mantissa.checked_mul(power_of_ten(number.exponent - exponent)?);
    Some((scaled(&one)?, scaled(&other)?))
}

pub(crate) fn compare(one: &Number, other: &Number) -> Ordering {
    match aligned(one, other) {
        Some((one, other)) => one.cmp(&other),
        // The numbers differ so much, or are so large, that floating point is exact enough.
        None => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
    }
}

pub(crate) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some(number), Some(of)) = (decimal(number), decimal(of)) else { return false };
    if number.mantissa == 0 {
        return true;
    }
    // Divide digit by digit, because the quotient of `1e300` and `0.1` fits into no integer.
    match u32::try_from(number.exponent - of.exponent) {
        Ok(power) => (0..power).fold(number.mantissa % of.mantissa, |rest, _| rest * 10 % of.mantissa) == 0,
        Err(_) => {
            let divisor =
                power_of_ten(of.exponent - number.exponent).and_then(|power| of.mantissa.checked_mul(power));
            divisor.is_some_and(|divisor| number.mantissa % divisor == 0)
        }
    }
}

fn power_of_ten(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

pub(crate) fn is_integer(value: &Value) -> bool {
    let Value::Number(number) = value else { return false };
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

pub(crate) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, one)| other.get(name).is_some_and(|other| equal(one, other));
            one.len() == other.len() && one.iter().all(same)
        }
        (one, other) => one == other,
    }
}

/// Returns a text that equal values share, to find duplicates without comparing all pairs.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match decimal(number) {
            Some(Decimal { mantissa, exponent }) => format!("{mantissa}e{exponent}"),
            None => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{name:?}:{}", canonical(value));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

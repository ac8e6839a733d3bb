//! Resolves plain scalars by the YAML 1.2 core schema: `yes` and `on` are text, `0777` is 777.

use super::Value;

pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => integer(text).or_else(|| float(text)).unwrap_or_else(|| Value::Text(text.into())),
    }
}

/// Returns the integer value of a text that has the form of an integer.
pub(super) fn integer(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix("0o") {
        return from_radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return from_radix(digits, 16);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Too large for any key. The range check of the key rejects it later.
    Some(text.parse().map_or_else(|_| Value::Float(text.parse().unwrap_or(f64::INFINITY)), Value::Integer))
}

/// Returns the numeric value of a text that has the form of a number.
pub(super) fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(Value::Float(sign * f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    is_decimal(unsigned).then(|| text.parse().map(Value::Float).ok()).flatten()
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_is = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_is
        && exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent)
        })
}

fn from_radix(digits: &str, radix: u32) -> Option<Value> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some(i128::from_str_radix(digits, radix).map_or(Value::Float(f64::INFINITY), Value::Integer))
}

//! Durations in human notation.

use saihai_model::Millis;

use crate::document::{Node, Value};

/// Reason why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    #[error("a duration is written as \"90s\", \"30m\", \"2h\" or a whole number of seconds")]
    Malformed,
    #[error("a duration is at most 100 years")]
    TooLong,
}

/// Parses `90s`, `30m`, `2h` or whole seconds.
pub fn parse_duration(text: &str) -> Result<Millis, BadDuration> {
    let (digits, seconds) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        _ => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadDuration::Malformed);
    }
    let count: u64 = digits.parse().map_err(|_| BadDuration::TooLong)?;
    whole_seconds(count.checked_mul(seconds).ok_or(BadDuration::TooLong)?)
}

/// Parses the duration in a text or integer node.
pub(crate) fn duration_of(node: &Node) -> Option<Result<Millis, BadDuration>> {
    match &node.value {
        Value::Text(text) => Some(parse_duration(text)),
        Value::Integer(seconds) => {
            let seconds = u64::try_from(*seconds).map_err(|_| BadDuration::Malformed);
            Some(seconds.and_then(whole_seconds))
        }
        Value::Null | Value::Bool(_) | Value::Float(_) | Value::Date(_) | Value::List(_) | Value::Map(_) => {
            None
        }
    }
}

fn whole_seconds(seconds: u64) -> Result<Millis, BadDuration> {
    const CENTURY: u64 = 100 * 366 * 24 * 3600;
    if seconds > CENTURY { Err(BadDuration::TooLong) } else { Ok(Millis::seconds(seconds)) }
}

//! Writes readable YAML: multi-line texts as blocks, everything else on one line.

use std::fmt::Write as _;

use saihai_model::Json;

use super::Keys;

/// Writes a list item that is a mapping.
pub(super) fn item(indent: usize, keys: &Keys) -> String {
    let mut text: String = keys.iter().map(|(key, value)| entry(indent + 2, key, value)).collect();
    match text.get_mut(indent..=indent) {
        // The first key shares the line with the dash.
        Some(_) => text.replace_range(indent..=indent, "-"),
        None => text = format!("{:indent$}- {{}}\n", ""),
    }
    text
}

pub(super) fn entry(indent: usize, key: &str, value: &Json) -> String {
    let margin = " ".repeat(indent);
    match value {
        Json::String(text) if is_block(text) => {
            let chomp = if text.ends_with('\n') { "|" } else { "|-" };
            let lines = text
                .lines()
                .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{margin}  {line}\n") });
            format!("{margin}{key}: {chomp}\n{}", lines.collect::<String>())
        }
        Json::Array(items) if items.iter().any(Json::is_object) => {
            let items = items.iter().map(|item| format!("{margin}  - {}\n", flow(item)));
            format!("{margin}{key}:\n{}", items.collect::<String>())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            format!("{margin}{key}: {}\n", flow(value))
        }
    }
}

/// Returns true if a block scalar preserves the text byte for byte.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let plain = |character: char| character == '\n' || !needs_escape(character);
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && text.chars().all(plain)
        // YAML may cut or keep whitespace-only lines, depending on their context.
        && body.lines().all(|line| line.is_empty() || !line.trim_matches(' ').is_empty())
}

/// Writes a value on one line.
fn flow(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(bool) => bool.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => scalar(text),
        Json::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Writes a text on one line, quoted unless it is unambiguous.
fn scalar(text: &str) -> String {
    if is_word(text) { text.to_owned() } else { quoted(text) }
}

/// Words that some YAML readers do not treat as text.
const NO_TEXT: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"];

fn is_word(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'#');
    starts && text.bytes().all(rest) && !NO_TEXT.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other if needs_escape(other) => {
                let code = u32::from(other);
                let _ = if code > 0xffff {
                    write!(quoted, "\\U{code:08x}")
                } else {
                    write!(quoted, "\\u{code:04x}")
                };
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns true for characters that a reader may reject, drop or treat as a line break.
fn needs_escape(character: char) -> bool {
    let code = u32::from(character);
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}')
        || code & 0xfffe == 0xfffe
}

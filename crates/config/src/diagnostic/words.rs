//! Building blocks for diagnostic messages.

/// Maximum number of quoted characters in a message.
const SHOWN: usize = 60;

/// Returns the text in backticks, on one line, shortened if long.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(visible).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Returns "`a`", "`a` or `b`", "`a`, `b` or `c`".
pub fn list_of<'a>(words: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let quoted: Vec<String> = words.into_iter().map(quoted).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
    }
}

/// Returns a single-line form of a character. Terminal control characters never pass unescaped.
fn visible(c: char) -> Vec<char> {
    match c {
        '\n' => vec!['\\', 'n'],
        '\t' => vec!['\\', 't'],
        c if steers(c) => vec!['\u{fffd}'],
        c => vec![c],
    }
}

/// Returns true for terminal control characters and bidirectional overrides.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

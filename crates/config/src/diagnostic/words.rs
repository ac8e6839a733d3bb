//! Small pieces of the sentences diagnostics are made of.

/// The most characters of somebody's text that a message repeats.
const SHOWN: usize = 60;

/// A literal in backticks, on one line, cut where it is long.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(visible).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// "`a`", "`a` or `b`", "`a`, `b` or `c`".
pub fn list_of<'a>(words: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let quoted: Vec<String> = words.into_iter().map(quoted).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((end, others)) => format!("{} {last} {end}", others.join(", ")),
    }
}

/// What a character looks like on one line; what would steer a terminal never reaches it.
fn visible(c: char) -> Vec<char> {
    match c {
        '\n' => vec!['\\', 'n'],
        '\t' => vec!['\\', 't'],
        c if steers(c) => vec!['\u{fffd}'],
        c => vec![c],
    }
}

/// Whether a character would steer a terminal, or turn the direction in which text is read.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

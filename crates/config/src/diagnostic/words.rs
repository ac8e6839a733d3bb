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

/// What a character looks like on one line; control characters never reach a terminal.
fn visible(c: char) -> Vec<char> {
    match c {
        '\n' => vec!['\\', 'n'],
        '\t' => vec!['\\', 't'],
        c if c.is_control() => vec!['\u{fffd}'],
        c => vec![c],
    }
}

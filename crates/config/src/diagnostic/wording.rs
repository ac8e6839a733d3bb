//! Building blocks for diagnostic messages, and spelling suggestions.

/// Maximum number of quoted characters in a message.
const SHOWN: usize = 60;

/// Returns the text in backticks, on one line, shortened if long. A path keeps its file name.
pub fn quoted(text: &str) -> String {
    if text.contains('/') && !text.contains(char::is_whitespace) {
        return quoted_path(text);
    }
    let mut shown: String = text.chars().take(SHOWN).flat_map(visible).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Returns the path in backticks, on one line. A long one loses its first directories, never a part of a name.
pub fn quoted_path(path: &str) -> String {
    let shown: String = path.chars().flat_map(visible).collect();
    if shown.chars().count() <= SHOWN {
        return format!("`{shown}`");
    }
    let mut rest = shown.as_str();
    while let Some((_, behind)) = rest.split_once('/').filter(|(_, behind)| !behind.is_empty()) {
        rest = behind;
        if rest.chars().count() + 2 <= SHOWN {
            break;
        }
    }
    format!("`…/{rest}`")
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

/// Maximum length of a word to compare. Comparing longer words is slow and finds no misspelling.
const LONGEST: usize = 100;

/// Returns the closest candidate if it is close enough. The first one wins a tie.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().take(LONGEST + 1).count();
    if length > LONGEST {
        return None;
    }
    let folded = fold(word);
    let near = candidates.into_iter().filter_map(|candidate| {
        #[cfg(test)]
        COMPARED.set(COMPARED.get() + 1);
        let distance = strsim::osa_distance(&folded, &fold(candidate));
        (distance <= allowed(length.min(candidate.chars().count()))).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Returns "did you mean `edit`?" if a candidate is close enough.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// Ignores case and the difference between `-` and `_`.
fn fold(word: &str) -> String {
    word.chars().map(|c| if c == '-' { '_' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Returns the maximum number of edits in a misspelling.
fn allowed(length: usize) -> usize {
    match length {
        0..=2 => 0,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    }
}

#[cfg(test)]
thread_local! {
    /// Number of comparisons in this thread, for tests that limit the work.
    pub(crate) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

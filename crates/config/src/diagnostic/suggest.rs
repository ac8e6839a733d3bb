//! Spelling suggestions.

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

//! The nearest known word to one that was mistyped.

/// Words longer than this are no misspelling of anything, and comparing them would take long.
const LONGEST: usize = 100;

/// The nearest of the candidates, if one is near enough to be what was meant. Of equally near ones the first.
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

/// "did you mean `edit`?", if something is near enough.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean `{near}`?"))
}

/// Case and the choice between `-` and `_` are never what makes two words different.
fn fold(word: &str) -> String {
    word.chars().map(|c| if c == '-' { '_' } else { c }).flat_map(char::to_lowercase).collect()
}

/// How many edits a misspelling may have.
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
    /// How many words this thread has compared, for tests that hold the work down.
    pub(crate) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

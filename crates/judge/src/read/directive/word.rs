//! Words that end a run.

use super::event::{self, Mark};

/// How a closing word stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Directive,
    /// As a part of a sentence.
    InsideSentence,
    /// Where a directive would stand, in another case.
    WrongCase,
}

/// Marks that say "not" without a word: an unchecked box, a cross.
const NEGATIVE_MARKS: [&str; 6] = ["[ ]", "❌", "✗", "✘", "☐", "🚫"];

/// How a word stands in a line that is read (H-44); `None` where it does not occur.
pub(super) fn standing(line: &str, marks: &[Mark<'_>], word: &str, is_last: bool) -> Option<Standing> {
    let alone = line.trim_matches(is_decoration);
    let published = marks.first().filter(|mark| mark.opens_line).and_then(Mark::topic);
    let last = is_last.then(|| last_word(line, word)).flatten();
    if alone == word || published.is_some_and(|taken| taken.topic == word) || last == Some(word) {
        Some(Standing::Directive)
    } else if alone.eq_ignore_ascii_case(word)
        // `Well done.` is prose even where `DONE` closes; nobody writes `loop_complete` by chance.
        || (last.is_some() && word.contains(['_', '-', '.']) && !occurs(line, word))
    {
        Some(Standing::WrongCase)
    } else {
        occurs(line, word).then_some(Standing::InsideSentence)
    }
}

/// Whether a word occurs in a text as a word of its own.
pub(super) fn occurs(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(joins) && !text[at + word.len()..].starts_with(joins))
}

/// The word as a line ends with it, in whatever case, where nothing before it takes it back.
fn last_word<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let said = line.trim_end_matches(is_decoration);
    let (before, last) = said.split_at_checked(said.len().checked_sub(word.len())?)?;
    if !last.eq_ignore_ascii_case(word) {
        return None;
    }
    let separates = |text: &str| text.chars().next_back().is_none_or(|c| c.is_whitespace() || !c.is_ascii());
    let decorated = before.trim_end_matches(|c: char| is_decoration(c) && !c.is_whitespace());
    let stands = separates(before) || separates(decorated) || publishes(before);
    (stands && !is_negated(before)).then_some(last)
}

/// Whether a text ends with `EVENT:` as a word of its own.
fn publishes(text: &str) -> bool {
    event::marks(text).last().is_some_and(|mark| text.ends_with("EVENT:") && mark.rest.is_empty())
}

fn is_negated(text: &str) -> bool {
    let is_negation = |word: &str| {
        let word = word.to_lowercase();
        matches!(word.as_str(), "not" | "cannot" | "never" | "until")
            || word.ends_with("n't")
            || word.ends_with("n’t")
    };
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    ["ない", "まだ"].iter().chain(&NEGATIVE_MARKS).any(|mark| text.contains(mark))
        || words.into_iter().any(is_negation)
}

/// What may stand around a closing word without making it part of a sentence.
fn is_decoration(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '*' | '_' | '`' | '#' | '"' | '\'' | '「' | '」' | '.' | '!' | '。' | '！' | '✅' | '✔' | '🎉'
        )
        // Chooses the coloured form of the sign before it.
        || character == '\u{fe0f}'
}

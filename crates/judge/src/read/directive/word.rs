//! Words that end a run.

use super::event::{self, Mark};

/// Position of a closing word in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Directive,
    InsideSentence,
    /// In the position of a directive, but in another case.
    WrongCase,
}

/// Marks that negate without a word: an unchecked box, a cross.
const NEGATIVE_MARKS: [&str; 6] = ["[ ]", "❌", "✗", "✘", "☐", "🚫"];

/// Classifies a word in a line (H-44); `None` if it does not occur.
pub(super) fn standing(line: &str, marks: &[Mark<'_>], word: &str, is_last: bool) -> Option<Standing> {
    let alone = line.trim_matches(is_decoration);
    let published = marks.first().filter(|mark| mark.opens_line).and_then(Mark::topic);
    let last = is_last.then(|| last_word(line, word)).flatten();
    if alone == word || published.is_some_and(|taken| taken.topic == word) || last == Some(word) {
        Some(Standing::Directive)
    } else if alone.eq_ignore_ascii_case(word)
        // `Well done.` is prose even if `DONE` closes, but `loop_complete` never occurs by chance.
        || (last.is_some() && word.contains(['_', '-', '.']) && !occurs(line, word))
    {
        Some(Standing::WrongCase)
    } else {
        occurs(line, word).then_some(Standing::InsideSentence)
    }
}

/// Returns true if a text contains a word as a word of its own.
pub(super) fn occurs(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(at, _)| !text[..at].ends_with(joins) && !text[at + word.len()..].starts_with(joins))
}

/// Returns the word at the end of a line, in any case, unless the text before it negates it.
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

/// Returns true if a text ends with `EVENT:` as a word of its own.
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

/// Returns true for characters that may surround a closing word without making it part of a sentence.
fn is_decoration(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '*' | '_' | '`' | '#' | '"' | '\'' | '「' | '」' | '.' | '!' | '。' | '！' | '✅' | '✔' | '🎉'
        )
        // Variation selector for the coloured form of the previous sign.
        || character == '\u{fe0f}'
}

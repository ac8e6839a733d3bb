//! Texts without which an expression cannot be found. Looking for these first costs a fraction of a search, and in most
//! texts it is all there is to do.

use super::ast::{Flagged, Flags, Part};

/// The most texts that are looked for at once: more are found no faster than the expression itself.
const MOST: usize = 16;

/// Texts one of which stands in everything that an expression takes. Nothing where there are none, or too many.
pub(super) fn necessary(part: &Flagged) -> Option<Vec<String>> {
    match &part.part {
        Part::Literal(_) => letter(part).map(|letter| vec![letter.to_string()]),
        Part::Sequence(parts) => sequence(parts),
        Part::Either(parts) => {
            let each: Option<Vec<Vec<String>>> = parts.iter().map(necessary).collect();
            each.map(|each| each.concat()).filter(|all| all.len() <= MOST)
        }
        Part::Capture(_, inner) | Part::Atomic(inner) => necessary(inner),
        Part::Repeat { inner, least, .. } => necessary(inner).filter(|_| *least > 0),
        Part::Any
        | Part::Class { .. }
        | Part::At(_)
        | Part::Back(_)
        | Part::Look { .. }
        | Part::Conditional { .. } => None,
    }
}

/// The best of what its parts need: letters that stand together are one text.
fn sequence(parts: &[Flagged]) -> Option<Vec<String>> {
    let mut candidates: Vec<Vec<String>> = Vec::new();
    let mut together = String::new();
    for part in parts {
        if let Some(letter) = letter(part) {
            together.push(letter);
            continue;
        }
        if !together.is_empty() {
            candidates.push(vec![std::mem::take(&mut together)]);
        }
        candidates.extend(necessary(part));
    }
    if !together.is_empty() {
        candidates.push(vec![together]);
    }
    candidates.into_iter().max_by_key(|texts| texts.iter().map(String::len).min())
}

/// The one letter that a part takes. Where cases do not matter, letters are several.
fn letter(part: &Flagged) -> Option<char> {
    let Part::Literal(letter) = part.part else { return None };
    let Flags { ignore_case, .. } = part.flags;
    letter.filter(|letter| !ignore_case || letter.is_ascii() && !letter.is_ascii_alphabetic())
}

//! Literal texts that every match contains. Searching for them first is cheap and usually enough to
//! reject a file.

use super::ast::{Flagged, Flags, Part};

/// Maximum number of literals. Searching for more takes as long as the expression itself.
const MOST: usize = 16;

/// Returns literals of which every match contains at least one. Returns `None` if there are none or
/// too many.
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

/// Returns the most selective literals of a sequence. Adjacent letters form one literal.
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

/// Returns the only letter that a part matches. A case-insensitive letter matches several.
fn letter(part: &Flagged) -> Option<char> {
    let Part::Literal(letter) = part.part else { return None };
    let Flags { ignore_case, .. } = part.flags;
    letter.filter(|letter| !ignore_case || letter.is_ascii() && !letter.is_ascii_alphabetic())
}

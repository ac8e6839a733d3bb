//! Limit for work that a pattern does without backtracking.

use super::BadPattern;
use super::ast::{Flagged, Part};

/// Maximum product of nested repeat counts in a backtracking pattern. The search limit counts only
/// backtracks, so rounds that all succeed would run without a limit.
const MOST: u64 = 10_000;

/// Rejects a pattern whose nested repeat counts multiply to more than the limit.
pub(super) fn check(whole: &Flagged) -> Result<(), BadPattern> {
    if rounds(whole) <= MOST {
        return Ok(());
    }
    let why = format!("too large: its counted repeats take more than {MOST} rounds, one inside the other");
    Err(BadPattern::at(0, why)
        .hint("use smaller counts, or none together with look-around, atomic groups and references"))
}

fn rounds(part: &Flagged) -> u64 {
    let inside = part.part.inside().into_iter().map(rounds);
    if matches!(part.part, Part::Sequence(_)) {
        return inside.fold(0, u64::saturating_add);
    }
    let most_inside = inside.max().unwrap_or(1);
    let Part::Repeat { least, most, .. } = &part.part else { return most_inside };
    u64::from(most.unwrap_or(*least).max(1)).saturating_mul(most_inside.max(1))
}

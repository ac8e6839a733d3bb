//! How much work a pattern can ask for without ever going back.

use super::BadPattern;
use super::ast::{Flagged, Part};

/// The most rounds that the counted repeats of a pattern may take, one inside the other, where it is searched for by going
/// back and forth. How often it goes back is counted while it is searched for; rounds that all succeed are not.
const MOST: u64 = 10_000;

/// Refuses a pattern whose counted repeats multiply to more than anybody waits for.
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

//! Match widths of parts, in characters.

use super::BadPattern;
use super::ast::{Flagged, Part};

/// Minimum and maximum number of characters; no maximum if unbounded.
type Width = (u64, Option<u64>);

/// Rejects a look-behind of variable width, as Python does.
pub(super) fn check_behind(whole: &Flagged) -> Result<(), BadPattern> {
    let loose = whole.any(&mut |part| {
        let Part::Look { ahead: false, inner, .. } = &part.part else { return false };
        let (least, most) = Widths { whole }.of(inner, 0);
        most != Some(least)
    });
    if loose { Err(BadPattern::at(0, "look-behind requires fixed-width pattern")) } else { Ok(()) }
}

struct Widths<'p> {
    whole: &'p Flagged,
}

impl Widths<'_> {
    fn of(&self, part: &Flagged, depth: u32) -> Width {
        match &part.part {
            Part::Literal(_) | Part::Any | Part::Class { .. } => (1, Some(1)),
            Part::At(_) | Part::Look { .. } => (0, Some(0)),
            Part::Back(group) => self.of_group(*group, depth),
            Part::Sequence(parts) => {
                let widths = parts.iter().map(|part| self.of(part, depth));
                widths.fold((0, Some(0)), |sum, one| {
                    (sum.0.saturating_add(one.0), both(sum.1, one.1, u64::saturating_add))
                })
            }
            Part::Either(parts) => either(parts.iter().map(|part| self.of(part, depth))),
            Part::Capture(_, inner) | Part::Atomic(inner) => self.of(inner, depth),
            Part::Conditional { yes, no, .. } => {
                let no = no.as_ref().map_or((0, Some(0)), |no| self.of(no, depth));
                either([self.of(yes, depth), no].into_iter())
            }
            Part::Repeat { inner, least, most, .. } => {
                let (low, high) = self.of(inner, depth);
                let most = match (high, most) {
                    (Some(0), _) => Some(0),
                    (high, most) => both(high, most.map(u64::from), u64::saturating_mul),
                };
                (low.saturating_mul(u64::from(*least)), most)
            }
        }
    }

    /// Groups refer only to groups closed before them, so the recursion ends. The depth limit is a
    /// second guard.
    fn of_group(&self, group: u32, depth: u32) -> Width {
        let mut width = (0, None);
        if depth < 64 {
            self.whole.any(&mut |part| {
                let Part::Capture(number, inner) = &part.part else { return false };
                if *number == group {
                    width = self.of(inner, depth + 1);
                }
                *number == group
            });
        }
        width
    }
}

fn both(one: Option<u64>, other: Option<u64>, with: fn(u64, u64) -> u64) -> Option<u64> {
    Some(with(one?, other?))
}

fn either(widths: impl Iterator<Item = Width>) -> Width {
    widths.reduce(|one, other| (one.0.min(other.0), both(one.1, other.1, u64::max))).unwrap_or((0, Some(0)))
}

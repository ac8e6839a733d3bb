//! Keys of `entryStepMapping`: completion types and their modes (S-8, S-13).

use super::completion::{self, Condition};
use crate::{Cursor, Diagnostics, Located, did_you_mean, quoted};

/// Modes that are not names of completion types.
const MODES: [&str; 2] = ["check_budget", "structured_signal"];

impl Condition {
    /// Returns the mode, which is part of the prompt names in a catalogue.
    pub(super) fn mode(&self) -> Option<&'static str> {
        match self {
            Self::Iterations(_) => Some("iterate"),
            Self::Issue | Self::File { .. } => Some("issue"),
            Self::Keyword { .. } => Some("manual"),
            Self::Checks(_) => Some("check_budget"),
            Self::Signal { .. } => Some("structured_signal"),
            Self::Composite(..) => Some("composite"),
            Self::Phase(_) | Self::Flow { .. } | Self::Custom(_) => None,
        }
    }
}

/// Reports unknown names, because their entries would never apply.
pub(super) fn check(mapping: &[(Located<String>, Cursor<'_>)], diagnostics: &mut Diagnostics) {
    for (name, _) in mapping {
        let known = || completion::names().chain(MODES);
        if known().all(|one| one != name.value) {
            let message = format!("{} is neither a completion type nor a mode", quoted(&name.value));
            let diagnostic = name.error("unknown-key", message).label("no run begins by it");
            diagnostics.push(diagnostic.maybe_hint(did_you_mean(&name.value, known())));
        }
    }
}

//! Transitions after a check (S-39).

use super::tables;
use crate::{Cursor, Diagnostics, Fields, Located, Location, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Transition {
    Complete,
    Step(Located<String>),
    /// Repeats the step up to `at_most` times per visit. Then the run goes to `exhausted`, or fails without
    /// it.
    Retry {
        at_most: u32,
        exhausted: Option<Located<String>>,
    },
}

const RETRIES: u32 = 3;

impl Transition {
    /// Reads a transition. It warns about keys that a stronger key hides.
    pub(super) fn read(value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let fields = Fields::read(value, &tables::TRANSITION, diagnostics)?;
        let on = |name: &str| fields.bool(name).is_some_and(|flag| flag.value);
        let retry = on("retry");
        if !retry {
            for name in ["maxRetries", "onExhausted"] {
                if let Some(at) = fields.key(name) {
                    let message = format!("`{name}` needs `retry`");
                    diagnostics
                        .push(at.error("bad-value", message).hint("add `\"retry\": true`, or remove it"));
                }
            }
        }
        let effective = [
            on("complete").then_some("complete"),
            fields.has("next").then_some("next"),
            fields.has("fallback").then_some("fallback"),
            retry.then_some("retry"),
        ];
        let mut effective = effective.into_iter().flatten();
        let Some(wins) = effective.next() else {
            let message = format!("{} says nothing", quoted(&value.path().tail()));
            let diagnostic = value.error("empty-transition", message).label("nothing in it has an effect");
            let hint = "add one of `complete`, `next`, `fallback` and `retry`";
            diagnostics.push(diagnostic.hint(hint));
            return None;
        };
        for dead in effective {
            report_shadowed(&fields, wins, dead, diagnostics);
        }
        match wins {
            "complete" => Some(Self::Complete),
            "next" => fields.text("next").map(Self::Step),
            "fallback" => fields.text("fallback").map(Self::Step),
            _ => Some(Self::Retry {
                at_most: fields.count("maxRetries").map_or(RETRIES, |count| count.value),
                exhausted: fields.text("onExhausted"),
            }),
        }
    }

    /// Returns the steps in keys that a stronger key hides. They must still exist.
    pub(super) fn hidden(&self, value: &Cursor<'_>) -> Vec<Located<String>> {
        let named = ["next", "fallback", "onExhausted"].into_iter();
        let named = named.filter_map(|name| value.get(name)?.text());
        named.filter(|named| self.steps().is_none_or(|step| step.at != named.at)).collect()
    }

    /// Returns the step it can lead to.
    pub(super) fn steps(&self) -> Option<&Located<String>> {
        match self {
            Self::Complete => None,
            Self::Step(step) => Some(step),
            Self::Retry { exhausted, .. } => exhausted.as_ref(),
        }
    }
}

/// S-9: warns about a key that never has an effect.
fn report_shadowed(fields: &Fields<'_>, wins: &str, dead: &str, diagnostics: &mut Diagnostics) {
    let Some(at): Option<&Location> = fields.key(dead) else { return };
    let message = format!("`{dead}` has no effect beside `{wins}`");
    let diagnostic = at.warning("shadowed", message).label("never followed");
    let hint = match (wins, dead) {
        ("fallback" | "next", "retry") => {
            format!("keep `retry` and name the step in `onExhausted`, or remove `{dead}`")
        }
        _ => format!("remove `{dead}`"),
    };
    diagnostics.push(diagnostic.hint(hint));
}

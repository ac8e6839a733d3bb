//! The issue of a run (S-52, S-60).

use saihai_model::IssueNumber;

use super::completion::{Completion, Condition};
use crate::{Area, Diagnostic, Diagnostics, Options, quoted};

/// Parameter that names the issue if there is no `--issue`.
pub(super) const PARAMETER: &str = "issue";

/// The issue of a run, if known before the start.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Issue(IssueNumber),
    #[default]
    Nothing,
    /// Unknown, because the command only inspects the agent.
    Open,
}

impl About {
    /// Reads the issue from `--issue`, or else from the parameter.
    pub(super) fn read(options: &Options, given: Option<&str>, diagnostics: &mut Diagnostics) -> Self {
        if let Some(number) = options.issue {
            return Self::Issue(number);
        }
        match given.filter(|given| !given.is_empty() && options.starts) {
            Some(given) => match IssueNumber::parse(given) {
                Some(number) => Self::Issue(number),
                None => {
                    let message =
                        format!("the parameter `{PARAMETER}` is no number of an issue: {}", quoted(given));
                    diagnostics.push(Diagnostic::error(Area::Steps.code("bad-parameter"), message));
                    Self::Open
                }
            },
            None if options.starts => Self::Nothing,
            None => Self::Open,
        }
    }

    pub(super) fn number(self) -> Option<IssueNumber> {
        match self {
            Self::Issue(number) => Some(number),
            Self::Nothing | Self::Open => None,
        }
    }

    /// Reports a completion that waits for an issue in a run without one.
    pub(super) fn check(self, own: Option<&Completion>, diagnostics: &mut Diagnostics) {
        let waits = |own: &&Completion| own.all().iter().any(|one| matches!(one, Condition::Issue));
        if let (Self::Nothing, Some(own)) = (self, own.filter(waits)) {
            let message = "the run waits for an issue to be closed, and is about none";
            let diagnostic = own.at.error("missing-parameter", message).label("looks at an issue");
            diagnostics
                .push(diagnostic.hint(format!("add `--issue N`, or give the parameter `{PARAMETER}`")));
        }
    }
}

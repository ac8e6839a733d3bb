//! Channels of a movement's verdict: the tag in its prompt, and the verdict tool (N-1, N-2).

use saihai_model::{
    Method, PromptSection, ProviderKind, ProviderName, SectionCondition, Variable, VerdictMode,
};

use super::prompt::{OfferedRule, PieceWords};
use super::read::Movement;
use crate::lowering::{section, text_part, value_part};
use crate::{Diagnostics, Settings, quoted};

/// Stands for the word of the call until the parts of a section are separated.
pub(super) const NONCE: char = '\u{0}';

/// Channels through which a turn may report its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VerdictChannels {
    pub(super) has_tool: bool,
    pub(super) tag: VerdictTag,
}

/// Form of the tag that a reply ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerdictTag {
    Plain,
    Nonce,
    /// A tag does not count.
    Ignored,
}

impl VerdictChannels {
    /// Channels with TAKT's exact prompts.
    pub(super) const PLAIN: Self = Self { has_tool: false, tag: VerdictTag::Plain };

    /// Returns the channels of a turn: as its movement says, else its provider, else the project.
    pub(super) fn of(
        own: Option<VerdictMode>,
        provider: &ProviderName,
        offered: &[OfferedRule<'_>],
        settings: &Settings,
    ) -> Self {
        let Some(known) = settings.provider(provider.as_str()) else { return Self::PLAIN };
        // A script is a test, and a single label needs no verdict.
        if known.kind == ProviderKind::Script || offered.len() < 2 {
            return Self::PLAIN;
        }
        let has_tool = known.has_verdict_tool();
        match own.or(known.verdict).unwrap_or(settings.verdict) {
            VerdictMode::Plain => Self::PLAIN,
            VerdictMode::Auto => Self { has_tool, tag: VerdictTag::Plain },
            VerdictMode::Nonce => Self { has_tool, tag: VerdictTag::Nonce },
            VerdictMode::Verified => Self { has_tool, tag: VerdictTag::Ignored },
        }
    }

    /// Refuses a verified verdict of a provider that cannot give one.
    pub(super) fn check(self, movement: &Movement, provider: &ProviderName, diagnostics: &mut Diagnostics) {
        if self.has_tool || self.tag != VerdictTag::Ignored {
            return;
        }
        let message = format!(
            "the verdict of {} cannot be verified: provider `{provider}` has no verdict tool",
            quoted(&movement.name.value)
        );
        let hint = "use another provider, or set `verdict` to `auto`";
        diagnostics.push(movement.name.error("unverifiable", message).hint(hint));
    }

    /// Returns the methods that find the label in a turn's own reply.
    pub(super) fn methods(self) -> Vec<Method> {
        let tag = match self.tag {
            VerdictTag::Plain => Some(Method::Tag),
            VerdictTag::Nonce => Some(Method::NonceTag),
            VerdictTag::Ignored => None,
        };
        self.has_tool.then_some(Method::Tool).into_iter().chain(tag).collect()
    }

    /// Returns the start of a tag up to its closing bracket.
    pub(super) fn tag(self, number: usize) -> String {
        match self.tag {
            VerdictTag::Plain | VerdictTag::Ignored => format!("[STEP:{number}]"),
            VerdictTag::Nonce => format!("[STEP:{number} {NONCE}]"),
        }
    }

    /// Returns the sentence about the tool. Next to a tag, its description says enough, and the prompt stays as it is
    /// for a script that replays the run.
    pub(super) fn sentence(self, words: &PieceWords) -> Option<&'static str> {
        (self.tag == VerdictTag::Ignored).then_some(words.verdict_tool)
    }
}

/// Builds the section of a text in which [`NONCE`] stands for the word of the call.
pub(super) fn section_with_nonce(text: &str) -> PromptSection {
    let mut body = Vec::new();
    for (index, part) in text.split(NONCE).enumerate() {
        if index > 0 {
            body.push(value_part(Variable::Nonce));
        }
        body.push(text_part(part));
    }
    section(SectionCondition::Always, body)
}

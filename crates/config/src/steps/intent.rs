//! Intents: decisions of a reply about the next step (S-15).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Next,
    Repeat,
    Jump,
    Handoff,
    Escalate,
    Closing,
}

/// Purpose of a step. It determines the intents of its replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Work,
    Verification,
    Closure,
}

impl Intent {
    const ALL: [Self; 6] =
        [Self::Next, Self::Repeat, Self::Jump, Self::Handoff, Self::Escalate, Self::Closing];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        self.words()[0]
    }

    /// Returns all words for the intent, its name first.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Next => &["next", "continue", "pass"],
            Self::Repeat => &["repeat", "retry", "wait", "fail"],
            Self::Jump => &["jump"],
            Self::Handoff => &["handoff"],
            Self::Escalate => &["escalate"],
            Self::Closing => &["closing", "done", "finished"],
        }
    }
}

impl StepKind {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "work" => Some(Self::Work),
            "verification" => Some(Self::Verification),
            "closure" => Some(Self::Closure),
            _ => None,
        }
    }

    pub(super) fn intents(self) -> &'static [Intent] {
        match self {
            Self::Work => &[Intent::Next, Intent::Repeat, Intent::Jump, Intent::Handoff],
            Self::Verification => &[Intent::Next, Intent::Repeat, Intent::Jump, Intent::Escalate],
            Self::Closure => &[Intent::Closing, Intent::Repeat],
        }
    }
}

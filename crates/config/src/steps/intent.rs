//! What a reply can say of what follows (S-15).

/// What a reply can say of what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Next,
    Repeat,
    Jump,
    Handoff,
    Escalate,
    Closing,
}

/// What a step is for, which decides what its replies can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Work,
    Verification,
    Closure,
}

impl Intent {
    const ALL: [Self; 6] =
        [Self::Next, Self::Repeat, Self::Jump, Self::Handoff, Self::Escalate, Self::Closing];

    /// The intent of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        self.words()[0]
    }

    /// All words that say it, its name first.
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
    /// The kind of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "work" => Some(Self::Work),
            "verification" => Some(Self::Verification),
            "closure" => Some(Self::Closure),
            _ => None,
        }
    }

    /// What replies of such a step can say.
    pub(super) fn intents(self) -> &'static [Intent] {
        match self {
            Self::Work => &[Intent::Next, Intent::Repeat, Intent::Jump, Intent::Handoff],
            Self::Verification => &[Intent::Next, Intent::Repeat, Intent::Jump, Intent::Escalate],
            Self::Closure => &[Intent::Closing, Intent::Repeat],
        }
    }
}

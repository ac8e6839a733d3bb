//! Where a person is asked about the work on an issue.

use saihai_model::{
    Activity, Ending, Exit, Form, Gate, Holds, Join, Part, Prompt, Rule, Section, StageId, Target, Variable,
    Wants, When,
};

use super::{Around, plain, stage};

/// A point at which a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryGate {
    /// Before the first turn.
    PreLoop,
    /// When the work is committed on its branch, and nothing else has happened.
    PostCompletion,
    /// Before anything leaves the branch.
    BeforePr,
}

impl DeliveryGate {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 3] = [Self::PreLoop, Self::PostCompletion, Self::BeforePr];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreLoop => "pre-loop",
            Self::PostCompletion => "post-completion",
            Self::BeforePr => "before-pr",
        }
    }

    /// The gate of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.name() == name)
    }

    /// Its stage.
    pub fn stage(self) -> StageId {
        StageId::from(format!("deliver/{}", self.name()).as_str())
    }

    fn asks(self) -> &'static str {
        match self {
            Self::PreLoop => "Begin with this issue?",
            Self::PostCompletion => "The work is reported as done and committed. Accept it?",
            Self::BeforePr => "Hand the work over?",
        }
    }
}

impl Around<'_> {
    /// Puts a gate in where it is asked for; where one goes that comes there.
    pub(super) fn gate(&mut self, gate: DeliveryGate, next: Target) -> Target {
        if !self.delivery.gates.contains(&gate) {
            return next;
        }
        let asked = Gate {
            question: question(gate, &self.delivery.about),
            wants: Wants::YesNo,
            mode: self.delivery.mode,
            timeout: self.delivery.gate_timeout,
        };
        let rules = vec![Rule { when: Holds::Is("yes".into()), then: next }];
        let exit = Exit::Rules { rules, question: None, otherwise: Target::End(Ending::Declined) };
        self.stages.push((gate.stage(), plain(gate.name(), Activity::Gate(asked), exit)));
        Target::Stage(gate.stage())
    }
}

/// What a person is asked: the issue, and what there is to hand over (I-40).
fn question(gate: DeliveryGate, about: &str) -> Prompt {
    let fixed = |text: &str| Section { body: vec![Part::Fixed(text.into())], when: When::Always };
    let mut sections = vec![fixed(about)];
    if gate != DeliveryGate::PreLoop {
        let (stage, key) = (stage::FINALIZE.into(), "shown".to_owned());
        let shown = Variable::Output { stage, key, otherwise: None };
        sections.push(Section { body: vec![Part::Value(shown, Form::Plain)], when: When::Filled });
    }
    sections.push(fixed(gate.asks()));
    Prompt { sections, join: Join::Paragraphs }
}

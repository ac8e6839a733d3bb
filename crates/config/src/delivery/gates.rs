//! Gates in the work on an issue.

use saihai_model::{
    Activity, Ending, Exit, Form, Gate, Holds, Join, Part, Prompt, Rule, Section, StageId, Target, Variable,
    Wants, When,
};

use super::{Around, plain, stage};
use crate::settings::WorkGate;

pub fn gate_stage(gate: WorkGate) -> StageId {
    StageId::from(format!("deliver/{}", gate.name()).as_str())
}

fn asks(gate: WorkGate) -> &'static str {
    match gate {
        WorkGate::PreLoop => "Begin with this issue?",
        WorkGate::PostCompletion => "The work is reported as done and committed. Accept it?",
        WorkGate::BeforePr => "Hand the work over?",
    }
}

impl Around<'_> {
    /// Adds the gate if it is enabled. Returns the gate, or `next` if it is not.
    pub(super) fn gate(&mut self, gate: WorkGate, next: Target) -> Target {
        if !self.delivery.gates.contains(&gate) {
            return next;
        }
        let question = match gate {
            WorkGate::PreLoop => {
                let about = format!("{}\n{}", self.delivery.about, self.delivery.bound);
                question(about.trim_end(), None, asks(gate))
            }
            WorkGate::PostCompletion | WorkGate::BeforePr => {
                question(&self.delivery.about, Some("shown"), asks(gate))
            }
        };
        let (id, mode, timeout) = (gate_stage(gate), self.delivery.mode, self.delivery.gate_timeout);
        let asked = Gate { question, wants: Wants::YesNo, mode, timeout };
        let rules = vec![Rule { when: Holds::Is("yes".into()), then: next }];
        let exit = Exit::Rules { rules, question: None, otherwise: Target::End(Ending::Declined) };
        self.stages.push((id.clone(), plain(gate.name(), Activity::Gate(asked), exit)));
        Target::Stage(id)
    }
}

/// Builds the question: the issue, and the description of the commit (I-40).
fn question(about: &str, told: Option<&str>, asks: &str) -> Prompt {
    let fixed = |text: &str| Section { body: vec![Part::Fixed(text.into())], when: When::Always };
    let mut sections = vec![fixed(about)];
    sections.extend(told.map(|key| {
        let told = Variable::Output { stage: stage::FINALIZE.into(), key: key.to_owned(), otherwise: None };
        Section { body: vec![Part::Value(told, Form::Plain)], when: When::Filled }
    }));
    sections.push(fixed(asks));
    Prompt { sections, join: Join::Paragraphs }
}

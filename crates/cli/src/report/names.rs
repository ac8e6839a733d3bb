//! Display names of a run's calls and rules.

use std::collections::BTreeMap;

use saihai_model::{
    CallId, Decision, Entry, Exit, Fact, FailureClass, Holds, Place, Purpose, Record, Stage, StageId,
    Workflow,
};

use crate::terminal::visible_line;

/// The names of a run's calls and rules, from its frozen workflow and its calls so far.
pub(crate) struct Names<'a> {
    workflow: &'a Workflow,
    calls: BTreeMap<CallId, (Place, Option<Purpose>)>,
    stage: Option<StageId>,
    in_a_row: u32,
    most_iterations: Option<u32>,
    lost_session: Option<CallId>,
    replied: Option<CallId>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(workflow: &'a Workflow) -> Self {
        Self {
            workflow,
            calls: BTreeMap::new(),
            stage: None,
            in_a_row: 0,
            most_iterations: workflow.limits.rounds,
            lost_session: None,
            replied: None,
        }
    }

    /// Learns the calls of a record. Must see every record before it is formatted.
    pub(crate) fn learn(&mut self, record: &Record) {
        match &record.entry {
            Entry::Decision(Decision::Entered { stage, consecutive, .. }) => {
                self.in_a_row = *consecutive;
                // No call of an earlier stage is still running.
                self.calls.clear();
                self.stage = Some(stage.clone());
            }
            Entry::Decision(Decision::Called { call, place, purpose }) => {
                self.calls.insert(call.clone(), (*place, *purpose));
            }
            Entry::Fact(Fact::Replied(reply)) => self.replied = Some(reply.call.clone()),
            // A correction belongs to the same place as the reply it corrects.
            Entry::Decision(Decision::Correct { call, .. }) => {
                if let Some(place) = self.replied.as_ref().and_then(|replied| self.place(replied)) {
                    self.calls.insert(call.clone(), (place, Some(Purpose::Correction)));
                }
            }
            Entry::Fact(Fact::Resumed(raise)) => self.most_iterations = raise.rounds.or(self.most_iterations),
            Entry::Fact(Fact::Failed(failed)) => {
                let lost = failed.failure.class == FailureClass::SessionLost;
                self.lost_session = lost.then(|| failed.call.clone());
            }
            Entry::Decision(_) | Entry::Fact(_) => {}
        }
    }

    /// Returns true if the call just failed because its session no longer exists.
    pub(crate) fn has_lost_session(&self, call: &CallId) -> bool {
        self.lost_session.as_ref() == Some(call)
    }

    /// Returns the current iteration limit.
    pub(crate) fn most_iterations(&self) -> Option<u32> {
        self.most_iterations
    }

    /// Returns true if the workflow limits iterations (K-36). Without a limit their number has no meaning.
    pub(crate) fn counts_iterations(&self) -> bool {
        self.most_iterations.or(self.workflow.limits.hard_rounds).is_some()
    }

    pub(crate) fn current_stage(&self) -> Option<&StageId> {
        self.stage.as_ref()
    }

    /// Returns the number of consecutive visits to the current stage.
    pub(crate) fn in_a_row(&self) -> u32 {
        self.in_a_row
    }

    pub(crate) fn workflow(&self) -> &'a Workflow {
        self.workflow
    }

    /// Returns the workflow's word for a stage.
    pub(crate) fn kind_of_stage(&self) -> &str {
        self.workflow.words.get("stage").map_or("stage", String::as_str)
    }

    /// Returns the place that a call's result belongs to.
    pub(crate) fn place(&self, call: &CallId) -> Option<Place> {
        self.calls.get(call).map(|(place, _)| *place)
    }

    /// Returns the purpose of a call to an agent.
    pub(crate) fn purpose(&self, call: &CallId) -> Option<Purpose> {
        self.calls.get(call).and_then(|(_, purpose)| *purpose)
    }

    /// Returns a short, unique name of a call: `plan`, `verify/tests`, `plan (judge)`, `plan (reports)`.
    pub(crate) fn call(&self, call: &CallId) -> String {
        let stage = visible_line(call.stage.as_str());
        let Some(place) = self.place(call) else {
            return stage.into_owned();
        };
        match place {
            Place::Main(turn) => self.turn(&call.stage, turn),
            Place::Check(turn) => format!("{} (judge)", self.turn(&call.stage, turn)),
            Place::Exit => format!("{stage} (judge)"),
            Place::Report(turn) => format!("{} (reports)", self.turn(&call.stage, turn)),
            Place::Block(_) => format!("{stage} (action)"),
            Place::Proof(index) => {
                let proof = self.stage(&call.stage).and_then(|stage| stage.proofs().nth(index));
                format!("{stage} ({})", proof.map_or("validator".into(), |proof| visible_line(&proof.name)))
            }
            Place::Outside(_) => format!("{stage} (condition)"),
        }
    }

    /// Returns the title of a call, which providers see too.
    pub(crate) fn title(&self, call: &CallId) -> String {
        let titled = match self.place(call) {
            Some(Place::Main(turn)) => {
                self.stage(&call.stage).and_then(|stage| stage.turns().get(turn)).map(|turn| &turn.title)
            }
            Some(
                Place::Check(_)
                | Place::Exit
                | Place::Report(_)
                | Place::Block(_)
                | Place::Proof(_)
                | Place::Outside(_),
            )
            | None => None,
        };
        titled
            .filter(|title| !title.is_empty())
            .map_or_else(|| self.call(call), |title| visible_line(title).into_owned())
    }

    /// Returns the condition of a rule: `done`, `all("ok")`.
    pub(crate) fn rule(&self, stage: &StageId, index: usize) -> Option<String> {
        let Exit::Rules { rules, .. } = &self.stage(stage)?.exit else {
            return None;
        };
        rules.get(index).map(|rule| condition(&rule.when))
    }

    /// Returns the short names of a stage's turns.
    pub(crate) fn turns(&self, stage: &StageId) -> Vec<String> {
        let turns = self.stage(stage).map_or(&[][..], Stage::turns);
        turns.iter().map(|turn| visible_line(turn.id.as_str()).into_owned()).collect()
    }

    fn turn(&self, id: &StageId, index: usize) -> String {
        let stage = visible_line(id.as_str());
        match self.stage(id).map(Stage::turns) {
            Some(turns) if turns.len() > 1 => match turns.get(index) {
                Some(turn) => format!("{stage}/{}", visible_line(turn.id.as_str())),
                None => stage.into_owned(),
            },
            Some(_) | None => stage.into_owned(),
        }
    }

    fn stage(&self, id: &StageId) -> Option<&'a Stage> {
        self.workflow.stage(id)
    }
}

fn condition(holds: &Holds) -> String {
    let list = |labels: &[saihai_model::Label]| {
        let quoted: Vec<String> = labels.iter().map(|label| format!("{:?}", label.as_str())).collect();
        quoted.join(", ")
    };
    match holds {
        Holds::Always => "always".to_owned(),
        Holds::Is(label) | Holds::Answered(label) => visible_line(label.as_str()).into_owned(),
        Holds::All(labels) => format!("all({})", list(labels)),
        Holds::Any(labels) => format!("any({})", list(labels)),
    }
}

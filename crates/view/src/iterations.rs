//! Iterations of a run.

use saihai_model::{Json, Moment, Outcome, Place, Purpose, Text, ToolUsed};
use serde::Serialize;

use crate::{AttemptResult, CallView, RunView};

/// One iteration, including failed ones (S-26, S-53). It leaves out check questions.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationView {
    pub iteration: u32,
    /// Session of its last reply.
    pub session: Option<String>,
    /// Replies in order: a text, and the lengths of its messages.
    pub said: Vec<(Text, Vec<u64>)>,
    pub tools: Vec<ToolUsed>,
    pub actions: Vec<Json>,
    /// Results of blocks that request an action.
    pub results: Vec<ActionResult>,
    pub errors: Vec<String>,
    pub began: Moment,
    /// Time of its last result.
    pub last: Moment,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionResult {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RunView {
    pub fn iteration_views(&self) -> Vec<IterationView> {
        let counted = self.rounds().filter(|(_, round)| round.is_counted);
        let views = counted.map(|(_, round)| {
            let mut view = IterationView::new(round.iteration, round.began);
            self.calls_of(round).iter().for_each(|call| view.add(call));
            view
        });
        views.collect()
    }
}

impl IterationView {
    fn new(iteration: u32, began: Moment) -> Self {
        Self {
            iteration,
            session: None,
            said: Vec::new(),
            tools: Vec::new(),
            actions: Vec::new(),
            results: Vec::new(),
            errors: Vec::new(),
            began,
            last: began,
        }
    }

    fn add(&mut self, call: &CallView) {
        match (call.place, call.purpose) {
            (Place::Main(_), Some(Purpose::Work | Purpose::Correction)) => self.add_work(call),
            (Place::Block(_), _) => self.add_action(call),
            _ => {}
        }
    }

    fn add_work(&mut self, call: &CallView) {
        for attempt in &call.attempts {
            match &attempt.result {
                AttemptResult::Open => {}
                AttemptResult::Failed { at, failed, .. } => {
                    self.last = self.last.max(*at);
                    self.errors.push(format!("{}: {}", failed.failure.class.name(), failed.failure.message));
                }
                AttemptResult::Replied { at, reply, .. } => {
                    self.last = self.last.max(*at);
                    self.session = reply.session.clone().or(self.session.take());
                    self.said.push(match &reply.spoken {
                        Some(spoken) => (spoken.clone(), reply.messages.clone()),
                        None => (reply.text.clone(), Vec::new()),
                    });
                    for tool in &reply.tools_used {
                        if tool.output.is_none() && tool.long_output.is_none() {
                            self.errors.push(format!("tool `{}` gave no result", tool.name));
                        }
                        self.tools.push(tool.clone());
                    }
                    self.actions.extend(reply.reading.blocks.iter().map(|block| block.value.clone()));
                    self.errors.extend(reply.reading.warnings.iter().cloned());
                    let violations = reply.reading.violations.iter();
                    self.errors.extend(violations.map(|violation| format!("output: {violation}")));
                }
            }
        }
    }

    fn add_action(&mut self, call: &CallView) {
        let failed = |error: String| ActionResult { success: false, result: None, error: Some(error) };
        for performed in &call.performed {
            self.last = self.last.max(performed.at);
            self.results.push(match &performed.outcome {
                Outcome::Done { output, .. } => {
                    let result = (!output.is_empty()).then(|| Json::from_iter(output.clone()));
                    ActionResult { success: true, result, error: None }
                }
                Outcome::NotYet | Outcome::Delayed { .. } => continue,
                Outcome::Waiting { reason } => failed(reason.clone()),
                Outcome::Failed(failure) => failed(failure.message.clone()),
            });
        }
    }
}

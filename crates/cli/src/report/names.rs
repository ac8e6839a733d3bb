//! Display names of a run's calls and rules, from its frozen workflow and its records so far.

use saihai_model::{
    By, CallId, Exit, FailureClass, ProgramCommand, Purpose, Record, RoundPosition, RuleCondition, Stage,
    StageId, TurnId, Verdict, Workflow,
};
use saihai_view::{AttemptResult, DecisiveTurn, RunView};

use crate::terminal::visible_line;

pub(crate) struct RunNames<'a> {
    workflow: &'a Workflow,
    view: Option<RunView>,
    verbose: bool,
}

impl<'a> RunNames<'a> {
    pub(crate) fn new(workflow: &'a Workflow) -> Self {
        Self { workflow, view: None, verbose: false }
    }

    /// Adds the mechanism of decisions to the words: tags, rules, methods (`-v`).
    pub(crate) fn verbose(self, verbose: bool) -> Self {
        Self { verbose, ..self }
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Returns the turns that decided the current exit.
    pub(super) fn decisive_turns(&self, stage: &StageId, verdict: &Verdict) -> Vec<DecisiveTurn> {
        let round = self.view().and_then(RunView::current_round);
        let round = round.filter(|(visit, _)| visit.stage == *stage);
        let Some((view, (_, round))) = self.view().zip(round) else {
            return Vec::new();
        };
        view.decisive_turns(self.workflow, stage, round, verdict)
    }

    /// Returns true if a stage of several turns decided nothing.
    pub(super) fn is_uncounted(&self, verdict: &Verdict) -> bool {
        verdict.by == By::Only && verdict.labels.iter().all(Option::is_none)
    }

    /// Returns how often a call was asked so far.
    pub(super) fn attempts(&self, call: &CallId) -> Option<u32> {
        let call = self.view()?.call(call)?;
        u32::try_from(call.attempts.len()).ok()
    }

    /// Folds a record. Must see every record before it is formatted; a repeated record changes nothing.
    pub(crate) fn learn(&mut self, record: &Record) {
        match &mut self.view {
            Some(view) if record.seq > view.last_seq => view.apply(record.clone()),
            Some(_) => {}
            None => self.view = RunView::begin(record),
        }
    }

    /// Takes over the view of earlier records.
    pub(crate) fn remember(&mut self, view: RunView) {
        self.view = Some(view);
    }

    pub(crate) fn view(&self) -> Option<&RunView> {
        self.view.as_ref()
    }

    pub(crate) fn into_view(self) -> Option<RunView> {
        self.view
    }

    /// Returns true if the call just failed because its session no longer exists.
    pub(super) fn has_lost_session(&self, call: &CallId) -> bool {
        let call = self.view().and_then(|view| view.call(call));
        call.and_then(|call| call.attempts.last()).is_some_and(|attempt| match &attempt.result {
            AttemptResult::Failed { failed, .. } => failed.failure.class == FailureClass::SessionLost,
            AttemptResult::Open | AttemptResult::Replied { .. } => false,
        })
    }

    /// Returns the current iteration limit.
    pub(super) fn most_iterations(&self) -> Option<u32> {
        self.view().and_then(|view| view.most_iterations).or(self.workflow.limits.rounds)
    }

    /// Returns true if the workflow limits iterations (K-36). Without a limit their number has no meaning.
    pub(super) fn counts_iterations(&self) -> bool {
        self.most_iterations().or(self.workflow.limits.hard_rounds).is_some()
    }

    pub(super) fn current_stage(&self) -> Option<&StageId> {
        self.view()?.visits.last().map(|visit| &visit.stage)
    }

    /// Returns the number of consecutive visits to the current stage.
    pub(super) fn in_a_row(&self) -> u32 {
        self.view().and_then(|view| view.visits.last()).map_or(0, |visit| visit.consecutive)
    }

    pub(crate) fn workflow(&self) -> &'a Workflow {
        self.workflow
    }

    /// Returns the workflow's word for a stage.
    pub(crate) fn kind_of_stage(&self) -> &str {
        self.workflow.words.get("stage").map_or("stage", String::as_str)
    }

    /// Returns the place that a call's result belongs to.
    pub(super) fn place(&self, call: &CallId) -> Option<RoundPosition> {
        self.view()?.call(call).map(|call| call.place)
    }

    /// Returns the purpose of a call to an agent.
    pub(super) fn purpose(&self, call: &CallId) -> Option<Purpose> {
        self.view()?.call(call)?.purpose
    }

    /// Returns the name of a call that corrects the last reply. It belongs to the same place, and has not begun yet.
    pub(super) fn correction(&self, call: &CallId) -> String {
        let calls = self.view().map_or(&[][..], |view| &view.calls);
        let replied = calls.iter().filter_map(|call| match call.attempts.last()?.result {
            AttemptResult::Replied { seq, .. } => Some((seq, call.place)),
            AttemptResult::Open | AttemptResult::Failed { .. } => None,
        });
        self.name(call, replied.max_by_key(|(seq, _)| *seq).map(|(_, place)| place))
    }

    /// Returns a short, unique name of a call: `plan`, `verify/tests`, `plan (judge)`, `plan (reports)`.
    pub(crate) fn call(&self, call: &CallId) -> String {
        self.name(call, self.place(call))
    }

    fn name(&self, call: &CallId, place: Option<RoundPosition>) -> String {
        let stage = visible_line(call.stage.as_str());
        let Some(place) = place else { return stage.into_owned() };
        match place {
            RoundPosition::Main(turn) => self.turn(&call.stage, turn),
            RoundPosition::Check(turn) => format!("{} (judge)", self.turn(&call.stage, turn)),
            RoundPosition::Exit => format!("{stage} (judge)"),
            RoundPosition::Report(turn) => format!("{} (reports)", self.turn(&call.stage, turn)),
            RoundPosition::Block(_) => format!("{stage} (action)"),
            RoundPosition::Proof(index) => {
                let proof = self.stage(&call.stage).and_then(|stage| stage.proofs().nth(index));
                format!("{stage} ({})", proof.map_or("validator".into(), |proof| visible_line(&proof.name)))
            }
            RoundPosition::Outside(_) => format!("{stage} (condition)"),
        }
    }

    /// Returns the command of a turn that runs a program; of the only turn if none is named.
    pub(super) fn command(&self, stage: &StageId, turn: Option<&TurnId>) -> Option<String> {
        let mut turns = self.stage(stage)?.turns().iter();
        let turn = turns.find(|one| turn.is_none_or(|turn| one.id == *turn))?;
        turn.program.as_deref().map(ProgramCommand::typed)
    }

    /// Returns the program of a call, if no agent is asked.
    pub(crate) fn program(&self, call: &CallId) -> Option<&'a ProgramCommand> {
        let Some(RoundPosition::Main(turn)) = self.place(call) else { return None };
        self.stage(&call.stage)?.turns().get(turn)?.program.as_deref()
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

fn condition(holds: &RuleCondition) -> String {
    let list = |labels: &[saihai_model::Label]| {
        let quoted: Vec<String> = labels.iter().map(|label| format!("{:?}", label.as_str())).collect();
        quoted.join(", ")
    };
    match holds {
        RuleCondition::Always => "always".to_owned(),
        RuleCondition::Is(label) | RuleCondition::Answered(label) => {
            visible_line(label.as_str()).into_owned()
        }
        RuleCondition::All(labels) => format!("all({})", list(labels)),
        RuleCondition::Any(labels) => format!("any({})", list(labels)),
        RuleCondition::Stalled(_) => holds.stalled_text(),
    }
}

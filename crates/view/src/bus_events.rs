//! Events of a run on its bus (H-60): each with its publisher, its receiver and the reason.

use saihai_model::{
    Activity, Decision, Destination, Exit, Fact, Moment, PublishedEvent, Record, RecordEntry, Remark,
    RuleCondition, StageId, Target, Text, Topic, Verdict, Workflow,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusEvent {
    /// Number of the line that decided its fate.
    pub seq: u64,
    pub at: Moment,
    pub topic: Topic,
    pub message: Option<String>,
    pub source: EventSource,
    pub fate: EventFate,
    /// Gate that asks a person before the event leads there.
    pub gate: Option<StageId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventSource {
    /// The start of the run.
    Start,
    Stage(StageId),
    Engine,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventFate {
    Taken(StageId),
    /// No stage takes it; it led to the fallback.
    Orphaned(StageId),
    /// Another event of the same reply, or a closing word, decided.
    NotRouted,
    /// Its publisher did not declare it.
    OutOfScope,
    /// No stage took it, and the run is held.
    Untaken,
}

/// Folds records into events. Its memory does not grow with the length of the run.
#[derive(Debug)]
pub struct BusEvents<'w> {
    workflow: &'w Workflow,
    began: bool,
    /// Message of the first event.
    task: Option<String>,
    /// Events of the last reply of the current stage.
    said: Vec<PublishedEvent>,
    orphaned: bool,
    out_of_scope: bool,
    /// Topic that led to the current stage.
    last: Option<Topic>,
}

impl<'w> BusEvents<'w> {
    pub fn new(workflow: &'w Workflow) -> Self {
        let (said, task, last) = (Vec::new(), None, None);
        Self { workflow, began: false, task, said, orphaned: false, out_of_scope: false, last }
    }

    /// Folds one record and returns the events it settles, in order.
    pub fn see(&mut self, record: &Record) -> Vec<BusEvent> {
        match &record.entry {
            RecordEntry::Fact(Fact::Replied(reply)) => {
                self.said.clone_from(&reply.reading.events);
                Vec::new()
            }
            RecordEntry::Fact(Fact::Started(start)) => {
                self.task = Some(&start.task).filter(|task| !task.is_empty()).map(shown);
                Vec::new()
            }
            RecordEntry::Fact(_) => Vec::new(),
            RecordEntry::Decision(Decision::Entered { stage, .. }) => self.start(record, stage),
            RecordEntry::Decision(Decision::Remarked { remark, .. }) => {
                self.orphaned |= *remark == Remark::Orphaned;
                self.out_of_scope |= *remark == Remark::OutOfScope;
                Vec::new()
            }
            RecordEntry::Decision(Decision::Exited { stage, verdict }) => self.leave(record, stage, verdict),
            RecordEntry::Decision(Decision::Exhausted { topic, instead, .. }) => {
                let fate = instead.clone().map_or(EventFate::Untaken, EventFate::Taken);
                let message = self.last.replace(topic.clone()).map(|replaced| replaced.to_string());
                vec![self.event(record, topic.clone(), message, EventSource::Engine, fate)]
            }
            RecordEntry::Decision(_) => Vec::new(),
        }
    }

    /// Publishes the first event, before any agent is asked.
    fn start(&mut self, record: &Record, stage: &StageId) -> Vec<BusEvent> {
        if std::mem::replace(&mut self.began, true) {
            return Vec::new();
        }
        let Some(topics) = &self.workflow.topics else { return Vec::new() };
        // The first entered stage may only prepare the work; the routing table names the receiver.
        let (to, taken) = saihai_judge::route(topics, &topics.start);
        let orphaned = !taken && topics.has_orphans();
        let fate = if orphaned { EventFate::Orphaned(to.clone()) } else { EventFate::Taken(to.clone()) };
        self.last = Some(topics.start.clone());
        let task = self.task.take();
        let event = self.event(record, topics.start.clone(), task, EventSource::Start, fate);
        let asks_first = is_gate(self.workflow, stage).then(|| stage.clone());
        vec![BusEvent { gate: asks_first.or(event.gate.clone()), ..event }]
    }

    fn leave(&mut self, record: &Record, stage: &StageId, verdict: &Verdict) -> Vec<BusEvent> {
        let said = std::mem::take(&mut self.said);
        let orphaned = std::mem::take(&mut self.orphaned);
        let out_of_scope = std::mem::take(&mut self.out_of_scope);
        let led = |to: &Destination| match to {
            Destination::Stage(id) if orphaned => EventFate::Orphaned(id.clone()),
            Destination::Stage(id) => EventFate::Taken(id.clone()),
            Destination::Again | Destination::Complete | Destination::End(_) => EventFate::NotRouted,
        };
        self.last = verdict.topic.clone().or(self.last.take());
        let count = said.len();
        let mut events: Vec<BusEvent> = Vec::with_capacity(count.max(1));
        for (index, published) in said.into_iter().enumerate() {
            let fate = match (index + 1 == count, &verdict.topic) {
                (true, Some(topic)) if *topic == published.topic => led(&verdict.to),
                (true, None) if out_of_scope => EventFate::OutOfScope,
                (_, _) => EventFate::NotRouted,
            };
            let source = EventSource::Stage(stage.clone());
            events.push(self.event(record, published.topic, published.message, source, fate));
        }
        if let (true, Some(topic)) = (events.is_empty(), &verdict.topic) {
            events.push(self.event(record, topic.clone(), None, EventSource::Engine, led(&verdict.to)));
        }
        events
    }

    fn event(
        &self,
        record: &Record,
        topic: Topic,
        message: Option<String>,
        source: EventSource,
        fate: EventFate,
    ) -> BusEvent {
        let (fate, gate) = match fate {
            EventFate::Taken(to) => {
                let (to, gate) = behind_gates(self.workflow, to);
                (EventFate::Taken(to), gate)
            }
            EventFate::Orphaned(to) => {
                let (to, gate) = behind_gates(self.workflow, to);
                (EventFate::Orphaned(to), gate)
            }
            EventFate::NotRouted | EventFate::OutOfScope | EventFate::Untaken => (fate, None),
        };
        BusEvent { seq: record.seq, at: record.at, topic, message, source, fate, gate }
    }
}

/// Formats a task as the message of an event. A long task is in a file of the run.
fn shown(task: &Text) -> String {
    task.inline().map_or_else(|| format!("[{} bytes]", task.bytes()), str::to_owned)
}

/// Returns the stage that follows after a person says yes, and the first gate on the way. A gate neither publishes nor
/// takes events: it only lets them pass.
fn behind_gates(workflow: &Workflow, mut to: StageId) -> (StageId, Option<StageId>) {
    let mut first = None;
    for _ in 0..workflow.stages.len() {
        let Some(next) = let_through(workflow, &to) else { break };
        let gate = std::mem::replace(&mut to, next);
        first = first.or(Some(gate));
    }
    (to, first)
}

fn is_gate(workflow: &Workflow, id: &StageId) -> bool {
    workflow.stage(id).is_some_and(|stage| matches!(stage.does, Activity::Gate(_)))
}

/// Returns the stage behind a gate.
fn let_through(workflow: &Workflow, id: &StageId) -> Option<StageId> {
    let stage = workflow.stage(id).filter(|_| is_gate(workflow, id))?;
    let Exit::Rules { rules, .. } = &stage.exit else { return None };
    let yes = rules.iter().find(|rule| rule.when == RuleCondition::Is("yes".into()))?;
    if let Target::Stage(next) = &yes.then { Some(next.clone()) } else { None }
}

//! The one loop over a durable context: fold facts, keep them, perform the effects, wait for the next facts.
//!
//! The loop decides nothing and touches nothing. The engine decides; the context keeps the records and performs the
//! effects: a journal file and processes of this machine, a server with workers on others, or memory in a test. All
//! contexts thus run the same workflow in the same way, and a new one needs no second loop.

use std::collections::VecDeque;

use saihai_engine::Run;
use saihai_model::{Effect, Event, Fact, Moment, RecordEntry, Workflow};

/// Keeps the records of one run and performs its effects.
pub trait DurableContext {
    /// An effect that can be performed once the records that lead to it are durable.
    type Task;
    /// Reason to stop driving. The state in memory may then be ahead of the records.
    type Failure;

    /// Returns the state of the run and its workflow.
    fn state(&mut self) -> (&mut Run, &Workflow);

    /// Returns the time of the next facts. It never runs backwards, and a replay sees the same times.
    fn now(&self) -> Moment;

    /// Removes secrets from a fact before it is folded and kept.
    fn redact(&self, fact: Fact) -> Fact;

    /// Prepares an effect. Its facts are folded and kept together with the facts that led to it.
    fn prepare(&mut self, effect: Effect) -> Result<PreparedEffect<Self::Task>, Self::Failure>;

    /// Makes records durable. No effect is performed before this has returned.
    fn commit(&mut self, entries: Vec<(Moment, RecordEntry)>) -> Result<(), Self::Failure>;

    /// Starts an effect. Returns its fact if it has ended at once.
    fn perform(&mut self, task: Self::Task) -> Result<Option<Fact>, Self::Failure>;

    /// Waits for the next facts. Returns `None` once the run is over or parked.
    #[expect(async_fn_in_trait, reason = "each context is driven by its own runtime, on one thread")]
    async fn next(&mut self) -> Result<Option<Vec<Fact>>, Self::Failure>;
}

/// An effect that is ready, and the facts that hold before it is performed.
#[derive(Debug)]
pub struct PreparedEffect<T> {
    pub facts: Vec<Fact>,
    pub task: Option<T>,
}

impl<T> PreparedEffect<T> {
    pub fn facts(facts: impl IntoIterator<Item = Fact>) -> Self {
        Self { facts: facts.into_iter().collect(), task: None }
    }

    pub fn task(task: T) -> Self {
        Self { facts: Vec::new(), task: Some(task) }
    }
}

/// Drives a run from its first facts until it is over or parked.
pub async fn drive<C: DurableContext>(context: &mut C, first: Vec<Fact>) -> Result<(), C::Failure> {
    settle(context, first)?;
    while let Some(facts) = context.next().await? {
        settle(context, facts)?;
    }
    Ok(())
}

/// Folds facts, keeps them and starts their effects, until no further fact follows at once.
pub fn settle<C: DurableContext>(context: &mut C, facts: Vec<Fact>) -> Result<(), C::Failure> {
    let mut next = VecDeque::from([facts]);
    while let Some(facts) = next.pop_front() {
        for task in fold(context, facts)? {
            next.extend(context.perform(task)?.map(|fact| vec![fact]));
        }
    }
    Ok(())
}

/// Folds facts into the run and commits them in one batch, with every decision they led to and the facts of every
/// prepared effect.
fn fold<C: DurableContext>(context: &mut C, facts: Vec<Fact>) -> Result<Vec<C::Task>, C::Failure> {
    let at = context.now();
    let (mut facts, mut entries, mut tasks) = (VecDeque::from(facts), Vec::new(), Vec::new());
    while let Some(fact) = facts.pop_front() {
        let event = Event { at, fact: context.redact(fact) };
        let (run, workflow) = context.state();
        let effects = run.apply(workflow, &event);
        entries.push((at, RecordEntry::Fact(event.fact)));
        for effect in effects {
            match effect {
                Effect::Record(decision) => entries.push((at, RecordEntry::Decision(decision))),
                effect => {
                    let prepared = context.prepare(effect)?;
                    facts.extend(prepared.facts);
                    tasks.extend(prepared.task);
                }
            }
        }
    }
    context.commit(entries)?;
    Ok(tasks)
}

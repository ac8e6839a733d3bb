//! One suite over all durable contexts: each must drive the same workflow to the same records (D-1, D-T6).

use std::collections::VecDeque;

use saihai_connect::Connections;
use saihai_engine::Run;
use saihai_model::{
    Effect, Fact, FailureClass, Millis, Moment, Record, RecordEntry, Script, ScriptAnswer, ScriptFailure,
    ScriptReply, Start, Wants, Workflow,
};
use tokio_util::sync::CancellationToken;

use crate::durable::{self, DurableContext, PreparedEffect};
use crate::testing::{
    BEGINNING, PAIR, Project, drive, fixed, gate, hats, plan_and_review, script, shown, stage, tailor,
    tailors_replies, turn, workflow,
};
use crate::{
    CallHistory, Clock, DriveOptions, DriverError, HostedCall, HostedRun, RunDirectory, answer_without_person,
};

/// A context that keeps its records in memory and performs one call after the other, each as a worker would.
struct MemoryContext {
    /// Keeps the files of the run while it is driven.
    _project: Project,
    directory: RunDirectory,
    start: Box<Start>,
    script: Script,
    workflow: Workflow,
    run: Run,
    now: Moment,
    records: Vec<Record>,
    history: CallHistory,
    effects: VecDeque<Effect>,
    wake: Option<Moment>,
}

impl DurableContext for MemoryContext {
    type Task = Effect;
    type Failure = DriverError;

    fn state(&mut self) -> (&mut Run, &Workflow) {
        (&mut self.run, &self.workflow)
    }

    fn now(&self) -> Moment {
        self.now
    }

    fn redact(&self, fact: Fact) -> Fact {
        fact
    }

    fn prepare(&mut self, effect: Effect) -> Result<PreparedEffect<Effect>, DriverError> {
        Ok(match effect {
            Effect::Record(_) => PreparedEffect::facts([]),
            Effect::Ask(request) => {
                self.history.request((*request).clone());
                let asked =
                    Fact::Asked { call: request.call.clone(), attempt: request.attempt, prompt: None };
                PreparedEffect { facts: vec![asked], task: Some(Effect::Ask(request)) }
            }
            Effect::OpenGate(gate) => {
                let answer = answer_without_person(&self.script.answers, &gate, false);
                PreparedEffect::facts(answer.map(Fact::Answered))
            }
            effect => PreparedEffect::task(effect),
        })
    }

    fn commit(&mut self, entries: Vec<(Moment, RecordEntry)>) -> Result<(), DriverError> {
        for (at, entry) in entries {
            if let RecordEntry::Fact(fact) = &entry {
                self.history.see(fact);
            }
            self.records.push(Record { seq: self.records.len() as u64 + 1, at, entry });
        }
        self.wake = self.wake.filter(|at| *at > self.run.now());
        Ok(())
    }

    fn perform(&mut self, effect: Effect) -> Result<Option<Fact>, DriverError> {
        match effect {
            Effect::Wake { at } => self.wake = Some(self.wake.map_or(at, |before| before.min(at))),
            effect => self.effects.push_back(effect),
        }
        Ok(None)
    }

    async fn next(&mut self) -> Result<Option<Vec<Fact>>, DriverError> {
        if self.run.ending().is_some() {
            return Ok(None);
        }
        if let Some(effect) = self.effects.pop_front() {
            let hosted = HostedRun {
                directory: self.directory.clone(),
                workflow: self.workflow.clone(),
                start: self.start.clone(),
                run: self.run.clone(),
                script: Some(self.script.clone()),
                history: self.history.of_call(None, true),
            };
            let clock = Clock::starting_at(self.now);
            let mut call = HostedCall::open(hosted, Connections::default(), None, clock)?;
            let stop = CancellationToken::new();
            let facts = call.perform(effect, &|_| {}, stop, &mut Vec::new()).await?;
            call.close().await;
            return Ok(Some(facts));
        }
        Ok(self.wake.take().filter(|_| !self.run.is_parked()).map(|at| {
            self.now = at;
            vec![Fact::Woke]
        }))
    }
}

/// Drives a scripted run in memory.
async fn in_memory(workflow: Workflow, script: Script) -> Vec<Record> {
    let project = Project::new();
    let driver = project.start(workflow.clone(), script.clone()).unwrap();
    let start = Box::new(driver.start_of_run().clone());
    let directory = driver.directory().clone();
    drop(driver);
    let mut context = MemoryContext {
        _project: project,
        directory,
        start: start.clone(),
        script,
        workflow,
        run: Run::new(),
        now: BEGINNING,
        records: Vec::new(),
        history: CallHistory::default(),
        effects: VecDeque::new(),
        wake: None,
    };
    durable::drive(&mut context, vec![Fact::Started(start)]).await.unwrap();
    context.records
}

/// Drives a scripted run with a journal and processes of this machine.
async fn on_this_machine(workflow: Workflow, script: Script) -> Vec<Record> {
    let project = Project::new();
    drive(project.start(workflow, script).unwrap(), DriveOptions::default()).await.0.unwrap();
    project.records()
}

/// Lists the decisions and the results. The facts of asks are left out: another machine adds the prompt later.
fn course(records: &[Record]) -> Vec<String> {
    let is_ask = |record: &&Record| matches!(record.entry, RecordEntry::Fact(Fact::Asked { .. }));
    let told = records.iter().filter(|record| !is_ask(record)).map(shown);
    told.map(|line| line.split_once(' ').map(|(_, rest)| rest.to_owned()).unwrap_or_default()).collect()
}

fn cases() -> Vec<(&'static str, Workflow, Script)> {
    let signed = workflow(vec![
        ("plan", stage(vec![turn("plan", vec![fixed("Plan.")])], &[("", "sign")])),
        ("sign", gate(Wants::YesNo, "COMPLETE")),
    ]);
    let yes = ScriptAnswer { gate: "sign".into(), visits: None, label: "yes".into(), text: None };
    let (class, retry_after) = (FailureClass::RateLimited, Some(Millis::seconds(5)));
    let limit = ScriptFailure { class, message: "too many".to_owned(), retry_after, until: None };
    let limited = ScriptReply { fail: Some(limit), ..ScriptReply::default() };
    let done = script(&["done"]).replies;
    let only = workflow(vec![("work", stage(vec![turn("work", vec![fixed("Work.")])], &[("", "COMPLETE")]))]);
    vec![
        ("reviews", plan_and_review(), script(&["a plan", "[STEP:1]", "a better plan", "[STEP:0]"])),
        ("steps", tailor(), tailors_replies()),
        ("hats", hats(PAIR), script(&["EVENT: tests.failing", "LOOP_COMPLETE"])),
        ("gates", signed, Script { answers: vec![yes], ..script(&["planned"]) }),
        ("limits", only, Script { replies: [vec![limited], done].concat(), ..script(&[]) }),
    ]
}

// D-T6: the same outcomes in every context
#[tokio::test(start_paused = true)]
async fn every_context_drives_a_run_the_same_way() {
    for (name, workflow, script) in cases() {
        let local = on_this_machine(workflow.clone(), script.clone()).await;
        let memory = in_memory(workflow, script).await;
        assert_eq!(course(&memory), course(&local), "{name}");
        assert!(course(&local).last().is_some_and(|line| line.starts_with("finished")), "{name}: {local:?}");
    }
}

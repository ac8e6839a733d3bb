//! Answers the engine's effects with facts, and checks the invariants after each.

use std::collections::BTreeMap;

use saihai_engine::{Phase, Run, Slot, replay};
use saihai_model::*;

pub(crate) struct Sim {
    pub(crate) workflow: Workflow,
    pub(crate) run: Run,
    pub(crate) records: Vec<Record>,
    pub(crate) asks: Vec<Request>,
    pub(crate) performs: Vec<Performance>,
    pub(crate) gates: Vec<OpenGate>,
    pub(crate) stops: Vec<CallId>,
    pub(crate) wakes: Vec<Moment>,
    /// Every question and work turn so far, including attempts: `stage/turn` or `stage#judge`.
    pub(crate) log: Vec<String>,
    pub(crate) at: u64,
}

impl Sim {
    pub(crate) fn new(workflow: Workflow) -> Self {
        Self {
            workflow,
            run: Run::new(),
            records: Vec::new(),
            asks: Vec::new(),
            performs: Vec::new(),
            gates: Vec::new(),
            stops: Vec::new(),
            wakes: Vec::new(),
            log: Vec::new(),
            at: 1_000,
        }
    }

    pub(crate) fn started(workflow: Workflow) -> Self {
        let mut sim = Self::new(workflow);
        sim.start();
        sim
    }

    /// Starts a run with this seed and this patience.
    pub(crate) fn seeded(workflow: Workflow, seed: u64, patience: Millis) -> Self {
        let mut sim = Self::new(workflow);
        sim.start_with(seed, patience);
        sim
    }

    pub(crate) fn start(&mut self) {
        self.start_with(7, Millis::seconds(60));
    }

    fn start_with(&mut self, seed: u64, patience: Millis) {
        self.fact(Fact::Started(Box::new(Start {
            definition: "test".to_owned(),
            dialect: "test".to_owned(),
            task: "the task".into(),
            seed,
            interactive: false,
            rehearsal: false,
            patience,
            directory: "/project".to_owned(),
            head: None,
            uncommitted: Vec::new(),
            report_directory: "/reports".to_owned(),
            subject: BTreeMap::new(),
            delivery: None,
            texts: Vec::new(),
            workflow: "hash".to_owned(),
            version: "0".to_owned(),
            forked_from: None,
            origin: RunOrigin::default(),
        })));
    }

    /// Applies a fact, keeps its effects, and checks the invariants.
    pub(crate) fn fact(&mut self, fact: Fact) {
        let event = Event { at: Moment(self.at), fact: fact.clone() };
        let effects = self.run.apply(&self.workflow, &event);
        self.record(RecordEntry::Fact(fact));
        for effect in &effects {
            if let Effect::Record(decision) = effect {
                self.record(RecordEntry::Decision(decision.clone()));
            }
        }
        self.prove(&effects);
        for effect in effects {
            match effect {
                Effect::Record(_) => {}
                Effect::Ask(request) => self.ask(*request),
                Effect::Perform(performance) => self.performs.push(*performance),
                Effect::OpenGate(gate) => self.gates.push(*gate),
                Effect::Wake { at } => self.wakes.push(at),
                Effect::Stop { call } => self.stops.push(call),
            }
        }
    }

    /// Applies a fact without executing its effects, like a process that only records.
    pub(crate) fn record_only(&mut self, fact: Fact) {
        let event = Event { at: Moment(self.at), fact: fact.clone() };
        let effects = self.run.apply(&self.workflow, &event);
        self.record(RecordEntry::Fact(fact));
        for effect in effects {
            if let Effect::Record(decision) = effect {
                self.record(RecordEntry::Decision(decision));
            }
        }
    }

    fn record(&mut self, entry: RecordEntry) {
        let seq = self.records.len() as u64 + 1;
        self.records.push(Record { seq, at: Moment(self.at), entry });
    }

    fn ask(&mut self, request: Request) {
        let turn = request.turn.as_ref().map_or_else(String::new, |turn| format!("/{turn}"));
        self.log.push(match request.purpose {
            Purpose::Work => format!("{}{turn}", request.call.stage),
            Purpose::Correction => format!("{}{turn}!", request.call.stage),
            Purpose::Question => format!("{}#judge", request.call.stage),
        });
        let asked = Fact::Asked {
            call: request.call.clone(),
            attempt: request.attempt,
            prompt: request.draft.as_ref().map(|draft| text_of(draft).into()),
        };
        self.asks.push(request);
        self.fact(asked);
    }

    /// Invariants 1, 4, 5, 8 and 9 of the architecture.
    fn prove(&self, effects: &[Effect]) {
        let decisions = effects.iter().take_while(|effect| matches!(effect, Effect::Record(_))).count();
        assert!(
            effects[decisions..].iter().all(|effect| !matches!(effect, Effect::Record(_))),
            "decisions come first: {effects:?}"
        );
        if self.run.hold().is_some() {
            for effect in effects {
                let allowed = match effect {
                    // The gate itself holds the run.
                    Effect::OpenGate(gate) => self.run.open_gate() == Some(&gate.call),
                    Effect::Perform(performance) => performance.action.does == Action::SaveReports,
                    Effect::Ask(_) => self.asked_before_the_hold(effects),
                    Effect::Record(_) | Effect::Wake { .. } | Effect::Stop { .. } => true,
                };
                assert!(allowed, "under {:?}: {effect:?}", self.run.hold());
            }
        }
        if let Some(rounds) = self.run.limits().rounds {
            assert!(self.run.iteration() <= rounds, "iteration beyond its limit");
        }
        let rounds = self
            .records
            .iter()
            .filter(|record| matches!(record.entry, RecordEntry::Decision(Decision::Round { .. })));
        assert_eq!(self.run.iteration() as usize, rounds.count(), "one iteration per round");
        if *self.run.phase() == Phase::Running && self.run.busy().next().is_none() {
            let waits = self.run.visit().is_some_and(|visit| {
                visit.round.slots.iter().any(|(_, slot)| matches!(slot, Slot::Waiting { until: Some(_), .. }))
            });
            assert!(waits || self.run.hold().is_some(), "a running run waits for something");
        }
        let budget = &self.run.limits().budget;
        // Programs cost nothing.
        if effects.iter().any(|effect| matches!(effect, Effect::Ask(request) if request.program.is_none())) {
            assert!(budget.turns.is_none_or(|most| self.run.spent().turns < most), "asked beyond the budget");
        }
    }

    /// A batch may ask some turns before the next one exceeds the budget.
    fn asked_before_the_hold(&self, _effects: &[Effect]) -> bool {
        matches!(self.run.hold(), Some(Hold::Budget))
    }

    /// Replays every prefix that ends before a fact, and compares it with the live state.
    pub(crate) fn prove_replay(&self) {
        let mut live = Run::new();
        let mut prefix = 0;
        for (index, record) in self.records.iter().enumerate() {
            let RecordEntry::Fact(fact) = &record.entry else { continue };
            let replayed =
                replay(&self.workflow, &self.records[..index]).expect("the same engine decides the same");
            assert_eq!(replayed, live, "after {prefix} records");
            let _ = live.apply(&self.workflow, &Event { at: record.at, fact: fact.clone() });
            prefix = index;
        }
        assert_eq!(live, self.run);
    }

    pub(crate) fn take_ask(&mut self, name: &str) -> Request {
        let found = self.asks.iter().position(|request| {
            let turn = request.turn.as_ref().map_or("", |turn| turn.as_str());
            name == turn
                || name == request.call.stage.as_str() && request.purpose != Purpose::Question
                || name == format!("{}#judge", request.call.stage) && request.purpose == Purpose::Question
        });
        let found = found.unwrap_or_else(|| panic!("`{name}` was not asked: {:?}", self.open()));
        self.asks.remove(found)
    }

    pub(crate) fn open(&self) -> Vec<String> {
        self.asks.iter().map(|request| format!("{} {:?}", request.call, request.purpose)).collect()
    }

    /// Replies to an open request with a tag's number, or without one.
    pub(crate) fn tag(&mut self, name: &str, number: Option<usize>) {
        let reading = Reading {
            digest: format!("{name}{number:?}"),
            tail: format!("said by {name}"),
            tag: number.map(|number| Tag { number: Some(number), line: 1 }),
            ..Reading::default()
        };
        self.reply(name, reading);
    }

    pub(crate) fn reply(&mut self, name: &str, reading: Reading) {
        let request = self.take_ask(name);
        self.reply_to(&request, reading);
    }

    pub(crate) fn reply_to(&mut self, request: &Request, reading: Reading) {
        self.reply_with(request, reading, |_| {});
    }

    /// Sends a reply that `change` has modified.
    pub(crate) fn reply_with(
        &mut self,
        request: &Request,
        reading: Reading,
        change: impl FnOnce(&mut Replied),
    ) {
        self.at += 10;
        let mut reply = Replied {
            call: request.call.clone(),
            provider: None,
            text: format!("reply to {}", request.call).into(),
            spoken: None,
            messages: Vec::new(),
            session: Some(format!("session of {}", request.call)),
            usage: Usage { input: Some(10), output: Some(5), ..Usage::default() },
            cost: Some(Usd(100)),
            tools_used: Vec::new(),
            metered: None,
            denied: 0,
            duration: Millis(10),
            revision: None,
            so_far: None,
            cached: false,
            tree: None,
            reading,
        };
        change(&mut reply);
        self.fact(Fact::Replied(Box::new(reply)));
    }

    pub(crate) fn fail(&mut self, name: &str, class: FailureClass) {
        let request = self.take_ask(name);
        self.fail_to(&request, Failure::new(class, "failed"));
    }

    pub(crate) fn fail_to(&mut self, request: &Request, failure: Failure) {
        self.at += 10;
        self.fact(Fact::Failed(Box::new(CallFailed::new(request.call.clone(), failure))));
    }

    pub(crate) fn perform(&mut self, label: &str) {
        let performance = self.performs.remove(0);
        self.at += 10;
        let outcome = Outcome::Done { label: Some(label.into()), output: BTreeMap::new() };
        self.fact(Fact::Performed { call: performance.call, outcome });
    }

    pub(crate) fn answer(&mut self, label: &str, text: Option<&str>) {
        let gate = self.gates.pop().expect("a gate is open");
        self.at += 10;
        self.fact(Fact::Answered(Answer {
            call: gate.call,
            by: AnsweredBy::Person,
            label: label.into(),
            text: text.map(str::to_owned),
        }));
    }

    /// Simulates a dead process and its successor.
    pub(crate) fn crash_and_resume(&mut self) {
        self.asks.clear();
        self.performs.clear();
        self.gates.clear();
        self.at += 100_000;
        if self.run.busy().next().is_some() {
            self.fact(Fact::Reopened);
        }
        self.resume(None);
    }

    pub(crate) fn resume(&mut self, rounds: Option<u32>) {
        self.at += 10;
        self.fact(Fact::Resumed(Raise {
            rounds,
            budget: Budget::default(),
            runtime: None,
            patience: Millis::seconds(60),
            now: false,
        }));
    }

    /// Lets time pass until the last requested wake-up.
    pub(crate) fn sleep(&mut self) {
        let at = self.wakes.pop().expect("a wake-up was asked for");
        self.at = self.at.max(at.0);
        self.fact(Fact::Woke);
    }

    pub(crate) fn outcome(&self) -> String {
        match (self.run.ending(), self.run.hold()) {
            (Some(Ending::Failed(reason)), _) => format!("failed: {}", reason.text()),
            (Some(ending), _) => format!("{}: {}", ending.outcome(), ending.reason()),
            (None, Some(hold)) if self.run.is_parked() => format!("parked: {}", hold.reason()),
            (None, Some(hold)) => format!("holding: {}", hold.reason()),
            (None, None) => format!("running: {}", self.open().join(", ")),
        }
    }

    pub(crate) fn decisions(&self) -> Vec<&Decision> {
        let decisions = self.records.iter().filter_map(|record| match &record.entry {
            RecordEntry::Decision(decision) => Some(decision),
            RecordEntry::Fact(_) => None,
        });
        decisions.collect()
    }

    /// Returns the path: `plan -(tag)-> review`.
    pub(crate) fn path(&self) -> Vec<String> {
        let mut path = Vec::new();
        for decision in self.decisions() {
            let Decision::Exited { stage, verdict } = decision else { continue };
            let by = serde_json::to_value(verdict.by).expect("a method is text");
            let to = match &verdict.to {
                Destination::Stage(id) => id.to_string(),
                Destination::Again => "again".to_owned(),
                Destination::Complete => "complete".to_owned(),
                Destination::End(ending) => ending.reason().to_owned(),
            };
            path.push(format!("{stage} -({})-> {to}", by.as_str().unwrap_or_default()));
        }
        path
    }
}

/// Formats a draft as plain text; references by name.
pub(crate) fn text_of(draft: &Draft) -> String {
    let section = |splices: &Vec<Splice>| {
        let parts = splices.iter().map(|splice| match splice {
            Splice::Text(Text::Inline(text), ValueForm::Bullets) => format!("- {text}"),
            Splice::Text(Text::Inline(text), _) => text.to_string(),
            Splice::Text(Text::Blob { hash, .. }, _) => format!("<{hash}>"),
            Splice::ReportFile { file, .. } => format!("<{file}>"),
            Splice::ReportDirectory => "<reports>".to_owned(),
            Splice::WorkingDirectory => "<cwd>".to_owned(),
            Splice::Changes(_) => "<changes>".to_owned(),
        });
        parts.collect::<String>()
    };
    draft.sections.iter().map(section).collect::<Vec<_>>().join("\n")
}

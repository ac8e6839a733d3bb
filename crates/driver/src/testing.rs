//! Shared helpers of this crate's tests: a project in a temporary directory, and small workflows.

use std::path::PathBuf;

use saihai_config::{
    Definition, Dialect, MemorySource, Options, Origin, ProjectPaths, Settings, ValidatedDefinition, load,
};
use saihai_connect::Connections;
use saihai_model::{Millis, Raise, Record, RunOrigin, Script, Workflow};

pub(crate) use saihai_git::testing::BEGINNING;
pub(crate) use saihai_model::testing::{
    choosing, fixed, gate, plan_and_review, reporting, running, script, stage, tailor, tailors_replies, turn,
    value, workflow,
};

use crate::{
    Clock, Disk, DriveOptions, DriveOutcome, Driver, DriverError, DriverEvent, RunDirectory, RunSpec, Runs,
};

pub(crate) struct Project {
    pub(crate) root: tempfile::TempDir,
    pub(crate) disk: Disk,
}

/// The events seen while a run was driven.
#[derive(Default)]
pub(crate) struct Log(pub(crate) Vec<String>);

impl Project {
    pub(crate) fn new() -> Self {
        Self::on(Disk::new())
    }

    pub(crate) fn on(disk: Disk) -> Self {
        Self { root: tempfile::tempdir().unwrap(), disk }
    }

    pub(crate) fn runs(&self) -> Runs {
        Runs::on(self.root.path(), self.disk.clone())
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    pub(crate) fn start(&self, workflow: Workflow, script: Script) -> Result<Driver, DriverError> {
        let clock = Clock::starting_at(BEGINNING);
        Driver::start(&self.runs(), self.spec(workflow, script), Connections::default(), clock)
    }

    pub(crate) fn spec(&self, workflow: Workflow, script: Script) -> RunSpec {
        RunSpec {
            workflow: ValidatedDefinition::validate(workflow).expect("a sound workflow"),
            script: Some(script),
            definition: "small".to_owned(),
            dialect: "piece".to_owned(),
            task: "make it so".to_owned(),
            slug: "make-it-so".to_owned(),
            seed: 7,
            interactive: false,
            rehearsal: true,
            patience: Millis::seconds(60),
            directory: self.root.path().to_path_buf(),
            reports: self.root.path().join(".takt/reports"),
            subject: std::collections::BTreeMap::new(),
            placement: None,
            texts: Vec::new(),
            origin: RunOrigin::default(),
        }
    }

    pub(crate) fn resume(&self, raise: Raise) -> Result<Driver, DriverError> {
        self.resume_by("last", raise)
    }

    pub(crate) fn resume_by(&self, name: &str, raise: Raise) -> Result<Driver, DriverError> {
        let clock = Clock::starting_at(BEGINNING);
        Driver::resume(self.runs().find(name)?, raise, Connections::default(), clock)
    }

    pub(crate) fn last(&self) -> RunDirectory {
        self.runs().find("last").unwrap()
    }

    pub(crate) fn journal(&self) -> Vec<u8> {
        std::fs::read(self.last().journal()).unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        self.last().read(&mut |record| records.push(record)).unwrap();
        records
    }
}

/// Drives a run until it ends or parks, and logs its events.
pub(crate) async fn drive(driver: Driver, going: DriveOptions) -> (Result<DriveOutcome, DriverError>, Log) {
    watch(driver, going, &mut |_| {}).await
}

/// Drives like [`drive`] and lets a callback react to events.
pub(crate) async fn watch(
    driver: Driver,
    going: DriveOptions,
    also: &mut dyn FnMut(&DriverEvent<'_>),
) -> (Result<DriveOutcome, DriverError>, Log) {
    let mut log = Log::default();
    let mut see = |observed: DriverEvent<'_>| {
        log.see(&observed);
        also(&observed);
    };
    let finish = driver.drive(going, &mut see).await;
    (finish, log)
}

impl Log {
    pub(crate) fn see(&mut self, observed: &DriverEvent<'_>) {
        self.0.push(match observed {
            DriverEvent::Recorded(record) => shown(record),
            DriverEvent::Progress { call, progress } => format!("progress {call} {progress:?}"),
            DriverEvent::Gate { call, title, question, wants } => {
                format!("gate {call} {title} {question:?} {wants:?}")
            }
            DriverEvent::Waiting { until } => format!("waiting {}", until.0 - BEGINNING.0),
            DriverEvent::Warning(warning) => format!("warning {warning}"),
        });
    }
}

/// Formats a record as one short line: its kind and its call.
pub(crate) fn shown(record: &Record) -> String {
    let json = serde_json::to_value(&record.entry).unwrap();
    let (_, said) = json.as_object().unwrap().iter().next().unwrap();
    let Some((name, body)) = said.as_object().and_then(|said| said.iter().next()) else {
        return format!("{} {}", record.seq, said.as_str().unwrap());
    };
    let call = body.get("call").filter(|call| call.is_object()).map(|call| {
        format!(" {}.{}.{}.{}", call["stage"].as_str().unwrap(), call["visit"], call["round"], call["n"])
    });
    let rest = match name.as_str() {
        "exited" => format!(" {} {}", body["stage"], body["verdict"]["to"]),
        "entered" => format!(" {}", body["stage"]),
        "parked" => match body["hold"].as_object().and_then(|hold| hold.keys().next()) {
            Some(hold) => format!(" {hold}"),
            None => format!(" {}", body["hold"].as_str().unwrap()),
        },
        "finished" => format!(" {}", body["ending"]),
        "failed" => format!(" {}", body["failure"]["class"]),
        "retry" => format!(" in {}", body["not_before"].as_u64().unwrap() - BEGINNING.0),
        _ => String::new(),
    };
    format!("{} {name}{}{rest}", record.seq, call.unwrap_or_default())
}

/// Builds a raise that raises nothing.
pub(crate) fn go_on() -> Raise {
    Raise {
        rounds: None,
        budget: saihai_model::Budget::default(),
        runtime: None,
        patience: Millis::seconds(60),
        now: false,
    }
}

/// Builds a workflow that routes by published topics.
pub(crate) fn hats(text: &str) -> Workflow {
    let source = MemorySource::new([("/p/orch.yml", text)]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = Definition {
        name: "orch".to_owned(),
        dialect: Dialect::Hats,
        origin: Origin::Project,
        path: Some("/p/orch.yml".into()),
    };
    let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
    loaded.workflow.expect("sound hats")
}

/// Two hats that hand over to each other.
pub(crate) const PAIR: &str = "hats:
  tester: {name: T, triggers: [task.start, code.written], publishes: [tests.failing], instructions: x}
  coder: {name: C, triggers: [tests.failing], publishes: [code.written, LOOP_COMPLETE], instructions: x}
";

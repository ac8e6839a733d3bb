//! Shared helpers of this crate's tests: a project in a temporary directory, and small workflows.

mod hats;

use std::path::PathBuf;

use saihai_config::ValidatedDefinition;
use saihai_connect::Connections;
use saihai_model::{Millis, Raise, Record, Script, Workflow};

pub(crate) use hats::{PAIR, hats};
pub(crate) use saihai_git::testing::{BEGINNING, Repository};
pub(crate) use saihai_model::testing::{
    choosing, fixed, gate, plan_and_review, reporting, script, stage, tailor, tailors_replies, turn, value,
    workflow,
};

use crate::{Beginning, Clock, Disk, Driver, Error, Finish, Going, Observed, RunDirectory, Runs};

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

    pub(crate) fn start(&self, workflow: Workflow, script: Script) -> Result<Driver, Error> {
        let clock = Clock::starting_at(BEGINNING);
        Driver::start(&self.runs(), self.beginning(workflow, script), Connections::default(), clock)
    }

    pub(crate) fn beginning(&self, workflow: Workflow, script: Script) -> Beginning {
        Beginning {
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
        }
    }

    pub(crate) fn resume(&self, raise: Raise) -> Result<Driver, Error> {
        self.resume_by("last", raise)
    }

    pub(crate) fn resume_by(&self, name: &str, raise: Raise) -> Result<Driver, Error> {
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
pub(crate) async fn drive(driver: Driver, going: Going) -> (Result<Finish, Error>, Log) {
    watch(driver, going, &mut |_| {}).await
}

/// Drives like [`drive`] and lets a callback react to events.
pub(crate) async fn watch(
    driver: Driver,
    going: Going,
    also: &mut dyn FnMut(&Observed<'_>),
) -> (Result<Finish, Error>, Log) {
    let mut log = Log::default();
    let mut see = |observed: Observed<'_>| {
        log.see(&observed);
        also(&observed);
    };
    let finish = driver.drive(going, &mut see).await;
    (finish, log)
}

impl Log {
    pub(crate) fn see(&mut self, observed: &Observed<'_>) {
        self.0.push(match observed {
            Observed::Recorded(record) => shown(record),
            Observed::Progress { call, progress } => format!("progress {call} {progress:?}"),
            Observed::Gate { call, title, question, wants } => {
                format!("gate {call} {title} {question:?} {wants:?}")
            }
            Observed::Waiting { until } => format!("waiting {}", until.0 - BEGINNING.0),
            Observed::Warning(warning) => format!("warning {warning}"),
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

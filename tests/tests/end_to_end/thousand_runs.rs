//! A thousand runs at once, in one process.

use std::fs;

use saihai::{Clock, DriveOptions, Driver, RunDirectory, RunSpec, Runs};
use saihai_config::ValidatedDefinition;
use saihai_connect::Connections;
use saihai_model::{Ending, Millis, Script, ScriptReply, Times};
use tokio::task::LocalSet;

use crate::support::lowered;

const RUNS: usize = 1_000;

const DEFINITION: &str = "
name: it
movements:
  - {name: one, rules: [{condition: on, next: two}]}
  - {name: two, rules: [{condition: on, next: three}]}
  - {name: three, rules: [{condition: done, next: COMPLETE}]}
";

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

#[test]
fn t97_a_thousand_runs_at_once_all_complete() {
    let place = if fs::exists("/dev/shm").is_ok_and(|there| there) { "/dev/shm" } else { "/tmp" };
    let directory = tempfile::tempdir_in(place).expect("a directory");
    let runs = Runs::of_project(directory.path());
    let workflow = lowered(DEFINITION).workflow.expect("a workflow");
    let workflow = ValidatedDefinition::validate(workflow).expect("a sound one");
    let reply =
        ScriptReply { text: Some("[STEP:0]".to_owned()), times: Times::Always, ..ScriptReply::default() };
    let script = Script { strict: true, replies: vec![reply], ..Script::default() };
    let before = descriptors();
    let drivers: Vec<Driver> = (0..RUNS)
        .map(|_| {
            let connections = Connections { script: Some(script.clone()), ..Connections::default() };
            let beginning = RunSpec {
                workflow: workflow.clone(),
                script: Some(script.clone()),
                definition: "it".to_owned(),
                dialect: "piece".to_owned(),
                task: "T".to_owned(),
                slug: "t".to_owned(),
                seed: 1,
                interactive: false,
                rehearsal: false,
                patience: Millis(0),
                directory: directory.path().to_owned(),
                reports: directory.path().join("reports"),
                subject: std::collections::BTreeMap::new(),
                placement: None,
                texts: Vec::new(),
                origin: saihai_model::RunOrigin::default(),
            };
            Driver::start(&runs, beginning, connections, Clock::system()).expect("a run")
        })
        .collect();
    let directories: Vec<RunDirectory> = drivers.iter().map(|driver| driver.directory().clone()).collect();
    let each = (descriptors() - before).div_ceil(RUNS);
    // T-18: all runs start within a second or two, and each has a unique name.
    assert_eq!(runs.list().expect("the runs").len(), 0, "nothing is there before it is driven");
    let local = LocalSet::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let finishes = local.block_on(&runtime, async {
        let drives = drivers.into_iter().map(|driver| {
            tokio::task::spawn_local(async move { driver.drive(DriveOptions::default(), &mut |_| ()).await })
        });
        let mut finishes = Vec::new();
        for drive in drives.collect::<Vec<_>>() {
            finishes.push(drive.await.expect("no panic").expect("no error"));
        }
        finishes
    });
    assert!(finishes.iter().all(|finish| matches!(finish.ending, Some(Ending::Completed(_)))));
    assert_eq!(runs.list().expect("the runs").len(), RUNS);
    for directory in directories {
        let mut records = 0;
        let torn = directory.read(&mut |_| records += 1).expect("a journal that verifies");
        assert!(torn.is_none() && records > 10);
    }
    assert!(each <= 2, "{each} descriptors a run");
}

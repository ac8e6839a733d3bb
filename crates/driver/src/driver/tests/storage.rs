//! Full and failing disks.

use std::collections::BTreeSet;

use saihai_model::{Fact, Hold, RecordEntry, Text};

use super::crashes::{GOING, end, live, quick, undisturbed};
use crate::disk::{Errno, FaultPlan};
use crate::testing::{
    Project, drive, fixed, go_on, plan_and_review, reporting, script, stage, turn, workflow,
};
use crate::{DriveOptions, DriverError};

/// Fails one operation after the other, once or permanently, and continues with a healthy disk.
async fn check(errno: Errno, for_ever: bool) {
    let (expected, operations) = undisturbed().await;
    for operation in 1..=operations.len() as u64 {
        let case = format!("{errno:?} at operation {operation}, for ever: {for_ever}");
        let plan = FaultPlan { fail: Some((operation, errno)), for_ever, ..FaultPlan::default() };
        let mut project = Project::on(quick(plan));
        let (finish, _) = live(&project).await;
        match &finish {
            Ok(finish) if finish.exit_code() == 0 && !for_ever => {}
            Ok(finish) => {
                assert!(matches!(finish.hold, Some(Hold::Storage(_))), "{case}: {finish:?}");
                assert_eq!(finish.exit_code(), 4, "{case}");
            }
            Err(error) => assert_eq!(error.exit_code(), 4, "{case}: {error}"),
        }
        assert_eq!(unacknowledged_calls(&project), BTreeSet::new(), "{case}");
        project.disk = quick(FaultPlan::default());
        let finish = live(&project).await.0.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(end(&project, &finish), expected, "{case}");
    }
}

/// Returns calls that reached an agent without a request in the journal.
fn unacknowledged_calls(project: &Project) -> BTreeSet<String> {
    let done = std::fs::read_dir(project.path("calls")).into_iter().flatten();
    let mut done: BTreeSet<_> = done.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    if let Ok(directory) = project.runs().find("last") {
        directory
            .read(&mut |record| {
                if let RecordEntry::Fact(Fact::Asked { call, .. }) = record.entry
                    && call.stage.as_str() == "build"
                {
                    done.remove(&call.visit.to_string());
                }
            })
            .unwrap();
    }
    done
}

// T-14
#[tokio::test(start_paused = true)]
async fn t14_a_full_disk_at_any_operation_parks_the_run_and_resuming_ends_it_well() {
    check(Errno::NoSpace, true).await;
}

// T-14, T-16: the failed operation would succeed the next time.
#[tokio::test(start_paused = true)]
async fn t16_one_failed_operation_is_never_believed() {
    check(Errno::Io, false).await;
}

// T-14
#[tokio::test(start_paused = true)]
async fn t14_a_short_write_anywhere_parks_the_run_and_resuming_ends_it_well() {
    check(Errno::Short, false).await;
}

// T-14: the message has path and cause.
#[tokio::test(start_paused = true)]
async fn a_failed_append_says_what_could_not_be_written_and_why() {
    let good = Project::new();
    let driver = good.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    let before = good.disk.operations().all;
    drop(driver);
    let plan = FaultPlan { fail: Some((before + 3, Errno::NoSpace)), for_ever: true, ..FaultPlan::default() };
    let project = Project::on(crate::Disk::failing(plan));
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    let (finish, log) = drive(driver, DriveOptions::default()).await;
    let finish = finish.unwrap();
    let said = finish.storage.clone().unwrap().replace(&project.root.path().display().to_string(), "");
    assert_eq!(
        said,
        "cannot append to `/.saihai/runs/20260206-085600-make-it-so/journal.ndjson`: No space left on device (os error 28)"
    );
    assert_eq!((finish.exit_code(), log.0.len()), (4, 5));
    assert!(matches!(finish.hold, Some(Hold::Storage(_))), "{finish:?}");
}

// K-2: an error before the start leaves no run and no files.
#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_begun_leaves_nothing_behind() {
    let good = Project::new();
    drop(good.start(plan_and_review(), script(&[])).unwrap());
    let operations = good.disk.operations().all;
    for operation in 1..=operations {
        let plan = FaultPlan { fail: Some((operation, Errno::NoSpace)), ..FaultPlan::default() };
        let project = Project::on(quick(plan));
        let Err(error) = project.start(plan_and_review(), script(&[])).map(drop) else {
            panic!("{operation}")
        };
        assert_eq!(error.exit_code(), 4, "{operation}: {error}");
        let left = |directory: &str| {
            let entries = std::fs::read_dir(project.path(directory)).into_iter().flatten();
            entries.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count()
        };
        assert_eq!((left(".saihai/runs"), left(".takt/reports")), (0, 0), "{operation}");
    }
}

// P-55
#[tokio::test(start_paused = true)]
async fn a_report_that_cannot_be_saved_parks_the_run_and_is_saved_without_asking_again() {
    let project = Project::new();
    let plan = reporting(turn("plan", vec![fixed("Plan.")]), &["plan.md"]);
    let workflow = workflow(vec![("plan", stage(vec![plan], &[("", "COMPLETE")]))]);
    let driver = project.start(workflow, script(&["```markdown\n# Plan\n```"])).unwrap();
    let report = project.path(".takt/reports/20260206-085600-make-it-so/plan.md");
    std::fs::create_dir(&report).unwrap();
    let (finish, log) = drive(driver, GOING).await;
    let finish = finish.unwrap();
    assert_eq!(
        (finish.exit_code(), finish.hold.unwrap()),
        (4, Hold::Storage(report.canonicalize().unwrap().display().to_string()))
    );
    assert_eq!(
        log.0[5..],
        [
            "6 replied plan.1.1.1",
            "7 reports plan.1.1.2",
            "8 called plan.1.1.2",
            "9 storage_failed plan.1.1.2",
            "10 parked storage",
        ]
    );
    std::fs::remove_dir(&report).unwrap();
    let (finish, log) = drive(project.resume(go_on()).unwrap(), GOING).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert_eq!(log.0[..3], ["11 resumed", "12 repeated plan.1.1.2", "13 performed plan.1.1.2"]);
    assert_eq!(std::fs::read_to_string(report).unwrap(), "# Plan\n");
}

// T-13: the error names the blob and the line that names it. Nothing is written.
#[tokio::test(start_paused = true)]
async fn an_altered_or_missing_blob_is_refused_before_anything_is_written() {
    let project = Project::new();
    let mut workflow = plan_and_review();
    workflow.limits.rounds = Some(1);
    let long = "long ".repeat(10_000);
    let driver = project.start(workflow, script(&[&long, "fine [STEP:0]"])).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 5);
    let Text::Blob { hash, .. } = project.last().blobs().keep(long.clone()).unwrap() else { panic!() };
    let blob = project.last().path().join("blobs").join(&hash);
    let before = project.journal();
    let check = |expected: &str| {
        let error = project.resume(go_on()).map(drop).unwrap_err();
        assert!(
            matches!(&error, DriverError::Store(crate::StoreError::Damaged { line: 6, path, .. }) if *path == blob),
            "{error}"
        );
        assert!(error.to_string().ends_with(expected), "{error}");
        assert_eq!((error.exit_code(), project.journal()), (2, before.clone()));
    };
    std::fs::write(&blob, long.replacen("long", "wrong", 1)).unwrap();
    check("its blob has 50001 bytes instead of 50000");
    std::fs::write(&blob, long.replacen('l', "L", 1)).unwrap();
    check("its blob was changed");
    std::fs::remove_file(&blob).unwrap();
    check("its blob is missing");
}

// T-12: one warning, and the run continues.
#[tokio::test(start_paused = true)]
async fn a_torn_append_is_dropped_with_one_warning_when_the_run_is_resumed() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    drive(driver, DriveOptions::default()).await.0.unwrap();
    let (path, whole) = (project.last().journal(), project.journal());
    std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    let shown = log.0[0].replace(&project.root.path().display().to_string(), "");
    assert!(
        shown.starts_with("warning `/.saihai/runs/20260206-085600-make-it-so/journal.ndjson`: the last append is incomplete; dropped "),
        "{shown}"
    );
    assert!(shown.ends_with(" bytes from line 12 on"), "{shown}");
    assert_eq!(log.0.iter().filter(|line| line.starts_with("warning")).count(), 1);
}

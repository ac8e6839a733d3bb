//! A flow of checked steps: driven, killed and resumed.

use std::collections::BTreeMap;

use saihai_connect::Connections;
use saihai_model::{Ending, Fact, Record, RecordEntry, Script, ScriptTarget};

use super::crashes::quick;
use crate::disk::{Deadly, Death, FaultPlan};
use crate::testing::{BEGINNING, Project, drive, go_on, tailor, tailors_replies};
use crate::{Clock, DriveOptions, DriveOutcome, Driver, DriverError, RunSpec};

fn started(project: &Project, script: Script) -> Result<Driver, DriverError> {
    let spec = RunSpec { rehearsal: false, ..project.spec(tailor(), script) };
    Driver::start(&project.runs(), spec, Connections::default(), Clock::starting_at(BEGINNING))
}

async fn live(project: &Project) -> Result<DriveOutcome, DriverError> {
    let none = project.runs().find("last").is_err();
    let driver = if none { started(project, tailors_replies()) } else { project.resume(go_on()) };
    drive(driver?, DriveOptions::default()).await.0
}

fn asked(records: &[Record]) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for record in records {
        if let RecordEntry::Fact(Fact::Asked { call, .. }) = &record.entry {
            *asked.entry(call.to_string()).or_insert(0) += 1;
        }
    }
    asked
}

fn replied(records: &[Record]) -> Vec<String> {
    let replied = records.iter().filter_map(|record| match &record.entry {
        RecordEntry::Fact(Fact::Replied(reply)) => Some(reply.call.to_string()),
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    replied.collect()
}

fn prompt(project: &Project, wanted: &str) -> String {
    let mut prompts = project.records().into_iter().filter_map(|record| match record.entry {
        RecordEntry::Fact(Fact::Asked { call, prompt: Some(prompt), .. }) if call.to_string() == wanted => {
            Some(prompt)
        }
        RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
    });
    project.last().text(&prompts.next().unwrap()).unwrap()
}

// S-26, S-46: reply, output and its correction, check, retry, completion.
#[tokio::test(start_paused = true)]
async fn steps_are_worked_corrected_checked_and_tried_again() {
    let project = Project::new();
    let finish = live(&project).await.unwrap();
    assert_eq!(finish.ending, Some(Ending::Completed("Flow completed at quote".into())));
    let run = crate::LoadedRun::read(&project.last()).unwrap();
    assert_eq!((run.state.name(), run.iterations().unwrap().len()), ("completed", 3));
    assert_eq!(
        run.iterations().unwrap()[0].assistant_responses,
        ["採寸結果です。175 cm", "```json\n{\"height\": 175}\n```"],
        "a correction belongs to its iteration, a check does not"
    );
    assert_eq!(prompt(&project, "quote.1.1.1"), "Do quote.\n\n175\n");
    assert_eq!(prompt(&project, "quote.1.2.1"), "Do quote.\n\n175\n\ntoo cheap\n");
    assert_eq!(std::fs::read_to_string(project.path("output.md")).unwrap(), "900");
}

// Case 30: a lost session restarts once, with the carried text.
#[tokio::test(start_paused = true)]
async fn a_lost_session_starts_again_with_the_carried_text() {
    let project = Project::new();
    let mut script = tailors_replies();
    let lost = saihai_model::ScriptReply {
        target: Some(ScriptTarget { stage: "quote".into(), turn: None, judge: false }),
        fail: Some(saihai_model::ScriptFailure {
            class: saihai_model::FailureClass::SessionLost,
            message: "no such session".to_owned(),
            retry_after: None,
            until: None,
        }),
        ..saihai_model::ScriptReply::default()
    };
    script.replies.insert(2, lost);
    let driver = started(&project, script).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    let texts: Vec<String> = project
        .records()
        .into_iter()
        .filter_map(|record| match record.entry {
            RecordEntry::Fact(Fact::Asked { call, prompt: Some(prompt), .. })
                if call.to_string() == "quote.1.1.1" =>
            {
                Some(project.last().text(&prompt).unwrap())
            }
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => None,
        })
        .collect();
    assert_eq!(texts.len(), 2, "two calls");
    assert!(!texts[0].contains("Carried"), "{}", texts[0]);
    assert!(texts[1].contains("Carried: 採寸結果です。175 cm"), "{}", texts[1]);
    assert_eq!(
        crate::LoadedRun::read(&project.last()).unwrap().view.iterations,
        3,
        "the iteration is the same"
    );
}

// S-72, T-10, case 42: after a kill at any disk operation, only missing calls are asked again.
#[tokio::test(start_paused = true)]
async fn dying_at_any_operation_of_a_steps_run_asks_only_what_is_missing_again() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let calm = Project::on(quick(FaultPlan { log: Some(log.path().to_path_buf()), ..FaultPlan::default() }));
    live(&calm).await.unwrap();
    let expected = replied(&calm.records());
    let operations = std::fs::read_to_string(log.path()).unwrap().lines().count();
    assert!(operations > 30, "{operations}");
    for operation in 1..=operations as u64 {
        for moment in [Death::Before, Death::After] {
            let case = format!("dead {moment:?} operation {operation}");
            let mut project = Project::on(quick(FaultPlan {
                die: Some((Deadly::Number(operation), moment)),
                ..FaultPlan::default()
            }));
            drop(live(&project).await);
            let before = project.runs().find("last").map(|_| project.records()).unwrap_or_default();
            project.disk = quick(FaultPlan::default());
            let finish = live(&project).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            let reached = Ending::Completed("Flow completed at quote".into());
            assert_eq!(finish.ending, Some(reached), "{case}");
            let records = project.records();
            assert_eq!(replied(&records), expected, "{case}");
            let (first, all) = (asked(&before), asked(&records));
            for call in replied(&before) {
                assert_eq!(all[&call], first[&call], "{case}: {call} had been answered");
            }
            let run = crate::LoadedRun::read(&project.last()).unwrap();
            assert_eq!((run.view.iterations, run.iterations().unwrap().len()), (3, 3), "{case}");
            // P4: appended once, or reported as unknown and appended at most once.
            let noted = std::fs::read_to_string(project.path("output.md")).unwrap_or_default();
            let success = run.iterations().unwrap()[2].action_results[0].success;
            assert!(noted == "900" || noted.is_empty() && !success, "{case}: {noted} {success}");
        }
    }
}

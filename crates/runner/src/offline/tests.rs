use std::time::Duration;

use super::*;
use crate::Going;
use crate::testing::{BEGINNING, Project, drive, gate, go_on, script, workflow};

async fn parked() -> Project {
    let project = Project::new();
    let workflow = workflow(vec![("ask", gate(Wants::YesNo, "COMPLETE"))]);
    let driver = project.start(workflow, script(&[])).unwrap();
    assert_eq!(drive(driver, Going::default()).await.0.unwrap().exit_code(), 6);
    project
}

// K-22: the owner may die while the caller waits. The request is then recorded directly, once.
#[tokio::test(start_paused = true)]
async fn an_answer_left_for_an_owner_that_dies_is_recorded_in_its_place() {
    let project = parked().await;
    let directory = project.last();
    let owner = directory.lock().unwrap();
    let dying = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(std::fs::read_dir(directory.inbox()).unwrap().count(), 1);
        drop(owner);
    };
    let clock = Clock::starting_at(BEGINNING);
    let (answered, ()) = tokio::join!(answer(&directory, Given::Yes(None), clock), dying);
    assert_eq!(answered.unwrap().1, Reached::Journal);
    assert_eq!(std::fs::read_dir(directory.inbox()).unwrap().count(), 0);
    let finish = drive(project.resume(go_on()).unwrap(), Going::default()).await.0.unwrap();
    assert_eq!(finish.exit_code(), 0);
}

// T-31: a stopped owner is still the owner, and a caller does not wait for it forever.
#[tokio::test(start_paused = true)]
async fn a_cancellation_is_left_for_an_owner_that_does_not_read_and_an_answer_taken_back() {
    let project = parked().await;
    let directory = project.last();
    let owner = directory.lock().unwrap();
    let clock = Clock::starting_at(BEGINNING);
    assert_eq!(cancel(&directory, "me", clock).await.unwrap(), Reached::Unread);
    let clock = Clock::starting_at(BEGINNING);
    let answered = answer(&directory, Given::Yes(None), clock).await.unwrap();
    assert_eq!(answered.1, Reached::Unread);
    assert_eq!(std::fs::read_dir(directory.inbox()).unwrap().count(), 1, "an answer is taken back");
    drop(owner);
    // The next owner finds it.
    let going = Going { stay_at_gates: true, ..Going::default() };
    let finish = drive(project.resume(go_on()).unwrap(), going).await.0.unwrap();
    assert_eq!(finish.ending, Some(saihai_model::Ending::Cancelled));
}

// T-13: nothing is written to a damaged run.
#[tokio::test(start_paused = true)]
async fn a_damaged_run_is_neither_answered_nor_cancelled() {
    let project = parked().await;
    let directory = project.last();
    let text = String::from_utf8(project.journal()).unwrap();
    let damaged = text.replacen("small", "smell", 1);
    std::fs::write(directory.journal(), &damaged).unwrap();
    let clock = || Clock::starting_at(BEGINNING);
    let answered = answer(&directory, Given::Yes(None), clock()).await.unwrap_err();
    let cancelled = cancel(&directory, "me", clock()).await.unwrap_err();
    for error in [answered, cancelled] {
        assert!(matches!(error, Error::Store(crate::StoreError::Damaged { line: 1, .. })), "{error}");
    }
    assert_eq!(std::fs::read_to_string(directory.journal()).unwrap(), damaged);
    // The run cannot be `last`, but it is not hidden.
    assert!(matches!(project.runs().find("last"), Err(crate::StoreError::NoRuns { .. })));
    let [listed] = &crate::list_runs(&project.runs()).unwrap()[..] else { panic!() };
    assert!(matches!(listed.run, Err(Error::Store(crate::StoreError::Damaged { line: 1, .. }))));
}

use std::time::Duration;

use saihai_model::{AnsweredBy, CallId};

use super::*;
use crate::DriveOptions;
use crate::testing::{BEGINNING, Project, drive, gate, go_on, script, workflow};

async fn parked() -> Project {
    let project = Project::new();
    let workflow = workflow(vec![("ask", gate(Wants::YesNo, "COMPLETE"))]);
    let driver = project.start(workflow, script(&[])).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 6);
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
    let (answered, ()) = tokio::join!(answer(&directory, GateAnswer::Yes(None), clock), dying);
    assert_eq!(answered.unwrap().1, RequestDelivery::Journal);
    assert_eq!(std::fs::read_dir(directory.inbox()).unwrap().count(), 0);
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(finish.exit_code(), 0);
}

// T-31: a stopped owner is still the owner, and a caller does not wait for it forever.
#[tokio::test(start_paused = true)]
async fn a_cancellation_is_left_for_an_owner_that_does_not_read_and_an_answer_taken_back() {
    let project = parked().await;
    let directory = project.last();
    let owner = directory.lock().unwrap();
    let clock = Clock::starting_at(BEGINNING);
    assert_eq!(cancel(&directory, "me", clock).await.unwrap(), RequestDelivery::Unread);
    let clock = Clock::starting_at(BEGINNING);
    let answered = answer(&directory, GateAnswer::Yes(None), clock).await.unwrap();
    assert_eq!(answered.1, RequestDelivery::Unread);
    assert_eq!(std::fs::read_dir(directory.inbox()).unwrap().count(), 1, "an answer is taken back");
    drop(owner);
    // The next owner finds it.
    let going = DriveOptions { stay_at_gates: true, ..DriveOptions::default() };
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
    let answered = answer(&directory, GateAnswer::Yes(None), clock()).await.unwrap_err();
    let cancelled = cancel(&directory, "me", clock()).await.unwrap_err();
    for error in [answered, cancelled] {
        assert!(matches!(error, DriverError::Store(crate::StoreError::Damaged { line: 1, .. })), "{error}");
    }
    assert_eq!(std::fs::read_to_string(directory.journal()).unwrap(), damaged);
    // The run cannot be `last`, but it is not hidden.
    assert!(matches!(project.runs().find("last"), Err(crate::StoreError::NoRuns { .. })));
    let listed = crate::list_runs(&project.runs()).unwrap().next().unwrap();
    assert!(matches!(listed.run, Err(DriverError::Store(crate::StoreError::Damaged { line: 1, .. }))));
}

fn text_answer(text: &str) -> InboxRequest {
    let call = CallId { stage: "ask".into(), visit: 1, round: 1, n: 1 };
    let text = Some(text.to_owned());
    InboxRequest::Answer(Answer { call, by: AnsweredBy::Person, label: "answered".into(), text })
}

// K-22
#[test]
fn wishes_are_found_in_the_order_they_were_left_and_removed_once() {
    let directory = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(directory.path().to_path_buf(), &Disk::new());
    let wishes = [text_answer("one"), text_answer("two"), InboxRequest::Cancel { by: "me".into() }];
    for request in &wishes {
        inbox.put(request).unwrap();
    }
    let found = inbox.look().unwrap();
    let read: Vec<_> = found.iter().map(|file| file.request.clone().unwrap()).collect();
    assert_eq!(read, wishes);
    assert!(inbox.remove(&found[0].path).unwrap());
    assert!(!inbox.remove(&found[0].path).unwrap());
    assert_eq!(inbox.look().unwrap().len(), 2);
}

// P9
#[test]
fn a_letter_that_says_nothing_sensible_is_shown_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(directory.path().to_path_buf(), &Disk::new());
    std::fs::write(directory.path().join("1.json"), b"{\"answer\":").unwrap();
    std::fs::create_dir(directory.path().join("2.json")).unwrap();
    std::fs::write(directory.path().join("3.json.draft"), b"half").unwrap();
    let reasons: Vec<_> = inbox.look().unwrap().into_iter().map(|file| file.request.unwrap_err()).collect();
    insta::assert_snapshot!(reasons.join("\n"), @r"
    EOF while parsing a value at line 1 column 10
    it is not a request file
    ");
}

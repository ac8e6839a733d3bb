//! Runs that are stopped.

use std::time::Duration;

use saihai_model::{Ending, Hold, PersonNote, Script, ScriptReply};

use crate::remote_control::{Inbox, InboxRequest};
use crate::testing::{Project, drive, go_on, plan_and_review, script, watch};
use crate::{DriveOptions, DriverError, DriverEvent, RequestDelivery};

/// `plan` replies and `review` hangs until it is stopped. The second `review` succeeds.
fn hanging() -> Script {
    let mut script = script(&["a plan", "fine [STEP:0]"]);
    script.replies.insert(1, ScriptReply { hang: true, ..ScriptReply::default() });
    script
}

fn is_asked(observed: &DriverEvent<'_>, call: &str) -> bool {
    matches!(observed, DriverEvent::Recorded(record)
        if crate::testing::shown(record).ends_with(&format!("asked {call}")))
}

// K-22, T-72
#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_the_agents_and_parks_the_run() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let control = driver.control();
    let before = tokio::time::Instant::now();
    let mut see = |observed: &DriverEvent<'_>| {
        if is_asked(observed, "review.1.1.1") {
            control.interrupt("ctrl-c");
        }
    };
    let driving = watch(driver, DriveOptions::default(), &mut see);
    let (finish, log) = driving.await;
    let finish = finish.unwrap();
    assert_eq!((finish.exit_code(), finish.hold), (3, Some(Hold::Interrupted)));
    assert!(before.elapsed() < Duration::from_secs(3));
    assert_eq!(
        log.0[11..],
        ["12 interrupted", "13 failed review.1.1.1 \"cancelled\"", "14 parked interrupted"]
    );
}

// T-20: a stopped turn is repeated with the same prompt and marked as a repeat.
#[tokio::test(start_paused = true)]
async fn an_interrupted_run_goes_on_at_that_very_turn() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let control = driver.control();
    let mut see = |observed: &DriverEvent<'_>| {
        if is_asked(observed, "review.1.1.1") {
            control.interrupt("ctrl-c");
        }
    };
    let driving = watch(driver, DriveOptions::default(), &mut see);
    driving.await.0.unwrap();
    let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    insta::assert_snapshot!(log.0.join("\n"), @r#"
    15 resumed
    16 repeated review.1.1.1
    17 asked review.1.1.1
    18 replied review.1.1.1
    19 exited "review" "complete"
    20 finished {"completed":"complete"}
    "#);
}

// K-22
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_ends_once_its_agents_have() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let control = driver.control();
    let mut see = |observed: &DriverEvent<'_>| {
        if is_asked(observed, "review.1.1.1") {
            control.cancel("me");
        }
    };
    let (finish, log) = watch(driver, DriveOptions::default(), &mut see).await;
    assert_eq!(finish.unwrap().ending, Some(Ending::Cancelled));
    assert_eq!(
        log.0[11..],
        ["12 cancelled", "13 failed review.1.1.1 \"cancelled\"", "14 finished \"cancelled\""]
    );
}

// K-22
#[tokio::test(start_paused = true)]
async fn a_second_interrupt_returns_at_once_and_the_run_can_be_resumed() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let control = driver.control();
    let before = tokio::time::Instant::now();
    let mut see = |observed: &DriverEvent<'_>| {
        if is_asked(observed, "review.1.1.1") {
            control.interrupt("ctrl-c");
            control.interrupt("ctrl-c");
        }
    };
    let driving = watch(driver, DriveOptions::default(), &mut see);
    let finish = driving.await.0.unwrap();
    assert_eq!((finish.exit_code(), finish.hold), (3, Some(Hold::Interrupted)));
    assert!(before.elapsed() < Duration::from_millis(100), "{:?}", before.elapsed());
    assert_eq!(crate::run_state(&project.last()).unwrap().name(), "interrupted");
    let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert_eq!(
        log.0[..5],
        [
            "13 reopened",
            "14 parked interrupted",
            "15 resumed",
            "16 repeated review.1.1.1",
            "17 asked review.1.1.1",
        ]
    );
}

fn person_note() -> PersonNote {
    PersonNote { heading: "## Note".into(), text: "keep the tests".into(), to: None, now: false }
}

fn times_told(project: &Project) -> usize {
    project.records().iter().filter(|record| crate::testing::shown(record).ends_with(" told")).count()
}

// V-20: the driver has returned to its caller only after it recorded every note it was given.
#[tokio::test(start_paused = true)]
async fn a_note_given_while_an_interrupt_stops_the_run_is_kept() {
    for moment in ["12 interrupted", "14 parked interrupted"] {
        let project = Project::new();
        let driver = project.start(plan_and_review(), hanging()).unwrap();
        let control = driver.control();
        let mut see = |observed: &DriverEvent<'_>| {
            if is_asked(observed, "review.1.1.1") {
                control.interrupt("ctrl-c");
            }
            if matches!(observed, DriverEvent::Recorded(record) if crate::testing::shown(record) == moment) {
                control.tell(person_note());
            }
        };
        let finish = watch(driver, DriveOptions::default(), &mut see).await.0.unwrap();
        assert_eq!(finish.hold, Some(Hold::Interrupted), "{moment}");
        assert_eq!(times_told(&project), 1, "{moment}");
        let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
        assert_eq!((finish.exit_code(), times_told(&project)), (0, 1), "{moment}");
    }
}

// V-20: a request leaves the inbox once the journal has it, also if a second Ctrl-C comes in between.
#[tokio::test(start_paused = true)]
async fn a_note_from_elsewhere_is_recorded_once_despite_two_interrupts() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let (control, directory) = (driver.control(), driver.directory().clone());
    let inbox = Inbox::new(directory.inbox(), directory.disk());
    let mut see = |observed: &DriverEvent<'_>| {
        if is_asked(observed, "review.1.1.1") {
            inbox.put(&InboxRequest::Tell(person_note())).unwrap();
        }
        if matches!(observed, DriverEvent::Recorded(record) if crate::testing::shown(record).ends_with(" told"))
        {
            control.interrupt("ctrl-c");
            control.interrupt("ctrl-c");
        }
    };
    watch(driver, DriveOptions::default(), &mut see).await.0.unwrap();
    assert_eq!((times_told(&project), inbox.look().unwrap()), (1, Vec::new()));
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), times_told(&project)), (0, 1));
}

// V-20: the second Ctrl-C waits for no agent, but a note behind it is not lost.
#[tokio::test(start_paused = true)]
async fn a_note_behind_two_interrupts_is_kept() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let control = driver.control();
    let mut see = |observed: &DriverEvent<'_>| {
        if is_asked(observed, "review.1.1.1") {
            control.interrupt("ctrl-c");
            control.interrupt("ctrl-c");
            control.tell(person_note());
        }
    };
    watch(driver, DriveOptions::default(), &mut see).await.0.unwrap();
    assert_eq!(times_told(&project), 1);
}

// K-22, case 3: from another process, through the run directory.
#[tokio::test(start_paused = true)]
async fn cancelling_from_elsewhere_ends_the_owner() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let directory = driver.directory().clone();
    let driving = async { drive(driver, DriveOptions::default()).await.0.unwrap() };
    let cancelling = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        crate::cancel(&directory, "someone", clock()).await.unwrap()
    };
    let (finish, reached) = tokio::join!(driving, cancelling);
    assert_eq!(
        (finish.exit_code(), finish.ending, reached),
        (3, Some(Ending::Cancelled), RequestDelivery::Owner)
    );
}

fn clock() -> crate::Clock {
    crate::Clock::starting_at(crate::testing::BEGINNING)
}

// K-22: without an owner the event is appended directly, even if the process died during a turn.
#[tokio::test(start_paused = true)]
async fn cancelling_a_run_nobody_drives_ends_it_without_asking_anybody() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let died = tokio::time::timeout(Duration::from_secs(1), drive(driver, DriveOptions::default())).await;
    assert!(died.is_err());
    assert_eq!(crate::cancel(&project.last(), "me", clock()).await.unwrap(), RequestDelivery::Journal);
    let records = project.records();
    let said: Vec<_> = records[11..].iter().map(crate::testing::shown).collect();
    assert_eq!(said, ["12 cancelled", "13 reopened", "14 finished \"cancelled\""]);
    let again = crate::cancel(&project.last(), "me", clock()).await.unwrap_err();
    assert_eq!(again.to_string(), "run `20260206-085600-make-it-so` is already cancelled");
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(finish.exit_code(), 3);
}

// K-22: the next owner reads requests that a dead owner left unread.
#[tokio::test(start_paused = true)]
async fn a_wish_left_for_a_dead_owner_is_fulfilled_by_the_next() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), hanging()).unwrap();
    let inbox = crate::remote_control::Inbox::new(driver.directory().inbox(), &project.disk);
    let died = tokio::time::timeout(Duration::from_millis(100), drive(driver, DriveOptions::default())).await;
    assert!(died.is_err());
    inbox.put(&crate::remote_control::InboxRequest::Cancel { by: "someone".to_owned() }).unwrap();
    std::fs::write(project.last().path().join("inbox/0.json"), "nonsense").unwrap();
    let (finish, log) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().ending, Some(Ending::Cancelled));
    let warnings: Vec<_> = log.0.iter().filter(|line| line.starts_with("warning")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("expected value at line 1 column 1"), "{warnings:?}");
    assert_eq!(inbox.look().unwrap(), []);
}

// T-30, T-31
#[tokio::test(start_paused = true)]
async fn a_run_that_is_driven_is_refused_to_others_and_free_again_afterwards() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    let directory = driver.directory().clone();
    let mut refusals = Vec::new();
    let mut see = |_: &DriverEvent<'_>| {
        let connections = saihai_connect::Connections::default();
        let tried = crate::Driver::resume(directory.clone(), go_on(), connections, clock());
        refusals.push(tried.map(drop).unwrap_err().exit_code());
    };
    let driving = watch(driver, DriveOptions::default(), &mut see);
    assert_eq!(driving.await.0.unwrap().exit_code(), 0);
    assert!(refusals.len() == 14 && refusals.iter().all(|code| *code == 2), "{refusals:?}");
    project.resume(go_on()).unwrap();
}

// T-32
#[tokio::test(start_paused = true)]
async fn a_driver_whose_lock_was_taken_away_stops_before_its_next_effect() {
    for replace in [false, true] {
        let project = Project::new();
        let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
        let lock = driver.directory().path().join("lock");
        let mut see = |observed: &DriverEvent<'_>| {
            if is_asked(observed, "plan.1.1.1") {
                std::fs::remove_file(&lock).unwrap();
                if replace {
                    std::fs::write(&lock, "1\n").unwrap();
                }
            }
        };
        let driving = watch(driver, DriveOptions::default(), &mut see);
        let error = driving.await.0.unwrap_err();
        assert!(matches!(error, DriverError::Store(crate::StoreError::LockLost { .. })), "{error}");
        assert_eq!(project.records().len(), 5);
        let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
        assert_eq!(finish.exit_code(), 0);
    }
}

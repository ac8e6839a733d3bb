//! Runs that wait for a provider.

use saihai_connect::Connections;
use saihai_model::{FailureClass, Hold, Millis, Moment, Raise, Script, ScriptFailure, ScriptReply};

use crate::testing::{BEGINNING, Project, drive, go_on, plan_and_review, script};
use crate::{Clock, DriveOptions, Driver};

/// One refusal with a wait, then success.
fn refused_once(class: FailureClass, wait: Millis) -> Script {
    let mut script = script(&["a plan", "fine [STEP:0]"]);
    let fail = ScriptFailure { class, message: "later".to_owned(), retry_after: Some(wait), until: None };
    script.replies.insert(0, ScriptReply { fail: Some(fail), ..ScriptReply::default() });
    script
}

// C-34
#[tokio::test(start_paused = true)]
async fn a_short_wait_is_sat_out() {
    let project = Project::new();
    let refused = refused_once(FailureClass::RateLimited, Millis::seconds(30));
    let (finish, log) =
        drive(project.start(plan_and_review(), refused).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    // The engine adds a small random amount to the provider's time.
    let until = announced(&log.0);
    assert!((30_000..35_000).contains(&until), "{until}");
    assert_eq!(
        log.0[5..10],
        [
            "6 failed plan.1.1.1 \"rate_limited\"".to_owned(),
            format!("7 retry plan.1.1.1 in {until}"),
            format!("waiting {until}"),
            "8 woke".to_owned(),
            "9 asked plan.1.1.1".to_owned(),
        ]
    );
    // Neither earlier nor later than announced.
    assert_eq!(project.records()[7].at, Moment(BEGINNING.0 + until));
}

// With other runs at work, an elapsed wait ends only on a command (I-45).
#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_that_is_told_and_not_before_its_time() {
    let check = async |told_after: u64, expected: std::ops::Range<u64>| {
        let project = Project::new();
        let refused = refused_once(FailureClass::RateLimited, Millis::seconds(30));
        let driver = project.start(plan_and_review(), refused).unwrap();
        let (control, going) =
            (driver.control(), DriveOptions { when_told: true, ..DriveOptions::default() });
        let told = async {
            tokio::time::sleep(std::time::Duration::from_secs(told_after)).await;
            control.go_on();
        };
        let ((finish, _), ()) = tokio::join!(drive(driver, going), told);
        assert_eq!(finish.unwrap().exit_code(), 0);
        let woke = project.records()[7].at.0 - BEGINNING.0;
        assert!(expected.contains(&woke), "{woke}");
    };
    check(600, 600_000..601_000).await;
    check(1, 30_000..35_000).await;
}

fn announced(log: &[String]) -> u64 {
    log.iter().find_map(|line| line.strip_prefix("waiting ")?.parse().ok()).unwrap()
}

// C-34, K-22, case 4
#[tokio::test(start_paused = true)]
async fn a_long_wait_parks_and_is_not_shortened_by_resuming_early() {
    let project = Project::new();
    let refused = refused_once(FailureClass::Quota, Millis::seconds(7_200));
    let (finish, _) =
        drive(project.start(plan_and_review(), refused).unwrap(), DriveOptions::default()).await;
    let until = Moment(BEGINNING.0 + 7_200_000);
    assert_eq!(finish.unwrap().hold, Some(Hold::Until(until, FailureClass::Quota)));
    let before = project.journal();
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), project.journal()), (4, before));
    let later = Clock::starting_at(until);
    let driver = Driver::resume(project.last(), go_on(), Connections::default(), later).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 0);
}

// C-34, Connections case 22
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_taken_up_later_ends_at_the_same_instant() {
    const HOUR: u64 = 3_600_000;
    let project = Project::new();
    let refused = refused_once(FailureClass::Quota, Millis(3 * HOUR));
    let driver = project.start(plan_and_review(), refused).unwrap();
    assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 4);
    let later = || Clock::starting_at(Moment(BEGINNING.0 + HOUR));
    let resume = |raise| Driver::resume(project.last(), raise, Connections::default(), later()).unwrap();
    let journal = project.journal();
    let finish = drive(resume(go_on()), DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), project.journal()), (4, journal), "nothing is asked");
    let before = tokio::time::Instant::now();
    let patient = Raise { patience: Millis(6 * HOUR), ..go_on() };
    assert_eq!(drive(resume(patient), DriveOptions::default()).await.0.unwrap().exit_code(), 0);
    let passed = u64::try_from(before.elapsed().as_millis()).unwrap();
    assert!((2 * HOUR..2 * HOUR + 500).contains(&passed), "{passed}");
}

// K-22: `--now` asks before the wake-up time, `--wait` sits it out.
#[tokio::test(start_paused = true)]
async fn a_person_may_ask_at_once_or_stay_until_the_time_has_come() {
    for (raise, waited) in [
        (Raise { now: true, ..go_on() }, 0),
        (Raise { patience: Millis::seconds(21_600), ..go_on() }, 7_200_000),
    ] {
        let project = Project::new();
        let refused = refused_once(FailureClass::Quota, Millis::seconds(7_200));
        let driver = project.start(plan_and_review(), refused).unwrap();
        assert_eq!(drive(driver, DriveOptions::default()).await.0.unwrap().exit_code(), 4);
        let before = tokio::time::Instant::now();
        let finish = drive(project.resume(raise).unwrap(), DriveOptions::default()).await.0.unwrap();
        assert_eq!(finish.exit_code(), 0);
        let passed = u64::try_from(before.elapsed().as_millis()).unwrap();
        assert!((waited..waited + 500).contains(&passed), "{passed}");
    }
}

// C-33
#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_serve_parks_the_run_and_resuming_asks_it_again() {
    let project = Project::new();
    let refused = refused_once(FailureClass::Auth, Millis::seconds(0));
    let (finish, _) =
        drive(project.start(plan_and_review(), refused).unwrap(), DriveOptions::default()).await;
    let finish = finish.unwrap();
    assert_eq!((finish.exit_code(), finish.hold.unwrap().reason().to_owned()), (4, "provider".to_owned()));
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(finish.exit_code(), 0);
}

//! Runs that ask a person.

use saihai_model::{Activity, Ending, Millis, StageId, Variable, Wants, Workflow};

use crate::testing::{Project, drive, fixed, gate, go_on, script, stage, turn, value, watch, workflow};
use crate::{DriveOptions, DriverEvent, GateAnswer, RequestDelivery};

fn gated(wants: Wants) -> Workflow {
    workflow(vec![
        ("plan", stage(vec![turn("plan", vec![fixed("Plan.")])], &[("", "ask")])),
        ("ask", gate(wants, "do")),
        ("do", stage(vec![turn("do", vec![fixed("Do."), value(Variable::Inputs)])], &[("", "COMPLETE")])),
    ])
}

async fn parked(wants: Wants) -> Project {
    let project = Project::new();
    let driver = project.start(gated(wants), script(&["a plan", "done"])).unwrap();
    let (finish, log) = drive(driver, DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 6);
    assert_eq!(
        log.0[6..],
        [
            "7 exited \"plan\" {\"stage\":\"ask\"}".to_owned(),
            "8 entered \"ask\"".to_owned(),
            "9 called ask.1.1.1".to_owned(),
            "10 parked person".to_owned(),
            format!("gate ask.1.1.1 gate \"May it?\" {wants:?}"),
        ]
    );
    project
}

// P-46, K-22
#[tokio::test(start_paused = true)]
async fn a_gate_parks_the_run_until_it_is_answered_and_resumed() {
    let project = parked(Wants::YesNo).await;
    let before = project.journal();
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), project.journal()), (6, before));
    let (call, reached) = crate::answer(&project.last(), GateAnswer::Yes(None), clock()).await.unwrap();
    assert_eq!((call.to_string(), reached), ("ask.1.1.1".to_owned(), RequestDelivery::Journal));
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!(finish.exit_code(), 0);
    assert!(finish.accounts.left.is_empty());
}

fn clock() -> crate::Clock {
    crate::Clock::starting_at(crate::testing::BEGINNING)
}

// K-20 case 5
#[tokio::test(start_paused = true)]
async fn a_no_declines_the_run() {
    let project = parked(Wants::YesNo).await;
    crate::answer(&project.last(), GateAnswer::No(Some("not now".to_owned())), clock()).await.unwrap();
    let before = project.journal();
    let finish = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), finish.ending), (3, Some(Ending::Declined)));
    assert_eq!(project.journal(), before);
}

// A gate waits no longer than its limit, with or without a process that drives the run.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_is_refused_and_the_run_goes_on_as_if_it_were_no() {
    let mut asks = gated(Wants::YesNo);
    if let Activity::Gate(gate) = &mut asks.stages.get_mut(&StageId::from("ask")).unwrap().does {
        gate.timeout = Some(Millis::seconds(60));
    }
    let project = Project::new();
    drive(project.start(asks, script(&["a plan", "done"])).unwrap(), DriveOptions::default())
        .await
        .0
        .unwrap();
    let before = project.journal();
    let at = |seconds| crate::Clock::starting_at(crate::testing::BEGINNING.plus(Millis::seconds(seconds)));
    let late = crate::answer(&project.last(), GateAnswer::Yes(None), at(61)).await.unwrap_err();
    assert_eq!(late.to_string(), "the gate `ask` timed out and counts as declined");
    assert_eq!((late.exit_code(), project.journal()), (2, before), "nothing is recorded");
    let resume = |seconds| {
        let connections = saihai_connect::Connections::default();
        crate::Driver::resume(project.last(), go_on(), connections, at(seconds)).unwrap()
    };
    let finish = drive(resume(62), DriveOptions::default()).await.0.unwrap();
    assert_eq!((finish.exit_code(), finish.ending), (3, Some(Ending::Declined)));
    let ended = project.journal();
    let again = drive(resume(63), DriveOptions::default()).await.0.unwrap();
    assert_eq!((again.exit_code(), project.journal()), (3, ended), "replayed it is the same");
}

// K-20 case 5: a second answer exits with 2.
#[tokio::test(start_paused = true)]
async fn an_answer_nobody_asked_for_or_of_the_wrong_form_is_refused() {
    let project = parked(Wants::Text { max_chars: 5 }).await;
    let refused = async |given: GateAnswer| crate::answer(&project.last(), given, clock()).await.unwrap_err();
    let before = project.journal();
    assert_eq!(refused(GateAnswer::Yes(None)).await.to_string(), "this gate takes a text");
    assert_eq!(refused(GateAnswer::Text(String::new())).await.to_string(), "the answer is empty");
    let long = refused(GateAnswer::Text("あいうえおか".to_owned())).await;
    assert_eq!(long.to_string(), "the answer has 6 characters; the maximum is 5");
    assert_eq!((long.exit_code(), project.journal()), (2, before));
    crate::answer(&project.last(), GateAnswer::Text("あいうえお".to_owned()), clock()).await.unwrap();
    let twice = refused(GateAnswer::Text("x".to_owned())).await;
    assert_eq!(twice.to_string(), "run `20260206-085600-make-it-so` is already answered");
    let (finish, _) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    let asked = String::from_utf8(project.journal()).unwrap();
    assert!(asked.contains("Do.\\n\\nあいうえお\\n"), "{asked}");
}

// P-46
#[tokio::test(start_paused = true)]
async fn the_open_gate_can_be_looked_at() {
    let project = parked(Wants::Text { max_chars: 5 }).await;
    let (call, question, wants) = crate::open_gate(&project.last()).unwrap();
    assert_eq!(
        (call.to_string(), question, wants),
        ("ask.1.1.1".to_owned(), "May it?".to_owned(), Wants::Text { max_chars: 5 })
    );
}

// K-4: a person at the terminal is asked immediately.
#[tokio::test(start_paused = true)]
async fn a_driver_that_stays_goes_on_with_the_answer_it_is_told() {
    let project = Project::new();
    let driver = project.start(gated(Wants::YesNo), script(&["a plan", "done"])).unwrap();
    let control = driver.control();
    let going = DriveOptions { stay_at_gates: true, ..DriveOptions::default() };
    let mut see = |observed: &DriverEvent<'_>| {
        if let DriverEvent::Gate { call, .. } = observed {
            let other = saihai_model::CallId { n: 9, ..(*call).clone() };
            control.answer(other, "yes".into(), None);
            control.answer((*call).clone(), "yes".into(), None);
        }
    };
    let (finish, log) = watch(driver, going, &mut see).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    assert_eq!(
        log.0[11..13],
        ["warning ignored an answer for `ask.1.1.9`: the gate is not open", "11 answered ask.1.1.1"]
    );
}

// H-58, K-20: a standing order answers yes/no gates and nothing else.
#[tokio::test(start_paused = true)]
async fn auto_answers_yes_where_that_is_an_answer() {
    let run = async |wants| {
        let project = Project::new();
        let driver = project.start(gated(wants), script(&["a plan", "done"])).unwrap();
        let (finish, _) = drive(driver, DriveOptions { auto: true, ..DriveOptions::default() }).await;
        (finish.unwrap().exit_code(), project)
    };
    let (code, project) = run(Wants::YesNo).await;
    assert_eq!(code, 0);
    assert!(String::from_utf8(project.journal()).unwrap().contains(r#""by":"auto","label":"yes""#));
    assert_eq!(run(Wants::Text { max_chars: 5 }).await.0, 6);
}

// K-20: `resume --auto` opens the gate at which the run is parked.
#[tokio::test(start_paused = true)]
async fn a_run_parked_at_a_gate_is_resumed_by_a_standing_order() {
    let project = parked(Wants::YesNo).await;
    let going = DriveOptions { auto: true, ..DriveOptions::default() };
    let finish = drive(project.resume(go_on()).unwrap(), going).await.0.unwrap();
    assert_eq!(finish.exit_code(), 0);
}

// Runs of an earlier version can wait at the gate `changed-configuration`.
#[tokio::test(start_paused = true)]
async fn a_gate_that_insists_on_a_person_can_still_be_answered() {
    let mut old = serde_json::to_value(gated(Wants::YesNo)).unwrap();
    old["stages"]["ask"]["does"]["gate"]["mode"] = "insists".into();
    let old: Workflow = serde_json::from_value(old).unwrap();
    let project = Project::new();
    let driver = project.start(old, script(&["a plan", "done"])).unwrap();
    let auto = || DriveOptions { auto: true, ..DriveOptions::default() };
    assert_eq!(drive(driver, auto()).await.0.unwrap().exit_code(), 6);
    crate::answer(&project.last(), GateAnswer::Yes(None), clock()).await.unwrap();
    assert_eq!(drive(project.resume(go_on()).unwrap(), auto()).await.0.unwrap().exit_code(), 0);
}

// An answer in the inbox is trusted, because write access there requires the user's rights.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_left_in_the_inbox_counts() {
    let project = parked(Wants::YesNo).await;
    let call = saihai_model::CallId { stage: "ask".into(), visit: 1, round: 1, n: 1 };
    let by = saihai_model::AnsweredBy::Person;
    let yes = saihai_model::Answer { call, by, label: "yes".into(), text: None };
    let inbox = crate::remote_control::Inbox::new(project.last().inbox(), &project.disk);
    inbox.put(&crate::remote_control::InboxRequest::Answer(yes)).unwrap();
    let going = DriveOptions { stay_at_gates: true, ..DriveOptions::default() };
    assert_eq!(drive(project.resume(go_on()).unwrap(), going).await.0.unwrap().exit_code(), 0);
    assert_eq!(inbox.look().unwrap(), []);
}

// K-22: an answer from another process reaches the waiting owner.
#[tokio::test(start_paused = true)]
async fn an_answer_from_elsewhere_reaches_a_living_owner() {
    let project = Project::new();
    let driver = project.start(gated(Wants::YesNo), script(&["a plan", "done"])).unwrap();
    let going = DriveOptions { stay_at_gates: true, ..DriveOptions::default() };
    let directory = driver.directory().clone();
    let driving = async { drive(driver, going).await.0.unwrap().exit_code() };
    let answering = async {
        // The gate is open once the driver is idle.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        crate::answer(&directory, GateAnswer::Yes(None), clock()).await.unwrap().1
    };
    let (code, reached) = tokio::join!(driving, answering);
    assert_eq!((code, reached), (0, RequestDelivery::Owner));
    assert_eq!(std::fs::read_dir(project.last().path().join("inbox")).unwrap().count(), 0);
}

// K-4, K-22
#[tokio::test(start_paused = true)]
async fn a_run_that_is_interrupted_at_an_open_gate_still_waits_for_its_answer() {
    let project = parked(Wants::YesNo).await;
    let driver = project.resume(go_on()).unwrap();
    let control = driver.control();
    let mut see = |observed: &DriverEvent<'_>| {
        if let DriverEvent::Gate { .. } = observed {
            control.interrupt("ctrl-c");
        }
    };
    let going = DriveOptions { stay_at_gates: true, ..DriveOptions::default() };
    let (finish, log) = watch(driver, going, &mut see).await;
    let finish = finish.unwrap();
    assert!(matches!(finish.hold, Some(saihai_model::Hold::Person(_))), "{finish:?}");
    assert!(!log.0.iter().any(|line| line.contains("interrupted")), "{:?}", log.0);
    crate::answer(&project.last(), GateAnswer::Yes(None), clock()).await.unwrap();
    let (finish, _) = drive(project.resume(go_on()).unwrap(), DriveOptions::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
}

// A request that cannot be removed is not read again and again
#[tokio::test(start_paused = true)]
async fn a_letter_that_cannot_be_removed_stops_the_run_with_its_name() {
    let project = parked(Wants::YesNo).await;
    // A call that removes a file cannot remove a directory, even as root.
    std::fs::create_dir(project.last().inbox().join("1-0.json")).unwrap();
    let going = DriveOptions { stay_at_gates: true, ..DriveOptions::default() };
    let error = drive(project.resume(go_on()).unwrap(), going).await.0.unwrap_err();
    let (said, code) = (error.to_string(), error.exit_code());
    assert!(said.starts_with("cannot remove `") && said.contains("/inbox/1-0.json`: "), "{said}");
    assert_eq!(code, 4);
}

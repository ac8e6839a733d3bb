use crate::Going;
use crate::testing::{Project, drive, plan_and_review, script};

// DESIGN 3
#[tokio::test(start_paused = true)]
async fn a_run_goes_from_its_entry_to_completion() {
    let project = Project::new();
    let driver = project.start(plan_and_review(), script(&["a plan", "fine [STEP:0]"])).unwrap();
    let (finish, log) = drive(driver, Going::default()).await;
    assert_eq!(finish.unwrap().exit_code(), 0);
    insta::assert_snapshot!(log.0.join("\n"), @r#"
    1 started
    2 entered "plan"
    3 round
    4 called plan.1.1.1
    5 asked plan.1.1.1
    6 replied plan.1.1.1
    7 exited "plan" {"stage":"review"}
    8 entered "review"
    9 round
    10 called review.1.1.1
    11 asked review.1.1.1
    12 replied review.1.1.1
    13 exited "review" "complete"
    14 finished {"completed":"complete"}
    "#);
}
